// SPDX-License-Identifier: GPL-2.0-or-later
/// \file
/// SIFS at the antenna: two radio_tops, antenna to antenna, exchange packets over a channel with sub-sample delay, carrier and clock
/// offset, and noise. From the end of each frame, as it comes to an antenna, to the begin of what that antenna sends in response.
///
/// A frame begins half a chip before the middle of its first chip's pulse, and ends half a chip behind the middle of its last one's.
/// Both are found on the air alone: a frame is where the samples of its preamble's first symbols are, all of them equal to the
/// model's; how many symbols it has follows from when its amplitude has fallen.
///
/// Reads one JSON object from stdin (sim/bench/bench_antenna.py writes it), writes one to stdout.
#include <array>
#include <cmath>
#include <complex>
#include <cstdint>
#include <deque>
#include <nlohmann/json.hpp>
#include <numbers>
#include <random>
#include <stdexcept>
#include <vector>

#include "sim/bench/radio_top/plan.hpp"
#include "sim/bench/radio_top/radio_device.hpp"

namespace perhop::bench {
namespace {

using complex = std::complex<double>;
using sample_number = std::int64_t;

constexpr int half_taps = 8;         // of the interpolation
constexpr int tap_phases = 512;      // in a sample
constexpr int history_samples = 64;  // of what a radio sent
constexpr double symbol_samples = 22.0;
constexpr double half_pulse_samples = 5.5;  // from a frame's first sample to the middle of its first chip
constexpr double half_chip_samples = 1.0;
// From a frame's first sample to its last one that is not 0, without its symbols: see tail and ramp of the model's transmitter.
constexpr double fall_samples = 22.0;

/// The interpolation's taps by fraction of a sample: a sinc with a cosine-squared window.
std::vector<std::array<double, 2 * half_taps>> interpolation() {
  std::vector<std::array<double, 2 * half_taps>> table(tap_phases + 1);
  for (int phase = 0; phase <= tap_phases; ++phase) {
    for (int tap = 0; tap < 2 * half_taps; ++tap) {
      const double distance_samples = tap - half_taps + 1 - static_cast<double>(phase) / tap_phases;
      const double sinc =
          distance_samples == 0.0 ? 1.0 : std::sin(std::numbers::pi * distance_samples) / (std::numbers::pi * distance_samples);
      const double window = std::abs(distance_samples) < half_taps ? std::cos(std::numbers::pi / 2 * distance_samples / half_taps) : 0.0;
      table[phase][tap] = sinc * window * window;
    }
  }
  return table;
}

/// One direction of the channel; it changes between exchanges.
struct path {
  double delay_samples = half_taps + 1.0;
  double drift = 0.0;  ///< samples of delay a sample
  double turn = 0.0;   ///< radians a sample
  double gain = 1.0;
  double noise = 4.0;       ///< root mean square of I and of Q
  sample_number since = 0;  ///< from when on it drifts

  double delay_at(double sample) const { return delay_samples + drift * (sample - static_cast<double>(since)); }
};

/// A frame on the air, in samples of the radio that sends it.
struct frame {
  double begin = 0, end = 0;
};

/// What a radio sends: the last samples, and its frames.
class transmission {
public:
  explicit transmission(std::vector<std::vector<complex>> beginnings) : beginnings_(std::move(beginnings)) {}

  void push(sample_number at, const air_sample& sample) {
    history_[at % history_samples] = sample.value;
    if (sample.active) {
      if (burst_.empty()) burst_begin_ = at;
      burst_.push_back(sample.value);
    } else if (!burst_.empty()) {
      frames.push_back(frame_of());
      burst_.clear();
    }
  }

  /// At a time between samples; half_taps of them after it must be there.
  complex at(double time, const std::vector<std::array<double, 2 * half_taps>>& taps) const {
    const double whole = std::floor(time);
    const auto& row = taps[static_cast<std::size_t>(std::lround((time - whole) * tap_phases))];
    complex sum = 0;
    for (int tap = 0; tap < 2 * half_taps; ++tap) {
      const auto index = static_cast<sample_number>(whole) + tap - half_taps + 1;
      if (index >= 0) sum += row[tap] * history_[index % history_samples];
    }
    return sum;
  }

  std::deque<frame> frames;

private:
  frame frame_of() const {
    for (const auto& beginning : beginnings_) {
      for (std::size_t first = 0; first + beginning.size() <= burst_.size() && first < 40; ++first) {
        if (!std::equal(beginning.begin(), beginning.end(), burst_.begin() + static_cast<std::ptrdiff_t>(first))) continue;
        std::size_t last = burst_.size() - 1;
        while (burst_[last] == complex{}) --last;
        const double symbols = std::round((static_cast<double>(last - first) - fall_samples) / symbol_samples);
        const double begin = static_cast<double>(burst_begin_) + static_cast<double>(first) + half_pulse_samples - half_chip_samples;
        return {.begin = begin, .end = begin + symbol_samples * symbols};
      }
    }
    throw std::runtime_error("a radio sent something that does not begin as a frame");
  }

