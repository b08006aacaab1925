// SPDX-License-Identifier: GPL-2.0-or-later
/// What a slot of the MAC's neighbour table held before it was given to its neighbour, taken out of the averages that the MAC tells.
///
/// Slots are the host's to give out, but the MAC's averages live on: in a slot that changes hands, and in all of them when a daemon
/// is started anew and gives them out in another order. With a new sample's weight w = 2^-shift, what was there before the first sample
/// of a neighbour has the weight (1 - w)^n after n of them. The first record holds both the average and its sample, so the difference
/// from a fresh slot (where the first sample sets the average) is known, and fades. Where the slot was fresh it is 0.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "host/core/policy/delay_estimator.hpp"
#include "host/core/wire/generated/protocol.hpp"

namespace perhop::hop {

/// What one packet adds to the averages of its neighbour.
struct service_sample {
  std::uint32_t contention_us = 0;  ///< of its service time, all that is neither overhead nor DATA
  std::uint32_t overhead_us = 0;    ///< control frames and responses
  std::uint8_t data_attempts = 0;
};

constexpr service_sample sample_of(const completion_record& record) {
  const std::uint32_t overhead_us = record.control_us + record.response_us;
  return {.contention_us = record.t_done_us - record.t_head_us - overhead_us - record.data_us,
          .overhead_us = overhead_us,
          .data_attempts = record.data_attempts};
}

class slot_history {
public:
  /// The MAC's table is another one, or an old one after a break.
  void restart(std::uint8_t average_shift) {
    slots_ = {};
    kept_ = 1 - std::ldexp(1, -average_shift);
  }

  /// A packet to `address` was completed. @return the averages that a fresh slot would tell
  policy::neighbour_averages without_history(std::uint64_t address, policy::neighbour_averages averages, const service_sample& sample) {
    slot& held = slots_[averages.peer % slots_.size()];
    const auto leave = [this, first = held.address != address](double& left, auto& average, std::uint64_t added) {
      left = first ? static_cast<double>(average) - static_cast<double>(added) : left * kept_;
      if (left == 0) return;
      // A MAC may tell times that no average holds.
      using average_type = std::remove_reference_t<decltype(average)>;
      constexpr auto most = static_cast<double>(std::numeric_limits<average_type>::max());
      average = static_cast<average_type>(std::clamp(std::round(static_cast<double>(average) - left), 0.0, most));
    };
    leave(held.contention_us16, averages.avg_contention_us16, std::uint64_t{sample.contention_us} * neighbour_average_steps_per_us);
    leave(held.overhead_us16, averages.avg_overhead_us16, std::uint64_t{sample.overhead_us} * neighbour_average_steps_per_us);
    leave(held.data_attempts_256, averages.avg_data_attempts_256, std::uint64_t{sample.data_attempts} * neighbour_attempt_steps);
    held.address = address;
    return averages;
  }

private:
  /// How far the MAC's averages are above those of a fresh slot.
  struct slot {
    std::uint64_t address = 0;
    double contention_us16 = 0;
    double overhead_us16 = 0;
    double data_attempts_256 = 0;
  };
  std::array<slot, neighbour_slots> slots_{};
  double kept_ = 0;
};

}  // namespace perhop::hop
