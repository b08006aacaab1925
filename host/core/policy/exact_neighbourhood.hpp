// SPDX-License-Identifier: GPL-2.0-or-later
//
// The ledger of EXACT's mode M2: which flows share the air with each other around a router, and what they cost.
//
// Routers broadcast hellos (wire/hello.hpp) about themselves and pass on what they heard about routers whose links can interfere
// with their own. Those are near, but a winding path to them may have many hops: with positions it is the distance that counts. Two links
// interfere when a node of one interferes with a node of the other, because every link needs both its ends (DATA and MAC ACK, RTS and CTS).
// Links that all interfere with each other can carry one frame at a time: such a set, as large as it gets, is a *neighbourhood*, and has
// one budget of channel time: the least that a router at its links finds usable.
//
// Hellos take air, so a router says nothing where it has no part in anything: it speaks when flows leave it or end at it, when it has
// other traffic within interference of one, or when it stands between routers that need each other's news. Of others it passes on what
// changed once, and what did not only every refresh_us, unless others did. A router without flows passes on only what one that it hears
// does not know. Passing on what readers have heard already costs most: with it hellos filled their budget for good, and news waited.
// So an account of the same flows at the same rates reads the same, and is not news. The growing rests are those of Trickle (RFC 6206).
//
// Source: neighbourhoods as the unit of sharing are those of S. Rangwala, A. Jindal, K.-Y. Jang, K. Psounis,
// R. Govindan, "Understanding congestion control in multi-hop wireless mesh networks", MobiCom 2008 (WCPCap). Ours differs:
//  - a neighbourhood is a maximal set of links that exclude each other, not a link with all links around it. On a chain
//    whose nodes hear two hops far it is 4 links, as in K. Chen et al. (2004), section 4.1; the latter would be 7;
//  - two nodes that tell their positions interfere when they are closer than the interference range. Else hops stand for
//    distance: at most interference_hops. Nodes farther apart in hops that interfere all the same are then not seen, as
//    they are common where a path winds: sim/experiments/exact_allocation shows what that costs.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "host/core/policy/exact_water_filling.hpp"
#include "host/core/wire/hello.hpp"

namespace perhop::policy {

struct exact_neighbourhood_config {
  std::uint32_t node = 0;                         ///< this router: lower half of its address
  std::uint8_t interference_hops = 2;             ///< 550 m of carrier sense over hops of 250 m
  double interference_range_m = 550;              ///< between nodes that know where they stand
  std::optional<wire::node_position> position{};  ///< of this router; nothing: unknown
  std::uint8_t relay_hops = 6;           ///< hellos tell of routers at most this far from who reads them, where hops stand for distance
  std::uint8_t max_relay_hops = 16;      ///< the same between nodes that know where they stand: a path winds
  double relay_range_m = 1050;           ///< and of those no farther than this: interference_range_m and a hop at both ends
  std::size_t max_nodes = 64;            ///< routers remembered
  std::size_t max_links = 128;           ///< links with flows that are looked at
  std::size_t max_neighbourhoods = 256;  ///< sets of links; more are counted, and replaced by the links around a link
  std::uint64_t refresh_us = 5'000'000;  ///< what did not change is passed on so often
  std::uint64_t forget_us = 40'000'000;  ///< a router not heard of for longer is forgotten
};

struct exact_neighbourhood_counters {
  std::uint64_t hellos = 0;
  std::uint64_t own_echoes = 0;     ///< hellos that claim to come from this node
  std::uint64_t stale = 0;          ///< nodes in a hello that were known from a newer one
  std::uint64_t nodes_refused = 0;  ///< no room for one more
  std::uint64_t links_refused = 0;
  std::uint64_t sets_refused = 0;  ///< times that there were too many neighbourhoods
};

/// A flow as the ledger knows it, seen from all routers that told of it.
struct ledger_flow {
  std::uint32_t flow = 0;
  double weight = 1;
  std::uint64_t rate_limit_bps = wire::unlimited_rate_bps;  ///< smallest that a router told
};

class exact_neighbourhood {
public:
  explicit exact_neighbourhood(const exact_neighbourhood_config& config);

  /// What this node says of itself from now on. `hops` and `sequence` are filled in.
  void set_own(std::uint64_t now_us, const wire::hello_node& own);
  const wire::hello_node& own() const { return own_; }

  /// A hello arrived from a neighbour. @return whether the ledger changed
  bool on_hello(std::uint64_t now_us, const wire::hello& message);

  /// Adds the nodes that were heard directly to a list of neighbours, each once.
  void list_heard(std::uint64_t now_us, std::vector<std::uint32_t>& neighbours) const;

  /// What a router is to the flows around it.
  enum class hello_part : std::uint8_t {
    none,   ///< no flow is within interference
    relay,  ///< others may need what it heard
    end     ///< of a link with flows, or it has other traffic
  };
  hello_part own_part() const;

  /// What to broadcast now: this node and what is due of the others, nearest first. Nothing: nobody needs to hear anything.
  std::optional<wire::hello> make_hello(std::uint64_t now_us);

  /// Whether make_hello would tell of a change that it has not told of before.
  bool has_news(std::uint64_t now_us) const;

  /// The part of the channel time of hellos that this router takes. Ends have equal parts, and a relay, which says little, a fraction of
  /// one. Ends within interference are all heard of. Relays where positions are known only by their neighbours: they are taken to
  /// be as many everywhere.
  double hello_part_share() const;

  /// Works out the neighbourhoods of all links known, after forgetting the silent ones.
  void update(std::uint64_t now_us);

