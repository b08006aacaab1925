// SPDX-License-Identifier: GPL-2.0-or-later

#include "sim/exact/network.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "sim/exact/max_min.hpp"

namespace perhop::exact_study {

namespace {

constexpr std::uint32_t header_bytes = mac_header_bytes + llc_snap_bytes + path_header_bytes + fcs_bytes;
constexpr std::uint32_t data_extra_bytes = header_bytes + static_cast<std::uint32_t>(wire::exact_data::size_bytes);
constexpr std::uint32_t report_extra_bytes = header_bytes + static_cast<std::uint32_t>(wire::exact_feedback::size_bytes);
constexpr std::uint32_t report_ip_bytes = 28;  // IPv4 and UDP, nothing in them
constexpr std::uint8_t first_ttl = 64;
constexpr std::uint16_t first_port = 1000;
constexpr std::uint64_t fastest_bps = 11'000'000;
constexpr int average_shift = default_average_shift;

const timing_profile& profile() { return *find_profile("dsss_long"); }

}  // namespace

network::network(topology nodes, const network_config& config)
    : topology_(std::move(nodes)), config_(config), idle_(profile()), random_(config.seed) {
  config_.router.profile = &profile();
  config_.router.feedback_mpdu_bytes = report_ip_bytes + report_extra_bytes;
  const hop::exact_ends_config of_flows{
      .sender = {.max_rate_bps = fastest_bps, .feedback_every_packets = config_.router.feedback_every_packets},
      .receiver = {.every_packets = config_.router.feedback_every_packets}};
  for (std::uint32_t i = 0; i < topology_.size(); ++i) {
    config_.router.neighbourhood.node = study_node::node_of(study_node::address_of(i));
    if (config_.positions_known) {
      config_.router.neighbourhood.position = {.x_m = static_cast<std::int16_t>(topology_.at(i).x_m),
                                               .y_m = static_cast<std::int16_t>(topology_.at(i).y_m)};
    }
    nodes_.push_back(std::make_unique<node_state>(*this, i, of_flows));
    nodes_[i]->node.path.start({.profile = &profile(), .policy = shim::no_policy, .exact = config_.router});
    nodes_[i]->node.path.restart_averages(average_shift);
    wake(i);
  }
}

std::size_t network::add_flow(const flow_config& flow) {
  const std::size_t index = flows_.size();
  const std::uint32_t from = flow.path.front(), to = flow.path.back();
  flows_.push_back({.config = flow,
                    .key = {.source = shim::ip_address::from_ipv4(study_node::ipv4_of(from)),
                            .destination = shim::ip_address::from_ipv4(study_node::ipv4_of(to)),
                            .source_port = static_cast<std::uint16_t>(first_port + index),
                            .destination_port = 5001,
                            .protocol = shim::ip_protocol_udp},
                    .from = from});
  nodes_[from]->node.ends.use(now_us_, flows_[index].key, index, flow.ip_bytes, false).sender.set_application_rate(flow.application_bps);
  at(flow.start_us, [this, index, from] {
    source(index).from.started = true;
    serve(from);
  });
  if (flow.stop_us != std::numeric_limits<time_us>::max()) {
    at(flow.stop_us, [this, index, from] {
      source(index).ended = true;
      if (flows_[index].config.says_goodbye) send_data(from, nodes_[from]->node.ends.finish(now_us_, flows_[index].key));
    });
  }
  return index;
}

void network::set_rate(std::uint32_t from, std::uint32_t to, std::uint8_t rate_index) {
  rates_.push_back({{from, to}, rate_index});
  rates_.push_back({{to, from}, rate_index});
}

void network::reroute(std::size_t flow, std::vector<std::uint32_t> path) { flows_[flow].config.path = std::move(path); }

void network::set_application_rate(std::size_t flow, std::uint64_t rate_bps) {
  flows_[flow].config.application_bps = rate_bps;
  source(flow).sender.set_application_rate(rate_bps);
  serve(flows_[flow].from);
}

void network::at(time_us when, std::function<void()> action) {
  events_.push({std::max(when, now_us_), event_number_++, std::move(action)});
}

void network::run_until(time_us end) {
  while (!events_.empty() && events_.top().at_us <= end) {
    const event next = events_.top();
    events_.pop();
    now_us_ = next.at_us;
    next.action();
    if (watcher_) watcher_();
  }
  now_us_ = end;
}

std::uint8_t network::rate_of(std::uint32_t from, std::uint32_t to) const {
  const auto set = std::ranges::find(rates_, link{from, to}, &std::pair<link, std::uint8_t>::first);
  return set != rates_.end() ? set->second : config_.rate_index;
}

double network::idle_delay_us(std::uint32_t from, std::uint32_t to, std::uint32_t ip_bytes, std::uint32_t more_bytes) const {
  return idle_.uncontended_delay_us(ip_bytes + more_bytes, rate_of(from, to));
}

// ---- Packets

void network::pass(std::uint32_t node, study_packet&& p, const shim::exact_view& exact) {
  study_node& here = nodes_[node]->node;
  const bool first = p.hop == 0;
  if (!first) --p.ttl;
  here.path.pass(now_us_,
                 {.view = {.flow = p.is_report() ? flows_[p.flow].key.reversed() : flows_[p.flow].key,
                           .ip_bytes = p.ip_bytes,
                           .ttl = p.ttl,
                           .exact = exact},
                  .from = first ? hop::origin::here : hop::origin::radio,
                  .header = p.header,
                  .rider = p.rider,
                  .content = std::move(p)},
                 !here.silent);
  wake(node);
}

void network::on_submitted(std::uint32_t node) {
  largest_hello_bytes_ = std::max(largest_hello_bytes_, nodes_[node]->node.in_mac->what.hello.size());
  start_transmissions();
}

// What a node's frame takes: a link, or all that it hears of a hello's sender.
link network::link_of(std::uint32_t node) const {
  const study_node::frame& frame = *nodes_[node]->node.in_mac;
  return {node, frame.what.hello.empty() ? frame.to : node};
}

// Everybody whose link is free of others starts, those first who have waited longest.
void network::start_transmissions() {
  std::vector<std::uint32_t> waiting;
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
    if (!nodes_[i]->sending && nodes_[i]->node.in_mac) waiting.push_back(i);
  }
  std::ranges::stable_sort(waiting, {}, [this](std::uint32_t i) { return nodes_[i]->node.head_since_us; });
  for (const std::uint32_t i : waiting) {
    node_state& state = *nodes_[i];
    const study_packet& p = state.node.in_mac->what;
    const link wanted = link_of(i);
    bool free = true;
    for (std::uint32_t other = config_.exclusive_medium ? 0 : static_cast<std::uint32_t>(nodes_.size()); other < nodes_.size() && free;
         ++other) {
      free = !nodes_[other]->sending || !topology_.exclude(wanted, link_of(other));
    }
    if (!free) continue;
    state.sending = true;
    const double delay_us = p.hello.empty()
                                ? idle_delay_us(wanted.from, wanted.to, p.ip_bytes, p.is_report() ? report_extra_bytes : data_extra_bytes)
                                : idle_.broadcast_delay_us(state.node.in_mac->mpdu_bytes);
    if (!p.hello.empty()) state.hello_us += airtime_us(profile(), profile().lowest_basic_rate_index, state.node.in_mac->mpdu_bytes);
    at(now_us_ + static_cast<time_us>(delay_us), [this, i] { finish(i); });
  }
}

