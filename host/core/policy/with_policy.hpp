// SPDX-License-Identifier: GPL-2.0-or-later
//
// Calls into a variant whose first alternative, std::monostate, stands for "no policy". A large one may lie behind a pointer.

#pragma once

#include <type_traits>
#include <variant>

namespace perhop::policy {

/// Calls `call` with the policy, unless there is none.
template <typename variant_type, typename call_type>
void with_policy(variant_type& policy, call_type call) {
  std::visit(
      [&call](auto& alternative) {
        if constexpr (requires { *alternative; }) {
          call(*alternative);
        } else if constexpr (!std::is_same_v<std::remove_cvref_t<decltype(alternative)>, std::monostate>) {
          call(alternative);
        }
      },
      policy);
}

}  // namespace perhop::policy
