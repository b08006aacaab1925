// SPDX-License-Identifier: GPL-2.0-or-later
#include "sim/kernel/flow_end/interface.hpp"

#include <arpa/inet.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include "sim/kernel/flow_plan.hpp"

namespace perhop::kernels {

using flow_plan::interface;

[[noreturn]] void give_up(const char* what) {
  std::printf("{\"problem\": \"%s: %s\"}\n", what, std::strerror(errno));
  std::fflush(stdout);
  for (;;) pause();
}

void set_up_interface(const char* address) {
  const int asks = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  const auto set = [asks](const char* name, unsigned long what, const char* ip, short flags) {
    ifreq request{};
    std::strcpy(request.ifr_name, name);
    if (ip != nullptr) {
      sockaddr_in value{};
      value.sin_family = AF_INET;
      inet_aton(ip, &value.sin_addr);
      std::memcpy(&request.ifr_addr, &value, sizeof value);
    } else {
      request.ifr_flags = flags;
    }
    if (ioctl(asks, what, &request) != 0) give_up(name);
  };
  set("lo", SIOCSIFFLAGS, nullptr, IFF_UP);
  set(interface, SIOCSIFADDR, address, 0);
  set(interface, SIOCSIFNETMASK, "255.0.0.0", 0);
  // Nobody answers ARP on the radio either.
  set(interface, SIOCSIFFLAGS, nullptr, IFF_UP | IFF_NOARP);
  close(asks);
}

void set_route(const char* destination, unsigned window_packets, unsigned window_bytes, unsigned timeout_ms, bool at_once) {
  struct {
    nlmsghdr head;
    rtmsg route;
    std::uint8_t attributes[256];
  } request{};
  request.head = {.nlmsg_len = NLMSG_LENGTH(sizeof(rtmsg)),
                  .nlmsg_type = RTM_NEWROUTE,
                  .nlmsg_flags = NLM_F_REQUEST | NLM_F_CREATE | NLM_F_REPLACE,
                  .nlmsg_seq = 1,
                  .nlmsg_pid = 0};
  request.route = {.rtm_family = AF_INET,
                   .rtm_dst_len = 32,
                   .rtm_src_len = 0,
                   .rtm_tos = 0,
                   .rtm_table = RT_TABLE_MAIN,
                   .rtm_protocol = RTPROT_STATIC,
                   .rtm_scope = RT_SCOPE_LINK,
                   .rtm_type = RTN_UNICAST,
                   .rtm_flags = 0};
  const auto add = [&request](std::uint16_t kind, const void* data, std::size_t bytes) {
    auto* const attribute = reinterpret_cast<rtattr*>(reinterpret_cast<std::uint8_t*>(&request) + NLMSG_ALIGN(request.head.nlmsg_len));
    attribute->rta_type = kind;
    attribute->rta_len = static_cast<unsigned short>(RTA_LENGTH(bytes));
    std::memcpy(RTA_DATA(attribute), data, bytes);
    request.head.nlmsg_len = static_cast<std::uint32_t>(NLMSG_ALIGN(request.head.nlmsg_len) + RTA_ALIGN(attribute->rta_len));
    return attribute;
  };
  in_addr to{};
  inet_aton(destination, &to);
  const unsigned index = if_nametoindex(interface);
  add(RTA_DST, &to, sizeof to);
  add(RTA_OIF, &index, sizeof index);
  rtattr* const metrics = add(RTA_METRICS, nullptr, 0);
  const auto metric = [&](std::uint16_t kind, std::uint32_t value) {
    if (value != 0) add(kind, &value, sizeof value);
  };
  metric(RTAX_INITCWND, window_packets);
  metric(RTAX_WINDOW, window_bytes);
  metric(RTAX_RTO_MIN, timeout_ms);
  metric(RTAX_QUICKACK, at_once ? 1 : 0);
  metrics->rta_len = static_cast<unsigned short>(reinterpret_cast<std::uint8_t*>(&request) + request.head.nlmsg_len -
                                                 reinterpret_cast<std::uint8_t*>(metrics));

  const int asks = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
  struct {
    nlmsghdr head;
    nlmsgerr error;
    std::uint8_t rest[256];
  } answer{};
  if (send(asks, &request, request.head.nlmsg_len, 0) < 0) give_up("netlink");
  // It is done when send() returns; an answer is there only if it was refused.
  if (recv(asks, &answer, sizeof answer, MSG_DONTWAIT) > 0 && answer.error.error != 0) {
    errno = -answer.error.error;
    give_up("a route");
  }
  close(asks);
}

}  // namespace perhop::kernels
