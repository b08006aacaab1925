// SPDX-License-Identifier: GPL-2.0-or-later
//
// Policies of one's own by their table of functions, at the places where the project's own stand: in a shim at each end of a path.

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "host/core/shim/shim.hpp"
#include "host/own/perhop_policy.hpp"
#include "tests/host/tcp_packets.hpp"

namespace perhop {
namespace {

using tcp_packets::data_of, tcp_packets::flow, tcp_packets::hop, tcp_packets::segment_bytes, tcp_packets::tcp_ack_of;

using policy::time_us;

/// What happened to all objects of the policies below, in order.
struct witness {
  std::uint32_t made = 0, destroyed = 0, limits_asked = 0;
  perhop_path path{};
  perhop_sent sent{};
  perhop_completion completion{};
  time_us now = 0;
};
witness seen;

struct told_all {
  told_all() { ++seen.made; }
  ~told_all() { ++seen.destroyed; }
  void on_path(std::uint64_t now_us, const perhop_path& path) {
    seen.path = path;
    seen.now = now_us;
  }
  void on_sent(std::uint64_t, const perhop_sent& sent) { seen.sent = sent; }
  void on_completion(std::uint64_t, const perhop_completion& completion) { seen.completion = completion; }
  std::uint32_t limit_packets() {
    ++seen.limits_asked;
    return 3;
  }
};

struct throws_at_the_second {
  std::uint32_t times = 0;
  void on_path(std::uint64_t, const perhop_path&) {
    if (++times == 2) throw std::runtime_error("no idea");
  }
  std::uint32_t limit_packets() { return 2; }
};

/// perhop's own `dca 3 no resend`, as far as a policy of one's own can have it.
struct three {
  std::uint32_t tcp_ack_packets() { return 3; }
};

struct every_10_ms {
  std::uint64_t pacing_interval_us(std::uint64_t, const perhop_release& release) {
    return release.payload_bytes == segment_bytes ? 10'000 : 0;
  }
};

template <typename kind>
struct source_of final : policy::own_policy_source {
  const perhop_policy table_ = own_policies::table_of<kind>::make();
  mutable std::vector<std::string> failures;
  bool loaded = true;
  const perhop_policy* table() const override { return loaded ? &table_ : nullptr; }
  void on_failed(const char* problem) const override { failures.emplace_back(problem); }
};

shim::flow_policy limited_by(const policy::own_policy_source& source) {
  shim::flow_policy found = shim::no_policy;
  found.cwl.kind = policy::cwl_kind::own;
  found.own = &source;
  return found;
}

/// Sender and receiver, three hops apart.
struct path {
  shim::shim sender, receiver;
  std::uint32_t sent = 0;

  explicit path(const shim::flow_policy& policy)
      : sender({.profile = find_profile("dsss_long"), .policy = policy}),
        receiver({.profile = find_profile("dsss_long"), .policy = policy}) {
    sender.set_flow_policy(flow.reversed(), shim::no_policy);
    receiver.set_flow_policy(flow.reversed(), shim::no_policy);
  }

  static wire::path_header over_three_hops(wire::path_header header) {
    header.hops = 3;
    header.total_delay_us = 3 * header.max_delay_us;
    const auto decoded = wire::decode(wire::encode(header));
    EXPECT_TRUE(decoded.has_value());
    return *decoded;
  }

