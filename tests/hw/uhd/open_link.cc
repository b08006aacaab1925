// SPDX-License-Identifier: GPL-2.0-or-later
// Opens a radio by uhd_link, as the daemon does, and holds it: perhop_uhd_open ARGS PACKETS BURST BYTES [TIME_SOURCE]
//
// Sends so many packets in bursts, each packet with its number, receives nothing meanwhile and then what comes back (of a block that gives
// them back: hw/virtual_usrp), and compares. Packets have BYTES bytes, or with 0 from 4 to 1400 in turn. One line of JSON; then it holds
// the radio until its input ends; for each line it reads its identification again, and says how the radio's time stands and what is wrong.
#include <chrono>
#include <cstdint>
#include <cstring>
#include <iostream>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "host/core/wire/generated/registers.hpp"
#include "host/drivers/uhd/uhd_link.hpp"

namespace {

constexpr std::size_t most_bytes = 1400;

struct plan {
  std::uint32_t packets, burst;
  std::size_t bytes;  ///< of each packet; 0: they differ

  std::size_t length_of(std::uint32_t number) const { return bytes != 0 ? bytes : 4 * (1 + number * 7 % (most_bytes / 4)); }
};

struct outcome {
  std::uint32_t sent = 0, right = 0, wrong = 0;
};

/// Receives what has been sent, until nothing comes.
void receive(perhop::drivers::uhd_link& link, const plan& plan, outcome& so_far) {
  std::vector<std::uint8_t> back(8192);
  while (so_far.right + so_far.wrong < so_far.sent) {
    const std::size_t bytes = link.receive(back);
    if (bytes == 0) return;
    std::uint32_t number = 0;
    std::memcpy(&number, back.data(), sizeof number);
    const bool is_next = number == so_far.right + so_far.wrong && bytes == plan.length_of(number);
    ++(is_next ? so_far.right : so_far.wrong);
  }
}

outcome exchange(perhop::drivers::uhd_link& link, const plan& plan) {
  outcome so_far;
  std::vector<std::uint8_t> packet(most_bytes);
  while (so_far.sent < plan.packets) {
    std::memcpy(packet.data(), &so_far.sent, sizeof so_far.sent);
    link.send({packet.data(), plan.length_of(so_far.sent)});
    if (++so_far.sent % plan.burst == 0 || so_far.sent == plan.packets) receive(link, plan, so_far);
  }
  return so_far;
}

/// The radio's time as a JSON object.
std::string text_of(const std::optional<perhop::drivers::radio_time>& time) {
  if (!time) return "null";
  std::ostringstream text;
  text << std::boolalpha << R"({"by_pulses": )" << time->by_pulses << R"(, "host_ahead_s": )" << time->host_ahead_s
       << R"(, "pulse_offset_us": )" << time->pulse_offset_us << R"(, "corrections": )" << time->corrections << "}";
  return text.str();
}

/// The device's time by the shell's register, in ticks.
std::uint64_t ticks_now(perhop::drivers::uhd_link& link) {
  const std::uint64_t low = link.read(perhop::registers::shell::device_time::address);
  return low | std::uint64_t{link.read(perhop::registers::shell::device_time::address + 4)} << 32;
}

std::uint32_t number_of(const char* text) { return static_cast<std::uint32_t>(std::stoul(text)); }

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5 && argc != 6) {
    std::cerr << "perhop_uhd_open ARGS PACKETS BURST BYTES [TIME_SOURCE]\n";
    return 2;
  }
  const auto began = std::chrono::steady_clock::now();
  try {
    perhop::drivers::uhd_config config;
    config.args = argv[1];
    config.frequency_hz = 2.412e9;
    config.tx_gain_db = 40;
    config.rx_gain_db = 30;
    if (argc == 6) config.time_source = argv[5];
    perhop::drivers::uhd_link link(config);
    const double open_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    const std::uint32_t id = link.read(0);
    const outcome done = exchange(link, {number_of(argv[2]), number_of(argv[3]), number_of(argv[4])});
    std::cout << R"({"open_s": )" << open_s << R"(, "id": )" << id << R"(, "sent": )" << done.sent << R"(, "right": )" << done.right
              << R"(, "wrong": )" << done.wrong << R"(, "ticks_per_s": )" << link.ticks_per_s() << R"(, "packet_ticks": )"
              << (link.packet_ticks() ? std::to_string(*link.packet_ticks()) : "null") << R"(, "ticks": )" << ticks_now(link)
              << R"(, "time": )" << text_of(link.time()) << "}" << std::endl;
    for (std::string line; std::getline(std::cin, line);) {
      const std::uint32_t again = link.read(0);
      const std::string trouble = link.time_trouble();
      std::cout << R"({"id": )" << again << R"(, "trouble": ")" << trouble << R"(", "time": )" << text_of(link.time()) << "}" << std::endl;
    }
  } catch (const perhop::drivers::link_error& error) {
    const double after_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    std::cerr << "perhop_uhd_open: after " << after_s << " s: " << error.what() << "\n";
    return 1;
  }
  return 0;
}
