// SPDX-License-Identifier: GPL-2.0-or-later
// Verilated shell_tops behind pipes, and the air between them: perhop-virtual-shell-22 NODES SLOW_DOWN PULSE_S
//
// They run in lock step, as fast as they can, or SLOW_DOWN times slower than radios where that is slower. A line a request:
//
//   r NODE TAG ADDRESS, w NODE TAG ADDRESS WORD   a register; answered by `a NODE TAG STATUS WORD`
//   p NODE ENDS HEX                               a packet of the stream to its MAC; with ENDS 1 the MAC's packet ends with it
//   m NODE TAKES                                  with 0 no more packets of its MAC are taken, with 1 they are again
//   h NODE NOISE FACTOR...                        what its receiver hears: noise, and so much of what each node sends
//   l NODE NOISE FACTOR...                        what a recorder beside it hears
//   s NODE COUNT                                  gives the recorder's next COUNT samples as lines `i NODE HEX`: I and Q, 16 bits each,
//                                                 little-endian; 0 ends that
//   u NODE END HEX                                samples, of the same form, for the other user of its converter to send; with END 1
//                                                 the last ones of a burst. A burst begins when all of it is there, or much of it
//   k NODE TICKS, g NODE TICKS                    its timekeeper's time, of the next sample, or of that with the next pulse
//   q NODE COMES                                  whether it gets the pulses that come to all nodes each PULSE_S; at first it does not
//
// Lines of its own: `f NODE TICKS ENDS HEX` is a packet of the stream from its MAC with its time, or - for none, `c NODE COUNT` so many
// samples of the other user have gone out, `x NODE FIRST COUNT` told behind a transmission: the samples in which its front end was switched
// to sending; `k NODE TICKS SAMPLE` its time was set, `z NODE TICKS SAMPLE` that was its time at a pulse; `n SAMPLES` how far all are, `t
// SAMPLES AIR_S SECONDS` the same each second, beside the seconds it took. It ends with its input. What a node sends is heard one sample
// later. Noise and factors are amplitudes: of 1, root mean square, and of the converter's steps.
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "hw/virtual_usrp/shell/shell_node.hpp"
#include "sim/air/samples/noise.hpp"

namespace {

using namespace perhop::virtual_usrp;
using clock_type = std::chrono::steady_clock;

constexpr double samples_per_us = PERHOP_SHELL_MSPS;
constexpr std::uint64_t slice_samples = 220;
constexpr std::size_t line_samples = 360;
/// Of a burst that has not come to its end: what the host sends meanwhile must be enough for it to go on. UHD holds its host back behind 22
/// packets of 364 samples that have not gone out, so that as many as that would never come.
constexpr std::size_t burst_begins_samples = 4096;
constexpr std::uint64_t seed = 1;
constexpr std::chrono::milliseconds between_words{5};
constexpr const char* digits = "0123456789abcdef";

std::string hex_of(const void* from, std::size_t count) {
  const auto* bytes = static_cast<const std::uint8_t*>(from);
  std::string text;
  text.reserve(2 * count);
  for (std::size_t at = 0; at < count; ++at) {
    text += digits[bytes[at] >> 4];
    text += digits[bytes[at] & 0xF];
  }
  return text;
}

std::uint8_t value_of(char digit) { return static_cast<std::uint8_t>(digit <= '9' ? digit - '0' : digit - 'a' + 10); }

std::vector<std::uint8_t> bytes_of(const std::string& hex) {
  std::vector<std::uint8_t> bytes(hex.size() / 2);
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    bytes[at] = static_cast<std::uint8_t>(value_of(hex[2 * at]) << 4 | value_of(hex[2 * at + 1]));
  }
  return bytes;
}

/// What one receiver hears of all that is sent.
struct ear {
  double noise = 0;
  std::vector<double> factors;
};

class air {
public:
  sample heard(const ear& by, const std::vector<sample>& sent) {
    double i = 0, q = 0;
    for (std::size_t from = 0; from < by.factors.size(); ++from) {
      i += by.factors[from] * sent[from].i;
      q += by.factors[from] * sent[from].q;
    }
    if (by.noise > 0) {
      const std::complex<double> thermal = noise_.next();
      i += by.noise * thermal.real();
      q += by.noise * thermal.imag();
    }
    return {clipped(i), clipped(q)};
  }

private:
  static std::int16_t clipped(double value) { return static_cast<std::int16_t>(std::lround(std::clamp(value, -32768.0, 32767.0))); }

  perhop::air::samples::noise noise_{seed};
};

