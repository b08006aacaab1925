// SPDX-License-Identifier: GPL-2.0-or-later
// Verilated shell_tops behind pipes, and the air between them: perhop-virtual-shell-22 NODES SLOW_DOWN
//
// They run in lock step, as fast as they can, or SLOW_DOWN times slower than radios where that is slower. A line a request:
//
//   r NODE TAG ADDRESS, w NODE TAG ADDRESS WORD   a register; answered by `a NODE TAG STATUS WORD`
//   p NODE HEX                                    a packet for its MAC
//   h NODE NOISE FACTOR...                        what its receiver hears: noise, and so much of what each node sends
//   s NODE COUNT NOISE FACTOR...                  gives the next COUNT samples of a recorder beside it, which hears the same way, as
//                                                 lines `i NODE HEX`: I and Q, 16 bits each, little-endian
//
// Lines of its own: `f NODE HEX` is a packet of its MAC, `t SAMPLES SECONDS` how far all are, each second. It ends with its input.
// What a node sends is heard one sample later. Noise and factors are amplitudes: of 1, root mean square, and of the converter's steps.
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "hw/virtual_usrp/shell/shell_node.hpp"

namespace {

using namespace perhop::virtual_usrp;
using clock_type = std::chrono::steady_clock;

constexpr double samples_per_us = PERHOP_SHELL_MSPS;
constexpr std::uint64_t slice_samples = 220;
constexpr std::size_t line_samples = 360;
constexpr std::uint64_t seed = 1;
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

std::vector<std::uint8_t> bytes_of(const std::string& hex) {
  std::vector<std::uint8_t> bytes;
  for (std::size_t at = 0; at + 1 < hex.size(); at += 2) {
    bytes.push_back(static_cast<std::uint8_t>(std::stoul(hex.substr(at, 2), nullptr, 16)));
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
      i += by.noise * distribution_(random_);
      q += by.noise * distribution_(random_);
    }
    return {clipped(i), clipped(q)};
  }

private:
  static std::int16_t clipped(double value) { return static_cast<std::int16_t>(std::lround(std::clamp(value, -32768.0, 32767.0))); }

  std::minstd_rand random_{seed};
  std::normal_distribution<double> distribution_;
};

/// A node with its receiver, and a recorder beside it.
struct place {
  shell_node shell{samples_per_us};
  ear receiver, recorder;
  std::uint64_t to_record = 0;
  std::vector<sample> recorded;
};

class network {
public:
  network(std::size_t nodes, double slow_down) : slow_down_(slow_down), places_(nodes), sent_(nodes) {}

  void run() {
    const auto began = clock_type::now();
    auto told = began;
    while (read_lines(began)) {
      for (std::uint64_t count = 0; count < slice_samples; ++count) step();
      give();
      if (clock_type::now() - told > std::chrono::seconds(1)) {
        told = clock_type::now();
        std::printf("t %llu %.3f\n", static_cast<unsigned long long>(samples_), seconds(told - began));
      }
      std::fflush(stdout);
    }
  }

private:
  static double seconds(clock_type::duration of) { return std::chrono::duration<double>(of).count(); }

  void step() {
    std::vector<sample> now(places_.size());
    for (std::size_t node = 0; node < places_.size(); ++node) {
      place& here = places_[node];
      now[node] = here.shell.step(air_.heard(here.receiver, sent_));
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

  void give() {
    for (std::size_t node = 0; node < places_.size(); ++node) {
      for (const auto& told : places_[node].shell.take_answers()) {
        std::printf("a %zu %llu %u %u\n", node, static_cast<unsigned long long>(told.tag), told.status, told.word);
      }
      for (const auto& words : places_[node].shell.take_packets()) {
        std::printf("f %zu %s\n", node, hex_of(words.data(), 4 * words.size()).c_str());
      }
    }
  }

  /// Whether there is more to come. Waits while the nodes are ahead of their pace.
  bool read_lines(clock_type::time_point began) {
    for (;;) {
      const double ahead_s = slow_down_ * static_cast<double>(samples_) / (samples_per_us * 1e6) - seconds(clock_type::now() - began);
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
      if (what == "p" && words >> hex) return here.shell.give(bytes_of(hex));
      if (what == "h" && read_ear(words, here.receiver)) return;
      if (what == "s" && words >> here.to_record && read_ear(words, here.recorder)) return;
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
  std::vector<place> places_;
  std::vector<sample> sent_;
  std::uint64_t samples_ = 0;
  air air_;
  std::string text_;
};

}  // namespace

int main(int argc, char** argv) {
  const unsigned long nodes = argc == 3 ? std::strtoul(argv[1], nullptr, 10) : 0;
  const double slow_down = argc == 3 ? std::strtod(argv[2], nullptr) : -1;
  if (nodes == 0 || nodes > 64 || slow_down < 0) {
    std::fputs("perhop-virtual-shell NODES SLOW_DOWN: 1 to 64 nodes, so many times slower than radios; 0: as fast as it can\n", stderr);
    return 2;
  }
  network(nodes, slow_down).run();
  return 0;
}
