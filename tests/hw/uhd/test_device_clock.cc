// SPDX-License-Identifier: GPL-2.0-or-later
/// The time of a USRP, at UHD's timekeeper without a device: what is set at which pulse, and what is refused.
#include "host/drivers/uhd/device_clock.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <optional>

namespace perhop::drivers {
namespace {

constexpr std::uint64_t ticks_per_s = 22'000'000;

/// A world with pulses at whole seconds of its time, a host whose clock is off it, and a device's timekeeper.
class world : public ::uhd::rfnoc::mb_controller::timekeeper {
public:
  explicit world(double begin_s = 1000.3) : now_s_(begin_s), pulses_(std::floor(begin_s)) { set_tick_rate(ticks_per_s); }

  double host_ahead_s = 0;
  double pulse_phase_s = 0;  ///< of a second, behind its begin
  double drift = 0;          ///< of the device's clock against the pulses
  bool pulses = true;
  std::optional<std::uint64_t> other_sets;  ///< another program, at the pulse

  host_clock clock() {
    return {
        .utc_s = [this] { return now_s_ + host_ahead_s; }, .steady_s = [this] { return now_s_; }, .wait_s = [this](double s) { pass(s); }};
  }

  void pass(double seconds) {
    const double end_s = now_s_ + seconds;
    for (double pulse_s = pulses_ + 1 + pulse_phase_s; pulse_s <= end_s; pulse_s += 1) {
      pulses_ += 1;
      if (!pulses) continue;
      now_s_ = pulse_s;
      if (waiting_) {
        base_s_ = pulse_s;
        base_ticks_ = other_sets.value_or(*waiting_);
        waiting_.reset();
        ++sets;
      }
      last_pulse_ = get_ticks_now();
    }
    now_s_ = end_s;
  }

  std::uint64_t get_ticks_now() override {
    return base_ticks_ + static_cast<std::uint64_t>(std::llround((now_s_ - base_s_) * (1 + drift) * ticks_per_s));
  }
  std::uint64_t get_ticks_last_pps() override { return last_pulse_; }
  void set_ticks_now(std::uint64_t ticks) override {
    base_s_ = now_s_;
    base_ticks_ = ticks;
  }
  void set_ticks_next_pps(std::uint64_t ticks) override { waiting_ = ticks; }
  void set_period(std::uint64_t) override {}

