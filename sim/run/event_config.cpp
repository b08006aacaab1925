// SPDX-License-Identifier: GPL-2.0-or-later
#include "sim/run/event_config.hpp"

#include <algorithm>
#include <string>

#include "sim/run/json_section.hpp"

namespace perhop::run {

using nlohmann::json;

event_config read_event(json_section event, std::size_t radios, std::size_t nodes) {
  using event_kind = event_config::event_kind;
  event_config config;
  config.at_s = event.number("at_s", 0, 1e9);
  config.kind = event.one_of<event_kind>("kind", "event",
                                         {{"route", event_kind::route},
                                          {"link_down", event_kind::link_down},
                                          {"link_up", event_kind::link_up},
                                          {"node_down", event_kind::node_down},
                                          {"node_up", event_kind::node_up},
                                          {"move", event_kind::move},
                                          {"loss", event_kind::loss}});
  const auto node = [&](const char* key) { return static_cast<node_id>(event.integer(key, 0, radios - 1)); };
  switch (config.kind) {
    case event_kind::route: {
      const json& path = event.list("path");
      for (const json& place : path) config.path.push_back(static_cast<node_id>(event.integer("path", place, 0, nodes - 1)));
      if (config.path.size() < 2) event.fail("path", "must name at least two nodes");
      for (std::size_t first = 0; first < path.size(); ++first) {
        if (std::count(config.path.begin(), config.path.end(), config.path[first]) > 1) {
          event.fail("path", "visits node " + std::to_string(config.path[first]) + " twice");
        }
      }
      event.optional("both_ways", config.both_ways, [&](const char* key) { return event.boolean(key); });
      break;
    }
    case event_kind::link_down:
    case event_kind::link_up:
      config.a = node("a");
      config.b = node("b");
      if (config.a == config.b) event.fail("b", "is a itself; name two different nodes");
      break;
    case event_kind::node_down:
    case event_kind::node_up:
      config.a = node("node");
      break;
    case event_kind::loss:
      config.frame_error_rate = event.number("frame_error_rate", 0, 1);
      break;
    case event_kind::move:
      config.a = node("node");
      config.position = {event.number("x_m", -1e7, 1e7), event.number("y_m", -1e7, 1e7)};
      event.optional("speed_mps", config.speed_mps, [&](const char* key) { return event.number(key, 1e-6, 1e6); });
      break;
  }
  event.finish();
  return config;
}

}  // namespace perhop::run
