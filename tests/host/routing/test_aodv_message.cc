// SPDX-License-Identifier: GPL-2.0-or-later
//
// AODV's messages: bytes as RFC 3561 draws them, and what is refused.

#include <gtest/gtest.h>

#include <vector>

#include "host/core/wire/aodv_message.hpp"

namespace perhop::wire {
namespace {

using bytes = std::vector<std::uint8_t>;

TEST(AodvMessage, ARequestIsWrittenAsDrawn) {
  const aodv_message request = aodv_rreq{.destination_only = true,
                                         .hops = 3,
                                         .identification = 0x01020304,
                                         .destination = 0x0a000009,
                                         .destination_sequence = 0x05060708,
                                         .originator = 0x0a000001,
                                         .originator_sequence = 0x090a0b0c};
  const bytes expected{1, 0x10, 0, 3, 1, 2, 3, 4, 10, 0, 0, 9, 5, 6, 7, 8, 10, 0, 0, 1, 9, 10, 11, 12};
  EXPECT_EQ(encode(request), expected);
  EXPECT_EQ(decode_aodv_message(expected), request);
}

TEST(AodvMessage, ARequestThatKnowsNoSequenceNumberSaysSo) {
  const aodv_message request = aodv_rreq{.identification = 1, .destination = 2, .originator = 3, .originator_sequence = 4};
  const bytes expected{1, 0x08, 0, 0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 4};
  EXPECT_EQ(encode(request), expected);
  EXPECT_EQ(decode_aodv_message(expected), request);
}

TEST(AodvMessage, AReplyIsWrittenAsDrawn) {
  const aodv_message reply =
      aodv_rrep{.hops = 2, .destination = 0x0a000009, .destination_sequence = 7, .originator = 0x0a000001, .lifetime_ms = 10'000};
  const bytes expected{2, 0, 0, 2, 10, 0, 0, 9, 0, 0, 0, 7, 10, 0, 0, 1, 0, 0, 0x27, 0x10};
  EXPECT_EQ(encode(reply), expected);
  EXPECT_EQ(decode_aodv_message(expected), reply);
}

TEST(AodvMessage, AnErrorIsWrittenAsDrawn) {
  const aodv_message error = aodv_rerr{.no_delete = true, .lost = {{0x0a000009, 7}, {0x0a000008, 0x01000000}}};
  const bytes expected{3, 0x80, 0, 2, 10, 0, 0, 9, 0, 0, 0, 7, 10, 0, 0, 8, 1, 0, 0, 0};
  EXPECT_EQ(encode(error), expected);
  EXPECT_EQ(decode_aodv_message(expected), error);
}

TEST(AodvMessage, ExtensionsBehindAMessageAreSkipped) {
  bytes longer = encode(aodv_rrep{.hops = 1});
  longer.insert(longer.end(), {10, 4, 1, 2, 3, 4});
  EXPECT_EQ(decode_aodv_message(longer), aodv_message(aodv_rrep{.hops = 1}));
}

TEST(AodvMessage, WhatIsCutShortOrOfAnotherTypeIsRefused) {
  for (const aodv_message& message : {aodv_message(aodv_rreq{}), aodv_message(aodv_rrep{}), aodv_message(aodv_rerr{.lost = {{1, 2}}})}) {
    bytes written = encode(message);
    ASSERT_TRUE(decode_aodv_message(written));
    written.pop_back();
    EXPECT_FALSE(decode_aodv_message(written));
    written[0] = 4;  // Route Reply Acknowledgement
    EXPECT_FALSE(decode_aodv_message(written));
  }
  EXPECT_FALSE(decode_aodv_message({}));
  EXPECT_FALSE(decode_aodv_message(bytes{3, 0, 0, 0})) << "an error of no route";
}

}  // namespace
}  // namespace perhop::wire