  double now_s() const { return now_s_; }
  double device_s() { return get_time_now().get_real_secs(); }
  int sets = 0;

private:
  double now_s_, pulses_, base_s_ = 0;
  std::uint64_t base_ticks_ = 0, last_pulse_ = 0;
  std::optional<std::uint64_t> waiting_;
};

std::string refused(world& of, const std::string& source = "external") {
  try {
    device_clock(of, source, 1.2, of.clock()).set();
    return "";
  } catch (const link_error& error) {
    return error.what();
  }
}

TEST(device_clock, hosts_that_are_off_by_tenths_of_a_second_set_their_radios_to_one_time) {
  for (const double ahead_s : {-0.3, -0.004, 0.0, 0.02, 0.3}) {
    world of(1000.9);
    of.host_ahead_s = ahead_s;
    device_clock dut(of, "external", 1.2, of.clock());
    dut.set();
    EXPECT_NEAR(of.device_s(), of.now_s(), 1e-6) << ahead_s;
    EXPECT_NEAR(dut.state().host_ahead_s, ahead_s, 1e-6);
    EXPECT_TRUE(dut.state().by_pulses);
  }
}

TEST(device_clock, two_radios_whose_pulses_begin_no_second_of_the_day_have_one_time_all_the_same) {
  double times_s[2];
  for (int number = 0; number < 2; ++number) {
    world of(1000.5 + 0.07 * number);
    of.pulse_phase_s = 0.21;
    of.host_ahead_s = 0.03 * number;
    device_clock(of, "gpsdo", 1.2, of.clock()).set();
    times_s[number] = of.device_s() - of.now_s();
  }
  EXPECT_NEAR(times_s[0], times_s[1], 1e-6);
  EXPECT_NEAR(times_s[0], -0.21, 1e-6);
}

TEST(device_clock, without_a_pulse_it_refuses_and_says_what_to_do) {
  world of;
  of.pulses = false;
  const std::string said = refused(of);
  EXPECT_NE(said.find("'external' has given no pulse for 1.200 s: is it connected? `time_source: internal` needs none"), std::string::npos)
      << said;
  EXPECT_NEAR(of.now_s(), 1000.3 + 1.2, 0.02) << "it waits no longer";
}

TEST(device_clock, a_host_that_cannot_tell_which_second_begins_is_refused) {
  world of;
  of.host_ahead_s = 0.45;
  EXPECT_NE(refused(of).find("cannot tell which one it begins. Set the host's clock (NTP)"), std::string::npos);
  of.host_ahead_s = 0.35;
  EXPECT_EQ(refused(of), "");
}

TEST(device_clock, a_time_that_another_program_sets_is_found) {
  world of;
  of.other_sets = 5 * ticks_per_s;
  EXPECT_NE(refused(of).find("is 5.000 s, and it was set to 1002.000 s: another program sets it"), std::string::npos) << refused(of);
}

TEST(device_clock, without_pulses_wanted_it_takes_this_hosts_time) {
  world of;
  of.pulses = false;
  of.host_ahead_s = 12;
  device_clock dut(of, "internal", 1.2, of.clock());
  dut.set();
  EXPECT_NEAR(of.device_s(), of.now_s() + 12, 1e-6);
  of.pass(100);
  EXPECT_EQ(dut.look(), "");
  EXPECT_FALSE(dut.state().by_pulses);
  EXPECT_NEAR(dut.state().host_ahead_s, 0, 1e-6);
}

TEST(device_clock, pulses_that_cease_are_told_after_two_and_none_before) {
  world of;
  device_clock dut(of, "external", 1.2, of.clock());
  dut.set();
  for (int look = 0; look < 10; ++look) {
    of.pass(1);
    ASSERT_EQ(dut.look(), "");
  }
  of.pulses = false;
  double silent_s = 0;
  while (dut.look().empty()) {
    of.pass(0.5);
    silent_s += 0.5;
    ASSERT_LT(silent_s, 5);
  }
  EXPECT_GT(silent_s, 2);
  EXPECT_NE(dut.look().find("has given no pulse for"), std::string::npos);
  EXPECT_NE(dut.look().find("unplugged"), std::string::npos);
  of.pulses = true;
  EXPECT_EQ(refused(of), "") << "it can be set again when they are back";
}

TEST(device_clock, a_radio_that_leaves_the_pulses_is_told_by_how_much_and_set_again) {
  world of(1000.1);
  of.drift = 4e-6;
  device_clock dut(of, "external", 1.2, of.clock());
  dut.set();
  double most_us = 0;
  for (int look = 0; look < 60; ++look) {
    of.pass(1);
    ASSERT_EQ(dut.look(), "");
    most_us = std::max(most_us, std::abs(dut.state().pulse_offset_us));
  }
  EXPECT_GT(most_us, 10);
  EXPECT_LT(most_us, 17) << "10 us, and what it leaves in a second or two more";
  EXPECT_GE(dut.state().corrections, 15U);
  EXPECT_NEAR(of.device_s(), of.now_s(), 20e-6);
}

TEST(device_clock, pulses_that_are_no_second_apart_are_named) {
  world of;
  device_clock dut(of, "external", 1.2, of.clock());
  dut.set();
  of.drift = 0.004;
  of.pass(1.5);
  const std::string said = dut.look();
  EXPECT_NE(said.find(" s off a second of the radio: pulses must be a second apart"), std::string::npos) << said;
  EXPECT_EQ(dut.state().corrections, 0U);
}

TEST(device_clock, a_radio_that_follows_the_pulses_is_left_alone) {
  world of;
  device_clock dut(of, "external", 1.2, of.clock());
  dut.set();
  for (int look = 0; look < 60; ++look) {
    of.pass(1);
    ASSERT_EQ(dut.look(), "");
  }
  EXPECT_EQ(of.sets, 1);
  EXPECT_NEAR(dut.state().pulse_offset_us, 0, 0.1);
}

}  // namespace
}  // namespace perhop::drivers
