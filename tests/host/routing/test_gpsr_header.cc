// SPDX-License-Identifier: GPL-2.0-or-later
//
// GPSR's headers: bytes as gateware/spec/frames.yaml lays them out, and what is refused.

#include <gtest/gtest.h>

#include <vector>

#include "host/core/wire/gpsr_header.hpp"

namespace perhop::wire {
namespace {

using bytes = std::vector<std::uint8_t>;

const gpsr_header beacon{.sender = 0x0a000002, .sender_at = {1000, -1}};
const gpsr_header greedy{.sender = 0x0a000002, .sender_at = {1000, -1}, .route = {{.next_header = 6, .destination = {-2, 0x01020304}}}};

TEST(GpsrHeader, ABeaconIsWrittenAsLaidOut) {
  const bytes expected{0x10, 10, 0, 0, 2, 0, 0, 0x03, 0xe8, 0xff, 0xff, 0xff, 0xff};
  EXPECT_EQ(encode(beacon), expected);
  EXPECT_EQ(decode_gpsr_header(expected)->header, beacon);
}

TEST(GpsrHeader, APacketThatGoesGreedilyIsWrittenAsLaidOut) {
  const bytes expected{0x20, 6, 10, 0, 0, 2, 0, 0, 0x03, 0xe8, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfe, 1, 2, 3, 4};
  EXPECT_EQ(encode(greedy), expected);
  EXPECT_EQ(decode_gpsr_header(expected)->header, greedy);
}

TEST(GpsrHeader, APacketThatGoesAroundAVoidKeepsWhereItEnteredAndItsFirstEdge) {
  gpsr_header around = greedy;
  around.route->perimeter = {.entered = {1, 2}, .face = {-3, 4}, .first_edge_from = 0x0a000002, .first_edge_to = 0x0a000003};
  const bytes written = encode(around);
  const bytes tail{0, 0, 0, 1, 0, 0, 0, 2, 0xff, 0xff, 0xff, 0xfd, 0, 0, 0, 4, 10, 0, 0, 2, 10, 0, 0, 3};
  ASSERT_EQ(written.size(), 22 + tail.size());
  EXPECT_EQ(written[0], 0x21);
  EXPECT_EQ(bytes(written.begin() + 22, written.end()), tail);
  EXPECT_EQ(decode_gpsr_header(written)->header, around);
}

TEST(GpsrHeader, WhatFollowsTheHeaderIsLeftAlone) {
  for (const gpsr_header& header : {beacon, greedy}) {
    bytes packet = encode(header);
    const std::size_t size = packet.size();
    packet.insert(packet.end(), 30, 7);
    EXPECT_EQ(decode_gpsr_header(packet)->size_bytes, size);
  }
}

TEST(GpsrHeader, WhatMakesNoSenseIsRefused) {
  gpsr_header around = greedy;
  around.route->perimeter.emplace();
  for (const gpsr_header& header : {beacon, greedy, around}) {
    const bytes good = encode(header);
    for (std::size_t size = 0; size < good.size(); ++size) EXPECT_FALSE(decode_gpsr_header(std::span(good).first(size))) << size;
    for (const std::uint8_t first : {0x00, 0x30, 0xf0, 0x12, 0x22, 0x24, 0x28}) {
      bytes bad = good;
      bad[0] = first;
      EXPECT_FALSE(decode_gpsr_header(bad)) << int{first};
    }
  }
}

}  // namespace
}  // namespace perhop::wire
