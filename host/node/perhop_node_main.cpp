// SPDX-License-Identifier: GPL-2.0-or-later
//
// perhop-node CONFIG.JSON: the daemon of one node. Joins the TUN interface, the shim and the driver; one thread, which sleeps until
// something happens.
// perhop-node --check-ebpf CGROUP: whether this process could clamp congestion windows here; if not, one line says why.
// perhop-node --check-driver CONFIG.JSON: whether the MAC of this configuration comes up, and its radio's time; nothing but its driver is
// opened.
// perhop-node --drivers: every driver with its fields, as JSON.
// perhop-node --version: the project's version and a digest of the daemon's sources.
// Exit status: 0 told to end (SIGINT, SIGTERM), 2 the configuration is wrong or eBPF is not possible, 1 anything else, a MAC that does
// not come up among it.
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <exception>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "host/bpf/window_clamp.hpp"
#include "host/node/control.hpp"
#include "host/node/linux_kernel.hpp"
#include "host/node/log.hpp"
#include "host/node/node_config.hpp"
#include "host/node/packet_path.hpp"
#include "host/node/privileges.hpp"
#include "host/node/rate_server.hpp"
#include "host/node/register_desk.hpp"
#include "host/sockets/seqpacket_server.hpp"
#include "version.hpp"

namespace {

using namespace perhop;
using node::time_us;

// Of one wake, so that the driver has its turn.
constexpr int most_packets = 32;
// Below the emulated medium, above ordinary processes.
constexpr int realtime_priority = 10;
constexpr time_us policy_looked_at_every_us = 1'000'000;

time_us monotonic_us() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<time_us>(time.tv_sec) * 1'000'000 + static_cast<time_us>(time.tv_nsec) / 1000;
}

int checked(int result, const std::string& what) {
  if (result < 0) throw std::system_error(errno, std::generic_category(), what);
  return result;
}

class daemon_loop : private sockets::server_handler {
public:
  explicit daemon_loop(const node::node_config& config)
      : config_(config),
        kernel_(config.interface),
        clamp_(config.cwl_enforce == node::cwl_enforcement::ebpf ? std::make_unique<bpf::window_clamp>(config.cwl_cgroup) : nullptr),
        driver_(node::make_driver(config.driver)),
        path_({.queue_packets = config.queue_packets,
               .policy = config.policy,
               .mtu_bytes = config.mtu_bytes,
               .tell_window = config.tell_window,
               .exact = config.exact,
               .exact_flows = config.exact_flows,
               .slow_down = config.slow_down,
               .swan = config.swan,
               .limiter = clamp_.get()},
              kernel_, *driver_) {
    if (config.exact && !config.rates_socket.empty()) rates_.emplace(config.rates_socket, path_);
    for (const node::neighbour_address& neighbour : config.neighbours) {
      path_.known_neighbours().add(neighbour.address, neighbour.mac);
      if (neighbour.data_rate_index) path_.set_data_rate(neighbour.mac, *neighbour.data_rate_index);
    }
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    sigprocmask(SIG_BLOCK, &signals, nullptr);
    signals_ = checked(signalfd(-1, &signals, SFD_NONBLOCK | SFD_CLOEXEC), "signalfd");
    epoll_ = checked(epoll_create1(EPOLL_CLOEXEC), "epoll_create1");
    timer_ = checked(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC), "timerfd_create");
    if (!config.control_socket.empty()) control_.emplace(sockets::server_config{.path = config.control_socket});
    for (const int descriptor : {signals_, timer_, kernel_.tun(), kernel_.route_changes(), driver_->descriptor()}) watch(descriptor);
    if (control_) watch(control_->descriptor());
    if (rates_) watch(rates_->descriptor());
  }

  void run() {
    std::array<epoll_event, 16> events;
    for (;;) {
      set_timer();
      const int count = epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), -1);
      if (count < 0 && errno != EINTR) checked(count, "epoll_wait");
      for (int i = 0; i < count; ++i) {
        const int descriptor = events[static_cast<std::size_t>(i)].data.fd;
        if (descriptor == signals_) return;
        serve(descriptor);
      }
      const time_us now = now_us();
      if (const auto due = path_.next_deadline(); due && *due <= now) {
        path_.on_deadline(now);
        note_mac();
      }
      if (rates_) rates_->tell();
      note_policy(now);
      note_driver();
    }
  }

