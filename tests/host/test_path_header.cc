// SPDX-License-Identifier: GPL-2.0-or-later

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include "host/core/wire/path_header.hpp"
#include "tests/host/test_seed.hpp"

namespace perhop::wire {
namespace {

path_header random_header(std::mt19937_64& random) {
  const auto below = [&random](std::uint64_t n) { return std::uniform_int_distribution<std::uint64_t>(0, n - 1)(random); };
  // Delays as a path makes them: hop after hop, so that sum, maximum and count agree.
  const auto walk = [&](std::uint32_t& total_us, std::uint32_t& largest_us, std::uint8_t& hops) {
    hops = static_cast<std::uint8_t>(below(256));
    for (int hop = 0; hop < hops; ++hop) {
      const auto delay_us = static_cast<std::uint32_t>(16 * below(4096));
      total_us = std::min(total_us + delay_us, max_delay_us);
      largest_us = std::max(largest_us, delay_us);
    }
  };
  path_header header;
  header.wired_hop_seen = below(2) == 1;
  header.silent_router_seen = below(2) == 1;
  header.exact_follows = below(2) == 1;
  walk(header.total_delay_us, header.max_delay_us, header.hops);
  header.explicit_rate_bps = decode_rate(static_cast<std::uint16_t>(below(65536)));
  header.current_rate_bps = decode_rate(static_cast<std::uint16_t>(below(65536)));
  header.packets_in_flight = static_cast<std::uint8_t>(below(256));
  if (below(2) == 1) {
    path_echo echo;
    walk(echo.total_delay_us, echo.max_delay_us, echo.hops);
    echo.rate_bps = decode_rate(static_cast<std::uint16_t>(below(65536)));
    header.echo = echo;
  }
  return header;
}

/// A copy that ends where its memory ends, so that a sanitiser sees every byte read beyond it.
decode_result decode_exact(const std::uint8_t* bytes, std::size_t count) {
  const auto exact = std::make_unique<std::uint8_t[]>(count);
  std::copy_n(bytes, count, exact.get());
  return decode({exact.get(), count});
}

TEST(path_header_codec, every_field_has_its_place) {
  path_header header;
  header.wired_hop_seen = true;
  header.hops = 3;
  header.total_delay_us = 0x0123 * 16;
  header.max_delay_us = 0x00ab * 16;
  header.explicit_rate_bps = 2'000'000;  // 1953.125 * 2^10, rounded to 1953 * 2^10
  header.current_rate_bps = 1500;        // below 2048: exact, exponent 0
  header.packets_in_flight = 7;
  header.echo = path_echo{.total_delay_us = 0x4567 * 16, .max_delay_us = 0x4321 * 16, .hops = 9, .rate_bps = 0};

  const path_header_buffer expected = {
      0x15,  // version 1, wired hop and echo valid
      3,     // hops
      0x01,
      0x23,
      0x00,
      0xab,  // total, max
      10 << 3 | 1953 >> 8,
      1953 & 0xff,  // explicit rate
      0x05,
      0xdc,  // current rate
      7,     // packets in flight
      0x45,
      0x67,
      0x43,
      0x21,
      9,  // echo
      0x00,
      0x00,
  };
  EXPECT_EQ(encode(header), expected);
}

TEST(path_header_codec, random_headers_survive_the_round_trip) {
  std::mt19937_64 random(test_seed());
  PERHOP_TELL_SEED();
  for (int i = 0; i < 100'000; ++i) {
    const path_header sent = random_header(random);
    const path_header_buffer bytes = encode(sent);
    const decode_result arrived = decode_exact(bytes.data(), bytes.size());
    ASSERT_TRUE(arrived) << "header " << i << ", reason " << static_cast<int>(arrived.error());
    ASSERT_EQ(*arrived, sent) << "header " << i;
  }
}

TEST(path_header_codec, delays_round_to_the_nearest_unit_and_saturate) {
  EXPECT_EQ(quantise_delay_us(0), 0U);
  EXPECT_EQ(quantise_delay_us(7), 0U);
  EXPECT_EQ(quantise_delay_us(8), 16U);
  EXPECT_EQ(quantise_delay_us(23), 16U);
  EXPECT_EQ(quantise_delay_us(24), 32U);
  EXPECT_EQ(quantise_delay_us(max_delay_us), max_delay_us);
  EXPECT_EQ(quantise_delay_us(max_delay_us + 8), max_delay_us);
  EXPECT_EQ(quantise_delay_us(UINT32_MAX), max_delay_us);
  for (std::uint32_t delay_us = 0; delay_us <= max_delay_us; ++delay_us) {
    const std::uint32_t arrived_us = quantise_delay_us(delay_us);
    const std::uint32_t error_us = arrived_us > delay_us ? arrived_us - delay_us : delay_us - arrived_us;
    ASSERT_LE(error_us, 8U) << delay_us;
  }
}

TEST(path_header_codec, bytes_after_the_header_are_left_alone) {
  std::vector<std::uint8_t> packet(1500, 0xff);
  path_header header;
  header.hops = 1;
  header.total_delay_us = header.max_delay_us = 160;
  std::ranges::copy(encode(header), packet.begin());
  const decode_result arrived = decode(packet);
  ASSERT_TRUE(arrived);
  EXPECT_EQ(*arrived, header);
}

TEST(rate_float, every_code_decodes_to_its_formula_and_back_to_its_rate) {
  for (std::uint32_t code = 0; code <= 0xffff; ++code) {
    const std::uint64_t rate_bps = decode_rate(static_cast<std::uint16_t>(code));
    const std::uint64_t mantissa = code % 2048;
    std::uint64_t expected_bps = mantissa;
    for (std::uint32_t doubling = 0; doubling < code / 2048; ++doubling) expected_bps *= 2;
    ASSERT_EQ(rate_bps, expected_bps) << code;
    ASSERT_EQ(decode_rate(encode_rate(rate_bps)), rate_bps) << code;
  }
}

TEST(rate_float, encoding_takes_the_nearest_rate) {
  // All rates that a code can express, sorted: the nearest of them is the right answer for any rate.
  std::vector<std::uint64_t> rates_bps;
  for (std::uint32_t code = 0; code <= 0xffff; ++code) rates_bps.push_back(decode_rate(static_cast<std::uint16_t>(code)));
  std::ranges::sort(rates_bps);

  std::mt19937_64 random(test_seed());
  PERHOP_TELL_SEED();
  for (int i = 0; i < 200'000; ++i) {
    const int bits = std::uniform_int_distribution<int>(1, 44)(random);
    const std::uint64_t rate_bps = random() >> (64 - bits);
    const auto above = std::ranges::lower_bound(rates_bps, rate_bps);
    std::uint64_t nearest_error_bps = UINT64_MAX;
    if (above != rates_bps.end()) nearest_error_bps = *above - rate_bps;
    if (above != rates_bps.begin()) nearest_error_bps = std::min(nearest_error_bps, rate_bps - *std::prev(above));
    const std::uint64_t arrived_bps = quantise_rate_bps(rate_bps);
    const std::uint64_t error_bps = arrived_bps > rate_bps ? arrived_bps - rate_bps : rate_bps - arrived_bps;
    ASSERT_EQ(error_bps, nearest_error_bps) << rate_bps;
  }
}

TEST(rate_float, rates_beyond_the_largest_saturate) {
  EXPECT_EQ(encode_rate(unlimited_rate_bps), 0xffff);
  EXPECT_EQ(encode_rate(unlimited_rate_bps - 1), 0xffff);
  EXPECT_EQ(encode_rate(unlimited_rate_bps + 1), 0xffff);
  EXPECT_EQ(encode_rate(UINT64_MAX), 0xffff);
}

/// A header in which every field is filled, as bytes.
path_header_buffer full_header() {
  path_header header;
  header.hops = 4;
  header.total_delay_us = 16 * 400;
  header.max_delay_us = 16 * 150;
  header.packets_in_flight = 3;
  header.current_rate_bps = 1000;
  header.echo = path_echo{.total_delay_us = 16 * 90, .max_delay_us = 16 * 40, .hops = 3, .rate_bps = 5000};
  return encode(header);
}

TEST(malformed_header, every_truncation_is_refused) {
  const path_header_buffer bytes = full_header();
  for (std::size_t count = 0; count < bytes.size(); ++count) {
    const decode_result result = decode_exact(bytes.data(), count);
    ASSERT_FALSE(result) << count << " bytes";
    EXPECT_EQ(result.error(), decode_error::truncated) << count << " bytes";
  }
  EXPECT_TRUE(decode_exact(bytes.data(), bytes.size()));
}

TEST(malformed_header, every_other_version_is_refused) {
  path_header_buffer bytes = full_header();
  for (std::uint32_t version = 0; version < 16; ++version) {
    bytes[0] = static_cast<std::uint8_t>(version << 4 | (bytes[0] & 0xf));
    const decode_result result = decode(bytes);
    ASSERT_EQ(result.has_value(), version == path_header_version) << version;
    if (!result) {
      EXPECT_EQ(result.error(), decode_error::foreign_version) << version;
    }
  }
}

TEST(malformed_header, contradictions_are_refused) {
  struct contradiction {
    const char* what;
    std::size_t offset;
    std::vector<std::uint8_t> bytes;
    decode_error error;
  };
  const contradiction contradictions[] = {
      {"largest hop above the sum", 4, {0x01, 0x91}, decode_error::max_above_total},
      {"largest echoed hop above the echoed sum", 13, {0x00, 0x5b}, decode_error::max_above_total},
      {"delay without hops", 1, {0}, decode_error::delay_without_hops},
      {"echoed delay without hops", 15, {0}, decode_error::delay_without_hops},
      {"sum above hops times the largest", 1, {2}, decode_error::total_above_hops},
      {"echoed sum above hops times the largest", 15, {2}, decode_error::total_above_hops},
      {"sum, and no hop that took time", 4, {0, 0}, decode_error::total_above_hops},
      {"echo filled but not valid", 0, {0x10}, decode_error::echo_without_flag},
  };
  for (const contradiction& c : contradictions) {
    path_header_buffer bytes = full_header();
    for (std::size_t i = 0; i < c.bytes.size(); ++i) bytes.at(c.offset + i) = c.bytes[i];
    const decode_result result = decode(bytes);
    ASSERT_FALSE(result) << c.what;
    EXPECT_EQ(result.error(), c.error) << c.what;
  }
}

TEST(malformed_header, any_single_echo_field_needs_the_flag) {
  path_header header;
  header.hops = 1;
  const path_header_buffer clean = encode(header);
  ASSERT_TRUE(decode(clean));
  for (std::size_t offset = 11; offset < clean.size(); ++offset) {
    path_header_buffer bytes = clean;
    bytes[offset] = 1;
    ASSERT_FALSE(decode(bytes)) << "byte " << offset;
    EXPECT_EQ(decode(bytes).error(), decode_error::echo_without_flag) << "byte " << offset;
  }
}

TEST(malformed_header, a_million_random_byte_strings_give_a_sound_header_or_a_reason) {
  std::mt19937_64 random(test_seed());
  PERHOP_TELL_SEED();
  std::array<std::uint64_t, decode_error_count> reasons{};
  std::uint64_t sound = 0;
  std::array<std::uint8_t, 24> bytes{};
  for (int i = 0; i < 1'000'000; ++i) {
    for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random());
    // Most get a right version, so that the checks behind it are reached too; some get an empty or sparse rest.
    if (random() % 8 != 0) bytes[0] = static_cast<std::uint8_t>(0x10 | (bytes[0] & 0x0f));
    if (random() % 4 == 0) std::fill(bytes.begin() + 11, bytes.end(), std::uint8_t{0});
    if (random() % 4 == 0) bytes[2] = bytes[4] = 0;
    const std::size_t count = random() % 16 == 0 ? random() % (bytes.size() + 1) : bytes.size();
    const decode_result result = decode_exact(bytes.data(), count);
    if (!result) {
      ++reasons.at(static_cast<std::size_t>(result.error()));
      continue;
    }
    ++sound;
    ASSERT_LE(result->max_delay_us, result->total_delay_us);
    ASSERT_LE(result->total_delay_us, std::uint64_t{result->hops} * result->max_delay_us);
    if (result->echo) {
      ASSERT_LE(result->echo->max_delay_us, result->echo->total_delay_us);
      ASSERT_LE(result->echo->total_delay_us, std::uint64_t{result->echo->hops} * result->echo->max_delay_us);
    }
    // What was accepted can be sent on and means the same.
    const decode_result again = decode(encode(*result));
    ASSERT_TRUE(again);
    ASSERT_EQ(*again, *result);
  }
  // The strings reach every verdict, or this test would prove little.
  EXPECT_GT(sound, 1000U);
  for (std::size_t reason = 0; reason < reasons.size(); ++reason) EXPECT_GT(reasons[reason], 100U) << "reason " << reason;
}

}  // namespace
}  // namespace perhop::wire
