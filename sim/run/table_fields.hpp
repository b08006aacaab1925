// SPDX-License-Identifier: GPL-2.0-or-later
/// An object of run.json as the readers that follow from policies.yaml ask for it (host/core/shim/flow_policy_fields.hpp).
#pragma once

#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>

#include "host/own/load_policy.hpp"
#include "sim/run/json_section.hpp"

namespace perhop::run {

class table_fields {
public:
  explicit table_fields(json_section object) : object_(std::move(object)) {}

  template <typename choice>
  choice word(const char* key, std::string_view what, std::span<const std::pair<std::string_view, choice>> words, choice otherwise) {
    return object_.has(key) ? object_.one_of<choice>(key, what, words) : otherwise;
  }
  std::uint32_t count(const char* key, std::uint32_t otherwise, std::uint32_t most, std::uint32_t least = 0) {
    return object_.has(key) ? static_cast<std::uint32_t>(object_.integer(key, least, most)) : otherwise;
  }
  double number(const char* key, double otherwise, double most, double least) {
    return object_.has(key) ? object_.number(key, least, most) : otherwise;
  }
  bool flag(const char* key, bool otherwise) { return object_.has(key) ? object_.boolean(key) : otherwise; }
  const policy::own_policy_source* own(const char* key) {
    json_section named = object_.object(key);
    const std::string file = named.text("file"), name = named.text("name");
    if (named.has("sha256")) named.text("sha256");  // a part of the run's identity
    named.finish();
    return &own::policy_in(file, name, [](const std::string& problem) { throw std::runtime_error("the policy " + problem); });
  }
  [[noreturn]] void refuse(const char* key, const std::string& problem) { object_.fail(key, problem); }
  void finish() { object_.finish(); }

  /// For what else the object holds.
  json_section& section() { return object_; }

private:
  json_section object_;
};

}  // namespace perhop::run