private:
  /// The time of all that concerns packets. It passes slower than the clock where the radio does (slow_down).
  time_us now_us() const { return monotonic_us() / config_.slow_down; }

  void watch(int descriptor) const {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = descriptor;
    checked(epoll_ctl(epoll_, EPOLL_CTL_ADD, descriptor, &event), "epoll_ctl");
  }

  void set_timer() {
    const auto due = path_.next_deadline();
    if (due == timer_set_) return;
    timer_set_ = due;
    itimerspec wake{};
    if (due) {
      const time_us by_clock_us = *due * config_.slow_down;
      wake.it_value.tv_sec = static_cast<time_t>(by_clock_us / 1'000'000);
      wake.it_value.tv_nsec = static_cast<long>(by_clock_us % 1'000'000 * 1000 + 1);  // 0 would disarm it
    }
    timerfd_settime(timer_, TFD_TIMER_ABSTIME, &wake, nullptr);
  }

  void serve(int descriptor) {
    if (descriptor == kernel_.tun()) {
      for (int count = 0; count < most_packets; ++count) {
        const auto packet = kernel_.read_packet(buffer_);
        if (packet.empty()) break;
        path_.on_ip(now_us(), packet);
      }
    } else if (descriptor == driver_->descriptor()) {
      path_.at(now_us());
      driver_->poll(registers_);
      note_mac();
      answer_waiting();
    } else if (descriptor == kernel_.route_changes()) {
      kernel_.on_route_change();
      path_.on_route_change(now_us());
    } else if (descriptor == timer_) {
      std::uint64_t expirations = 0;
      [[maybe_unused]] const ssize_t size = read(timer_, &expirations, sizeof expirations);
      timer_set_.reset();
    } else if (rates_ && descriptor == rates_->descriptor()) {
      rates_->poll(now_us());
    } else if (control_ && descriptor == control_->descriptor()) {
      control_->poll(static_cast<std::uint64_t>(monotonic_us()), *this);
    }
  }

  void note_mac() {
    if (!path_.is_up()) {
      if (std::string problem = path_.mac_problem(); problem != mac_problem_) {
        mac_problem_ = std::move(problem);
        node::log("mac_problem", {{"problem", mac_problem_}});
      }
    }
    if (path_.is_up() == mac_was_up_) return;
    mac_was_up_ = path_.is_up();
    if (mac_was_up_) {
      mac_problem_.clear();
      node::log("mac_up", {{"address", node::text_of_mac(path_.mac()->address)}, {"profile", std::string(path_.mac()->profile->name)}});
      for (const node::neighbour_address& neighbour : config_.neighbours) {
        if (neighbour.data_rate_index.value_or(0) < path_.mac()->profile->rates.size()) continue;
        node::log("data_rate_unknown", {{"neighbour", node::text_of_mac(neighbour.mac)},
                                        {"problem", "the MAC's profile has no rate " + std::to_string(*neighbour.data_rate_index) +
                                                        "; frames go at the MAC's own"}});
      }
    } else {
      node::log("mac_down");
    }
  }

  /// Says once, for each policy, what of it does nothing.
  void note_policy(time_us now) {
    if (now < policy_looked_at_ + policy_looked_at_every_us) return;
    policy_looked_at_ = now;
    std::vector<std::string> sentences = node::parts_without_effect(path_.flows());
    for (const std::string& sentence : sentences) {
      if (std::find(without_effect_.begin(), without_effect_.end(), sentence) == without_effect_.end()) {
        node::log("without_effect", {{"problem", sentence}});
      }
    }
    without_effect_ = std::move(sentences);
  }

  /// Says how often something has gone wrong between here and a radio, whenever that has grown.
  void note_driver() {
    const drivers::driver_counters& counted = driver_->counters();
    const radio_troubles now{counted.overflows,       counted.late,      counted.sequence_errors, counted.rx_samples_lost,
                             counted.tx_samples_late, counted.times_lost};
    if (now == troubles_) return;
    troubles_ = now;
    static constexpr std::array<std::string_view, 6> names{"overflows",       "late",      "sequence_errors", "rx_samples_lost",
                                                           "tx_samples_late", "times_lost"};
    std::string said;
    for (std::size_t each = 0; each < names.size(); ++each) {
      if (now[each] != 0) said += (said.empty() ? "" : ", ") + std::string(names[each]) + " " + std::to_string(now[each]);
    }
    node::log("radio_trouble", {{"since_the_start", said}});
  }

  // Of the control socket.
  void on_message(sockets::client_id from, std::span<const std::uint8_t> message) override {
    const std::string_view asked(reinterpret_cast<const char*>(message.data()), message.size());
    if (registers_.take(from, asked, *driver_)) {
      answer_waiting();
      return;
    }
    tell(from, node::answer(asked, now_us(), config_, path_, kernel_, *driver_, clamp_.get()));
  }
  void on_closed(sockets::client_id client) override { registers_.forget(client); }
  void on_trouble(const std::string& what) override { node::log("socket", {{"path", config_.control_socket}, {"problem", what}}); }

  /// What the MAC's registers have answered.
  void answer_waiting() {
    for (const auto& [client, answer] : registers_.take_answers()) tell(client, answer);
  }

  void tell(sockets::client_id client, const std::string& answer) {
    if (control_->send(client, answer)) return;
    registers_.forget(client);
    control_->close(client);
  }

  node::node_config config_;
  node::linux_kernel kernel_;
  std::unique_ptr<bpf::window_clamp> clamp_;  // null: windows are lowered
  std::unique_ptr<drivers::driver> driver_;
  node::packet_path path_;
  node::register_desk registers_{path_};
  std::optional<node::rate_server> rates_;
  std::optional<sockets::seqpacket_server> control_;
  int signals_ = -1, epoll_ = -1, timer_ = -1;
  std::optional<time_us> timer_set_;
  bool mac_was_up_ = false;
  std::string mac_problem_;  ///< as last logged
  time_us policy_looked_at_ = 0;
  std::vector<std::string> without_effect_;  ///< as last logged
  using radio_troubles = std::array<std::uint64_t, 6>;
  radio_troubles troubles_{};  ///< as last logged
  std::array<std::uint8_t, 65536> buffer_{};
};

