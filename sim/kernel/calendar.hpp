// SPDX-License-Identifier: GPL-2.0-or-later
/// The clock that all kernels of a run live by: who acts next, and what time it is then.
///
/// One thing acts at a time: the air, an event, or one kernel. Of those that are due together the event sources go first, in the order in
/// which they were added, then events in the order of entering, then kernels by number. A kernel that runs goes on by itself up to the
/// moment at which anybody else may act (`free_until`), and its devices may move that moment closer while it runs.
///
/// Kernels connect to a Unix socket with the protocol of time_travel.hpp; none begins before all are there, so all begin at time 0.
/// Reads no clock but to notice a kernel that has stopped answering.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "sim/air/wake_tree.hpp"
#include "sim/kernel/descriptor.hpp"
#include "sim/kernel/event_queue.hpp"
#include "sim/kernel/time_travel.hpp"

namespace perhop::kernels {

/// Something that knows by itself when it acts next, such as the air.
class event_source {
public:
  virtual ~event_source() = default;
  virtual time_ns next_event() const = 0;
  /// What is due at `now`, one step at least.
  virtual void act(time_ns now) = 0;
};

/// What a kernel talks to while it runs.
class device {
public:
  virtual ~device() = default;
  /// Readable when the kernel has said something.
  virtual int socket() const = 0;
  virtual void on_readable() = 0;
};

/// A kernel is gone, or says nothing more.
class kernel_failure : public std::runtime_error {
public:
  kernel_failure(std::size_t kernel, const std::string& what) : std::runtime_error(what), kernel_(kernel) {}
  std::size_t kernel() const { return kernel_; }

private:
  std::size_t kernel_;
};

/// 2023-11-14 22:13:20 UTC, in every run.
inline constexpr time_ns usual_time_of_day_ns = 1'700'000'000'000'000'000;

struct calendar_config {
  std::string socket_path;
  std::size_t kernels = 0;
  bool shared_memory = true;                      ///< false: each step is a message; the same times, more CPU time
  bool free_running = true;                       ///< false: a kernel asks again for each step of its own
  time_ns time_of_day_ns = usual_time_of_day_ns;  ///< when the kernels begin
  /// A kernel that has not answered for so long has failed.
  std::chrono::milliseconds patience{60'000};
};

/// Counted since the start.
struct calendar_counters {
  std::uint64_t runs = 0;      ///< times that a kernel was told to run
  std::uint64_t messages = 0;  ///< of the time-travel protocol
  std::uint64_t events = 0;
};

class calendar {
public:
  /// @throws std::system_error
  explicit calendar(const calendar_config& config);
  ~calendar();
  calendar(const calendar&) = delete;
  calendar& operator=(const calendar&) = delete;

  /// The device of a kernel, which must outlive the calendar's use.
  void attach(std::size_t kernel, device& attached) { clients_[kernel].attached = &attached; }
  void add(event_source& source) { sources_.push_back(&source); }
  /// Is asked now and then while a kernel is waited for: true gives up waiting, soon.
  void set_interrupted(std::function<bool()> interrupted) { interrupted_ = std::move(interrupted); }

  /// Waits until every kernel is there. @throws kernel_failure
  void connect();

  /// Virtual time; that of the running kernel where one runs.
  time_ns now();
  /// Does something at a moment, not before now().
  void at(time_ns when, event_queue::action what);

  /// Lets time pass up to and including `until`. @param go_on is asked between steps; false: returns early
  /// @throws kernel_failure
  void run(time_ns until, const std::function<bool()>& go_on);

  /// For devices: answers what a kernel says until `answer` becomes readable, which is another socket of that kernel's.
  /// @throws kernel_failure
  void serve_until_readable(std::size_t kernel, int answer);

  const calendar_counters& counters() const { return counters_; }

private:
  static constexpr std::size_t nobody = SIZE_MAX;

  struct client {
    descriptor socket;
    std::uint32_t start_sequence = 0;
    std::uint32_t sequence = 0;  ///< of our messages
    bool started = false;
    bool waiting = false;    ///< it does not run
    bool told_free = false;  ///< it goes on by itself, as a message said
    time_ns request = never_ns;
    device* attached = nullptr;
  };

  shared_client* shared(std::size_t kernel) const;
  time_travel_message read_message(std::size_t kernel);
  void tell(std::size_t kernel, time_travel_op op, time_ns time);
  void tell_free_until(std::size_t kernel, time_ns until);
  void acknowledge(client& to, const time_travel_message& message, time_ns time);
  void set_now(time_ns now);
  void note_request(std::size_t kernel);
  void limit_running(time_ns until);
  time_ns next_of_sources() const;
  void run_kernel(std::size_t kernel, time_ns at);
  /// @param extra another socket to wait for, or -1. @return whether that one is readable
  bool serve_once(std::size_t kernel, int extra);

  calendar_config config_;
  descriptor listener_;
  descriptor memory_;
  descriptor log_;
  std::size_t mapped_bytes_ = 0;
  shared_schedule* schedule_ = nullptr;
  std::vector<client> clients_;
  std::vector<event_source*> sources_;
  event_queue events_;
  air::wake_tree requests_;
  std::function<bool()> interrupted_ = [] { return false; };
  time_ns now_ = 0;
  std::size_t running_ = nobody;
  calendar_counters counters_;
};

}  // namespace perhop::kernels
