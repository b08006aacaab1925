// SPDX-License-Identifier: GPL-2.0-or-later
#include "host/node/too_big.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "host/core/shim/ip_bytes.hpp"

namespace perhop::node {

using namespace shim;  // bytes of IP
namespace {

using bytes = std::vector<std::uint8_t>;

constexpr auto source = shim::ip_address::from_ipv4(0x0a000001), destination = shim::ip_address::from_ipv4(0x0a000004);
constexpr shim::ip_address source6{0xfd00'0000'0000'0000, 1}, destination6{0xfd00'0000'0000'0000, 4};

bytes ipv4(std::size_t payload_bytes, std::uint16_t flags_and_offset = 0, const bytes& options = {}, std::uint8_t protocol = 17) {
  bytes packet(ipv4_header_bytes);
  packet.insert(packet.end(), options.begin(), options.end());
  for (std::size_t i = 0; i < payload_bytes; ++i) packet.push_back(static_cast<std::uint8_t>(i * 7 + i / 256));
  write_ipv4_header(packet, protocol, 64, source, destination);
  packet[0] = static_cast<std::uint8_t>(0x40 | (ipv4_header_bytes + options.size()) / 4);
  write16(&packet[4], 0x1234);
  write16(&packet[6], flags_and_offset);
  write_ipv4_checksum(std::span(packet).first(ipv4_header_bytes + options.size()));
  return packet;
}

bytes ipv6(std::size_t payload_bytes, std::uint8_t protocol = 17) {
  bytes packet(ipv6_header_bytes + payload_bytes, 3);
  std::fill(packet.begin(), packet.begin() + ipv6_header_bytes, 0);
  write_ipv6_header(packet, protocol, 64, source6, destination6);
  return packet;
}

std::vector<bytes> cut(const bytes& packet, std::size_t most_bytes) { return fragments_of(packet, *read_ip(packet), most_bytes); }
bytes answer_to(const bytes& packet) {
  return too_big_message(packet, *read_ip(packet), 1400, packet[0] >> 4 == 4 ? destination : destination6);
}

std::size_t header_bytes(const bytes& packet) { return (packet[0] & 0xf) * std::size_t{4}; }
std::size_t offset_bytes(const bytes& packet) { return (read16(&packet[6]) & 0x1fff) * std::size_t{8}; }
bool more(const bytes& packet) { return (read16(&packet[6]) & 0x2000) != 0; }

/// What a receiver makes of fragments, in whatever order.
bytes reassembled(const std::vector<bytes>& fragments) {
  bytes payload;
  for (const bytes& fragment : fragments) {
    const std::size_t end = offset_bytes(fragment) + fragment.size() - header_bytes(fragment);
    payload.resize(std::max(payload.size(), end));
    std::copy(fragment.begin() + static_cast<std::ptrdiff_t>(header_bytes(fragment)), fragment.end(),
              payload.begin() + static_cast<std::ptrdiff_t>(offset_bytes(fragment)));
  }
  return payload;
}

TEST(too_big, fragments_fit_and_make_the_packet_again) {
  std::minstd_rand random(5);
  for (int round = 0; round < 300; ++round) {
    const bytes packet = ipv4(1 + random() % 9000);
    const std::size_t most_bytes = 68 + random() % 2300;
    const std::vector<bytes> fragments = cut(packet, most_bytes);
    ASSERT_FALSE(fragments.empty());
    for (const bytes& fragment : fragments) {
      const auto read = read_ip(fragment);
      ASSERT_TRUE(read);
      EXPECT_LE(fragment.size(), most_bytes);
      EXPECT_EQ(read->view.ip_bytes, fragment.size());
      EXPECT_EQ(read->view.ttl, 64);
      EXPECT_EQ(read16(&fragment[4]), 0x1234) << "identification";
      EXPECT_EQ(more(fragment), &fragment != &fragments.back());
      EXPECT_EQ(folded(sum_of(std::span(fragment).first(header_bytes(fragment)))), 0) << "header checksum";
    }
    EXPECT_EQ(reassembled(fragments), bytes(packet.begin() + ipv4_header_bytes, packet.end()));
  }
}

TEST(too_big, a_fragment_is_cut_again_and_keeps_its_place) {
  for (const bool last : {false, true}) {
    const std::vector<bytes> fragments = cut(ipv4(1600, last ? 100 : 0x2000 | 100), 600);
    ASSERT_EQ(fragments.size(), 3U);
    EXPECT_EQ(offset_bytes(fragments[0]), 800U);
    EXPECT_EQ(offset_bytes(fragments[1]), 800U + 576);
    EXPECT_TRUE(more(fragments[1]));
    EXPECT_EQ(more(fragments[2]), !last);
  }
}

TEST(too_big, only_the_options_that_say_so_are_in_every_fragment) {
  // Record route (once), no-operation, router alert (copied), end.
  const std::vector<bytes> fragments = cut(ipv4(1000, 0, {7, 7, 4, 0, 0, 0, 0, 1, 0x94, 4, 0, 0}), 500);
  ASSERT_EQ(fragments.size(), 3U);
  EXPECT_EQ(header_bytes(fragments[0]), 32U);
  EXPECT_EQ(header_bytes(fragments[1]), 24U);
  EXPECT_EQ(bytes(fragments[1].begin() + 20, fragments[1].begin() + 24), (bytes{0x94, 4, 0, 0}));
  EXPECT_EQ(reassembled(fragments).size(), 1000U);
  for (const bytes& fragment : fragments) EXPECT_EQ(folded(sum_of(std::span(fragment).first(header_bytes(fragment)))), 0);
  // An option whose length lies ends the list.
  EXPECT_EQ(header_bytes(cut(ipv4(1000, 0, {0x94, 200, 0, 0}), 500)[1]), 20U);
  EXPECT_EQ(header_bytes(cut(ipv4(1000, 0, {1, 1, 1, 0x94}), 500)[1]), 24U);
}

TEST(too_big, ipv6_and_packets_that_forbid_it_are_not_cut) {
  EXPECT_TRUE(cut(ipv4(3000, 0x4000), 1500).empty());
  EXPECT_TRUE(cut(ipv6(3000), 1500).empty());
}

TEST(too_big, the_sender_of_an_ipv4_packet_is_told_the_mtu) {
  const bytes packet = ipv4(3000, 0x4000);
  const bytes message = answer_to(packet);
  const auto read = read_ip(message);
  ASSERT_TRUE(read);
  EXPECT_EQ(message.size(), 576U);
  EXPECT_EQ(read->view.flow.source, destination);
  EXPECT_EQ(read->view.flow.destination, source);
  EXPECT_EQ(message[9], ip_protocol_icmp);
  EXPECT_EQ(folded(sum_of(std::span(message).first(20))), 0);
  EXPECT_EQ(folded(sum_of(std::span(message).subspan(20))), 0) << "ICMP checksum";
  EXPECT_EQ(message[20], 3);
  EXPECT_EQ(message[21], 4);
  EXPECT_EQ(read16(&message[24]), 0) << "unused (RFC 1191, 4)";
  EXPECT_EQ(read16(&message[26]), 1400) << "next-hop MTU";
  EXPECT_EQ(bytes(message.begin() + 28, message.end()), bytes(packet.begin(), packet.begin() + 548)) << "as it came, with its checksum";
}

TEST(too_big, the_sender_of_an_ipv6_packet_is_told_the_mtu) {
  const bytes packet = ipv6(3000);
  const bytes message = answer_to(packet);
  const auto read = read_ip(message);
  ASSERT_TRUE(read);
  EXPECT_EQ(message.size(), 1280U);
  EXPECT_EQ(read->view.flow.source, destination6);
  EXPECT_EQ(read->view.flow.destination, source6);
  EXPECT_EQ(message[6], ip_protocol_icmpv6);
  EXPECT_EQ(message[40], 2);
  EXPECT_EQ(message[41], 0);
  EXPECT_EQ(read32(&message[44]), 1400U);
  EXPECT_EQ(bytes(message.begin() + 48, message.end()), bytes(packet.begin(), packet.begin() + 1232));
  const std::uint32_t pseudo = sum_of(std::span(message).subspan(8, 32)) + (1280 - 40) + 58;
  EXPECT_EQ(folded(pseudo + sum_of(std::span(message).subspan(40))), 0);
}

TEST(too_big, what_must_not_be_answered_is_not) {
  const auto with_ipv4 = [](std::size_t at, std::uint32_t address) {
    bytes packet = ipv4(3000, 0x4000);
    write32(&packet[at], address);
    return packet;
  };
  for (const std::uint32_t nobody : {0x00000000U, 0x7f000001U, 0xe0000001U, 0xffffffffU, 0xf0000001U}) {
    EXPECT_TRUE(answer_to(with_ipv4(12, nobody)).empty()) << std::hex << nobody;
  }
  EXPECT_TRUE(answer_to(with_ipv4(16, 0xe0000001)).empty()) << "to a group";
  EXPECT_TRUE(answer_to(with_ipv4(16, 0xffffffff)).empty());
  EXPECT_TRUE(answer_to(ipv4(3000, 0x4000 | 5)).empty()) << "a fragment behind the first";
  EXPECT_FALSE(answer_to(ipv4(3000, 0x4000 | 0x2000)).empty()) << "the first one";
  for (int type = 0; type < 256; ++type) {
    bytes packet = ipv4(3000, 0x4000, {}, ip_protocol_icmp);
    packet[20] = static_cast<std::uint8_t>(type);
    const bool error = type == 3 || type == 4 || type == 5 || type == 11 || type == 12;
    const bool query = type == 0 || type == 8;
    if (error || query) {
      EXPECT_EQ(answer_to(packet).empty(), error) << "ICMP type " << type;
    }
    packet = ipv6(3000, ip_protocol_icmpv6);
    packet[40] = static_cast<std::uint8_t>(type);
    EXPECT_EQ(answer_to(packet).empty(), type < 128 || type == 137) << "ICMPv6 type " << type;
  }
  const auto with_ipv6 = [](std::size_t at, const shim::ip_address& address) {
    bytes packet = ipv6(3000);
    write64(&packet[at], address.high);
    write64(&packet[at + 8], address.low);
    return packet;
  };
  EXPECT_TRUE(answer_to(with_ipv6(8, {0, 0})).empty());
  EXPECT_TRUE(answer_to(with_ipv6(8, {0, 1})).empty());
  EXPECT_TRUE(answer_to(with_ipv6(8, {0xff02'0000'0000'0000, 1})).empty());
  EXPECT_TRUE(answer_to(with_ipv6(24, {0xff02'0000'0000'0000, 1})).empty());
  EXPECT_FALSE(answer_to(with_ipv6(8, {0xfe80'0000'0000'0000, 1})).empty());
}

TEST(too_big, nothing_that_reads_as_ip_is_too_strange) {
  std::minstd_rand random(9);
  for (int round = 0; round < 50'000; ++round) {
    bytes packet(1 + random() % 200);
    for (std::uint8_t& byte : packet) byte = static_cast<std::uint8_t>(random());
    packet[0] = static_cast<std::uint8_t>((random() % 2 == 0 ? 0x40 : 0x60) | random() % 16);
    if (packet.size() > 6) write16(&packet[packet[0] >> 4 == 4 ? 2 : 4], static_cast<std::uint16_t>(packet.size() - random() % 60));
    const auto read = read_ip(packet);
    if (!read) continue;
    const bytes whole(packet.begin(), packet.begin() + read->view.ip_bytes);
    fragments_of(whole, *read, 28 + random() % 100);
    too_big_message(whole, *read, 1400, source);
  }
}

TEST(rate_bound, ten_at_once_and_then_ten_a_second) {
  rate_bound bound;
  const auto taken = [&bound](policy::time_us from, policy::time_us until) {
    int count = 0;
    for (policy::time_us now = from; now < until; now += 1000) count += bound.take(now);
    return count;
  };
  EXPECT_EQ(taken(5'000'000, 5'001'000), 1);
  EXPECT_EQ(taken(5'001'000, 5'090'000), 9);
  EXPECT_NEAR(taken(5'100'000, 8'100'000), 30, 1);
  EXPECT_EQ(taken(100'000'000, 100'050'000), 10) << "a pause fills the bucket, and no more than that";
}

}  // namespace
}  // namespace perhop::node
