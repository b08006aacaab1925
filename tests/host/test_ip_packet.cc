// SPDX-License-Identifier: GPL-2.0-or-later
#include "host/core/shim/ip_packet.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace perhop::shim {
namespace {

using bytes = std::vector<std::uint8_t>;

std::uint32_t sum_words(std::span<const std::uint8_t> data) {
  std::uint32_t sum = 0;
  for (std::size_t i = 0; i < data.size(); ++i) sum += i % 2 == 0 ? std::uint32_t{data[i]} << 8 : data[i];
  return sum;
}

std::uint16_t folded(std::uint32_t sum) {
  while (sum >> 16 != 0) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<std::uint16_t>(~sum);
}

/// RFC 1071 over the whole, computed anew: what the incremental changes must agree with. 0: right.
std::uint16_t tcp_checksum(const bytes& packet) {
  const bool ipv6 = packet[0] >> 4 == 6;
  const std::size_t at = ipv6 ? 40 : 20;
  const std::span<const std::uint8_t> whole(packet);
  std::uint32_t sum = ipv6 ? sum_words(whole.subspan(8, 32)) : sum_words(whole.subspan(12, 8));
  sum += 6 + static_cast<std::uint32_t>(packet.size() - at);
  return folded(sum + sum_words(whole.subspan(at)));
}

void put16(bytes& packet, std::size_t at, std::uint32_t value) {
  packet[at] = static_cast<std::uint8_t>(value >> 8);
  packet[at + 1] = static_cast<std::uint8_t>(value);
}

/// A SYN with the options of Linux: MSS, SACK permitted, timestamps, no-operation, window scale 7.
bytes make_syn(bool ipv6, std::uint8_t ttl = 64, std::size_t payload_bytes = 0) {
  const bytes options = {2, 4, 0x05, 0xb4, 4, 2, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2, 1, 3, 3, 7};
  const std::size_t at = ipv6 ? 40 : 20;
  bytes packet(at + 20 + options.size() + payload_bytes, 0xa5);
  std::fill(packet.begin(), packet.begin() + static_cast<std::ptrdiff_t>(at + 20), 0);
  const auto total = static_cast<std::uint32_t>(packet.size());
  if (ipv6) {
    packet[0] = 0x60;
    put16(packet, 4, total - 40);
    packet[6] = 6;
    packet[7] = ttl;
    packet[8] = packet[24] = 0xfd;
    packet[23] = 1;
    packet[39] = 2;
  } else {
    packet[0] = 0x45;
    put16(packet, 2, total);
    packet[8] = ttl;
    packet[9] = 6;
    put16(packet, 12, 0x0a00);
    put16(packet, 14, 1);
    put16(packet, 16, 0x0a00);
    put16(packet, 18, 4);
    put16(packet, 10, folded(sum_words(std::span<const std::uint8_t>(packet).first(20))));
  }
  put16(packet, at, 40000);
  put16(packet, at + 2, 5201);
  put16(packet, at + 6, 77);
  packet[at + 12] = static_cast<std::uint8_t>((20 + options.size()) / 4 << 4);
  packet[at + 13] = 0x02;
  put16(packet, at + 14, 64240);
  std::copy(options.begin(), options.end(), packet.begin() + static_cast<std::ptrdiff_t>(at + 20));
  put16(packet, at + 16, tcp_checksum(packet));
  EXPECT_EQ(tcp_checksum(packet), 0);
  return packet;
}

class both_families : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(families, both_families, testing::Bool());

TEST_P(both_families, tells_the_shim_what_a_syn_says) {
  const auto packet = read_ip(make_syn(GetParam()));
  ASSERT_TRUE(packet);
  EXPECT_EQ(packet->ipv6, GetParam());
  EXPECT_EQ(packet->view.flow.source_port, 40000);
  EXPECT_EQ(packet->view.flow.destination_port, 5201);
  EXPECT_EQ(packet->view.ttl, 64);
  EXPECT_TRUE(packet->view.tcp.syn);
  EXPECT_FALSE(packet->view.tcp.has_tcp_ack);
  EXPECT_EQ(packet->view.tcp.sequence, 77U);
  EXPECT_EQ(packet->view.tcp.window_bytes, 64240U);
  EXPECT_EQ(packet->view.tcp.mss_option_bytes, 1460);
  EXPECT_TRUE(packet->view.tcp.timestamps);
  EXPECT_EQ(packet->view.tcp.timestamp_value, 1U);
  EXPECT_EQ(packet->view.tcp.timestamp_echo, 2U);
  EXPECT_EQ(packet->view.tcp.payload_bytes, 0U);
  EXPECT_FALSE(packet->group);
}

TEST_P(both_families, every_change_leaves_the_checksum_right) {
  bytes packet = make_syn(GetParam(), 64, 101);
  write_window(packet, *read_ip(packet), 1448);
  EXPECT_EQ(tcp_checksum(packet), 0);
  EXPECT_EQ(read_ip(packet)->view.tcp.window_bytes, 1448U);
  write_window(packet, *read_ip(packet), 1'000'000);
  EXPECT_EQ(read_ip(packet)->view.tcp.window_bytes, 65535U);
  EXPECT_EQ(tcp_checksum(packet), 0);

  strip_window_scaling(packet, *read_ip(packet));
  EXPECT_EQ(tcp_checksum(packet), 0);
  const std::size_t scale_at = (GetParam() ? 40U : 20U) + 20 + 17;
  EXPECT_EQ(bytes(packet.begin() + static_cast<std::ptrdiff_t>(scale_at), packet.begin() + static_cast<std::ptrdiff_t>(scale_at) + 3),
            (bytes{1, 1, 1}));
  EXPECT_EQ(read_ip(packet)->view.tcp.mss_option_bytes, 1460) << "the other options stay";
  const bytes once = packet;
  strip_window_scaling(packet, *read_ip(packet));
  EXPECT_EQ(packet, once) << "nothing left to strip";

  lower_ttl(packet, *read_ip(packet));
  EXPECT_EQ(read_ip(packet)->view.ttl, 63);
  EXPECT_EQ(tcp_checksum(packet), 0);
  if (!GetParam()) {
    EXPECT_EQ(folded(sum_words(std::span<const std::uint8_t>(packet).first(20))), 0);
  }
}

TEST_P(both_families, a_mark_of_congestion_is_read_back_and_changes_nothing_else) {
  for (unsigned dscp = 0; dscp < 64; ++dscp) {
    for (const ecn_field before : {ecn_field::not_capable, ecn_field::capable_1, ecn_field::capable_0, ecn_field::congested}) {
      bytes packet = make_syn(GetParam(), 64, 101);
      const unsigned traffic_class = dscp << 2 | static_cast<unsigned>(before);
      if (GetParam()) {
        packet[0] = static_cast<std::uint8_t>(0x60 | traffic_class >> 4);
        packet[1] = static_cast<std::uint8_t>(traffic_class << 4 | 0xf);
      } else {
        packet[1] = static_cast<std::uint8_t>(traffic_class);
        put16(packet, 10, 0);
        put16(packet, 10, folded(sum_words(std::span<const std::uint8_t>(packet).first(20))));
      }
      ASSERT_EQ(read_ip(packet)->view.ecn, before);
      const bytes unmarked = packet;
      mark_congestion(packet, *read_ip(packet));
      EXPECT_EQ(read_ip(packet)->view.ecn, ecn_field::congested);
      EXPECT_EQ(read_ip(packet)->view.expedited, dscp == 46);
      if (!GetParam()) {
        EXPECT_EQ(folded(sum_words(std::span<const std::uint8_t>(packet).first(20))), 0);
      }
      std::size_t changed = 0;
      for (std::size_t at = 0; at < packet.size(); ++at) changed += packet[at] != unmarked[at] && at != 10 && at != 11 ? 1 : 0;
      EXPECT_EQ(changed, before == ecn_field::congested ? 0U : 1U);
    }
  }
}

TEST_P(both_families, time_to_live_can_be_lowered_to_nothing) {
  bytes packet = make_syn(GetParam(), 255);
  for (int left = 254; left >= 0; --left) {
    lower_ttl(packet, *read_ip(packet));
    ASSERT_EQ(read_ip(packet)->view.ttl, left);
    if (!GetParam()) {
      ASSERT_EQ(folded(sum_words(std::span<const std::uint8_t>(packet).first(20))), 0) << left;
    }
  }
}

TEST_P(both_families, a_packet_cut_short_is_refused_and_one_with_bytes_behind_it_is_not) {
  const bytes whole = make_syn(GetParam(), 64, 10);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(read_ip(std::span<const std::uint8_t>(whole).first(size))) << size;
  }
  bytes longer = whole;
  longer.resize(longer.size() + 7);
  ASSERT_TRUE(read_ip(longer));
  EXPECT_EQ(read_ip(longer)->view.tcp.payload_bytes, 10U);
}

