// SPDX-License-Identifier: GPL-2.0-or-later
#include "host/core/routing/gpsr_neighbours.hpp"

#include <algorithm>
#include <iterator>

namespace perhop::routing {

namespace {

/// @param witness a node that both ends hear, if their ranges are the same
bool removes(planar_graph graph, const gpsr_position& here, const gpsr_position& there, const gpsr_position& witness) {
  if (graph == planar_graph::gabriel) return dot(between(witness, here), between(witness, there)) < 0;
  const double edge = squared_distance(here, there);
  return squared_distance(here, witness) < edge && squared_distance(there, witness) < edge;
}

}  // namespace

void gpsr_neighbours::hear(time_us now, ipv4_address node, const gpsr_position& at) {
  const auto place = std::ranges::lower_bound(known_, node, {}, &gpsr_neighbour::node);
  if (place != known_.end() && place->node == node) {
    *place = {.node = node, .at = at, .heard_us = now};
  } else {
    known_.insert(place, {.node = node, .at = at, .heard_us = now});
  }
}

void gpsr_neighbours::forget(ipv4_address node) {
  std::erase_if(known_, [node](const gpsr_neighbour& one) { return one.node == node; });
}

void gpsr_neighbours::forget_silent(time_us now, time_us timeout_us) {
  std::erase_if(known_, [=](const gpsr_neighbour& one) { return now - one.heard_us > timeout_us; });
}

const gpsr_neighbour* gpsr_neighbours::find(ipv4_address node) const {
  const auto place = std::ranges::lower_bound(known_, node, {}, &gpsr_neighbour::node);
  return place != known_.end() && place->node == node ? &*place : nullptr;
}

const gpsr_neighbour* gpsr_neighbours::nearest(const gpsr_position& here, const gpsr_position& destination) const {
  const gpsr_neighbour* best = nullptr;
  double best_away = squared_distance(here, destination);
  for (const gpsr_neighbour& one : known_) {
    const double away = squared_distance(one.at, destination);
    if (away < best_away) {
      best = &one;
      best_away = away;
    }
  }
  return best;
}

std::vector<gpsr_neighbour> gpsr_neighbours::planar(const gpsr_position& here, planar_graph graph) const {
  std::vector<gpsr_neighbour> kept;
  std::ranges::copy_if(known_, std::back_inserter(kept), [&](const gpsr_neighbour& one) {
    return std::ranges::none_of(
        known_, [&](const gpsr_neighbour& witness) { return witness.node != one.node && removes(graph, here, one.at, witness.at); });
  });
  return kept;
}

}  // namespace perhop::routing
