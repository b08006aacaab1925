// SPDX-License-Identifier: GPL-2.0-or-later
//
// EXACT router: tells every flow that passes what rate it may use here, by lowering the explicit rate (ER) of its packets.
//
// It knows what channel time a bit costs to each next hop (from the MAC's measurements), which flows pass, and what each of
// them uses (current rate, CR, of its packets). It shares a budget of channel time among them, weighted max-min fair in rate or
// in time, every interval and at once when a flow comes, goes, or a next hop changes.
//
//   M1  own flows only; a bit costs 1/b, b the measured effective bandwidth to the next hop; budget eta less the time that
//       this node's other packets take, reports of EXACT flows among them
//   M2  all flows of the ledger; a bit costs the uncontended channel time of its data and feedback on every link of a
//       neighbourhood; every neighbourhood has the least budget that a router at its links finds usable, less what is busy with
//       other traffic
//
// Source: K. Chen, K. Nahrstedt, "Limitations of equation-based congestion control in mobile ad hoc networks", section VI
// (explicit rate in every packet, lowered by each router to its allocation of its own bandwidth), which leaves the
// allocation open; channel time as the currency: S. Shah, K. Chen, K. Nahrstedt, PerCom 2003. Names (ER, CR), M2 and all
// that follows are ours:
//  - a flow that has long used less than it was offered is limited elsewhere. It is offered 5 % more than it uses, and 25 %
//    more once it takes that. So its surplus goes to others, and it can grow again. While it still rises it is not taken for
//    limited, and what held it back is asked again at once: a rise passes all routers with one packet;
//  - allocations fall at once, and rise by half each time at most, but one that is new or has another next hop gets its share at once;
//  - what other routers say that a flow uses counts for a ninth more (M2): it may be its share of a moment ago, or of a neighbourhood
//    where less is usable. Else a flow at the edge took for itself alone what all others seemed to leave;
//  - the floor of one packet a second yields where floors alone would exceed the budget;
//  - a standing queue lowers all allocations until it is gone;
//  - how much of the channel time is usable is measured (M2): a standing queue, or packets that the MAC gives up, lower it, and it
//    returns to eta slowly, or at once when the flows around are others or take more or fewer links. Hellos tell it, so that all who
//    share it share the loss;
//  - averages are those of the MAC. After 2 s without a completion the estimate returns to the idle medium's;
//  - hellos of all routers that a station hears take at most hello_share of its time: each router earns its part of it, saves
//    what 10 s give it, and waits until its last hello is paid. Where nothing changes, a router waits twice as long each time. Where
//    no EXACT flow is near, nothing is said;
//  - a packet that says that its flow uses nothing (current rate 0) ends the flow here.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "host/core/policy/delay_estimator.hpp"
#include "host/core/policy/exact_neighbourhood.hpp"
#include "host/core/policy/exact_water_filling.hpp"
#include "host/core/policy/generated/settings.hpp"

namespace perhop::policy {

/// The settings among these, with their words and ranges, are those of policies.yaml.
struct exact_router_config {
  const timing_profile* profile = nullptr;  ///< must be set and outlive the router
  std::uint32_t rts_threshold_bytes = 0;
  exact_mode mode = exact_settings{}.mode;
  exact_fairness fairness = exact_settings{}.fairness;
  double eta = exact_settings{}.eta;  ///< share of channel time to give out, at most (M2: less where it is measured so)
  std::uint32_t interval_us = exact_settings{}.interval_us;              ///< between allocations
  std::size_t max_flows = 1024;                                          ///< the flow idle longest makes room
  std::uint32_t feedback_mpdu_bytes = 106;                               ///< of the feedback that a flow causes in the other direction (M2)
  std::uint32_t feedback_every_packets = 4;                              ///< one feedback for so many data packets (M2); 0: none
  std::uint32_t feedback_interval_us = 200'000;                          ///< and never less often than this (M2); 0: by packets only
  std::uint32_t queue_target_us = 20'000;                                ///< standing queue that is left alone
  std::uint32_t drain_us = 500'000;                                      ///< time in which the rest is to go
  std::uint32_t hello_interval_us = exact_settings{}.hello_interval_us;  ///< after a change, which is told earlier, not under interval_us
  double hello_share = 0.02;  ///< of a station's channel time, at most, for the hellos that it hears; 0: none are said
  exact_neighbourhood_config neighbourhood{};
};

/// A packet that is queued here, as far as the router looks at it.
struct exact_packet {
  std::uint64_t flow = 0;  ///< identity, the same at all routers
  std::uint8_t peer = 0;   ///< slot of the next hop in the MAC's neighbour table
  std::uint8_t rate_index = 0;
  std::uint32_t ip_bytes = 0;    ///< what rates count
  std::uint32_t mpdu_bytes = 0;  ///< what the air carries
  std::uint64_t explicit_rate_bps = 0;
  std::uint64_t current_rate_bps = 0;  ///< 0: the packet belongs to no EXACT flow
  double weight = 1;
};

/// What became of a packet to a next hop.
struct exact_completion {
  neighbour_averages averages{};
  bool delivered = true;
};

struct exact_router_counters {
  std::uint64_t packets = 0;        ///< of EXACT flows
  std::uint64_t other_packets = 0;  ///< of other flows
  std::uint64_t lowered = 0;        ///< packets whose explicit rate was above the allocation
  std::uint64_t allocations = 0;
  std::uint64_t flows_expired = 0;
  std::uint64_t flows_ended = 0;    ///< by a packet that said so
  std::uint64_t flows_evicted = 0;  ///< to make room
  std::uint64_t peers_lost = 0;
  std::uint64_t unknown_peer = 0;  ///< slots out of range
  std::uint64_t zero_rates = 0;    ///< packets that came with explicit rate 0
};

class exact_router {
public:
  explicit exact_router(const exact_router_config& config);

