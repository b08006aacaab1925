// SPDX-License-Identifier: GPL-2.0-or-later
/// What a run measured on its hops, collected from completions, and result.json. Shared by perhop-air and perhop-sim.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include <nlohmann/json.hpp>

#include "sim/air/air.hpp"
#include "sim/air/trace.hpp"
#include "sim/air/types.hpp"
#include "sim/run/run_config.hpp"

namespace perhop::run {

/// One flow's line in result.json. What a flow does not have is left out of it: a round trip without a sample is not 0.
struct flow_result {
  double goodput_bps = 0;  ///< of the application (TCP payload; IP bytes for MAC-level flows)
  double packets_per_s = 0;
  std::uint64_t delivered_packets = 0;
  std::optional<double> rtt_ms{};        ///< mean of the samples; TCP, EXACT and TFRC
  std::optional<double> sent_packets{};  ///< that left the source in the measured time, also a second time; not of MAC-level flows
  std::optional<double> loss_share{};    ///< of those sent; UDP: but for the last second of the run
  std::optional<double> delay_ms{};      ///< from IP to IP, mean; what follows likewise: UDP only
  std::optional<double> delay_p95_ms{};
  std::optional<double> rate_signal_bps{};        ///< EXACT: mean over time of the path's rate as the source knows it
  std::optional<double> allowed_rate_bps{};       ///< EXACT, TCP that it paces, TFRC: mean over time of what the source may use
  std::optional<double> app_rate_bps{};           ///< EXACT: mean over time of what the application sends at
  std::optional<double> rate_changes{};           ///< EXACT: times that the application changed its rate or quality
  std::optional<double> signal_changes{};         ///< EXACT: times that the signal would have changed it without DIID
  std::optional<double> loss_event_rate{};        ///< TFRC: loss events a packet, over the intervals that ended in the measured time
  std::optional<double> loss_intervals{};         ///< TFRC: how many these are
  std::optional<double> loss_prediction_error{};  ///< TFRC: mean of |predicted - true| / true of these
  std::optional<double> no_feedback_halvings{};   ///< TFRC: times that the rate was halved for want of feedback
  std::optional<double> cwl_packets{};            ///< TCP: mean over the measured time, since there was a limit
  std::optional<double> cwnd_packets{};           ///< TCP: likewise
  std::optional<double> completion_s{};           ///< TCP: from the start of a transfer of a given size until its last byte was read
  std::uint64_t retransmissions = 0;              ///< TCP; what follows likewise
  std::uint64_t timeouts = 0;
  std::optional<double> rtt_p95_ms{};
  std::uint64_t tcp_acks_sent = 0;                    ///< without payload, by the receiver's shim
  std::optional<double> tcp_acks_per_packet{};        ///< of those, a packet delivered
  std::uint64_t tcp_acks_held = 0;                    ///< times that the receiver's shim kept one
  std::optional<double> tcp_acks_window_share{};      ///< of those sent: a whole delay window had arrived
  std::optional<double> tcp_acks_timer_share{};       ///< of those sent: a timer ended the wait for it
  std::optional<double> tcp_acks_disorder_share{};    ///< of those sent: told of a packet out of order or of a gap
  std::uint64_t tcp_acks_repeated = 0;                ///< of those sent: sent again by a timer
  std::uint64_t mac_drops_data_packets = 0;           ///< given up by the MAC of any node on the way
  std::uint64_t mac_drops_tcp_ack_packets = 0;        ///< likewise
  std::uint64_t queue_drops_data_packets = 0;         ///< no room in the queue of any node on the way
  std::uint64_t queue_drops_tcp_ack_packets = 0;      ///< likewise
  std::uint64_t link_failure_drops_packets = 0;       ///< purged from a queue, both directions
  std::uint64_t link_failure_drops_data_packets = 0;  ///< of those, data
  std::uint32_t max_packets_in_flight = 0;            ///< when a new segment left, in the whole run
};

/// Whose packet crossed a hop. What a link costs is told for each by itself: a TCP ACK is a fraction of a data packet.
enum class hop_traffic : std::uint8_t {
  data,       ///< of a flow, on its way to the receiver
  answer,     ///< TCP ACKs and EXACT's reports, on their way back
  control,    ///< of a routing protocol
  broadcast,  ///< for all neighbours
};

/// CPU seconds of the run by where they went.
struct cpu_times {
  double total_s = 0;
  double rtl_s = 0;
  double medium_s = 0;
  double transport_s = 0;
  double other_s = 0;
};

class run_report {
public:
  /// @param lines where trace lines go, or null; @param completions_csv likewise for completions.csv, @param phy_csv for phy.csv.
  ///        All must outlive the report.
  explicit run_report(const run_config& config, std::ostream* lines = nullptr, std::ostream* completions_csv = nullptr,
                      std::ostream* phy_csv = nullptr);

