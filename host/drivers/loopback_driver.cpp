// SPDX-License-Identifier: GPL-2.0-or-later
#include "host/drivers/loopback_driver.hpp"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

#include "host/drivers/driver_entry.hpp"

namespace perhop::drivers {

namespace {

constexpr std::size_t most_datagram_bytes = 8192;
// Of one poll(), so that others have their turn.
constexpr int most_messages = 64;

int checked(int result, const std::string& what) {
  if (result < 0) throw std::system_error(errno, std::generic_category(), what);
  return result;
}

sockaddr_un address_of(const std::string& path) {
  sockaddr_un address{};
  if (path.size() >= sizeof address.sun_path) throw std::system_error(ENAMETOOLONG, std::generic_category(), path);
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, path.size());
  return address;
}

std::uint32_t now_us() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<std::uint32_t>(static_cast<std::uint64_t>(time.tv_sec) * 1'000'000 + static_cast<std::uint64_t>(time.tv_nsec) / 1000);
}

}  // namespace

loopback_driver::loopback_driver(const loopback_config& config) : config_(config), buffer_(most_datagram_bytes) {
  const sockaddr_un own = address_of(config.socket);
  address_of(config.peer);
  epoll_ = checked(epoll_create1(EPOLL_CLOEXEC), "epoll_create1");
  socket_ = checked(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), "socket");
  wake_ = checked(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), "eventfd");
  unlink(config.socket.c_str());
  checked(bind(socket_, reinterpret_cast<const sockaddr*>(&own), sizeof own), config.socket);
  for (const int each : {socket_, wake_}) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = each;
    checked(epoll_ctl(epoll_, EPOLL_CTL_ADD, each, &event), "epoll_ctl");
  }
  wake();  // on_up()
}

loopback_driver::~loopback_driver() {
  unlink(config_.socket.c_str());
  close(socket_);
  close(wake_);
  close(epoll_);
}

void loopback_driver::wake() const { eventfd_write(wake_, 1); }

void loopback_driver::poll(driver_listener& listener) {
  eventfd_t told = 0;
  eventfd_read(wake_, &told);
  if (!problem_.empty() && std::exchange(up_, false)) {
    done_.clear();
    wake();
    listener.on_down();
    return;
  }
  if (!std::exchange(up_, true)) {
    problem_.clear();
    ++counters_.ups;
    listener.on_up(config_.mac);
  }
  // What a completion leads to is completed in the next poll().
  for (std::size_t left = done_.size(); left > 0; --left) {
    const finished packet = done_.front();
    done_.pop_front();
    listener.on_completion(packet.cookie, packet.record);
  }
  for (int count = 0; count < most_messages; ++count) {
    const ssize_t size = recv(socket_, buffer_.data(), buffer_.size(), MSG_DONTWAIT | MSG_TRUNC);
    if (size < 0) return;
    const std::span<const std::uint8_t> message(buffer_.data(), std::min(static_cast<std::size_t>(size), buffer_.size()));
    const auto frame = wire::air_reception::decode(message);
    if (!frame || static_cast<std::size_t>(size) > buffer_.size() || frame->rate >= config_.mac.profile->rates.size()) {
      ++counters_.malformed;
      continue;
    }
    listener.on_reception({.receiver_address = frame->receiver_address,
                           .transmitter_address = frame->transmitter_address,
                           .tsf_us = frame->tsf_us,
                           .sequence = frame->sequence,
                           .rate_index = frame->rate,
                           .msdu = message.subspan(wire::air_reception::size_bytes)});
  }
}

void loopback_driver::restart(const std::string& why) {
  problem_ = why;
  wake();
}

bool loopback_driver::send(const send_request& request) {
  if (!is_sendable(config_.mac, request)) {
    ++counters_.refused;
    return false;
  }
  const std::uint32_t at_us = now_us();
  wire::air_reception message;
  message.rate = request.rate_index;
  message.sequence = next_sequence_;
  message.receiver_address = request.receiver_address;
  message.transmitter_address = config_.mac.address;
  message.tsf_us = at_us;
  std::array<std::uint8_t, wire::air_reception::size_bytes> head;
  message.encode(head);
  std::array<iovec, 2> parts{{{head.data(), head.size()}, {const_cast<std::uint8_t*>(request.msdu.data()), request.msdu.size()}}};
  const sockaddr_un peer = address_of(config_.peer);
  msghdr whole{};
  whole.msg_name = const_cast<sockaddr_un*>(&peer);
  whole.msg_namelen = sizeof peer;
  whole.msg_iov = parts.data();
  whole.msg_iovlen = parts.size();
  const bool taken = sendmsg(socket_, &whole, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0;
  if (!taken) ++counters_.lost;
  const bool group = (request.receiver_address >> group_address_bit & 1) != 0;
  const std::size_t mpdu_bytes = mac_header_bytes + request.msdu.size() + fcs_bytes;
  done_.push_back({request.cookie,
                   {.peer = request.peer,
                    .sequence = next_sequence_,
                    .bytes = static_cast<std::uint16_t>(mpdu_bytes),
                    .rate = request.rate_index,
                    .result = group ? tx_result::group_sent : (taken ? tx_result::delivered : tx_result::short_retry_limit),
                    .data_attempts = 1,
                    .t_enqueue_us = at_us,
                    .t_head_us = at_us,
                    .t_first_tx_us = at_us,
                    .t_done_us = at_us,
                    .avg_data_attempts_256 = 256}});
  next_sequence_ = (next_sequence_ + 1) & 0xfff;
  wake();
  return true;
}

extern const driver_entry loopback_driver_entry{
    .kind = "loopback",
    .meaning = "No MAC: packets go to another daemon on this host.",
    .fields = {where(required(field_kind::socket, "socket", "made by the daemon")),
               where(required(field_kind::socket, "peer", "the other daemon's")), required(field_kind::mac, "mac", "this node's address"),
               profile_field("", "timing profile, for the delays that packets would have"),
               count_field("data_rate_index", 0, 0, 7, "of the profile"), count_field("rts_threshold_bytes", 4095, 0, 4095, "of the MAC")},
    .if_away = "start the other daemon, or mend `radio.peer`",
    .prepare = [](const field_values& given) -> driver_maker {
      loopback_config config{.socket = given.text("socket"), .peer = given.text("peer"), .mac = {}};
      config.mac.profile = find_profile(given.text("profile"));
      config.mac.address = given.count("mac");
      config.mac.data_rate_index = given.count<std::uint8_t>("data_rate_index");
      if (const std::size_t rates = config.mac.profile->rates.size(); config.mac.data_rate_index >= rates) {
        throw field_error("data_rate_index: is " + std::to_string(config.mac.data_rate_index) + "; give a whole number from 0 to " +
                          std::to_string(rates - 1));
      }
      config.mac.rts_threshold_bytes = given.count<std::uint32_t>("rts_threshold_bytes");
      config.mac.send_credits = 4;
      return [config] { return std::make_unique<loopback_driver>(config); };
    },
};

}  // namespace perhop::drivers
