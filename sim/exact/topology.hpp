// SPDX-License-Identifier: GPL-2.0-or-later
//
// Where nodes stand, who hears whom, and shortest paths. Distances decide here; EXACT's routers know hops only.
#pragma once

#include <cstdint>
#include <vector>

namespace perhop::exact_study {

struct position {
  double x_m = 0;
  double y_m = 0;
};

inline constexpr double transmission_range_m = 250;
inline constexpr double interference_range_m = 550;

struct link {
  std::uint32_t from = 0;
  std::uint32_t to = 0;

  friend bool operator==(const link&, const link&) = default;
};

class topology {
public:
  explicit topology(std::vector<position> nodes) : nodes_(std::move(nodes)) {}

  static topology chain(std::uint32_t hops, double spacing_m = transmission_range_m);

  /// Random places on a square, drawn again until all nodes are connected.
  static topology mesh(std::uint32_t nodes, double side_m, std::uint64_t seed);

  std::uint32_t size() const { return static_cast<std::uint32_t>(nodes_.size()); }
  const position& at(std::uint32_t node) const { return nodes_[node]; }
  double distance_m(std::uint32_t a, std::uint32_t b) const;
  bool neighbours(std::uint32_t a, std::uint32_t b) const { return a != b && distance_m(a, b) <= transmission_range_m; }

  /// Both cannot carry a frame at once: an end of one is within interference range of an end of the other.
  bool exclude(const link& a, const link& b) const;

  /// A path with the fewest hops, both ends included; empty when there is none. Of equally near next nodes the one with the
  /// lowest number, as in experiments (perhop.experiment.routes).
  std::vector<std::uint32_t> path(std::uint32_t from, std::uint32_t to) const;

private:
  std::vector<position> nodes_;
};

}  // namespace perhop::exact_study
