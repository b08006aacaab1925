// SPDX-License-Identifier: GPL-2.0-or-later
#include "host/node/log.hpp"

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <nlohmann/json.hpp>

namespace perhop::node {

namespace {

log_format chosen = log_format::text;
log_limiter limiter;

std::uint64_t now_us(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000 + static_cast<std::uint64_t>(now.tv_nsec) / 1000;
}

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

std::optional<std::uint64_t> log_limiter::take(std::string_view event, std::uint64_t now_us) {
  auto found = buckets_.find(event);
  if (found == buckets_.end()) found = buckets_.emplace(std::string(event), bucket{.since_us = now_us}).first;
  bucket& left = found->second;
  if (const std::uint64_t added = (now_us - left.since_us) / log_interval_us; added > 0) {
    left.lines = std::min(left.lines + added, log_burst);
    left.since_us += added * log_interval_us;
  }
  if (left.lines == 0) {
    ++left.left_out;
    return std::nullopt;
  }
  --left.lines;
  return std::exchange(left.left_out, 0);
}

void log(std::string_view event, std::initializer_list<std::pair<std::string_view, std::string>> fields) {
  const auto left_out = limiter.take(event, now_us(CLOCK_MONOTONIC));
  if (!left_out) return;
  std::string line = log_line(chosen, now_us(CLOCK_REALTIME), event, fields);
  if (*left_out > 0)
    line += "\n" + log_line(chosen, now_us(CLOCK_REALTIME), "left_out", {{"of", std::string(event)}, {"lines", std::to_string(*left_out)}});
  line += "\n";
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
