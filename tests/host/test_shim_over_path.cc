// SPDX-License-Identifier: GPL-2.0-or-later
//
// Shims end to end: a sender, routers and a receiver, with headers that cross every hop as bytes. Each node's delays are
// set by completion records, so the truth about the path is known; one round trip later the sender must know it too.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <vector>

#include "host/core/shim/shim.hpp"
#include "tests/host/test_seed.hpp"

namespace perhop::shim {
namespace {

constexpr std::uint8_t rate_2mbps = 1;
constexpr std::uint8_t forward_peer = 0;
constexpr std::uint8_t return_peer = 1;

/// Rounding of a delay on the wire, either way.
constexpr std::uint32_t rounding_us = 8;

const flow_key data_flow{.source = ip_address::from_ipv4(0x0a000001),
                         .destination = ip_address::from_ipv4(0x0a000009),
                         .source_port = 40000,
                         .destination_port = 5001};

std::uint32_t mpdu_bytes_of(std::uint32_t ip_bytes) { return mac_header_bytes + llc_snap_bytes + path_header_bytes + ip_bytes + fcs_bytes; }

struct truth {
  std::uint32_t total_us = 0;
  std::uint32_t max_us = 0;
};

/// Nodes 0..n in a row. Forward is from 0 to n.
class path {
public:
  explicit path(std::uint32_t hops, policy::cwl_config cwl = {}) {
    for (std::uint32_t node = 0; node <= hops; ++node) {
      nodes_.push_back(std::make_unique<shim>(shim_config{.profile = find_profile("dsss_long"), .policy = {.cwl = cwl}}));
      has_shim_.push_back(true);
    }
  }

  shim& node(std::size_t i) { return *nodes_[i]; }
  shim& sender() { return *nodes_.front(); }
  std::uint32_t hops() const { return static_cast<std::uint32_t>(nodes_.size() - 1); }
  void make_silent(std::size_t node) { has_shim_[node] = false; }

  /// The MAC of `node` completed a packet: contention of this many microseconds on average, each DATA frame sent once.
  void set_contention(std::size_t node, std::uint8_t peer, std::uint32_t contention_us) {
    nodes_[node]->on_completion(
        now_, {.peer = peer, .avg_contention_us16 = contention_us * 16, .avg_overhead_us16 = 990 * 16, .avg_data_attempts_256 = 256});
  }

  /// What the MACs know about one direction for a packet of this size, without the shim's arithmetic.
  static truth truth_of(const std::vector<std::uint32_t>& contention_us, std::uint32_t ip_bytes) {
    truth t;
    for (const std::uint32_t hop_contention_us : contention_us) {
      const std::uint32_t airtime_us = 192 + 4 * mpdu_bytes_of(ip_bytes);  // 2 Mb/s: 4 us a byte
      const std::uint32_t hop_us = hop_contention_us + 990 + airtime_us;
      t.total_us += hop_us;
      t.max_us = std::max(t.max_us, hop_us);
    }
    return t;
  }

  /// Takes a packet from one end to the other, hop by hop. @return the receiver's verdict
  receive_verdict send(ip_packet_view packet, std::uint32_t in_flight = 1) {
    const bool forward = packet.flow == data_flow;
    const auto at = [&](std::size_t step) { return forward ? step : nodes_.size() - 1 - step; };
    const next_hop hop{
        .peer = forward ? forward_peer : return_peer, .rate_index = rate_2mbps, .mpdu_bytes = mpdu_bytes_of(packet.ip_bytes)};
    packet.ttl = 64;
    std::optional<wire::path_header> header = nodes_[at(0)]->on_originate(now_, packet, hop, in_flight);
    for (std::size_t step = 1; step < nodes_.size(); ++step) {
      now_ += 10'000;
      shim& here = *nodes_[at(step)];
      if (header) {
        const wire::path_header_buffer on_the_air = wire::encode(*header);
        header = here.parse(on_the_air);
        EXPECT_TRUE(header) << "step " << step;
      }
      if (step == nodes_.size() - 1) return here.on_receive(now_, header, packet);
      --packet.ttl;
      if (!has_shim_[at(step)]) {
        header.reset();  // a kernel forwards the IP packet and knows no header
      } else if (header) {
        here.on_forward(now_, *header, packet, hop);
      } else {
        header = here.on_forward_plain(now_, packet, hop);
      }
    }
    return {};
  }

  receive_verdict send_data(std::uint32_t payload_bytes = 1460) {
    sequence_ += payload_bytes;
    return send({.flow = data_flow,
                 .ip_bytes = payload_bytes + 40,
                 .tcp = {.has_tcp_ack = true,
                         .sequence = sequence_ - payload_bytes,
                         .window_bytes = 65535,
                         .payload_bytes = payload_bytes,
                         .segment_bytes = 1460}});
  }

