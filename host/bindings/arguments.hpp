// SPDX-License-Identifier: GPL-2.0-or-later
//
// From Python's values to those of host/core, checked: whatever Python passes, the answer is a value in range or a
// TypeError or ValueError that names the field and says what it takes. So no assertion of host/core can be reached.

#pragma once

#include <nanobind/nanobind.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace perhop::bindings {

namespace nb = nanobind;

/// What a number may be; both ends belong to it.
template <typename number_type>
struct limits {
  number_type low = std::numeric_limits<number_type>::lowest();
  number_type high = std::numeric_limits<number_type>::max();
};

template <typename type>
concept whole_number = std::integral<type> && !std::same_as<type, bool>;

template <typename type>
inline constexpr bool is_optional = false;
template <typename type>
inline constexpr bool is_optional<std::optional<type>> = true;

template <typename type>
inline constexpr bool is_vector = false;
template <typename type>
inline constexpr bool is_vector<std::vector<type>> = true;

inline std::string shown(nb::handle given) { return nb::cast<std::string>(nb::str(nb::repr(given))); }

inline std::string class_name(nb::handle type) { return nb::cast<std::string>(type.attr("__name__")); }

[[noreturn]] inline void refuse_type(std::string_view field, nb::handle given, const std::string& wanted) {
  throw nb::type_error((std::string(field) + " = " + shown(given) + ": give " + wanted + ", not " + class_name(given.type())).c_str());
}

[[noreturn]] inline void refuse_value(std::string_view field, nb::handle given, const std::string& remedy) {
  throw nb::value_error((std::string(field) + " = " + shown(given) + ": " + remedy).c_str());
}

template <typename number_type>
std::string range_text(const limits<number_type>& range) {
  const auto text = [](number_type value) {
    if constexpr (std::floating_point<number_type>) {
      std::array<char, 32> digits{};
      const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
      return std::string(digits.data(), end);
    } else {
      return std::to_string(value);
    }
  };
  return "from " + text(range.low) + " to " + text(range.high);
}

/// Python's name of what a field takes, for signatures.
template <typename type>
std::string python_type() {
  if constexpr (std::same_as<type, bool>) {
    return "bool";
  } else if constexpr (whole_number<type>) {
    return "int";
  } else if constexpr (std::floating_point<type>) {
    return "float";
  } else if constexpr (is_optional<type>) {
    return python_type<typename type::value_type>() + " | None";
  } else if constexpr (is_vector<type>) {
    return "tuple[" + python_type<typename type::value_type>() + ", ...]";
  } else {
    return class_name(nb::type<type>());
  }
}

template <typename type>
struct number_in {
  using type_of_number = type;
};
template <typename type>
struct number_in<std::optional<type>> {
  using type_of_number = type;
};
template <typename type>
using number_of = typename number_in<type>::type_of_number;

/// Numbers and optional numbers have limits; for anything else there is nothing to say.
template <typename type>
using limits_of = std::conditional_t<std::is_arithmetic_v<number_of<type>> && !std::same_as<number_of<type>, bool>, limits<number_of<type>>,
                                     std::nullptr_t>;

