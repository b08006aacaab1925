// SPDX-License-Identifier: GPL-2.0-or-later
/// Plays transmissions into a medium without any MAC, and writes down what every node's PHY indicates: the fake node of
/// the medium's tests.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "sim/air/medium.hpp"

namespace perhop::air {

class medium_timeline {
public:
  explicit medium_timeline(const air_config& config) : medium_(config), busy_(config.nodes.size()) {}

  /// A frame of airtime_us from `start` on. Call in order of start.
  void send(node_id node, tick start, tick airtime_us, std::uint8_t rate_index = 0) {
    run(start);
    transmission frame{};
    frame.id = next_id_++;
    frame.node = node;
    frame.start = start;
    frame.end = start + airtime_us;
    frame.kind = frame_kind::data;
    frame.rate_index = rate_index;
    medium_.start(frame);
  }

  /// Lets time pass up to and including `until`.
  void run(tick until = never - 1) {
    while (medium_.next_event() <= until) {
      const tick now = medium_.next_event();
      medium_.process(now);
      medium_.board().touched.drain([&](node_id node) { note(now, node); });
    }
  }

  /// What a node was told: "192 header", "501 idle ok(0)", ... with the frame's number.
  const std::vector<std::string>& told(node_id node) { return told_[node]; }

  medium& air_medium() { return medium_; }

private:
  void note(tick now, node_id node) {
    const indication& news = medium_.board()[node];
    std::string line = std::to_string(now);
    if (news.carrier_busy != busy_[node]) line += news.carrier_busy ? " busy" : " idle";
    busy_[node] = news.carrier_busy;
    if (news.rx_end) line += (news.rx_ok ? " ok(" : " bad(") + std::to_string(medium_.frame(news.rx_slot).id) + ")";
    if (news.rx_start) line += " header";
    if (news.reserve_us != 0) line += " reserve(" + std::to_string(news.reserve_us) + ")";
    medium_.board().acknowledge(node);
    if (line != std::to_string(now)) told_[node].push_back(line);
  }

  medium medium_;
  std::vector<bool> busy_;
  std::map<node_id, std::vector<std::string>> told_;
  std::uint64_t next_id_ = 0;
};

}  // namespace perhop::air
