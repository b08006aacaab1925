// SPDX-License-Identifier: GPL-2.0-or-later
//
// A node of the studies' network: a host of the hop path (host/core/hop) whose packets are numbers, and whose MAC takes one frame at a
// time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "host/core/hop/hop_path.hpp"

namespace perhop::exact_study {

using time_us = std::uint64_t;

struct study_packet {
  std::size_t flow = 0;
  bool report = false;
  std::vector<std::uint32_t> path;
  std::size_t hop = 0;  ///< place in the path
  std::uint32_t ip_bytes = 0;
  std::uint8_t ttl = 64;
  std::optional<wire::path_header> header{};
  wire::exact_header exact{};
  wire::exact_report told{};
  std::vector<std::uint8_t> hello{};  ///< of a router, instead of all the rest
};

/// What nodes ask of their network.
class study_network {
public:
  virtual std::uint8_t rate_of(std::uint32_t from, std::uint32_t to) const = 0;
  /// A data packet leaves its source with this rate.
  virtual void on_first_hop(std::size_t flow, std::uint64_t explicit_rate_bps) = 0;
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

  study_node(study_network& all, std::uint32_t number, std::size_t queue_packets) : owner(all), index(number), path(*this, queue_packets) {}

  static std::uint64_t address_of(std::uint32_t node) { return node_address_base + node + 1; }
  static std::uint32_t ipv4_of(std::uint32_t node) { return 0x0a00'0001 + node; }
  static std::uint32_t node_at(std::uint64_t address) { return static_cast<std::uint32_t>(address - node_address_base - 1); }

  // ---- What the hop path wants of its host (host/core/hop/hop_path.hpp)
  std::optional<std::uint64_t> receiver_of(const outgoing& p) const { return address_of(p.content.path[p.content.hop + 1]); }
  shim::next_hop describe(const outgoing& p, std::uint64_t receiver, std::uint8_t peer) const {
    return {.peer = peer, .rate_index = owner.rate_of(index, node_at(receiver)), .mpdu_bytes = mpdu_bytes(p.content.ip_bytes, p.rider)};
  }
  void before_leaving(outgoing&) {}
  void on_left(time_us, const outgoing& p, std::uint64_t, const wire::path_header& header, std::uint64_t) {
    if (p.from == hop::origin::here && !p.content.report) owner.on_first_hop(p.content.flow, header.explicit_rate_bps);
  }
  frame make(time_us, outgoing&& p, const wire::path_header& header, std::uint64_t receiver, const shim::next_hop& next) const {
    p.content.header = header;
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

  static std::uint32_t mpdu_bytes(std::uint32_t ip_bytes, const hop::exact_rider& rider) {
    return static_cast<std::uint32_t>(mac_header_bytes + llc_snap_bytes + path_header_bytes + hop::rider_size(rider) + ip_bytes +
                                      fcs_bytes);
  }

  study_network& owner;
  std::uint32_t index;
  hop::hop_path<study_node> path;
  bool silent = false;  ///< it passes packets on without looking at them
  std::optional<frame> in_mac{};
  time_us head_since_us = 0;  ///< of the frame in the MAC
};

}  // namespace perhop::exact_study
