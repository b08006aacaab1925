// SPDX-License-Identifier: GPL-2.0-or-later
//
// It is one file because all of it works on the one table of routers: who is known, what of them is told, which links exclude each other.

#include "host/core/policy/exact_neighbourhood.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>
#include <utility>

namespace perhop::policy {

namespace {

constexpr std::uint8_t far = UINT8_MAX;
constexpr std::uint32_t none = UINT32_MAX;
constexpr std::size_t word_bits = 64;

/// Steps of the search for neighbourhoods after which it is given up: their number can grow exponentially.
constexpr std::size_t max_search_steps = 20'000;

/// News without a change cross max_relay_hops in 16 times 2 refresh_us, 160 s, and are passed on for forget_us more: 6 times forget_us
/// is longer.
constexpr std::uint64_t remember_forgotten = 6;
/// Where so many others passed it on, and nobody seems to lack it, this router rests.
constexpr std::ptrdiff_t enough_tellers = 2;
/// A router says so often that its flows are gone: a hello may be lost.
constexpr std::uint32_t said_farewells = 2;
/// Of the air that an end takes for hellos.
constexpr double relay_part = 0.25;
constexpr std::uint64_t least_hello_us = 100'000;
/// Sequence numbers behind the last one that are of the same life of a router: half a minute of hellos.
constexpr std::uint16_t old_news = 64;

void insert(std::vector<std::uint64_t>& set, std::size_t member) { set[member / word_bits] |= std::uint64_t{1} << member % word_bits; }
void remove(std::vector<std::uint64_t>& set, std::size_t member) { set[member / word_bits] &= ~(std::uint64_t{1} << member % word_bits); }
bool contains(const std::vector<std::uint64_t>& set, std::size_t member) {
  return (set[member / word_bits] >> member % word_bits & 1) != 0;
}

bool empty(const std::vector<std::uint64_t>& set) {
  return std::ranges::all_of(set, [](std::uint64_t word) { return word == 0; });
}

std::size_t common(const std::vector<std::uint64_t>& a, const std::vector<std::uint64_t>& b) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < a.size(); ++i) count += static_cast<std::size_t>(std::popcount(a[i] & b[i]));
  return count;
}

std::vector<std::uint64_t> both(const std::vector<std::uint64_t>& a, const std::vector<std::uint64_t>& b) {
  std::vector<std::uint64_t> result(a);
  for (std::size_t i = 0; i < a.size(); ++i) result[i] &= b[i];
  return result;
}

template <typename visitor>
void for_each(const std::vector<std::uint64_t>& set, visitor visit) {
  for (std::size_t word = 0; word < set.size(); ++word) {
    for (std::uint64_t rest = set[word]; rest != 0; rest &= rest - 1) {
      visit(word * word_bits + static_cast<std::size_t>(std::countr_zero(rest)));
    }
  }
}

double apart_m2(const wire::node_position& a, const wire::node_position& b) {
  const double x_m = a.x_m - b.x_m;
  const double y_m = a.y_m - b.y_m;
  return x_m * x_m + y_m * y_m;
}

bool newer(std::uint16_t a, std::uint16_t b) { return static_cast<std::int16_t>(static_cast<std::uint16_t>(a - b)) > 0; }

}  // namespace

exact_neighbourhood::exact_neighbourhood(const exact_neighbourhood_config& config) : config_(config) { own_.node = config.node; }

void exact_neighbourhood::set_own(std::uint64_t now_us, const wire::hello_node& own) {
  const std::uint16_t sequence = own_.sequence;
  const wire::hello_node before = std::exchange(own_, own);
  own_.node = config_.node;
  own_.position = config_.position;
  own_.hops = 0;
  own_.sequence = sequence;
  follow_moved_flows(now_us, before, own_);
}