/// Waits for the MAC to come up.
class first_word final : public drivers::driver_listener {
public:
  void on_up(const drivers::mac_properties& mac) override { mac_ = mac; }
  void on_down() override {}
  void on_completion(std::uint32_t, const completion_record&) override {}
  void on_reception(const drivers::reception&) override {}

  const std::optional<drivers::mac_properties>& mac() const { return mac_; }

private:
  std::optional<drivers::mac_properties> mac_;
};

/// Prints what the MAC says of itself, or why it does not. @return exit status
int check_driver(const node::node_config& config) {
  // A MAC may be held for a while by a program that has just ended, a USRP for 5 s by one that was killed; a radio that is there may take
  // longer to be set up.
  constexpr time_us patience_us = 8'000'000, set_up_us = 30'000'000;
  const std::unique_ptr<drivers::driver> driver = node::make_driver(config.driver);
  first_word word;
  const time_us begun = monotonic_us();
  for (driver->poll(word); !word.mac(); driver->poll(word)) {
    const time_us passed = monotonic_us() - begun;
    const std::string problem = driver->problem();
    if (passed >= (problem.empty() ? set_up_us : patience_us)) {
      std::fprintf(stderr, "no MAC answers%s%s\n", problem.empty() ? "" : ": ", problem.c_str());
      return 1;
    }
    pollfd wait{.fd = driver->descriptor(), .events = POLLIN, .revents = 0};
    poll(&wait, 1, 100);
  }
  const drivers::mac_properties& mac = *word.mac();
  std::printf("%s %s %llu b/s RTS %u\n", node::text_of_mac(mac.address).c_str(), mac.profile->name.data(),
              static_cast<unsigned long long>(mac.profile->rates[mac.data_rate_index].bps), mac.rts_threshold_bytes);
  if (const auto time = node::radio_time_of(*driver); !time.is_null()) std::printf("%s\n", time.dump().c_str());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view first = argc > 1 ? argv[1] : "";
  if (argc == 2 && first == "--version") {
    std::printf("perhop-node %s\n", node::version_text);
    return 0;
  }
  if (argc == 2 && first == "--drivers") {
    std::printf("%s\n", node::describe_drivers().dump(1).c_str());
    return 0;
  }
  if (argc != 2 && !(argc == 3 && (first == "--check-ebpf" || first == "--check-driver"))) {
    std::fprintf(stderr, "usage: perhop-node CONFIG.JSON | --check-ebpf CGROUP | --check-driver CONFIG.JSON | --drivers | --version\n");
    return 2;
  }
  try {
    if (argc == 3 && first == "--check-driver") return check_driver(node::load_node_config(argv[2]));
    if (argc == 3) {
      const bpf::window_clamp possible(argv[2]);
      return 0;
    }
    const node::node_config config = node::load_node_config(argv[1]);
    node::set_log_format(config.log);
    daemon_loop daemon(config);
    prctl(PR_SET_TIMERSLACK, 1);
    const sched_param priority{.sched_priority = realtime_priority};
    const bool realtime = sched_setscheduler(0, SCHED_RR, &priority) == 0;
    node::drop_privileges();
    node::load_own_policy(config.policy);
    node::log("started", {{"name", config.name}, {"interface", config.interface}, {"real_time", realtime ? "yes" : "no"}});
    daemon.run();
    node::log("ended");
    return 0;
  } catch (const bpf::clamp_error& error) {
    if (argc == 3) {
      std::fprintf(stderr, "%s\n", error.what());
    } else {
      node::log("failed", {{"error", std::string("cwl.enforce: ebpf: ") + error.what()}});
    }
    return 2;
  } catch (const node::config_error& error) {
    if (argc == 3) {
      std::fprintf(stderr, "%s\n", error.what());
    } else {
      node::log("configuration", {{"error", error.what()}});
    }
    return 2;
  } catch (const std::exception& error) {
    if (argc == 3) {
      std::fprintf(stderr, "%s\n", error.what());
    } else {
      node::log("failed", {{"error", error.what()}});
    }
    return 1;
  }
}
