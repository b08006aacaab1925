// SPDX-License-Identifier: GPL-2.0-or-later
//
// It is one file because it is a list: a function a study, none of which calls another.

#include "sim/exact/studies.hpp"

#include <malloc.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <random>

#include "host/core/policy/exact_water_filling.hpp"
#include "sim/exact/max_min.hpp"
#include "sim/exact/network.hpp"

namespace perhop::exact_study {

namespace {

constexpr double fair = 0.10;     // within this of the fair share: converged
constexpr double learned = 0.05;  // within this of what the routers allow

class draws {
public:
  explicit draws(std::uint64_t seed) : random_(seed) {}
  double uniform() { return static_cast<double>(random_() >> 11) * 0x1p-53; }
  std::uint64_t below(std::uint64_t n) { return random_() % n; }
  /// Over several decades.
  double spread(double low, double high) { return low * std::exp(uniform() * std::log(high / low)); }

private:
  std::mt19937_64 random_;
};

double seconds(time_us us) { return static_cast<double>(us) / us_per_s; }

network_config with_mode(policy::exact_mode mode) {
  network_config config;
  config.router.mode = mode;
  return config;
}

std::vector<std::uint32_t> hops_between(std::uint32_t from, std::uint32_t to) {
  std::vector<std::uint32_t> path{from};
  while (path.back() != to) path.push_back(path.back() < to ? path.back() + 1 : path.back() - 1);
  return path;
}

/// Mean rates of all flows over some seconds.
std::vector<double> mean_rates(network& net, double over_s) {
  std::vector<double> sum(net.flows(), 0);
  const int samples = static_cast<int>(over_s * 10);
  const time_us start = net.now();
  for (int i = 1; i <= samples; ++i) {
    net.run_until(start + static_cast<time_us>(i) * us_per_s / 10);
    for (std::size_t f = 0; f < sum.size(); ++f) sum[f] += static_cast<double>(net.sender(f).rate_bps()) / samples;
  }
  return sum;
}

/// Bytes of the heap in use.
std::uint64_t heap_bytes() {
  const auto heap = mallinfo2();
  return heap.uordblks + heap.hblkhd;
}

constexpr std::uint32_t mesh_nodes = 30;
constexpr std::uint32_t mesh_flows = 6;
constexpr time_us mesh_settled_us = 20 * us_per_s;

/// Six flows between any nodes of a random mesh.
std::unique_ptr<network> mesh_network(std::uint32_t mesh, network_config config) {
  config.seed = mesh;
  auto net = std::make_unique<network>(topology::mesh(mesh_nodes, 1000, mesh), config);
  draws draw(77 * mesh);
  for (time_us flow = 0; flow < mesh_flows; ++flow) {
    const auto from = static_cast<std::uint32_t>(draw.below(mesh_nodes));
    const auto to = static_cast<std::uint32_t>((from + 1 + draw.below(mesh_nodes - 1)) % mesh_nodes);
    net->add_flow({.path = net->nodes().path(from, to), .start_us = flow * us_per_s / 2});
  }
  return net;
}

}  // namespace

water_filling_result water_filling_study(std::uint32_t instances, std::uint64_t seed) {
  draws draw(seed);
  water_filling_result result{.instances = instances, .largest_overrun = -1};
  policy::water_filling filling;
  for (std::uint32_t instance = 0; instance < instances; ++instance) {
    const std::size_t count = 1 + draw.below(10);
    const std::size_t budget_count = instance % 2 == 0 ? 1 : 1 + draw.below(4);
    std::vector<policy::water_filling_flow> flows(count);
    std::vector<max_min_flow> wanted(count);
    for (std::size_t f = 0; f < count; ++f) {
      flows[f].gain = wanted[f].weight = draw.spread(0.1, 10);
      if (draw.below(2) == 0) flows[f].limit_bps = wanted[f].limit = draw.spread(1e3, 1e7);
      if (draw.below(3) == 0) wanted[f].floor = flows[f].floor_bps = std::min(draw.spread(1e2, 2e4), flows[f].limit_bps);
    }
    std::vector<max_min_budget> budgets(budget_count);
    std::vector<policy::water_filling_cost> costs;
    std::vector<policy::water_filling_budget> own;
    for (std::size_t b = 0; b < budget_count; ++b) {
      budgets[b].costs.assign(count, 0);
      budgets[b].budget = 0.2 + 0.8 * draw.uniform();
      own.push_back({.budget = budgets[b].budget, .first = costs.size(), .count = 0});
      for (std::size_t f = 0; f < count; ++f) {
        // The first budget is everybody's, so that nobody is without one.
        if (b != 0 && draw.below(2) == 0) continue;
        budgets[b].costs[f] = draw.spread(1e-7, 2e-6);
        costs.push_back({static_cast<std::uint32_t>(f), budgets[b].costs[f]});
        ++own.back().count;
      }
    }
    filling.fill(flows, costs, own);
    const std::vector<double> optimum = max_min_rates(wanted, budgets);
    for (std::size_t f = 0; f < count; ++f) {
      result.largest_error = std::max(result.largest_error, std::abs(flows[f].share_bps / optimum[f] - 1));
    }
    for (const max_min_budget& budget : budgets) {
      double used = 0;
      for (std::size_t f = 0; f < count; ++f) used += budget.costs[f] * flows[f].share_bps;
      result.largest_overrun = std::max(result.largest_overrun, used / budget.budget - 1);
    }
  }
  return result;
}

budget_result budget_study(policy::exact_mode mode, std::uint64_t seed) {
  draws draw(seed);
  const timing_profile& profile = *find_profile("dsss_long");
  policy::exact_router_config config;
  config.profile = &profile;
  config.mode = mode;
  config.max_flows = 64;
  config.feedback_every_packets = 0;
  config.neighbourhood.node = 1;
  policy::exact_router router(config);
  const policy::delay_estimator idle(profile);
  budget_result result;
  time_us now = 0;
  const auto any_rate = [&]() -> std::uint64_t {
    switch (draw.below(4)) {
      case 0:
        return 0;
      case 1:
        return wire::unlimited_rate_bps;
      default:
        return static_cast<std::uint64_t>(draw.spread(1, 1e8));
    }
  };
  for (int step = 0; step < 20'000; ++step) {
    now += draw.below(20'000);
    const std::uint32_t ip_bytes = 1500;
    const policy::exact_packet packet{.flow = draw.below(100) * 0x9e3779b97f4a7c15ULL,
                                      .peer = static_cast<std::uint8_t>(draw.below(18)),
                                      .rate_index = static_cast<std::uint8_t>(draw.below(5)),
                                      .ip_bytes = ip_bytes,
                                      .mpdu_bytes = ip_bytes + 54,
                                      .explicit_rate_bps = any_rate(),
                                      .current_rate_bps = any_rate()};
    router.on_packet(now, packet);
    if (draw.below(50) == 0) router.on_queue(draw.below(100'000));
    if (const auto due = router.deadline(); due && *due <= now) router.on_deadline(now);
    // On an idle medium a bit costs what the estimator says; all links of one node exclude each other.
    double used = 0;
    router.for_each_flow([&](std::uint64_t /*flow*/, std::uint8_t rate_index, double allocation_bps) {
      used += allocation_bps * idle.uncontended_delay_us(ip_bytes + 54, rate_index) / 1e6 / (8.0 * ip_bytes);
    });
    result.largest_load = std::max(result.largest_load, used / config.eta);
    ++result.checks;
  }
  return result;
}

reroute_result reroute_study(std::uint32_t reroutes, std::uint64_t seed) {
  draws draw(seed);
  reroute_result result;
  for (std::uint32_t i = 0; i < reroutes; ++i) {
    // Two ways from 0 to 5 over two routers each; the links differ in rate, and other flows share them.
    network net(topology({{0, 0}, {200, 120}, {400, 120}, {200, -120}, {400, -120}, {600, 0}}), network_config{.seed = seed + i});
    const std::vector<std::uint32_t> upper{0, 1, 2, 5};
    const std::vector<std::uint32_t> lower{0, 3, 4, 5};
    const auto rate = [&] { return static_cast<std::uint8_t>(draw.below(4)); };
    for (const auto& path : {upper, lower}) {
      for (std::size_t hop = 0; hop + 1 < path.size(); ++hop) net.set_rate(path[hop], path[hop + 1], rate());
    }
    const std::size_t flow = net.add_flow({.path = upper});
    for (std::uint64_t other = draw.below(3); other > 0; --other) net.add_flow({.path = {1, 2}});
    for (std::uint64_t other = draw.below(3); other > 0; --other) net.add_flow({.path = {3, 4}});
    const time_us change = 4 * us_per_s + draw.below(us_per_s);
    net.run_until(change);
    net.reroute(flow, lower);
    const std::uint64_t sent = net.outcome(flow).sent_packets;
    time_us first_sent = 0;
    time_us done = 0;
    net.watch([&] {
      if (first_sent == 0 && net.outcome(flow).sent_packets > sent) first_sent = net.now();
      if (first_sent == 0 || done != 0) return;
      const std::optional<double> allowed_bps = net.path_allocation_bps(flow);
      if (allowed_bps && std::abs(static_cast<double>(net.sender(flow).rate_bps()) / *allowed_bps - 1) <= learned) done = net.now();
    });
    net.run_until(change + 5 * us_per_s);
    result.learned_s.push_back(done == 0 ? std::numeric_limits<double>::infinity() : seconds(done - first_sent));
    result.round_trip_s.push_back(static_cast<double>(net.sender(flow).smoothed_round_trip_us()) / us_per_s);
  }
  return result;
}

join_leave_result join_leave_study(policy::exact_mode mode) {
  join_leave_result result;
  network net(topology::chain(1), with_mode(mode));
  result.interval_s = seconds(net.router(0).config().interval_us);
  // One flow more at 4, 8 and 12 s; one less at 16 and 20 s.
  const std::vector<time_us> starts{0, 4 * us_per_s, 8 * us_per_s, 12 * us_per_s};
  const std::vector<time_us> stops{~time_us{0}, 20 * us_per_s, 16 * us_per_s, ~time_us{0}};
  for (std::size_t f = 0; f < starts.size(); ++f) net.add_flow({.path = {0, 1}, .start_us = starts[f], .stop_us = stops[f]});
  const auto converge = [&](time_us change, const std::vector<std::size_t>& running) {
    time_us since = 0;
    net.watch([&] {
      if (net.now() < change) return;
      double sum = 0;
      for (const std::size_t f : running) sum += static_cast<double>(net.sender(f).rate_bps());
      const std::vector<double> optimum = since == 0 ? net.optimum_bps() : std::vector<double>();
      bool all = true;
      for (const std::size_t f : running) {
        const double wanted = since == 0 ? optimum[f] : sum / static_cast<double>(running.size());
        all = all && std::abs(static_cast<double>(net.sender(f).rate_bps()) / wanted - 1) <= fair;
        result.round_trip_s = std::max(result.round_trip_s, static_cast<double>(net.sender(f).smoothed_round_trip_us()) / us_per_s);
      }
      if (all && since == 0) since = net.now();
    });
    net.run_until(change + 3'900'000);
    net.watch({});
    return since == 0 ? std::numeric_limits<double>::infinity() : seconds(since - change);
  };
  net.run_until(3'900'000);
  result.join_s.push_back(converge(4 * us_per_s, {0, 1}));
  result.join_s.push_back(converge(8 * us_per_s, {0, 1, 2}));
  result.join_s.push_back(converge(12 * us_per_s, {0, 1, 2, 3}));
  result.leave_s.push_back(converge(16 * us_per_s, {0, 1, 3}));
  result.leave_s.push_back(converge(20 * us_per_s, {0, 3}));
  return result;
}

mixed_rate_result mixed_rate_study(policy::exact_mode mode) {
  mixed_rate_result result;
  for (const policy::exact_fairness fairness : {policy::exact_fairness::rate, policy::exact_fairness::airtime}) {
    network_config config = with_mode(mode);
    config.router.fairness = fairness;
    network net(topology({{0, 0}, {200, 0}, {0, 200}}), config);
    net.set_rate(0, 2, 3);
    net.add_flow({.path = {0, 1}});
    net.add_flow({.path = {0, 2}});
    net.run_until(8 * us_per_s);
    const std::vector<double> rate = mean_rates(net, 4);
    if (fairness == policy::exact_fairness::rate) {
      result.rate_ratio = rate[0] / rate[1];
    } else {
      // M1 weighs time as measured, M2 the uncontended time of data and reports; what each router used itself.
      const double slow = net.router(0).cost_s_per_bit(net.identity(0)).value_or(0);
      const double fast = net.router(0).cost_s_per_bit(net.identity(1)).value_or(1);
      result.time_ratio = rate[0] * slow / (rate[1] * fast);
    }
  }
  return result;
}

surplus_result surplus_study(policy::exact_mode mode) {
  surplus_result result;
  network net(topology::chain(1), with_mode(mode));
  const std::size_t modest = net.add_flow({.path = {0, 1}, .application_bps = 100'000});
  const std::size_t greedy = net.add_flow({.path = {0, 1}});
  net.run_until(6 * us_per_s);
  result.greedy_share = mean_rates(net, 2)[greedy] / net.optimum_bps()[greedy];
  const time_us change = net.now();
  net.set_application_rate(modest, wire::unlimited_rate_bps);
  const double wanted = net.optimum_bps()[modest];
  time_us regained = 0;
  net.watch([&] {
    if (regained == 0 && static_cast<double>(net.sender(modest).rate_bps()) >= (1 - fair) * wanted) regained = net.now();
  });
  net.run_until(change + 6 * us_per_s);
  result.regained_s = regained == 0 ? std::numeric_limits<double>::infinity() : seconds(regained - change);
  result.later_share = mean_rates(net, 2)[modest] / net.optimum_bps()[modest];
  return result;
}

double soft_state_study(std::uint64_t gap_us) {
  policy::exact_router_config config;
  config.profile = find_profile("dsss_long");
  config.mode = policy::exact_mode::m1;
  policy::exact_router router(config);
  time_us now = 0;
  constexpr std::uint64_t flows = 1000;
  for (int round = 0; round < 3; ++round) {
    for (std::uint64_t flow = 0; flow < flows; ++flow) {
      now += gap_us / flows;
      router.on_packet(now, {.flow = (flow + 1) * 0x9e3779b97f4a7c15ULL,
                             .ip_bytes = 1500,
                             .mpdu_bytes = 1554,
                             .explicit_rate_bps = 1'000'000,
                             .current_rate_bps = 12'000});
      if (router.deadline() && *router.deadline() <= now) router.on_deadline(now);
    }
  }
  const time_us silent_since = now;
  while (router.flows() != 0 && now < silent_since + 60 * us_per_s) {
    now = std::max(now + 1, router.deadline().value_or(now + us_per_s));
    router.on_deadline(now);
  }
  return seconds(now - silent_since);
}

lost_report_result lost_report_study(double loss, std::uint64_t seed) {
  network_config config;
  config.report_loss = loss;
  config.seed = seed;
  network net(topology::chain(4), config);
  net.add_flow({.path = hops_between(0, 4)});
  net.add_flow({.path = hops_between(4, 0), .start_us = 5 * us_per_s});
  lost_report_result result;
  net.run_until(10 * us_per_s);
  const std::vector<double> rates = mean_rates(net, 50);
  result.rate_share = rates[0] / net.optimum_bps()[0];
  for (std::size_t f = 0; f < net.flows(); ++f) {
    result.sent += net.outcome(f).sent_packets;
    result.reports += net.outcome(f).reports_sent;
    result.lost += net.outcome(f).reports_lost;
    result.halvings += net.sender(f).counters().halvings;
    result.window_violations += net.outcome(f).window_violations;
  }
  return result;
}

liar_result liar_study(policy::exact_mode mode, std::uint64_t claimed_bps) {
  std::vector<double> honest;
  std::vector<double> lying;
  for (const bool lie : {false, true}) {
    network net(topology::chain(2), with_mode(mode));
    net.add_flow({.path = {0, 1, 2}, .claimed_bps = lie ? claimed_bps : 0});
    net.add_flow({.path = {0, 1, 2}});
    net.add_flow({.path = {0, 1, 2}, .application_bps = 60'000});
    net.run_until(10 * us_per_s);
    (lie ? lying : honest) = mean_rates(net, 10);
  }
  return {.gain = lying[0] / honest[0] - 1, .harm = 1 - lying[1] / honest[1]};
}

double oscillation_study(policy::exact_mode mode, std::uint32_t hops) {
  network net(topology::chain(hops), with_mode(mode));
  net.add_flow({.path = hops_between(0, hops)});
  net.add_flow({.path = hops_between(0, hops), .start_us = 10 * us_per_s});
  net.run_until(20 * us_per_s);
  double least = std::numeric_limits<double>::infinity();
  double most = 0;
  double sum = 0;
  constexpr int samples = 200;
  for (int i = 0; i < samples; ++i) {
    net.run_until(net.now() + 50'000);
    const auto rate = static_cast<double>(net.sender(0).rate_bps());
    least = std::min(least, rate);
    most = std::max(most, rate);
    sum += rate / samples;
  }
  return (most - least) / sum;
}

gap_result gap_study(policy::exact_mode mode, bool positions_known, bool exclusive_medium, std::uint32_t chains, std::uint32_t meshes) {
  gap_result result;
  network_config config = with_mode(mode);
  config.positions_known = positions_known;
  config.exclusive_medium = exclusive_medium;
  for (std::uint32_t hops = 1; hops <= chains; ++hops) {
    network net(topology::chain(hops), config);
    net.add_flow({.path = hops_between(0, hops)});
    net.run_until(10 * us_per_s);
    const double rate = mean_rates(net, 5)[0];
    result.chain_gaps.push_back(std::abs(rate / net.optimum_bps()[0] - 1));
  }
  for (std::uint32_t mesh = 1; mesh <= meshes; ++mesh) {
    const std::unique_ptr<network> owner = mesh_network(mesh, config);
    network& net = *owner;
    net.run_until(mesh_settled_us / 2);
    const time_us before_us = net.most_hello_us();
    net.run_until(mesh_settled_us);
    const std::vector<double> rates = mean_rates(net, 5);
    result.most_hello_share = std::max(result.most_hello_share, static_cast<double>(net.most_hello_us() - before_us) /
                                                                    static_cast<double>(net.now() - mesh_settled_us / 2));
    const std::vector<double> optimum = net.optimum_bps();
    double gap = 0;
    double worst = std::numeric_limits<double>::infinity();
    for (std::size_t f = 0; f < rates.size(); ++f) {
      gap = std::max(gap, std::abs(rates[f] / optimum[f] - 1));
      worst = std::min(worst, rates[f] / optimum[f]);
    }
    result.mesh_gaps.push_back(gap);
    result.mesh_worst.push_back(worst);
    result.largest_hello_bytes = std::max(result.largest_hello_bytes, net.largest_hello_bytes());
  }
  return result;
}

std::vector<mesh_plan> mesh_plans(std::uint32_t first, std::uint32_t meshes) {
  network_config config = with_mode(policy::exact_mode::m2);
  config.exclusive_medium = false;
  config.router.eta = 0.9;  // what the optimum gives out, whatever routers find usable
  std::vector<mesh_plan> plans;
  for (std::uint32_t mesh = first; mesh < first + meshes; ++mesh) {
    const std::unique_ptr<network> owner = mesh_network(mesh, config);
    network& net = *owner;
    net.run_until(mesh_settled_us);
    mesh_plan plan{.nodes = net.nodes(), .paths = {}, .optimum_bps = net.optimum_bps(), .eta = config.router.eta};
    for (std::size_t flow = 0; flow < net.flows(); ++flow) plan.paths.push_back(net.path(flow));
    plans.push_back(std::move(plan));
  }
  return plans;
}

cost_result cost_study(policy::exact_mode mode, std::uint32_t flows) {
  using clock = std::chrono::steady_clock;
  const auto ns_since = [](clock::time_point start) { return std::chrono::duration<double, std::nano>(clock::now() - start).count(); };
  cost_result result{.flows = flows, .packets_per_s = std::max(2e6 / (8 * 1500), static_cast<double>(flows))};
  policy::exact_router_config config;
  config.profile = find_profile("dsss_long");
  config.mode = mode;
  config.neighbourhood.node = 1;
  const std::uint64_t heap_before_bytes = heap_bytes();
  policy::exact_router router(config);
  for (std::uint8_t peer = 0; peer < 2; ++peer) router.set_peer_node(peer, peer + 2U);
  const auto packet = [&](std::uint64_t number) {
    const std::uint64_t flow = number % flows;
    return policy::exact_packet{.flow = (flow + 1) * 0x9e3779b97f4a7c15ULL,
                                .peer = static_cast<std::uint8_t>(flow % 2),
                                .rate_index = 1,
                                .ip_bytes = 1500,
                                .mpdu_bytes = 1554,
                                .explicit_rate_bps = 2'000'000,
                                .current_rate_bps = static_cast<std::uint64_t>(1e6 / flows) + 1};
  };
  // A neighbour tells of itself and of three routers behind it, each with ten of the flows.
  const auto neighbours_hello = [&](std::uint16_t sequence) {
    wire::hello message;
    for (std::uint32_t node = 2; node < 6; ++node) {
      wire::hello_node told{.node = node,
                            .hops = static_cast<std::uint8_t>(node - 2),
                            .sequence = sequence,
                            .neighbours = {node == 2 ? 1 : node - 1, node + 1}};
      for (std::uint64_t flow = 1; flow <= 10; ++flow) {
        told.flows.push_back({.next = 1, .flow = static_cast<std::uint32_t>(flow * 0x9e3779b97f4a7c15ULL), .cost_s_per_bit = 6.4e-7});
      }
      message.nodes.push_back(std::move(told));
    }
    return message;
  };

  // In simulated real time: everything that a router does. The best of several runs, as disturbances only add.
  double best_share = std::numeric_limits<double>::infinity();
  double best_ns = best_share;
  time_us now = 0;
  std::uint64_t number = 0;
  std::uint16_t sequence = 0;
  time_us next_hello = 0;
  const auto gap_us = static_cast<time_us>(1e6 / result.packets_per_s);
  constexpr double simulated_s = 2;
  const auto live = [&] {
    const clock::time_point start = clock::now();
    for (const time_us end = now + static_cast<time_us>(simulated_s * 1e6); now < end; now += gap_us) {
      router.on_packet(now, packet(number++));
      if (router.deadline() && *router.deadline() <= now) {
        router.on_deadline(now);
        if (mode == policy::exact_mode::m2) router.take_hello(now);
      }
      if (mode == policy::exact_mode::m2 && now >= next_hello) {
        router.on_hello(now, neighbours_hello(++sequence));
        next_hello = now + 500'000;
      }
    }
    return ns_since(start) / 1e9 / simulated_s;
  };
  live();
  result.state_bytes = sizeof(router) + heap_bytes() - heap_before_bytes;
  for (int run = 0; run < 7; ++run) best_share = std::min(best_share, live());
  // Packets alone: time hardly passes.
  constexpr int packets = 20'000;
  std::uint64_t sum = 0;
  for (int run = 0; run < 15; ++run) {
    const clock::time_point start = clock::now();
    for (int i = 0; i < packets; ++i) sum += router.on_packet(now, packet(number++));
    best_ns = std::min(best_ns, ns_since(start) / packets);
  }
  result.ns_per_packet = sum != 0 ? best_ns : 0;
  double best_allocation = std::numeric_limits<double>::infinity();
  for (int run = 0; run < 20; ++run) {
    for (std::uint32_t i = 0; i < flows; ++i) router.on_packet(now, packet(number++));
    now = std::max(now + config.interval_us, router.deadline().value_or(0));
    const std::uint64_t before = router.counters().allocations;
    const clock::time_point start = clock::now();
    router.on_deadline(now);
    const double spent = ns_since(start) / 1e3;
    if (router.counters().allocations > before) best_allocation = std::min(best_allocation, spent);
  }
  result.us_per_allocation = best_allocation;
  result.cpu_share = best_share;
  return result;
}

}  // namespace perhop::exact_study
