// SPDX-License-Identifier: GPL-2.0-or-later
/// The kernel's one interface and its routes, as the plan tells them.
#pragma once

namespace perhop::kernels {

/// The run ends by this: perhop-kernel reads it.
[[noreturn]] void give_up(const char* what);

void set_up_interface(const char* address);

/// Metrics of 0 are as Linux has them. @param at_once each segment is acknowledged
void set_route(const char* destination, unsigned window_packets, unsigned window_bytes, unsigned timeout_ms, bool at_once);

}  // namespace perhop::kernels