bool exact_neighbourhood::on_hello(std::uint64_t now_us, const wire::hello& message) {
  if (message.nodes.empty()) return false;
  ++counters_.hellos;
  if (message.nodes.front().node == config_.node) {
    ++counters_.own_echoes;
    return false;
  }
  bool changed = false;
  const auto note_teller = [&](known_node& known) {
    const std::uint32_t teller = message.nodes.front().node;
    if (teller == known.told.node) return;
    std::erase_if(known.tellers, [&](const hearing& heard) { return heard.node == teller; });
    known.tellers.push_back({.node = teller, .at_us = now_us});
  };
  for (const wire::hello_node& told : message.nodes) {
    if (told.node == config_.node || !concerns(told)) continue;
    const auto known = std::ranges::find(known_, told.node, [](const known_node& k) { return k.told.node; });
    wire::hello_node heard = told;
    ++heard.hops;
    leave_out_moved_flows(now_us, heard);
    if (known == known_.end()) {
      if (is_old_news(now_us, told)) {
        ++counters_.stale;
        continue;
      }
      if (known_.size() >= config_.max_nodes) {
        ++counters_.nodes_refused;
        continue;
      }
      known_.push_back({.told = std::move(heard), .heard_us = now_us});
      note_teller(known_.back());
      changed = true;
      continue;
    }
    if (told.sequence == known->told.sequence) {
      // The same news on another way; the shortest way tells the distance.
      changed |= heard.hops < known->told.hops;
      note_teller(*known);
      known->told.hops = std::min(known->told.hops, heard.hops);
      continue;
    }
    if (!newer(told.sequence, known->told.sequence)) {
      ++counters_.stale;
      continue;
    }
    known->heard_us = now_us;
    if (heard.flows != known->told.flows || heard.neighbours != known->told.neighbours || heard.busy != known->told.busy ||
        heard.position != known->told.position || heard.usable != known->told.usable) {
      changed = true;
      known->untold = tellings;
      known->tellers.clear();
    }
    for (moved_flow& moved : moved_flows_) {
      if (moved.left != told.node) continue;
      const auto still = std::ranges::find(told.flows, moved.flow, &wire::hello_flow::flow);
      moved.taken_off = still != told.flows.end() ? std::optional(*still) : std::nullopt;
    }
    const wire::hello_node before = std::exchange(known->told, std::move(heard));
    note_teller(*known);
    follow_moved_flows(now_us, before, known->told);
  }
  return changed;
}

// Of a router that was forgotten: else routers would tell each other of it long after it is gone, each taking the other's for news.
// What a router says itself is never old.
bool exact_neighbourhood::is_old_news(std::uint64_t now_us, const wire::hello_node& told) {
  std::erase_if(forgotten_, [&](const forgotten_node& node) { return now_us > node.at_us + remember_forgotten * config_.forget_us; });
  const auto found = std::ranges::find(forgotten_, told.node, &forgotten_node::node);
  if (found == forgotten_.end()) return false;
  const auto behind = static_cast<std::uint16_t>(found->sequence - told.sequence);
  if (told.hops != 0 && behind < old_news) return true;
  forgotten_.erase(found);
  return false;
}

void exact_neighbourhood::forget_silent(std::uint64_t now_us) {
  std::erase_if(known_, [&](const known_node& known) {
    if (now_us <= known.heard_us || now_us - known.heard_us <= config_.forget_us) return false;
    if (forgotten_.size() >= config_.max_nodes) forgotten_.erase(forgotten_.begin());
    forgotten_.push_back({.node = known.told.node, .sequence = known.told.sequence, .at_us = now_us});
    return true;
  });
}

// Whether this router, or one that it knows, sends the flow to that node.
bool exact_neighbourhood::sent_to(std::uint32_t flow, std::uint32_t node) const {
  const auto sends_there = [&](const wire::hello_node& told) {
    return std::ranges::any_of(told.flows,
                               [&](const wire::hello_flow& other) { return other.flow == flow && wire::next_node(told, other) == node; });
  };
  return sends_there(own_) || std::ranges::any_of(known_, [&](const known_node& known) { return sends_there(known.told); });
}

