// SPDX-License-Identifier: GPL-2.0-or-later
/// Things to do at moments of virtual time: a heap. What was entered for one moment is done in the order of entering.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace perhop::kernels {

/// Virtual time in nanoseconds. The kernels begin at 0.
using time_ns = std::uint64_t;
inline constexpr time_ns never_ns = INT64_MAX;

class event_queue {
public:
  using action = std::function<void()>;

  void add(time_ns at, action what) {
    heap_.push_back({at, entered_++, std::move(what)});
    std::push_heap(heap_.begin(), heap_.end(), later);
  }

  time_ns next() const { return heap_.empty() ? never_ns : heap_.front().at; }

  /// Requires that there is one.
  action take() {
    std::pop_heap(heap_.begin(), heap_.end(), later);
    action what = std::move(heap_.back().what);
    heap_.pop_back();
    return what;
  }

private:
  struct entry {
    time_ns at;
    std::uint64_t order;
    action what;
  };
  static bool later(const entry& one, const entry& other) { return std::pair(one.at, one.order) > std::pair(other.at, other.order); }

  std::vector<entry> heap_;
  std::uint64_t entered_ = 0;
};

}  // namespace perhop::kernels
