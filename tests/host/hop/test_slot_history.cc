// SPDX-License-Identifier: GPL-2.0-or-later
#include "host/core/hop/slot_history.hpp"

#include <gtest/gtest.h>

#include <random>

namespace perhop::hop {
namespace {

/// A slot as the gateware's neighbour_table keeps it.
class gateware_slot {
public:
  explicit gateware_slot(int shift) : shift_(shift) {}

  /// A packet that spent so long. @return its completion record
  completion_record sample(std::uint32_t contention_us, std::uint32_t overhead_us, std::uint8_t attempts) {
    const std::int64_t samples[] = {std::int64_t{contention_us} * 16, std::int64_t{overhead_us} * 16, std::int64_t{attempts} * 256};
    for (std::size_t i = 0; i < 3; ++i) {
      const std::int64_t half = shift_ == 0 ? 0 : std::int64_t{1} << (shift_ - 1);
      averages_[i] = known_ ? averages_[i] + ((samples[i] - averages_[i] + half) >> shift_) : samples[i];
    }
    known_ = true;
    constexpr std::uint32_t head_us = 4'294'967'000, data_us = 6000;  // the clock wraps
    return {.peer = 3,
            .data_attempts = attempts,
            .t_head_us = head_us,
            .t_done_us = head_us + contention_us + overhead_us + data_us,
            .control_us = overhead_us / 2,
            .data_us = data_us,
            .response_us = overhead_us - overhead_us / 2,
            .avg_contention_us16 = static_cast<std::uint32_t>(averages_[0]),
            .avg_overhead_us16 = static_cast<std::uint32_t>(averages_[1]),
            .avg_data_attempts_256 = static_cast<std::uint16_t>(averages_[2])};
  }

private:
  int shift_;
  bool known_ = false;
  std::int64_t averages_[3] = {};
};

class slot_history_test : public testing::TestWithParam<int> {
protected:
  slot_history_test() { history.restart(static_cast<std::uint8_t>(GetParam())); }

  std::uint32_t below(std::uint32_t limit) { return std::uniform_int_distribution<std::uint32_t>(0, limit - 1)(random); }
  completion_record sample(gateware_slot& slot) {
    return slot.sample(100 + below(5000), 500 + below(1000), static_cast<std::uint8_t>(1 + below(4)));
  }

  std::mt19937 random{20261121};
  completion_record without_history(std::uint64_t address, completion_record record) {
    const policy::neighbour_averages told = history.without_history(address, policy::averages_of(record), sample_of(record));
    record.avg_contention_us16 = told.avg_contention_us16;
    record.avg_overhead_us16 = told.avg_overhead_us16;
    record.avg_data_attempts_256 = static_cast<std::uint16_t>(told.avg_data_attempts_256);
    return record;
  }

  slot_history history;
  gateware_slot used{GetParam()};
};

TEST_P(slot_history_test, a_fresh_slot_is_told_as_it_is) {
  for (int i = 0; i < 100; ++i) {
    const completion_record record = sample(used);
    EXPECT_EQ(without_history(11, record), record);
  }
}

TEST_P(slot_history_test, the_next_neighbour_is_told_what_a_fresh_slot_would_tell) {
  for (int i = 0; i < 50; ++i) without_history(11, used.sample(90'000, 5000, 14));
  gateware_slot fresh(GetParam());
  for (int i = 0; i < 200; ++i) {
    const std::uint32_t contention_us = 100 + below(5000), overhead_us = 500 + below(1000);
    const auto attempts = static_cast<std::uint8_t>(1 + below(4));
    const completion_record wanted = fresh.sample(contention_us, overhead_us, attempts);
    const completion_record told = without_history(12, used.sample(contention_us, overhead_us, attempts));
    // Each average is rounded at every step, by half a unit, which fades as the samples do.
    const double rounding = 1 << GetParam();
    EXPECT_NEAR(told.avg_contention_us16, wanted.avg_contention_us16, rounding);
    EXPECT_NEAR(told.avg_overhead_us16, wanted.avg_overhead_us16, rounding);
    EXPECT_NEAR(told.avg_data_attempts_256, wanted.avg_data_attempts_256, rounding);
  }
}

TEST_P(slot_history_test, a_daemon_started_anew_knows_nothing_of_the_old_one) {
  for (int i = 0; i < 50; ++i) used.sample(90'000, 5000, 14);
  const completion_record told = without_history(12, used.sample(400, 600, 1));
  EXPECT_EQ(told.avg_contention_us16, 400U * 16);
  EXPECT_EQ(told.avg_overhead_us16, 600U * 16);
  EXPECT_EQ(told.avg_data_attempts_256, 256U);
}

TEST_P(slot_history_test, times_that_no_average_holds_are_the_longest_that_one_does) {
  history.restart(static_cast<std::uint8_t>(GetParam()));
  const completion_record told = without_history(12, {.t_head_us = 1, .t_done_us = 0});
  EXPECT_EQ(told.avg_contention_us16, UINT32_MAX);
}

INSTANTIATE_TEST_SUITE_P(weights, slot_history_test, testing::Values(0, 1, 4, 7));

}  // namespace
}  // namespace perhop::hop