// A node that sends a flow another way leaves the one that it went to without it. One that sends it no more may have it again soon: slow
// flows are idle for a while at one node or another, and were those behind it taken off the ledger at once, they would be missed until
// their next hello came. So what it had stands for a while, and longer while the next node says that it has the flow. A flow that goes
// another way is often idle first, and is then known by the way that it took before.
void exact_neighbourhood::follow_moved_flows(std::uint64_t now_us, const wire::hello_node& before, const wire::hello_node& now) {
  for (const wire::hello_flow& flow : before.flows) {
    const auto still = std::ranges::find(now.flows, flow.flow, &wire::hello_flow::flow);
    const std::optional<std::uint32_t> next = wire::next_node(before, flow);
    if (still != now.flows.end()) {
      if (next && wire::next_node(now, *still) != next) leave(now_us, flow.flow, *next, now.node);
    } else if (next) {
      if (idle_flows_.size() >= config_.max_links) idle_flows_.erase(idle_flows_.begin());
      idle_flows_.push_back({.flow = flow.flow, .node = now.node, .next = *next, .at_us = now_us});
    }
  }
  for (const wire::hello_flow& flow : now.flows) {
    if (const std::optional<std::uint32_t> next = was_sent_to(flow.flow, now.node); next && wire::next_node(now, flow) != next)
      leave(now_us, flow.flow, *next, now.node);
    std::erase_if(idle_flows_, [&](const idle_flow& idle) { return idle.flow == flow.flow && idle.node == now.node; });
    for (idle_flow& idle : idle_flows_) {
      if (idle.flow == flow.flow && idle.next == now.node) idle.at_us = now_us;
    }
  }
  put_back_flows(now_us);
}

// Where a node that has a flow no more sent it when it had it.
std::optional<std::uint32_t> exact_neighbourhood::was_sent_to(std::uint32_t flow, std::uint32_t node) const {
  const auto idle =
      std::ranges::find_if(idle_flows_, [&](const idle_flow& candidate) { return candidate.flow == flow && candidate.node == node; });
  return idle != idle_flows_.end() ? std::optional(idle->next) : std::nullopt;
}

// A flow has left a node, and so all behind that one, to which nobody else sends it. One that died cannot say so. One that lives says so
// when the flow has been idle, and not to all: often no flow is near by then that would make others pass it on, and each that missed it
// counted a link too many until it forgot that node. What the node that moved the flow has just said of itself stands, though routes had
// the flow in a ring.
void exact_neighbourhood::leave(std::uint64_t now_us, std::uint32_t flow, std::uint32_t node, std::uint32_t by) {
  for (std::optional<std::uint32_t> left = node; left && *left != by && !sent_to(flow, *left);) {
    std::erase_if(moved_flows_, [&](const moved_flow& moved) { return moved.flow == flow && moved.left == *left; });
    if (moved_flows_.size() >= config_.max_links) moved_flows_.erase(moved_flows_.begin());
    moved_flows_.push_back({.flow = flow, .left = *left, .at_us = now_us});
    const auto without = std::ranges::find(known_, *left, [](const known_node& known) { return known.told.node; });
    std::optional<std::uint32_t> next = was_sent_to(flow, *left);
    std::erase_if(idle_flows_, [&](const idle_flow& idle) { return idle.flow == flow && idle.node == *left; });
    if (without != known_.end()) {
      std::vector<wire::hello_flow>& flows = without->told.flows;
      if (const auto gone = std::ranges::find(flows, flow, &wire::hello_flow::flow); gone != flows.end()) {
        next = wire::next_node(without->told, *gone);
        moved_flows_.back().taken_off = *gone;
        flows.erase(gone);
      }
    }
    left = next;
  }
}

// What a node that has a flow no more said of it has stood for long enough.
void exact_neighbourhood::leave_idle_flows(std::uint64_t now_us) {
  for (;;) {
    const auto over =
        std::ranges::find_if(idle_flows_, [&](const idle_flow& idle) { return now_us > idle.at_us + 2 * config_.refresh_us; });
    if (over == idle_flows_.end()) return;
    const idle_flow idle = *over;
    idle_flows_.erase(over);
    leave(now_us, idle.flow, idle.next, idle.node);
  }
}