/// A node with its receiver, and a recorder beside it.
struct place {
  shell_node shell{samples_per_us};
  ear receiver, recorder;
  std::uint64_t to_record = 0;
  std::vector<sample> recorded;
  std::uint64_t sends_since = 0;  ///< a sample's number
  bool sends = false;
  std::deque<sample> to_send;  ///< of the other user
  std::size_t ends = 0;        ///< of bursts, that are among those
  std::deque<bool> is_last;    ///< of each of to_send
  bool in_burst = false;
  std::uint64_t gone_out = 0;  ///< of to_send, that have not been told of
  bool gets_pulses = false;
  std::optional<std::uint64_t> at_next_pulse;  ///< ticks

  /// The other user's next sample; nothing: it does not send.
  std::optional<sample> next_of_other() {
    if (!in_burst) in_burst = ends != 0 || to_send.size() >= burst_begins_samples;
    if (!in_burst || to_send.empty()) return std::nullopt;
    const sample next = to_send.front();
    to_send.pop_front();
    in_burst = !is_last.front();
    ends -= is_last.front() ? 1 : 0;
    is_last.pop_front();
    ++gone_out;
    return next;
  }
};

class network {
public:
  network(std::size_t nodes, double slow_down, double pulse_s)
      : slow_down_(slow_down),
        pulse_samples_(static_cast<std::uint64_t>(std::llround(pulse_s * samples_per_us * 1e6))),
        places_(nodes),
        sent_(nodes) {}

  void run() {
    const auto began = clock_type::now();
    auto told = began, said = began;
    while (read_lines(began)) {
      for (std::uint64_t count = 0; count < slice_samples; ++count) step();
      give();
      if (clock_type::now() - said > between_words) {
        said = clock_type::now();
        std::printf("n %llu\n", static_cast<unsigned long long>(samples_));
      }
      if (clock_type::now() - told > std::chrono::seconds(1)) {
        told = clock_type::now();
        std::printf("t %llu %.6f %.3f\n", static_cast<unsigned long long>(samples_), air_s(), seconds(told - began));
      }
      std::fflush(stdout);
    }
  }

private:
  /// How much of the radios' own time has passed.
  double air_s() const { return static_cast<double>(samples_) / (samples_per_us * 1e6); }

  static double seconds(clock_type::duration of) { return std::chrono::duration<double>(of).count(); }

  void step() {
    if (samples_ % pulse_samples_ == 0) give_pulse();
    std::vector<sample> now(places_.size());
    for (std::size_t node = 0; node < places_.size(); ++node) {
      place& here = places_[node];
      now[node] = here.shell.step(air_.heard(here.receiver, sent_), here.next_of_other());
      if (here.shell.sends() != here.sends) note_switch(node);
      if (here.to_record == 0) continue;
      here.recorded.push_back(air_.heard(here.recorder, sent_));
      if (--here.to_record == 0 || here.recorded.size() == line_samples) {
        static_assert(sizeof(sample) == 4);
        std::printf("i %zu %s\n", node, hex_of(here.recorded.data(), sizeof(sample) * here.recorded.size()).c_str());
        here.recorded.clear();
      }
    }
    sent_ = std::move(now);
    ++samples_;
  }

  /// Before the sample that comes with it, which has the time that was to be set.
  void give_pulse() {
    for (std::size_t node = 0; node < places_.size(); ++node) {
      place& here = places_[node];
      if (!here.gets_pulses) continue;
      if (const auto ticks = std::exchange(here.at_next_pulse, std::nullopt)) set_time(node, *ticks);
      tell_time('z', node);
    }
  }

  void set_time(std::size_t node, std::uint64_t ticks) {
    places_[node].shell.set_ticks(ticks);
    tell_time('k', node);
  }

  void tell_time(char what, std::size_t node) {
    std::printf("%c %zu %llu %llu\n", what, node, static_cast<unsigned long long>(places_[node].shell.ticks()),
                static_cast<unsigned long long>(samples_));
  }

  void note_switch(std::size_t node) {
    place& here = places_[node];
    if (here.sends) {
      std::printf("x %zu %llu %llu\n", node, static_cast<unsigned long long>(here.sends_since),
                  static_cast<unsigned long long>(samples_ - here.sends_since));
    }
    here.sends = !here.sends;
    here.sends_since = samples_;
  }