void network::finish(std::uint32_t node) {
  node_state& state = *nodes_[node];
  study_node::frame done = std::move(*state.node.in_mac);
  state.node.in_mac.reset();
  state.sending = false;
  const bool hello = !done.what.hello.empty();

  // The record that the MAC would give, with its averages (the first sample counts whole).
  const std::uint32_t data_us = hello ? 0 : airtime_us(profile(), rate_of(node, done.to), done.mpdu_bytes);
  const auto contention_us = hello ? 0 : static_cast<std::uint32_t>(now_us_ - state.node.head_since_us) - data_us;
  policy::neighbour_averages& averages = state.averages[done.peer];
  const double before = averages.avg_contention_us16, sample = neighbour_average_steps_per_us * static_cast<double>(contention_us);
  averages.peer = done.peer;
  averages.avg_contention_us16 =
      static_cast<std::uint32_t>(state.measured[done.peer] ? before + std::ldexp(sample - before, -average_shift) : sample);
  averages.avg_data_attempts_256 = neighbour_attempt_steps;
  state.measured[done.peer] = true;
  state.node.path.on_completion(now_us_, {.receiver_address = hello ? broadcast_address : study_node::address_of(done.to),
                                          .averages = averages,
                                          .sample = {.contention_us = contention_us, .data_attempts = 1},
                                          .delivered = true});
  state.node.path.pump(now_us_);
  wake(node);
  if (hello) {
    broadcast(node, std::move(done.what.hello));
  } else {
    ++done.what.hop;
    arrive(done.to, std::move(done.what));
  }
  start_transmissions();
}