// A flow that comes back to a node soon goes on from there as before, as far as is known: the nodes behind that one say so only when its
// packets have reached them and their hellos have come from there. Those that said meanwhile that it is gone have nothing to put back.
void exact_neighbourhood::put_back_flows(std::uint64_t now_us) {
  for (std::size_t place = 0; place < moved_flows_.size();) {
    const moved_flow moved = moved_flows_[place];
    if (!moved.taken_off || now_us > moved.at_us + 2 * config_.refresh_us || !sent_to(moved.flow, moved.left)) {
      ++place;
      continue;
    }
    moved_flows_.erase(moved_flows_.begin() + static_cast<std::ptrdiff_t>(place));
    place = 0;  // it may go on to one of those before
    const auto known = std::ranges::find(known_, moved.left, [](const known_node& k) { return k.told.node; });
    if (known == known_.end()) continue;
    std::vector<wire::hello_flow>& flows = known->told.flows;
    const auto at = std::ranges::lower_bound(flows, moved.flow, {}, &wire::hello_flow::flow);
    if (at == flows.end() || at->flow != moved.flow) flows.insert(at, *moved.taken_off);
  }
}

// What a node that flows have left said before that may come later, by others, who pass on what did not change 2 refresh_us later at the
// latest. What it says itself counts at once.
void exact_neighbourhood::leave_out_moved_flows(std::uint64_t now_us, wire::hello_node& heard) {
  std::erase_if(moved_flows_, [&](const moved_flow& moved) {
    return now_us > moved.at_us + 2 * config_.refresh_us || (moved.left == heard.node && heard.hops == 1);
  });
  for (const moved_flow& moved : moved_flows_) {
    if (moved.left != heard.node || sent_to(moved.flow, moved.left)) continue;
    std::erase_if(heard.flows, [&](const wire::hello_flow& flow) { return flow.flow == moved.flow; });
  }
}

// Whether links of a node that a hello tells of can interfere with links of this node, or of one on the way there.
bool exact_neighbourhood::concerns(const wire::hello_node& told) const {
  if (!told.position || !config_.position) return told.hops < config_.relay_hops;
  return told.hops < config_.max_relay_hops && apart_m2(*told.position, *config_.position) <= config_.relay_range_m * config_.relay_range_m;
}

// Whether flows go to this node.
bool exact_neighbourhood::is_next(std::uint32_t node) const {
  const auto goes_there = [node](const wire::hello_node& told) {
    return std::ranges::any_of(told.flows, [&](const wire::hello_flow& flow) { return wire::next_node(told, flow) == node; });
  };
  return goes_there(own_) || std::ranges::any_of(known_, [&](const known_node& k) { return goes_there(k.told); });
}

exact_neighbourhood::hello_part exact_neighbourhood::own_part() const {
  if (!own_.flows.empty() || farewells_ != 0 || is_next(config_.node)) return hello_part::end;
  const bool near_flows = std::ranges::any_of(
      known_, [this](const known_node& k) { return concerns(k.told) && (!k.told.flows.empty() || is_next(k.told.node)); });
  if (!near_flows) return hello_part::none;
  return own_.busy > 0 ? hello_part::end : hello_part::relay;
}

double exact_neighbourhood::hello_part_share() const {
  const double transmission_range_m = (config_.relay_range_m - config_.interference_range_m) / 2;
  const double relays_a_heard_one = std::pow(config_.interference_range_m / std::max(transmission_range_m, 1.0), 2);
  double parts = 1;
  for (const known_node& known : known_) {
    if (in_use(known.told)) {
      parts += 1;
    } else if (!known.told.position) {
      parts += relay_part;
    } else if (known.told.hops == 1) {
      parts += relay_part * relays_a_heard_one;
    }
  }
  return (own_part() == hello_part::relay ? relay_part : 1) / parts;
}

bool exact_neighbourhood::is_due(std::uint64_t now_us, const known_node& known, hello_part role) const {
  if (!concerns(known.told) || now_us - known.heard_us > config_.forget_us) return false;
  const std::uint64_t since_us = now_us - known.passed_on_us;
  if (known.untold == 0 && since_us < config_.refresh_us) return false;
  if (known.untold == 1 && since_us < config_.refresh_us) return somebody_lacks(now_us, known);
  // Where nobody passed it on, somebody who is not heard here may be without it.
  if (role == hello_part::relay) return known.tellers.empty() || somebody_lacks(now_us, known);
  if (somebody_lacks(now_us, known) || since_us >= 2 * config_.refresh_us) return true;
  if (known.untold != 0) return std::ssize(known.tellers) < enough_tellers;
  const auto since = [&](const hearing& heard) { return heard.at_us > known.passed_on_us; };
  return std::ranges::count_if(known.tellers, since) < enough_tellers;
}

