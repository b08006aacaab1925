// SPDX-License-Identifier: GPL-2.0-or-later
#include "host/core/routing/dsr_route_cache.hpp"

#include <algorithm>

namespace perhop::routing {

bool is_simple(std::span<const ipv4_address> path) {
  for (std::size_t at = 1; at < path.size(); ++at) {
    const auto before = path.first(at);
    if (std::ranges::find(before, path[at]) != before.end()) return false;
  }
  return true;
}

bool dsr_route_cache::makes_sense(std::span<const ipv4_address> path) const {
  return path.size() >= 2 && path.front() == self_ && is_simple(path);
}

void dsr_route_cache::add(time_us now, std::span<const ipv4_address> path) {
  if (makes_sense(path)) insert(now, used_, config_.used_paths, path);
}

void dsr_route_cache::notice(time_us now, std::span<const ipv4_address> path) {
  if (makes_sense(path)) insert(now, seen_, config_.seen_paths, path);
}

void dsr_route_cache::insert(time_us now, part& where, std::size_t most_paths, std::span<const ipv4_address> path) {
  for (entry& known : where.paths) {
    // Most differ in their second node; all begin here and have at least two.
    if (known.path[1] != path[1]) continue;
    const std::size_t common = std::min(known.path.size(), path.size());
    if (!std::ranges::equal(path.first(common), std::span(known.path).first(common))) continue;
    // One begins with the other: the longer one has both.
    if (path.size() > common) known.path.assign(path.begin(), path.end());
    known.confirmed_us = now;
    return;
  }
  if (where.paths.size() < most_paths) {
    where.paths.push_back({.path = {path.begin(), path.end()}, .confirmed_us = now});
    return;
  }
  where.victim %= where.paths.size();
  where.paths[where.victim] = {.path = {path.begin(), path.end()}, .confirmed_us = now};
  ++where.victim;
}

std::optional<dsr_route_cache::found_path> dsr_route_cache::shortest(const part& where, ipv4_address destination) {
  std::optional<found_path> best;
  for (std::size_t index = 0; index < where.paths.size(); ++index) {
    const node_path& path = where.paths[index].path;
    const auto place = std::ranges::find(path, destination);
    const auto hops = static_cast<std::size_t>(place - path.begin());
    if (place != path.end() && (!best || hops < best->hops)) best = found_path{.index = index, .hops = hops};
  }
  return best;
}

std::optional<node_path> dsr_route_cache::find(time_us now, ipv4_address destination, bool use) {
  forget_old(now);
  if (destination == self_) return std::nullopt;
  const auto used = shortest(used_, destination), seen = shortest(seen_, destination);
  if (!used && !seen) return std::nullopt;
  const bool from_seen = !used || (seen && seen->hops < used->hops);
  const found_path& best = from_seen ? *seen : *used;
  const entry chosen = (from_seen ? seen_ : used_).paths[best.index];
  if (from_seen && use) {
    seen_.paths.erase(seen_.paths.begin() + static_cast<std::ptrdiff_t>(best.index));
    insert(chosen.confirmed_us, used_, config_.used_paths, chosen.path);
  }
  return node_path(chosen.path.begin(), chosen.path.begin() + static_cast<std::ptrdiff_t>(best.hops + 1));
}

void dsr_route_cache::remove_link(ipv4_address from, ipv4_address to) {
  for (part* where : {&used_, &seen_}) {
    for (entry& known : where->paths) {
      const auto link =
          std::ranges::adjacent_find(known.path, [&](ipv4_address one, ipv4_address next) { return one == from && next == to; });
      if (link != known.path.end()) known.path.erase(link + 1, known.path.end());
    }
    std::erase_if(where->paths, [](const entry& known) { return known.path.size() < 2; });
  }
}

void dsr_route_cache::forget_old(time_us now) {
  for (part* where : {&used_, &seen_}) {
    std::erase_if(where->paths, [&](const entry& known) { return now - known.confirmed_us > config_.timeout_us; });
  }
}

}  // namespace perhop::routing
