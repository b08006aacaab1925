// SPDX-License-Identifier: GPL-2.0-or-later
/// What the daemon says of itself: one line an event on standard error, for a person or as a JSON object.
///
///     perhop-node: mac_up address=02:00:00:00:00:01 profile=dsss_long
///     {"time":"2026-11-21T17:20:01.123456Z","program":"perhop-node","event":"mac_up","address":"02:00:00:00:00:01",...}
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace perhop::node {

enum class log_format : std::uint8_t { text, json };

/// From now on; text until then.
void set_log_format(log_format format);

void log(std::string_view event, std::initializer_list<std::pair<std::string_view, std::string>> fields = {});

/// The line of an event, without its end. @param unix_us of JSON lines
std::string log_line(log_format format, std::uint64_t unix_us, std::string_view event,
                     std::initializer_list<std::pair<std::string_view, std::string>> fields);

/// 02:00:00:00:00:01
std::string text_of_mac(std::uint64_t address);

}  // namespace perhop::node
