// SPDX-License-Identifier: GPL-2.0-or-later
/// What a node remembers for those who ask how its traffic does: sums a neighbour, from the MAC's completion records, and sums
/// a flow. Sums only grow, so that whoever asks twice knows what happened between. Fixed memory.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "host/core/policy/time.hpp"
#include "host/core/shim/flow_table.hpp"
#include "host/core/shim/packet_view.hpp"
#include "host/core/wire/generated/frames.hpp"

namespace perhop::node {

/// Packets to one neighbour since it got its slot, and where their time went.
struct neighbour_account {
  std::uint64_t address = 0;  ///< 0: none has the slot
  std::uint64_t packets = 0;  ///< the MAC is done with
  std::uint64_t drops = 0;    ///< ... at a retry limit
  std::uint64_t bytes = 0;    ///< of MPDUs delivered
  std::uint64_t rts_attempts = 0;
  std::uint64_t data_attempts = 0;
  std::uint64_t retries = 0;         ///< exchanges after the first of each packet: RTS without CTS, DATA without MAC ACK
  std::uint64_t sum_mismatches = 0;  ///< packets whose parts do not sum to the whole; there should be none
  std::uint64_t host_queue_us = 0;   ///< in this daemon's queue, of all packets given to the MAC
  std::uint64_t given = 0;           ///< packets given to the MAC
  std::array<std::uint64_t, service_time_parts.size()> parts_us{};
  std::uint64_t service_us = 0;          ///< head of line to end: the parts without `queue_us`
  std::uint32_t longest_service_us = 0;  ///< of one packet
  /// Packets by service time, in the bins of the gateware's neighbour table: below 128 us, below 256 us, ..., the last is open.
  std::array<std::uint64_t, 16> histogram{};
  completion_record last{};  ///< its averages are the neighbour table's
  policy::time_us last_done = 0;
};

class neighbour_accounts {
public:
  void open(std::uint8_t slot, std::uint64_t address) {
    if (accounts_[slot].address != address) accounts_[slot] = {.address = address};
  }

  /// A packet leaves the daemon's queue.
  void note_given(std::uint8_t slot, std::uint64_t waited_us) {
    ++accounts_[slot].given;
    accounts_[slot].host_queue_us += waited_us;
  }

  void note_done(policy::time_us now, const completion_record& record) {
    neighbour_account& account = accounts_[record.peer % accounts_.size()];
    const bool dropped = record.result == tx_result::short_retry_limit || record.result == tx_result::long_retry_limit;
    const std::uint32_t service_us = record.t_done_us - record.t_head_us;
    ++account.packets;
    account.drops += dropped ? 1 : 0;
    account.bytes += dropped ? 0 : record.bytes;
    account.rts_attempts += record.rts_attempts;
    account.data_attempts += record.data_attempts;
    const std::uint32_t attempts = record.rts_attempts != 0 ? record.rts_attempts : record.data_attempts;
    account.retries += attempts - std::min<std::uint32_t>(attempts, 1);
    for (std::size_t part = 0; part < service_time_parts.size(); ++part)
      account.parts_us[part] += record.*(service_time_parts[part].member);
    account.sum_mismatches += sum_of_parts_us(record) == record.t_done_us - record.t_enqueue_us ? 0 : 1;
    account.service_us += service_us;
    account.longest_service_us = std::max(account.longest_service_us, service_us);
    ++account.histogram[std::clamp(static_cast<int>(std::bit_width(service_us)) - 7, 0, 15)];
    account.last = record;
    account.last_done = now;
  }

  const std::array<neighbour_account, neighbour_slots>& all() const { return accounts_; }

private:
  std::array<neighbour_account, neighbour_slots> accounts_{};
};

/// What the node has to do with a flow.
enum class flow_role : std::uint8_t { originated, forwarded, received };

struct flow_account {
  shim::flow_key key{};
  flow_role role = flow_role::originated;
  std::uint64_t packets = 0;  ///< 0: free
  std::uint64_t bytes = 0;    ///< of IP
  policy::time_us last_used = 0;
};

/// Places in sets of a few: a new flow takes the place of the one of its set that was idle longest. A port scan so costs
/// accuracy, never time.
class flow_accounts {
public:
  void note(policy::time_us now, const shim::flow_key& key, flow_role role, std::uint32_t bytes) {
    const std::size_t first = shim::flow_table::hash(key) % sets * ways;
    flow_account* place = &accounts_[first];
    for (std::size_t way = first; way < first + ways; ++way) {
      flow_account& account = accounts_[way];
      if (account.packets != 0 && account.role == role && account.key == key) {
        place = &account;
        break;
      }
      if (account.last_used < place->last_used) place = &account;
    }
    if (place->packets == 0 || place->role != role || place->key != key) *place = {.key = key, .role = role};
    ++place->packets;
    place->bytes += bytes;
    place->last_used = now;
  }

  /// Used ones, the latest first, at most `most`.
  std::vector<flow_account> latest(std::size_t most) const {
    std::vector<flow_account> found;
    std::copy_if(accounts_.begin(), accounts_.end(), std::back_inserter(found),
                 [](const flow_account& account) { return account.packets != 0; });
    std::sort(found.begin(), found.end(),
              [](const flow_account& one, const flow_account& other) { return one.last_used > other.last_used; });
    if (found.size() > most) found.resize(most);
    return found;
  }

private:
  static constexpr std::size_t sets = 128, ways = 4;
  std::vector<flow_account> accounts_ = std::vector<flow_account>(sets * ways);
};

}  // namespace perhop::node
