// SPDX-License-Identifier: GPL-2.0-or-later
//
// limits.py's ByHops in C++: `perhop policy build limits.cpp` makes limits.so of it, and an experiment names it limits.so:by_hops.

#include <perhop_policy.hpp>

// Table 1 of the CWL paper, up to 30 round-trip hops.
struct by_hops {
  std::uint32_t limit = 0;

  void on_path(std::uint64_t, const perhop_path& path) {
    if (path.forward_hops == 0 || path.return_hops == 0) return;
    const std::uint32_t hops = path.forward_hops + path.return_hops;
    limit = hops <= 4 ? 2 : hops <= 8 ? 1 : hops <= 12 ? 2 : hops <= 20 ? 3 : hops <= 26 ? 4 : 5;
  }

  std::uint32_t limit_packets() { return limit; }
};
PERHOP_POLICY(by_hops)
