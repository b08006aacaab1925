// SPDX-License-Identifier: GPL-2.0-or-later
#include "sim/kernel/calendar.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <new>
#include <system_error>

namespace perhop::kernels {

namespace {

constexpr std::size_t page_bytes = 4096;
// Between two looks at whether somebody has interrupted.
constexpr std::chrono::milliseconds look_interval{200};

[[noreturn]] void fail(const char* what) { throw std::system_error(errno, std::generic_category(), what); }

}  // namespace

calendar::calendar(const calendar_config& config)
    : config_(config), listener_(listen_at(config.socket_path)), clients_(config.kernels), requests_(config.kernels) {
  // The calendar itself is client 0.
  const std::size_t bytes = shared_schedule::size_bytes + sizeof(shared_client) * (clients_.size() + 1);
  mapped_bytes_ = (bytes + page_bytes - 1) / page_bytes * page_bytes;
  memory_ = descriptor(memfd_create("perhop-calendar", MFD_CLOEXEC));
  log_ = descriptor(open("/dev/null", O_WRONLY | O_CLOEXEC));
  if (!memory_ || !log_ || ftruncate(memory_.number(), static_cast<off_t>(mapped_bytes_)) != 0) fail("shared memory of the calendar");
  void* const mapped = mmap(nullptr, mapped_bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, memory_.number(), 0);
  if (mapped == MAP_FAILED) fail("shared memory of the calendar");
  schedule_ = new (mapped) shared_schedule;
  // A kernel that does not know the version goes on by messages. Without a descriptor at all, 6.12 would read one that is not there.
  schedule_->version = config_.shared_memory ? shared_schedule::known_version : 0;
  schedule_->length = static_cast<std::uint32_t>(mapped_bytes_);
  schedule_->most_clients = static_cast<std::uint16_t>(clients_.size() + 1);
  auto* const first = reinterpret_cast<shared_client*>(reinterpret_cast<std::uint8_t*>(mapped) + shared_schedule::size_bytes);
  first->capabilities = shared_client::shares_time;
}

calendar::~calendar() { munmap(schedule_, mapped_bytes_); }

shared_client* calendar::shared(std::size_t kernel) const {
  auto* const first = reinterpret_cast<shared_client*>(reinterpret_cast<std::uint8_t*>(schedule_) + shared_schedule::size_bytes);
  return first + kernel + 1;
}

void calendar::connect() {
  for (std::size_t count = 0; count < clients_.size(); ++count) {
    const auto begun = std::chrono::steady_clock::now();
    pollfd wanted{.fd = listener_.number(), .events = POLLIN, .revents = 0};
    while (poll(&wanted, 1, static_cast<int>(look_interval.count())) <= 0) {
      if (interrupted_() || std::chrono::steady_clock::now() - begun > config_.patience) {
        const auto absent = std::find_if(clients_.begin(), clients_.end(), [](const client& one) { return !one.socket; });
        throw kernel_failure(static_cast<std::size_t>(absent - clients_.begin()), "has not begun");
      }
    }
    descriptor socket = accept_from(listener_);
    time_travel_message message;
    try {
      read_whole(socket, bytes_of(message));
    } catch (const connection_gone&) {
      throw kernel_failure(count, "ended as it began");
    }
    ++counters_.messages;
    if (message.op != time_travel_op::start || message.time >= clients_.size() || clients_[message.time].socket) {
      throw kernel_failure(count, "does not begin as a kernel in virtual time does");
    }
    client& known = clients_[message.time];
    known.socket = std::move(socket);
    known.start_sequence = message.sequence;
    known.waiting = true;
    known.request = 0;
    requests_.set(static_cast<air::node_id>(message.time), 0);
  }
}

time_ns calendar::now() {
  if (running_ != nobody && config_.shared_memory) now_ = std::max(now_, schedule_->current_time);
  return now_;
}

void calendar::set_now(time_ns now) {
  now_ = std::max(now_, now);
  schedule_->current_time = now_;
}

void calendar::at(time_ns when, event_queue::action what) {
  when = std::max(when, now());
  events_.add(when, std::move(what));
  limit_running(when);
}

/// Somebody else acts then: the kernel that runs stops before.
void calendar::limit_running(time_ns until) {
  if (running_ == nobody) return;
  if (config_.shared_memory) {
    schedule_->free_until = std::min(schedule_->free_until, until);
  } else if (clients_[running_].told_free) {
    tell_free_until(running_, until);
  }
}

void calendar::tell(std::size_t kernel, time_travel_op op, time_ns time) {
  client& to = clients_[kernel];
  ++counters_.messages;
  write_whole(to.socket, bytes_of(time_travel_message{.op = op, .sequence = ++to.sequence, .time = time}));
}

/// And waits until the kernel knows.
void calendar::tell_free_until(std::size_t kernel, time_ns until) {
  tell(kernel, time_travel_op::free_until, until);
  for (time_travel_message said; said.op != time_travel_op::acknowledgement || said.sequence != clients_[kernel].sequence;) {
    said = read_message(kernel);
  }
}

void calendar::acknowledge(client& to, const time_travel_message& message, time_ns time) {
  ++counters_.messages;
  write_whole(to.socket, bytes_of(time_travel_message{.op = time_travel_op::acknowledgement, .sequence = message.sequence, .time = time}));
}

time_travel_message calendar::read_message(std::size_t kernel) {
  client& from = clients_[kernel];
  time_travel_message message;
  read_whole(from.socket, bytes_of(message));
  ++counters_.messages;
  switch (message.op) {
    case time_travel_op::acknowledgement:
      break;
    case time_travel_op::request:
      from.request = message.time;
      acknowledge(from, message, 0);
      break;
    case time_travel_op::wait:
      from.waiting = true;
      if (!config_.shared_memory) acknowledge(from, message, 0);
      break;
    case time_travel_op::get:
      acknowledge(from, message, now());
      break;
    case time_travel_op::update:
      set_now(message.time);
      acknowledge(from, message, 0);
      break;
    case time_travel_op::get_tod:
      acknowledge(from, message, config_.time_of_day_ns + now());
      break;
    case time_travel_op::broadcast:
      acknowledge(from, message, 0);
      break;
    case time_travel_op::start:
    case time_travel_op::run:
    case time_travel_op::free_until:
    default:
      throw kernel_failure(kernel, "sent message " + std::to_string(static_cast<std::uint32_t>(message.op)) +
                                       " of the time-travel protocol, which no kernel sends");
  }
  return message;
}

bool calendar::serve_once(std::size_t kernel, int extra) {
  client& from = clients_[kernel];
  std::array<pollfd, 3> wanted{{{.fd = from.socket.number(), .events = POLLIN, .revents = 0},
                                {.fd = from.attached != nullptr ? from.attached->socket() : -1, .events = POLLIN, .revents = 0},
                                {.fd = extra, .events = POLLIN, .revents = 0}}};
  const auto begun = std::chrono::steady_clock::now();
  while (poll(wanted.data(), wanted.size(), static_cast<int>(look_interval.count())) <= 0) {
    if (interrupted_()) throw kernel_failure(kernel, "was interrupted");
    if (std::chrono::steady_clock::now() - begun > config_.patience) {
      throw kernel_failure(kernel, "has let no time pass for " + std::to_string(config_.patience.count() / 1000) + " s");
    }
  }
  try {
    // The device first: what it tells belongs to the moment before the next message about time.
    if (wanted[1].revents != 0) {
      from.attached->on_readable();
      return false;
    }
    if (wanted[2].revents != 0) return true;
    if (wanted[0].revents != 0) read_message(kernel);
  } catch (const connection_gone&) {
    throw kernel_failure(kernel, "has ended");
  }
  return false;
}

void calendar::serve_until_readable(std::size_t kernel, int answer) {
  while (!serve_once(kernel, answer)) {}
  if (kernel != running_) note_request(kernel);
}

/// What a kernel wants now may stand in the shared memory.
void calendar::note_request(std::size_t kernel) {
  const client& known = clients_[kernel];
  const shared_client& said = *shared(kernel);
  const bool shares = config_.shared_memory && known.started && (said.flags & shared_client::requests_run) != 0;
  requests_.set(static_cast<air::node_id>(kernel), std::min(shares ? said.request_time : known.request, never_ns));
}

time_ns calendar::next_of_sources() const {
  time_ns earliest = never_ns;
  for (const event_source* source : sources_) earliest = std::min(earliest, source->next_event());
  return earliest;
}

void calendar::run(time_ns until, const std::function<bool()>& go_on) {
  while (go_on()) {
    const time_ns of_kernels = std::min(requests_.earliest(), never_ns), of_sources = next_of_sources(), of_events = events_.next();
    if (std::min({of_kernels, of_sources, of_events}) > until) break;
    if (of_sources <= std::min(of_events, of_kernels)) {
      set_now(of_sources);
      (*std::find_if(sources_.begin(), sources_.end(), [of_sources](const event_source* one) {
        return one->next_event() == of_sources;
      }))->act(now_);
    } else if (of_events <= of_kernels) {
      set_now(of_events);
      ++counters_.events;
      events_.take()();
    } else {
      std::size_t first = nobody;
      requests_.for_each_due(of_kernels, [&first](air::node_id kernel) { first = std::min<std::size_t>(first, kernel); });
      run_kernel(first, of_kernels);
    }
  }
}

void calendar::run_kernel(std::size_t kernel, time_ns at) {
  client& runs = clients_[kernel];
  set_now(at);
  ++counters_.runs;
  runs.request = never_ns;
  runs.told_free = false;
  runs.waiting = false;
  requests_.set(static_cast<air::node_id>(kernel), never_ns);
  running_ = kernel;
  const time_ns others = std::min({requests_.earliest(), next_of_sources(), events_.next()});
  const time_ns free_until = config_.free_running ? others : at;
  if (config_.shared_memory) {
    schedule_->running_id = static_cast<std::uint16_t>(kernel + 1);
    schedule_->free_until = free_until;
    shared(kernel)->flags = 0;
  }
  try {
    if (!runs.started) {
      runs.started = true;
      ++counters_.messages;
      const time_travel_message begin{
          .op = time_travel_op::acknowledgement, .sequence = runs.start_sequence, .time = static_cast<std::uint64_t>(kernel + 1)};
      write_with_descriptors(runs.socket, bytes_of(begin), std::array{memory_.number(), log_.number()});
    } else {
      if (!config_.shared_memory && free_until > at) {
        tell_free_until(kernel, free_until);
        runs.told_free = true;
      }
      tell(kernel, time_travel_op::run, at);
    }
  } catch (const connection_gone&) {
    throw kernel_failure(kernel, "has ended");
  }
  while (!runs.waiting) serve_once(kernel, -1);
  now();
  running_ = nobody;
  schedule_->running_id = 0;
  note_request(kernel);
}

}  // namespace perhop::kernels
