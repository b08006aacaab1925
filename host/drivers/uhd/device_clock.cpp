// SPDX-License-Identifier: GPL-2.0-or-later
#include "host/drivers/uhd/device_clock.hpp"

#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <thread>
#include <utility>

namespace perhop::drivers {

namespace {

constexpr double between_looks_s = 0.005;
// Of a second, from its middle: there nobody can say which one a pulse belongs to, and two hosts would say different ones.
constexpr double least_from_middle_s = 0.1;
// A radio whose clock follows the pulses stays within a microsecond; others leave it by some ppm.
constexpr double most_offset_us = 10;
// No oscillator does that in the seconds between two looks.
constexpr double impossible_offset_us = 1000;
// So much of a second must be left for a call to be there before its pulse.
constexpr double latest_call_s = 0.7;
// Pulses that are missing before they are told of.
constexpr double missing_pulses = 2;

double seconds_of(const ::uhd::time_spec_t& time) { return time.get_real_secs(); }

/// From the nearest whole second on.
double past_second_s(const ::uhd::time_spec_t& time) {
  const double rest_s = time.get_frac_secs();
  return rest_s > 0.5 ? rest_s - 1 : rest_s;
}

std::int64_t second_of(const ::uhd::time_spec_t& time) { return time.get_full_secs() + (time.get_frac_secs() > 0.5 ? 1 : 0); }

std::string text_of(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3f", value);
  return text;
}

}  // namespace

host_clock host_clock::real() {
  return {.utc_s = [] { return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count(); },
          .steady_s = [] { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); },
          .wait_s = [](double wait_s) { std::this_thread::sleep_for(std::chrono::duration<double>(wait_s)); }};
}

device_clock::device_clock(timekeeper& keeper, std::string source, double pulse_wait_s, host_clock clock)
    : keeper_(keeper), source_(std::move(source)), pulse_wait_s_(pulse_wait_s), clock_(std::move(clock)) {
  state_.by_pulses = has_pulses();
}

::uhd::time_spec_t device_clock::next_pulse(const ::uhd::time_spec_t& last) {
  const double began_s = clock_.steady_s();
  for (;;) {
    const ::uhd::time_spec_t now = keeper_.get_time_last_pps();
    if (now != last) return now;
    if (clock_.steady_s() - began_s > pulse_wait_s_) {
      throw link_error("the radio's time source '" + source_ + "' has given no pulse for " + text_of(pulse_wait_s_) +
                       " s: is it connected? `time_source: internal` needs none, and its time is then not that of other radios");
    }
    clock_.wait_s(between_looks_s);
  }
}

void device_clock::set() {
  if (!has_pulses()) {
    keeper_.set_time_now(::uhd::time_spec_t(clock_.utc_s()));
    return;
  }
  const ::uhd::time_spec_t before = next_pulse(keeper_.get_time_last_pps());
  const double now_s = clock_.utc_s(), second_s = std::round(now_s);
  if (0.5 - std::abs(now_s - second_s) < least_from_middle_s) {
    throw link_error("the pulse of the radio's time source '" + source_ + "' comes " + text_of(now_s - std::floor(now_s)) +
                     " s behind a second of this host's clock: it cannot tell which one it begins. Set the host's clock (NTP)");
  }
  const ::uhd::time_spec_t wanted(static_cast<std::int64_t>(second_s) + 1, 0.0);
  keeper_.set_time_next_pps(wanted);
  last_pulse_ = next_pulse(before);
  seen_s_ = clock_.steady_s();
  if (last_pulse_ != wanted) {
    throw link_error("the radio's time at the pulse is " + text_of(seconds_of(last_pulse_)) + " s, and it was set to " +
                     text_of(seconds_of(wanted)) + " s: another program sets it, too");
  }
  state_.host_ahead_s = clock_.utc_s() - seconds_of(keeper_.get_time_now());
  state_.pulse_offset_us = 0;
}

std::string device_clock::look() {
  const ::uhd::time_spec_t now = keeper_.get_time_now();
  state_.host_ahead_s = clock_.utc_s() - seconds_of(now);
  if (!has_pulses()) return {};
  const ::uhd::time_spec_t pulse = keeper_.get_time_last_pps();
  const double steady_s = clock_.steady_s();
  if (pulse == last_pulse_) {
    const double silent_s = steady_s - seen_s_;
    if (silent_s < missing_pulses * pulse_wait_s_) return {};
    return "the radio's time source '" + source_ + "' has given no pulse for " + text_of(silent_s) +
           " s: it was unplugged, or has lost its satellites";
  }
  last_pulse_ = pulse;
  seen_s_ = steady_s;
  state_.pulse_offset_us = 1e6 * past_second_s(pulse);
  if (std::abs(state_.pulse_offset_us) > impossible_offset_us) {
    return "a pulse of the radio's time source '" + source_ + "' came " + text_of(past_second_s(pulse)) +
           " s off a second of the radio: pulses must be a second apart, and its clock the one that the image was made for";
  }
  if (std::abs(state_.pulse_offset_us) > most_offset_us && seconds_of(now) - seconds_of(pulse) < latest_call_s) {
    keeper_.set_time_next_pps(::uhd::time_spec_t(second_of(pulse) + 1, 0.0));
    ++state_.corrections;
  }
  return {};
}

}  // namespace perhop::drivers
