// SPDX-License-Identifier: GPL-2.0-or-later
/// JSON that somebody else wrote. Values are copied and written by recursion, so a few kilobytes of brackets would overflow the stack:
/// what is nested deeper than any message of ours is no message.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

namespace perhop::sockets {

inline constexpr int most_message_depth = 16;

/// @return discarded (nlohmann::json::is_discarded()): no JSON, or nested too deeply
inline nlohmann::json parse_message(std::string_view text) {
  using json = nlohmann::json;
  struct too_deep {};
  const json::parser_callback_t shallow = [](int depth, json::parse_event_t event, json&) {
    const bool begins = event == json::parse_event_t::array_start || event == json::parse_event_t::object_start;
    if (begins && depth >= most_message_depth) throw too_deep();
    return true;
  };
  try {
    return json::parse(text, shallow, false);
  } catch (const too_deep&) {
    return json(json::value_t::discarded);
  }
}

}  // namespace perhop::sockets
