// SPDX-License-Identifier: GPL-2.0-or-later
//
// Who is told of a DATA frame for somebody else: whoever received it, and nobody else.
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "sim/air/medium.hpp"

namespace perhop::air {
namespace {

using heard = std::vector<std::pair<node_id, std::uint64_t>>;  // where, and the frame's number

/// Nodes on a line that nobody evaluates; ranges are 250 and 550 m.
class overheard : public testing::Test {
protected:
  overheard() : medium_(line({0, 100, 200, 400})) {
    medium_.watch_overheard([this](node_id at, const transmission& frame) { heard_.emplace_back(at, frame.id); });
  }

  static air_config line(const std::vector<double>& positions_m) {
    air_config config;
    config.mac.profile = find_profile("dsss_long");
    for (const double x_m : positions_m) config.nodes.push_back({x_m, 0});
    return config;
  }

  void send(node_id from, std::uint64_t ra, tick start, frame_kind kind = frame_kind::data) {
    run(start);
    transmission frame{};
    frame.id = next_id_++;
    frame.node = from;
    frame.ra = ra;
    frame.start = start;
    frame.end = start + 500;
    frame.kind = kind;
    medium_.start(frame);
  }

  void run(tick until = never - 1) {
    while (medium_.next_event() <= until) {
      medium_.process(medium_.next_event());
      medium_.board().touched.drain([&](node_id node) { medium_.board().acknowledge(node); });
    }
  }

  medium medium_;
  heard heard_;
  std::uint64_t next_id_ = 0;
};

TEST_F(overheard, a_data_frame_is_told_of_at_bystanders_in_range_and_not_at_its_receiver) {
  send(0, mac_address(1), 100);
  run();
  EXPECT_EQ(heard_, (heard{{2, 0}})) << "node 1 is its receiver, and node 3 senses it only";
}

TEST_F(overheard, frames_for_all_and_control_frames_are_not_told_of) {
  send(0, broadcast_address, 100);
  send(0, mac_address(1), 1000, frame_kind::rts);
  run();
  EXPECT_EQ(heard_, heard{});
}

TEST_F(overheard, a_frame_that_another_one_spoils_is_told_of_where_it_was_received) {
  // Nodes 0 and 2 send, and node 1 hears both from 100 m. Node 3 hears the first from 200 m and the second from 400 m: it captures.
  send(2, mac_address(1), 100);
  send(0, mac_address(1), 200);
  run();
  EXPECT_EQ(heard_, (heard{{3, 0}}));
}

}  // namespace
}  // namespace perhop::air