  // To be called from the listener's callbacks, for every one of them.
  void on_transmission(const transmission& frame) {
    ++transmissions_;
    trace_.add(frame);
  }
  void on_completion(const completion& record, hop_traffic traffic = hop_traffic::data);
  void on_phy(const phy_event& event);

  /// A packet that has crossed one hop only showed this total delay in its path header at the far end.
  void on_path_header_delay(tick now, node_id from, node_id to, double delay_us, hop_traffic traffic = hop_traffic::data);

  /// A node gave a packet to a wire. @param taken false: the queue had no room
  void on_wire_packet(tick now, node_id from, node_id to, bool taken);

  /// The interface queue of a node was full.
  void on_queue_drop(node_id node) { ++queue_drops_[node]; }

  /// A packet was dropped from the interface queue of a node because the link that it waited for had failed.
  void on_link_failure_drop(node_id node) { ++link_failure_drops_[node]; }

  /// The MAC gave a packet up. @param in_range its receiver could have got it: routing will take a link for broken that is not
  void on_link_failure(tick now, bool in_range) {
    if (now < measure_from_) return;
    ++link_failures_;
    if (in_range) ++false_link_failures_;
  }

  std::uint64_t completions_checked() const { return completions_checked_; }
  std::uint64_t sum_mismatches() const { return sum_mismatches_; }
  std::string trace_hash() const { return trace_.hash_text(); }

  /// The whole of result.json.
  /// @param end simulated time reached; @param flows one for each flow of the configuration
  nlohmann::ordered_json result(tick end, const air_counters& counters, const cpu_times& cpu, const std::vector<flow_result>& flows,
                                bool interrupted) const;

private:
  struct hop_sums {
    std::uint64_t packets = 0;  // completions in the measured time
    std::uint64_t delivered = 0;
    std::uint64_t drops = 0;
    std::uint64_t rts_attempts = 0;
    std::uint64_t data_attempts = 0;
    std::uint64_t retries = 0;
    std::uint64_t service_us = 0;
    std::array<std::uint64_t, service_parts::count> parts_us{};
    double table_service_us = 0;  // neighbour table's delay of this very packet, summed
    double table_contention_us = 0;
    double table_overhead_us = 0;
    double table_data_attempts = 0;
    std::uint64_t stamps = 0;
    double stamps_us = 0;
  };

  /// A link in one direction, and what crosses it.
  struct hop_key {
    node_id from = 0;
    node_id to = 0;
    hop_traffic traffic = hop_traffic::data;

    friend bool operator==(const hop_key&, const hop_key&) = default;
  };
  struct hop_key_hash {
    std::size_t operator()(const hop_key& key) const noexcept {
      return std::hash<std::uint64_t>{}((std::uint64_t{key.from} << 34) ^ (std::uint64_t{key.to} << 2) ^
                                        static_cast<std::uint64_t>(key.traffic));
    }
  };

  struct wire_sums {
    node_id from = 0;
    node_id to = 0;
    std::uint64_t packets = 0;  // that it took in the measured time
    std::uint64_t drops = 0;
  };

  hop_sums& hop(const hop_key& key);
  nlohmann::ordered_json hops_json() const;

  run_config config_;
  tick measure_from_;
  air::trace trace_;
  std::ostream* completions_csv_;
  std::ostream* phy_csv_;
  std::uint64_t transmissions_ = 0;
  std::uint64_t completions_checked_ = 0;
  std::uint64_t sum_mismatches_ = 0;
  std::vector<std::uint64_t> queue_drops_;
  std::vector<std::uint64_t> link_failure_drops_;
  std::uint64_t link_failures_ = 0;
  std::uint64_t false_link_failures_ = 0;
  std::unordered_map<hop_key, std::size_t, hop_key_hash> hop_index_;
  std::vector<hop_sums> hops_;
  std::vector<hop_key> hop_keys_;  // parallel to hops_
  std::size_t last_hop_ = 0;
  std::vector<wire_sums> wires_;  // one a direction
};

/// One line of `flows`.
/// @param has_measured false: the run is still in its warm-up, so there is nothing to say
nlohmann::ordered_json flow_json(const flow_config& flow, const flow_result& measured, bool has_measured);

/// Microseconds that the neighbour averages of a completion predict for its own packet.
double predicted_service_us(const timing_profile& profile, const completion& record);

}  // namespace perhop::run
