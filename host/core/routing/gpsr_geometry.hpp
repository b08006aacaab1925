// SPDX-License-Identifier: GPL-2.0-or-later
/// What GPSR asks of the plane. Positions are whole millimetres, so that all nodes compute with the same numbers; distances and angles are
/// those of doubles.
#pragma once

#include <cmath>
#include <numbers>
#include <optional>

#include "host/core/wire/gpsr_header.hpp"

namespace perhop::routing {

using wire::gpsr_position;

struct plane_vector {
  double x = 0;
  double y = 0;
};

inline plane_vector between(const gpsr_position& from, const gpsr_position& to) {
  return {static_cast<double>(to.x_mm) - from.x_mm, static_cast<double>(to.y_mm) - from.y_mm};
}
inline double dot(const plane_vector& one, const plane_vector& other) { return one.x * other.x + one.y * other.y; }
/// Above 0: `other` lies to the left of `one`.
inline double cross(const plane_vector& one, const plane_vector& other) { return one.x * other.y - one.y * other.x; }

/// For comparison.
inline double squared_distance(const gpsr_position& one, const gpsr_position& other) {
  const plane_vector away = between(one, other);
  return dot(away, away);
}

/// By how much `from` must turn counterclockwise to show where `to` does: above 0, at most a full turn.
inline double counterclockwise_turn(const plane_vector& from, const plane_vector& to) {
  const double turn = std::atan2(cross(from, to), dot(from, to));
  return turn > 0 ? turn : turn + 2 * std::numbers::pi;
}

/// How far along the line from `begin` to `end`, 0 to 1, the edge from `a` to `b` crosses it. Nothing when it does not, or only
/// touches it.
inline std::optional<double> crossing(const gpsr_position& begin, const gpsr_position& end, const gpsr_position& a,
                                      const gpsr_position& b) {
  const plane_vector line = between(begin, end), edge = between(a, b);
  const double side_a = cross(line, between(begin, a)), side_b = cross(line, between(begin, b));
  const double side_begin = cross(edge, between(a, begin)), side_end = cross(edge, between(a, end));
  const bool apart = (side_a > 0 && side_b < 0) || (side_a < 0 && side_b > 0);
  if (!apart || !((side_begin > 0 && side_end < 0) || (side_begin < 0 && side_end > 0))) return std::nullopt;
  return side_begin / (side_begin - side_end);
}

/// The point at this share of the way, to the millimetre.
inline gpsr_position part_of_way(const gpsr_position& begin, const gpsr_position& end, double share) {
  const plane_vector way = between(begin, end);
  return {static_cast<std::int32_t>(std::lround(begin.x_mm + share * way.x)),
          static_cast<std::int32_t>(std::lround(begin.y_mm + share * way.y))};
}

}  // namespace perhop::routing
