// SPDX-License-Identifier: GPL-2.0-or-later
//
// A node of the studies' network: a host of the hop path and of the ends of EXACT flows (host/core/hop) whose packets are numbers, and
// whose MAC takes one frame at a time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "host/core/hop/exact_ends.hpp"
#include "host/core/hop/hop_path.hpp"

namespace perhop::exact_study {

using time_us = std::uint64_t;

struct study_packet {
  std::size_t flow = 0;
  std::vector<std::uint32_t> path;
  std::size_t hop = 0;  ///< place in the path
  std::uint32_t ip_bytes = 0;
  std::uint8_t ttl = 64;
  std::optional<wire::path_header> header{};
  hop::exact_rider rider{};
  std::vector<std::uint8_t> hello{};  ///< of a router, instead of all the rest

  bool is_report() const { return std::holds_alternative<wire::exact_report>(rider); }
};

/// It sends as much as it may.
struct study_application {
  std::size_t flow = 0;
  std::uint32_t ip_bytes = 0;
  bool started = true;

  std::optional<hop::next_packet> next(time_us) const {
    return started ? std::optional(hop::next_packet{.ip_bytes = ip_bytes}) : std::nullopt;
  }
  std::size_t take(time_us) const { return flow; }
  static bool in_use() { return true; }
};
using study_ends = hop::exact_ends<study_application>;

/// What nodes ask of their network.
class study_network {
public:
  virtual std::uint8_t rate_of(std::uint32_t from, std::uint32_t to) const = 0;
  /// A packet of a flow that begins at `node`, or a report of one that ends there, is to go now.
  virtual void send_data(std::uint32_t node, study_ends::sent&& data) = 0;
  virtual void send_report(std::uint32_t node, study_ends::due_report&& due) = 0;
  /// The node's MAC has got a frame.
  virtual void on_submitted(std::uint32_t node) = 0;

protected:
  ~study_network() = default;
};

struct study_node {
  using content = study_packet;
  struct frame {
    study_packet what;
    std::uint8_t peer = 0;
    std::uint32_t to = 0;
    std::uint32_t mpdu_bytes = 0;
  };
  using outgoing = hop::outgoing<study_packet>;

  study_node(study_network& all, std::uint32_t number, std::size_t queue_packets, const hop::exact_ends_config& of_flows)
      : owner(all), index(number), path(*this, queue_packets), ends(of_flows) {}

  static std::uint64_t address_of(std::uint32_t node) { return node_address_base + node + 1; }
  static std::uint32_t ipv4_of(std::uint32_t node) { return 0x0a00'0001 + node; }
  static std::uint32_t node_at(std::uint64_t address) { return static_cast<std::uint32_t>(address - node_address_base - 1); }

  // ---- What the hop path wants of its host (host/core/hop/hop_path.hpp)
  std::optional<std::uint64_t> receiver_of(const outgoing& p) const { return address_of(p.content.path[p.content.hop + 1]); }
  shim::next_hop describe(const outgoing& p, std::uint64_t receiver, std::uint8_t peer) const {
    return {.peer = peer, .rate_index = owner.rate_of(index, node_at(receiver)), .mpdu_bytes = mpdu_bytes(p.content.ip_bytes, p.rider)};
  }
  void before_leaving(outgoing&) {}
  void on_left(time_us now, const outgoing& p, std::uint64_t receiver, const wire::path_header& header, std::uint64_t) {
    ends.on_left(now, p, receiver, header);
  }
  frame make(time_us, outgoing&& p, const wire::path_header& header, std::uint64_t receiver, const shim::next_hop& next) const {
    p.content.header = header;
    p.content.rider = p.rider;
    return {.what = std::move(p.content), .peer = next.peer, .to = node_at(receiver), .mpdu_bytes = next.mpdu_bytes};
  }
  /// As bytes, so that what arrives is what a radio would deliver.
  frame make_hello(time_us, std::span<const std::uint8_t> hello, std::uint8_t peer, std::uint32_t bytes) const {
    return {.what = {.hello = {hello.begin(), hello.end()}}, .peer = peer, .mpdu_bytes = bytes};
  }
  static std::uint32_t node_of(std::uint64_t address) { return node_at(address) + 1; }
  bool mac_is_up() const { return !silent; }
  bool can_submit() const { return !in_mac; }
  void submit(time_us now, hop::frame_queue<frame>::entry&& first) {
    in_mac = std::move(first.what);
    head_since_us = now;
    owner.on_submitted(index);
  }
  void on_lost(const shim::ip_packet_view&, hop::loss) {}
  void on_purged(frame&&) {}
  std::uint32_t window_packets(const shim::ip_packet_view&) const { return 0; }
  void on_room(hop::room_event, const shim::ip_packet_view&) {}

  // ---- What the ends of EXACT flows want of theirs (host/core/hop/exact_ends.hpp)
  bool has_room() const { return !path.queue().full(); }
  void send_data(study_ends::sent&& data) { owner.send_data(index, std::move(data)); }
  void send_report(study_ends::due_report&& due) { owner.send_report(index, std::move(due)); }

  /// When expire() wants to be called.
  std::optional<time_us> next_deadline() const {
    const std::optional<time_us> passing = path.next_deadline(), sending = ends.next_deadline(has_room());
    return passing && sending ? std::min(*passing, *sending) : passing ? passing : sending;
  }
  void expire(time_us now) {
    path.expire(now);
    ends.serve(now, *this);
  }

  static std::uint32_t mpdu_bytes(std::uint32_t ip_bytes, const hop::exact_rider& rider) {
    return static_cast<std::uint32_t>(mac_header_bytes + llc_snap_bytes + path_header_bytes + hop::rider_size(rider) + ip_bytes +
                                      fcs_bytes);
  }

  study_network& owner;
  std::uint32_t index;
  hop::hop_path<study_node> path;
  study_ends ends;
  bool silent = false;  ///< it passes packets on without looking at them
  std::optional<frame> in_mac{};
  time_us head_since_us = 0;  ///< of the frame in the MAC
};

}  // namespace perhop::exact_study