  /// A packet there and its TCP ACK back. @return the window that the sender's TCP sees, in packets; 0: as it was
  std::uint32_t round(time_us now) {
    const auto data = data_of(sent++);
    receiver.on_receive(now + 30'000, over_three_hops(sender.on_originate(now, data, hop, 5)), data);
    const auto tcp_ack = tcp_ack_of(sent);
    const auto back = over_three_hops(receiver.on_originate(now + 30'000, tcp_ack, hop));
    return sender.on_receive(now + 40'000, back, tcp_ack).window_bytes.value_or(0) / segment_bytes;
  }
};

TEST(own_policy, limits_the_window_by_what_it_is_told_of_the_path) {
  seen = {};
  const source_of<told_all> source;
  {
    path between(limited_by(source));
    EXPECT_EQ(between.round(1'000'000), 3U);
    EXPECT_EQ(between.round(1'100'000), 3U);
    EXPECT_EQ(seen.path.forward_hops, 3U);
    EXPECT_EQ(seen.path.return_hops, 3U);
    EXPECT_EQ(seen.path.forward_total_us, 3 * seen.path.forward_max_us);
    EXPECT_GT(seen.path.return_total_us, 0U);
    EXPECT_EQ(seen.path.round_trip_us, 40'000U);
    EXPECT_EQ(seen.path.least_round_trip_us, 40'000U);
    EXPECT_EQ(seen.path.packets_in_flight, 5U);
    EXPECT_EQ(seen.path.delivered_bytes, segment_bytes);
    EXPECT_EQ(seen.sent.payload_bytes, segment_bytes);
    EXPECT_EQ(seen.now, 1'140'000U);
    EXPECT_EQ(seen.made, 1U) << "one object for one direction, at the end that sends its data";
    EXPECT_LE(seen.limits_asked, 4U) << "once after what was told";
  }
  EXPECT_EQ(seen.destroyed, seen.made);
}

TEST(own_policy, hears_of_completions_once_it_is_in_use) {
  seen = {};
  const source_of<told_all> source;
  path between(limited_by(source));
  EXPECT_TRUE(between.sender.wants_records());
  between.sender.on_record(10, {.bytes = 99});
  EXPECT_EQ(seen.completion.mpdu_bytes, 0U);
  between.round(1000);
  between.sender.on_record(50'000, {.peer = 3, .bytes = 1554, .result = tx_result::delivered, .data_attempts = 2, .backoff_us = 310});
  EXPECT_EQ(seen.completion.peer, 3U);
  EXPECT_EQ(seen.completion.delivered, 1U);
  EXPECT_EQ(seen.completion.data_attempts, 2U);
  EXPECT_EQ(seen.completion.backoff_us, 310U);
  EXPECT_FALSE(path(shim::no_policy).sender.wants_records());
}

TEST(own_policy, what_it_throws_ends_it_and_not_the_flow) {
  const source_of<throws_at_the_second> source;
  path between(limited_by(source));
  EXPECT_EQ(between.round(0), 2U);
  EXPECT_EQ(between.sender.limit_without_effect(flow), shim::no_effect::none);
  EXPECT_EQ(between.round(100'000), 0U);
  EXPECT_EQ(between.round(200'000), 0U);
  EXPECT_EQ(source.failures, std::vector<std::string>{"no idea"});
  EXPECT_EQ(between.sender.limit_without_effect(flow), shim::no_effect::own_failed);
}

TEST(own_policy, does_nothing_before_it_is_loaded) {
  source_of<told_all> source;
  source.loaded = false;
  path between(limited_by(source));
  EXPECT_EQ(between.round(0), 0U);
  source.loaded = true;
  EXPECT_EQ(between.round(100'000), 3U);
}

TEST(own_policy, cannot_raise_the_window_above_what_a_window_field_holds) {
  struct huge {
    std::uint32_t limit_packets() { return UINT32_MAX; }
  };
  const source_of<huge> source;
  path between(limited_by(source));
  between.round(0);
  EXPECT_EQ(between.sender.cwl_packets(flow), policy::default_ceiling_packets);
}

TEST(own_policy, thins_tcp_acks_as_dca_does) {
  const source_of<three> source;
  policy::own_policy object(source);
  policy::delayed_tcp_ack own({.kind = policy::tcp_ack_kind::own}, &object);
  policy::delayed_tcp_ack dca({.kind = policy::tcp_ack_kind::dca, .fixed_window_packets = 3, .tcp_ack_retransmission = false});
  std::uint32_t held = 0;
  for (std::uint32_t packet = 0; packet < 30; ++packet) {
    const time_us now = 10'000 * packet;
    for (policy::delayed_tcp_ack* each : {&own, &dca}) {
      // The 13th comes after a gap.
      each->on_data(now,
                    {.sequence = (packet + (packet > 12 ? 1 : 0)) * segment_bytes, .payload_bytes = segment_bytes, .packets_in_flight = 9});
    }
    const policy::tcp_ack_departure departure{.tcp_ack = (packet > 12 ? 13 : packet + 1) * segment_bytes, .window_bytes = 65535};
    const auto verdict = own.on_tcp_ack(now, departure);
    EXPECT_EQ(verdict.action, dca.on_tcp_ack(now, departure).action) << packet;
    held += verdict.action == policy::tcp_ack_action::hold ? 1 : 0;
  }
  EXPECT_GT(held, 6U);
}

TEST(own_policy, without_a_deadline_waits_until_the_hard_limit) {
  const source_of<three> source;
  policy::own_policy object(source);
  policy::delayed_tcp_ack own({.kind = policy::tcp_ack_kind::own}, &object);
  for (std::uint32_t packet = 0; packet < 2; ++packet) {
    own.on_data(10'000 * packet, {.sequence = packet * segment_bytes, .payload_bytes = segment_bytes});
    own.on_tcp_ack(10'000 * packet, {.tcp_ack = (packet + 1) * segment_bytes, .window_bytes = 65535});
  }
  ASSERT_TRUE(own.holds());
  EXPECT_EQ(own.deadline(), 10'000 + policy::delayed_tcp_ack::hard_limit_us);
}

TEST(own_policy, paces_by_the_interval_that_it_says) {
  const source_of<every_10_ms> source;
  shim::flow_policy paced = shim::no_policy;
  paced.pacing.kind = policy::pacing_kind::own;
  paced.own = &source;
  path between(paced);
  EXPECT_TRUE(between.sender.holds_back());
  EXPECT_EQ(between.sender.release_time(1000, data_of(0)), 1000U);
  EXPECT_EQ(between.sender.release_time(1000, data_of(1)), 11'000U);
  EXPECT_EQ(between.sender.pacing_interval_us(flow), 10'000U);
  EXPECT_EQ(between.sender.pacing_without_effect(flow), shim::no_effect::none);
}

TEST(own_policy, another_policy_takes_its_place_and_ends_it) {
  seen = {};
  const source_of<told_all> source;
  path between(limited_by(source));
  between.round(0);
  EXPECT_EQ(seen.made, 1U);
  between.sender.set_policy(shim::no_policy);
  EXPECT_EQ(seen.destroyed, 1U);
  EXPECT_EQ(between.round(100'000), 0U);
  between.sender.set_policy(limited_by(source));
  EXPECT_EQ(seen.path.forward_hops, 3U);
  EXPECT_EQ(between.sender.cwl_packets(flow), 3U) << "at once, from the path as last measured";
}

}  // namespace
}  // namespace perhop
