// SPDX-License-Identifier: GPL-2.0-or-later
/// DSR's route request table (RFC 4728, 4.3): which requests of others this node has handled, and when it may ask again itself.
///
/// A search for a target asks the neighbours first, whose caches may know (time to live 1), and everybody 30 ms later. After that it
/// waits, longer each time, until it may begin anew. A node that looks for a route for somebody else's packet, which it could not send on,
/// asks its neighbours once, and nobody else: so does ns-2.35.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "host/core/policy/time.hpp"
#include "host/core/wire/dsr_header.hpp"

namespace perhop::routing {

using policy::time_us;
using wire::ipv4_address;

struct dsr_request_config {
  time_us neighbours_wait_us = 30'000;     ///< NonpropRequestTimeout
  time_us period_us = 500'000;             ///< RequestPeriod
  time_us longest_period_us = 10'000'000;  ///< MaxRequestPeriod
  /// Of the wait from one search to the next. The RFC doubles it, ns-2.35 takes 4 times as long.
  unsigned period_growth = 4;
  std::size_t initiators = 64;       ///< RequestTableSize; the one heard of longest ago makes room
  std::size_t identifications = 16;  ///< RequestTableIds, of each
};

class dsr_request_table {
public:
  explicit dsr_request_table(const dsr_request_config& config = {}) : config_(config) {}

  /// Notes a request. @return whether it is the first time
  bool is_new(ipv4_address initiator, std::uint16_t identification) {
    const auto known = std::ranges::find(heard_, initiator, &heard::initiator);
    if (known == heard_.end()) {
      if (heard_.size() == config_.initiators) heard_.pop_front();
      heard_.push_back({.initiator = initiator, .identifications = {identification}});
      return true;
    }
    if (std::ranges::find(known->identifications, identification) != known->identifications.end()) return false;
    heard latest = std::move(*known);
    heard_.erase(known);
    if (latest.identifications.size() == config_.identifications) latest.identifications.pop_front();
    latest.identifications.push_back(identification);
    heard_.push_back(std::move(latest));
    return true;
  }

  enum class step : std::uint8_t {
    wait,
    ask_neighbours,
    ask_all,
    give_up,  ///< a packet of somebody else: its search is over
  };

  /// A packet for `target` waits. @param own it is this node's. @return what to do now, and notes that it is done
  step next_step(time_us now, ipv4_address target, bool own) {
    search& state = search_for(target);
    if (!state.last_us || *state.last_us + wait_us(state.searches) <= now) {
      state.last_us = now;
      ++state.searches;
      if (!own && state.searches > 1) return step::give_up;
      state.neighbours_only = true;
      return step::ask_neighbours;
    }
    if (own && state.neighbours_only && now - *state.last_us > config_.neighbours_wait_us) {
      state.neighbours_only = false;
      return step::ask_all;
    }
    return step::wait;
  }

  /// There is a route: the next search may begin at once.
  void on_found(ipv4_address target) {
    std::erase_if(searches_, [target](const search& one) { return one.target == target; });
  }

private:
  struct heard {
    ipv4_address initiator = 0;
    std::deque<std::uint16_t> identifications{};
  };
  struct search {
    ipv4_address target = 0;
    unsigned searches = 0;
    std::optional<time_us> last_us{};
    bool neighbours_only = false;
  };

  search& search_for(ipv4_address target) {
    const auto known = std::ranges::find(searches_, target, &search::target);
    if (known != searches_.end()) return *known;
    if (searches_.size() == config_.initiators) searches_.erase(searches_.begin());
    return searches_.emplace_back(search{.target = target});
  }

  time_us wait_us(unsigned searches) const {
    time_us wait = config_.period_us;
    for (unsigned count = 0; count < searches && wait < config_.longest_period_us; ++count) wait *= config_.period_growth;
    return std::min(wait, config_.longest_period_us);
  }

  dsr_request_config config_;
  std::deque<heard> heard_{};  ///< the latest last
  std::vector<search> searches_{};
};

}  // namespace perhop::routing
