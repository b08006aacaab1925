// SPDX-License-Identifier: GPL-2.0-or-later
#include "host/drivers/air_driver.hpp"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include "host/drivers/driver_entry.hpp"

namespace perhop::drivers {

namespace {

// Between two attempts to reach the medium.
constexpr long retry_ns = 20'000'000;
// Of one poll(), so that others have their turn.
constexpr int most_messages = 64;
// Of air_welcome's status.
constexpr std::uint8_t no_such_node = 2;

int checked(int result, const char* what) {
  if (result < 0) throw std::system_error(errno, std::generic_category(), what);
  return result;
}

void watch(int epoll, int descriptor) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = descriptor;
  checked(epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event), "epoll_ctl");
}

}  // namespace

air_driver::air_driver(std::string path, std::uint16_t node) : path_(std::move(path)), node_(node) {
  epoll_ = checked(epoll_create1(EPOLL_CLOEXEC), "epoll_create1");
  timer_ = checked(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC), "timerfd_create");
  watch(epoll_, timer_);
  connect();
}

air_driver::~air_driver() {
  if (socket_ >= 0) close(socket_);
  close(timer_);
  close(epoll_);
}

void air_driver::set_timer(bool on) const {
  itimerspec next{};
  if (on) next.it_value.tv_nsec = retry_ns;
  timerfd_settime(timer_, 0, &next, nullptr);
}

void air_driver::connect() {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path_.copy(address.sun_path, sizeof address.sun_path - 1);
  socket_ = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  wire::air_hello hello;
  hello.node = node_;
  std::array<std::uint8_t, wire::air_hello::size_bytes> bytes;
  hello.encode(bytes);
  if (socket_ >= 0 && ::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0 &&
      ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size())) {
    watch(epoll_, socket_);
    set_timer(false);
    return;
  }
  problem_ = path_ + ": " + std::generic_category().message(errno);
  if (socket_ >= 0) close(std::exchange(socket_, -1));
  set_timer(true);
}

void air_driver::disconnect(driver_listener& listener) {
  close(std::exchange(socket_, -1));
  outstanding_.clear();
  set_timer(true);
  const bool ended_here = std::exchange(ending_, false);
  if (std::exchange(up_, false)) {
    if (!ended_here) problem_ = "the medium at " + path_ + " has ended the connection";
    listener.on_down();
  }
}

void air_driver::poll(driver_listener& listener) {
  std::uint64_t expirations = 0;
  if (read(timer_, &expirations, sizeof expirations) > 0 && socket_ < 0) connect();
  for (int count = 0; count < most_messages && socket_ >= 0; ++count) {
    const ssize_t size = recv(socket_, buffer_.data(), buffer_.size(), MSG_DONTWAIT);
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (size <= 0) {
      disconnect(listener);
      return;
    }
    on_message(listener, std::span<const std::uint8_t>(buffer_.data(), static_cast<std::size_t>(size)));
  }
}

void air_driver::on_message(driver_listener& listener, std::span<const std::uint8_t> message) {
  if (!up_) {
    on_welcome(listener, message);
    return;
  }
  if (const auto frame = wire::air_reception::decode(message)) {
    listener.on_reception({.receiver_address = frame->receiver_address,
                           .transmitter_address = frame->transmitter_address,
                           .tsf_us = frame->tsf_us,
                           .sequence = frame->sequence,
                           .rate_index = frame->rate,
                           .msdu = message.subspan(wire::air_reception::size_bytes)});
    return;
  }
  if (const auto values = wire::air_register_values::decode(message)) {
    on_register_values(listener, *values, message.subspan(wire::air_register_values::size_bytes));
    return;
  }
  const auto completion = wire::air_completion::decode(message);
  if (!completion || message.size() != wire::air_completion::size_bytes + 4 * completion_record_words) {
    ++counters_.malformed;
    return;
  }
  // What is not waited for is not ours, or was completed before: a credit that it gave back would be one too many.
  const auto done = std::ranges::find(outstanding_, completion->cookie);
  if (done == outstanding_.end()) {
    ++counters_.malformed;
    return;
  }
  outstanding_.erase(done);
  std::array<std::uint32_t, completion_record_words> words{};
  for (std::size_t byte = 0; byte < 4 * words.size(); ++byte) {
    words[byte / 4] |= std::uint32_t{message[wire::air_completion::size_bytes + byte]} << 8 * (byte % 4);
  }
  listener.on_completion(completion->cookie, decode_completion_record(words));
}

