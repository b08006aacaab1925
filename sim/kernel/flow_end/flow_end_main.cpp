// SPDX-License-Identifier: GPL-2.0-or-later
//
// The one program in a kernel of a run: opens the flows that end there at their moments, and tells what TCP knows of them. It is the
// kernel's `init`, linked statically; its plan and its words are told in flow_plan.hpp. It runs on virtual time only: whatever it does
// takes none, and what it waits for are sockets and one timer.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <vector>

#include "sim/kernel/flow_end/interface.hpp"
#include "sim/kernel/flow_end/tcp_state.hpp"
#include "sim/kernel/flow_end/told_rates.hpp"
#include "sim/kernel/flow_end/traced_program.hpp"
#include "sim/kernel/flow_plan.hpp"

namespace {

using namespace perhop::kernels::flow_plan;
using perhop::kernels::give_up;
using perhop::kernels::read_state;
using perhop::kernels::set_route;
using perhop::kernels::set_up_interface;
using perhop::kernels::tcp_state;
using nanoseconds = long long;

constexpr std::size_t chunk_bytes = 65536;
constexpr unsigned timer_event = UINT32_MAX, process_event = UINT32_MAX - 1, rate_event = UINT32_MAX - 2;

nanoseconds now_ns() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * second_ns + time.tv_nsec;
}

struct flow_end {
  unsigned flow = 0;
  bool sends = false;
  std::uint16_t port = 0, other_port = 0;
  in_addr other{};
  nanoseconds start = 0, stop = 0;
  int mss_bytes = 0;
  int window_bytes = 0;  ///< the most that a receiver advertises; 0: whatever Linux does
  char congestion_control[16]{};

  int socket = -1;  ///< of the connection
  int listener = -1;
  bool connected = false;
  bool over = false;
  std::uint64_t pacing_bytes_per_s = 0;  ///< what its socket is held to; 0: to nothing
  std::uint64_t received_bytes = 0;
  std::uint64_t looks = 0, rtt_us = 0, window_thousandths = 0;
  tcp_state last{};
  std::vector<std::uint32_t> round_trips_us;
};

class program {
public:
  void read_plan();
  [[noreturn]] void run();

private:
  void watch(int descriptor, unsigned index, std::uint32_t events);
  void listen(flow_end& end, unsigned index);
  void connect(flow_end& end, unsigned index);
  void stop(flow_end& end);
  void look(flow_end& end);
  void tell(const flow_end& end, nanoseconds edge) const;
  void tell_tail(flow_end& end) const;
  void tell_problem(const flow_end& end, const char* what) const;
  void on_socket(flow_end& end, unsigned index, std::uint32_t events);
  void hear_rates();
  static void hold_window(const flow_end& end);
  void on_time(nanoseconds now);
  nanoseconds next_moment(nanoseconds now) const;

  int epoll_ = -1, timer_ = -1, rates_ = -1;
  std::vector<flow_end> ends_;
  std::vector<nanoseconds> edges_;
  std::size_t next_edge_ = 0;
  nanoseconds measure_from_ = 0;
  nanoseconds next_look_ = 0;
  perhop::kernels::programs programs_;
  std::vector<char> chunk_ = std::vector<char>(chunk_bytes);
};