  std::vector<std::vector<complex>> beginnings_;
  std::array<complex, history_samples> history_{};
  std::vector<complex> burst_;
  sample_number burst_begin_ = 0;
};

nlohmann::json run(const nlohmann::json& plan) {
  const std::uint32_t clocks_per_us = plan.at("clocks_per_us"), samples_per_us = plan.at("samples_per_us");
  const auto taps = interpolation();
  std::vector<std::vector<complex>> beginnings;
  for (const auto& beginning : plan.at("beginnings")) {
    auto& values = beginnings.emplace_back();
    for (const auto& pair : beginning) values.emplace_back(pair.at(0).get<double>(), pair.at(1).get<double>());
  }

  std::array<radio_device, 2> radios;
  std::array<transmission, 2> sent{transmission{beginnings}, transmission{beginnings}};
  std::array<path, 2> to;  // the path to a radio
  set_up(radios, plan);

  std::mt19937_64 random(plan.at("seed").get<std::uint64_t>());
  std::normal_distribution<double> normal;
  nlohmann::json found = nlohmann::json::array();
  sample_number now = 0;
  std::uint32_t phase = 0;  // of the samples in the clocks
  std::array<std::size_t, 2> done{};
  std::size_t responses = 0, failed = 0;

  const auto step = [&] {
    phase += clocks_per_us;
    const std::uint32_t clocks = phase / samples_per_us;
    phase %= samples_per_us;
    std::array<air_sample, 2> out;
    for (std::size_t radio = 0; radio < 2; ++radio) {
      const path& way = to[radio];
      const double time = static_cast<double>(now) - way.delay_at(static_cast<double>(now));
      complex heard = sent[1 - radio].at(time, taps) * way.gain * std::polar(1.0, way.turn * static_cast<double>(now));
      heard += way.noise * complex{normal(random), normal(random)};
      out[radio] = radios[radio].sample(heard, clocks);
    }
    for (std::size_t radio = 0; radio < 2; ++radio) sent[radio].push(now, out[radio]);
    ++now;
  };

  for (const auto& exchange : plan.at("exchanges")) {
    for (std::size_t radio = 0; radio < 2; ++radio) {
      const auto& way = exchange.at("paths").at(radio);
      to[radio] = {.delay_samples = way.at("delay_samples"),
                   .drift = way.at("drift"),
                   .turn = way.at("turn"),
                   .gain = way.at("gain"),
                   .noise = way.at("noise"),
                   .since = now};
    }
    const std::size_t sender = exchange.at("sender");
    radio_packet packet{.ra = exchange.at("ra"), .rate = exchange.at("rate"), .force_rts = exchange.at("rts")};
    packet.msdu.resize(exchange.at("bytes").get<std::size_t>());
    for (auto& octet : packet.msdu) octet = static_cast<std::uint8_t>(random());
    radios[sender].give(std::move(packet));
    // Until its record is there and the air is free again.
    const sample_number limit = now + static_cast<sample_number>(exchange.at("limit_us").get<double>() * samples_per_us);
    while (radios[sender].results().size() == done[sender]) {
      if (now > limit) throw std::runtime_error("an exchange has no end");
      step();
    }
    if (radios[sender].results()[done[sender]++] != 0) ++failed;
    const sample_number rest = now + static_cast<sample_number>(exchange.at("gap_us").get<double>() * samples_per_us);
    while (now < rest) step();

    // Frames in order of time; whatever begins within DIFS of another's end is its response.
    for (std::size_t radio = 0; radio < 2; ++radio) {
      for (const frame& answer : sent[radio].frames) {
        for (const frame& heard : sent[1 - radio].frames) {
          const double arrival = heard.end + to[radio].delay_at(heard.end);
          const double gap_us = (answer.begin - arrival) / samples_per_us;
          if (gap_us < 0.0 || gap_us > plan.at("response_within_us").get<double>()) continue;
          ++responses;
          found.push_back(gap_us);
        }
      }
    }
    for (auto& each : sent) each.frames.clear();
  }
  return {{"sifs_us", found}, {"responses", responses}, {"failed", failed}, {"samples", now}};
}

}  // namespace
}  // namespace perhop::bench

int main() { return perhop::bench::run_plan("bench_antenna", perhop::bench::run); }