/// A value of `type`, or an exception that names `field`.
template <typename type>
type checked(std::string_view field, nb::handle given, const limits_of<type>& range = {}) {
  if constexpr (std::same_as<type, bool>) {
    if (!PyBool_Check(given.ptr())) refuse_type(field, given, "True or False");
    return given.is(nb::handle(Py_True));
  } else if constexpr (whole_number<type>) {
    if (PyBool_Check(given.ptr()) || !PyIndex_Check(given.ptr())) refuse_type(field, given, "a whole number " + range_text(range));
    const nb::object index = nb::steal(PyNumber_Index(given.ptr()));
    if (!index.is_valid()) nb::raise_python_error();
    int overflow = 0;
    const long long narrow = PyLong_AsLongLongAndOverflow(index.ptr(), &overflow);
    if (overflow == 0) {
      if (!std::in_range<type>(narrow)) refuse_value(field, given, "give a whole number " + range_text(range));
    } else if (overflow > 0 && std::same_as<type, std::uint64_t>) {
      const unsigned long long wide = PyLong_AsUnsignedLongLong(index.ptr());
      if (PyErr_Occurred() != nullptr) {
        PyErr_Clear();
        refuse_value(field, given, "give a whole number " + range_text(range));
      }
      if (static_cast<type>(wide) > range.high) refuse_value(field, given, "give a whole number " + range_text(range));
      return static_cast<type>(wide);
    } else {
      refuse_value(field, given, "give a whole number " + range_text(range));
    }
    const auto value = static_cast<type>(narrow);
    if (value < range.low || value > range.high) refuse_value(field, given, "give a whole number " + range_text(range));
    return value;
  } else if constexpr (std::floating_point<type>) {
    if (PyBool_Check(given.ptr()) || !PyNumber_Check(given.ptr())) refuse_type(field, given, "a number " + range_text(range));
    const double value = PyFloat_AsDouble(given.ptr());
    if (value == -1.0 && PyErr_Occurred() != nullptr) {
      PyErr_Clear();
      refuse_type(field, given, "a number " + range_text(range));
    }
    if (!std::isfinite(value) || value < range.low || value > range.high) refuse_value(field, given, "give a number " + range_text(range));
    return static_cast<type>(value);
  } else if constexpr (is_optional<type>) {
    if (given.is_none()) return std::nullopt;
    return checked<typename type::value_type>(field, given, range);
  } else if constexpr (is_vector<type>) {
    if (!nb::isinstance<nb::list>(given) && !nb::isinstance<nb::tuple>(given)) refuse_type(field, given, "a list or tuple");
    type values;
    for (const nb::handle item : given) values.push_back(checked<typename type::value_type>(std::string(field) + "[...]", item));
    return values;
  } else {
    if (!nb::isinstance<type>(given)) {
      std::string wanted = "a " + class_name(nb::type<type>());
      if constexpr (std::is_enum_v<type>) {
        wanted = "one of";
        for (nb::handle member : nb::type<type>()) wanted += " " + nb::cast<std::string>(nb::str(member));
      }
      refuse_type(field, given, wanted);
    }
    return nb::cast<type>(given);
  }
}

/// What Python gets of a field.
template <typename type>
nb::object to_python(const type& value) {
  if constexpr (is_vector<type>) {
    nb::list items;
    for (const auto& item : value) items.append(to_python(item));
    return nb::tuple(items);
  } else {
    return nb::cast(value);
  }
}

/// A text known at compile time, as a template argument.
template <std::size_t size>
struct text {
  char characters[size]{};  // NOLINT(modernize-avoid-c-arrays): what a literal initialises
  consteval text(const char (&literal)[size]) { std::copy_n(literal, size, characters); }  // NOLINT(google-explicit-constructor)
};

/// An argument of a bound function that is a number with a name and limits; becomes the number where it is used.
template <text name, typename number_type = std::uint32_t, number_type low = std::numeric_limits<number_type>::lowest(),
          number_type high = std::numeric_limits<number_type>::max()>
struct number {
  nb::handle given;
  number_type get() const { return checked<number_type>(name.characters, given, {.low = low, .high = high}); }
  operator number_type() const { return get(); }  // NOLINT(google-explicit-constructor)
};

/// Microseconds since any fixed moment.
using now_us = number<"now_us", std::uint64_t>;

}  // namespace perhop::bindings

namespace nanobind::detail {

/// Takes any object: what it is worth is decided, and said, by `checked`.
template <perhop::bindings::text name, typename number_type, number_type low, number_type high>
struct type_caster<perhop::bindings::number<name, number_type, low, high>> {
  using argument = perhop::bindings::number<name, number_type, low, high>;
  NB_TYPE_CASTER(argument, const_name<std::is_floating_point_v<number_type>>("float", "int"))

  bool from_python(handle given, std::uint32_t, cleanup_list*) noexcept {
    value.given = given;
    return true;
  }
};

}  // namespace nanobind::detail
