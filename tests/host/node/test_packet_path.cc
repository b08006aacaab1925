// SPDX-License-Identifier: GPL-2.0-or-later
//
// It is one file: the tests of one class share its driver and its kernel.
#include "host/node/packet_path.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace perhop::node {
namespace {

using bytes = std::vector<std::uint8_t>;

struct sent_packet {
  drivers::send_request request;
  bytes msdu;
};

class recording_driver : public drivers::driver {
public:
  int descriptor() const override { return -1; }
  void poll(drivers::driver_listener&) override {}
  bool can_send() const override { return credits > 0; }
  bool send(const drivers::send_request& request) override {
    if (refuses) return false;
    --credits;
    sent.push_back({request, bytes(request.msdu.begin(), request.msdu.end())});
    return true;
  }
  void restart(const std::string& why) override { restarts.push_back(why); }
  const drivers::driver_counters& counters() const override { return counters_; }

  int credits = 4;
  bool refuses = false;
  std::vector<sent_packet> sent;
  std::vector<std::string> restarts;

private:
  drivers::driver_counters counters_;
};

constexpr std::uint32_t first = 0x0a000001, second = 0x0a000002, third = 0x0a000003;

/// Node 2 of a chain of three.
class recording_kernel : public kernel {
public:
  route find_route(const shim::ip_address& destination, bool) override {
    const auto found = table.find(static_cast<std::uint32_t>(destination.low));
    return found == table.end() ? route{} : found->second;
  }
  void deliver(std::span<const std::uint8_t> packet) override { delivered.emplace_back(packet.begin(), packet.end()); }

  std::map<std::uint32_t, route> table = {{second, {.kind = route_kind::local}},
                                          {first, {route_kind::radio, shim::ip_address::from_ipv4(first)}},
                                          {third, {route_kind::radio, shim::ip_address::from_ipv4(third)}}};
  std::vector<bytes> delivered;
};

bytes udp(std::uint32_t source, std::uint32_t destination, std::uint8_t ttl = 64) {
  bytes packet(48, 0);
  packet[0] = 0x45;
  packet[3] = static_cast<std::uint8_t>(packet.size());
  packet[8] = ttl;
  packet[9] = shim::ip_protocol_udp;
  for (std::size_t i = 0; i < 4; ++i) {
    packet[12 + i] = static_cast<std::uint8_t>(source >> 8 * (3 - i));
    packet[16 + i] = static_cast<std::uint8_t>(destination >> 8 * (3 - i));
  }
  return packet;
}

bytes tcp(std::uint32_t source, std::uint32_t destination, std::uint8_t flags, std::size_t payload_bytes, std::uint32_t sequence = 1) {
  bytes packet = udp(source, destination);
  packet.resize(40 + payload_bytes);
  packet[2] = static_cast<std::uint8_t>(packet.size() >> 8);
  packet[3] = static_cast<std::uint8_t>(packet.size());
  packet[9] = shim::ip_protocol_tcp;
  packet[21] = source == second ? 1 : 2;  // ports
  packet[23] = source == second ? 2 : 1;
  packet[27] = static_cast<std::uint8_t>(sequence);
  packet[32] = 5 << 4;
  packet[33] = flags;
  packet[34] = packet[35] = 0xff;
  return packet;
}

bytes with_header(const wire::path_header& header, const bytes& packet) {
  bytes msdu(wire::llc_snap::size_bytes);
  wire::llc_snap{}.encode(std::span<std::uint8_t, wire::llc_snap::size_bytes>(msdu));
  const auto encoded = wire::encode(header);
  msdu.insert(msdu.end(), encoded.begin(), encoded.end());
  msdu.insert(msdu.end(), packet.begin(), packet.end());
  return msdu;
}

class packet_path_test : public testing::Test {
protected:
  packet_path_test() {
    path.known_neighbours().add(shim::ip_address::from_ipv4(first), 11);
    path.known_neighbours().add(shim::ip_address::from_ipv4(third), 13);
    path.on_up(mac);
  }

  void receive(const bytes& msdu, std::uint64_t from = 11) {
    path.at(++now);
    path.on_reception({.receiver_address = 12, .transmitter_address = from, .msdu = msdu});
  }

  wire::path_header header_of(const sent_packet& packet) const {
    return *wire::decode(std::span<const std::uint8_t>(packet.msdu).subspan(llc_snap_bytes));
  }

