// SPDX-License-Identifier: GPL-2.0-or-later
/// MAC-level traffic over one hop: saturated and Poisson flows, with the path header's delay stamped by the sender and read
/// by the receiver. Drives an `air` and feeds a run_report.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <vector>

#include "host/core/wire/path_header.hpp"
#include "sim/air/air.hpp"
#include "sim/air/pcapng.hpp"
#include "sim/run/run_config.hpp"
#include "sim/run/run_report.hpp"

namespace perhop::run {

class mac_traffic final : public listener {
public:
  /// @param capture where frames are recorded, or null. Everything must outlive the traffic.
  /// @throws config_error a flow that is not MAC-level or not one hop
  mac_traffic(const run_config& config, run_report& report, air::pcapng_writer* capture);

  /// The air to send through; before anything else.
  void attach(air::air& medium) { medium_ = &medium; }

  /// When a flow starts, stops or has a packet next; `never` when nothing comes.
  tick next_event() const;
  /// Does what is due now; medium.now() must be `now`.
  void act(tick now);

  /// IP bytes delivered so far, by flow.
  std::vector<std::uint64_t> delivered_bytes() const;
  /// @param end simulated time reached
  std::vector<flow_result> results(tick end) const;

  void on_transmission(const transmission& frame) override;
  void on_lost(const lost_frame& lost) override;
  void on_frame_bytes(const transmission& frame, byte_span psdu) override;
  void write_msdu(node_id node, const tx_request& request, std::vector<std::uint8_t>& msdu) override;
  void on_delivery(tick now, node_id to, const transmission& frame) override;
  void on_completion(tick now, const completion& record) override;
  void on_phy(const phy_event& event) override;

private:
  struct packet {
    std::uint32_t flow;
    std::uint32_t number;
  };
  // A packet's header is read at the far end before the sender's MAC has taken so many more.
  static constexpr std::size_t header_ring = 64;

  struct flow {
    flow_config config;
    std::uint8_t peer;  // of dst, in the MAC of src
    bool active = false;
    tick next_event;  // start, then packet (Poisson) or stop
    tick stop;
    double next_arrival_us;     // Poisson: without rounding
    std::uint32_t packets = 0;  // made so far
    std::uint64_t delivered = 0;
    std::uint64_t delivered_measured = 0;
    std::array<wire::path_header_buffer, header_ring> headers;
  };

  struct sender {
    std::deque<packet> queue;              // Poisson packets that the MAC has no room for
    std::vector<std::uint32_t> saturated;  // flows that always have a packet
    std::size_t next_saturated = 0;
    std::vector<std::uint32_t> delay_us;  // by peer: the neighbour table's delay of the last packet
  };

  void pump(node_id node);
  void submit(node_id node, const packet& packet);
  double gap_us(std::uint32_t flow, std::uint32_t number) const;
  void append_msdu(const flow& flow, std::uint32_t number, std::vector<std::uint8_t>& msdu) const;

  const run_config& config_;
  run_report& report_;
  air::pcapng_writer* capture_;
  air::air* medium_ = nullptr;
  tick measure_from_;
  std::vector<flow> flows_;
  std::vector<sender> senders_;
};

}  // namespace perhop::run