void program::read_plan() {
  std::FILE* const file = std::fopen(file_name, "r");
  if (file == nullptr) give_up(file_name);
  char line[4096], words[4][64];
  int at = 0;
  while (std::fgets(line, sizeof line, file) != nullptr) {
    flow_end end;
    unsigned numbers[4]{};
    long long time = 0;
    if (std::sscanf(line, "address %63s", words[0]) == 1) {
      set_up_interface(words[0]);
    } else if (std::sscanf(line, "sysctl %63s %63s", words[0], words[1]) == 2) {
      char path[96];
      std::snprintf(path, sizeof path, "/proc/sys/%s", words[0]);
      std::FILE* const setting = std::fopen(path, "w");
      if (setting == nullptr || std::fputs(words[1], setting) < 0 || std::fclose(setting) != 0) give_up(path);
    } else if (std::sscanf(line, "route %63s %u %u %u %u", words[0], &numbers[0], &numbers[1], &numbers[2], &numbers[3]) == 5) {
      set_route(words[0], numbers[0], numbers[1], numbers[2], numbers[3] != 0);
    } else if (std::sscanf(line, "neighbour %63s", words[0]) == 1) {
      set_route(words[0], 0, 0, 0, false);
    } else if (std::sscanf(line, "program %lld %u %n", &time, &numbers[0], &at) == 2) {
      std::string command(line + at);
      while (!command.empty() && command.back() == '\n') command.pop_back();
      programs_.add({.start_ns = time, .traced = numbers[0] != 0, .command = command});
    } else if (std::sscanf(line, "rates %u", &numbers[0]) == 1) {
      rates_ = perhop::kernels::open_rates(static_cast<std::uint16_t>(numbers[0]));
      if (rates_ < 0) give_up("rates");
    } else if (std::sscanf(line, "edge %lld", &time) == 1) {
      edges_.push_back(time);
    } else if (std::sscanf(line, "measure_from %lld", &time) == 1) {
      measure_from_ = time;
    } else if (std::sscanf(line, "send %u %hu %63s %hu %lld %lld %d %15s", &end.flow, &end.port, words[0], &end.other_port, &end.start,
                           &end.stop, &end.mss_bytes, end.congestion_control) == 8) {
      end.sends = true;
      inet_aton(words[0], &end.other);
      ends_.push_back(end);
    } else if (std::sscanf(line, "receive %u %hu %d %d %15s", &end.flow, &end.port, &end.mss_bytes, &end.window_bytes,
                           end.congestion_control) == 5) {
      ends_.push_back(end);
    } else {
      give_up(line);
    }
  }
  std::fclose(file);
}

void program::watch(int descriptor, unsigned index, std::uint32_t events) {
  epoll_event event{};
  event.events = events;
  event.data.u32 = index;
  if (epoll_ctl(epoll_, EPOLL_CTL_ADD, descriptor, &event) != 0) give_up("epoll");
}

void program::listen(flow_end& end, unsigned index) {
  end.listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  sockaddr_in here{};
  here.sin_family = AF_INET;
  here.sin_port = htons(end.port);
  if (setsockopt(end.listener, IPPROTO_TCP, TCP_CONGESTION, end.congestion_control, std::strlen(end.congestion_control)) != 0) {
    tell_problem(end, end.congestion_control);
  }
  setsockopt(end.listener, IPPROTO_TCP, TCP_MAXSEG, &end.mss_bytes, sizeof end.mss_bytes);
  if (bind(end.listener, reinterpret_cast<sockaddr*>(&here), sizeof here) != 0 || ::listen(end.listener, 1) != 0) give_up("a port");
  watch(end.listener, index, EPOLLIN);
}

