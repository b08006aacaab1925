// SPDX-License-Identifier: GPL-2.0-or-later
//
// The shim thins the TCP ACKs of a receiver and paces the data of a sender.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <random>
#include <unordered_map>
#include <vector>

#include "host/core/shim/shim.hpp"
#include "tests/host/allocation_count.hpp"
#include "tests/host/test_seed.hpp"

namespace perhop::shim {
namespace {

using policy::tcp_ack_action;
using policy::tcp_ack_reason;
using policy::tcp_ack_release;

constexpr std::uint32_t segment_bytes = 1000;
constexpr next_hop hop{.peer = 0, .rate_index = 1, .mpdu_bytes = 1094};

flow_key data_flow(std::uint32_t i = 0) {
  return {.source = ip_address::from_ipv4(0x0a000001),
          .destination = ip_address::from_ipv4(0x0a100000 + (i >> 16)),
          .source_port = static_cast<std::uint16_t>(i),
          .destination_port = 5001};
}

ip_packet_view data(const flow_key& flow, std::uint32_t segment) {
  return {.flow = flow,
          .ip_bytes = 40 + segment_bytes,
          .ttl = 64,
          .tcp = {.has_tcp_ack = true, .sequence = segment * segment_bytes, .window_bytes = 65535, .payload_bytes = segment_bytes}};
}

ip_packet_view tcp_ack(const flow_key& flow, std::uint32_t segments) {
  return {.flow = flow.reversed(),
          .ip_bytes = 40,
          .ttl = 64,
          .tcp = {.has_tcp_ack = true, .tcp_ack = segments * segment_bytes, .window_bytes = 65535}};
}

wire::path_header header_of(std::uint8_t hops, std::uint8_t packets_in_flight) {
  wire::path_header header{.hops = hops, .total_delay_us = hops * 7680U, .max_delay_us = 7680};
  header.packets_in_flight = packets_in_flight;
  return header;
}

constexpr flow_policy dca{.cwl = {.kind = policy::cwl_kind::none}, .tcp_ack = {.kind = policy::tcp_ack_kind::dca}};

shim_config config_of(const flow_policy& policy = {}) { return {.profile = find_profile("dsss_long"), .policy = policy}; }

/// Data arrive in order, 10 ms apart, and the local TCP answers each packet. @return how many TCP ACKs were sent
std::uint32_t arrive(shim& node, const flow_key& flow, std::uint32_t first, std::uint32_t count, std::uint8_t hops,
                     std::uint8_t in_flight) {
  std::uint32_t sent = 0;
  for (std::uint32_t segment = first; segment < first + count; ++segment) {
    const time_us now = segment * 10'000;
    node.on_receive(now, header_of(hops, in_flight), data(flow, segment));
    if (node.on_tcp_ack(now, tcp_ack(flow, segment + 1)) == tcp_ack_action::hold) continue;
    node.on_originate(now, tcp_ack(flow, segment + 1), hop, 0);
    ++sent;
  }
  return sent;
}

TEST(shim_tcp_ack, is_thinned_at_the_node_that_receives_the_data) {
  shim receiver(config_of());
  shim sender(config_of());
  for (shim* node : {&receiver, &sender}) node->set_flow_policy(data_flow(), dca);
  EXPECT_EQ(arrive(receiver, data_flow(), 0, 101, 5, 20), 21U) << "the first, and one for every 5 packets on 5 hops";
  EXPECT_EQ(receiver.counters().tcp_acks_held, 80U);
  EXPECT_EQ(receiver.counters().tcp_acks(tcp_ack_reason::window), 20U);
  EXPECT_EQ(receiver.counters().tcp_acks(tcp_ack_reason::at_once), 1U);
  // The sender's own packets carry TCP ACKs too; they are not this direction's.
  for (std::uint32_t segment = 0; segment < 10; ++segment)
    EXPECT_EQ(sender.on_tcp_ack(segment, data(data_flow(), segment)), tcp_ack_action::pass);
  EXPECT_EQ(sender.counters().tcp_acks_held, 0U);
}

TEST(shim_tcp_ack, is_left_alone_by_default) {
  shim receiver(config_of());
  EXPECT_EQ(arrive(receiver, data_flow(), 0, 50, 5, 20), 50U);
  EXPECT_FALSE(receiver.next_deadline());
  ip_packet_view udp = data(data_flow(), 0);
  udp.flow.protocol = ip_protocol_udp;
  EXPECT_EQ(receiver.on_tcp_ack(0, udp), tcp_ack_action::pass);
}

// D-21 through the header: the hops that the data made decide, and the packets in flight bound the window.
TEST(shim_tcp_ack, window_follows_the_hops_and_the_packets_in_flight_that_the_header_tells) {
  const auto sent = [](std::uint8_t hops, std::uint8_t in_flight) {
    shim receiver(config_of(dca));
    return arrive(receiver, data_flow(), 0, 61, hops, in_flight);
  };
  EXPECT_EQ(sent(2, 20), 4U);
  EXPECT_EQ(sent(3, 10), 7U);
  EXPECT_EQ(sent(4, 20), 13U);
  EXPECT_EQ(sent(9, 20), 13U);
  EXPECT_EQ(sent(10, 20), 21U);
  EXPECT_EQ(sent(10, 2), 31U);
  EXPECT_EQ(sent(2, 1), 61U);
  EXPECT_EQ(sent(2, 0), 13U) << "nobody tells what is in flight: 5";
}

TEST(shim_tcp_ack, of_plain_ip_uses_the_ttl) {
  shim receiver(config_of(dca));
  std::uint32_t sent = 0;
  for (std::uint32_t segment = 0; segment < 61; ++segment) {
    ip_packet_view packet = data(data_flow(), segment);
    packet.ttl = 64 - 11;
    receiver.on_receive(segment * 10'000, std::nullopt, packet);
    sent += receiver.on_tcp_ack(segment * 10'000, tcp_ack(data_flow(), segment + 1)) == tcp_ack_action::pass ? 1 : 0;
  }
  EXPECT_EQ(sent, 21U) << "12 hops: 3";
}

TEST(shim_tcp_ack, is_released_by_its_deadline) {
  shim receiver(config_of(dca));
  arrive(receiver, data_flow(), 0, 3, 5, 20);  // at 0, 10 and 20 ms; the last two are held as one
  ASSERT_EQ(receiver.next_deadline(), 10'000U + 75'000U);
  std::array<tcp_ack_due, 4> due;
  EXPECT_EQ(receiver.expire(84'999, due), 0U);
  ASSERT_EQ(receiver.expire(85'000, due), 1U);
  EXPECT_EQ(due[0].flow, data_flow().reversed());
  EXPECT_EQ(due[0].release, tcp_ack_release::send_held);
  EXPECT_EQ(receiver.counters().tcp_acks(tcp_ack_reason::delay_timer), 1U);
  EXPECT_EQ(receiver.last_tcp_ack_reason(data_flow().reversed()), tcp_ack_reason::delay_timer);
  EXPECT_EQ(receiver.last_tcp_ack_reason(data_flow()), tcp_ack_reason::at_once) << "no TCP ACK has this key";
  // Nobody answers: it is repeated a second later.
  ASSERT_EQ(receiver.next_deadline(), 1'085'000U);
  ASSERT_EQ(receiver.expire(1'085'000, due), 1U);
  EXPECT_EQ(due[0].release, tcp_ack_release::send_again);
  EXPECT_EQ(receiver.counters().tcp_acks(tcp_ack_reason::repeated), 1U);
  EXPECT_EQ(receiver.last_tcp_ack_reason(data_flow().reversed()), tcp_ack_reason::repeated);
}

TEST(shim_tcp_ack, round_trips_told_by_the_caller_set_the_time_of_the_repetition) {
  shim receiver(config_of(dca));
  receiver.on_receive(0, header_of(5, 20), data(data_flow(), 0));
  receiver.on_round_trip(0, data_flow().reversed(), 600'000);  // 600 + 4 * 300 ms
  receiver.on_tcp_ack(0, tcp_ack(data_flow(), 1));
  EXPECT_EQ(receiver.next_deadline(), 1'800'000U);
}

TEST(shim_tcp_ack, many_deadlines_come_in_their_order_whatever_room_the_caller_gives) {
  shim receiver(config_of(dca));
  for (std::uint32_t i = 0; i < 100; ++i) {
    for (std::uint32_t segment = 0; segment < 3; ++segment) {
      const time_us now = segment * 10'000 + (i * 37 % 100) * 10;
      receiver.on_receive(now, header_of(5, 20), data(data_flow(i), segment));
      receiver.on_tcp_ack(now, tcp_ack(data_flow(i), segment + 1));
    }
  }
  std::array<tcp_ack_due, 7> due;
  std::uint32_t released = 0;
  std::optional<std::uint32_t> last_place;
  for (std::size_t written = due.size(); written == due.size();) {
    written = receiver.expire(100'000, due);
    for (std::size_t k = 0; k < written; ++k) {
      EXPECT_EQ(due[k].release, tcp_ack_release::send_held);
      const std::uint32_t place = due[k].flow.destination_port * 37U % 100;
      if (last_place) {
        EXPECT_GT(place, *last_place);
      }
      last_place = place;
    }
    released += static_cast<std::uint32_t>(written);
  }
  EXPECT_EQ(released, 100U);
}

// Whoever keeps the packet must learn that nobody will ask for it any more.
TEST(shim_tcp_ack, held_by_a_connection_that_is_forgotten_is_released) {
  shim_config config = config_of(dca);
  config.max_flows = 2;
  shim receiver(config);
  arrive(receiver, data_flow(0), 0, 3, 5, 20);
  ASSERT_EQ(receiver.counters().tcp_acks_held, 2U);
  receiver.on_receive(30'000, header_of(5, 20), data(data_flow(1), 0));
  receiver.on_receive(30'000, header_of(5, 20), data(data_flow(2), 0));
  EXPECT_EQ(receiver.counters().flows_evicted, 0U) << "anybody can send these";
  receiver.on_originate(30'000, tcp_ack(data_flow(1), 1), hop, 0);
  receiver.on_originate(30'000, tcp_ack(data_flow(2), 1), hop, 0);
  EXPECT_EQ(receiver.counters().flows_evicted, 1U);
  EXPECT_EQ(receiver.next_deadline(), 0U) << "now";
  std::array<tcp_ack_due, 4> due;
  ASSERT_EQ(receiver.expire(30'000, due), 1U);
  EXPECT_EQ(due[0].flow, data_flow(0).reversed());
  EXPECT_EQ(due[0].release, tcp_ack_release::send_held);
  EXPECT_FALSE(receiver.next_deadline());
}

// The packet that passes takes the place of the one that is kept: to ask for that one too would be to ask for nothing.
TEST(shim_tcp_ack, that_passes_is_the_end_of_one_held_by_a_connection_forgotten_meanwhile) {
  shim_config config = config_of(dca);
  config.flow_idle_us = 5'000;
  shim receiver(config);
  const auto hears = [&](time_us now, std::uint32_t segment) {
    receiver.on_receive(now, header_of(5, 20), data(data_flow(), segment));
    return receiver.on_tcp_ack(now, tcp_ack(data_flow(), segment + 1));
  };
  ASSERT_EQ(hears(0, 0), tcp_ack_action::pass);
  ASSERT_EQ(hears(1'000, 1), tcp_ack_action::hold);
  ASSERT_EQ(receiver.on_tcp_ack(7'000, tcp_ack(data_flow(), 2)), tcp_ack_action::pass) << "of a connection that nobody remembers";
  ASSERT_EQ(receiver.counters().flows_expired, 1U);
  std::array<tcp_ack_due, 4> due;
  EXPECT_EQ(receiver.expire(7'000, due), 0U);

  // Forgotten by one call, replaced by another, and not asked for in between.
  ASSERT_EQ(hears(8'000, 2), tcp_ack_action::pass);
  ASSERT_EQ(hears(9'000, 3), tcp_ack_action::hold);
  receiver.on_receive(16'000, header_of(5, 20), data(data_flow(1), 0));
  ASSERT_EQ(receiver.counters().flows_expired, 2U);
  ASSERT_EQ(hears(17'000, 4), tcp_ack_action::pass);
  ASSERT_EQ(hears(18'000, 5), tcp_ack_action::hold);
  EXPECT_EQ(receiver.expire(18'000, due), 0U) << "one is kept, and not yet due";
  ASSERT_TRUE(receiver.next_deadline());
  ASSERT_EQ(receiver.expire(600'000, due), 1U);
  EXPECT_EQ(due[0].release, tcp_ack_release::send_held);
}

// A SYN may be old, or a lie: the sender of the data gets its TCP ACK when it is due.
TEST(shim_tcp_ack, held_when_a_syn_comes_stays_held) {
  shim receiver(config_of(dca));
  arrive(receiver, data_flow(), 0, 3, 5, 20);
  ASSERT_EQ(receiver.counters().tcp_acks_held, 2U);
  ip_packet_view syn = data(data_flow(), 0);
  syn.tcp = {.syn = true, .sequence = 77};
  const auto deadline = receiver.next_deadline();
  receiver.on_receive(21'000, header_of(5, 20), syn);
  std::array<tcp_ack_due, 4> due;
  EXPECT_EQ(receiver.expire(21'000, due), 0U);
  ASSERT_EQ(receiver.next_deadline(), deadline);
  ASSERT_EQ(receiver.expire(*deadline, due), 1U);
  EXPECT_EQ(due[0].flow, data_flow().reversed());
  EXPECT_EQ(due[0].release, tcp_ack_release::send_held);
}

TEST(shim_tcp_ack, held_when_the_local_tcp_opens_or_resets_the_connection_is_dropped) {
  for (const bool opens : {true, false}) {
    shim receiver(config_of(dca));
    arrive(receiver, data_flow(), 0, 3, 5, 20);
    ip_packet_view leaving = tcp_ack(data_flow(), 3);
    leaving.tcp = {.syn = opens, .rst = !opens, .sequence = 77};
    ASSERT_EQ(receiver.on_tcp_ack(21'000, leaving), tcp_ack_action::pass);
    receiver.on_originate(21'000, leaving, hop, 0);
    std::array<tcp_ack_due, 4> due;
    while (receiver.next_deadline() && *receiver.next_deadline() < 1'000'000) {
      const std::size_t written = receiver.expire(*receiver.next_deadline(), due);
      for (std::size_t k = 0; k < written; ++k) EXPECT_NE(due[k].release, tcp_ack_release::send_held);
    }
  }
}

TEST(shim_tcp_ack, held_under_a_policy_that_is_replaced_is_released) {
  shim receiver(config_of());
  receiver.set_flow_policy(data_flow(), dca);
  arrive(receiver, data_flow(), 0, 3, 5, 20);
  receiver.set_flow_policy(data_flow(), {});
  std::array<tcp_ack_due, 4> due;
  ASSERT_EQ(receiver.expire(30'000, due), 1U);
  EXPECT_EQ(due[0].release, tcp_ack_release::send_held);
  EXPECT_EQ(arrive(receiver, data_flow(), 3, 10, 5, 20), 10U) << "no more thinning";
}

TEST(shim_pacing, spreads_data_over_the_period_of_the_path) {
  shim sender(config_of({.cwl = {.kind = policy::cwl_kind::none}, .pacing = {.kind = policy::pacing_kind::path}}));
  EXPECT_EQ(sender.release_time(0, data(data_flow(), 0)), 0U);
  EXPECT_EQ(sender.release_time(0, data(data_flow(), 1)), 0U) << "no path is known yet";
  sender.on_originate(0, data(data_flow(), 0), hop, 1);
  wire::path_header header{.hops = 8, .total_delay_us = 8 * 1840, .max_delay_us = 1840};
  header.echo = wire::path_echo{.total_delay_us = 8 * 7680, .max_delay_us = 7680, .hops = 8};
  sender.on_receive(1000, header, tcp_ack(data_flow(), 1));
  const time_us period_us = 4 * 7680 + 4 * 1840;
  for (std::uint32_t i = 0; i < 4; ++i) EXPECT_EQ(sender.release_time(2000, data(data_flow(), 2 + i)), 2000 + i * period_us);
  EXPECT_EQ(sender.counters().packets_delayed, 3U);
  EXPECT_EQ(sender.release_time(2000, tcp_ack(data_flow().reversed(), 1)), 2000U) << "a bare TCP ACK waits for no data";
  ip_packet_view fin = data(data_flow(), 6);
  fin.tcp.payload_bytes = 0;
  fin.tcp.fin = true;
  EXPECT_EQ(sender.release_time(2000, fin), 2000 + 4 * period_us) << "a FIN does not overtake the data before it";
  EXPECT_EQ(sender.release_time(2000, data(data_flow(9), 0)), 2000U) << "another flow";
}

TEST(shim_pacing, of_the_path_counts_the_packets_for_a_tcp_ack_that_the_policy_of_the_flow_allows) {
  const auto period_us = [](std::uint32_t limit_packets) {
    shim sender(config_of({.cwl = {.kind = policy::cwl_kind::fixed, .fixed_packets = limit_packets},
                           .tcp_ack = {.kind = policy::tcp_ack_kind::dca},
                           .pacing = {.kind = policy::pacing_kind::path}}));
    sender.on_originate(0, data(data_flow(), 0), hop, 1);
    wire::path_header header{.hops = 8, .total_delay_us = 8 * 1840, .max_delay_us = 1840};
    header.echo = wire::path_echo{.total_delay_us = 8 * 7680, .max_delay_us = 7680, .hops = 8};
    sender.on_receive(1000, header, tcp_ack(data_flow(), 1));
    sender.release_time(2000, data(data_flow(), 1));
    return sender.release_time(2000, data(data_flow(), 2)) - 2000;
  };
  EXPECT_EQ(period_us(8), 4U * 7680 + 4 * 1840 / 5) << "w = min(5, 8)";
  EXPECT_EQ(period_us(4), 4U * 7680 * 97 / 100) << "w = 4, all that is in flight: TCP ACKs meet no data";
}

// B-21: SRTT / min(cwnd, CWL), the round trip being the shim's own measurement.
TEST(shim_pacing, of_the_window_divides_the_measured_round_trip) {
  shim sender(config_of({.cwl = {.kind = policy::cwl_kind::fixed, .fixed_packets = 8}, .pacing = {.kind = policy::pacing_kind::window}}));
  sender.on_originate(0, data(data_flow(), 0), hop, 1);
  sender.on_receive(80'000, header_of(3, 0), tcp_ack(data_flow(), 1));
  ip_packet_view packet = data(data_flow(), 1);
  EXPECT_EQ(sender.release_time(100'000, packet), 100'000U);
  EXPECT_EQ(sender.release_time(100'000, packet), 110'000U) << "80 ms / 8";
  packet.tcp.congestion_window_packets = 4;
  sender.release_time(100'000, packet);
  EXPECT_EQ(sender.release_time(100'000, packet), 140'000U) << "80 ms / 4";
  packet.tcp.congestion_window_packets = 100;
  sender.release_time(100'000, packet);
  EXPECT_EQ(sender.release_time(100'000, packet), 170'000U) << "never above the limit";
}

TEST(shim_pacing, sends_what_waits_within_a_round_trip_when_a_timeout_closes_the_window) {
  shim sender(config_of({.pacing = {.kind = policy::pacing_kind::window}}));
  sender.on_originate(0, data(data_flow(), 0), hop, 1);
  sender.on_receive(80'000, header_of(3, 0), tcp_ack(data_flow(), 1));
  ip_packet_view packet = data(data_flow(), 1);
  packet.tcp.congestion_window_packets = 1;
  EXPECT_EQ(sender.release_time(100'000, packet, 8), 100'000U);
  EXPECT_EQ(sender.release_time(100'000, packet, 8), 110'000U) << "80 ms / 8, and not 80 ms / 1";
}

// 100,000 connections that all hold a TCP ACK: nothing is allocated once they are there, and the memory of a connection is
// bounded.
TEST(shim_soft_state, of_100000_connections_is_bounded) {
  shim_config config = config_of(dca);
  config.max_flows = 100'000;
  config.policy.pacing.kind = policy::pacing_kind::path;
  shim node(config);
  EXPECT_LE(sizeof(flow_state), 768U);
  std::uint64_t allocated = 0;
  constexpr std::uint32_t connections = 120'000;
  std::uint64_t held = 0;
  for (std::uint32_t segment = 0; segment < 3; ++segment) {
    if (segment == 1) allocated = allocation_count();
    for (std::uint32_t i = 0; i < connections; ++i) {
      const time_us now = segment * 120'000 + i;
      node.on_receive(now, header_of(5, 20), data(data_flow(i), segment));
      held += node.on_tcp_ack(now, tcp_ack(data_flow(i), segment + 1)) == tcp_ack_action::hold ? 1 : 0;
    }
  }
  EXPECT_EQ(node.flows(), 100'000U);
  std::array<tcp_ack_due, 64> due;
  std::uint64_t released = 0;
  for (std::size_t written = due.size(); written == due.size();) {
    written = node.expire(10'000'000, due);
    for (std::size_t k = 0; k < written; ++k) released += due[k].release == tcp_ack_release::send_held ? 1 : 0;
  }
  EXPECT_EQ(allocation_count(), allocated);
  EXPECT_EQ(held, node.counters().tcp_acks_held);
  EXPECT_EQ(node.flows(), 100'000U);
  EXPECT_LE(released, held);
}

// Random packets, headers and times at both ends: what is held is released within 500 ms of its data (or replaced), no
// release is told for a connection that holds nothing, releases of data do not go back.
TEST(shim_tcp_ack_invariants, hold_for_random_packets) {
  std::mt19937_64 random(test_seed());
  PERHOP_TELL_SEED();
  shim_config config = config_of(dca);
  config.max_flows = 30;
  config.flow_idle_us = 400'000;
  config.policy.cwl.kind = policy::cwl_kind::delay;
  config.policy.pacing.kind = policy::pacing_kind::adaptive;
  shim node(config);
  struct kept {
    time_us since;
  };
  std::unordered_map<std::uint32_t, kept> keeps;  // by connection: the TCP ACK that the caller keeps
  std::array<tcp_ack_due, 3> due;
  std::array<std::uint32_t, 54> arrived{};  // segments, of each connection
  time_us now = 0;
  std::uint64_t released = 0;
  std::uint64_t replaced = 0;
  wire::path_header_buffer bytes{};
  for (int step = 0; step < 200'000; ++step) {
    now += random() % 5 == 0 ? random() % 20'000 : random() % 500;
    const auto drain = [&] {
      while (node.next_deadline() && *node.next_deadline() <= now) {
        const std::size_t written = node.expire(now, due);
        for (std::size_t k = 0; k < written; ++k) {
          if (due[k].release != tcp_ack_release::send_held) continue;
          ASSERT_EQ(keeps.erase(due[k].flow.destination_port), 1U) << "step " << step;
          ++released;
        }
      }
    };
    drain();
    // A few connections at a time, mostly in order, so that much is held; now and then another one, so that some is forgotten.
    const auto i = static_cast<std::uint32_t>(random() % 8 != 0 ? step / 2000 % 50 + random() % 4 : random() % 54);
    const bool in_order = random() % 16 != 0;
    if (in_order) ++arrived[i];
    ip_packet_view packet = data(data_flow(i), in_order ? arrived[i] - 1 : static_cast<std::uint32_t>(random() % 1000));
    packet.tcp.fin = random() % 4000 == 0;
    packet.tcp.rst = random() % 100 == 0;
    packet.ttl = static_cast<std::uint8_t>(random());
    std::optional<wire::path_header> header;
    if (random() % 8 != 0) {
      for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random());
      bytes[0] = static_cast<std::uint8_t>(0x10 | (bytes[0] & 7));
      header = node.parse(bytes);
      if (!header) header = header_of(static_cast<std::uint8_t>(random() % 20), static_cast<std::uint8_t>(random() % 12));
    }
    node.on_receive(now, header, packet);
    drain();
    ip_packet_view answer = tcp_ack(data_flow(i), in_order ? arrived[i] : static_cast<std::uint32_t>(random() % 1000));
    answer.tcp.sack_blocks = random() % 50 == 0;
    if (node.on_tcp_ack(now, answer) == tcp_ack_action::hold) {
      const auto [known, fresh] = keeps.try_emplace(answer.flow.destination_port, kept{now});
      replaced += fresh ? 0 : 1;
      known->second.since = std::min(known->second.since, now);
    } else {
      keeps.erase(answer.flow.destination_port);
      node.on_originate(now, answer, hop, 0);
    }
    drain();
    for (const auto& [port, kept_since] : keeps) ASSERT_LT(now - kept_since.since, 500'000U + 20'000U) << "port " << port;
    ip_packet_view sent = data(data_flow(i).reversed(), static_cast<std::uint32_t>(random() % 1000));
    ASSERT_GE(node.release_time(now, sent), now);
    node.on_originate(now, sent, hop, static_cast<std::uint32_t>(random()));
    drain();
    if (const auto packets = node.cwl_packets(sent.flow)) {
      ASSERT_GE(*packets, 1U);
      ASSERT_LE(*packets, policy::default_ceiling_packets);
    }
  }
  EXPECT_GT(released, 1000U);
  EXPECT_GT(replaced, 100U);
  EXPECT_GT(node.counters().flows_evicted, 100U);
}

}  // namespace
}  // namespace perhop::shim
