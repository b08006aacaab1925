// SPDX-License-Identifier: GPL-2.0-or-later
/// One object of run.json, whose every field is read with an error that names it, what it takes and the remedy.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/run/config_error.hpp"

namespace perhop::run {

inline std::string in_quotes(std::string_view text) { return "'" + std::string(text) + "'"; }

inline std::string number_text(double value) {
  std::ostringstream text;
  text << value;
  return text.str();
}

/// One object of the file. Every read names its key; finish() refuses what was not read.
class json_section {
public:
  json_section(const nlohmann::json& object, std::string file, std::string path)
      : object_(object), file_(std::move(file)), path_(std::move(path)) {
    if (!object_.is_object()) fail("", "must be an object {...}");
  }

  [[noreturn]] void fail(std::string_view key, const std::string& problem) const {
    throw config_error(file_ + ": field " + name_of(key) + ": " + problem);
  }

  bool has(const char* key) {
    note(key);
    return object_.contains(key) && !object_[key].is_null();
  }

  json_section object(const char* key) { return json_section(required(key), file_, name_of(key)); }

  const nlohmann::json& list(const char* key) {
    const nlohmann::json& value = required(key);
    if (!value.is_array()) fail(key, "must be a list [...]");
    return value;
  }
  const nlohmann::json& raw(const char* key) { return required(key); }
  json_section element(const char* key, std::size_t index) const {
    return json_section(object_[key][index], file_, name_of(key) + "[" + std::to_string(index) + "]");
  }

  double number(const char* key, double least, double most) {
    const nlohmann::json& value = required(key);
    if (!value.is_number()) fail(key, "must be a number");
    const double result = value.get<double>();
    if (!(result >= least && result <= most)) {
      fail(key, number_text(result) + " is out of range; give a number from " + number_text(least) + " to " + number_text(most));
    }
    return result;
  }
  double positive(const char* key, double most) {
    const double result = number(key, 0, most);
    if (result == 0) fail(key, "must be above 0");
    return result;
  }
  std::uint64_t integer(const char* key, std::uint64_t least, std::uint64_t most) { return integer(key, required(key), least, most); }
  std::uint64_t integer(std::string_view key, const nlohmann::json& value, std::uint64_t least, std::uint64_t most) const {
    const bool whole = value.is_number_unsigned() || (value.is_number_integer() && value.get<std::int64_t>() >= 0);
    if (!whole || value.get<std::uint64_t>() < least || value.get<std::uint64_t>() > most) {
      fail(key, value.dump() + " is not a whole number from " + std::to_string(least) + " to " + std::to_string(most));
    }
    return value.get<std::uint64_t>();
  }
  bool boolean(const char* key) {
    const nlohmann::json& value = required(key);
    if (!value.is_boolean()) fail(key, "must be true or false");
    return value.get<bool>();
  }
  std::string text(const char* key) {
    const nlohmann::json& value = required(key);
    if (!value.is_string()) fail(key, "must be a string");
    return value.get<std::string>();
  }
  template <typename choice>
  choice one_of(const char* key, std::string_view what, std::initializer_list<std::pair<std::string_view, choice>> choices) {
    return one_of(key, what, std::span(choices.begin(), choices.size()));
  }
  template <typename choice>
  choice one_of(const char* key, std::string_view what, std::span<const std::pair<std::string_view, choice>> choices) {
    const std::string name = text(key);
    std::string known;
    for (const auto& [candidate, value] : choices) {
      if (candidate == name) return value;
      known += (known.empty() ? "" : ", ") + std::string(candidate);
    }
    fail(key, "unknown " + std::string(what) + " " + in_quotes(name) + "; one of " + known);
  }
  template <typename value, typename read_function>
  void optional(const char* key, value& result, read_function&& read) {
    if (has(key)) result = read(key);
  }

  void finish() const {
    for (const auto& [key, value] : object_.items()) {
      if (std::find(known_.begin(), known_.end(), key) != known_.end()) continue;
      std::string names;
      for (const std::string& name : known_) names += (names.empty() ? "" : ", ") + name;
      fail(key, "unknown field; known here: " + names);
    }
  }

private:
  std::string name_of(std::string_view key) const {
    if (path_.empty()) return key.empty() ? "(whole file)" : std::string(key);
    return key.empty() ? path_ : path_ + "." + std::string(key);
  }
  void note(const char* key) {
    if (std::find(known_.begin(), known_.end(), key) == known_.end()) known_.emplace_back(key);
  }
  const nlohmann::json& required(const char* key) {
    note(key);
    const auto found = object_.find(key);
    if (found == object_.end()) fail(key, "is missing; add it");
    return *found;
  }

  const nlohmann::json& object_;
  std::string file_;
  std::string path_;
  std::vector<std::string> known_;
};

}  // namespace perhop::run
