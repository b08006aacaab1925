// SPDX-License-Identifier: GPL-2.0-or-later
/// How a kernel's flow end hears what EXACT allows a flow: a UDP packet over the kernel's card, since all that goes into a kernel does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace perhop::kernels {

/// From a neighbour that no node is. @param to address of the kernel
std::vector<std::uint8_t> rate_message(std::uint32_t to, std::size_t flow, std::uint64_t rate_bps);

}  // namespace perhop::kernels
