// SPDX-License-Identifier: GPL-2.0-or-later
//
// The MAC core over the medium: the times of one exchange to the microsecond, and what the interface promises.
#include <gtest/gtest.h>

#include <vector>

#include "run_json.hpp"
#include "sim/air/air.hpp"
#include "sim/run/run_config.hpp"

namespace perhop::run {

using namespace air;  // these tests watch the medium itself
namespace {

struct recorder final : listener {
  void on_transmission(const transmission& frame) override { frames.push_back(frame); }
  void on_delivery(tick now, node_id to, const transmission& frame) override { deliveries.push_back({now, to, frame.payload}); }
  void on_completion(tick now, const completion& record) override {
    EXPECT_EQ(now, record.t_done_us);
    completions.push_back(record);
  }
  struct delivery {
    tick now;
    node_id to;
    std::uint64_t payload;
  };
  std::vector<transmission> frames;
  std::vector<delivery> deliveries;
  std::vector<completion> completions;
};

air_config two_nodes() { return parse_run_config(two_node_run().dump(), "run.json").air; }

constexpr tx_request request(std::uint64_t payload, node_id to = 1) {
  return {.ra = mac_address(to), .peer = 3, .mpdu_bytes = 1554, .rate_index = 1, .use_rts = true, .payload = payload};
}

TEST(exchange, rts_to_mac_ack_to_the_microsecond) {
  // At once, for the medium was idle; SIFS 10, propagation 1.
  //
  //   1000   1352  1363   1667  1678    8086  8097      8401
  //   | RTS  |     | CTS  |     | DATA  |     | MAC ACK | -> 8402
  recorder log;
  perhop::air::air medium(two_nodes(), log);
  medium.advance(1000);
  ASSERT_TRUE(medium.can_submit(0));
  medium.submit(0, request(42));
  medium.advance(20'000);

  ASSERT_EQ(log.frames.size(), 4U);
  const std::vector<tick> starts = {1000, 1363, 1678, 8097}, ends = {1352, 1667, 8086, 8401};
  const std::vector<frame_kind> kinds = {frame_kind::rts, frame_kind::cts, frame_kind::data, frame_kind::mac_ack};
  const std::vector<unsigned> durations_us = {10 + 304 + 10 + 6408 + 10 + 304, 10 + 6408 + 10 + 304, 10 + 304, 0};
  for (std::size_t index = 0; index < 4; ++index) {
    const transmission& frame = log.frames[index];
    EXPECT_EQ(frame.id, index);
    EXPECT_EQ(frame.node, index % 2);
    EXPECT_EQ(frame.start, starts[index]);
    EXPECT_EQ(frame.end, ends[index]);
    EXPECT_EQ(frame.kind, kinds[index]);
    EXPECT_EQ(frame.duration_us, durations_us[index]);
    EXPECT_EQ(frame.ra, mac_address(1 - index % 2));
  }
  EXPECT_EQ(log.frames[0].ta, mac_address(0));
  EXPECT_EQ(log.frames[2].payload, 42U);
  EXPECT_EQ(log.frames[2].psdu_bytes, 1554);

  ASSERT_EQ(log.deliveries.size(), 1U);
  EXPECT_EQ(log.deliveries[0].now, 8087U);
  EXPECT_EQ(log.deliveries[0].to, 1U);
  EXPECT_EQ(log.deliveries[0].payload, 42U);

  ASSERT_EQ(log.completions.size(), 1U);
  const completion& record = log.completions[0];
  EXPECT_EQ(record.node, 0U);
  EXPECT_EQ(record.payload, 42U);
  EXPECT_EQ(record.ra, mac_address(1));
  EXPECT_EQ(record.peer, 3);
  EXPECT_EQ(record.result, tx_result::delivered);
  EXPECT_EQ(record.t_enqueue_us, 1000U);
  EXPECT_EQ(record.t_first_tx_us, 1000U);
  EXPECT_EQ(record.t_done_us, 8402U);
  EXPECT_EQ(record.parts.control_us, 352U);
  EXPECT_EQ(record.parts.data_us, 6408U);
  EXPECT_EQ(record.parts.sum_us(), 8402U - 1000U);
}

// ---- Access mode fama

/// Nodes on a line, each of which hears its neighbours and nobody else.
air_config fama_line(std::size_t nodes, const fama_config& fama) {
  nlohmann::json run = two_node_run();
  run["mac"].update({{"profile", "glomosim"}, {"access_mode", "fama"}, {"data_rate_index", 0}});
  run["medium"]["cs_range_m"] = 250;
  run["nodes"] = nlohmann::json::array();
  for (std::size_t node = 0; node < nodes; ++node) run["nodes"].push_back({{"x_m", 250 * node}, {"y_m", 0}});
  air_config config = parse_run_config(run.dump(), "run.json").air;
  config.mac.fama = fama;
  return config;
}

constexpr tx_request fama_request(node_id to, std::uint16_t mpdu_bytes = 1536) {
  return {.ra = mac_address(to), .peer = 3, .mpdu_bytes = mpdu_bytes, .rate_index = 0, .use_rts = true, .payload = 1};
}

TEST(fama, its_frames_last_as_told_to_the_microsecond) {
  //   1000   1150  1176   1876  1902    8047
  //   | RTS  |     | CTS  |     | DATA  |
  for (const bool nav : {true, false}) {
    recorder log;
    perhop::air::air medium(fama_line(2, {.sifs_us = 25, .rts_us = 150, .cts_us = 700, .nav = nav}), log);
    medium.advance(1000);
    medium.submit(0, fama_request(1));
    medium.advance(20'000);
    ASSERT_EQ(log.frames.size(), 3U);
    const std::vector<tick> starts = {1000, 1176, 1902}, ends = {1150, 1876, 8047};
    const std::vector<unsigned> durations_us = {25 + 700 + 25 + 6145, 25 + 6145, 0};
    for (std::size_t index = 0; index < 3; ++index) {
      EXPECT_EQ(log.frames[index].start, starts[index]);
      EXPECT_EQ(log.frames[index].end, ends[index]);
      EXPECT_EQ(log.frames[index].duration_us, nav ? durations_us[index] : 0);
    }
    EXPECT_EQ(log.deliveries.size(), 1U);
  }
}

TEST(fama, who_has_sent_a_cts_holds_back_until_the_data_must_have_come) {
  // SIFS is 390 us, and random times are 5 to 20 us at first: a packet that waits at the receiver finds the medium idle.
  const auto begins_before_data = [](bool hold) {
    recorder log;
    perhop::air::air medium(fama_line(2, {.hold = hold}), log);
    medium.advance(1000);
    medium.submit(0, fama_request(1));
    medium.advance(1490);  // in the CTS, from 1472 to 1529
    medium.submit(1, fama_request(0));
    medium.advance(30'000);
    EXPECT_GE(log.frames.size(), 3U);
    EXPECT_EQ(log.frames[1].kind, frame_kind::cts);
    EXPECT_EQ(log.deliveries.size(), 2U) << "both packets come in the end";
    return log.frames[2].kind == frame_kind::rts;
  };
  EXPECT_TRUE(begins_before_data(false)) << "the gateware's own fama may begin in the SIFS";
  EXPECT_FALSE(begins_before_data(true));
}

TEST(fama, noise_reserves_the_medium_for_as_long_as_told) {
  // Nodes 0 and 2 do not hear each other: their RTS frames of 81 us are one noise to node 1, over at 1082.
  const auto first_of_node_1 = [](std::uint32_t noise_us) {
    recorder log;
    perhop::air::air medium(fama_line(3, {.noise_us = noise_us}), log);
    medium.advance(1000);
    medium.submit(0, fama_request(1));
    medium.submit(2, fama_request(1));
    medium.advance(1090);
    medium.submit(1, fama_request(0, 76));
    medium.advance(60'000);
    for (const transmission& frame : log.frames) {
      if (frame.node == 1) return frame.start;
    }
    return never;
  };
  EXPECT_EQ(first_of_node_1(0), 1090U);
  EXPECT_GE(first_of_node_1(6150), 1082U + 6150);
  EXPECT_LT(first_of_node_1(6150), never);
}

TEST(exchange, times_stay_absolute_after_a_pause_longer_than_any_register) {
  // 2^32 us and 2^24 ticks are both passed in one jump.
  recorder log;
  perhop::air::air medium(two_nodes(), log);
  constexpr tick late = 5'000'000'000;
  medium.advance(late);
  medium.submit(0, request(1));
  medium.advance(late + 20'000);
  ASSERT_EQ(log.completions.size(), 1U);
  EXPECT_EQ(log.completions[0].t_enqueue_us, late);
  EXPECT_EQ(log.completions[0].t_done_us, late + 7402);
  EXPECT_EQ(log.completions[0].parts.sum_us(), 7402U);
}

TEST(exchange, a_packet_for_nobody_is_given_up_after_the_short_retry_limit) {
  recorder log;
  perhop::air::air medium(two_nodes(), log);
  medium.submit(0, request(1, 9));
  medium.advance(1'000'000);
  ASSERT_EQ(log.completions.size(), 1U);
  EXPECT_EQ(log.completions[0].result, tx_result::short_retry_limit);
  EXPECT_EQ(log.completions[0].rts_attempts, 7);
  EXPECT_EQ(log.frames.size(), 7U);
  EXPECT_EQ(log.completions[0].parts.sum_us(), log.completions[0].t_done_us - log.completions[0].t_enqueue_us);
}

TEST(exchange, nothing_happens_when_nothing_is_submitted) {
  recorder log;
  perhop::air::air medium(two_nodes(), log);
  EXPECT_EQ(medium.next_event(), never);
  medium.advance_one();
  EXPECT_EQ(medium.now(), 0U);
  medium.advance(1'000'000'000);
  EXPECT_EQ(medium.now(), 1'000'000'000U);
  EXPECT_LT(medium.counters().clocks, 10U) << "an idle node costs nothing";
}

TEST(exchange, the_queue_fills_and_says_so) {
  recorder log;
  perhop::air::air medium(two_nodes(), log);
  int packets = 0;
  while (medium.can_submit(0)) medium.submit(0, request(packets++));
  EXPECT_GE(packets, 2);
  EXPECT_LE(packets, 16) << "a packet is found again by its tag in a ring of 16";
  medium.advance(1'000'000);
  ASSERT_EQ(log.completions.size(), static_cast<std::size_t>(packets));
  for (int index = 0; index < packets; ++index) EXPECT_EQ(log.completions[index].payload, static_cast<std::uint64_t>(index));
  EXPECT_TRUE(medium.can_submit(0));
}

TEST(exchange, advance_one_stops_at_each_event_and_next_event_foretells_it) {
  recorder stepped, jumped;
  perhop::air::air one(two_nodes(), stepped), all(two_nodes(), jumped);
  one.submit(0, request(1));
  all.submit(0, request(1));
  while (one.next_event() <= 20'000) {
    const tick next = one.next_event();
    one.advance_one();
    EXPECT_EQ(one.now(), next);
  }
  all.advance(20'000);
  ASSERT_EQ(stepped.frames.size(), jumped.frames.size());
  for (std::size_t index = 0; index < stepped.frames.size(); ++index) EXPECT_EQ(stepped.frames[index].start, jumped.frames[index].start);
  EXPECT_EQ(stepped.completions.at(0).t_done_us, jumped.completions.at(0).t_done_us);
}

/// Answers every packet from within the callback.
struct echo final : listener {
  void on_delivery(tick, node_id to, const transmission& frame) override {
    ++deliveries;
    if (medium->can_submit(to)) medium->submit(to, request(frame.payload + 1, 1 - to));
  }
  void on_completion(tick, const completion&) override { ++completions; }
  perhop::air::air* medium = nullptr;
  int deliveries = 0;
  int completions = 0;
};

TEST(exchange, a_callback_may_submit) {
  echo log;
  perhop::air::air medium(two_nodes(), log);
  log.medium = &medium;
  medium.submit(0, request(0));
  medium.advance(1'000'000);
  EXPECT_GT(log.deliveries, 100);
  EXPECT_GE(log.completions, log.deliveries - 1);
}

TEST(exchange, different_seeds_and_nodes_draw_different_slots) {
  std::vector<std::vector<unsigned>> drawn;
  for (const std::uint64_t seed : {1, 2}) {
    for (const node_id node : {0U, 1U}) {
      recorder log;
      air_config config = two_nodes();
      config.seed = seed;
      perhop::air::air medium(config, log);
      for (int packet = 0; medium.can_submit(node); ++packet) medium.submit(node, request(packet, 1 - node));
      medium.advance(1'000'000);
      std::vector<unsigned> slots;
      for (const completion& record : log.completions) slots.push_back(record.parts.backoff_us / 20);
      EXPECT_GT(slots.size(), 3U);
      drawn.push_back(slots);
    }
  }
  for (std::size_t one = 0; one < drawn.size(); ++one) {
    for (std::size_t other = one + 1; other < drawn.size(); ++other) EXPECT_NE(drawn[one], drawn[other]);
  }
}

}  // namespace
}  // namespace perhop::run
