// SPDX-License-Identifier: GPL-2.0-or-later
#include "sim/run/exact_config.hpp"

#include <string>

#include "sim/run/json_section.hpp"

namespace perhop::run {

using nlohmann::json;

exact_config read_exact(json_section exact, std::size_t nodes) {
  exact_config config;
  config.mode = exact.one_of<policy::exact_mode>("mode", "mode", policy::exact_mode_words);
  config.fairness = exact.one_of<policy::exact_fairness>("fairness", "fairness", policy::exact_fairness_words);
  config.eta = exact.positive("eta", 1);
  config.interval_ms = static_cast<std::uint32_t>(exact.integer("interval_ms", 1, 60'000));
  const auto milliseconds = [&](const char* key) { return static_cast<std::uint32_t>(exact.integer(key, 1, 60'000)); };
  exact.optional("hello_interval_ms", config.hello_interval_ms, milliseconds);
  const auto yes_or_no = [&](const char* key) { return exact.boolean(key); };
  exact.optional("packets", config.packets, yes_or_no);
  if (exact.has("silent_routers")) {
    const json& list = exact.list("silent_routers");
    for (std::size_t index = 0; index < list.size(); ++index) {
      const std::string name = "silent_routers[" + std::to_string(index) + "]";
      config.silent_routers.push_back(static_cast<node_id>(exact.integer(name, list[index], 0, nodes - 1)));
    }
  }
  exact.finish();
  return config;
}

}  // namespace perhop::run
