// SPDX-License-Identifier: GPL-2.0-or-later

#include "host/core/shim/flow_table.hpp"

#include <algorithm>

namespace perhop::shim {

namespace {

constexpr std::size_t first_buckets = 16;

}  // namespace

flow_table::flow_table(std::size_t capacity, time_us idle_us, std::size_t strangers)
    : idle_us_(idle_us), mask_(first_buckets - 1), buckets_(first_buckets, none) {
  list_of(flow_witness::own_end).capacity = std::max<std::size_t>(capacity, 1);
  list_of(flow_witness::stranger).capacity = std::max<std::size_t>(strangers, 1);
}

std::uint64_t flow_table::hash(const flow_key& key) {
  // Multiply and fold, one round per 64 bits of key (wyhash's mixing step). Keys come from the network: the table stays
  // correct and bounded under chosen collisions, only slower.
  const auto mix = [](std::uint64_t a, std::uint64_t b) {
    __extension__ using uint128 = unsigned __int128;
    const uint128 product = static_cast<uint128>(a) * b;
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
  };
  const std::uint64_t ports = std::uint64_t{key.source_port} << 32 | std::uint64_t{key.destination_port} << 16 | key.protocol;
  std::uint64_t h = mix(key.source.low ^ 0xa0761d6478bd642fULL, key.destination.low ^ 0xe7037ed1a0b428dbULL);
  h = mix(h ^ key.source.high ^ 0x8ebc6af09c88c6e3ULL, key.destination.high ^ 0x589965cc75374cc3ULL);
  return mix(h ^ ports, 0x1d8e4e27c47d124fULL);
}

std::uint32_t flow_table::find_index(const flow_key& key) const {
  for (std::size_t bucket = home(key);; bucket = (bucket + 1) & mask_) {
    const std::uint32_t index = buckets_[bucket];
    if (index == none || entries_[index].key == key) return index;
  }
}

const flow_state* flow_table::find(const flow_key& key) const {
  const std::uint32_t index = find_index(key);
  return index == none ? nullptr : &entries_[index].state;
}

flow_state* flow_table::find(const flow_key& key) {
  const std::uint32_t index = find_index(key);
  return index == none ? nullptr : &entries_[index].state;
}

std::optional<std::uint32_t> flow_table::slot_of(const flow_key& key) const {
  const std::uint32_t index = find_index(key);
  return index == none ? std::nullopt : std::optional(index);
}

/// An entry that no connection has. There is one: make_room() came before.
std::uint32_t flow_table::free_entry() {
  if (!free_.empty()) {
    const std::uint32_t index = free_.back();
    free_.pop_back();
    return index;
  }
  const auto index = static_cast<std::uint32_t>(entries_.size());
  entries_.emplace_back();
  deadlines_.grow(entries_.size());
  // At most half full, so that probing stays short and always meets an empty bucket.
  if (2 * entries_.size() > buckets_.size()) {
    mask_ = 2 * buckets_.size() - 1;
    buckets_.assign(mask_ + 1, none);
    for (std::uint32_t used = 0; used < index; ++used) put_in_bucket(used);
  }
  return index;
}

void flow_table::put_in_bucket(std::uint32_t index) {
  std::size_t bucket = home(entries_[index].key);
  while (buckets_[bucket] != none) bucket = (bucket + 1) & mask_;
  buckets_[bucket] = index;
}

void flow_table::append_newest(std::uint32_t index) {
  age_list& list = list_of(entries_[index].witness);
  entries_[index].older = list.newest;
  entries_[index].newer = none;
  if (list.newest != none) entries_[list.newest].newer = index;
  list.newest = index;
  if (list.oldest == none) list.oldest = index;
  ++list.size;
}

void flow_table::unlink(std::uint32_t index) {
  const entry& e = entries_[index];
  age_list& list = list_of(e.witness);
  (e.older != none ? entries_[e.older].newer : list.oldest) = e.newer;
  (e.newer != none ? entries_[e.newer].older : list.newest) = e.older;
  --list.size;
}

/// @return whether a connection was forgotten for it
bool flow_table::make_room(flow_witness witness) {
  const age_list& list = list_of(witness);
  if (list.size < list.capacity) return false;
  forget_oldest(witness);
  return true;
}

void flow_table::forget_oldest(flow_witness witness) {
  const std::uint32_t index = list_of(witness).oldest;
  deadlines_.set(index, std::nullopt);
  if (entries_[index].state.tcp_ack.holds()) release_hold(entries_[index].key);
  std::size_t hole = home(entries_[index].key);
  while (buckets_[hole] != index) hole = (hole + 1) & mask_;
  // Close the gap: move back every later entry of the run that the hole would cut off from its home bucket.
  for (std::size_t probe = (hole + 1) & mask_; buckets_[probe] != none; probe = (probe + 1) & mask_) {
    const std::size_t wanted = home(entries_[buckets_[probe]].key);
    if (((probe - wanted) & mask_) >= ((probe - hole) & mask_)) {
      buckets_[hole] = buckets_[probe];
      hole = probe;
    }
  }
  buckets_[hole] = none;
  unlink(index);
  free_.push_back(index);
}

flow_table::access flow_table::use(time_us now, const flow_key& key, flow_witness witness) {
  access result{.state = nullptr, .slot = none, .created = false, .expired = 0, .evicted = false};
  for (const flow_witness each : {flow_witness::stranger, flow_witness::own_end}) {
    for (std::uint32_t oldest = list_of(each).oldest;
         oldest != none && now > entries_[oldest].last_used && now - entries_[oldest].last_used > idle_us_; oldest = list_of(each).oldest) {
      forget_oldest(each);
      ++result.expired;
    }
  }

  std::uint32_t index = find_index(key);
  if (index != none) {
    const flow_witness before = entries_[index].witness;
    const flow_witness after = std::max(before, witness);
    if (after != before) result.evicted = make_room(after);
    if (after != before || index != list_of(before).newest) {
      unlink(index);
      entries_[index].witness = after;
      append_newest(index);
    }
  } else {
    result.evicted = make_room(witness);
    index = free_entry();
    entries_[index].key = key;
    entries_[index].state = flow_state{};
    entries_[index].witness = witness;
    append_newest(index);
    put_in_bucket(index);
    result.created = true;
  }
  entries_[index].last_used = now;
  result.state = &entries_[index].state;
  result.slot = index;
  return result;
}

}  // namespace perhop::shim
