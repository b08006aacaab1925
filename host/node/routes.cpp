// SPDX-License-Identifier: GPL-2.0-or-later
#include "host/node/routes.hpp"

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>

#include "host/core/shim/ip_bytes.hpp"

namespace perhop::node {

namespace {

// Destinations remembered; a scan of addresses starts anew at this many.
constexpr std::size_t most_known = 4096;

std::size_t to_bytes(const shim::ip_address& address, std::uint8_t* bytes) {
  const bool ipv4 = address.is_ipv4();
  const std::size_t size = ipv4 ? 4 : 16;
  for (std::size_t i = 0; i < size; ++i) {
    const std::size_t from_end = size - 1 - i;
    bytes[i] = static_cast<std::uint8_t>(from_end < 8 ? address.low >> 8 * from_end : address.high >> 8 * (from_end - 8));
  }
  return size;
}

shim::ip_address from_bytes(const std::uint8_t* bytes, std::size_t size) {
  shim::ip_address address;
  for (std::size_t i = 0; i < size; ++i) {
    address.high = address.high << 8 | address.low >> 56;
    address.low = address.low << 8 | bytes[i];
  }
  return size == 4 ? shim::ip_address::from_ipv4(static_cast<std::uint32_t>(address.low)) : address;
}

int netlink_socket(unsigned groups, int flags) {
  const int socket = ::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | flags, NETLINK_ROUTE);
  sockaddr_nl address{};
  address.nl_family = AF_NETLINK;
  address.nl_groups = groups;
  if (socket < 0 || bind(socket, reinterpret_cast<sockaddr*>(&address), sizeof address) < 0) {
    throw std::system_error(errno, std::generic_category(), "netlink");
  }
  return socket;
}

struct request {
  nlmsghdr head{};
  rtmsg route{};
  std::array<std::uint8_t, 64> attributes{};

  void add(std::uint16_t type, const void* value, std::size_t size) {
    rtattr attribute{};
    attribute.rta_len = static_cast<unsigned short>(RTA_LENGTH(size));
    attribute.rta_type = type;
    std::uint8_t* const at = reinterpret_cast<std::uint8_t*>(&head) + NLMSG_ALIGN(head.nlmsg_len);
    std::memcpy(at, &attribute, sizeof attribute);
    std::memcpy(at + RTA_LENGTH(0), value, size);
    head.nlmsg_len = static_cast<std::uint32_t>(NLMSG_ALIGN(head.nlmsg_len) + RTA_ALIGN(attribute.rta_len));
  }
};

}  // namespace

std::size_t routes::key_hash::operator()(const key& key) const {
  const std::uint64_t mixed = (key.destination.high ^ (key.destination.low * 0x9e37'79b9'7f4a'7c15)) + (key.over_radio ? 1 : 0);
  return static_cast<std::size_t>(mixed ^ mixed >> 29);
}

routes::routes(unsigned interface_index) : interface_(interface_index) {
  asks_ = netlink_socket(0, 0);
  changes_ = netlink_socket(
      RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR | RTMGRP_IPV4_ROUTE | RTMGRP_IPV6_ROUTE | RTMGRP_IPV4_RULE, SOCK_NONBLOCK);
}

routes::~routes() {
  close(asks_);
  close(changes_);
}

void routes::on_change() {
  std::array<std::uint8_t, 16384> buffer;
  // An overrun (ENOBUFS) is a change as well: what it was does not matter.
  while (recv(changes_, buffer.data(), buffer.size(), 0) > 0 || errno == ENOBUFS) ++changes_seen_;
  known_.clear();
}

route routes::find(const shim::ip_address& destination, bool over_radio) {
  const key wanted{destination, over_radio};
  if (const auto found = known_.find(wanted); found != known_.end()) return found->second;
  if (known_.size() >= most_known) known_.clear();
  return known_.emplace(wanted, ask(destination, over_radio)).first->second;
}

route routes::ask(const shim::ip_address& destination, bool over_radio) {
  ++lookups_;
  std::array<std::uint8_t, 16> bytes{};
  const std::size_t size = to_bytes(destination, bytes.data());
  request asked;
  asked.head.nlmsg_len = NLMSG_LENGTH(sizeof asked.route);
  asked.head.nlmsg_type = RTM_GETROUTE;
  asked.head.nlmsg_flags = NLM_F_REQUEST;
  asked.head.nlmsg_seq = ++sequence_;
  asked.route.rtm_family = size == 4 ? AF_INET : AF_INET6;
  asked.route.rtm_dst_len = static_cast<std::uint8_t>(8 * size);
  asked.add(RTA_DST, bytes.data(), size);
  if (over_radio) asked.add(RTA_OIF, &interface_, sizeof interface_);
  if (send(asks_, &asked, asked.head.nlmsg_len, 0) < 0) return {};

  alignas(nlmsghdr) std::array<std::uint8_t, 8192> buffer;
  for (;;) {
    const ssize_t received = recv(asks_, buffer.data(), buffer.size(), 0);
    if (received < 0) {
      if (errno == EINTR) continue;
      return {};
    }
    auto left = static_cast<std::size_t>(received);
    for (auto* head = reinterpret_cast<nlmsghdr*>(buffer.data()); NLMSG_OK(head, left); head = NLMSG_NEXT(head, left)) {
      if (head->nlmsg_seq != sequence_) continue;
      if (head->nlmsg_type != RTM_NEWROUTE) return {};
      const auto* answer = static_cast<rtmsg*>(NLMSG_DATA(head));
      if (answer->rtm_type == RTN_LOCAL || answer->rtm_type == RTN_ANYCAST) return {.kind = route_kind::local};
      if (answer->rtm_type == RTN_BROADCAST || answer->rtm_type == RTN_MULTICAST) return {.kind = route_kind::group};
      if (answer->rtm_type != RTN_UNICAST) return {};
      route found{.kind = route_kind::elsewhere, .next_hop = destination};
      auto attributes = RTM_PAYLOAD(head);
      for (auto* attribute = RTM_RTA(answer); RTA_OK(attribute, attributes); attribute = RTA_NEXT(attribute, attributes)) {
        const auto* value = static_cast<const std::uint8_t*>(RTA_DATA(attribute));
        const std::size_t value_bytes = RTA_PAYLOAD(attribute);
        if (attribute->rta_type == RTA_OIF) {
          unsigned index = 0;
          std::memcpy(&index, value, sizeof index);
          if (index == interface_) found.kind = route_kind::radio;
        } else if (attribute->rta_type == RTA_GATEWAY && (value_bytes == 4 || value_bytes == 16)) {
          found.next_hop = from_bytes(value, value_bytes);
        } else if (attribute->rta_type == RTA_VIA && value_bytes == 2 + 16) {
          found.next_hop = from_bytes(value + 2, 16);  // an IPv4 route over an IPv6 neighbour (RFC 5549)
        }
      }
      return found;
    }
  }
}

}  // namespace perhop::node
