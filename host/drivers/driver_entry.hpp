// SPDX-License-Identifier: GPL-2.0-or-later
/// What a driver says of itself: its word in a configuration, its fields there, and how it is made. Each NAME_driver.cpp defines
/// `extern const driver_entry NAME_driver_entry`; the build finds the files. What else knows drivers by name follows from the entries:
/// the daemon's reader of configurations, and, by `perhop-node --drivers`, Python's models and the page for people.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

#include "host/core/wire/generated/protocol.hpp"
#include "host/drivers/driver.hpp"

namespace perhop::drivers {

/// The value of a field: text, a number of things, a whole number that may be below 0, or a quantity.
using field_value = std::variant<std::string, std::uint64_t, std::int64_t, double>;

enum class field_kind : std::uint8_t {
  text,     ///< not empty
  socket,   ///< path of a Unix socket
  mac,      ///< 02:00:00:00:00:01, as a count
  word,     ///< one of `words`
  count,    ///< from `least` to `most`
  integer,  ///< the same, also below 0
  quantity  ///< any number, above `above` where one is given
};

/// A field of a driver's section in a configuration.
struct config_field {
  std::string name;
  field_kind kind;
  std::string meaning;
  std::optional<field_value> otherwise;     ///< none: it must be there, unless `optional`
  std::optional<std::int64_t> least, most;  ///< of a count or an integer, which have both
  std::optional<double> above;              ///< of a quantity
  std::vector<std::string> words;
  bool optional = false;     ///< without a value of its own where it is not there
  bool says_where = false;   ///< tells people which device, or where, when it is not found
  std::string if_missing{};  ///< what to do then; else the meaning is said
};

/// What a configuration says for the fields of an entry: each is there, but optional ones.
class field_values {
public:
  void set(const std::string& name, field_value value) { values_[name] = std::move(value); }
  bool has(const std::string& name) const { return values_.contains(name); }
  const std::string& text(const std::string& name) const { return std::get<std::string>(values_.at(name)); }
  double quantity(const std::string& name) const { return std::get<double>(values_.at(name)); }
  /// A count that fits `Number`, by the entry's range.
  template <typename Number = std::uint64_t>
  Number count(const std::string& name) const {
    return static_cast<Number>(std::get<std::uint64_t>(values_.at(name)));
  }
  template <typename Number>
  Number integer(const std::string& name) const {
    return static_cast<Number>(std::get<std::int64_t>(values_.at(name)));
  }

private:
  std::map<std::string, field_value> values_;
};

/// A configuration that is well formed and cannot be: the message says which field, and what to do.
class field_error : public std::runtime_error {
  using runtime_error::runtime_error;
};

/// @throws std::system_error
using driver_maker = std::function<std::unique_ptr<driver>()>;

struct driver_entry {
  std::string kind;     ///< its word
  std::string meaning;  ///< what the MAC is
  std::vector<config_field> fields;
  std::string if_away;  ///< what to do where its MAC does not come up
  /// Takes what is configured; nothing is opened before the maker is called.
  /// @throws field_error
  driver_maker (*prepare)(const field_values& given);
};

/// Every driver, in the order of their kinds.
const std::vector<const driver_entry*>& all_drivers();

// ---- Fields, for entries to list

inline config_field required(field_kind kind, std::string name, std::string meaning) {
  return {.name = std::move(name),
          .kind = kind,
          .meaning = std::move(meaning),
          .otherwise = {},
          .least = {},
          .most = {},
          .above = {},
          .words = {}};
}

inline config_field text_field(std::string name, std::string otherwise, std::string meaning) {
  config_field field = required(field_kind::text, std::move(name), std::move(meaning));
  field.otherwise = std::move(otherwise);
  return field;
}

/// @param otherwise none: it must be there
inline config_field count_field(std::string name, std::optional<std::uint64_t> otherwise, std::int64_t least, std::int64_t most,
                                std::string meaning) {
  config_field field = required(field_kind::count, std::move(name), std::move(meaning));
  if (otherwise) field.otherwise = *otherwise;
  field.least = least;
  field.most = most;
  return field;
}

inline config_field integer_field(std::string name, std::int64_t otherwise, std::int64_t least, std::int64_t most, std::string meaning) {
  config_field field = required(field_kind::integer, std::move(name), std::move(meaning));
  field.otherwise = otherwise;
  field.least = least;
  field.most = most;
  return field;
}

inline config_field quantity_field(std::string name, double otherwise, std::string meaning) {
  config_field field = required(field_kind::quantity, std::move(name), std::move(meaning));
  field.otherwise = otherwise;
  return field;
}

/// A timing profile whose name begins with `prefix`.
inline config_field profile_field(const std::string& prefix, std::string meaning) {
  config_field field = required(field_kind::word, "profile", std::move(meaning));
  field.otherwise = "dsss_long";
  for (const timing_profile& profile : timing_profiles()) {
    if (profile.name.starts_with(prefix)) field.words.emplace_back(profile.name);
  }
  return field;
}

inline config_field where(config_field field) {
  field.says_where = true;
  return field;
}

}  // namespace perhop::drivers