void air_driver::on_welcome(driver_listener& listener, std::span<const std::uint8_t> message) {
  const auto welcome = wire::air_welcome::decode(message);
  const bool known = welcome && welcome->status == 0 && welcome->profile < timing_profiles().size();
  // Rate and address are used without another look.
  const bool possible =
      known && welcome->data_rate < timing_profiles()[welcome->profile].rates.size() && welcome->address <= broadcast_address;
  if (!possible) {
    // The medium ends the connection, and another one may come in its place.
    problem_ = "the medium at " + path_ +
               (known                                        ? " tells of a MAC that cannot be"
                : welcome && welcome->status == no_such_node ? " has no node " + std::to_string(node_)
                                                             : " is of another version");
    ++counters_.malformed;
    return;
  }
  mac_ = {.address = welcome->address,
          .profile = &timing_profiles()[welcome->profile],
          .data_rate_index = welcome->data_rate,
          .rts_threshold_bytes = welcome->rts_threshold_bytes,
          .average_shift = welcome->average_shift,
          .send_credits = welcome->send_credits};
  up_ = true;
  problem_.clear();
  ++counters_.ups;
  listener.on_up(mac_);
}

void air_driver::on_register_values(driver_listener& listener, const wire::air_register_values& head,
                                    std::span<const std::uint8_t> values) {
  using value = wire::air_register_value;
  if (values.size() % value::size_bytes != 0) {
    ++counters_.malformed;
    return;
  }
  answers_.clear();
  for (; !values.empty(); values = values.subspan(value::size_bytes)) {
    const auto answer = *value::decode(values);
    answers_.push_back((answer.flags & value::flags_done) != 0 ? register_answer(answer.value) : std::nullopt);
  }
  listener.on_registers(head.cookie, answers_);
}

bool air_driver::access_registers(std::uint32_t cookie, std::span<const register_access> accesses) {
  using access = wire::air_register_access;
  if (!up_ || accesses.empty() || accesses.size() > air_most_register_accesses) return false;
  wire::air_registers head;
  head.cookie = cookie;
  std::vector<std::uint8_t> message(wire::air_registers::size_bytes + accesses.size() * access::size_bytes);
  head.encode(std::span(message).first<wire::air_registers::size_bytes>());
  auto rest = std::span(message).subspan(wire::air_registers::size_bytes);
  for (const register_access& wanted : accesses) {
    access written;
    written.address = static_cast<std::uint16_t>(wanted.address);
    written.flags = wanted.write ? access::flags_write : 0;
    written.value = wanted.write.value_or(0);
    written.encode(rest.first<access::size_bytes>());
    rest = rest.subspan(access::size_bytes);
  }
  return ::send(socket_, message.data(), message.size(), MSG_DONTWAIT | MSG_NOSIGNAL) == static_cast<ssize_t>(message.size());
}

bool air_driver::send(const send_request& request) {
  if (!is_sendable(mac_, request)) {
    ++counters_.refused;
    return false;
  }
  wire::air_send message;
  message.peer = request.peer;
  message.rate = request.rate_index;
  message.flags = request.use_rts ? wire::air_send::flags_use_rts : 0;
  message.cookie = request.cookie;
  message.receiver_address = request.receiver_address;
  std::array<std::uint8_t, wire::air_send::size_bytes> head;
  message.encode(head);
  std::array<iovec, 2> parts{{{head.data(), head.size()}, {const_cast<std::uint8_t*>(request.msdu.data()), request.msdu.size()}}};
  msghdr whole{};
  whole.msg_iov = parts.data();
  whole.msg_iovlen = parts.size();
  if (sendmsg(socket_, &whole, MSG_DONTWAIT | MSG_NOSIGNAL) < 0) {
    ++counters_.lost;
    // Its end may come later than the next packet.
    if (errno != EAGAIN) restart("the medium at " + path_ + " takes no packets: " + std::generic_category().message(errno));
    return false;
  }
  outstanding_.push_back(request.cookie);
  return true;
}

void air_driver::restart(const std::string& why) {
  if (!up_ || std::exchange(ending_, true)) return;
  problem_ = why;
  // poll() finds the end of the connection, as if the medium had ended it.
  shutdown(socket_, SHUT_RDWR);
}

extern const driver_entry air_driver_entry{
    .kind = "air",
    .meaning = "A MAC of the emulated medium.",
    .fields = {where(required(field_kind::socket, "socket", "of perhop-live-air")),
               where(count_field("node", {}, 0, 0xfffe, "which of its nodes this is"))},
    .if_away = "start the medium there (perhop-live-air), or mend `radio.socket`",
    .prepare = [](const field_values& given) -> driver_maker {
      return [path = given.text("socket"), node = given.count<std::uint16_t>("node")] { return std::make_unique<air_driver>(path, node); };
    },
};

}  // namespace perhop::drivers
