// SPDX-License-Identifier: GPL-2.0-or-later
// In place of window_clamp.cpp where this was built without libbpf or without a compiler for BPF.
#include "host/bpf/window_clamp.hpp"

namespace perhop::bpf {

struct window_clamp::programs {};

window_clamp::window_clamp(const std::string&) {
  throw clamp_error("this perhop-node was built without eBPF; install libbpf-dev and clang-14, and build it again");
}

window_clamp::~window_clamp() = default;
void window_clamp::set(const shim::flow_key&, std::optional<std::uint32_t>) {}
void window_clamp::forget(const shim::flow_key&) {}
void window_clamp::apply_now() {}

}  // namespace perhop::bpf
