// SPDX-License-Identifier: GPL-2.0-or-later
/// Fields of a configuration object, each read with an error that names it and what it takes. All throw config_error.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>

#include "host/node/node_config.hpp"

namespace perhop::node {

inline void refuse_unknown(const nlohmann::json& object, const std::string& where, std::span<const std::string_view> known) {
  if (!object.is_object()) throw config_error(where + ": must be an object {...}");
  for (const auto& [key, value] : object.items()) {
    bool found = false;
    for (const std::string_view name : known) found |= name == key;
    if (!found) throw config_error(where + "." + key + ": unknown field");
  }
}

inline void refuse_unknown(const nlohmann::json& object, const std::string& where, std::initializer_list<std::string_view> known) {
  refuse_unknown(object, where, std::span<const std::string_view>(known.begin(), known.size()));
}

template <typename Value>
Value read(const nlohmann::json& object, const char* key, Value otherwise) {
  const auto found = object.find(key);
  if (found == object.end()) return otherwise;
  try {
    return found->get<Value>();
  } catch (const nlohmann::json::exception&) {
    throw config_error(std::string(key) + ": is " + found->dump() + ", which is of another type");
  }
}

inline std::uint64_t read_count(const nlohmann::json& object, const char* key, std::uint64_t otherwise, std::uint64_t low,
                                std::uint64_t high) {
  const auto found = object.find(key);
  if (found == object.end()) return otherwise;
  if (!found->is_number_unsigned() || found->get<std::uint64_t>() < low || found->get<std::uint64_t>() > high) {
    throw config_error(std::string(key) + ": is " + found->dump() + "; give a whole number from " + std::to_string(low) + " to " +
                       std::to_string(high));
  }
  return found->get<std::uint64_t>();
}

/// As read_count(), of numbers that may be below 0.
inline int read_integer(const nlohmann::json& object, const char* key, int otherwise, int low, int high) {
  const auto found = object.find(key);
  if (found == object.end()) return otherwise;
  // Looked at as 64 bits: one that is too large for an int would become another one.
  const bool whole = found->is_number_unsigned() ? found->get<std::uint64_t>() <= INT64_MAX : found->is_number_integer();
  if (!whole || found->get<std::int64_t>() < low || found->get<std::int64_t>() > high) {
    throw config_error(std::string(key) + ": is " + found->dump() + "; give a whole number from " + std::to_string(low) + " to " +
                       std::to_string(high));
  }
  return found->get<int>();
}

inline double read_number(const nlohmann::json& object, const char* key, double otherwise, double low, double high) {
  const auto number = read<double>(object, key, otherwise);
  if (!(number >= low && number <= high)) {
    std::ostringstream range;
    range << low << " to " << high;
    throw config_error(std::string(key) + ": is " + object.at(key).dump() + "; give " + range.str());
  }
  return number;
}

/// A probability or a share.
inline double read_share(const nlohmann::json& object, const char* key, double otherwise) {
  return read_number(object, key, otherwise, 0, 1);
}

/// The path of a Unix socket, which must be short.
inline std::string read_socket(const nlohmann::json& object, const char* key) {
  constexpr std::size_t most_bytes = 107;
  std::string path = read<std::string>(object, key, "");
  if (path.empty()) throw config_error(std::string(key) + ": is missing; give the path of a socket");
  if (path.size() > most_bytes) throw config_error(std::string(key) + ": is longer than " + std::to_string(most_bytes) + " bytes");
  return path;
}

/// One of the words that the pairs begin with.
template <typename Value>
Value read_word(const nlohmann::json& object, const char* key, std::span<const std::pair<std::string_view, Value>> words, Value otherwise) {
  if (!object.contains(key)) return otherwise;
  const auto word = read<std::string>(object, key, "");
  std::string known;
  for (const auto& [name, value] : words) {
    if (name == word) return value;
    known += (known.empty() ? "" : ", ") + std::string(name);
  }
  throw config_error(std::string(key) + ": is '" + word + "'; one of " + known);
}

/// The first one stands for a field that is not there.
template <typename Value>
Value read_word(const nlohmann::json& object, const char* key, std::initializer_list<std::pair<std::string_view, Value>> words) {
  return read_word(object, key, std::span<const std::pair<std::string_view, Value>>(words.begin(), words.size()), words.begin()->second);
}

/// 02:00:00:00:00:01
inline std::uint64_t parse_mac(const std::string& text) {
  std::uint64_t address = 0;
  bool good = text.size() == 17;
  for (std::size_t i = 0; good && i < text.size(); ++i) {
    const char letter = text[i];
    if (i % 3 == 2) {
      good = letter == ':';
    } else {
      const std::size_t digit = std::string_view("0123456789abcdef").find(letter);
      good = digit != std::string_view::npos;
      address = address << 4 | (digit & 0xf);
    }
  }
  if (!good) throw config_error("'" + text + "' is no MAC address; write 02:00:00:00:00:01");
  return address;
}

}  // namespace perhop::node
