// SPDX-License-Identifier: GPL-2.0-or-later
//
// A list of words (host/core/policy/words.hpp) as a Python enum.

#pragma once

#include <nanobind/nanobind.h>

#include <array>
#include <cstddef>

#include "host/core/policy/words.hpp"

namespace perhop::bindings {

template <typename choice, std::size_t count>
void bind_words(nanobind::module_& module, const char* name, const char* doc, const policy::words<choice, count>& words,
                const std::array<const char*, count>& meanings) {
  nanobind::enum_<choice> bound(module, name, doc);
  // The words are literals, so that each ends with a 0.
  for (std::size_t index = 0; index < count; ++index) bound.value(words[index].first.data(), words[index].second, meanings[index]);
}

}  // namespace perhop::bindings
