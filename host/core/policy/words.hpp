// SPDX-License-Identifier: GPL-2.0-or-later
//
// The words by which configurations name choices. Each list is beside its enum and is the only one; those of policies come
// from policies.yaml.

#pragma once

#include <array>
#include <cstddef>
#include <string_view>
#include <utility>

namespace perhop::policy {

template <typename choice, std::size_t count>
using words = std::array<std::pair<std::string_view, choice>, count>;

}  // namespace perhop::policy
