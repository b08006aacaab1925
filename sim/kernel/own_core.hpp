// SPDX-License-Identifier: GPL-2.0-or-later
/// A processor for this run alone, among the runs of this machine: a packet takes some ten switches between processes, which cost half on
/// one processor of what they cost on two.
#pragma once

#include "sim/kernel/descriptor.hpp"

namespace perhop::kernels {

/// Stays on that processor, and so do processes started afterwards. Where every processor has its run, nothing changes.
/// @return what says to other runs that it is taken, for as long as somebody has it
descriptor take_own_core();

}  // namespace perhop::kernels
