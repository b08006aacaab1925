// SPDX-License-Identifier: GPL-2.0-or-later
#include "host/node/driver_config.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "host/drivers/pcap_tap.hpp"
#include "host/node/json_fields.hpp"

namespace perhop::node {

namespace {

using nlohmann::json;

using drivers::config_field;
using drivers::field_kind;
using drivers::field_value;

std::string missing(const config_field& field) {
  return "driver." + field.name + ": is missing: " + (field.if_missing.empty() ? field.meaning : field.if_missing);
}

double read_quantity(const json& object, const config_field& field) {
  const auto value = read<double>(object, field.name.c_str(), 0);
  if (field.above && !(value > *field.above)) throw config_error(missing(field));
  return value;
}

std::string read_text(const json& object, const config_field& field) {
  std::string text = read<std::string>(object, field.name.c_str(), "");
  if (text.empty()) throw config_error(missing(field));
  return text;
}

std::string read_one_of(const json& object, const config_field& field) {
  std::string word = read<std::string>(object, field.name.c_str(), "");
  if (std::find(field.words.begin(), field.words.end(), word) != field.words.end()) return word;
  std::string known;
  for (const std::string& each : field.words) known += (known.empty() ? "" : ", ") + each;
  throw config_error("driver." + field.name + ": is '" + word + "'; one of " + known);
}

/// What the configuration says for a field that is there.
field_value read_field(const json& object, const config_field& field) {
  const char* name = field.name.c_str();
  switch (field.kind) {
    case field_kind::text:
      return read_text(object, field);
    case field_kind::socket:
      return read_socket(object, name);
    case field_kind::mac:
      return parse_mac(read<std::string>(object, name, ""));
    case field_kind::word:
      return read_one_of(object, field);
    case field_kind::count:
      return read_count(object, name, 0, static_cast<std::uint64_t>(*field.least), static_cast<std::uint64_t>(*field.most));
    case field_kind::integer:
      return std::int64_t{read_integer(object, name, 0, static_cast<int>(*field.least), static_cast<int>(*field.most))};
    case field_kind::quantity:
      return read_quantity(object, field);
  }
  throw config_error(field.name + ": is of no kind");
}

drivers::field_values read_fields(const json& object, const drivers::driver_entry& entry) {
  std::vector<std::string_view> known{"kind", "faults", "capture"};
  for (const config_field& field : entry.fields) known.emplace_back(field.name);
  refuse_unknown(object, "driver", known);
  drivers::field_values given;
  for (const config_field& field : entry.fields) {
    if (object.contains(field.name)) {
      given.set(field.name, read_field(object, field));
    } else if (field.otherwise) {
      given.set(field.name, *field.otherwise);
    } else if (!field.optional) {
      if (field.kind == field_kind::socket) read_socket(object, field.name.c_str());
      throw config_error(missing(field));
    }
  }
  return given;
}

drivers::fault_config read_faults(const json& object) {
  refuse_unknown(object, "driver.faults", {"seed", "drop", "duplicate", "corrupt", "delayed", "delay_us", "reorder"});
  drivers::fault_config config;
  config.seed = read_count(object, "seed", config.seed, 0, ~std::uint64_t{0});
  config.drop = read_share(object, "drop", 0);
  config.duplicate = read_share(object, "duplicate", 0);
  config.corrupt = read_share(object, "corrupt", 0);
  config.delayed = read_share(object, "delayed", 0);
  config.delay_us = static_cast<std::uint32_t>(read_count(object, "delay_us", config.delay_us, 1, 60'000'000));
  config.reorder = read_share(object, "reorder", 0);
  return config;
}

capture_config read_capture(const json& object) {
  refuse_unknown(object, "driver.capture", {"file", "most_bytes"});
  capture_config config;
  config.file = read<std::string>(object, "file", "");
  if (config.file.empty()) throw config_error("driver.capture.file: is missing");
  config.most_bytes = read_count(object, "most_bytes", config.most_bytes, 1, ~std::uint64_t{0});
  return config;
}

}  // namespace

driver_config read_driver(const json& object) {
  if (!object.is_object()) throw config_error("driver: must be an object {...}");
  std::vector<std::pair<std::string_view, const drivers::driver_entry*>> kinds;
  for (const drivers::driver_entry* entry : drivers::all_drivers()) kinds.emplace_back(entry->kind, entry);
  const drivers::driver_entry* entry =
      read_word(object, "kind", std::span<const std::pair<std::string_view, const drivers::driver_entry*>>(kinds), kinds.front().second);
  driver_config config{.kind = entry->kind, .given = read_fields(object, *entry), .make = {}, .faults = {}, .capture = {}};
  try {
    config.make = entry->prepare(config.given);
  } catch (const drivers::field_error& error) {
    throw config_error(error.what());
  }
  if (const auto faults = object.find("faults"); faults != object.end()) config.faults = read_faults(*faults);
  if (const auto capture = object.find("capture"); capture != object.end()) config.capture = read_capture(*capture);
  return config;
}

std::unique_ptr<drivers::driver> make_driver(const driver_config& config) {
  std::unique_ptr<drivers::driver> made = config.make();
  if (config.faults) made = std::make_unique<drivers::fault_injector>(std::move(made), *config.faults);
  if (config.capture) made = std::make_unique<drivers::pcap_tap>(std::move(made), config.capture->file, config.capture->most_bytes);
  return made;
}

json describe_drivers() {
  static constexpr std::array kind_words{"text", "socket", "mac", "word", "count", "integer", "quantity"};
  json list = json::array();
  for (const drivers::driver_entry* entry : drivers::all_drivers()) {
    json fields = json::array();
    for (const config_field& field : entry->fields) {
      json told{{"name", field.name}, {"is", kind_words[static_cast<std::size_t>(field.kind)]}, {"meaning", field.meaning}};
      if (field.otherwise) std::visit([&](const auto& value) { told["otherwise"] = value; }, *field.otherwise);
      if (field.least) told["from"] = *field.least;
      if (field.most) told["to"] = *field.most;
      if (field.above) told["above"] = *field.above;
      if (!field.words.empty()) told["words"] = field.words;
      if (field.optional) told["optional"] = true;
      if (field.says_where) told["says_where"] = true;
      fields.push_back(std::move(told));
    }
    list.push_back({{"kind", entry->kind}, {"meaning", entry->meaning}, {"if_away", entry->if_away}, {"fields", std::move(fields)}});
  }
  return list;
}

}  // namespace perhop::node