// Whether a router that is heard directly should know of the node, and does not say that it does.
bool exact_neighbourhood::somebody_lacks(std::uint64_t now_us, const known_node& known) const {
  // Whoever rests once says it again after 2 refresh_us.
  const std::uint64_t known_us = 5 * config_.refresh_us / 2;
  return std::ranges::any_of(known_, [&](const known_node& reader) {
    if (reader.told.hops != 1 || reader.told.node == known.told.node || !in_use(reader.told)) return false;
    if (reader.told.position && known.told.position &&
        apart_m2(*reader.told.position, *known.told.position) > config_.relay_range_m * config_.relay_range_m)
      return false;
    return std::ranges::none_of(known.tellers,
                                [&](const hearing& heard) { return heard.node == reader.told.node && now_us - heard.at_us < known_us; });
  });
}

bool exact_neighbourhood::has_news(std::uint64_t now_us) const {
  const hello_part role = own_part();
  return role != hello_part::none &&
         std::ranges::any_of(known_, [&](const known_node& known) { return known.untold != 0 && is_due(now_us, known, role); });
}

// Whether links of this node count in a neighbourhood.
bool exact_neighbourhood::in_use(const wire::hello_node& told) const { return !told.flows.empty() || told.busy != 0 || is_next(told.node); }

// What others need of a node. Neighbours tell distances in hops: with a position only those that flows go to are left.
wire::hello_node exact_neighbourhood::trimmed(const wire::hello_node& told) {
  if (!told.position) return told;
  wire::hello_node kept = told;
  kept.neighbours.clear();
  for (wire::hello_flow& flow : kept.flows) {
    const std::uint32_t next = told.neighbours[flow.next];
    const auto place = std::ranges::find(kept.neighbours, next);
    flow.next = static_cast<std::uint8_t>(place - kept.neighbours.begin());
    if (place == kept.neighbours.end()) kept.neighbours.push_back(next);
  }
  return kept;
}

std::optional<wire::hello> exact_neighbourhood::make_hello(std::uint64_t now_us) {
  const hello_part role = own_part();
  if (role == hello_part::none) return std::nullopt;
  wire::hello message;
  message.nodes.emplace_back();
  std::ranges::stable_sort(known_, {}, [](const known_node& k) { return k.told.hops; });
  for (known_node& known : known_) {
    if (!is_due(now_us, known, role)) continue;
    known.untold -= std::min(known.untold, 1U);
    known.passed_on_us = now_us;
    const bool used = in_use(known.told);
    if (!known.told.position || used || known.passed_on_in_use) message.nodes.push_back(trimmed(known.told));
    known.passed_on_in_use = used;
  }
  if (role == hello_part::relay && message.nodes.size() == 1) return std::nullopt;
  // A router that begins anew is ahead of its former self, which said hello no more often than this.
  farewells_ = !own_.flows.empty() ? said_farewells : farewells_ - std::min(farewells_, 1U);
  if (own_.sequence == 0) own_.sequence = static_cast<std::uint16_t>(now_us / least_hello_us);
  ++own_.sequence;
  message.nodes.front() = trimmed(own_);
  return message;
}

void exact_neighbourhood::list_heard(std::uint64_t now_us, std::vector<std::uint32_t>& neighbours) const {
  for (const known_node& known : known_) {
    if (known.told.hops != 1 || now_us - known.heard_us > config_.forget_us || neighbours.size() >= UINT8_MAX) continue;
    if (std::ranges::find(neighbours, known.told.node) == neighbours.end()) neighbours.push_back(known.told.node);
  }
}

std::uint32_t exact_neighbourhood::place_of(std::uint32_t node) {
  const auto found = std::ranges::find(graph_, node);
  if (found != graph_.end()) return static_cast<std::uint32_t>(found - graph_.begin());
  graph_.push_back(node);
  adjacent_.emplace_back();
  positions_.emplace_back();
  usable_.push_back(own_.usable);  // unless it tells another
  return static_cast<std::uint32_t>(graph_.size() - 1);
}

