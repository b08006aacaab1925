// SPDX-License-Identifier: GPL-2.0-or-later

#include "sim/exact/topology.hpp"

#include <algorithm>
#include <cmath>
#include <random>

namespace perhop::exact_study {

topology topology::chain(std::uint32_t hops, double spacing_m) {
  std::vector<position> nodes;
  for (std::uint32_t i = 0; i <= hops; ++i) nodes.push_back({.x_m = spacing_m * i, .y_m = 0});
  return topology(std::move(nodes));
}

topology topology::mesh(std::uint32_t nodes, double side_m, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  // Whole metres, as hellos tell them. Not std::uniform_real_distribution, whose values differ between libraries.
  const auto draw_m = [&] { return side_m * static_cast<double>(random() >> 11) * 0x1p-53; };
  while (true) {
    std::vector<position> places(nodes);
    for (position& place : places) place = {.x_m = std::floor(draw_m()), .y_m = std::floor(draw_m())};
    topology drawn(std::move(places));
    bool connected = true;
    for (std::uint32_t to = 1; to < nodes && connected; ++to) connected = !drawn.path(0, to).empty();
    if (connected) return drawn;
  }
}

double topology::distance_m(std::uint32_t a, std::uint32_t b) const {
  return std::hypot(nodes_[a].x_m - nodes_[b].x_m, nodes_[a].y_m - nodes_[b].y_m);
}

bool topology::exclude(const link& a, const link& b) const {
  const auto near = [this](std::uint32_t x, std::uint32_t y) { return distance_m(x, y) <= interference_range_m; };
  return near(a.from, b.from) || near(a.from, b.to) || near(a.to, b.from) || near(a.to, b.to);
}

std::vector<std::uint32_t> topology::path(std::uint32_t from, std::uint32_t to) const {
  const std::uint32_t unreached = size();
  std::vector<std::uint32_t> hops(size(), unreached);
  std::vector<std::uint32_t> reached{to};
  hops[to] = 0;
  for (std::size_t i = 0; i < reached.size(); ++i) {
    for (std::uint32_t next = 0; next < size(); ++next) {
      if (hops[next] != unreached || !neighbours(reached[i], next)) continue;
      hops[next] = hops[reached[i]] + 1;
      reached.push_back(next);
    }
  }
  if (hops[from] == unreached) return {};
  std::vector<std::uint32_t> nodes{from};
  while (nodes.back() != to) {
    std::uint32_t next = 0;
    while (!neighbours(nodes.back(), next) || hops[next] + 1 != hops[nodes.back()]) ++next;
    nodes.push_back(next);
  }
  return nodes;
}

}  // namespace perhop::exact_study