void program::connect(flow_end& end, unsigned index) {
  end.socket = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (setsockopt(end.socket, IPPROTO_TCP, TCP_CONGESTION, end.congestion_control, std::strlen(end.congestion_control)) != 0) {
    tell_problem(end, end.congestion_control);
  }
  setsockopt(end.socket, IPPROTO_TCP, TCP_MAXSEG, &end.mss_bytes, sizeof end.mss_bytes);
  // What waits in the socket at the end is nobody's: the connection is reset.
  const linger reset{.l_onoff = 1, .l_linger = 0};
  setsockopt(end.socket, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
  sockaddr_in here{}, there{};
  here.sin_family = there.sin_family = AF_INET;
  here.sin_port = htons(end.port);
  there.sin_port = htons(end.other_port);
  there.sin_addr = end.other;
  if (bind(end.socket, reinterpret_cast<sockaddr*>(&here), sizeof here) != 0) give_up("a port");
  if (::connect(end.socket, reinterpret_cast<sockaddr*>(&there), sizeof there) != 0 && errno != EINPROGRESS) {
    tell_problem(end, "connect");
    stop(end);
    return;
  }
  watch(end.socket, index, EPOLLOUT);
}

void program::stop(flow_end& end) {
  look(end);
  if (end.socket >= 0) close(end.socket);
  end.socket = -1;
  end.connected = false;
  end.over = true;
}

void program::look(flow_end& end) {
  if (!end.connected) return;
  const tcp_state state = read_state(end.socket);
  if (state.rtt_us == 0) return;
  end.last = state;
  // TCP sends by the smaller of the two windows.
  std::uint64_t window = std::uint64_t{state.window_packets} * 1000;
  if (state.advertised_bytes != 0 && state.mss_bytes != 0) {
    window = std::min(window, std::uint64_t{state.advertised_bytes} * 1000 / state.mss_bytes);
  }
  ++end.looks;
  end.rtt_us += state.rtt_us;
  end.window_thousandths += window;
  end.round_trips_us.push_back(state.rtt_us);
}

void program::tell(const flow_end& end, nanoseconds edge) const {
  if (!end.sends) {
    std::printf("{\"flow\": %u, \"end\": \"receive\", \"at_ns\": %lld, \"received_bytes\": %llu}\n", end.flow, edge,
                static_cast<unsigned long long>(end.received_bytes));
    return;
  }
  std::printf(
      "{\"flow\": %u, \"end\": \"send\", \"at_ns\": %lld, \"looks\": %llu, \"rtt_us\": %llu, \"window_packets\": %llu, "
      "\"retransmissions\": %u, \"timeouts\": %u",
      end.flow, edge, static_cast<unsigned long long>(end.looks), static_cast<unsigned long long>(end.rtt_us),
      static_cast<unsigned long long>(end.window_thousandths), end.last.retransmissions, end.last.timeouts);
  if (end.pacing_bytes_per_s != 0) std::printf(", \"pacing_bytes_per_s\": %llu", static_cast<unsigned long long>(end.pacing_bytes_per_s));
  std::printf("}\n");
}

void program::tell_tail(flow_end& end) const {
  if (!end.sends || end.round_trips_us.empty()) return;
  std::sort(end.round_trips_us.begin(), end.round_trips_us.end());
  const std::size_t place = std::min(end.round_trips_us.size() - 1, end.round_trips_us.size() * 95 / 100);
  std::printf("{\"flow\": %u, \"end\": \"send\", \"rtt_p95_us\": %u}\n", end.flow, end.round_trips_us[place]);
}

void program::tell_problem(const flow_end& end, const char* what) const {
  std::printf("{\"flow\": %u, \"problem\": \"%s: %s\"}\n", end.flow, what, std::strerror(errno));
}

void program::on_socket(flow_end& end, unsigned index, std::uint32_t events) {
  if (end.sends) {
    if (end.socket < 0) return;
    int problem = 0;
    socklen_t length = sizeof problem;
    if ((events & (EPOLLERR | EPOLLHUP)) != 0 && getsockopt(end.socket, SOL_SOCKET, SO_ERROR, &problem, &length) == 0 && problem != 0) {
      errno = problem;
      tell_problem(end, end.connected ? "send" : "connect");
      stop(end);
      return;
    }
    end.connected = true;
    while (write(end.socket, chunk_.data(), chunk_.size()) > 0) {}
    return;
  }
  if (end.socket < 0) {
    end.socket = accept4(end.listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (end.socket >= 0) {
      hold_window(end);
      watch(end.socket, index, EPOLLIN);
    }
    return;
  }
  ssize_t got = 0;
  while ((got = read(end.socket, chunk_.data(), chunk_.size())) > 0) end.received_bytes += static_cast<std::uint64_t>(got);
  hold_window(end);
  if (got == 0 || errno != EAGAIN) {
    close(end.socket);
    end.socket = -1;
  }
}

/// Linux takes the window of a route for where to begin, and lets it grow with what is read: up to 65,535 bytes without window scaling,
/// 44 segments and 1,823 bytes more, of which the last 375 go as a packet of their own.
void program::hold_window(const flow_end& end) {
  if (end.window_bytes == 0) return;
  setsockopt(end.socket, IPPROTO_TCP, TCP_WINDOW_CLAMP, &end.window_bytes, sizeof end.window_bytes);
}

void program::hear_rates() {
  while (const auto told = perhop::kernels::read_rate(rates_)) {
    for (flow_end& end : ends_) {
      if (end.flow != told->flow || !end.connected) continue;
      const tcp_state state = read_state(end.socket);
      if (!perhop::kernels::hold_rate(end.socket, told->rate_bps, state.mss_bytes)) tell_problem(end, "SO_MAX_PACING_RATE");
      end.pacing_bytes_per_s = perhop::kernels::held_rate(end.socket);
    }
  }
}

nanoseconds program::next_moment(nanoseconds now) const {
  nanoseconds next = std::min<nanoseconds>(next_edge_ < edges_.size() ? edges_[next_edge_] : INT64_MAX, programs_.next_start());
  for (const flow_end& end : ends_) {
    if (!end.sends || end.over) continue;
    next = std::min(next, end.socket < 0 ? end.start : end.stop);
    if (end.connected) next = std::min(next, next_look_);
  }
  return std::max(next, now);
}

void program::on_time(nanoseconds now) {
  programs_.start_due(now);
  for (unsigned index = 0; index < ends_.size(); ++index) {
    flow_end& end = ends_[index];
    if (!end.sends || end.over) continue;
    if (end.socket < 0 && now >= end.start) connect(end, index);
    if (end.socket >= 0 && now >= end.stop) stop(end);
  }
  if (next_edge_ < edges_.size() && now >= edges_[next_edge_]) {
    const nanoseconds edge = edges_[next_edge_++];
    for (flow_end& end : ends_) {
      look(end);
      tell(end, edge);
      if (edge == measure_from_) end.round_trips_us.clear();
      if (next_edge_ == edges_.size()) tell_tail(end);
    }
  } else if (now >= next_look_) {
    for (flow_end& end : ends_) look(end);
  }
  next_look_ = (now / look_interval_ns + 1) * look_interval_ns;
}

void program::run() {
  epoll_ = epoll_create1(EPOLL_CLOEXEC);
  timer_ = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
  const int processes = programs_.watch();
  if (epoll_ < 0 || timer_ < 0 || processes < 0) give_up("epoll");
  watch(timer_, timer_event, EPOLLIN);
  watch(processes, process_event, EPOLLIN);
  if (rates_ >= 0) watch(rates_, rate_event, EPOLLIN);
  for (unsigned index = 0; index < ends_.size(); ++index) {
    if (!ends_[index].sends) listen(ends_[index], index);
  }
  std::printf("{\"ready_ns\": %lld}\n", now_ns());
  for (;;) {
    std::fflush(stdout);
    const nanoseconds now = now_ns(), next = next_moment(now);
    if (next <= now) {
      on_time(now);
      continue;
    }
    if (next != INT64_MAX) {
      const itimerspec when{.it_interval = {}, .it_value = {.tv_sec = next / second_ns, .tv_nsec = next % second_ns}};
      timerfd_settime(timer_, TFD_TIMER_ABSTIME, &when, nullptr);
    }
    epoll_event found[16];
    const int count = epoll_wait(epoll_, found, 16, -1);
    for (int place = 0; place < count; ++place) {
      const unsigned index = found[place].data.u32;
      if (index == process_event) programs_.look();
      if (index == rate_event) hear_rates();
      if (index < ends_.size()) on_socket(ends_[index], index, found[place].events);
    }
    std::uint64_t expirations = 0;
    (void)!read(timer_, &expirations, sizeof expirations);
  }
}

}  // namespace

int main() {
  if (mount("proc", "/proc", "proc", 0, nullptr) != 0) give_up("/proc");
  if (chdir("/") != 0) give_up("/");
  program flows;
  flows.read_plan();
  flows.run();
}
