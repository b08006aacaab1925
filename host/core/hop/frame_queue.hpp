// SPDX-License-Identifier: GPL-2.0-or-later
/// The queue between the shim and the MAC: frames in order, of each priority; the newest is lost when it is full. All memory is taken at
/// construction.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace perhop::hop {

/// @tparam frame what the host gives the MAC: bytes, or the number of a place where they are. Default-constructible
template <typename frame>
class frame_queue {
public:
  struct entry {
    std::uint64_t receiver_address = 0;
    std::uint32_t mpdu_bytes = 0;
    frame what{};
    std::uint8_t priority = 0;
  };

  /// @param most_frames at least 1
  explicit frame_queue(std::size_t most_frames) : ring_(most_frames) {}

  bool empty() const { return waiting_ == 0; }
  bool full() const { return waiting_ == ring_.size(); }
  std::size_t size() const { return waiting_; }
  /// Of the MPDUs of all that wait.
  std::uint64_t bytes() const { return bytes_; }

  /// Behind all of its priority, before those of a lower one. Requires !full().
  void push(entry&& last) {
    bytes_ += last.mpdu_bytes;
    std::size_t at = waiting_++;
    for (; at != 0 && ring_[place(at - 1)].priority < last.priority; --at) ring_[place(at)] = std::move(ring_[place(at - 1)]);
    ring_[place(at)] = std::move(last);
  }

  /// What pop() would give. Requires !empty().
  const entry& front() const { return ring_[first_]; }

  /// Requires !empty().
  entry pop() {
    entry first = std::move(ring_[first_]);
    bytes_ -= first.mpdu_bytes;
    first_ = place(1);
    --waiting_;
    return first;
  }

  /// Takes out all frames to a neighbour, first ones first; the others keep their order.
  template <typename taker>
  void take_out(std::uint64_t receiver_address, taker&& take) {
    std::size_t kept = 0;
    for (std::size_t at = 0; at < waiting_; ++at) {
      entry& looked_at = ring_[place(at)];
      if (looked_at.receiver_address == receiver_address) {
        bytes_ -= looked_at.mpdu_bytes;
        take(std::move(looked_at.what));
      } else {
        if (kept != at) ring_[place(kept)] = std::move(looked_at);
        ++kept;
      }
    }
    waiting_ = kept;
  }

  template <typename visitor>
  void for_each(visitor&& visit) const {
    for (std::size_t at = 0; at < waiting_; ++at) visit(ring_[place(at)]);
  }

private:
  std::size_t place(std::size_t behind_first) const {
    const std::size_t at = first_ + behind_first;
    return at < ring_.size() ? at : at - ring_.size();
  }

  std::vector<entry> ring_;
  std::size_t first_ = 0;
  std::size_t waiting_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace perhop::hop
