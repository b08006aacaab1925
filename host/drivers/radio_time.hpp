// SPDX-License-Identifier: GPL-2.0-or-later
/// A radio's own time: how it was set, and how the MAC's TSF timer stands to it.
///
/// A radio counts samples (ticks); the TSF counts microseconds since the MAC was enabled, by another oscillator, and follows the medium's
/// edges by a few. Both are read in one clock, again and again; in between they are taken to pass as they did before.
#pragma once

#include <cstdint>
#include <optional>

namespace perhop::drivers {

/// How a radio's time was set, and how it stands to what it was set by.
struct radio_time {
  bool by_pulses = false;         ///< to the second of a pulse that others get, too; otherwise by this host's clock, to some milliseconds
  double host_ahead_s = 0;        ///< by which this host's clock is ahead of it
  double pulse_offset_us = 0;     ///< by which the radio's second is ahead of the last pulse
  std::uint64_t corrections = 0;  ///< times that it was set again, as it had gone away from the pulses
};

/// What the registers device_time and device_time_tsf say of one clock.
struct time_look {
  std::uint64_t ticks = 0;
  std::uint64_t tsf_us = 0;
};

class time_line {
public:
  /// @param ticks_per_s of the radio's time, not 0
  time_line(std::uint64_t ticks_per_s, const time_look& first);

  /// Looks again. @return by how many seconds the radio's time has jumped against the TSF since the last look; 0: both have passed alike
  double look(const time_look& now);

  /// The radio's time in microseconds.
  std::uint64_t device_us(std::uint64_t ticks) const;
  /// The radio's time at a moment of the TSF not far from the last look.
  std::uint64_t device_us_of_tsf(std::uint64_t tsf_us) const;
  /// The same of the low half of a TSF time, as completion records have it: what to add to it, modulo 2^32.
  std::uint32_t shift_of(std::uint32_t tsf_low_us) const;

private:
  double ratio() const;

  std::uint64_t ticks_per_s_;
  time_look last_;
  time_look from_, next_from_;  ///< looks long ago, from which the ratio of both is taken
};

}  // namespace perhop::drivers
