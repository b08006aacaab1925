// SPDX-License-Identifier: GPL-2.0-or-later
/// How late the events of the medium were: a histogram of powers of two, in microseconds.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace perhop::live {

class lateness_histogram {
public:
  /// Bin 0 holds 0 us, bin i what is at least 2^(i-1) and less than 2^i us; the last one all above.
  static constexpr std::size_t bins = 24;

  void add(std::uint64_t late_us) {
    const auto bin = static_cast<std::size_t>(std::bit_width(late_us));
    ++counts_[bin < bins ? bin : bins - 1];
    ++events_;
    if (late_us >= 1000) ++late_1ms_;
    if (late_us > max_us_) max_us_ = late_us;
  }

  /// The lateness that `share` of the events do not exceed, as the upper end of its bin: never better than it was.
  std::uint64_t quantile_us(double share) const {
    std::uint64_t seen = 0;
    for (std::size_t bin = 0; bin < bins; ++bin) {
      seen += counts_[bin];
      if (static_cast<double>(seen) >= share * static_cast<double>(events_)) {
        const std::uint64_t upper_us = (std::uint64_t{1} << bin) - 1;
        return upper_us < max_us_ ? upper_us : max_us_;
      }
    }
    return max_us_;
  }

  std::uint64_t events() const { return events_; }
  std::uint64_t max_us() const { return max_us_; }
  /// Events that were a millisecond late or later: no bin ends there.
  std::uint64_t late_1ms() const { return late_1ms_; }
  const std::array<std::uint64_t, bins>& counts() const { return counts_; }

private:
  std::array<std::uint64_t, bins> counts_{};
  std::uint64_t events_ = 0;
  std::uint64_t max_us_ = 0;
  std::uint64_t late_1ms_ = 0;
};

}  // namespace perhop::live