void network::broadcast(std::uint32_t node, std::vector<std::uint8_t> hello) {
  for (std::uint32_t to = 0; to < nodes_.size(); ++to) {
    if (!topology_.neighbours(node, to) || nodes_[to]->node.silent) continue;
    nodes_[to]->node.path.on_hello(now_us_, hello);
    wake(to);
  }
}

void network::arrive(std::uint32_t node, study_packet p) {
  if (p.hop + 1 < p.path.size()) {
    pass(node, std::move(p), {});
    return;
  }
  flow_state& flow = flows_[p.flow];
  study_node& here = nodes_[node]->node;
  const shim::ip_packet_view view{.flow = p.is_report() ? flow.key.reversed() : flow.key, .ip_bytes = p.ip_bytes, .ttl = p.ttl};
  here.path.receive(now_us_, p.header, view);
  if (const auto* report = std::get_if<wire::exact_report>(&p.rider)) {
    here.ends.on_report(now_us_, flow.key, *report, here.path.shim().cwl_packets(flow.key));
  } else {
    ++flow.outcome.delivered_packets;
    here.ends.on_data(now_us_, view, *p.header, std::get<wire::exact_header>(p.rider), study_node::address_of(p.path[p.hop - 1]));
  }
  serve(node);
}

// ---- Timers

/// Its flows may send, or tell, what they may.
void network::serve(std::uint32_t node) {
  nodes_[node]->node.ends.serve(now_us_, nodes_[node]->node);
  wake(node);
}

void network::wake(std::uint32_t node) {
  node_state& state = *nodes_[node];
  const std::optional<time_us> next = state.node.next_deadline();
  if (!next || (state.woken_at_us && *state.woken_at_us <= *next)) return;
  const time_us when = std::max(*next, now_us_);
  state.woken_at_us = when;
  at(when, [this, node, when] {
    node_state& woken = *nodes_[node];
    if (woken.woken_at_us != when) return;
    woken.woken_at_us.reset();
    woken.node.expire(now_us_);
    wake(node);
  });
}

void network::send_data(std::uint32_t node, study_ends::sent&& data) {
  flow_state& flow = flows_[data.what];
  const bool last = data.exact.header.last;
  if (!last && sender(data.what).unacknowledged_packets() > sender(data.what).window_packets()) ++flow.outcome.window_violations;
  ++flow.outcome.sent_packets;
  shim::exact_view told = hop::view_of(data.exact);
  if (flow.config.claimed_bps != 0 && !last) told.current_rate_bps = flow.config.claimed_bps;
  pass(node, {.flow = data.what, .path = flow.config.path, .ip_bytes = flow.config.ip_bytes, .ttl = first_ttl, .rider = data.exact.header},
       told);
}