  /// A packet of an EXACT flow is queued here. @return the explicit rate to send on with it: never above the one it came
  /// with, nor above the allocation
  std::uint64_t on_packet(std::uint64_t now_us, const exact_packet& packet);

  /// A packet of no EXACT flow is queued here: counts its channel time. Ends the flow where it is known.
  /// @param feedback it is the feedback of an EXACT flow, whose time that flow's data pay already
  void on_other_packet(std::uint64_t now_us, const exact_packet& packet, bool feedback = false);

  /// The MAC completed a packet. @return true when this was the third drop in a row: the next hop is lost, tell routing
  bool on_completion(std::uint64_t now_us, const exact_completion& completion);

  /// Routing or MAC says that the next hop is gone. Its flows get nothing but the floor until a packet goes through again.
  void on_peer_lost(std::uint64_t now_us, std::uint8_t peer);

  /// The neighbour slot was given to another neighbour.
  void on_peer_replaced(std::uint8_t peer);

  /// Bytes waiting in the queue in front of the MAC.
  void on_queue(std::uint64_t queued_bytes) { queued_bytes_ = static_cast<double>(queued_bytes); }

  /// Which node a neighbour slot stands for (M2).
  void set_peer_node(std::uint8_t peer, std::uint32_t node);

  /// A hello arrived (M2). Its sender is a neighbour, even when no packets go there.
  void on_hello(std::uint64_t now_us, const wire::hello& message);

  /// When on_deadline wants to be called.
  std::optional<std::uint64_t> deadline() const;

  /// Time has come: allocates and makes a hello due. Early calls do nothing.
  void on_deadline(std::uint64_t now_us);

  /// The hello to broadcast now, when one is due (M2). Ask after on_deadline.
  std::optional<wire::hello> take_hello(std::uint64_t now_us);

  /// What the flow may use here; nothing when it is unknown.
  std::optional<double> allocation_bps(std::uint64_t flow) const;

  /// Channel time that a bit of the flow costs on its next hop, as last allocated; nothing when the flow is unknown.
  std::optional<double> cost_s_per_bit(std::uint64_t flow) const;

  /// Calls visit(flow, rate_index, allocation_bps) for every flow.
  template <typename visitor>
  void for_each_flow(visitor visit) const {
    for (std::uint32_t index = newest_; index != none; index = states_[index].older) {
      visit(states_[index].flow, states_[index].rate_index, states_[index].allocation_bps);
    }
  }

  /// Of the last allocation: sum of cost * allocation of the own flows, and the largest budget share used (M2: over all
  /// neighbourhoods, other routers' flows included at what this router expects of them).
  double load() const { return load_; }

  /// Effective bandwidth to a next hop for 1500-byte packets: 1500 B / measured service time.
  double bandwidth_bps(std::uint64_t now_us, std::uint8_t peer, std::uint8_t rate_index) const;

  std::size_t flows() const { return size_; }
  const exact_router_counters& counters() const { return counters_; }
  const exact_neighbourhood& neighbourhood() const { return neighbourhood_; }
  const exact_router_config& config() const { return config_; }

  /// Share of the channel time that this router finds EXACT flows can use (M2).
  double usable_share() const { return usable_share_; }

  /// Running average of the share of the channel time that other packets of this router take.
  double other_share() const { return other_share_; }

private:
  static constexpr std::uint32_t none = UINT32_MAX;

  /// What a flow does with its allocation.
  enum class demand : std::uint8_t {
    open,     // takes what it gets
    limited,  // long used less than it was offered
    growing   // was limited and takes more again
  };