// The bucket that holds the flow's place, or the empty one where it belongs.
std::uint32_t& exact_neighbourhood::bucket_of(std::uint32_t flow) {
  const std::size_t mask = buckets_.size() - 1;
  std::size_t bucket = (flow * 0x9e3779b1U >> 7) & mask;
  while (buckets_[bucket] != none && flows_[buckets_[bucket]].flow != flow) bucket = (bucket + 1) & mask;
  return buckets_[bucket];
}

std::optional<std::uint32_t> exact_neighbourhood::place_of_flow(std::uint32_t flow) const {
  if (buckets_.empty()) return std::nullopt;
  const std::uint32_t place = const_cast<exact_neighbourhood*>(this)->bucket_of(flow);
  return place != none ? std::optional(place) : std::nullopt;
}

void exact_neighbourhood::add_node(const wire::hello_node& node) {
  const std::uint32_t from = place_of(node.node);
  positions_[from] = node.position;
  usable_[from] = node.usable;
  for (const std::uint32_t neighbour : node.neighbours) {
    const std::uint32_t to = place_of(neighbour);
    if (to == from) continue;
    adjacent_[from].push_back(to);
    adjacent_[to].push_back(from);
  }
  const auto has_room = [this] {
    if (links_.size() < config_.max_links) return true;
    ++counters_.links_refused;
    return false;
  };
  // Other traffic of the node: a link of it with itself.
  if (node.busy > 0 && has_room()) links_.push_back({.from = from, .to = from, .first_flow = 0, .flow_count = 0, .busy = node.busy});

  for (std::size_t next = 0; next < node.neighbours.size(); ++next) {
    const auto first = static_cast<std::uint32_t>(link_flows_.size());
    for (const wire::hello_flow& flow : node.flows) {
      if (flow.next != next || !(flow.cost_s_per_bit > 0)) continue;
      std::uint32_t& place = bucket_of(flow.flow);
      if (place == none) {
        place = static_cast<std::uint32_t>(flows_.size());
        flows_.push_back({.flow = flow.flow, .weight = flow.weight, .rate_limit_bps = flow.rate_limit_bps});
      } else {
        flows_[place].rate_limit_bps = std::min(flows_[place].rate_limit_bps, flow.rate_limit_bps);
      }
      link_flows_.push_back({.flow = place, .cost_s_per_bit = flow.cost_s_per_bit});
    }
    const auto count = static_cast<std::uint32_t>(link_flows_.size()) - first;
    if (count == 0) continue;
    const std::uint32_t to = place_of(node.neighbours[next]);
    if (has_room()) links_.push_back({.from = from, .to = to, .first_flow = first, .flow_count = count, .busy = 0});
  }
}

// Hops between all nodes, as far as they matter.
void exact_neighbourhood::measure_distances() {
  const std::size_t nodes = graph_.size();
  distance_hops_.assign(nodes, std::vector<std::uint8_t>(nodes, far));
  std::vector<std::uint32_t> reached;
  for (std::uint32_t from = 0; from < nodes; ++from) {
    std::vector<std::uint8_t>& distance = distance_hops_[from];
    distance[from] = 0;
    reached.assign(1, from);
    for (std::size_t i = 0; i < reached.size(); ++i) {
      const std::uint32_t via = reached[i];
      if (distance[via] >= config_.interference_hops) break;
      for (const std::uint32_t to : adjacent_[via]) {
        if (distance[to] != far) continue;
        distance[to] = static_cast<std::uint8_t>(distance[via] + 1);
        reached.push_back(to);
      }
    }
  }
}

bool exact_neighbourhood::interfere(std::uint32_t one, std::uint32_t other) const {
  if (!positions_[one] || !positions_[other]) return distance_hops_[one][other] <= config_.interference_hops;
  return apart_m2(*positions_[one], *positions_[other]) <= config_.interference_range_m * config_.interference_range_m;
}

