// SPDX-License-Identifier: GPL-2.0-or-later
#include "host/drivers/fault_injector.hpp"

#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

namespace perhop::drivers {

namespace {

constexpr std::uint64_t never = ~std::uint64_t{0};

int checked(int result, const char* what) {
  if (result < 0) throw std::system_error(errno, std::generic_category(), what);
  return result;
}

std::uint64_t monotonic_us() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000 + static_cast<std::uint64_t>(time.tv_nsec) / 1000;
}

}  // namespace

fault_injector::fault_injector(std::unique_ptr<driver> inner, const fault_config& config)
    : wrapping_driver(std::move(inner)), config_(config), random_(config.seed) {
  epoll_ = checked(epoll_create1(EPOLL_CLOEXEC), "epoll_create1");
  timer_ = checked(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC), "timerfd_create");
  for (const int each : {timer_, wrapping_driver::descriptor()}) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = each;
    checked(epoll_ctl(epoll_, EPOLL_CTL_ADD, each, &event), "epoll_ctl");
  }
}

fault_injector::~fault_injector() {
  close(timer_);
  close(epoll_);
}

void fault_injector::after_poll() {
  std::uint64_t expirations = 0;
  [[maybe_unused]] const ssize_t size = read(timer_, &expirations, sizeof expirations);
  release(monotonic_us());
  set_timer();
}

// mt19937_64's numbers are the same everywhere; those of the standard distributions are not.
bool fault_injector::happens(double probability) { return static_cast<double>(random_() >> 11) * 0x1p-53 < probability; }

void fault_injector::on_reception(const reception& frame) {
  ++faults_.received;
  // Every packet takes the same draws, so that one fault's probability does not change where the others strike.
  const bool drop = happens(config_.drop);
  const bool duplicate = happens(config_.duplicate);
  const bool corrupt = happens(config_.corrupt);
  const bool delayed = happens(config_.delayed);
  const bool reorder = happens(config_.reorder);
  const std::uint64_t where = random_();
  const std::optional<kept> behind = std::exchange(overtaken_, std::nullopt);
  if (drop) {
    ++faults_.dropped;
  } else {
    kept packet{frame, {frame.msdu.begin(), frame.msdu.end()}};
    if (corrupt) spoil(packet.msdu, where);
    faults_.duplicated += duplicate;
    const std::uint64_t due_us = monotonic_us() + config_.delay_us;
    if (delayed) {
      for (int copies = duplicate ? 2 : 1; copies > 0; --copies) keep_until(due_us, packet);
    } else if (reorder && !behind) {
      ++faults_.reordered;
      if (duplicate) pass(packet);
      overtaken_ = std::move(packet);
      overtaken_due_us_ = due_us;
    } else {
      for (int copies = duplicate ? 2 : 1; copies > 0; --copies) pass(packet);
    }
  }
  if (behind) pass(*behind);
}

void fault_injector::spoil(std::vector<std::uint8_t>& bytes, std::uint64_t seed) {
  if (bytes.empty()) return;
  ++faults_.corrupted;
  std::mt19937_64 random(seed);
  for (std::uint64_t left = 1 + seed % 4; left > 0; --left) {
    // Never 0, which would leave the byte as it is.
    bytes[random() % bytes.size()] ^= static_cast<std::uint8_t>(1 + random() % 255);
  }
}

void fault_injector::pass(const kept& packet) {
  reception frame = packet.frame;
  frame.msdu = packet.msdu;
  listener().on_reception(frame);
}

void fault_injector::keep_until(std::uint64_t due_us, kept packet) {
  if (waiting_.size() >= most_waiting) {
    ++faults_.dropped;
    return;
  }
  ++faults_.delayed;
  waiting_.push_back({due_us, std::move(packet)});
}

void fault_injector::release(std::uint64_t now_us) {
  while (!waiting_.empty() && waiting_.front().due_us <= now_us) {
    const kept packet = std::move(waiting_.front().packet);
    waiting_.pop_front();
    pass(packet);
  }
  if (overtaken_ && overtaken_due_us_ <= now_us) pass(*std::exchange(overtaken_, std::nullopt));
}

void fault_injector::set_timer() {
  std::uint64_t due_us = waiting_.empty() ? never : waiting_.front().due_us;
  if (overtaken_) due_us = std::min(due_us, overtaken_due_us_);
  itimerspec next{};
  if (due_us != never) {
    next.it_value.tv_sec = static_cast<time_t>(due_us / 1'000'000);
    next.it_value.tv_nsec = static_cast<long>(due_us % 1'000'000 * 1000 + 1);  // 0 would disarm it
  }
  timerfd_settime(timer_, TFD_TIMER_ABSTIME, &next, nullptr);
}

}  // namespace perhop::drivers