  void give() {
    for (std::size_t node = 0; node < places_.size(); ++node) {
      for (const auto& told : places_[node].shell.take_answers()) {
        std::printf("a %zu %llu %u %u\n", node, static_cast<unsigned long long>(told.tag), told.status, told.word);
      }
      if (const std::uint64_t count = std::exchange(places_[node].gone_out, 0); count != 0) {
        std::printf("c %zu %llu\n", node, static_cast<unsigned long long>(count));
      }
      for (const auto& [words, ends_burst, ticks] : places_[node].shell.take_packets()) {
        const std::string time = ticks ? std::to_string(*ticks) : "-";
        std::printf("f %zu %s %d %s\n", node, time.c_str(), ends_burst, hex_of(words.data(), 4 * words.size()).c_str());
      }
    }
  }

  /// Whether there is more to come. Waits while the nodes are ahead of their pace.
  bool read_lines(clock_type::time_point began) {
    for (;;) {
      const double ahead_s = slow_down_ * air_s() - seconds(clock_type::now() - began);
      pollfd input{STDIN_FILENO, POLLIN, 0};
      if (poll(&input, 1, slow_down_ > 0 && ahead_s > 0 ? static_cast<int>(std::ceil(1e3 * ahead_s)) : 0) <= 0) return true;
      char chunk[1 << 16];
      const ssize_t got = read(STDIN_FILENO, chunk, sizeof chunk);
      if (got <= 0) return false;
      text_.append(chunk, static_cast<std::size_t>(got));
      std::size_t first = 0;
      for (std::size_t end = 0; (end = text_.find('\n', first)) != std::string::npos; first = end + 1)
        obey(text_.substr(first, end - first));
      text_.erase(0, first);
    }
  }

  void obey(const std::string& line) {
    std::istringstream words(line);
    std::string what, hex;
    std::size_t node = 0;
    words >> what >> node;
    if (words && node < places_.size()) {
      place& here = places_[node];
      shell_node::access wanted{};
      if (what == "r" && words >> wanted.tag >> wanted.address) return here.shell.ask(wanted);
      wanted.write = true;
      if (what == "w" && words >> wanted.tag >> wanted.address >> wanted.word) return here.shell.ask(wanted);
      if (bool ends = false; what == "p" && words >> ends >> hex) return here.shell.give(bytes_of(hex), ends);
      if (int takes = 0; what == "m" && words >> takes) return here.shell.let_host_take(takes != 0);
      if (std::uint64_t ticks = 0; what == "k" && words >> ticks) return set_time(node, ticks);
      if (std::uint64_t ticks = 0; what == "g" && words >> ticks) {
        here.at_next_pulse = ticks;
        return;
      }
      if (what == "q" && words >> here.gets_pulses) return;
      if (what == "h" && read_ear(words, here.receiver)) return;
      if (what == "l" && read_ear(words, here.recorder)) return;
      if (what == "s" && words >> here.to_record) {
        if (here.to_record == 0) here.recorded.clear();
        return;
      }
      if (int end = 0; what == "u" && words >> end >> hex && hex.size() % (2 * sizeof(sample)) == 0) {
        const auto bytes = bytes_of(hex);
        for (std::size_t at = 0; at < bytes.size(); at += sizeof(sample)) {
          std::memcpy(&here.to_send.emplace_back(), &bytes[at], sizeof(sample));
          here.is_last.push_back(end != 0 && at + sizeof(sample) == bytes.size());
        }
        here.ends += end != 0 ? 1 : 0;
        return;
      }
    }
    std::fprintf(stderr, "perhop-virtual-shell: there is no request '%s'\n", line.c_str());
    std::exit(2);
  }

  bool read_ear(std::istringstream& words, ear& into) const {
    std::vector<double> factors(places_.size());
    words >> into.noise;
    for (double& each : factors) words >> each;
    into.factors = std::move(factors);
    return !words.fail();
  }

  double slow_down_;
  std::uint64_t pulse_samples_;
  std::vector<place> places_;
  std::vector<sample> sent_;
  std::uint64_t samples_ = 0;
  air air_;
  std::string text_;
};

}  // namespace

int main(int argc, char** argv) {
  const unsigned long nodes = argc == 4 ? std::strtoul(argv[1], nullptr, 10) : 0;
  const double slow_down = argc == 4 ? std::strtod(argv[2], nullptr) : -1;
  const double pulse_s = argc == 4 ? std::strtod(argv[3], nullptr) : 0;
  if (nodes == 0 || nodes > 64 || slow_down < 0 || pulse_s < 1e-5 || pulse_s > 1e5) {
    std::fputs(
        "perhop-virtual-shell NODES SLOW_DOWN PULSE_S: 1 to 64 nodes, so many times slower than radios (0: as fast as it can), a pulse "
        "each "
        "PULSE_S, 1e-5 to 1e5\n",
        stderr);
    return 2;
  }
  network(nodes, slow_down, pulse_s).run();
  return 0;
}
