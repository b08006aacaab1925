// SPDX-License-Identifier: GPL-2.0-or-later
//
// perhop-live-air RUN_JSON SOCKET [USER]: all MACs of a run and the medium between them, paced to the wall clock. Daemons of nodes connect
// to SOCKET (Unix, SOCK_SEQPACKET) and speak the air_* messages of gateware/spec/frames.yaml.
// With USER it is that user's process once its socket is open: the folder of SOCKET must be that user's, and the group of the folder may
// connect.
// Exit status: 0 told to end (SIGINT, SIGTERM), 2 RUN_JSON is wrong, 1 anything else.
#include <sched.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>

#include "host/node/privileges.hpp"
#include "host/sockets/seqpacket_server.hpp"
#include "sim/live/live_medium.hpp"

namespace {

using namespace perhop;
using live::connection_id;

// Later than this, what was missed is not caught up with: the medium's time is put off, so that nodes can answer in time.
constexpr std::uint64_t most_late_us = 50'000;
// Of one wake, before time is looked at again.
constexpr int most_messages = 64;
// Connections without a node: they give commands.
constexpr std::size_t most_controllers = 64;
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

/// The listening socket, for the medium.
class medium_socket : public live::outlet, private sockets::server_handler {
public:
  /// @param path of the socket's file; its folder is the current one
  medium_socket(const std::filesystem::path& path, std::size_t nodes)
      : path_(path),
        server_({.path = path.filename(),
                 .most_clients = nodes + most_controllers,
                 .most_message_bytes = 16384,
                 .messages_at_once = most_messages,
                 .send_buffer_bytes = socket_buffer_bytes,
                 .mode = 0660}) {}

  int descriptor() const { return server_.descriptor(); }
  void poll(std::uint64_t now_us, live::live_medium& medium) {
    medium_ = &medium;
    server_.poll(now_us, *this);
  }

  bool send(connection_id to, std::span<const std::uint8_t> message) override { return server_.send(to, message); }
  void close(connection_id connection) override { server_.close(connection); }

private:
  void on_message(sockets::client_id from, std::span<const std::uint8_t> message) override {
    medium_->on_message(from, message);
    // The daemon of a node may have nothing to say for hours.
    if (medium_->is_of_a_node(from)) server_.keep(from);
  }
  void on_closed(sockets::client_id client) override { medium_->on_closed(client); }
  void on_trouble(const std::string& what) override { std::fprintf(stderr, "perhop-live-air: %s %s\n", path_.c_str(), what.c_str()); }

  std::string path_;
  live::live_medium* medium_ = nullptr;
  sockets::seqpacket_server server_;
};

enum : std::uint64_t { timer_event, signal_event, socket_event };

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
  // CAP_IPC_LOCK will be gone: where there is a limit then, keeping pages would make an allocation fail some day.
  const rlimit unlimited{.rlim_cur = RLIM_INFINITY, .rlim_max = RLIM_INFINITY};
  if (setrlimit(RLIMIT_MEMLOCK, &unlimited) == 0) mlockall(MCL_CURRENT | MCL_FUTURE);
  const sched_param priority{.sched_priority = realtime_priority};
  return sched_setscheduler(0, SCHED_FIFO, &priority) == 0;
}

int serve(const std::string& file, const std::filesystem::path& socket_path, const std::optional<node::account>& user) {
  const run::run_config config = run::load_run_config(file);
  if (config.air.mac.fidelity == air::mac_fidelity::samples) {
    throw run::config_error("run.json: field mac.fidelity: samples is too slow for real time; give core or bytes");
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
  // From here the socket's file can be made again by a user who may not pass the folders above.
  if (socket_path.has_parent_path()) std::filesystem::current_path(socket_path.parent_path());
  medium_socket server(socket_path, config.air.nodes.size());
  watch(epoll, server.descriptor(), socket_event);
  live::live_medium medium(config, server);
  const bool realtime = ask_for_real_time();
  node::drop_privileges(user);
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
  std::array<epoll_event, 3> events;
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
      messages |= data == socket_event;
    }
    if (!messages) {
      std::uint64_t expirations = 0;
      [[maybe_unused]] const ssize_t size = read(timer, &expirations, sizeof expirations);
      continue;
    }
    catch_up();
    server.poll(monotonic_us(), medium);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3 && argc != 4) {
    std::fprintf(stderr, "usage: perhop-live-air RUN_JSON SOCKET [USER]\n");
    return run::exit_bad_config;
  }
  try {
    return serve(argv[1], argv[2], argc == 4 ? std::optional(node::find_account(argv[3])) : std::nullopt);
  } catch (const run::config_error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return run::exit_bad_config;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "perhop-live-air: %s\n", error.what());
    return 1;
  }
}
