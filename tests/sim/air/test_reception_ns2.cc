// SPDX-License-Identifier: GPL-2.0-or-later
//
// The reception rule of ns-2 as timelines. Positions in metres on a line, ranges 250 and 550 m, capture ratio 10 (a ratio
// of distances of 1.78), preamble 192 us, 1 us to a node up to 449 m away and 2 us beyond.
#include <gtest/gtest.h>

#include "medium_timeline.hpp"

namespace perhop::air {
namespace {

using lines = std::vector<std::string>;

air_config line(std::vector<double> positions_m) {
  air_config config;
  config.mac.profile = find_profile("dsss_long");
  for (const double x_m : positions_m) config.nodes.push_back({x_m, 0});
  return config;
}

TEST(reception_ns2, a_lone_frame_is_received_after_its_propagation_time) {
  medium_timeline timeline(line({0, 200}));
  timeline.send(0, 100, 400);
  timeline.run();
  EXPECT_EQ(timeline.told(1), (lines{"101 busy", "293 header", "501 idle ok(0)"}));
  EXPECT_EQ(timeline.told(0), lines{}) << "a node does not hear itself";
}

TEST(reception_ns2, a_frame_weaker_than_the_sensitivity_is_an_error_and_one_below_carrier_sense_is_nothing) {
  medium_timeline timeline(line({0, 500, 600}));
  timeline.send(0, 0, 400);
  timeline.run();
  EXPECT_EQ(timeline.told(1), (lines{"2 busy", "402 idle bad(0)"}));
  EXPECT_EQ(timeline.told(2), lines{});
}

TEST(reception_ns2, hidden_senders_of_equal_power_spoil_each_other_until_the_later_end) {
  // 0 and 2 do not hear each other. 1 stays busy over both frames, and is told of one end only.
  air_config config = line({0, 250, 500});
  config.medium.cs_range_m = 400;
  medium_timeline timeline(config);
  timeline.send(0, 0, 400);
  timeline.send(2, 100, 500);
  timeline.run();
  EXPECT_EQ(timeline.told(1), (lines{"1 busy", "601 idle bad(1)"}));
}

TEST(reception_ns2, of_two_colliding_frames_the_longer_first_one_stays_the_received_one) {
  air_config config = line({0, 250, 500});
  config.medium.cs_range_m = 400;
  medium_timeline timeline(config);
  timeline.send(0, 0, 600);
  timeline.send(2, 300, 200);
  timeline.run();
  EXPECT_EQ(timeline.told(1), (lines{"1 busy", "193 header", "601 idle bad(0)"}));
}

TEST(reception_ns2, a_much_stronger_first_frame_survives_a_later_one) {
  // Node 1 hears 0 from 200 m and 2 from 400 m: a ratio of 16.
  air_config config = line({0, 200, 600});
  medium_timeline timeline(config);
  timeline.send(0, 0, 500);
  timeline.send(2, 100, 1000);
  timeline.run();
  // The rest of the ignored frame is not heard: the carrier is idle when the first one ends.
  EXPECT_EQ(timeline.told(1), (lines{"1 busy", "193 header", "501 idle ok(0)"}));
}

TEST(reception_ns2, a_much_stronger_later_frame_does_not_survive_a_first_one) {
  medium_timeline timeline(line({0, 200, 600}));
  timeline.send(2, 0, 500);
  timeline.send(0, 100, 600);
  timeline.run();
  EXPECT_EQ(timeline.told(1), (lines{"1 busy", "701 idle bad(1)"}));
}

TEST(reception_ns2, under_ns2_compatibility_a_captured_receiver_reserves_the_medium) {
  air_config config = line({0, 200, 600});
  config.mac.compatibility = mac_compatibility::ns2;
  medium_timeline timeline(config);
  timeline.send(0, 0, 500);
  timeline.send(2, 100, 1000);
  timeline.run();
  // EIFS 364 and the airtime of the frame that was ignored.
  EXPECT_EQ(timeline.told(1), (lines{"1 busy", "101 reserve(1364)", "193 header", "501 idle ok(0)"}));
}

TEST(reception_ns2, a_node_that_sends_receives_nothing) {
  medium_timeline timeline(line({0, 200}));
  timeline.send(0, 0, 1000);
  timeline.send(1, 500, 800);
  timeline.run();
  // 0 was sending when frame 1 began, and no longer when it ended: an error. 1 spoilt frame 0, and still sent when it
  // ended: it is not told at all.
  EXPECT_EQ(timeline.told(0), (lines{"501 busy", "1301 idle bad(1)"}));
  EXPECT_EQ(timeline.told(1), (lines{"1 busy", "193 header", "1001 idle"}));
}

TEST(reception_ns2, a_frame_that_follows_without_a_gap_is_received) {
  medium_timeline timeline(line({0, 200, 100}));
  timeline.send(0, 0, 400);
  timeline.send(2, 400, 300);
  timeline.run();
  EXPECT_EQ(timeline.told(1), (lines{"1 busy", "193 header", "401 ok(0)", "593 header", "701 idle ok(1)"}));
}

TEST(reception_ns2, of_two_frames_in_one_tick_the_first_to_be_sent_is_the_first) {
  medium_timeline timeline(line({0, 100, 400}));
  timeline.send(0, 0, 400);
  timeline.send(2, 0, 400);
  timeline.run();
  // 100 m against 300 m: captured. Sent the other way round, both are lost.
  EXPECT_EQ(timeline.told(1), (lines{"1 busy", "193 header", "401 idle ok(0)"}));
  medium_timeline reversed(line({400, 100, 0}));
  reversed.send(0, 0, 400);
  reversed.send(2, 0, 400);
  reversed.run();
  EXPECT_EQ(reversed.told(1), (lines{"1 busy", "401 idle bad(0)"}));
}

TEST(reception_ns2, headers_are_indicated_to_those_who_want_them_also_when_they_come_to_want_them_late) {
  medium_timeline timeline(line({0, 200, 250}));
  timeline.air_medium().set_wants_rx_start(1, false, 0);
  timeline.air_medium().set_wants_rx_start(2, false, 0);
  timeline.send(0, 0, 400);
  timeline.run(100);
  timeline.air_medium().set_wants_rx_start(2, true, 100);
  timeline.run();
  EXPECT_EQ(timeline.told(1), (lines{"1 busy", "401 idle ok(0)"}));
  EXPECT_EQ(timeline.told(2), (lines{"1 busy", "193 header", "401 idle ok(0)"}));
}

TEST(reception_ns2, lost_frames_end_as_errors) {
  air_config config = line({0, 200});
  config.medium.frame_error_rate = 1;
  medium_timeline timeline(config);
  timeline.send(0, 0, 400);
  timeline.run();
  EXPECT_EQ(timeline.told(1), (lines{"1 busy", "193 header", "401 idle bad(0)"}));
}

}  // namespace
}  // namespace perhop::air