TEST(ip_packet, a_segment_alone_says_what_it_says_within_its_packet) {
  const bytes packet = make_syn(false, 64, 7);
  const std::span<const std::uint8_t> segment = std::span(packet).subspan(20);
  const auto whole = read_ip(packet);
  ASSERT_TRUE(whole);
  ip_packet_view view;
  // TCP's header is enough of it.
  ASSERT_TRUE(read_segment(segment.first(40), segment.size(), view));
  EXPECT_EQ(view.flow.source_port, whole->view.flow.source_port);
  EXPECT_EQ(view.flow.destination_port, whole->view.flow.destination_port);
  EXPECT_EQ(view.tcp.payload_bytes, 7U);
  EXPECT_EQ(view.tcp.sequence, whole->view.tcp.sequence);
  EXPECT_EQ(view.tcp.mss_option_bytes, whole->view.tcp.mss_option_bytes);
  EXPECT_TRUE(view.tcp.syn);
  EXPECT_FALSE(read_segment(segment.first(39), segment.size(), view)) << "the options are cut short";
  EXPECT_FALSE(read_segment(segment.first(19), segment.size(), view));
}

TEST(ip_packet, a_fragment_has_no_ports) {
  bytes packet = make_syn(false, 64, 8);
  packet[6] = 0x20;  // more fragments
  ASSERT_TRUE(read_ip(packet));
  EXPECT_EQ(read_ip(packet)->transport_at, 0U);
  EXPECT_NE(read_ip(packet)->view.flow.protocol, ip_protocol_tcp);
}

