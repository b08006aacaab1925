// SPDX-License-Identifier: GPL-2.0-or-later
//
// DSR's header: bytes as RFC 4728 draws them, and what is refused.

#include <gtest/gtest.h>

#include <vector>

#include "host/core/wire/dsr_header.hpp"

namespace perhop::wire {
namespace {

using bytes = std::vector<std::uint8_t>;

TEST(DsrHeader, ASourceRouteIsWrittenAsDrawn) {
  const dsr_header header{.next_header = 6, .source_route = {{.salvage = 3, .segments_left = 1, .route = {0x0a000002, 0x0a000003}}}};
  const bytes expected{6, 0, 0, 12, 96, 10, 0x00, 0xc1, 10, 0, 0, 2, 10, 0, 0, 3};
  EXPECT_EQ(encode(header), expected);
  EXPECT_EQ(decode_dsr_header(expected)->header, header);
}

TEST(DsrHeader, ARequestIsWrittenAsDrawn) {
  const dsr_header header{.request = {{.identification = 0x0102, .target = 0x0a000009, .route = {0x0a000002}}}};
  const bytes expected{59, 0, 0, 12, 1, 10, 1, 2, 10, 0, 0, 9, 10, 0, 0, 2};
  EXPECT_EQ(encode(header), expected);
  EXPECT_EQ(decode_dsr_header(expected)->header, header);
}

TEST(DsrHeader, AReplyAndAnErrorAreWrittenAsDrawnAndFilledUpToFourBytes) {
  const dsr_header header{.replies = {{.route = {0x0a000002}}},
                          .errors = {{.salvage = 2, .source = 0x0a000003, .destination = 0x0a000001, .unreachable = 0x0a000004}}};
  const bytes expected{59, 0, 0, 24, 2, 5, 0, 10, 0, 0, 2, 3, 14, 1, 2, 10, 0, 0, 3, 10, 0, 0, 1, 10, 0, 0, 4, 224};
  EXPECT_EQ(encode(header), expected);
  EXPECT_EQ(size_bytes(header), expected.size());
  EXPECT_EQ(decode_dsr_header(expected)->header, header);
}

TEST(DsrHeader, WhatFollowsTheHeaderIsLeftAlone) {
  bytes packet = encode({.next_header = 6, .source_route = {{.segments_left = 1, .route = {7}}}});
  const std::size_t size = packet.size();
  packet.insert(packet.end(), {1, 2, 3});
  EXPECT_EQ(decode_dsr_header(packet)->size_bytes, size);
}

TEST(DsrHeader, PaddingAndOptionsThatMayBeIgnoredAreSkipped) {
  // Pad1, PadN of 3, Acknowledgement (32), Pad1.
  const bytes padded{59, 0, 0, 16, 224, 0, 1, 9, 32, 6, 0, 1, 2, 3, 4, 5, 224, 224, 224, 224};
  EXPECT_EQ(decode_dsr_header(padded)->header, dsr_header{});
}

TEST(DsrHeader, WhatMakesNoSenseIsRefused) {
  const bytes good{6, 0, 0, 12, 96, 10, 0, 2, 10, 0, 0, 2, 10, 0, 0, 3};
  ASSERT_TRUE(decode_dsr_header(good));
  const auto refused = [&](std::size_t at, std::uint8_t value) {
    bytes bad = good;
    bad[at] = value;
    return !decode_dsr_header(bad);
  };
  EXPECT_TRUE(refused(1, 0x80)) << "a flow state header";
  EXPECT_TRUE(refused(3, 16)) << "longer than the packet";
  EXPECT_TRUE(refused(3, 11)) << "no multiple of 4";
  EXPECT_TRUE(refused(4, 0xe1)) << "an option that must not be ignored";
  EXPECT_TRUE(refused(5, 11)) << "an option longer than the header";
  EXPECT_TRUE(refused(5, 9)) << "part of an address";
  EXPECT_TRUE(refused(7, 3)) << "more segments left than addresses";
  EXPECT_FALSE(decode_dsr_header(std::span(good).first(3)));
  for (std::size_t size = 4; size < good.size(); ++size) EXPECT_FALSE(decode_dsr_header(std::span(good).first(size))) << size;
  bytes twice = good;
  twice.insert(twice.end(), good.begin() + 4, good.end());
  twice[3] = 24;
  EXPECT_FALSE(decode_dsr_header(twice)) << "two source routes";
}

}  // namespace
}  // namespace perhop::wire
