// SPDX-License-Identifier: GPL-2.0-or-later
/// \file
/// The dynamic range of a receiver with and without gain control: a radio_top sends frames to everybody, and another one hears them behind
/// an antenna's noise, a gain that it controls itself, and a converter of 12 bits. How many come through, by their level.
///
/// Reads one JSON object from stdin (sim/bench/phy_bench/gain_control.py writes it), writes one to stdout.
#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <deque>
#include <nlohmann/json.hpp>
#include <random>
#include <stdexcept>
#include <vector>

#include "sim/bench/radio_top/plan.hpp"
#include "sim/bench/radio_top/radio_device.hpp"

namespace perhop::bench {
namespace {

using complex = std::complex<double>;

constexpr std::uint64_t everybody = 0xFFFF'FFFF'FFFF;

/// What is between the antenna and the modem. Levels are in steps of a converter of 16 bits behind the most gain.
class front_end {
public:
  front_end(double noise, double step, std::size_t delay_samples, std::uint64_t seed)
      : noise_(noise), step_(step), below_db_(delay_samples, 0), random_(seed) {}

  /// @param below_db what is said to it now; it comes into force with the delay
  complex heard(complex antenna, unsigned below_db) {
    const complex with_noise = antenna + noise_ * complex{normal_(random_), normal_(random_)};
    below_db_.push_back(below_db);
    const double gain = std::pow(10.0, -static_cast<double>(below_db_.front()) / 20);
    below_db_.pop_front();
    return {converted(with_noise.real() * gain), converted(with_noise.imag() * gain)};
  }

private:
  double converted(double value) const { return step_ * std::clamp(std::round(value / step_), -32768 / step_, 32768 / step_ - 1); }

  double noise_, step_;
  std::deque<unsigned> below_db_;
  std::mt19937_64 random_;
  std::normal_distribution<double> normal_;
};

nlohmann::json run(const nlohmann::json& plan) {
  const std::uint32_t clocks_per_sample = plan.at("clocks_per_sample"), samples_per_us = plan.at("samples_per_us");
  std::vector<radio_device> radios(2);
  set_up(radios, plan);
  radio_device &sender = radios[0], &receiver = radios[1];
  std::mt19937_64 random(plan.at("seed").get<std::uint64_t>());
  front_end between(plan.at("noise"), plan.at("step"), plan.at("delay_samples"), random());
  const double turn = plan.at("turn");
  const std::uint32_t delivered_address = plan.at("delivered_address");
  nlohmann::json found = nlohmann::json::array();
  std::int64_t now = 0;
  std::size_t done = 0;

  for (const auto& each : plan.at("cases")) {
    const double scale = each.at("scale");
    const std::uint32_t before = receiver.read(delivered_address);
    unsigned most_below_db = 0;
    complex sent = 0;
    const auto step = [&] {
      const complex antenna = scale * sent * std::polar(1.0, turn * static_cast<double>(now));
      most_below_db = std::max(most_below_db, receiver.gain_below_db());
      receiver.sample(between.heard(antenna, receiver.gain_below_db()), clocks_per_sample);
      sent = sender.sample(0, clocks_per_sample).value;
      ++now;
    };
    const std::size_t frames = each.at("frames");
    for (std::size_t frame = 0; frame < frames; ++frame) {
      radio_packet packet{.ra = everybody, .rate = each.at("rate")};
      packet.msdu.resize(plan.at("bytes").get<std::size_t>());
      for (auto& octet : packet.msdu) octet = static_cast<std::uint8_t>(random());
      sender.give(std::move(packet));
      const std::int64_t limit = now + 100'000 * samples_per_us;
      while (sender.results().size() == done) {
        if (now > limit) throw std::runtime_error("a frame has no end");
        step();
      }
      ++done;
      const std::int64_t rest = now + 40 * samples_per_us;
      while (now < rest) step();
    }
    found.push_back({{"delivered", receiver.read(delivered_address) - before}, {"frames", frames}, {"most_below_db", most_below_db}});
  }
  return {{"cases", found}};
}

}  // namespace
}  // namespace perhop::bench

int main() { return perhop::bench::run_plan("bench_gain", perhop::bench::run); }