  // What update() found.
  std::span<const ledger_flow> flows() const { return flows_; }
  std::span<const water_filling_cost> costs() const { return costs_; }        ///< of all budgets, one after the other
  std::span<const water_filling_budget> budgets() const { return budgets_; }  ///< .budget: what is usable, less busy time of no EXACT flow
  /// Where the flow stands in flows(); nothing when no router told of it.
  std::optional<std::uint32_t> place_of_flow(std::uint32_t flow) const;

  std::size_t links() const { return links_.size(); }

  /// Visits the links that update() found: of which node, to which, how many flows, and its other traffic's share of the time (of a
  /// link of a node with itself).
  template <typename visitor>
  void for_each_link(visitor visit) const {
    for (const ledger_link& link : links_) visit(graph_[link.from], graph_[link.to], link.flow_count, link.busy);
  }
  std::size_t nodes() const { return known_.size(); }

  const exact_neighbourhood_counters& counters() const { return counters_; }

private:
  struct hearing {
    std::uint32_t node;
    std::uint64_t at_us;
  };
  /// A hello may be lost: a change is told again where somebody does not say that it knows.
  static constexpr std::uint32_t tellings = 2;
  struct known_node {
    wire::hello_node told;
    std::uint64_t heard_us = 0;
    std::uint64_t passed_on_us = 0;   // never: 0
    std::vector<hearing> tellers{};   // that passed it on since it changed
    std::uint32_t untold = tellings;  // times that its last change is still passed on; the first time whoever listens
    bool passed_on_in_use = false;    // as somebody with flows or traffic: that this has ended is passed on, too
  };
  /// A router that was silent for too long. Others heard its last news later and still pass them on.
  struct forgotten_node {
    std::uint32_t node;
    std::uint16_t sequence;  // of the last news
    std::uint64_t at_us;
  };
  /// A flow that a node has no more, and where it sent it.
  struct idle_flow {
    std::uint32_t flow;
    std::uint32_t node;
    std::uint32_t next;
    std::uint64_t at_us;  // when it said so, or the next node that it still has it
  };
  /// A flow that went another way, and that no router known sends to a node any more.
  struct moved_flow {
    std::uint32_t flow;
    std::uint32_t left;  // the node
    std::uint64_t at_us;
    std::optional<wire::hello_flow> taken_off{};  // what the node last said of it; nothing: that it is gone
  };
  struct link_flow {
    std::uint32_t flow;  // place in flows_
    double cost_s_per_bit;
  };
  struct ledger_link {
    std::uint32_t from;  // places in graph_
    std::uint32_t to;
    std::uint32_t first_flow;  // of link_flows_
    std::uint32_t flow_count;
    double busy;
  };
  using link_set = std::vector<std::uint64_t>;

  bool concerns(const wire::hello_node& told) const;
  bool is_next(std::uint32_t node) const;
  bool is_due(std::uint64_t now_us, const known_node& known, hello_part role) const;
  bool somebody_lacks(std::uint64_t now_us, const known_node& known) const;
  bool is_old_news(std::uint64_t now_us, const wire::hello_node& told);
  void forget_silent(std::uint64_t now_us);
  bool sent_to(std::uint32_t flow, std::uint32_t node) const;
  void follow_moved_flows(std::uint64_t now_us, const wire::hello_node& before, const wire::hello_node& now);
  std::optional<std::uint32_t> was_sent_to(std::uint32_t flow, std::uint32_t node) const;
  void leave(std::uint64_t now_us, std::uint32_t flow, std::uint32_t node, std::uint32_t by);
  void leave_idle_flows(std::uint64_t now_us);
  void put_back_flows(std::uint64_t now_us);
  void leave_out_moved_flows(std::uint64_t now_us, wire::hello_node& heard);
  bool in_use(const wire::hello_node& told) const;
  static wire::hello_node trimmed(const wire::hello_node& told);
  std::uint32_t place_of(std::uint32_t node);
  std::uint32_t& bucket_of(std::uint32_t flow);
  bool interfere(std::uint32_t one, std::uint32_t other) const;
  void add_node(const wire::hello_node& node);
  void measure_distances();
  void find_conflicts();
  void find_neighbourhoods();
  bool expand(link_set& chosen, link_set candidates, link_set excluded);
  void add_budget(const link_set& members);

  exact_neighbourhood_config config_;
  wire::hello_node own_;
  std::uint32_t farewells_ = 0;  // hellos that still say that the flows of this node are gone
  std::vector<known_node> known_;
  std::vector<forgotten_node> forgotten_;
  std::vector<idle_flow> idle_flows_;    // the newest last
  std::vector<moved_flow> moved_flows_;  // the newest last
  exact_neighbourhood_counters counters_;

  std::vector<std::uint32_t> graph_;                           // node identities
  std::vector<std::optional<wire::node_position>> positions_;  // by place in graph_
  std::vector<double> usable_;                                 // share of time, by place in graph_
  std::vector<std::vector<std::uint32_t>> adjacent_;           // by place in graph_
  std::vector<std::vector<std::uint8_t>> distance_hops_;
  std::vector<ledger_link> links_;
  std::vector<link_flow> link_flows_;
  std::vector<link_set> conflicts_;
  std::vector<ledger_flow> flows_;
  std::vector<std::uint32_t> buckets_;  // places in flows_, open addressing
  std::vector<water_filling_cost> costs_;
  std::vector<water_filling_budget> budgets_;
  std::vector<double> flow_cost_;
  std::size_t search_steps_ = 0;
};

}  // namespace perhop::policy
