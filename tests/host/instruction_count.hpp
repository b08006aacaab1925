// SPDX-License-Identifier: GPL-2.0-or-later
//
// Counts the user-mode instructions that a piece of work takes: by the processor's own counter where the kernel offers it,
// else by single steps of a child process (ptrace), which is exact too, but slow.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

struct instruction_count {
  std::uint64_t instructions;
  const char* counted_by;  // "perf" or "single-step"
};

/// @param work runs once. With single steps it runs in a copy of the process, and leaves no trace in this one
/// @return nothing where neither way is allowed
std::optional<instruction_count> count_instructions(const std::function<void()>& work);
