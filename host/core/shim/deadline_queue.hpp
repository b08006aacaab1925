// SPDX-License-Identifier: GPL-2.0-or-later
//
// At most one deadline for each of a number of slots: a binary heap that knows where every slot stands. All memory is taken at
// construction, and when it grows. Setting and clearing take O(log n), the first deadline O(1).

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "host/core/policy/time.hpp"

namespace perhop::shim {

class deadline_queue {
public:
  explicit deadline_queue(std::size_t slots) : place_(slots, none) { heap_.reserve(slots); }

  /// There are so many slots from now on, at least as many as before.
  void grow(std::size_t slots) {
    place_.resize(slots, none);
    if (slots > heap_.capacity()) heap_.reserve(std::max(slots, 2 * heap_.capacity()));
  }

  /// @param deadline nothing: the slot waits for nothing
  void set(std::uint32_t slot, std::optional<policy::time_us> deadline) {
    std::uint32_t place = place_[slot];
    if (!deadline) {
      if (place != none) remove(place);
      return;
    }
    if (place == none) {
      place = static_cast<std::uint32_t>(heap_.size());
      heap_.push_back({*deadline, slot});
      place_[slot] = place;
    } else if (heap_[place].deadline == *deadline) {
      return;
    }
    heap_[place].deadline = *deadline;
    settle(place);
  }

  struct first_deadline {
    policy::time_us deadline;
    std::uint32_t slot;
  };

  std::optional<first_deadline> first() const {
    if (heap_.empty()) return std::nullopt;
    return first_deadline{heap_.front().deadline, heap_.front().slot};
  }

  std::size_t size() const { return heap_.size(); }

private:
  static constexpr std::uint32_t none = UINT32_MAX;

  struct entry {
    policy::time_us deadline;
    std::uint32_t slot;
  };

  void remove(std::uint32_t place) {
    place_[heap_[place].slot] = none;
    const entry last = heap_.back();
    heap_.pop_back();
    if (place == heap_.size()) return;
    put(place, last);
    settle(place);
  }

  void put(std::uint32_t place, const entry& e) {
    heap_[place] = e;
    place_[e.slot] = place;
  }

  /// Moves the entry at `place` up or down to where it belongs.
  void settle(std::uint32_t place) {
    const entry moving = heap_[place];
    while (place > 0 && moving.deadline < heap_[(place - 1) / 2].deadline) {
      put(place, heap_[(place - 1) / 2]);
      place = (place - 1) / 2;
    }
    for (;;) {
      std::size_t child = 2 * std::size_t{place} + 1;
      if (child >= heap_.size()) break;
      if (child + 1 < heap_.size() && heap_[child + 1].deadline < heap_[child].deadline) ++child;
      if (moving.deadline <= heap_[child].deadline) break;
      put(place, heap_[child]);
      place = static_cast<std::uint32_t>(child);
    }
    put(place, moving);
  }

  std::vector<entry> heap_;
  std::vector<std::uint32_t> place_;  // of each slot in the heap, or none
};

}  // namespace perhop::shim
