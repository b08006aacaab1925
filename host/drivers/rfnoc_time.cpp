// SPDX-License-Identifier: GPL-2.0-or-later
//
// The rfnoc driver and the radio's own time: the TSF is read against it, frames and completion records are told in it.
#include <cmath>
#include <cstdio>
#include <string>

#include "host/core/wire/generated/registers.hpp"
#include "host/drivers/rfnoc_driver.hpp"

namespace perhop::drivers {

namespace {

namespace shell = registers::shell;

/// Both in one clock: the first word that is read holds all of them.
time_look look_at(radio_link& link) {
  const auto read = [&link](std::uint32_t address) { return std::uint64_t{link.read(address)}; };
  time_look now;
  now.ticks = read(shell::device_time::address);
  now.ticks |= read(shell::device_time::address + 4) << 32;
  now.tsf_us = read(shell::device_time_tsf::address);
  now.tsf_us |= read(shell::device_time_tsf::address + 4) << 32;
  return now;
}

std::string seconds(double of) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g s", of);
  return text;
}

}  // namespace

/// A session begins: whether this radio has a time, and which one it is.
void rfnoc_driver::begin_time(radio_link& link, std::uint64_t session) {
  mac_clock_us_ = link.read(registers::tsf::address);
  std::optional<time_line> line;
  const std::uint64_t ticks_per_s = link.ticks_per_s();
  if (ticks_per_s != 0 && shell::build::timed.get(link.read(shell::build::address)) != 0) line.emplace(ticks_per_s, look_at(link));
  const auto per_us = registers::clock::per_us.get(link.read(registers::clock::address));
  {
    const std::lock_guard lock(mutex_);
    line_ = line;
    rx_delay_us_ =
        static_cast<std::uint64_t>(std::llround(static_cast<double>(config_.setup.rx_delay_clocks) / static_cast<double>(per_us)));
  }
  if (const auto time = link.time()) tell({session, *time});
}

/// @return what is wrong with the radio's time against the TSF; empty: nothing
std::string rfnoc_driver::look_at_time(radio_link& link, std::uint64_t session) {
  {
    const std::lock_guard lock(mutex_);
    if (!line_) return {};
  }
  obey_all(link, session);
  const time_look now = look_at(link);
  const std::lock_guard lock(mutex_);
  const double jump_s = line_->look(now);
  if (jump_s == 0) return {};
  return "the radio's time has jumped by " + seconds(jump_s) + " against its MAC's: another program has set it, or its clock stood";
}

/// When the frame's last bit was on the air, by the radio's time.
std::optional<std::uint64_t> rfnoc_driver::device_us_of(std::optional<std::uint64_t> ticks) {
  const std::lock_guard lock(mutex_);
  if (!ticks || !line_) return {};
  return line_->device_us(*ticks) - rx_delay_us_;
}

/// The radio's time in place of the TSF; what is between two of them is as it was.
void rfnoc_driver::tell_in_device_time(completion_record& record) {
  const std::lock_guard lock(mutex_);
  if (!line_) return;
  const std::uint32_t shift = line_->shift_of(record.t_done_us);
  for (std::uint32_t* each : {&record.t_enqueue_us, &record.t_head_us, &record.t_first_tx_us, &record.t_done_us}) *each += shift;
}

}  // namespace perhop::drivers