  time_us now = 1;
  drivers::mac_properties mac{.address = 12, .profile = find_profile("dsss_long"), .data_rate_index = 1, .send_credits = 4};
  recording_kernel kernel;
  recording_driver driver;
  packet_path path{{.queue_packets = 3, .policy = {.cwl = {.kind = policy::cwl_kind::none}}}, kernel, driver};
};

TEST_F(packet_path_test, a_packet_of_this_host_leaves_with_a_path_header_of_one_hop) {
  path.on_ip(++now, udp(second, third));
  ASSERT_EQ(driver.sent.size(), 1U);
  EXPECT_EQ(driver.sent[0].request.receiver_address, 13U);
  EXPECT_TRUE(driver.sent[0].request.use_rts);
  EXPECT_EQ(header_of(driver.sent[0]).hops, 1);
  EXPECT_GT(header_of(driver.sent[0]).total_delay_us, 0U);
  EXPECT_EQ(bytes(driver.sent[0].msdu.begin() + llc_snap_bytes + path_header_bytes, driver.sent[0].msdu.end()), udp(second, third));
}

TEST_F(packet_path_test, a_neighbour_may_have_a_data_rate_of_its_own) {
  path.on_ip(++now, udp(second, third));
  path.set_data_rate(13, 0);
  path.on_ip(++now, udp(second, third));
  path.on_ip(++now, udp(second, first));
  ASSERT_EQ(driver.sent.size(), 3U);
  EXPECT_EQ(driver.sent[0].request.rate_index, 1);
  EXPECT_EQ(driver.sent[1].request.rate_index, 0);
  EXPECT_EQ(driver.sent[2].request.rate_index, 1);
  const auto mpdu_bytes = static_cast<std::uint32_t>(mac_header_bytes + driver.sent[0].msdu.size() + fcs_bytes);
  const std::uint32_t longer_us = airtime_us(*mac.profile, 0, mpdu_bytes) - airtime_us(*mac.profile, 1, mpdu_bytes);
  EXPECT_NEAR(header_of(driver.sent[1]).total_delay_us - header_of(driver.sent[0]).total_delay_us, longer_us, 16);  // as quantised
  EXPECT_EQ(path.data_rate_to(broadcast_address), mac.profile->lowest_basic_rate_index);
  path.set_data_rate(13, 7);
  EXPECT_EQ(path.data_rate_to(13), 1) << "the profile has no such rate";
}

TEST_F(packet_path_test, a_packet_for_another_node_goes_on_with_one_hop_more_and_a_lower_time_to_live) {
  receive(with_header({.hops = 1, .total_delay_us = 4000, .max_delay_us = 4000}, udp(first, third)));
  ASSERT_EQ(driver.sent.size(), 1U);
  EXPECT_EQ(driver.sent[0].request.receiver_address, 13U);
  const wire::path_header header = header_of(driver.sent[0]);
  EXPECT_EQ(header.hops, 2);
  EXPECT_GT(header.total_delay_us, 4000U);
  EXPECT_EQ(driver.sent[0].msdu[llc_snap_bytes + path_header_bytes + 8], 63);
  EXPECT_TRUE(kernel.delivered.empty());
}

TEST_F(packet_path_test, a_packet_for_this_host_arrives_as_it_was_sent) {
  receive(with_header({.hops = 1, .total_delay_us = 4000, .max_delay_us = 4000}, udp(first, second)));
  ASSERT_EQ(kernel.delivered.size(), 1U);
  EXPECT_EQ(kernel.delivered[0], udp(first, second));
  EXPECT_TRUE(driver.sent.empty());
}

TEST_F(packet_path_test, what_cannot_go_on_is_the_kernels_to_answer) {
  receive(with_header({.hops = 1, .total_delay_us = 4000, .max_delay_us = 4000}, udp(first, third, 1)));
  kernel.table.erase(third);
  receive(with_header({.hops = 1, .total_delay_us = 4000, .max_delay_us = 4000}, udp(first, third)));
  EXPECT_EQ(kernel.delivered.size(), 2U);
  EXPECT_TRUE(driver.sent.empty());
}

TEST_F(packet_path_test, plain_ip_is_passed_on_as_from_a_silent_router) {
  bytes msdu = {0xaa, 0xaa, 3, 0, 0, 0, 0x08, 0x00};
  const bytes packet = udp(first, third);
  msdu.insert(msdu.end(), packet.begin(), packet.end());
  receive(msdu);
  ASSERT_EQ(driver.sent.size(), 1U);
  EXPECT_TRUE(header_of(driver.sent[0]).silent_router_seen);
}

TEST_F(packet_path_test, malformed_headers_are_counted_and_dropped) {
  bytes msdu = with_header({.hops = 1, .total_delay_us = 4000, .max_delay_us = 4000}, udp(first, second));
  msdu[llc_snap_bytes] ^= 0xf0;  // another version
  receive(msdu);
  receive({0xaa, 0xaa, 3, 0});
  receive({0xaa, 0xaa, 3, 0, 0, 0, 0x88, 0xb5});
  receive({0xaa, 0xaa, 3, 0, 0, 0, 0x12, 0x34, 0, 0});
  receive(with_header({.hops = 1}, {0x45, 0, 0, 200}));
  EXPECT_TRUE(kernel.delivered.empty());
  EXPECT_TRUE(driver.sent.empty());
  EXPECT_EQ(path.shim()->counters().malformed(), 2U);
  EXPECT_EQ(path.counters().malformed, 2U);
  EXPECT_EQ(path.counters().foreign, 1U);
}

TEST_F(packet_path_test, the_queue_loses_the_newest_and_goes_on_with_every_credit) {
  for (int i = 0; i < 9; ++i) path.on_ip(++now, udp(second, third));
  EXPECT_EQ(driver.sent.size(), 4U);
  EXPECT_EQ(path.queued_packets(), 3U);
  EXPECT_EQ(path.counters().queue_drops, 2U);
  driver.credits = 1;
  path.at(++now);
  path.on_completion(0, {.result = tx_result::delivered});
  EXPECT_EQ(driver.sent.size(), 5U);
  EXPECT_EQ(path.queued_packets(), 2U);
}

TEST_F(packet_path_test, the_averages_of_an_earlier_daemons_neighbour_are_not_taken_for_the_new_one) {
  const auto delay_after = [this](std::uint32_t average_us16) {
    recording_driver own_driver;
    packet_path own{{}, kernel, own_driver};
    own.known_neighbours().add(shim::ip_address::from_ipv4(third), 13);
    own.on_up(mac);
    own.on_ip(++now, udp(second, third));
    own.at(++now);
    own.on_completion(0, {.result = tx_result::delivered,
                          .data_attempts = 1,
                          .t_done_us = 2000,
                          .data_us = 1500,
                          .response_us = 300,
                          .avg_contention_us16 = average_us16,
                          .avg_overhead_us16 = 300 * 16,
                          .avg_data_attempts_256 = 256});
    own.on_ip(++now, udp(second, third));
    return header_of(own_driver.sent.at(1)).total_delay_us;
  };
  EXPECT_EQ(delay_after(90'000 * 16), delay_after(200 * 16)) << "a MAC that was used before, and a fresh one";
}

TEST_F(packet_path_test, what_was_sent_to_one_whose_slot_is_another_ones_now_is_nobodys) {
  const auto address = [](std::uint32_t number) { return 0x0a000100 + number; };
  driver.credits = 20;
  for (std::uint32_t number = 0; number <= neighbour_slots; ++number) {
    kernel.table[address(number)] = {route_kind::radio, shim::ip_address::from_ipv4(address(number))};
    path.known_neighbours().add(shim::ip_address::from_ipv4(address(number)), 100 + number);
    path.on_ip(++now, udp(second, address(number)));
  }
  ASSERT_EQ(path.neighbour_sums().all()[0].address, 100U + neighbour_slots) << "the first one's slot";
  path.on_completion(0, {.result = tx_result::delivered});
  EXPECT_EQ(path.counters().former_peers, 1U);
  EXPECT_EQ(path.neighbour_sums().all()[0].packets, 0U);
  path.on_completion(neighbour_slots, {.result = tx_result::delivered});
  EXPECT_EQ(path.counters().former_peers, 1U);
  EXPECT_EQ(path.neighbour_sums().all()[0].packets, 1U);
}

TEST_F(packet_path_test, a_neighbour_that_nobody_told_of_is_learnt_from_one_hop) {
  const std::uint32_t stranger = 0x0a000009;
  kernel.table[stranger] = {route_kind::radio, shim::ip_address::from_ipv4(stranger)};
  path.on_ip(++now, udp(second, stranger));
  EXPECT_EQ(path.counters().no_neighbour, 1U);
  receive(with_header({.hops = 2, .total_delay_us = 8000, .max_delay_us = 4000}, udp(stranger, second)), 19);
  path.on_ip(++now, udp(second, stranger));
  EXPECT_EQ(path.counters().no_neighbour, 2U) << "two hops away: who sent it here is not who it is from";
  receive(with_header({.hops = 1, .total_delay_us = 4000, .max_delay_us = 4000}, udp(stranger, second)), 19);
  path.on_ip(++now, udp(second, stranger));
  ASSERT_EQ(driver.sent.size(), 1U);
  EXPECT_EQ(driver.sent[0].request.receiver_address, 19U);
}

TEST_F(packet_path_test, a_daemon_started_in_mid_connection_takes_segments_to_fill_the_interface) {
  path.set_policy(++now, {.cwl = {.kind = policy::cwl_kind::fixed, .fixed_packets = 1}});
  path.on_ip(++now, tcp(second, third, 0x10, 10));
  receive(with_header({.hops = 1, .total_delay_us = 4000, .max_delay_us = 4000}, tcp(third, second, 0x10, 0)), 13);
  ASSERT_EQ(kernel.delivered.size(), 1U);
  EXPECT_EQ(shim::read_ip(kernel.delivered[0])->view.tcp.window_bytes, 1500U - 40 - 12);
}

TEST_F(packet_path_test, a_group_packet_is_broadcast_at_the_lowest_basic_rate_without_rts) {
  bytes packet = udp(second, 0xe0000001);
  path.on_ip(++now, packet);
  ASSERT_EQ(driver.sent.size(), 1U);
  EXPECT_EQ(driver.sent[0].request.receiver_address, broadcast_address);
  EXPECT_EQ(driver.sent[0].request.rate_index, mac.profile->lowest_basic_rate_index);
  EXPECT_FALSE(driver.sent[0].request.use_rts);
}

// ---- Packets that are too long, and credits

constexpr std::uint16_t dont_fragment = 0x4000;

/// Of this length, with the flags of IPv4 that are given.
bytes long_udp(std::uint32_t source, std::uint32_t destination, std::size_t ip_bytes, std::uint16_t flags = 0) {
  bytes packet = udp(source, destination);
  packet.resize(ip_bytes, 0x5a);
  packet[2] = static_cast<std::uint8_t>(ip_bytes >> 8);
  packet[3] = static_cast<std::uint8_t>(ip_bytes);
  packet[6] = static_cast<std::uint8_t>(flags >> 8);
  return packet;
}

bytes plain(const bytes& packet) {
  const bool ipv6 = packet[0] >> 4 == 6;
  bytes msdu = {0xaa, 0xaa, 3, 0, 0, 0, static_cast<std::uint8_t>(ipv6 ? 0x86 : 0x08), static_cast<std::uint8_t>(ipv6 ? 0xdd : 0x00)};
  msdu.insert(msdu.end(), packet.begin(), packet.end());
  return msdu;
}

/// UDP over IPv6 between addresses whose last eight bytes are these, which recording_kernel's table knows.
bytes long_udp6(std::uint32_t source, std::uint32_t destination, std::size_t ip_bytes) {
  bytes packet(ip_bytes, 0x5a);
  std::fill(packet.begin(), packet.begin() + 40, 0);
  packet[0] = 0x60;
  packet[4] = static_cast<std::uint8_t>((ip_bytes - 40) >> 8);
  packet[5] = static_cast<std::uint8_t>(ip_bytes - 40);
  packet[6] = shim::ip_protocol_udp;
  packet[7] = 64;
  packet[8] = packet[24] = 0xfd;
  for (std::size_t i = 0; i < 4; ++i) {
    packet[20 + i] = static_cast<std::uint8_t>(source >> 8 * (3 - i));
    packet[36 + i] = static_cast<std::uint8_t>(destination >> 8 * (3 - i));
  }
  return packet;
}

TEST_F(packet_path_test, a_plain_packet_goes_on_with_a_header_where_that_fits_and_plain_where_it_does_not) {
  driver.credits = 1000;
  path.known_neighbours().add({0xfd00'0000'0000'0000, third}, 13);
  for (const std::size_t ip_bytes : {most_ip_bytes - 1, most_ip_bytes, most_ip_bytes + 1, std::size_t{most_msdu_bytes - llc_snap_bytes}}) {
    for (const bytes& packet : {long_udp(first, third, ip_bytes, dont_fragment), long_udp6(first, third, ip_bytes)}) {
      const std::size_t number = driver.sent.size();
      receive(plain(packet));
      ASSERT_EQ(driver.sent.size(), number + 1) << ip_bytes;
      const bytes& msdu = driver.sent.back().msdu;
      EXPECT_LE(msdu.size(), most_msdu_bytes);
      const bool has_header = ip_bytes <= most_ip_bytes;
      ASSERT_EQ(msdu.size(), llc_snap_bytes + (has_header ? path_header_bytes : 0) + ip_bytes);
      if (has_header) {
        EXPECT_TRUE(header_of(driver.sent.back()).silent_router_seen);
      } else {
        const bytes came = plain(packet);
        EXPECT_EQ(bytes(msdu.begin(), msdu.begin() + 8), bytes(came.begin(), came.begin() + 8));
      }
      EXPECT_EQ(msdu[msdu.size() - ip_bytes + (packet[0] >> 4 == 6 ? 7 : 8)], 63) << "time to live";
    }
  }
  EXPECT_EQ(path.counters().plain, 4U);
  EXPECT_EQ(path.counters().forwarded, 8U);
}

TEST_F(packet_path_test, a_frame_longer_than_any_is_malformed) {
  receive(plain(long_udp(first, third, most_msdu_bytes - llc_snap_bytes + 1)));
  receive(plain(long_udp(first, second, most_msdu_bytes - llc_snap_bytes + 1)));
  EXPECT_EQ(path.counters().malformed, 2U);
  EXPECT_TRUE(driver.sent.empty());
  EXPECT_TRUE(kernel.delivered.empty());
}

TEST_F(packet_path_test, a_packet_of_this_host_that_fills_a_frame_goes_and_a_longer_one_is_answered) {
  path.on_ip(++now, long_udp(second, third, most_ip_bytes, dont_fragment));
  ASSERT_EQ(driver.sent.size(), 1U);
  EXPECT_EQ(driver.sent[0].msdu.size(), most_msdu_bytes);
  path.on_ip(++now, long_udp(second, third, most_ip_bytes + 1, dont_fragment));
  EXPECT_EQ(driver.sent.size(), 1U);
  ASSERT_EQ(kernel.delivered.size(), 1U);
  const auto message = shim::read_ip(kernel.delivered[0]);
  EXPECT_EQ(message->view.flow.destination, shim::ip_address::from_ipv4(second));
  EXPECT_EQ(message->view.flow.source, shim::ip_address::from_ipv4(third)) << "the kernel takes none from an address of its own";
  EXPECT_EQ(kernel.delivered[0][20], 3);
  EXPECT_EQ(kernel.delivered[0][21], 4);
  EXPECT_EQ(kernel.delivered[0][26] << 8 | kernel.delivered[0][27], static_cast<int>(most_ip_bytes));
  path.on_ip(++now, long_udp6(second, third, 4000));
  ASSERT_EQ(kernel.delivered.size(), 2U);
  EXPECT_EQ(kernel.delivered[1][40], 2);
  EXPECT_EQ(kernel.delivered[1][46] << 8 | kernel.delivered[1][47], static_cast<int>(most_ip_bytes));
  EXPECT_EQ(path.counters().too_big, 2U);
}

TEST_F(packet_path_test, answers_to_long_packets_are_bounded) {
  now = 1'000'000;
  for (int i = 0; i < 1000; ++i) path.on_ip(now += 1000, long_udp(second, third, 4000, dont_fragment));
  EXPECT_EQ(path.counters().too_big, 1000U);
  EXPECT_GE(kernel.delivered.size(), 15U);
  EXPECT_LE(kernel.delivered.size(), 21U) << "ten at once, ten a second";
}

TEST_F(packet_path_test, a_syn_that_the_kernel_repeats_by_a_faster_clock_is_held) {
  constexpr std::uint8_t syn = 0x02;
  packet_path slow{{.queue_packets = 3, .policy = {.cwl = {.kind = policy::cwl_kind::none}}, .slow_down = 600}, kernel, driver};
  slow.known_neighbours().add(shim::ip_address::from_ipv4(third), 13);
  slow.known_neighbours().add(shim::ip_address::from_ipv4(first), 11);
  slow.on_up(mac);
  slow.on_ip(1, tcp(second, third, syn, 0));
  slow.on_ip(1'667, tcp(second, third, syn, 0));
  slow.on_ip(1'668, tcp(first, third, syn, 0));
  slow.on_ip(1'669, tcp(first, third, syn, 0));
  EXPECT_EQ(driver.sent.size(), 3U) << "another host's clock is its own";
  EXPECT_EQ(slow.counters().early_syns, 1U);
  path.on_ip(1, tcp(second, third, syn, 0));
  path.on_ip(1'667, tcp(second, third, syn, 0));
  EXPECT_EQ(path.counters().early_syns, 0U) << "one clock";
}

TEST_F(packet_path_test, a_long_packet_that_may_be_cut_is_cut) {
  driver.credits = 1000;
  path.on_ip(++now, long_udp(second, third, 5000));
  ASSERT_EQ(driver.sent.size(), 3U);
  std::size_t payload_bytes = 0;
  for (const sent_packet& fragment : driver.sent) {
    EXPECT_LE(fragment.msdu.size(), most_msdu_bytes);
    EXPECT_EQ(header_of(fragment).hops, 1);
    payload_bytes += fragment.msdu.size() - llc_snap_bytes - path_header_bytes - 20;
  }
  EXPECT_EQ(payload_bytes, 4980U);
  EXPECT_EQ(path.counters().fragmented, 1U);
  EXPECT_TRUE(kernel.delivered.empty());
}

TEST_F(packet_path_test, what_came_from_another_interface_is_answered_through_the_kernel) {
  const std::uint32_t wired = 0xc0a80001;
  kernel.table[wired] = {.kind = route_kind::elsewhere};
  path.on_ip(++now, long_udp(wired, third, 4000, dont_fragment));
  ASSERT_EQ(kernel.delivered.size(), 1U);
  EXPECT_EQ(shim::read_ip(kernel.delivered[0])->view.flow.destination, shim::ip_address::from_ipv4(wired));
}

TEST_F(packet_path_test, a_driver_that_refuses_costs_no_credit_and_the_path_goes_on) {
  driver.refuses = true;
  for (int i = 0; i < 100; ++i) path.on_ip(++now, udp(second, third));
  EXPECT_EQ(path.counters().mac_refused, 100U);
  EXPECT_EQ(path.queued_packets(), 0U);
  EXPECT_FALSE(path.next_deadline()) << "nothing is out that could be waited for";
  driver.refuses = false;
  path.on_ip(++now, udp(second, third));
  ASSERT_EQ(driver.sent.size(), 1U);
  path.on_completion(driver.sent[0].request.cookie, {.result = tx_result::delivered});
  EXPECT_EQ(path.counters().completions, 1U);
  EXPECT_EQ(path.counters().unknown_completions, 0U);
}

TEST_F(packet_path_test, a_completion_of_nothing_or_for_the_second_time_is_counted_and_changes_nothing) {
  path.on_ip(++now, udp(second, third));
  path.on_completion(77, {.result = tx_result::delivered});
  path.on_completion(driver.sent[0].request.cookie, {.result = tx_result::delivered});
  path.on_completion(driver.sent[0].request.cookie, {.result = tx_result::short_retry_limit});
  EXPECT_EQ(path.counters().completions, 1U);
  EXPECT_EQ(path.counters().unknown_completions, 2U);
  EXPECT_EQ(path.counters().mac_drops, 0U);
  EXPECT_EQ(path.neighbour_sums().all()[0].packets, 1U);
}

TEST_F(packet_path_test, what_the_mac_had_when_it_went_down_is_lost_and_counted_and_its_completions_are_nobodys) {
  for (int i = 0; i < 4; ++i) path.on_ip(++now, udp(second, third));
  path.on_down();
  EXPECT_EQ(path.counters().mac_lost, 4U);
  EXPECT_FALSE(path.next_deadline());
  driver.credits = 4;
  path.on_up(mac);
  path.on_completion(0, {.result = tx_result::delivered});
  EXPECT_EQ(path.counters().unknown_completions, 1U);
  path.on_ip(++now, udp(second, third));
  path.on_completion(driver.sent.back().request.cookie, {.result = tx_result::delivered});
  EXPECT_EQ(path.counters().completions, 1U);
}

TEST_F(packet_path_test, a_mac_that_keeps_a_packet_for_five_seconds_is_begun_anew_and_is_down_until_it_completes_one) {
  const auto pass = [this](time_us until) {
    while (path.next_deadline() && *path.next_deadline() <= until) path.on_deadline(now = *path.next_deadline());
    now = until;
    path.at(now);
  };
  path.on_ip(now = 1'000'000, udp(second, third));
  pass(5'999'999);
  EXPECT_TRUE(driver.restarts.empty());
  EXPECT_TRUE(path.is_up());
  pass(6'000'000);
  ASSERT_EQ(driver.restarts.size(), 1U);
  EXPECT_EQ(path.counters().mac_stalls, 1U);
  EXPECT_FALSE(path.is_up());
  EXPECT_EQ(path.mac_problem(), driver.restarts[0]);
  EXPECT_NE(path.mac_problem().find("1 of 4 credits"), std::string::npos) << path.mac_problem();
  path.on_down();
  driver.credits = 4;
  path.on_up(mac);
  EXPECT_FALSE(path.is_up()) << "it has completed nothing yet";
  path.on_ip(++now, udp(second, third));
  ASSERT_EQ(driver.sent.size(), 2U) << "but it is tried";
  path.on_completion(driver.sent[1].request.cookie, {.result = tx_result::short_retry_limit});
  EXPECT_TRUE(path.is_up()) << "it is done with it, though nobody answered";
  EXPECT_EQ(path.mac_problem(), "");
}

TEST_F(packet_path_test, a_forged_packet_does_not_lead_a_neighbours_packets_astray) {
  const std::uint32_t stranger = 0x0a000009;
  driver.credits = 100;
  kernel.table[stranger] = {route_kind::radio, shim::ip_address::from_ipv4(stranger)};
  const bytes from_stranger = with_header({.hops = 1, .total_delay_us = 4000, .max_delay_us = 4000}, udp(stranger, second));
  receive(from_stranger, 19);
  path.on_ip(++now, udp(second, stranger));
  path.on_completion(driver.sent.at(0).request.cookie, {.peer = driver.sent[0].request.peer, .result = tx_result::delivered});
  now += 5'000'000;
  receive(from_stranger, 66);
  path.on_ip(++now, udp(second, stranger));
  EXPECT_EQ(driver.sent.at(1).request.receiver_address, 19U);
  EXPECT_EQ(path.known_neighbours().newcomers_refused(), 1U);
  for (int packet = 1; packet <= 3; ++packet) {
    path.on_completion(driver.sent.back().request.cookie, {.result = tx_result::short_retry_limit});
    if (packet < 3) path.on_ip(++now, udp(second, stranger));
  }
  receive(from_stranger, 66);
  path.on_ip(++now, udp(second, stranger));
  EXPECT_EQ(driver.sent.back().request.receiver_address, 66U) << "19 has not answered three times";
}

TEST_F(packet_path_test, no_random_traffic_and_no_random_end_of_it_loses_a_credit) {
  for (std::uint32_t seed = 1; seed <= 10; ++seed) {
    std::minstd_rand random(seed);
    recording_driver own_driver;
    packet_path own{{.queue_packets = 50}, kernel, own_driver};
    own.known_neighbours().add(shim::ip_address::from_ipv4(third), 13);
    own.on_up(mac);
    std::vector<std::uint32_t> out;
    std::size_t seen = 0, ends = 0;
    for (int step = 0; step < 5000; ++step) {
      own.at(++now);
      own_driver.refuses = random() % 10 == 0;
      const std::size_t ip_bytes = 48 + random() % 4000;
      switch (random() % 6) {
        case 0:
          own.on_ip(now, long_udp(second, third, ip_bytes, random() % 2 == 0 ? dont_fragment : 0));
          break;
        case 1:
          own.on_ip(now, long_udp6(second, third, ip_bytes));
          break;
        case 2:
          own.on_reception({.receiver_address = 12, .transmitter_address = 11, .msdu = plain(long_udp(first, third, ip_bytes))});
          break;
        case 3:
          own.on_completion(1'000'000 + random() % 100, {.result = tx_result::delivered});
          break;
        case 4:
          if (out.empty()) break;
          ++own_driver.credits;
          ++ends;
          own.on_completion(std::exchange(out[random() % out.size()], out.back()), {.result = static_cast<tx_result>(random() % 3)});
          out.pop_back();
          break;
        default:
          if (random() % 50 != 0) break;
          own_driver.credits = 4;
          own.on_down();
          ends += out.size();
          out.clear();
          own.on_up(mac);
      }
      for (; seen < own_driver.sent.size(); ++seen) {
        out.push_back(own_driver.sent[seen].request.cookie);
        ASSERT_LE(own_driver.sent[seen].msdu.size(), most_msdu_bytes);
      }
      ASSERT_EQ(own_driver.credits + static_cast<int>(out.size()), 4) << "seed " << seed << " step " << step;
      ASSERT_EQ(own.counters().completions + own.counters().mac_lost, ends);
      ASSERT_EQ(own.counters().mac_stalls, 0U);
    }
    EXPECT_GT(ends, 300U);
  }
}

// ---- Signed segments

/// A TCP packet with one option, padded. A digest covers the bytes of `packet`, so the same bytes carry a good digest still.
bytes with_option(bytes packet, const bytes& option) {
  bytes padded = option;
  while (padded.size() % 4 != 0) padded.push_back(1);
  packet.insert(packet.begin() + 40, padded.begin(), padded.end());
  packet[2] = static_cast<std::uint8_t>(packet.size() >> 8);
  packet[3] = static_cast<std::uint8_t>(packet.size());
  packet[32] = static_cast<std::uint8_t>((5 + padded.size() / 4) << 4);
  return packet;
}

bytes digest_option(std::uint8_t kind, std::size_t size) {
  bytes option(size, 0xa5);
  option[0] = kind;
  option[1] = static_cast<std::uint8_t>(size);
  return option;
}

const bytes window_scale{3, 3, 7};

TEST_F(packet_path_test, a_signed_segment_arrives_and_leaves_byte_for_byte_under_a_window_limit) {
  for (const bytes& digest : {digest_option(19, 18), digest_option(29, 16)}) {
    path.set_policy(++now, {.cwl = {.kind = policy::cwl_kind::fixed, .fixed_packets = 1}});
    kernel.delivered.clear();
    driver.sent.clear();
    driver.credits = 9;
    bytes options = digest;
    options.insert(options.end(), window_scale.begin(), window_scale.end());
    for (const std::uint8_t flags : {std::uint8_t{0x02}, std::uint8_t{0x12}, std::uint8_t{0x10}}) {
      const bytes leaving = with_option(tcp(second, third, flags, 0), options),
                  arriving = with_option(tcp(third, second, flags, 0), options);
      path.on_ip(++now, leaving);
      receive(with_header({.hops = 1, .total_delay_us = 4000, .max_delay_us = 4000}, arriving), 13);
      ASSERT_FALSE(driver.sent.empty());
      EXPECT_EQ(bytes(driver.sent.back().msdu.begin() + llc_snap_bytes + path_header_bytes, driver.sent.back().msdu.end()), leaving);
      ASSERT_FALSE(kernel.delivered.empty());
      EXPECT_EQ(kernel.delivered.back(), arriving);
    }
    EXPECT_EQ(path.shim()->counters().windows_rewritten, 0U);
  }
  EXPECT_EQ(path.shim()->counters().signed_segments, 2U * 6);
  const auto flows = path.flows();
  ASSERT_EQ(flows.size(), 1U);
  EXPECT_EQ(path.shim()->limit_without_effect(flows[0].key), shim::no_effect::signed_segments);
}

TEST_F(packet_path_test, the_same_segments_unsigned_lose_their_window_and_its_scaling) {
  path.set_policy(++now, {.cwl = {.kind = policy::cwl_kind::fixed, .fixed_packets = 1}});
  path.on_ip(++now, with_option(tcp(second, third, 0x02, 0), window_scale));
  ASSERT_EQ(driver.sent.size(), 1U);
  EXPECT_EQ(driver.sent[0].msdu[llc_snap_bytes + path_header_bytes + 40], 1) << "no-operation in its place";
  receive(with_header({.hops = 1, .total_delay_us = 4000, .max_delay_us = 4000}, tcp(third, second, 0x10, 0)), 13);
  EXPECT_LT(shim::read_ip(kernel.delivered.back())->view.tcp.window_bytes, 0xffffU);
}

// ---- How a sender tells its window

class telling_path_test : public packet_path_test {
protected:
  /// @param open the daemon sees this host's SYN, from which it counts
  void tell_by(shim::window_telling how, bool open = true) {
    told.emplace(packet_path_config{.policy = {.cwl = {.kind = policy::cwl_kind::none}}, .tell_window = how}, kernel, driver);
    told->known_neighbours().add(shim::ip_address::from_ipv4(third), 13);
    told->on_up(mac);
    driver.credits = 100;
    if (open) told->on_ip(++now, tcp(second, third, 0x02, 0, 0));
    driver.sent.clear();
  }

  /// What IP sends, as it is on the air.
  bytes on_the_air(const bytes& packet) {
    told->on_ip(++now, packet);
    const sent_packet& last = driver.sent.back();
    return {last.msdu.begin() + llc_snap_bytes + path_header_bytes, last.msdu.end()};
  }

  std::optional<packet_path> told;
};

TEST_F(telling_path_test, the_option_is_in_data_of_this_host_and_tells_what_the_header_does) {
  tell_by(shim::window_telling::option);
  for (std::uint8_t packet = 0; packet < 3; ++packet) {
    const bytes air = on_the_air(tcp(second, third, 0x10, 50, static_cast<std::uint32_t>(1 + 50 * packet)));
    const auto read = shim::read_ip(air);
    ASSERT_TRUE(read);
    EXPECT_EQ(air.size(), 40U + 50 + 8);
    EXPECT_EQ(read->view.tcp.told_window_packets, packet + 1);
    EXPECT_EQ(header_of(driver.sent.back()).packets_in_flight, packet + 1);
    EXPECT_EQ(read->view.tcp.window_bytes, 0xffffU);
  }
  EXPECT_EQ(on_the_air(tcp(second, third, 0x10, 0)).size(), 40U) << "a bare TCP ACK has no data to wait for";
  EXPECT_EQ(on_the_air(udp(second, third)), udp(second, third));
  EXPECT_EQ(on_the_air(tcp(second, third, 0x10, 1460)).size(), 1500U) << "no longer than the interface's";
  EXPECT_EQ(told->counters().window_untold, 1U);
}

TEST_F(telling_path_test, a_syn_that_arrives_makes_this_hosts_segments_leave_room_for_the_option) {
  const bytes syn = with_option(tcp(third, second, 0x02, 0), {2, 4, 0x05, 0xb4});
  const auto delivered_mss = [&](shim::window_telling how) {
    tell_by(how);
    told->at(++now);
    told->on_reception({.receiver_address = 12,
                        .transmitter_address = 13,
                        .msdu = with_header({.hops = 1, .total_delay_us = 4000, .max_delay_us = 4000}, syn)});
    return shim::read_ip(kernel.delivered.back())->view.tcp.mss_option_bytes;
  };
  EXPECT_EQ(delivered_mss(shim::window_telling::option), 1452);
  EXPECT_EQ(delivered_mss(shim::window_telling::path_header), 1460);
}

TEST_F(telling_path_test, the_window_field_is_used_only_where_that_is_asked_for) {
  const auto window_on_the_air = [&](shim::window_telling how) {
    tell_by(how);
    on_the_air(tcp(second, third, 0x10, 50));
    const bytes air = on_the_air(tcp(second, third, 0x10, 50, 51));
    EXPECT_EQ(shim::read_ip(air)->view.tcp.told_window_packets, how == shim::window_telling::option ? 2 : 0);
    return shim::read_ip(air)->view.tcp.window_bytes;
  };
  EXPECT_EQ(window_on_the_air(shim::window_telling::path_header), 0xffffU);
  EXPECT_EQ(window_on_the_air(shim::window_telling::option), 0xffffU);
  EXPECT_EQ(window_on_the_air(shim::window_telling::window_field), 100U);
}

TEST_F(telling_path_test, what_is_in_flight_of_a_connection_that_was_open_before_is_not_told) {
  tell_by(shim::window_telling::window_field, false);
  EXPECT_EQ(shim::read_ip(on_the_air(tcp(second, third, 0x10, 50)))->view.tcp.window_bytes, 0xffffU)
      << "a window of 0 would stop the other end";
}

// ---- Pacing

TEST_F(packet_path_test, a_window_of_tcp_is_paced_over_its_round_trip_without_being_told) {
  path.set_policy(++now, {.cwl = {.kind = policy::cwl_kind::none}, .pacing = {.kind = policy::pacing_kind::window}});
  driver.credits = 100;
  const auto segment = [](std::uint32_t number) {
    bytes packet = tcp(second, third, 0x10, 100, 0);
    const std::uint32_t sequence = 1 + 100 * number;
    packet[26] = static_cast<std::uint8_t>(sequence >> 8);
    packet[27] = static_cast<std::uint8_t>(sequence);
    return packet;
  };
  const auto acknowledge = [this](std::uint32_t segments) {
    bytes packet = tcp(third, second, 0x10, 0);
    const std::uint32_t tcp_ack = 1 + 100 * segments;
    packet[30] = static_cast<std::uint8_t>(tcp_ack >> 8);
    packet[31] = static_cast<std::uint8_t>(tcp_ack);
    path.at(now);
    path.on_reception({.receiver_address = 12,
                       .transmitter_address = 13,
                       .msdu = with_header({.hops = 1, .total_delay_us = 4000, .max_delay_us = 4000}, packet)});
  };
  bytes syn = tcp(second, third, 0x02, 0, 0);
  path.on_ip(++now, syn);
  // Rounds of 20 segments, 40 ms each: in the second one leaves every 2 ms.
  std::uint32_t sent = 0;
  for (int round = 0; round < 2; ++round) {
    const time_us begun = now += 40'000;
    if (sent != 0) acknowledge(sent);
    driver.sent.clear();
    for (int i = 0; i < 20; ++i) path.on_ip(now, segment(sent++));
    std::vector<time_us> left(driver.sent.size(), 0);
    while (left.size() < 20) {
      ASSERT_TRUE(path.next_deadline());
      now = *path.next_deadline();
      path.on_deadline(now);
      ASSERT_GT(driver.sent.size(), left.size());
      left.resize(driver.sent.size(), now - begun);
    }
    if (round == 0) {
      EXPECT_EQ(left, std::vector<time_us>(20, 0)) << "no round trip is known yet";
      const auto flows = path.flows();
      EXPECT_EQ(path.shim()->pacing_without_effect(flows[0].key), shim::no_effect::round_trip_unknown);
    } else {
      for (std::size_t i = 0; i < left.size(); ++i) EXPECT_EQ(left[i], 2'000 * i);
      EXPECT_EQ(path.shim()->pacing_interval_us(path.flows()[0].key), 2'000U);
      EXPECT_EQ(path.counters().paced, 19U);
    }
    now = begun;
  }
}

// ---- Limits that the kernel's TCP keeps

class recording_limiter : public bpf::window_limiter {
public:
  void set(const shim::flow_key& flow, std::optional<std::uint32_t> packets) override {
    EXPECT_EQ(flow.source, shim::ip_address::from_ipv4(second));
    limits.push_back(packets);
  }
  void forget(const shim::flow_key&) override { ++forgotten; }
  void apply_now() override { ++applied; }

  std::vector<std::optional<std::uint32_t>> limits;
  int forgotten = 0;
  int applied = 0;
};

constexpr std::uint8_t flag_syn = 0x02, flag_tcp_ack = 0x10;

class limited_path_test : public packet_path_test {
protected:
  limited_path_test() {
    limited.known_neighbours().add(shim::ip_address::from_ipv4(third), 13);
    limited.on_up(mac);
  }

  void answer(std::uint8_t flags) {
    limited.at(++now);
    limited.on_reception({.receiver_address = 12,
                          .transmitter_address = 13,
                          .msdu = with_header({.hops = 1, .total_delay_us = 4000, .max_delay_us = 4000}, tcp(third, second, flags, 0))});
  }

  static shim::flow_policy fixed(std::uint32_t packets) { return {.cwl = {.kind = policy::cwl_kind::fixed, .fixed_packets = packets}}; }

  recording_limiter limiter;
  packet_path limited{{.policy = fixed(3), .limiter = &limiter}, kernel, driver};
};

TEST_F(limited_path_test, the_limiter_hears_of_a_limit_before_the_connection_is_open_and_again_only_when_it_moves) {
  limited.on_ip(++now, tcp(second, third, flag_syn, 0));
  ASSERT_EQ(limiter.limits, (std::vector<std::optional<std::uint32_t>>{3}));
  answer(flag_syn | flag_tcp_ack);
  limited.on_ip(++now, tcp(second, third, flag_tcp_ack, 1000));
  answer(flag_tcp_ack);
  EXPECT_EQ(limiter.limits.size(), 1U);
  limited.set_policy(++now, fixed(1));
  limited.set_policy(++now, {.cwl = {.kind = policy::cwl_kind::none}});
  EXPECT_EQ(limiter.limits, (std::vector<std::optional<std::uint32_t>>{3, 1, std::nullopt}));
  EXPECT_EQ(limiter.applied, 2) << "what a person says holds at once";
}

TEST_F(limited_path_test, windows_are_left_alone) {
  limited.on_ip(++now, tcp(second, third, flag_syn, 0));
  answer(flag_syn | flag_tcp_ack);
  ASSERT_EQ(kernel.delivered.size(), 1U);
  EXPECT_EQ(shim::read_ip(kernel.delivered[0])->view.tcp.window_bytes, 0xffffU);
}

TEST_F(limited_path_test, open_connections_are_looked_for_where_the_daemon_did_not_see_one_open_and_not_too_often) {
  now = 1'000'000;
  driver.credits = 0;  // what the MAC has is looked at, too
  limited.on_ip(++now, tcp(second, third, flag_tcp_ack, 1000));
  ASSERT_EQ(limited.next_deadline(), now);
  limited.on_deadline(now);
  EXPECT_EQ(limiter.applied, 1);
  EXPECT_FALSE(limited.next_deadline());
  bytes other = tcp(second, third, flag_tcp_ack, 1000);
  other[21] = 9;
  limited.on_ip(++now, other);
  EXPECT_EQ(limited.next_deadline(), 1'100'001) << "100 ms after the last time";
  limited.on_deadline(now);
  EXPECT_EQ(limiter.applied, 1);
  other[21] = 10;
  other[33] = flag_syn;
  limited.on_deadline(now = *limited.next_deadline());
  EXPECT_EQ(limiter.applied, 2);
  limited.on_ip(++now, other);
  EXPECT_FALSE(limited.next_deadline());
}

TEST_F(limited_path_test, connections_idle_for_a_minute_are_forgotten_and_the_limiter_told) {
  limited.on_ip(++now, tcp(second, third, flag_syn, 0));
  EXPECT_EQ(limited.flows().size(), 1U);
  now += 61'000'000;
  limited.on_ip(++now, udp(second, third));
  EXPECT_TRUE(limited.flows().empty());
  EXPECT_EQ(limiter.forgotten, 1);
}

// ---- EXACT

bytes flow_packet(std::uint32_t source, std::uint32_t destination) {
  bytes packet = udp(source, destination);
  packet[20] = packet[22] = 0x20;  // ports
  packet[25] = 28;                 // length
  return packet;
}

bytes with_rider(wire::path_header header, const hop::exact_rider& rider, const bytes& packet) {
  header.exact_follows = true;
  bytes content;
  hop::append_rider(content, rider);
  content.insert(content.end(), packet.begin(), packet.end());
  return with_header(header, content);
}

class exact_packet_path_test : public packet_path_test {
protected:
  exact_packet_path_test() {
    exact.known_neighbours().add(shim::ip_address::from_ipv4(first), 11);
    exact.known_neighbours().add(shim::ip_address::from_ipv4(third), 13);
    exact.on_up(mac);
  }

  hop::exact_rider rider_of(const sent_packet& packet) const {
    return *hop::read_rider(std::span<const std::uint8_t>(packet.msdu).subspan(llc_snap_bytes + path_header_bytes));
  }

  const wire::path_header two_hops{
      .hops = 2, .total_delay_us = 8000, .max_delay_us = 4000, .explicit_rate_bps = 1'000'000'000, .current_rate_bps = 1'000'000};
  packet_path exact{
      {.exact = policy::exact_router_config{.mode = policy::exact_mode::m2}, .exact_flows = {.all_udp = true}}, kernel, driver};
};

TEST_F(exact_packet_path_test, a_data_packet_leaves_with_its_number_and_what_this_router_allows) {
  exact.on_ip(++now, flow_packet(second, third));
  ASSERT_EQ(driver.sent.size(), 1U);
  const auto rider = rider_of(driver.sent[0]);
  ASSERT_TRUE(std::holds_alternative<wire::exact_header>(rider));
  EXPECT_EQ(std::get<wire::exact_header>(rider).sequence, 0U);
  EXPECT_TRUE(header_of(driver.sent[0]).exact_follows);
  EXPECT_GT(header_of(driver.sent[0]).explicit_rate_bps, 10'000U);
  EXPECT_LT(header_of(driver.sent[0]).explicit_rate_bps, 2'000'000U);
  const auto at = driver.sent[0].msdu.begin() + llc_snap_bytes + path_header_bytes + wire::exact_data::size_bytes;
  EXPECT_EQ(bytes(at, driver.sent[0].msdu.end()), flow_packet(second, third));
}

TEST_F(exact_packet_path_test, a_router_lowers_the_rate_and_passes_the_number_on) {
  exact.at(++now);
  exact.on_reception({.receiver_address = 12,
                      .transmitter_address = 11,
                      .msdu = with_rider(two_hops, wire::exact_header{.sequence = 77}, flow_packet(first, third))});
  ASSERT_EQ(driver.sent.size(), 1U);
  EXPECT_LT(header_of(driver.sent[0]).explicit_rate_bps, 2'000'000U);
  EXPECT_EQ(header_of(driver.sent[0]).hops, 3);
  EXPECT_EQ(std::get<wire::exact_header>(rider_of(driver.sent[0])).sequence, 77U);
  EXPECT_TRUE(kernel.delivered.empty());
}

TEST_F(exact_packet_path_test, a_node_without_exact_passes_the_number_on_and_leaves_the_rate) {
  receive(with_rider(two_hops, wire::exact_header{.sequence = 77}, flow_packet(first, third)));
  ASSERT_EQ(driver.sent.size(), 1U);
  EXPECT_GT(header_of(driver.sent[0]).explicit_rate_bps, 900'000'000U);
  EXPECT_EQ(std::get<wire::exact_header>(rider_of(driver.sent[0])).sequence, 77U);
}

TEST_F(exact_packet_path_test, the_destination_delivers_the_packet_alone_and_reports) {
  exact.at(++now);
  exact.on_reception({.receiver_address = 12,
                      .transmitter_address = 11,
                      .msdu = with_rider(two_hops, wire::exact_header{.sequence = 0}, flow_packet(first, second))});
  ASSERT_EQ(kernel.delivered.size(), 1U);
  EXPECT_EQ(kernel.delivered[0], flow_packet(first, second));
  ASSERT_EQ(driver.sent.size(), 1U);
  EXPECT_EQ(driver.sent[0].request.receiver_address, 11U);
  const auto rider = rider_of(driver.sent[0]);
  ASSERT_TRUE(std::holds_alternative<wire::exact_report>(rider));
  EXPECT_EQ(std::get<wire::exact_report>(rider).hops, 2);
}

TEST_F(exact_packet_path_test, a_report_sets_the_rate_and_goes_no_further) {
  exact.on_ip(++now, flow_packet(second, third));
  now += 5000;
  exact.at(now);
  const wire::exact_report report{.hops = 2, .explicit_rate_bps = 60'000, .highest_sequence = 0, .received_packets = 1};
  bytes carrier = flow_packet(third, second);
  exact.on_reception({.receiver_address = 12,
                      .transmitter_address = 13,
                      .msdu = with_rider({.hops = 2, .total_delay_us = 8000, .max_delay_us = 4000}, report, carrier)});
  EXPECT_TRUE(kernel.delivered.empty());
  const auto state = exact.exact()->state(shim::read_ip(flow_packet(second, third))->view.flow);
  ASSERT_TRUE(state);
  EXPECT_NEAR(static_cast<double>(state->rate_bps), 60'000, 600);
}

TEST_F(exact_packet_path_test, segments_of_tcp_ask_for_a_rate_where_the_policy_says_so_and_do_not_wait) {
  constexpr std::uint8_t tcp_ack = 0x10;
  exact.on_ip(++now, tcp(second, third, tcp_ack, 1000));
  ASSERT_EQ(driver.sent.size(), 1U);
  EXPECT_FALSE(header_of(driver.sent[0]).exact_follows) << "another policy";
  exact.set_policy(++now, {.cwl = {.kind = policy::cwl_kind::none}, .pacing = {.kind = policy::pacing_kind::exact}});
  exact.on_ip(++now, tcp(second, third, tcp_ack, 1000, 2));
  exact.on_ip(now, tcp(second, third, tcp_ack, 1000, 3));
  exact.on_ip(now, tcp(second, third, tcp_ack, 0, 4));
  ASSERT_EQ(driver.sent.size(), 4U) << "none waits for its rate";
  EXPECT_EQ(std::get<wire::exact_header>(rider_of(driver.sent[1])).sequence, 0U);
  EXPECT_EQ(std::get<wire::exact_header>(rider_of(driver.sent[2])).sequence, 1U);
  EXPECT_LT(header_of(driver.sent[2]).explicit_rate_bps, 2'000'000U);
  EXPECT_FALSE(header_of(driver.sent[3]).exact_follows) << "a TCP ACK";

  now += 5000;
  exact.at(now);
  const wire::exact_report report{.hops = 2, .explicit_rate_bps = 60'000, .highest_sequence = 1, .received_packets = 2};
  const shim::flow_key sent = shim::read_ip(tcp(second, third, tcp_ack, 1000))->view.flow;
  exact.on_reception(
      {.receiver_address = 12,
       .transmitter_address = 13,
       .msdu = with_rider({.hops = 2, .total_delay_us = 8000, .max_delay_us = 4000}, report, shim::empty_udp(sent.reversed()))});
  EXPECT_TRUE(kernel.delivered.empty());
  ASSERT_TRUE(exact.exact()->state(sent));
  EXPECT_NEAR(static_cast<double>(exact.exact()->state(sent)->rate_bps), 60'000, 600);
}

TEST_F(exact_packet_path_test, a_segment_of_tcp_that_arrives_goes_to_tcp_and_is_reported_on) {
  exact.at(++now);
  exact.on_reception({.receiver_address = 12,
                      .transmitter_address = 11,
                      .msdu = with_rider(two_hops, wire::exact_header{.sequence = 0}, tcp(first, second, 0x10, 1000))});
  ASSERT_EQ(kernel.delivered.size(), 1U);
  EXPECT_EQ(kernel.delivered[0], tcp(first, second, 0x10, 1000));
  ASSERT_EQ(driver.sent.size(), 1U);
  EXPECT_TRUE(std::holds_alternative<wire::exact_report>(rider_of(driver.sent[0])));
}

TEST_F(exact_packet_path_test, what_the_own_router_allows_holds_at_once_whatever_the_report_says) {
  exact.on_ip(++now, flow_packet(second, third));
  const std::uint64_t own_bps = header_of(driver.sent.at(0)).explicit_rate_bps;
  now += 5000;
  exact.at(now);
  const wire::exact_report report{.hops = 2, .explicit_rate_bps = 1'000'000'000, .highest_sequence = 0, .received_packets = 1};
  exact.on_reception({.receiver_address = 12,
                      .transmitter_address = 13,
                      .msdu = with_rider({.hops = 2, .total_delay_us = 8000, .max_delay_us = 4000}, report, flow_packet(third, second))});
  EXPECT_EQ(exact.exact()->state(shim::read_ip(flow_packet(second, third))->view.flow)->rate_bps, own_bps);
}

TEST_F(exact_packet_path_test, hellos_are_broadcast_and_foreign_nonsense_is_counted) {
  EXPECT_FALSE(exact.next_deadline()) << "without flows there is nothing to say";
  exact.on_ip(++now, flow_packet(second, third));
  const auto is_hello = [](const auto& frame) { return frame.request.receiver_address == broadcast_address; };
  while (std::ranges::none_of(driver.sent, is_hello)) {
    ASSERT_TRUE(exact.next_deadline());
    ASSERT_LT(now, 60'000'000U);
    now = std::max(now + 1, *exact.next_deadline());
    exact.on_deadline(now);
  }
  const bytes msdu = std::ranges::find_if(driver.sent, is_hello)->msdu;
  const auto hello = wire::decode_hello(std::span<const std::uint8_t>(msdu).subspan(llc_snap_bytes));
  ASSERT_TRUE(hello);
  EXPECT_EQ(hello->nodes[0].node, 12U);

  exact.at(++now);
  exact.on_reception({.receiver_address = broadcast_address, .transmitter_address = 11, .msdu = msdu});
  exact.on_reception(
      {.receiver_address = broadcast_address, .transmitter_address = 11, .msdu = bytes{0xaa, 0xaa, 3, 0, 0, 0, 0x88, 0xb6, 9}});
  exact.on_reception({.receiver_address = 12, .transmitter_address = 11, .msdu = with_header({.exact_follows = true}, {0xff, 0xff})});
  EXPECT_EQ(exact.counters().hellos, 1U);
  EXPECT_EQ(exact.counters().malformed, 2U);
}

TEST_F(exact_packet_path_test, a_packet_that_leaves_no_room_for_its_number_is_answered_with_the_mtu_that_does) {
  constexpr std::size_t most_bytes = most_ip_bytes - wire::exact_data::size_bytes;
  bytes packet = flow_packet(second, third);
  packet.resize(most_bytes);
  const auto set_length = [&packet] {
    packet[2] = static_cast<std::uint8_t>(packet.size() >> 8);
    packet[3] = static_cast<std::uint8_t>(packet.size());
  };
  set_length();
  packet[6] = 0x40;
  exact.on_ip(++now, packet);
  ASSERT_EQ(driver.sent.size(), 1U);
  EXPECT_EQ(driver.sent[0].msdu.size(), most_msdu_bytes);
  packet.push_back(0);
  set_length();
  exact.on_ip(++now, packet);
  EXPECT_EQ(driver.sent.size(), 1U);
  ASSERT_EQ(kernel.delivered.size(), 1U);
  EXPECT_EQ(kernel.delivered[0][26] << 8 | kernel.delivered[0][27], static_cast<int>(most_bytes));
}

TEST_F(exact_packet_path_test, a_flow_waits_while_the_queue_before_the_mac_is_full) {
  driver.credits = 0;
  for (int i = 0; i < 60; ++i) path.on_ip(++now, udp(second, third));  // another path's, to show that it loses
  EXPECT_GT(path.counters().queue_drops, 0U);
  packet_path small{{.queue_packets = 1, .exact = policy::exact_router_config{}, .exact_flows = {.all_udp = true}}, kernel, driver};
  small.known_neighbours().add(shim::ip_address::from_ipv4(third), 13);
  small.on_up(mac);
  for (int i = 0; i < 5; ++i) small.on_ip(++now, flow_packet(second, third));
  EXPECT_EQ(small.counters().queue_drops, 0U);
  EXPECT_EQ(small.queued_packets(), 1U);
}

}  // namespace
}  // namespace perhop::node