  struct allocated_flow {
    std::uint64_t flow = 0;
    std::uint64_t last_seen_us = 0;
    std::uint64_t short_since_us = 0;  // since when it uses less than offered; 0: it does not
    double gap_us = 0;                 // running average of the time between packets
    double bytes = 0;                  // running average of ip_bytes
    double mpdu_overhead_bytes = 0;    // mpdu_bytes - ip_bytes of the last packet
    double current_bps = 0;
    double arrived_bps = 0;    // explicit rate as it arrived
    double reference_bps = 0;  // what it used when it was found limited
    double weight = 1;
    double cost_s_per_bit = 0;
    double allocation_bps = 0;
    double share_bps = 0;   // before damping
    bool at_limit = false;  // the share is what the flow can use
    bool fresh = true;      // not yet allocated
    demand state = demand::open;
    std::uint8_t peer = 0;
    std::uint8_t rate_index = 0;
    std::uint32_t place = 0;     // in the ledger
    std::uint32_t newer = none;  // list from the flow idle longest to the one seen last
    std::uint32_t older = none;
  };

  struct peer_state {
    bool measured = false;
    bool lost = false;
    bool node_known = false;
    std::uint8_t drops = 0;
    std::uint8_t rate_index = 0;
    std::uint64_t completed_us = 0;
    double allocated_us = 0;  // service time of a 1500-byte packet when last allocated; 0: never
    std::uint32_t node = 0;
  };

  std::size_t home(std::uint64_t flow) const;
  std::uint32_t find(std::uint64_t flow) const;
  std::uint32_t insert(std::uint64_t flow);
  std::uint32_t free_state();
  void put_in_bucket(std::uint32_t index);
  void erase(std::uint32_t index);
  void append_newest(std::uint32_t index);
  void unlink(std::uint32_t index);
  void note_use(allocated_flow& state, std::uint64_t now_us);

  double service_us(std::uint64_t now_us, std::uint8_t peer, std::uint8_t rate_index, double mpdu_bytes) const;
  double cost_s_per_bit(std::uint64_t now_us, const allocated_flow& state) const;
  static double floor_bps(const allocated_flow& state);
  static double demand_bps(const allocated_flow& state);
  double limit_bps(const allocated_flow& state) const;
  double gain(double weight, double cost) const;
  double drain_share(std::uint64_t now_us) const;

  std::uint64_t idle_limit_us(const allocated_flow& state) const;
  void forget_idle(std::uint64_t now_us);
  void allocate_promptly(std::uint64_t now_us);
  void allocate_soon(std::uint64_t now_us);
  void allocate(std::uint64_t now_us);
  void share_own();
  void share_neighbourhoods(std::uint64_t now_us);
  void settle(std::uint64_t now_us);
  void tell_own(std::uint64_t now_us);
  void hello_soon(std::uint64_t now_us);
  void hello_by(std::uint64_t now_us, std::uint64_t wanted_us);
  void note_other_traffic(std::uint64_t now_us);
  void measure_usable(double passed_s, double keep);
  std::uint64_t hello_jitter_us(std::uint64_t width_us);

  exact_router_config config_;
  delay_estimator delays_;
  exact_neighbourhood neighbourhood_;
  water_filling filling_;
  exact_router_counters counters_;

  std::array<peer_state, neighbour_slots> peers_{};
  std::size_t mask_;
  std::vector<std::uint32_t> buckets_;
  std::vector<allocated_flow> states_;
  std::vector<std::uint32_t> free_;
  std::size_t size_ = 0;
  std::uint32_t oldest_ = none;
  std::uint32_t newest_ = none;

  std::uint64_t allocate_at_us_ = 0;
  std::uint64_t allocated_us_ = 0;
  bool allocating_ = false;
  std::uint64_t prompt_since_us_ = 0;
  std::uint32_t prompt_ = 0;
  std::uint64_t hello_at_us_ = UINT64_MAX;  // nothing to say
  bool hello_due_ = false;
  std::uint64_t hello_sent_us_ = 0;
  double hello_credit_us_ = 0;            // of channel time; below 0: the last hello took more
  std::uint64_t hello_credit_at_us_ = 0;  // until when it was counted
  std::uint64_t hello_rest_us_ = 0;       // to the next one, where nothing changes
  bool has_news_ = true;                  // since the last one
  std::uint64_t hello_random_ = 0;
  double queued_bytes_ = 0;
  double load_ = 0;

  // What is usable of the channel time, what hellos say of it, and what it is measured by: frames since the last allocation.
  double usable_share_;
  double told_usable_share_;
  std::uint32_t completed_ = 0;
  std::uint32_t given_up_ = 0;
  std::uint64_t flows_around_ = 0;  // sum of their identities, and of their links

  // Channel time of other traffic: gathered since, and its running average.
  std::uint64_t other_since_us_ = 0;
  double other_busy_us_ = 0;
  double other_share_ = 0;

  std::vector<water_filling_flow> shares_;
  std::vector<double> costs_;
  std::vector<water_filling_budget> budgets_;
};

}  // namespace perhop::policy
