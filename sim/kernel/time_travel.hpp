// SPDX-License-Identifier: GPL-2.0-or-later
/// The protocol by which User-Mode Linux asks for time: include/uapi/linux/um_timetravel.h of Linux 6.12, whose shared memory older
/// headers do not have. A message is followed by an acknowledgement with its number; the shared memory spares most of them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace perhop::kernels {

enum class time_travel_op : std::uint32_t {
  acknowledgement = 0,
  start = 1,       ///< a kernel is there; `time` is the number that it was told on its command line
  request = 2,     ///< it wants to run at `time`
  wait = 3,        ///< it has nothing to do before what it requested
  get = 4,         ///< what time is it
  update = 5,      ///< its time has gone on to `time`
  run = 6,         ///< to a kernel: it is `time`, go on
  free_until = 7,  ///< to a kernel: up to `time` nobody else does anything
  get_tod = 8,     ///< time of day
  broadcast = 9,
};

struct time_travel_message {
  time_travel_op op{};
  std::uint32_t sequence = 0;
  std::uint64_t time = 0;
};
static_assert(sizeof(time_travel_message) == 16);

/// A kernel's part of the shared memory.
struct alignas(128) shared_client {
  static constexpr std::uint32_t shares_time = 1;   ///< of `capabilities`
  static constexpr std::uint32_t requests_run = 1;  ///< of `flags`: request_time counts
  std::uint32_t capabilities = 0;
  std::uint32_t flags = 0;
  std::uint64_t request_time = 0;
  std::uint64_t name = 0;
};

/// What all share; the clients follow, the calendar as number 0.
struct shared_schedule {
  static constexpr std::uint32_t known_version = 2;
  static constexpr std::size_t size_bytes = 4096;
  std::uint32_t version = 0;
  std::uint32_t length = 0;
  std::uint64_t free_until = 0;
  std::uint64_t current_time = 0;
  std::uint16_t running_id = 0;
  std::uint16_t most_clients = 0;
};
static_assert(offsetof(shared_schedule, running_id) == 24 && sizeof(shared_client) == 128);

}  // namespace perhop::kernels
