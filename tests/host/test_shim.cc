// SPDX-License-Identifier: GPL-2.0-or-later
//
// It is one file: the tests of one class share its packets.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <random>

#include "host/core/shim/shim.hpp"
#include "tests/host/allocation_count.hpp"
#include "tests/host/test_seed.hpp"

namespace perhop::shim {
namespace {

constexpr std::uint8_t rate_2mbps = 1;
constexpr next_hop data_hop{.peer = 0, .rate_index = rate_2mbps, .mpdu_bytes = 1554};
constexpr next_hop tcp_ack_hop{.peer = 0, .rate_index = rate_2mbps, .mpdu_bytes = 94};

const flow_key there{.source = ip_address::from_ipv4(0x0a000001),
                     .destination = ip_address::from_ipv4(0x0a000004),
                     .source_port = 40000,
                     .destination_port = 5001};
const flow_key back = there.reversed();

shim_config config_of(policy::cwl_config cwl = {}) { return {.profile = find_profile("dsss_long"), .policy = {.cwl = cwl}}; }

ip_packet_view syn(const flow_key& flow, std::uint16_t mss_bytes, bool timestamps = false) {
  return {.flow = flow,
          .ip_bytes = 44,
          .ttl = 64,
          .tcp = {.syn = true, .window_bytes = 65535, .mss_option_bytes = mss_bytes, .timestamps = timestamps}};
}

ip_packet_view syn_tcp_ack(const flow_key& flow, std::uint16_t mss_bytes, bool timestamps = false) {
  ip_packet_view packet = syn(flow, mss_bytes, timestamps);
  packet.tcp.has_tcp_ack = true;
  packet.tcp.tcp_ack = 1;  // the SYN's sequence number is 0
  return packet;
}

ip_packet_view data(const flow_key& flow, std::uint32_t sequence = 1, std::uint32_t payload_bytes = 1460) {
  return {.flow = flow,
          .ip_bytes = 40 + payload_bytes,
          .ttl = 64,
          .tcp = {.has_tcp_ack = true, .sequence = sequence, .window_bytes = 65535, .payload_bytes = payload_bytes}};
}

ip_packet_view tcp_ack(const flow_key& flow, std::uint32_t window_bytes = 65535, std::uint32_t tcp_ack = 0) {
  return {.flow = flow, .ip_bytes = 40, .ttl = 64, .tcp = {.has_tcp_ack = true, .tcp_ack = tcp_ack, .window_bytes = window_bytes}};
}

/// The header of an ACK that came over `hops` hops of `return_hop_us` and tells of `hops` hops of `forward_hop_us`.
wire::path_header echoing(std::uint8_t hops, std::uint32_t forward_hop_us, std::uint32_t return_hop_us) {
  wire::path_header header;
  header.hops = hops;
  header.total_delay_us = hops * return_hop_us;
  header.max_delay_us = return_hop_us;
  header.echo = wire::path_echo{.total_delay_us = hops * forward_hop_us, .max_delay_us = forward_hop_us, .hops = hops};
  return header;
}

TEST(shim_stamps, its_own_hop_on_a_packet_it_sends) {
  shim node(config_of());
  const wire::path_header header = node.on_originate(0, data(there), data_hop, 3);
  EXPECT_EQ(header.hops, 1);
  EXPECT_EQ(header.total_delay_us, wire::quantise_delay_us(7758));
  EXPECT_EQ(header.max_delay_us, header.total_delay_us);
  EXPECT_EQ(header.packets_in_flight, 3);
  EXPECT_FALSE(header.echo) << "nothing has come back yet";
  EXPECT_FALSE(header.wired_hop_seen);
  EXPECT_FALSE(header.silent_router_seen);
  EXPECT_EQ(node.on_originate(1, data(there), data_hop, 1000).packets_in_flight, 255);
}

TEST(shim_stamps, the_delay_of_this_packets_size_as_the_mac_last_told_it) {
  shim node(config_of());
  node.on_completion(0, {.peer = 0, .avg_contention_us16 = 2000 * 16, .avg_overhead_us16 = 990 * 16, .avg_data_attempts_256 = 256});
  EXPECT_EQ(node.on_originate(1, data(there), data_hop, 1).total_delay_us, wire::quantise_delay_us(2990 + 6408));
  EXPECT_EQ(node.on_originate(1, tcp_ack(there), tcp_ack_hop, 1).total_delay_us, wire::quantise_delay_us(2990 + 568));
  node.on_completion(2, {.peer = 0, .avg_contention_us16 = 4000 * 16, .avg_overhead_us16 = 990 * 16, .avg_data_attempts_256 = 256});
  EXPECT_EQ(node.on_originate(3, data(there), data_hop, 1).total_delay_us, wire::quantise_delay_us(4990 + 6408));
  node.on_neighbour_replaced(0);
  EXPECT_EQ(node.on_originate(4, data(there), data_hop, 1).total_delay_us, wire::quantise_delay_us(7758));
}

TEST(shim_stamps, sum_maximum_and_count_where_it_forwards) {
  shim router(config_of());
  router.on_completion(0, {.peer = 1, .avg_contention_us16 = 1000 * 16, .avg_data_attempts_256 = 256});
  wire::path_header header;
  header.hops = 2;
  header.total_delay_us = 16000;
  header.max_delay_us = 9600;
  header.current_rate_bps = 123;
  header.echo = wire::path_echo{.hops = 4};
  const wire::path_header before = header;
  router.on_forward(0, header, data(there), {.peer = 1, .rate_index = rate_2mbps, .mpdu_bytes = 1554});
  const std::uint32_t hop_us = wire::quantise_delay_us(1000 + 6408);
  EXPECT_EQ(header.hops, 3);
  EXPECT_EQ(header.total_delay_us, 16000 + hop_us);
  EXPECT_EQ(header.max_delay_us, 9600U) << "this hop is not the slowest";
  EXPECT_EQ(header.echo, before.echo) << "the echo only passes through";
  EXPECT_EQ(header.current_rate_bps, before.current_rate_bps);

  router.on_completion(1, {.peer = 1, .avg_contention_us16 = 9000 * 16, .avg_data_attempts_256 = 256});
  router.on_forward(1, header, data(there), {.peer = 1, .rate_index = rate_2mbps, .mpdu_bytes = 1554});
  EXPECT_EQ(header.max_delay_us, wire::quantise_delay_us(9000 + 6408)) << "this one is";
}

TEST(shim_stamps, saturate_and_stay_decodable) {
  shim router(config_of());
  router.on_completion(0, {.peer = 0, .avg_contention_us16 = UINT32_MAX, .avg_data_attempts_256 = 256});
  wire::path_header header;
  for (int hop = 0; hop < 300; ++hop) {
    router.on_forward(0, header, data(there), data_hop);
    const auto arrived = wire::decode(wire::encode(header));
    ASSERT_TRUE(arrived) << hop;
    ASSERT_EQ(*arrived, header) << hop;
  }
  EXPECT_EQ(header.total_delay_us, wire::max_delay_us);
  EXPECT_EQ(header.max_delay_us, wire::max_delay_us);
  EXPECT_EQ(header.hops, 255);
}

TEST(shim_stamps, only_a_flag_on_a_wired_hop) {
  shim router(config_of());
  wire::path_header header;
  header.hops = 1;
  header.total_delay_us = header.max_delay_us = 8000;
  router.on_forward(0, header, data(there), {.mpdu_bytes = 1554, .medium = hop_medium::wired});
  EXPECT_TRUE(header.wired_hop_seen);
  EXPECT_EQ(header.hops, 1);
  EXPECT_EQ(header.total_delay_us, 8000U);
  EXPECT_EQ(header.max_delay_us, 8000U);
}

TEST(shim_echoes, what_arrived_last_with_payload) {
  shim node(config_of());
  wire::path_header small;
  small.hops = 3;
  small.total_delay_us = 4800;
  small.max_delay_us = 1600;
  wire::path_header large = small;
  large.total_delay_us = 24000;
  large.max_delay_us = 8000;
  large.explicit_rate_bps = 500'000;

  node.on_receive(0, small, syn(there, 1460));
  EXPECT_EQ(node.on_originate(1, syn_tcp_ack(back, 1460), tcp_ack_hop, 0).echo->total_delay_us, 4800U) << "before data, what there is";
  node.on_receive(2, large, data(there));
  node.on_receive(3, small, tcp_ack(there));
  const auto echo = node.on_originate(4, tcp_ack(back), tcp_ack_hop, 0).echo;
  ASSERT_TRUE(echo);
  EXPECT_EQ(echo->total_delay_us, 24000U) << "a bare TCP ACK does not hide the data's delays";
  EXPECT_EQ(echo->max_delay_us, 8000U);
  EXPECT_EQ(echo->hops, 3);
  EXPECT_EQ(echo->rate_bps, 500'000U);
  large.total_delay_us = 20000;
  node.on_receive(5, large, data(there));
  EXPECT_EQ(node.on_originate(6, tcp_ack(back), tcp_ack_hop, 0).echo->total_delay_us, 20000U);
}

TEST(shim_echoes, to_the_flow_that_it_belongs_to_and_no_other) {
  shim node(config_of());
  node.on_receive(0, echoing(3, 8000, 1600), data(there));
  flow_key other = back;
  other.destination_port = 40001;
  EXPECT_TRUE(node.on_originate(1, tcp_ack(back), tcp_ack_hop, 0).echo);
  EXPECT_FALSE(node.on_originate(1, tcp_ack(other), tcp_ack_hop, 0).echo);
  flow_key udp = back;
  udp.protocol = ip_protocol_udp;
  EXPECT_FALSE(node.on_originate(1, {.flow = udp, .ip_bytes = 100}, tcp_ack_hop, 0).echo);
}

TEST(shim_limits, the_window_to_corollary_2_times_the_segment) {
  shim node(config_of());
  node.on_originate(0, syn(there, 1460), tcp_ack_hop, 0);
  node.on_receive(1, echoing(15, 1840, 1840), syn_tcp_ack(back, 1460));
  node.on_originate(2, data(there), data_hop, 1);
  const receive_verdict verdict = node.on_receive(3, echoing(15, 7680, 1840), tcp_ack(back));
  EXPECT_EQ(node.cwl_packets(there), 5U);  // 15 * (7680 + 1840) / (4 * 7680) = 4.65
  EXPECT_EQ(verdict.window_bytes, 5U * 1460);
  const policy::path_measurement path = node.last_path(there).value();
  EXPECT_EQ(path.forward_total_us, 15U * 7680);
  EXPECT_EQ(path.forward_max_us, 7680U);
  EXPECT_EQ(path.return_total_us, 15U * 1840);
  EXPECT_EQ(path.forward_hops, 15U);
  EXPECT_EQ(path.return_hops, 15U);
  EXPECT_EQ(path.wired_round_trip_us, 0U);
}

TEST(shim_limits, the_window_never_upwards) {
  shim node(config_of());
  node.on_originate(0, syn(there, 1460), tcp_ack_hop, 0);
  const auto window = [&node](std::uint32_t advertised_bytes) {
    return node.on_receive(1, echoing(15, 7680, 1840), tcp_ack(back, advertised_bytes)).window_bytes;
  };
  node.on_receive(1, echoing(15, 7680, 1840), syn_tcp_ack(back, 1460));
  EXPECT_EQ(window(7301), 7300U);
  EXPECT_FALSE(window(7300));
  EXPECT_FALSE(window(100));
  EXPECT_FALSE(window(0)) << "a closed window stays closed";
}

TEST(shim_limits, nothing_where_the_policy_is_none) {
  shim node(config_of({.kind = policy::cwl_kind::none}));
  EXPECT_FALSE(node.strip_window_scaling(syn(there, 1460)));
  node.on_originate(0, syn(there, 1460), tcp_ack_hop, 0);
  const receive_verdict verdict = node.on_receive(1, echoing(3, 7680, 1840), syn_tcp_ack(back, 1460));
  EXPECT_FALSE(verdict.window_bytes);
  EXPECT_FALSE(verdict.strip_window_scaling);
  EXPECT_FALSE(node.cwl_packets(there));
  EXPECT_TRUE(node.last_path(there)) << "the path is measured all the same";
}

TEST(shim_limits, each_flow_by_its_own_policy) {
  shim node(config_of({.kind = policy::cwl_kind::none}));
  flow_key other = there;
  other.source_port = 40001;
  node.set_flow_policy(there, {.cwl = {.kind = policy::cwl_kind::fixed, .fixed_packets = 8}});
  node.set_flow_policy(other, {.cwl = {.kind = policy::cwl_kind::hop}});
  EXPECT_TRUE(node.strip_window_scaling(syn(there, 1460)));
  for (const flow_key& flow : {there, other}) {
    node.on_originate(0, syn(flow, 1460), tcp_ack_hop, 0);
    node.on_receive(1, echoing(15, 7680, 1840), syn_tcp_ack(flow.reversed(), 1460));
  }
  EXPECT_EQ(node.cwl_packets(there), 8U);
  EXPECT_EQ(node.cwl_packets(other), 5U);
  node.set_flow_policy(other, {.cwl = {.kind = policy::cwl_kind::delay, .rounding = policy::cwl_rounding::floor}});
  EXPECT_EQ(node.cwl_packets(other), 4U) << "takes effect at once on a flow that is under way";
  EXPECT_EQ(node.cwl_packets(there), 8U);
}

TEST(shim_limits, a_new_policy_for_all_spares_those_that_have_their_own) {
  shim node(config_of({.kind = policy::cwl_kind::fixed, .fixed_packets = 8}));
  flow_key other = there, later = there;
  other.source_port = 40001;
  later.source_port = 40002;
  node.set_flow_policy(other, {.cwl = {.kind = policy::cwl_kind::fixed, .fixed_packets = 6}});
  node.on_originate(0, syn(there, 1460), tcp_ack_hop, 0);
  node.on_originate(0, syn(other, 1460), tcp_ack_hop, 0);
  node.set_policy({.cwl = {.kind = policy::cwl_kind::fixed, .fixed_packets = 2}});
  node.on_originate(0, syn(later, 1460), tcp_ack_hop, 0);
  EXPECT_EQ(node.cwl_packets(there), 2U);
  EXPECT_EQ(node.cwl_packets(other), 6U);
  EXPECT_EQ(node.cwl_packets(later), 2U);
}

TEST(shim_limits, windows_stay_where_the_caller_enforces_the_limit) {
  shim_config config = config_of({.kind = policy::cwl_kind::fixed, .fixed_packets = 2});
  config.rewrite_windows = false;
  shim node(config);
  EXPECT_FALSE(node.strip_window_scaling(syn(there, 1460)));
  node.on_originate(0, syn(there, 1460), tcp_ack_hop, 0);
  const receive_verdict verdict = node.on_receive(1, echoing(3, 7680, 1840), syn_tcp_ack(back, 1460));
  EXPECT_FALSE(verdict.window_bytes);
  EXPECT_FALSE(verdict.strip_window_scaling);
  EXPECT_EQ(node.cwl_packets(there), 2U);
}

TEST(shim_limits, a_fixed_window_from_the_first_segment_on) {
  shim node(config_of({.kind = policy::cwl_kind::fixed, .fixed_packets = 2}));
  node.on_originate(0, syn(there, 1460), tcp_ack_hop, 0);
  const receive_verdict verdict = node.on_receive(1, echoing(3, 7680, 1840), syn_tcp_ack(back, 1460));
  EXPECT_EQ(verdict.window_bytes, 2920U);
  EXPECT_TRUE(verdict.strip_window_scaling);
}

TEST(shim_segment, is_the_smaller_mss_of_the_handshake_less_timestamps) {
  const auto window = [](std::uint16_t own_mss, std::uint16_t other_mss, bool timestamps, std::uint16_t told = 0) {
    shim node(config_of({.kind = policy::cwl_kind::fixed, .fixed_packets = 2}));
    node.on_originate(0, syn(there, own_mss, true), tcp_ack_hop, 0);
    node.on_receive(1, std::nullopt, syn_tcp_ack(back, other_mss, timestamps));
    ip_packet_view first = data(there, 1, 600);
    first.tcp.segment_bytes = told;
    node.on_originate(2, first, data_hop, 0);
    return node.on_receive(3, std::nullopt, tcp_ack(back)).window_bytes.value();
  };
  EXPECT_EQ(window(1460, 1460, false), 2U * 1460);
  EXPECT_EQ(window(1460, 1460, true), 2U * 1448);
  EXPECT_EQ(window(1460, 1000, false), 2U * 1000);
  EXPECT_EQ(window(1000, 1460, false), 2U * 1000);
  EXPECT_EQ(window(0, 0, false), 2U * 600) << "no option seen: the largest payload sent";
  EXPECT_EQ(window(1460, 1460, false, 512), 2U * 512) << "the caller knows better";
  EXPECT_EQ(window(5, 5, true), 2U * (536 - 12)) << "no host asks for less than every host takes (RFC 9293, 3.7.1)";
}

TEST(shim_segment, is_rfc_9293s_default_when_nothing_is_known) {
  shim node(config_of({.kind = policy::cwl_kind::fixed, .fixed_packets = 2}));
  EXPECT_EQ(node.on_receive(0, std::nullopt, tcp_ack(back)).window_bytes, 2U * 536);
}

TEST(shim_segment, short_packets_of_a_connection_without_a_handshake_do_not_keep_it_short) {
  shim node(config_of({.kind = policy::cwl_kind::fixed, .fixed_packets = 1}));
  node.on_originate(0, data(there, 1, 2), data_hop, 1);
  EXPECT_EQ(node.on_receive(1, std::nullopt, tcp_ack(back)).window_bytes, 536U);
}

TEST(shim_segment, the_syns_answer_leaves_room_for_two_so_that_linux_does_not_halve_its_segments) {
  shim node(config_of({.kind = policy::cwl_kind::fixed, .fixed_packets = 1}));
  node.on_originate(0, syn(there, 1460), data_hop, 0);
  EXPECT_EQ(node.on_receive(1, std::nullopt, syn_tcp_ack(back, 1460)).window_bytes, 2U * 1460);
  EXPECT_EQ(node.on_receive(2, std::nullopt, tcp_ack(back)).window_bytes, 1460U);
}

TEST(shim_connection, starts_anew_with_a_first_syn) {
  shim node(config_of());
  node.on_originate(0, syn(there, 600), tcp_ack_hop, 0);
  node.on_receive(1, echoing(15, 7680, 1840), syn_tcp_ack(back, 600));
  ASSERT_TRUE(node.cwl_packets(there));
  ip_packet_view again = syn(there, 1460);
  again.tcp.sequence = 7'000'000;
  node.on_originate(2, again, tcp_ack_hop, 0);
  EXPECT_FALSE(node.cwl_packets(there));
  ip_packet_view answer = syn_tcp_ack(back, 1460);
  answer.tcp.tcp_ack = 7'000'001;
  node.on_receive(3, echoing(15, 7680, 1840), answer);
  EXPECT_EQ(node.on_receive(4, echoing(15, 7680, 1840), tcp_ack(back)).window_bytes, 5U * 1460) << "the old connection's MSS is forgotten";
  node.on_receive(5, echoing(15, 7680, 1840), syn(back, 1460));
  ip_packet_view reply = syn_tcp_ack(there, 1460);
  reply.tcp.sequence = 9'000'000;
  node.on_originate(6, reply, tcp_ack_hop, 0);
  EXPECT_FALSE(node.cwl_packets(there)) << "the other end opens too, and this one agrees";
}

TEST(shim_plain_ip, is_delivered_and_falls_back_to_the_hop_table_by_ttl) {
  shim node(config_of());
  node.on_originate(0, syn(there, 1460), tcp_ack_hop, 0);
  ip_packet_view packet = syn_tcp_ack(back, 1460);
  packet.ttl = 64 - 9;  // ten hops from a station that starts at 64
  const receive_verdict verdict = node.on_receive(1, std::nullopt, packet);
  EXPECT_EQ(node.cwl_packets(there), 3U);  // N = 20
  EXPECT_EQ(verdict.window_bytes, 3U * 1460);
  EXPECT_EQ(node.counters().silent_router_seen, 1U);
  const auto echo = node.on_originate(2, data(there), data_hop, 1).echo;
  ASSERT_TRUE(echo);
  EXPECT_EQ(echo->hops, 10) << "the other end learns the hops, and that there are no delays";
  EXPECT_EQ(echo->max_delay_us, 0U);
}

TEST(shim_plain_ip, leaves_the_window_alone_when_the_hops_are_unknown) {
  shim node(config_of());
  node.on_originate(0, syn(there, 1460), tcp_ack_hop, 0);
  ip_packet_view packet = syn_tcp_ack(back, 1460);
  packet.ttl = 0;
  EXPECT_FALSE(node.on_receive(1, std::nullopt, packet).window_bytes);
  EXPECT_FALSE(node.cwl_packets(there));
}

TEST(shim_plain_ip, counts_hops_from_the_initial_ttl_in_use) {
  const auto hops = [](std::uint8_t ttl) {
    shim node(config_of({.kind = policy::cwl_kind::hop}));
    node.on_originate(0, syn(there, 1460), tcp_ack_hop, 0);
    ip_packet_view packet = syn_tcp_ack(back, 1460);
    packet.ttl = ttl;
    node.on_receive(1, std::nullopt, packet);
    return node.last_path(there)->return_hops;
  };
  EXPECT_EQ(hops(64), 1U);
  EXPECT_EQ(hops(1), 64U);
  EXPECT_EQ(hops(128), 1U);
  EXPECT_EQ(hops(65), 64U);
  EXPECT_EQ(hops(255), 1U);
  EXPECT_EQ(hops(129), 127U);
}

// B-16: round-trip hops from what each direction counted; an asymmetric route gives an odd N.
TEST(shim_hops, of_an_asymmetric_route_add_up_to_an_odd_number) {
  shim node(config_of({.kind = policy::cwl_kind::hop}));
  node.on_originate(0, data(there), data_hop, 1);
  wire::path_header header = echoing(4, 7680, 1840);
  header.hops = 5;
  header.total_delay_us = 5 * 1840;
  node.on_receive(1, header, tcp_ack(back));
  EXPECT_EQ(node.last_path(there)->forward_hops + node.last_path(there)->return_hops, 9U);
  EXPECT_EQ(node.cwl_packets(there), 2U);
}

TEST(shim_silent_router, on_the_way_leaves_only_the_hops) {
  shim node(config_of());
  node.on_originate(0, data(there), data_hop, 1);
  wire::path_header header = echoing(15, 7680, 1840);
  header.silent_router_seen = true;
  header.hops = 2;
  header.total_delay_us = 2 * 1840;
  ip_packet_view packet = tcp_ack(back);
  packet.ttl = 64 - 14;
  node.on_receive(1, header, packet);
  EXPECT_EQ(node.last_path(there)->return_hops, 15U) << "the TTL counts the silent hops too";
  EXPECT_EQ(node.last_path(there)->return_total_us, 0U);
  EXPECT_EQ(node.cwl_packets(there), 5U) << "Table 1 at N = 30";
  EXPECT_EQ(node.counters().silent_router_seen, 1U);

  packet.ttl = 0;
  node.on_receive(2, header, packet);
  EXPECT_EQ(node.last_path(there)->return_hops, 2U) << "without a TTL, what the header says";
}

TEST(shim_silent_router, is_marked_by_the_next_router_with_a_shim) {
  shim router(config_of());
  const wire::path_header header = router.on_forward_plain(0, data(there), data_hop);
  EXPECT_TRUE(header.silent_router_seen);
  EXPECT_EQ(header.hops, 1);
  EXPECT_EQ(header.total_delay_us, wire::quantise_delay_us(7758));
  EXPECT_TRUE(wire::decode(wire::encode(header)));
  EXPECT_EQ(router.counters().forwarded, 1U);
}

TEST(shim_unknown_flow, is_counted_and_sets_no_limit) {
  shim node(config_of());
  const receive_verdict verdict = node.on_receive(0, echoing(15, 7680, 1840), tcp_ack(back));
  EXPECT_FALSE(verdict.window_bytes);
  EXPECT_FALSE(node.cwl_packets(there));
  EXPECT_EQ(node.counters().unknown_flow, 1U);
}

TEST(shim_malformed, headers_are_counted_by_reason_and_dropped) {
  shim node(config_of());
  wire::path_header_buffer bytes = wire::encode({.hops = 1});
  EXPECT_TRUE(node.parse(bytes));
  EXPECT_FALSE(node.parse(std::span(bytes).first(17)));
  EXPECT_FALSE(node.parse({}));
  bytes[0] = 0x20;
  EXPECT_FALSE(node.parse(bytes));
  EXPECT_EQ(node.counters().malformed_by_reason[static_cast<std::size_t>(wire::decode_error::truncated)], 2U);
  EXPECT_EQ(node.counters().malformed_by_reason[static_cast<std::size_t>(wire::decode_error::foreign_version)], 1U);
  EXPECT_EQ(node.counters().malformed(), 3U);
}

TEST(shim_malformed, completion_for_an_unknown_slot_is_counted) {
  shim node(config_of());
  node.on_completion(0, {.peer = 200});
  EXPECT_EQ(node.counters().unknown_peer, 1U);
}

// the wired part is the smallest round trip less the smallest wireless delays.
TEST(shim_wired_path, adds_the_wired_round_trip_in_full) {
  shim node(config_of());
  node.on_originate(0, syn(there, 1460), tcp_ack_hop, 0);
  wire::path_header header = echoing(2, 8000, 2000);
  header.wired_hop_seen = true;
  std::uint32_t sequence = 1;
  time_us now = 1'000'000;
  for (const std::uint32_t round_trip_us : {180'000U, 120'000U, 150'000U}) {
    node.on_originate(now, data(there, sequence), data_hop, 1);
    sequence += 1460;
    now += round_trip_us;
    node.on_receive(now, header, tcp_ack(back, 65535, sequence));
  }
  EXPECT_EQ(node.last_path(there)->wired_round_trip_us, 120'000U - 20'000U);
  EXPECT_EQ(node.cwl_packets(there), 13U);  // 20/32 + 100/8
  header.wired_hop_seen = false;
  node.on_receive(now, header, tcp_ack(back, 65535, sequence));
  EXPECT_EQ(node.last_path(there)->wired_round_trip_us, 0U) << "a wireless path is not measured by its round trip";
}

TEST(shim_wired_path, a_packet_sent_again_is_not_timed) {
  shim node(config_of());
  wire::path_header header = echoing(2, 8000, 2000);
  header.wired_hop_seen = true;
  node.on_originate(0, data(there, 1), data_hop, 1);
  node.on_originate(900'000, data(there, 1), data_hop, 1);
  node.on_receive(1'000'000, header, tcp_ack(back, 65535, 1461));
  EXPECT_EQ(node.last_path(there)->wired_round_trip_us, 0U);
  // The next one is, across the wrap of the sequence number.
  node.on_originate(1'000'000, data(there, 1461), data_hop, 1);
  node.on_receive(1'050'000, header, tcp_ack(back, 65535, 1461));
  EXPECT_EQ(node.last_path(there)->wired_round_trip_us, 0U) << "it has not been answered yet";
  node.on_receive(1'100'000, header, tcp_ack(back, 65535, 2921));
  EXPECT_EQ(node.last_path(there)->wired_round_trip_us, 80'000U);
}

TEST(shim_wired_path, sequence_numbers_may_wrap) {
  shim node(config_of());
  wire::path_header header = echoing(2, 8000, 2000);
  header.wired_hop_seen = true;
  const std::uint32_t before_wrap = UINT32_MAX - 1999;
  const std::uint32_t across_wrap = before_wrap + 1460;
  const std::uint32_t after_wrap = across_wrap + 1460;
  node.on_originate(0, data(there, before_wrap), data_hop, 1);
  node.on_receive(100'000, header, tcp_ack(back, 65535, across_wrap));
  EXPECT_EQ(node.last_path(there)->wired_round_trip_us, 80'000U);
  node.on_originate(200'000, data(there, across_wrap), data_hop, 1);
  node.on_receive(220'000, header, tcp_ack(back, 65535, across_wrap));
  EXPECT_EQ(node.last_path(there)->wired_round_trip_us, 80'000U) << "not answered yet";
  node.on_receive(260'000, header, tcp_ack(back, 65535, after_wrap));
  EXPECT_EQ(node.last_path(there)->wired_round_trip_us, 40'000U);
}

TEST(shim_wired_path, old_round_trips_are_forgotten_within_20_seconds) {
  shim node(config_of());
  wire::path_header header = echoing(2, 8000, 2000);
  header.wired_hop_seen = true;
  std::uint32_t sequence = 1;
  const auto round_trip = [&](time_us now, std::uint32_t round_trip_us) {
    node.on_originate(now, data(there, sequence), data_hop, 1);
    sequence += 1460;
    node.on_receive(now + round_trip_us, header, tcp_ack(back, 65535, sequence));
    return node.last_path(there)->wired_round_trip_us;
  };
  EXPECT_EQ(round_trip(1'000'000, 60'000), 40'000U);
  EXPECT_EQ(round_trip(11'000'000, 100'000), 40'000U) << "the window before still counts";
  EXPECT_EQ(round_trip(22'000'000, 100'000), 80'000U);
}

TEST(shim_wired_path, a_round_trip_is_timed_where_the_low_bits_of_time_come_round) {
  shim node(config_of());
  constexpr time_us before = (time_us{1} << 33) - 10'000;
  wire::path_header header = echoing(2, 8000, 2000);
  header.wired_hop_seen = true;
  node.on_originate(before, data(there, 1), data_hop, 1);
  node.on_receive(before + 60'000, header, tcp_ack(back, 65535, 1461));
  EXPECT_EQ(node.last_path(there)->wired_round_trip_us, 40'000U);
}

TEST(shim_wired_path, contention_does_not_hide_a_wire) {
  shim node(config_of());
  std::uint32_t sequence = 1;
  const auto round_trip = [&](time_us now, std::uint32_t round_trip_us, std::uint32_t forward_us) {
    wire::path_header header = echoing(2, forward_us, 2000);
    header.wired_hop_seen = true;
    node.on_originate(now, data(there, sequence), data_hop, 1);
    sequence += 1460;
    node.on_receive(now + round_trip_us, header, tcp_ack(back, 65535, sequence));
    return node.last_path(there)->wired_round_trip_us;
  };
  EXPECT_EQ(round_trip(1'000'000, 60'000, 8000), 40'000U);
  EXPECT_EQ(round_trip(2'000'000, 140'000, 30'000), 40'000U) << "64 ms wireless by then, more than the least round trip";
  EXPECT_EQ(round_trip(12'000'000, 140'000, 30'000), 40'000U) << "the window before still counts";
  EXPECT_EQ(round_trip(23'000'000, 140'000, 30'000), 140'000U - 64'000U) << "forgotten together with the least round trip";
}

TEST(shim_wired_path, delays_of_packets_that_are_not_timed_are_not_held_against_it) {
  shim node(config_of());
  node.on_originate(0, syn(there, 1460), tcp_ack_hop, 0);
  wire::path_header of_small_packets = echoing(2, 1000, 1000);
  of_small_packets.wired_hop_seen = true;
  node.on_receive(30'000, of_small_packets, tcp_ack(back, 65535, 1));
  EXPECT_EQ(node.last_path(there)->wired_round_trip_us, 0U);
  wire::path_header of_data = echoing(2, 8000, 2000);
  of_data.wired_hop_seen = true;
  node.on_originate(100'000, data(there, 1), data_hop, 1);
  node.on_receive(160'000, of_data, tcp_ack(back, 65535, 1461));
  EXPECT_EQ(node.last_path(there)->wired_round_trip_us, 40'000U);
}

TEST(shim_soft_state, is_bounded_and_forgets_what_is_idle) {
  shim_config config = config_of();
  config.max_flows = 100;
  config.flow_idle_us = 5'000'000;
  shim node(config);
  flow_key flow = there;
  for (std::uint32_t i = 0; i < 1000; ++i) {
    flow.source_port = static_cast<std::uint16_t>(i);
    node.on_originate(i, data(flow), data_hop, 1);
    ASSERT_LE(node.flows(), 100U);
  }
  EXPECT_EQ(node.counters().flows_evicted, 900U);
  EXPECT_EQ(node.counters().flows_expired, 0U);
  node.on_originate(5'001'000, data(there), data_hop, 1);
  EXPECT_EQ(node.flows(), 1U);
  EXPECT_EQ(node.counters().flows_expired, 100U);
}

TEST(shim_soft_state, takes_no_memory_for_a_packet_once_it_is_full) {
  shim_config config = config_of();
  config.max_flows = 64;
  shim node(config);
  std::mt19937 random(static_cast<std::uint32_t>(test_seed()));
  PERHOP_TELL_SEED();
  wire::path_header passing = echoing(3, 7680, 1840);
  std::uint64_t before = 0;
  for (std::uint32_t i = 0; i < 20'000; ++i) {
    if (i == 10'000) before = allocation_count();
    flow_key flow = there;
    flow.source_port = static_cast<std::uint16_t>(random());
    node.on_originate(i, data(flow), data_hop, 1);
    node.on_receive(i, echoing(3, 7680, 1840), tcp_ack(flow.reversed()));
    node.on_forward(i, passing, data(there), data_hop);
    node.parse(wire::encode(passing));
    node.on_completion(i, {.peer = 0, .avg_contention_us16 = i, .avg_data_attempts_256 = 256});
  }
  EXPECT_EQ(allocation_count(), before);
}

// Whatever arrives: the limit stays within 1 and the ceiling, the window is never raised, the state stays bounded.
TEST(shim_invariants, hold_for_random_headers_and_packets) {
  std::mt19937_64 random(test_seed());
  PERHOP_TELL_SEED();
  shim_config config = config_of();
  config.max_flows = 20;
  config.flow_idle_us = 10'000;
  shim node(config);
  wire::path_header_buffer bytes{};
  time_us now = 0;
  std::uint64_t rewritten = 0;
  for (int i = 0; i < 300'000; ++i) {
    now += random() % 200;
    flow_key flow = there;
    flow.source_port = static_cast<std::uint16_t>(random() % 40);
    ip_packet_view packet = data(flow, static_cast<std::uint32_t>(random()), static_cast<std::uint32_t>(random() % 3000));
    packet.ttl = static_cast<std::uint8_t>(random());
    packet.tcp.syn = random() % 16 == 0;
    packet.tcp.has_tcp_ack = random() % 8 != 0;
    packet.tcp.tcp_ack = static_cast<std::uint32_t>(random());
    packet.tcp.window_bytes = static_cast<std::uint32_t>(random() % 65536);
    packet.tcp.mss_option_bytes = static_cast<std::uint16_t>(random());
    packet.tcp.timestamps = random() % 2 == 0;
    if (random() % 2 == 0) {
      packet.flow = flow.reversed();
      std::optional<wire::path_header> header;
      if (random() % 8 != 0) {
        for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random());
        bytes[0] = static_cast<std::uint8_t>(0x10 | (bytes[0] & 7));
        header = node.parse(bytes);
        if (!header) header = echoing(static_cast<std::uint8_t>(1 + random() % 255), 16 * (random() % 200), 16);
      }
      const receive_verdict verdict = node.on_receive(now, header, packet);
      if (verdict.window_bytes) {
        ++rewritten;
        ASSERT_LT(*verdict.window_bytes, packet.tcp.window_bytes);
        ASSERT_GE(*verdict.window_bytes, 1U);
      }
    } else {
      const wire::path_header header = node.on_originate(now, packet,
                                                         {.peer = static_cast<std::uint8_t>(random()),
                                                          .rate_index = static_cast<std::uint8_t>(random() % 4),
                                                          .mpdu_bytes = static_cast<std::uint32_t>(random() % 4096)},
                                                         static_cast<std::uint32_t>(random()));
      ASSERT_TRUE(wire::decode(wire::encode(header)));
    }
    ASSERT_LE(node.flows(), 20U);
    if (const auto packets = node.cwl_packets(flow)) {
      ASSERT_GE(*packets, 1U);
      ASSERT_LE(*packets, policy::default_ceiling_packets);
    }
  }
  EXPECT_GT(rewritten, 1000U);
  EXPECT_GT(node.counters().malformed(), 1000U);
  EXPECT_GT(node.counters().flows_evicted + node.counters().flows_expired, 1000U);
}

}  // namespace
}  // namespace perhop::shim