  receive_verdict send_tcp_ack() {
    return send({.flow = data_flow.reversed(), .ip_bytes = 40, .tcp = {.has_tcp_ack = true, .tcp_ack = sequence_, .window_bytes = 65535}});
  }

private:
  std::vector<std::unique_ptr<shim>> nodes_;
  std::vector<bool> has_shim_;
  std::uint32_t sequence_ = 1;
  time_us now_ = 0;
};

// B-12: after one round trip the sender's sum and maximum are the routers' truth, but for rounding.
TEST(shim_over_path, sender_knows_the_truth_after_one_round_trip) {
  std::mt19937 random(static_cast<std::uint32_t>(test_seed()));
  PERHOP_TELL_SEED();
  for (std::uint32_t hops = 1; hops <= 15; ++hops) {
    path chain(hops);
    std::vector<std::uint32_t> forward_us;
    std::vector<std::uint32_t> return_us;
    for (std::uint32_t hop = 0; hop < hops; ++hop) {
      forward_us.push_back(random() % 20'000);
      return_us.push_back(random() % 20'000);
      chain.set_contention(hop, forward_peer, forward_us.back());
      chain.set_contention(hops - hop, return_peer, return_us.back());
    }
    chain.send_data();
    chain.send_tcp_ack();

    const truth forward = path::truth_of(forward_us, 1500);
    const truth back = path::truth_of(return_us, 40);
    const policy::path_measurement known = chain.sender().last_path(data_flow).value();
    EXPECT_EQ(known.forward_hops, hops);
    EXPECT_EQ(known.return_hops, hops);
    EXPECT_NEAR(known.forward_total_us, forward.total_us, rounding_us * hops) << hops << " hops";
    EXPECT_NEAR(known.forward_max_us, forward.max_us, rounding_us) << hops << " hops";
    EXPECT_NEAR(known.return_total_us, back.total_us, rounding_us * hops) << hops << " hops";

    const double bound = (forward.total_us + back.total_us) / (4.0 * forward.max_us);
    const std::uint32_t cwl_packets = chain.sender().cwl_packets(data_flow).value();
    EXPECT_NEAR(cwl_packets, std::max(bound, 1.0), 0.5 + 0.01) << hops << " hops";
    for (std::uint32_t i = 0; i <= hops; ++i) EXPECT_EQ(chain.node(i).counters().malformed(), 0U);
  }
}

TEST(shim_over_path, idle_chain_gives_the_papers_limits) {
  // Before any completion the estimate is the idle medium's: 7758 us for data and 1918 us for TCP ACKs, path header
  // included. r = 0.247, so Corollary 2 is 4.68 at N = 30, 3.12 at 20, 1.87 at 12, and below 1 at N = 2 and 4.
  for (const auto& [hops, cwl_packets] : {std::pair{1U, 1U}, {2U, 1U}, {6U, 2U}, {10U, 3U}, {15U, 5U}}) {
    path chain(hops);
    chain.send_data();
    const receive_verdict verdict = chain.send_tcp_ack();
    EXPECT_EQ(chain.sender().cwl_packets(data_flow), cwl_packets) << hops << " hops";
    EXPECT_EQ(verdict.window_bytes, cwl_packets * 1460) << hops << " hops";
  }
}

// X-14's analogue for delays: what changes on the path is known one round trip later, without any message of its own.
TEST(shim_over_path, a_changed_hop_is_known_one_round_trip_later) {
  path chain(8);
  for (std::uint32_t hop = 0; hop < 8; ++hop) {
    chain.set_contention(hop, forward_peer, 400);
    chain.set_contention(8 - hop, return_peer, 400);
  }
  chain.send_data();
  chain.send_tcp_ack();
  const policy::path_measurement before = chain.sender().last_path(data_flow).value();
  chain.set_contention(5, forward_peer, 30'400);
  chain.send_data();
  EXPECT_EQ(chain.sender().last_path(data_flow)->forward_max_us, before.forward_max_us) << "half a round trip";
  chain.send_tcp_ack();
  const policy::path_measurement after = chain.sender().last_path(data_flow).value();
  EXPECT_NEAR(after.forward_max_us, before.forward_max_us + 30'000, 2 * rounding_us);
  EXPECT_NEAR(after.forward_total_us, before.forward_total_us + 30'000, 2 * rounding_us);
  EXPECT_EQ(after.return_total_us, before.return_total_us);
}

TEST(shim_over_path, bare_tcp_acks_of_the_sender_do_not_shrink_the_measured_data_delay) {
  path chain(4);
  chain.send_data();
  chain.send_tcp_ack();
  const policy::path_measurement before = chain.sender().last_path(data_flow).value();
  chain.send({.flow = data_flow, .ip_bytes = 40, .tcp = {.has_tcp_ack = true, .window_bytes = 65535}});
  chain.send_tcp_ack();
  EXPECT_EQ(chain.sender().last_path(data_flow)->forward_max_us, before.forward_max_us);
}

// B-12: packets without the header are handled, and the limit falls back to the hop table.
TEST(shim_over_path, silent_router_on_the_path_leaves_the_hop_table) {
  for (std::size_t silent = 1; silent < 10; ++silent) {
    path chain(10);
    chain.make_silent(silent);
    chain.send_data();
    chain.send_tcp_ack();
    const policy::path_measurement known = chain.sender().last_path(data_flow).value();
    EXPECT_EQ(known.forward_hops + known.return_hops, 20U) << "silent router " << silent;
    EXPECT_EQ(chain.sender().cwl_packets(data_flow), 3U) << "silent router " << silent;
    EXPECT_GT(chain.sender().counters().silent_router_seen, 0U);
  }
}

TEST(shim_over_path, hop_policy_needs_no_delays) {
  path chain(15, {.kind = policy::cwl_kind::hop});
  chain.send_data();
  chain.send_tcp_ack();
  EXPECT_EQ(chain.sender().cwl_packets(data_flow), 5U);
}

}  // namespace
}  // namespace perhop::shim
