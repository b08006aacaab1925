// SPDX-License-Identifier: GPL-2.0-or-later
/// A kernel that lives in a thread of the test: it speaks the time-travel protocol as arch/um/kernel/time.c does, and does what the test
/// says at the moments that it is given.
#pragma once

#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>

#include "sim/kernel/descriptor.hpp"
#include "sim/kernel/event_queue.hpp"
#include "sim/kernel/time_travel.hpp"

namespace perhop::kernels {

inline descriptor connect_to(const std::string& path) {
  descriptor made(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strcpy(address.sun_path, path.c_str());
  if (connect(made.number(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) throw std::runtime_error(path);
  return made;
}

class fake_kernel {
public:
  using work = std::function<void(fake_kernel&)>;

  fake_kernel(std::string socket_path, std::uint64_t number, work does) {
    thread_ = std::thread([this, path = std::move(socket_path), number, does = std::move(does)] {
      try {
        begin(path, number);
        does(*this);
        // A kernel that has nothing more to do waits for ever.
        wait();
      } catch (const connection_gone&) {
        // The calendar is gone: the test is over.
      }
      socket_ = descriptor();
    });
  }
  ~fake_kernel() { thread_.join(); }
  fake_kernel(const fake_kernel&) = delete;
  fake_kernel& operator=(const fake_kernel&) = delete;

  time_ns now() { return shares() ? schedule_->current_time : ask(time_travel_op::get, 0).time; }

  void sleep_until(time_ns when) {
    if (shares()) {
      own_->request_time = when;
      own_->flags = shared_client::requests_run;
      // Nobody else acts before: it goes on by itself.
      if (when < schedule_->free_until) {
        schedule_->current_time = when;
        own_->flags = 0;
        ++own_steps_;
        return;
      }
    } else {
      if (when < free_until_) {
        ask(time_travel_op::update, when);
        ++own_steps_;
        return;
      }
      ask(time_travel_op::request, when);
    }
    wait();
  }

  /// Steps that it took without asking.
  unsigned own_steps() const { return own_steps_; }

  [[noreturn]] void end() { throw connection_gone("this kernel has ended"); }

  /// While it waits for a message about time, `handler` takes what comes by this socket, as a signal handler would.
  void set_interrupt(int socket, std::function<void()> handler) {
    interrupt_ = socket;
    on_interrupt_ = std::move(handler);
  }

  /// A message of any kind, for kernels that speak nonsense.
  void say(time_travel_op op, time_ns time) {
    write_whole(socket_, bytes_of(time_travel_message{.op = op, .sequence = ++sequence_, .time = time}));
  }

private:
  bool shares() const { return schedule_->version == shared_schedule::known_version; }

  void begin(const std::string& path, std::uint64_t number) {
    socket_ = connect_to(path);
    say(time_travel_op::start, number);
    time_travel_message answer;
    const auto passed = read_with_descriptors(socket_, bytes_of(answer));
    void* const mapped = mmap(nullptr, 2 * shared_schedule::size_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, passed[0].number(), 0);
    if (mapped == MAP_FAILED || !passed[1]) throw std::runtime_error("no shared memory came along");
    schedule_ = static_cast<shared_schedule*>(mapped);
    own_ = reinterpret_cast<shared_client*>(static_cast<char*>(mapped) + shared_schedule::size_bytes) + answer.time;
  }

  /// Until it is told to run.
  void wait() {
    say(time_travel_op::wait, 0);
    time_travel_message said;
    do {
      pollfd wanted[2] = {{.fd = socket_.number(), .events = POLLIN, .revents = 0}, {.fd = interrupt_, .events = POLLIN, .revents = 0}};
      poll(wanted, 2, -1);
      if (wanted[1].revents != 0) {
        on_interrupt_();
        continue;
      }
      read_whole(socket_, bytes_of(said));
      take(said);
    } while (said.op != time_travel_op::run);
  }

  time_travel_message ask(time_travel_op op, time_ns time) {
    say(op, time);
    const std::uint32_t sequence = sequence_;
    time_travel_message said;
    do {
      read_whole(socket_, bytes_of(said));
      take(said);
    } while (said.op != time_travel_op::acknowledgement || said.sequence != sequence);
    return said;
  }

  void take(const time_travel_message& said) {
    if (said.op == time_travel_op::acknowledgement) return;
    if (said.op == time_travel_op::free_until) free_until_ = said.time;
    if (said.op == time_travel_op::run) free_until_ = std::max(free_until_, said.time);
    write_whole(socket_, bytes_of(time_travel_message{.op = time_travel_op::acknowledgement, .sequence = said.sequence, .time = 0}));
  }

  descriptor socket_;
  shared_schedule* schedule_ = nullptr;
  shared_client* own_ = nullptr;
  std::uint32_t sequence_ = 0;
  time_ns free_until_ = 0;
  unsigned own_steps_ = 0;
  int interrupt_ = -1;
  std::function<void()> on_interrupt_;
  std::thread thread_;  // last: it uses the others
};

}  // namespace perhop::kernels