void network::send_report(std::uint32_t node, study_ends::due_report&& due) {
  const std::size_t index = due.flow.source_port - first_port;
  flow_state& flow = flows_[index];
  ++flow.outcome.reports_sent;
  if (static_cast<double>(random_() >> 11) * 0x1p-53 < config_.report_loss) {
    ++flow.outcome.reports_lost;
    return;
  }
  // As bytes, so that rates and delays are rounded as on the air.
  study_packet p{.flow = index,
                 .path = {flow.config.path.rbegin(), flow.config.path.rend()},
                 .ip_bytes = report_ip_bytes,
                 .ttl = first_ttl,
                 .rider = *wire::decode_exact_report(wire::encode(due.report))};
  pass(node, std::move(p), {.follows = true});
}

time_us network::most_hello_us() const {
  time_us most_us = 0;
  for (std::uint32_t here = 0; here < topology_.size(); ++here) {
    time_us sensed_us = 0;
    for (std::uint32_t from = 0; from < topology_.size(); ++from) {
      if (topology_.distance_m(from, here) <= exact_study::interference_range_m) sensed_us += nodes_[from]->hello_us;
    }
    most_us = std::max(most_us, sensed_us);
  }
  return most_us;
}

// ---- What is to be expected

std::optional<double> network::path_allocation_bps(std::size_t flow) {
  double least_bps = std::numeric_limits<double>::infinity();
  const std::vector<std::uint32_t>& path = flows_[flow].config.path;
  for (std::size_t hop = 0; hop + 1 < path.size(); ++hop) {
    if (nodes_[path[hop]]->node.silent) continue;
    const std::optional<double> allocation_bps = router(path[hop]).allocation_bps(identity(flow));
    if (!allocation_bps) return std::nullopt;
    least_bps = std::min(least_bps, *allocation_bps);
  }
  return least_bps;
}

std::vector<double> network::optimum_bps() {
  std::vector<link> links;
  struct part {
    std::size_t link;
    std::size_t flow;
    double cost_s_per_bit;
  };
  std::vector<part> parts;
  std::vector<max_min_flow> wanted;
  for (std::size_t f = 0; f < flows_.size(); ++f) {
    const flow_state& flow = flows_[f];
    max_min_flow item{.weight = flow.config.weight};
    const bool running = now_us_ >= flow.config.start_us && !source(f).ended;
    if (flow.config.application_bps != wire::unlimited_rate_bps) item.limit = static_cast<double>(flow.config.application_bps);
    if (!running) item.limit = 0;
    wanted.push_back(item);
    if (!running) continue;
    // Reports by packets, or by time when that is more often: as the receiver does it, at the rate the flow has now.
    const double bits = 8.0 * flow.config.ip_bytes;
    const double packets_per_s = static_cast<double>(sender(f).rate_bps()) / bits;
    const double reports = std::clamp(us_per_s / static_cast<double>(config_.router.feedback_interval_us) / packets_per_s,
                                      1.0 / config_.router.feedback_every_packets, 1.0);
    for (std::size_t hop = 0; hop + 1 < flow.config.path.size(); ++hop) {
      const link l{flow.config.path[hop], flow.config.path[hop + 1]};
      auto place = std::ranges::find(links, l);
      if (place == links.end()) place = links.insert(links.end(), l);
      const double time_us_a_packet = idle_delay_us(l.from, l.to, flow.config.ip_bytes, data_extra_bytes) +
                                      reports * idle_delay_us(l.to, l.from, report_ip_bytes, report_extra_bytes);
      parts.push_back({static_cast<std::size_t>(place - links.begin()), f, time_us_a_packet / us_per_s / bits});
    }
  }
  std::vector<max_min_budget> budgets;
  for (const std::vector<std::size_t>& set : exclusive_sets(topology_, links)) {
    max_min_budget budget{.costs = std::vector<double>(flows_.size(), 0), .budget = config_.router.eta};
    for (const part& p : parts) {
      if (std::ranges::find(set, p.link) != set.end()) budget.costs[p.flow] += p.cost_s_per_bit;
    }
    budgets.push_back(std::move(budget));
  }
  return max_min_rates(wanted, budgets);
}

}  // namespace perhop::exact_study
