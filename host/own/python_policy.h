// SPDX-License-Identifier: GPL-2.0-or-later
//
// The library that runs policies in Python: what load_policy.cpp finds in it.
#pragma once

#include <cstddef>

#include "host/core/policy/own/perhop_policy.h"

namespace perhop::own {

inline constexpr char python_policy_library[] = "libperhop_python_policy.so";
inline constexpr char python_policy_symbol[] = "perhop_open_python_policy";

}  // namespace perhop::own

extern "C" {

/// Runs a Python file. @param problem gets what is wrong, in at most `problem_bytes`
/// @return the policy that its class `name` is, for as long as the process runs; null: there is a problem
__attribute__((visibility("default"))) const perhop_policy* perhop_open_python_policy(const char* file, const char* name, char* problem,
                                                                                      std::size_t problem_bytes);
}
