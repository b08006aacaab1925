// SPDX-License-Identifier: GPL-2.0-or-later
/// What the daemon says of itself: one line an event on standard error, for a person or as a JSON object.
///
///     perhop-node: mac_up address=02:00:00:00:00:01 profile=dsss_long
///     {"time":"2026-11-21T17:20:01.123456Z","program":"perhop-node","event":"mac_up","address":"02:00:00:00:00:01",...}
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace perhop::node {

enum class log_format : std::uint8_t { text, json };

/// From now on; text until then.
void set_log_format(log_format format);

/// Of one event there are at most log_burst lines at once and one in log_interval_us in the long run; a line `left_out` says how
/// many there would have been between.
void log(std::string_view event, std::initializer_list<std::pair<std::string_view, std::string>> fields = {});

inline constexpr std::uint64_t log_burst = 20;
inline constexpr std::uint64_t log_interval_us = 10'000'000;

/// Which lines are written: what happens over and over must not fill a disk.
class log_limiter {
public:
  /// @param now_us of any clock @return how many of this event were left out before it; nothing: leave this one out, too
  std::optional<std::uint64_t> take(std::string_view event, std::uint64_t now_us);

private:
  struct bucket {
    std::uint64_t lines = log_burst;  ///< that may be written
    std::uint64_t since_us = 0;       ///< when the last one was added
    std::uint64_t left_out = 0;
  };
  std::map<std::string, bucket, std::less<>> buckets_;  ///< by event: words of ours, and few
};

/// The line of an event, without its end. @param unix_us of JSON lines
std::string log_line(log_format format, std::uint64_t unix_us, std::string_view event,
                     std::initializer_list<std::pair<std::string_view, std::string>> fields);

/// 02:00:00:00:00:01
std::string text_of_mac(std::uint64_t address);

}  // namespace perhop::node
