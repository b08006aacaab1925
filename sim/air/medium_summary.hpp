// SPDX-License-Identifier: GPL-2.0-or-later
/// What a MAC core is told with its ticks of a medium that it was not shown: the gateware's medium_summary_s.
#pragma once

#include <cstdint>

namespace perhop::air {

struct medium_summary {
  std::uint32_t us = 0;           ///< the last so many ticks of the clock came to this; 0: only the last three are told
  std::uint32_t nav_us = 0;       ///< of these reserved by others
  std::uint32_t cca_us = 0;       ///< ... busy with a carrier
  std::uint32_t ifs_us = 0;       ///< ... inter-frame spaces; the rest were slots
  std::uint16_t slots = 0;        ///< whole ones
  std::uint16_t phase_us = 0;     ///< of the next one, how much has passed
  bool spaced = false;            ///< an inter-frame space was over
  std::uint16_t idle_us = 0;      ///< since when the medium is idle
  std::uint16_t nav_left_us = 0;  ///< for how long it is reserved yet, if longer than the core knows; or 0
  bool heard = false;             ///< a frame for others was over; of the last one:
  bool bad = false;               ///< it was not understood

  /// It says something.
  bool any() const { return us != 0 || nav_left_us != 0 || heard; }
};

template <typename Pins>
void put_summary(Pins& pins, const medium_summary& summary) {
  pins.summary_us = summary.us;
  pins.summary_nav_us = summary.nav_us;
  pins.summary_cca_us = summary.cca_us;
  pins.summary_ifs_us = summary.ifs_us;
  pins.summary_slots = summary.slots;
  pins.summary_phase_us = summary.phase_us;
  pins.summary_spaced = summary.spaced;
  pins.summary_idle_us = summary.idle_us;
  pins.summary_nav_left_us = summary.nav_left_us;
  pins.summary_heard = summary.heard;
  pins.summary_bad = summary.bad;
}

}  // namespace perhop::air
