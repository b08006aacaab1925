// SPDX-License-Identifier: GPL-2.0-or-later
//
// What the rfnoc driver does in each beat: it tells the shell that this host is there, and hears what went wrong.
#include <string>

#include "host/core/wire/generated/registers.hpp"
#include "host/drivers/rfnoc_driver.hpp"

namespace perhop::drivers {

namespace {

// At the radio's clocks, which may take the device a while to answer for.
constexpr unsigned beats_between_looks = 4;

}  // namespace

rfnoc_driver::trouble rfnoc_driver::troubles_of(radio_link& link, std::uint64_t session) {
  return {.link = link.counts(),
          .rx_samples_lost = look(link, session, registers::shell::stat_rx_samples_lost::address),
          .tx_samples_late = look(link, session, registers::shell::stat_tx_samples_late::address),
          .frames_lost = look(link, session, registers::stat_rx_overflow::address),
          .records_lost = look(link, session, registers::stat_done_overflow::address)};
}

/// Tells the shell that this host is there, and hears what went wrong since the last time.
/// @throws link_error the shell had taken the host to be gone; what went wrong needs another beginning
void rfnoc_driver::beat(radio_link& link, std::uint64_t session, seen& known) {
  namespace shell = registers::shell;
  link.write(shell::heartbeat::address, config_.setup.heartbeat_limit_ms);
  if (shell::route::own_converter.get(look(link, session, shell::route::address)) == 0) {
    throw link_error("the radio heard nothing of this host for " + std::to_string(config_.setup.heartbeat_limit_ms) +
                     " ms and has stopped sending; it is set up anew");
  }
  mac_clock_us_ = look(link, session, registers::tsf::address);
  tell_troubles(link, session, known.troubles);
  check_time(link, session, known);
}

void rfnoc_driver::tell_troubles(radio_link& link, std::uint64_t session, trouble& known) {
  const trouble now = troubles_of(link, session);
  if (now == known) return;
  const trouble grown{.link = {.overflows = now.link.overflows - known.link.overflows,
                               .late = now.link.late - known.link.late,
                               .sequence_errors = now.link.sequence_errors - known.link.sequence_errors},
                      .rx_samples_lost = now.rx_samples_lost - known.rx_samples_lost,
                      .tx_samples_late = now.tx_samples_late - known.tx_samples_late,
                      .frames_lost = now.frames_lost - known.frames_lost,
                      .records_lost = now.records_lost - known.records_lost};
  known = now;
  tell({session, grown});
  // The credits of their packets would never come back.
  if (grown.records_lost != 0) throw link_error("the radio lost completion records, as this host was too slow; it is set up anew");
}

/// @throws link_error the radio's time is none: its converter stands, or its reference is gone
void rfnoc_driver::check_time(radio_link& link, std::uint64_t session, seen& known) {
  const std::uint32_t samples = look(link, session, registers::shell::stat_samples::address);
  std::string why;
  if (samples == known.samples) {
    why = "the radio's converter has given no sample since the last beat: its clock stands";
  } else if (++known.beats % beats_between_looks == 0) {
    why = link.time_trouble();
    if (const auto time = link.time(); why.empty() && time) tell({session, *time});
  }
  if (why.empty()) why = look_at_time(link, session);
  known.samples = samples;
  if (why.empty()) return;
  tell({session, trouble{.times_lost = 1}});
  throw link_error(why);
}

void rfnoc_driver::note(const trouble& grown) {
  counters_.overflows += grown.link.overflows + grown.frames_lost + grown.records_lost;
  counters_.late += grown.link.late;
  counters_.sequence_errors += grown.link.sequence_errors;
  counters_.rx_samples_lost += grown.rx_samples_lost;
  counters_.tx_samples_late += grown.tx_samples_late;
  counters_.times_lost += grown.times_lost;
}

}  // namespace perhop::drivers
