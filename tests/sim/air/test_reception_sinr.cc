// SPDX-License-Identifier: GPL-2.0-or-later
//
// Reception by SINR as timelines. Power falls with the fourth power of distance; noise makes a frame from 250 m just
// readable at every rate; thresholds 4 dB (rate 0, preamble) to 16 dB (rate 3).
#include <gtest/gtest.h>

#include "medium_timeline.hpp"

namespace perhop::air {
namespace {

using lines = std::vector<std::string>;

air_config line(std::vector<double> positions_m) {
  air_config config;
  config.mac.profile = find_profile("dsss_long");
  config.medium.reception = reception_kind::sinr;
  config.medium.sinr_threshold_db = {4, 7, 11, 16};
  for (const double x_m : positions_m) config.nodes.push_back({x_m, 0});
  return config;
}

TEST(reception_sinr, a_lone_frame_is_received_up_to_the_range_and_is_carrier_beyond) {
  medium_timeline timeline(line({0, 250, 500}));
  timeline.send(0, 0, 400, 3);
  timeline.run();
  EXPECT_EQ(timeline.told(1), (lines{"1 busy", "193 header", "401 idle ok(0)"}));
  EXPECT_EQ(timeline.told(2), (lines{"2 busy", "402 idle"})) << "a frame that is not decoded has no end, only a carrier";
}

TEST(reception_sinr, interference_spoils_a_fast_frame_where_a_slow_one_survives) {
  // At node 1 the frame from 100 m is 6.4 dB above that from 145 m.
  for (const auto& [rate, told] : {std::pair{0, "401 ok(0)"}, std::pair{1, "401 bad(0)"}, std::pair{2, "401 bad(0)"}}) {
    medium_timeline timeline(line({0, 100, 245}));
    timeline.send(0, 0, 400, rate);
    timeline.send(2, 300, 400);
    timeline.run();
    EXPECT_EQ(timeline.told(1), (lines{"1 busy", "193 header", told, "701 idle"})) << "rate " << rate;
  }
}

TEST(reception_sinr, interference_adds_up) {
  // Each of the two interferers alone (7.9 dB below) leaves enough for 7 dB; together they do not.
  const std::vector<double> positions_m = {0, 100, 258, -58};
  for (const bool second : {false, true}) {
    medium_timeline timeline(line(positions_m));
    timeline.send(0, 0, 400, 1);
    timeline.send(2, 100, 200);
    if (second) timeline.send(3, 200, 150);
    timeline.run();
    EXPECT_EQ(timeline.told(1).back(), second ? "401 idle bad(0)" : "401 idle ok(0)");
  }
}

TEST(reception_sinr, a_later_stronger_frame_is_taken_only_with_a_relock_ratio) {
  air_config config = line({0, 200, 250});
  medium_timeline keeps(config);
  keeps.send(0, 0, 600);
  keeps.send(2, 100, 300);
  keeps.run();
  EXPECT_EQ(keeps.told(1), (lines{"1 busy", "601 idle bad(0)"}));

  config.medium.relock_ratio_db = 10;
  medium_timeline relocks(config);
  relocks.send(0, 0, 600);
  relocks.send(2, 100, 300);
  relocks.run();
  EXPECT_EQ(relocks.told(1), (lines{"1 busy", "293 header", "401 ok(1)", "601 idle"}));
}

TEST(reception_sinr, sending_ends_a_reception_without_a_word) {
  medium_timeline timeline(line({0, 200}));
  timeline.send(0, 0, 400);
  timeline.send(1, 200, 100);
  timeline.run();
  EXPECT_EQ(timeline.told(1), (lines{"1 busy", "193 header", "401 idle"}));
}

TEST(reception_sinr, a_missed_frame_is_not_taken_in_its_middle) {
  medium_timeline timeline(line({0, 200}));
  timeline.send(1, 0, 100);
  timeline.send(0, 50, 400);
  timeline.run();
  EXPECT_EQ(timeline.told(1), (lines{"51 busy", "451 idle"}));
}

TEST(reception_sinr, the_carrier_is_the_sum_of_what_is_too_weak_alone) {
  // 640 m: below carrier sense (550 m) alone, 0.55 of it; two of them are above.
  air_config config = line({-640, 0, 640});
  config.medium.loss = loss_kind::log_distance;
  config.medium.loss_exponent = 4;
  medium_timeline timeline(config);
  timeline.send(0, 0, 400);
  timeline.send(2, 100, 400);
  timeline.run();
  EXPECT_EQ(timeline.told(1), (lines{"102 busy", "402 idle"}));
}

}  // namespace
}  // namespace perhop::air
