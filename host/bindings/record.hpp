// SPDX-License-Identifier: GPL-2.0-or-later
//
// A struct of host/core as a Python value: made with keywords, checked field by field, compared by value, never changed
// afterwards (`replace` makes a changed copy). Not changed, because a field is handed out as a copy: an assignment to a
// field of a field would be lost without a word.

#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "host/bindings/arguments.hpp"

namespace perhop::bindings {

template <typename struct_type>
class record {
public:
  record(nb::module_& module, const char* name, const std::string& doc) : name_(name), class_(module, name, doc.c_str()) {}

  /// @param doc meaning and unit
  template <typename member_type>
  record& field(const char* name, member_type struct_type::* member, std::string doc, const limits_of<member_type>& range = {}) {
    const std::string full_name = std::string(name_) + "." + name;
    if constexpr (!std::same_as<limits_of<member_type>, std::nullptr_t>) {
      if constexpr (std::integral<number_of<member_type>>) doc += " (" + range_text(range) + ")";
    }
    fields().push_back({.name = name,
                        .python_type = python_type<member_type>(),
                        .set = [member, full_name, range](
                                   struct_type& self, nb::handle given) { self.*member = checked<member_type>(full_name, given, range); },
                        .get = [member](const struct_type& self) { return to_python(self.*member); }});
    const std::string signature = std::string("def ") + name + "(self) -> " + python_type<member_type>();
    class_.def_prop_ro(
        name, [member](const struct_type& self) { return to_python(self.*member); }, nb::sig(signature.c_str()), doc.c_str());
    return *this;
  }

  /// To be called once, after the last field. @return the class, for what is more than fields
  nb::class_<struct_type>& done() {
    std::string keywords;
    for (const field_info& info : fields()) keywords += ", " + info.name + ": " + info.python_type + " = ...";
    const std::string init_signature = "def __init__(self, *" + keywords + ") -> None";
    const std::string replace_signature = "def replace(self, *" + keywords + ") -> " + name_;
    const std::string name = name_;
    class_.def(
        "__init__",
        [name](struct_type* self, const nb::kwargs& given) {
          struct_type made{};
          assign(name, made, given);
          new (self) struct_type(std::move(made));
        },
        nb::sig(init_signature.c_str()));
    class_.def(
        "replace",
        [name](const struct_type& self, const nb::kwargs& given) {
          struct_type made = self;
          assign(name, made, given);
          return made;
        },
        nb::sig(replace_signature.c_str()), "A copy with these fields changed.");
    class_.def("__repr__", [name](const struct_type& self) {
      std::string text;
      for (const field_info& info : fields()) text += (text.empty() ? "" : ", ") + info.name + "=" + shown(info.get(self));
      return name + "(" + text + ")";
    });
    // With an operand of another type Python is told that this one does not know how to compare.
    class_.def(
        "__eq__",
        [](const struct_type& self, const struct_type& other) {
          return std::all_of(fields().begin(), fields().end(),
                             [&](const field_info& info) { return info.get(self).equal(info.get(other)); });
        },
        nb::is_operator(), nb::sig("def __eq__(self, other: object) -> bool"));
    class_.def(
        "__hash__",
        [](const struct_type& self) {
          nb::list values;
          for (const field_info& info : fields()) values.append(info.get(self));
          return nb::hash(nb::tuple(values));
        },
        nb::sig("def __hash__(self) -> int"));
    return class_;
  }

private:
  struct field_info {
    std::string name;
    std::string python_type;
    std::function<void(struct_type&, nb::handle)> set;
    std::function<nb::object(const struct_type&)> get;
  };

  /// One list a struct; it lives as long as the module does.
  static std::vector<field_info>& fields() {
    static std::vector<field_info> list;
    return list;
  }

  static void assign(const std::string& name, struct_type& made, const nb::kwargs& given) {
    for (const auto [key, value] : given) {
      const auto wanted = nb::cast<std::string>(key);
      const field_info* found = nullptr;
      for (const field_info& info : fields()) {
        if (info.name == wanted) found = &info;
      }
      if (found == nullptr) {
        std::string known;
        for (const field_info& info : fields()) known += (known.empty() ? "" : ", ") + info.name;
        throw nb::type_error((name + " has no field '" + wanted + "'; it has: " + known).c_str());
      }
      found->set(made, value);
    }
  }

  const char* name_;
  nb::class_<struct_type> class_;
};

}  // namespace perhop::bindings
