// SPDX-License-Identifier: GPL-2.0-or-later
//
// perhop-live-air RUN_JSON SOCKET: all MACs of a run and the medium between them, paced to the wall clock. Daemons of nodes connect
// to SOCKET (Unix, SOCK_SEQPACKET) and speak the air_* messages of gateware/spec/frames.yaml.
// Exit status: 0 told to end (SIGINT, SIGTERM), 2 RUN_JSON is wrong, 1 anything else.
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

#include "sim/live/live_medium.hpp"

namespace {

using namespace perhop;
using live::connection_id;

// Later than this, what was missed is not caught up with: the medium's time is put off, so that nodes can answer in time.
constexpr std::uint64_t most_late_us = 50'000;
// Of one wake, before time is looked at again.
constexpr int most_messages = 64;
constexpr int socket_buffer_bytes = 1 << 20;
constexpr int realtime_priority = 20;

std::uint64_t monotonic_us() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000 + static_cast<std::uint64_t>(time.tv_nsec) / 1000;
}

int checked(int result, const std::string& what) {
  if (result < 0) throw std::runtime_error(what + ": " + std::strerror(errno));
  return result;
}

/// The listening socket and its connections.
class socket_server : public live::outlet {
public:
  socket_server(const std::string& path, int epoll) : path_(path), epoll_(epoll) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof address.sun_path) throw std::runtime_error(path + ": too long for a socket; use a shorter folder");
    path.copy(address.sun_path, path.size());
    listener_ = checked(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), "socket");
    unlink(path.c_str());
    checked(bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address), path);
    checked(listen(listener_, 64), path);
    watch(listener_, 0);
  }
  ~socket_server() override { unlink(path_.c_str()); }

  /// Event data 0 is the listener; every other one above it is a connection.
  void accept_all() {
    for (;;) {
      const int fd = accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
      if (fd < 0) return;
      setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &socket_buffer_bytes, sizeof socket_buffer_bytes);
      const connection_id id = next_++;
      sockets_.emplace(id, fd);
      watch(fd, id);
    }
  }

  bool send(connection_id to, std::span<const std::uint8_t> message) override {
    const auto found = sockets_.find(to);
    if (found == sockets_.end()) return false;
    return ::send(found->second, message.data(), message.size(), MSG_DONTWAIT | MSG_NOSIGNAL) == static_cast<ssize_t>(message.size());
  }

  void close(connection_id connection) override {
    const auto found = sockets_.find(connection);
    if (found == sockets_.end()) return;
    ::close(found->second);
    sockets_.erase(found);
  }

  /// Reads what a connection has sent.
  void receive(connection_id from, live::live_medium& medium) {
    for (int count = 0; count < most_messages; ++count) {
      const auto found = sockets_.find(from);
      if (found == sockets_.end()) return;
      const ssize_t size = recv(found->second, buffer_.data(), buffer_.size(), MSG_DONTWAIT);
      if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
      if (size <= 0) {
        medium.on_closed(from);
        close(from);
        return;
      }
      medium.on_message(from, std::span<const std::uint8_t>(buffer_.data(), static_cast<std::size_t>(size)));
    }
  }

private:
  void watch(int fd, connection_id id) const {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u64 = id;
    checked(epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event), "epoll_ctl");
  }

  std::string path_;
  int epoll_;
  int listener_ = -1;
  connection_id next_ = 1;
  std::unordered_map<connection_id, int> sockets_;
  std::array<std::uint8_t, 16384> buffer_{};
};

constexpr std::uint64_t timer_event = ~std::uint64_t{0};
constexpr std::uint64_t signal_event = timer_event - 1;

void watch(int epoll, int fd, std::uint64_t data) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = data;
  checked(epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event), "epoll_ctl");
}

/// A wake-up takes at most its time: no slack for timers, no page that must be read from a disk first, and ahead of
/// ordinary processes where that is allowed. Pages are kept where they can be: without it the medium is only later.
bool ask_for_real_time() {
  prctl(PR_SET_TIMERSLACK, 1);
  mlockall(MCL_CURRENT | MCL_FUTURE);
  const sched_param priority{.sched_priority = realtime_priority};
  return sched_setscheduler(0, SCHED_FIFO, &priority) == 0;
}

int run(const std::string& file, const std::string& socket_path) {
  const air::run_config config = air::load_run_config(file);
  if (config.air.mac.fidelity == air::mac_fidelity::samples) {
    throw air::config_error("run.json: field mac.fidelity: samples is too slow for real time; give core or bytes");
  }
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  sigprocmask(SIG_BLOCK, &signals, nullptr);

  const int epoll = checked(epoll_create1(EPOLL_CLOEXEC), "epoll_create1");
  const int timer = checked(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC), "timerfd_create");
  const int signal_fd = checked(signalfd(-1, &signals, SFD_NONBLOCK | SFD_CLOEXEC), "signalfd");
  watch(epoll, timer, timer_event);
  watch(epoll, signal_fd, signal_event);
  socket_server server(socket_path, epoll);
  live::live_medium medium(config, server);
  const bool realtime = ask_for_real_time();
  std::printf("perhop-live-air: %zu nodes at %s, %s\n", config.air.nodes.size(), socket_path.c_str(),
              realtime ? "real-time priority" : "ordinary priority");
  std::fflush(stdout);

  std::uint64_t origin_us = monotonic_us();
  const auto clock = [&] { return monotonic_us() - origin_us; };
  const auto catch_up = [&] {
    if (const air::tick now = clock(), due = medium.next_event(); due != air::never && now > due && now - due > most_late_us) {
      origin_us += now - due;
      medium.note_slip(now - due);
    }
    medium.advance(clock(), clock);
  };
  std::array<epoll_event, 64> events;
  for (;;) {
    catch_up();
    itimerspec wake{};
    if (const air::tick due = medium.next_event(); due != air::never) {
      const std::uint64_t at_us = origin_us + due;
      wake.it_value.tv_sec = static_cast<time_t>(at_us / 1'000'000);
      wake.it_value.tv_nsec = static_cast<long>(at_us % 1'000'000 * 1000);
    }
    timerfd_settime(timer, TFD_TIMER_ABSTIME, &wake, nullptr);
    const int count = epoll_wait(epoll, events.data(), static_cast<int>(events.size()), -1);
    if (count < 0 && errno != EINTR) throw std::runtime_error(std::string("epoll_wait: ") + std::strerror(errno));
    // What the daemons say is said now.
    bool messages = false;
    for (int i = 0; i < count; ++i) {
      const std::uint64_t data = events[static_cast<std::size_t>(i)].data.u64;
      if (data == signal_event) return 0;
      messages |= data != timer_event;
    }
    if (!messages) {
      std::uint64_t expirations = 0;
      [[maybe_unused]] const ssize_t size = read(timer, &expirations, sizeof expirations);
      continue;
    }
    catch_up();
    for (int i = 0; i < count; ++i) {
      const std::uint64_t data = events[static_cast<std::size_t>(i)].data.u64;
      if (data == 0) server.accept_all();
      if (data != 0 && data != timer_event) server.receive(data, medium);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: perhop-live-air RUN_JSON SOCKET\n");
    return air::exit_bad_config;
  }
  try {
    return run(argv[1], argv[2]);
  } catch (const air::config_error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return air::exit_bad_config;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "perhop-live-air: %s\n", error.what());
    return 1;
  }
}
