// SPDX-License-Identifier: GPL-2.0-or-later
//
// Whole exchanges on a chain, frame by frame, through the medium: which links can carry packets together, and how soon one
// can follow another. Each schedule here is one that docs/airtime_bound.md's bounds must leave room for.
//
// 250 m between neighbours, 802.11b at 2 Mb/s with 1460 bytes of TCP payload; one hop takes a frame 1 us, two take 2 us.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "medium_timeline.hpp"

namespace perhop::air {
namespace {

constexpr tick rts_us = 352;
constexpr tick cts_us = 304;
constexpr tick data_us = 6408;
constexpr tick mac_ack_us = 304;
constexpr tick sifs_us = 10;
constexpr tick difs_us = 50;
constexpr tick hop_us = 1;
// Of its frames from the start of the RTS on, each sent a SIFS after the one before arrived.
constexpr tick cts_at_us = rts_us + hop_us + sifs_us;
constexpr tick data_at_us = cts_at_us + cts_us + hop_us + sifs_us;
constexpr tick mac_ack_at_us = data_at_us + data_us + hop_us + sifs_us;
constexpr tick exchange_us = mac_ack_at_us + mac_ack_us + hop_us + difs_us;  // to the next RTS of the same station

struct sent_frame {
  tick start;
  node_id from, to;
  tick airtime_us;
  bool contends;
};

/// The frames of a packet from `node` to `next`, whose RTS begins at `start`.
void add_exchange(std::vector<sent_frame>& frames, node_id node, node_id next, tick start) {
  frames.push_back({start, node, next, rts_us, true});
  frames.push_back({start + cts_at_us, next, node, cts_us, false});
  frames.push_back({start + data_at_us, node, next, data_us, false});
  frames.push_back({start + mac_ack_at_us, next, node, mac_ack_us, false});
}

struct outcome {
  int lost = 0;   // frames that the node they are for does not receive
  int early = 0;  // RTS that begin less than a DIFS after the station's carrier was busy
  int frames = 0;
};

outcome play(reception_kind rule, node_id hops, std::vector<sent_frame> frames) {
  air_config config;
  config.mac.profile = find_profile("dsss_long");
  config.medium.reception = rule;
  config.medium.sinr_threshold_db = {4, 7, 11, 16};
  for (node_id node = 0; node <= hops; ++node) config.nodes.push_back({250.0 * node, 0});
  std::ranges::stable_sort(frames, {}, &sent_frame::start);
  medium_timeline timeline(config);
  outcome result;
  for (const sent_frame& frame : frames) {
    timeline.run(frame.start);
    if (frame.contends && !timeline.told(frame.from).empty()) {
      const std::string& last = timeline.told(frame.from).back();
      const bool busy = last.find("busy") != std::string::npos;
      if (busy || frame.start < std::stoull(last) + difs_us) ++result.early;
    }
    timeline.send(frame.from, frame.start, frame.airtime_us, frame.airtime_us == data_us ? 1 : 0);
  }
  timeline.run();
  std::set<std::pair<node_id, std::size_t>> received;
  for (node_id node = 0; node <= hops; ++node) {
    for (const std::string& line : timeline.told(node)) {
      const std::size_t at = line.find("ok(");
      if (at != std::string::npos) received.emplace(node, std::stoul(line.substr(at + 3)));
    }
  }
  for (std::size_t id = 0; id < frames.size(); ++id) result.lost += received.contains({frames[id].to, id}) ? 0 : 1;
  result.frames = static_cast<int>(frames.size());
  return result;
}

/// Every third link sends `burst` packets, then the links behind them, then those behind these. Of two links three apart
/// the farther one leads by `lead_us`.
std::vector<sent_frame> every_third_link(node_id hops, tick burst, tick lead_us) {
  const tick turn_us = burst * exchange_us;
  const tick period_us = 3 * turn_us + lead_us;
  std::vector<sent_frame> frames;
  for (tick period = 0; period < 4; ++period) {
    for (node_id node = 0; node < hops; ++node) {
      const tick start = period * period_us + (node % 3) * turn_us + (hops - node / 3) * lead_us;
      for (tick packet = 0; packet < burst; ++packet) add_exchange(frames, node, node + 1, start + packet * exchange_us);
    }
  }
  return frames;
}

class links_three_apart : public testing::TestWithParam<reception_kind> {};

TEST_P(links_three_apart, carry_packets_together_when_they_start_together) {
  // Of two frames of one moment the nearer one comes first, and survives: 3 D a packet, over any number of hops.
  const outcome result = play(GetParam(), 15, every_third_link(15, 1, 0));
  EXPECT_EQ(result.frames, 4 * 15 * 4);
  EXPECT_EQ(result.lost, 0);
  EXPECT_EQ(result.early, 0);
}

TEST_P(links_three_apart, carry_packets_together_when_the_farther_one_leads_by_an_rts) {
  // 354 us for each turn, however many packets it has.
  for (const tick burst : {tick{1}, tick{10}}) {
    const outcome result = play(GetParam(), 15, every_third_link(15, burst, rts_us + 2));
    EXPECT_EQ(result.lost, 0) << "bursts of " << burst;
    EXPECT_EQ(result.early, 0) << "bursts of " << burst;
  }
}

INSTANTIATE_TEST_SUITE_P(both_rules, links_three_apart, testing::Values(reception_kind::ns2, reception_kind::sinr),
                         [](const auto& rule) { return rule.param == reception_kind::ns2 ? "ns2" : "sinr"; });

TEST(link_reuse, under_ns2s_rule_links_three_apart_fail_when_one_starts_amid_the_rts_of_the_other) {
  EXPECT_GT(play(reception_kind::ns2, 15, every_third_link(15, 1, rts_us / 2)).lost, 0);
  EXPECT_EQ(play(reception_kind::sinr, 15, every_third_link(15, 1, rts_us / 2)).lost, 0);
}

TEST(link_reuse, neighbours_that_send_away_from_each_other_succeed_when_they_start_together) {
  for (const reception_kind rule : {reception_kind::ns2, reception_kind::sinr}) {
    std::vector<sent_frame> frames;
    add_exchange(frames, 1, 0, 0);
    add_exchange(frames, 2, 3, 0);
    EXPECT_EQ(play(rule, 3, frames).lost, 0);
    frames.clear();
    add_exchange(frames, 0, 1, 0);
    add_exchange(frames, 2, 3, 0);
    EXPECT_GT(play(rule, 3, frames).lost, 0) << "node 1 hears 2 as strong as 0";
  }
}

/// Three hops in turn; the first one begins again a DIFS after it has heard the third one's DATA end, under its MAC ACK.
std::vector<sent_frame> three_hops_with_the_mac_ack_under_the_next_rts() {
  const tick last_us = data_at_us + data_us + 2 * hop_us + difs_us;
  std::vector<sent_frame> frames;
  for (tick packet = 0; packet < 5; ++packet) {
    const tick start = packet * (2 * exchange_us + last_us);
    for (node_id node = 0; node < 3; ++node) add_exchange(frames, node, node + 1, start + node * exchange_us);
  }
  return frames;
}

TEST(link_reuse, under_sinr_an_rts_may_begin_before_an_exchange_two_hops_off_has_ended) {
  // 22 042 us a packet: 529.9 kb/s, more than three whole exchanges (523) allow.
  static_assert(2 * exchange_us + data_at_us + data_us + 2 * hop_us + difs_us == 22'042);
  const outcome sinr = play(reception_kind::sinr, 3, three_hops_with_the_mac_ack_under_the_next_rts());
  EXPECT_EQ(sinr.lost, 0);
  EXPECT_EQ(sinr.early, 0);
  const outcome ns2 = play(reception_kind::ns2, 3, three_hops_with_the_mac_ack_under_the_next_rts());
  EXPECT_GT(ns2.lost, 0) << "node 1 hears the MAC ACK first";
}

}  // namespace
}  // namespace perhop::air