TEST(ip_packet, a_tcp_header_longer_than_the_packet_is_not_read) {
  bytes packet = make_syn(false);
  packet[20 + 12] = 0xf0;
  ASSERT_TRUE(read_ip(packet));
  EXPECT_EQ(read_ip(packet)->transport_at, 0U);
}

TEST(ip_packet, expedited_forwarding_is_told_from_every_other_dscp) {
  for (unsigned dscp = 0; dscp < 64; ++dscp) {
    for (unsigned ecn = 0; ecn < 4; ++ecn) {
      const unsigned traffic_class = dscp << 2 | ecn;
      bytes ipv4 = make_syn(false), ipv6 = make_syn(true);
      ipv4[1] = static_cast<std::uint8_t>(traffic_class);
      ipv6[0] = static_cast<std::uint8_t>(0x60 | traffic_class >> 4);
      ipv6[1] = static_cast<std::uint8_t>(traffic_class << 4 | 0xf);
      EXPECT_EQ(read_ip(ipv4)->view.expedited, dscp == 46) << dscp;
      EXPECT_EQ(read_ip(ipv6)->view.expedited, dscp == 46) << dscp;
    }
  }
}

TEST(ip_packet, groups_are_told) {
  bytes packet = make_syn(false);
  packet[16] = 224;
  EXPECT_TRUE(read_ip(packet)->group);
  bytes sixth = make_syn(true);
  sixth[24] = 0xff;
  EXPECT_TRUE(read_ip(sixth)->group);
}

TEST(ip_packet, random_bytes_are_read_and_changed_within_their_bounds) {
  std::minstd_rand random(7);
  for (int round = 0; round < 200'000; ++round) {
    bytes packet = round % 2 == 0 ? make_syn(random() % 2 == 0, 64, random() % 20) : bytes(random() % 120);
    for (std::uint8_t& byte : packet) {
      if (round % 2 == 1 || random() % 16 == 0) byte = static_cast<std::uint8_t>(random());
    }
    // A copy of exactly this size: sanitizers see a byte too many.
    const auto read = read_ip(packet);
    if (!read) continue;
    ASSERT_LE(read->view.ip_bytes, packet.size());
    if (read->view.flow.protocol == ip_protocol_tcp && read->transport_at != 0) {
      ASSERT_LE(read->transport_at + 20 + read->view.tcp.payload_bytes, read->view.ip_bytes);
      write_window(packet, *read, 1);
      strip_window_scaling(packet, *read);
    }
  }
}

TEST(ip_packet, an_empty_udp_packet_is_whole_and_its_checksums_hold) {
  for (const bool ipv6 : {false, true}) {
    const ip_address one = ipv6 ? ip_address{0xfd70'6572'686f'0070, 0x1} : ip_address::from_ipv4(0x0a000001);
    const ip_address other = ipv6 ? ip_address{0xfd70'6572'686f'0070, 0x4} : ip_address::from_ipv4(0x0a000004);
    const flow_key flow{.source = one, .destination = other, .source_port = 40000, .destination_port = 5004, .protocol = 17};
    const bytes packet = empty_udp(flow);
    const auto read = read_ip(packet);
    ASSERT_TRUE(read);
    EXPECT_EQ(read->view.flow, flow);
    EXPECT_EQ(read->view.ip_bytes, packet.size());
    EXPECT_EQ(read->view.ttl, 64);
    const std::size_t at = ipv6 ? 40 : 20;
    const std::span<const std::uint8_t> whole(packet);
    if (!ipv6) {
      EXPECT_EQ(folded(sum_words(whole.first(20))), 0);
    }
    const std::uint32_t pseudo = (ipv6 ? sum_words(whole.subspan(8, 32)) : sum_words(whole.subspan(12, 8))) + 17 + 8;
    EXPECT_EQ(folded(pseudo + sum_words(whole.subspan(at))), 0);
  }
}

}  // namespace
}  // namespace perhop::shim
