// SPDX-License-Identifier: GPL-2.0-or-later
//
// What the shim costs a packet at a sender, a forwarder and a receiver, header bytes included, with 1000 connections in
// the flow table. Fails when one of them needs more than 300 ns. The best of several batches counts: what disturbs a
// batch from outside only ever makes it slower.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "host/core/shim/shim.hpp"

namespace {

using namespace perhop;

constexpr int batches = 30;
constexpr int packets_per_batch = 20'000;
constexpr std::uint32_t flows = 1000;
constexpr double limit_ns = 300;

shim::flow_key flow_of(std::uint32_t i) {
  return {.source = shim::ip_address::from_ipv4(0x0a000001),
          .destination = shim::ip_address::from_ipv4(0x0a000100 + i % 200),
          .source_port = static_cast<std::uint16_t>(40000 + i),
          .destination_port = 5001};
}

/// Best time of a call, in ns. `call` gets a running number and returns something, so that it is not optimised away.
template <typename call_type>
double best_ns(call_type call) {
  double best = 1e9;
  std::uint64_t sum = 0;
  for (int batch = 0; batch < batches; ++batch) {
    const auto start = std::chrono::steady_clock::now();
    for (int packet = 0; packet < packets_per_batch; ++packet) sum += call(batch * packets_per_batch + packet);
    const std::chrono::duration<double, std::nano> spent = std::chrono::steady_clock::now() - start;
    best = std::min(best, spent.count() / packets_per_batch);
  }
  if (sum == 0) std::puts("nothing was done");
  return best;
}

}  // namespace

int main() {
  const shim::shim_config config{.profile = find_profile("dsss_long")};
  shim::shim sender(config);
  shim::shim forwarder(config);
  shim::shim receiver(config);
  for (shim::shim* node : {&sender, &forwarder, &receiver}) {
    node->on_completion(0, {.peer = 0, .avg_contention_us16 = 16'000, .avg_overhead_us16 = 16'000, .avg_data_attempts_256 = 300});
  }
  const shim::next_hop hop{.peer = 0, .rate_index = 1, .mpdu_bytes = 1554};

  std::vector<shim::ip_packet_view> data;
  std::vector<shim::ip_packet_view> tcp_acks;
  for (std::uint32_t i = 0; i < flows; ++i) {
    data.push_back(
        {.flow = flow_of(i), .ip_bytes = 1500, .ttl = 64, .tcp = {.has_tcp_ack = true, .window_bytes = 65535, .payload_bytes = 1460}});
    tcp_acks.push_back({.flow = flow_of(i).reversed(), .ip_bytes = 40, .ttl = 64, .tcp = {.has_tcp_ack = true, .window_bytes = 65535}});
  }
  // Neighbouring packets belong to other connections, as far apart in the table as they come.
  const auto index = [](int packet) { return static_cast<std::size_t>(packet) * 379 % flows; };

  wire::path_header answer{.hops = 3, .total_delay_us = 4800, .max_delay_us = 1600};
  answer.echo = wire::path_echo{.total_delay_us = 24000, .max_delay_us = 8000, .hops = 3};
  const wire::path_header_buffer answer_bytes = wire::encode(answer);

  const double send_ns = best_ns([&](int packet) {
    shim::ip_packet_view view = data[index(packet)];
    view.tcp.sequence = static_cast<std::uint32_t>(packet) * 1460;
    return wire::encode(sender.on_originate(static_cast<shim::time_us>(packet), view, hop, 3))[3];
  });
  const double forward_ns = best_ns([&](int packet) {
    auto header = forwarder.parse(answer_bytes);
    forwarder.on_forward(static_cast<shim::time_us>(packet), *header, data[index(packet)], hop);
    return wire::encode(*header)[3];
  });
  // The sender's own way in: echo, Corollary 2 and the window.
  const double limit_window_ns = best_ns([&](int packet) {
    const auto header = sender.parse(answer_bytes);
    const auto verdict =
        sender.on_receive(static_cast<shim::time_us>(batches * packets_per_batch + packet), header, tcp_acks[index(packet)]);
    return verdict.window_bytes.value_or(0);
  });
  const double receive_ns = best_ns([&](int packet) {
    const auto header = receiver.parse(answer_bytes);
    return receiver.on_receive(static_cast<shim::time_us>(packet), header, data[index(packet)]).window_bytes ? 1U : 2U;
  });

  struct cost {
    const char* what;
    double ns;
  };
  bool within = true;
  for (const cost& c : {cost{"originate", send_ns}, cost{"forward", forward_ns}, cost{"receive tcp_ack, limit window", limit_window_ns},
                        cost{"receive data", receive_ns}}) {
    std::printf("%-30s %6.1f ns a packet\n", c.what, c.ns);
    if (c.ns > limit_ns) {
      std::fprintf(stderr, "%s: %.1f ns a packet, and the limit is %.0f\n", c.what, c.ns, limit_ns);
      within = false;
    }
  }
  return within ? 0 : 1;
}
