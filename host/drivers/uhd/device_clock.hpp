// SPDX-License-Identifier: GPL-2.0-or-later
/// The time of a USRP: set to the time of day, and looked at again.
///
/// A time source with pulses (external, gpsdo) makes the times of several radios one: each host names the second that begins with the
/// next pulse, by its own clock, and the radio takes it over at the pulse itself. Hosts whose clocks are within some tenths of a second of
/// each other (NTP) name the same one. Without pulses the radio's time is this host's, as exactly as a call over the network can set it.
#pragma once

#include <functional>
#include <string>
#include <uhd/rfnoc/mb_controller.hpp>

#include "host/drivers/radio_link.hpp"

namespace perhop::drivers {

/// What a device_clock wants of the host.
struct host_clock {
  std::function<double()> utc_s;
  std::function<double()> steady_s;
  std::function<void(double)> wait_s;

  static host_clock real();
};

class device_clock {
public:
  using timekeeper = ::uhd::rfnoc::mb_controller::timekeeper;

  /// @param source as UHD names it  @param pulse_wait_s in which a pulse must come
  device_clock(timekeeper& keeper, std::string source, double pulse_wait_s, host_clock clock = host_clock::real());

  /// Sets the time, and sees that it is set. It takes up to two pulses.
  /// @throws link_error no pulse comes; this host's clock cannot tell which second it begins; the time is another than was set
  void set();

  /// How it stands now. A radio that has gone away from the pulses is set again at the next one.
  /// @return what is wrong; empty: nothing
  std::string look();

  const radio_time& state() const { return state_; }

private:
  bool has_pulses() const { return source_ != "internal"; }
  /// The time of the next pulse. @throws link_error none comes
  ::uhd::time_spec_t next_pulse(const ::uhd::time_spec_t& last);

  timekeeper& keeper_;
  std::string source_;
  double pulse_wait_s_;
  host_clock clock_;
  radio_time state_;
  ::uhd::time_spec_t last_pulse_;
  double seen_s_ = 0;  ///< when the last pulse was seen to be another, by the steady clock
};

}  // namespace perhop::drivers