void exact_neighbourhood::find_conflicts() {
  const std::size_t words = (links_.size() + word_bits - 1) / word_bits;
  conflicts_.assign(links_.size(), link_set(words, 0));
  for (std::size_t a = 0; a < links_.size(); ++a) {
    for (std::size_t b = a + 1; b < links_.size(); ++b) {
      const ledger_link& one = links_[a];
      const ledger_link& other = links_[b];
      if (interfere(one.from, other.from) || interfere(one.from, other.to) || interfere(one.to, other.from) ||
          interfere(one.to, other.to)) {
        insert(conflicts_[a], b);
        insert(conflicts_[b], a);
      }
    }
  }
}

void exact_neighbourhood::add_budget(const link_set& members) {
  const std::size_t first = costs_.size();
  double busy = 0;
  double usable = 1;
  flow_cost_.assign(flows_.size(), 0);
  for_each(members, [&](std::size_t member) {
    const ledger_link& l = links_[member];
    busy += l.busy;
    usable = std::min({usable, usable_[l.from], usable_[l.to]});
    for (std::uint32_t i = 0; i < l.flow_count; ++i)
      flow_cost_[link_flows_[l.first_flow + i].flow] += link_flows_[l.first_flow + i].cost_s_per_bit;
  });
  for (std::uint32_t flow = 0; flow < flows_.size(); ++flow) {
    if (flow_cost_[flow] > 0) costs_.push_back({flow, flow_cost_[flow]});
  }
  if (costs_.size() > first) budgets_.push_back({.budget = usable - busy, .first = first, .count = costs_.size() - first});
}

// All maximal sets of links that exclude each other: C. Bron, J. Kerbosch, CACM 16(9), 1973, with a pivot.
bool exact_neighbourhood::expand(link_set& chosen, link_set candidates, link_set excluded) {
  if (++search_steps_ > max_search_steps || budgets_.size() >= config_.max_neighbourhoods) return false;
  if (empty(candidates)) {
    if (empty(excluded)) add_budget(chosen);
    return true;
  }
  std::size_t pivot = 0;
  std::size_t most = 0;
  bool found = false;
  const auto consider = [&](std::size_t member) {
    const std::size_t count = common(candidates, conflicts_[member]);
    if (!found || count > most) {
      pivot = member;
      most = count;
      found = true;
    }
  };
  for_each(candidates, consider);
  for_each(excluded, consider);

  link_set tried = candidates;
  for (std::size_t i = 0; i < tried.size(); ++i) tried[i] &= ~conflicts_[pivot][i];
  bool complete = true;
  for_each(tried, [&](std::size_t member) {
    if (!complete || !contains(candidates, member)) return;
    insert(chosen, member);
    complete = expand(chosen, both(candidates, conflicts_[member]), both(excluded, conflicts_[member]));
    remove(chosen, member);
    remove(candidates, member);
    insert(excluded, member);
  });
  return complete;
}

void exact_neighbourhood::find_neighbourhoods() {
  if (links_.empty()) return;
  const std::size_t words = conflicts_.front().size();
  link_set all(words, 0);
  for (std::size_t i = 0; i < links_.size(); ++i) insert(all, i);
  link_set chosen(words, 0);
  search_steps_ = 0;
  if (expand(chosen, all, link_set(words, 0))) return;
  // Too many. A link with all links that it excludes is a superset of its neighbourhoods: its budget is safe, but small.
  ++counters_.sets_refused;
  costs_.clear();
  budgets_.clear();
  for (std::size_t i = 0; i < links_.size(); ++i) {
    link_set around = conflicts_[i];
    insert(around, i);
    add_budget(around);
  }
}

void exact_neighbourhood::update(std::uint64_t now_us) {
  forget_silent(now_us);
  leave_idle_flows(now_us);
  graph_.clear();
  adjacent_.clear();
  positions_.clear();
  usable_.clear();
  links_.clear();
  link_flows_.clear();
  flows_.clear();
  costs_.clear();
  budgets_.clear();
  std::size_t told = own_.flows.size();
  for (const known_node& known : known_) told += known.told.flows.size();
  buckets_.assign(std::bit_ceil(2 * told + 2), none);
  add_node(own_);
  for (const known_node& known : known_) add_node(known.told);
  measure_distances();
  find_conflicts();
  find_neighbourhoods();
}

}  // namespace perhop::policy
