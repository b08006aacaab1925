// SPDX-License-Identifier: GPL-2.0-or-later
#include "host/node/log.hpp"

#include <time.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <nlohmann/json.hpp>

namespace perhop::node {

namespace {

log_format chosen = log_format::text;

std::string time_text(std::uint64_t unix_us) {
  const auto seconds = static_cast<time_t>(unix_us / 1'000'000);
  tm utc{};
  gmtime_r(&seconds, &utc);
  std::array<char, 40> text{};
  const std::size_t size = strftime(text.data(), text.size(), "%FT%T", &utc);
  std::snprintf(text.data() + size, text.size() - size, ".%06uZ", static_cast<unsigned>(unix_us % 1'000'000));
  return text.data();
}

}  // namespace

void set_log_format(log_format format) { chosen = format; }

std::string log_line(log_format format, std::uint64_t unix_us, std::string_view event,
                     std::initializer_list<std::pair<std::string_view, std::string>> fields) {
  if (format == log_format::json) {
    nlohmann::ordered_json line{{"time", time_text(unix_us)}, {"program", "perhop-node"}, {"event", event}};
    for (const auto& [name, value] : fields) line[std::string(name)] = value;
    return line.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  }
  std::string line = "perhop-node: " + std::string(event);
  for (const auto& [name, value] : fields) {
    const bool plain = !value.empty() && value.find_first_of(" \"\n") == std::string::npos;
    line += " " + std::string(name) + "=" +
            (plain ? value : nlohmann::json(value).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  }
  return line;
}

void log(std::string_view event, std::initializer_list<std::pair<std::string_view, std::string>> fields) {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  const std::uint64_t unix_us = static_cast<std::uint64_t>(now.tv_sec) * 1'000'000 + static_cast<std::uint64_t>(now.tv_nsec) / 1000;
  const std::string line = log_line(chosen, unix_us, event, fields) + "\n";
  // In one piece, so that lines of several processes do not mix.
  [[maybe_unused]] const ssize_t size = write(STDERR_FILENO, line.data(), line.size());
}

std::string text_of_mac(std::uint64_t address) {
  std::array<char, 18> text{};
  const auto octet = [address](int index) { return static_cast<unsigned>(address >> 8 * (5 - index) & 0xff); };
  std::snprintf(text.data(), text.size(), "%02x:%02x:%02x:%02x:%02x:%02x", octet(0), octet(1), octet(2), octet(3), octet(4), octet(5));
  return text.data();
}

}  // namespace perhop::node
