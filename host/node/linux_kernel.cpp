// SPDX-License-Identifier: GPL-2.0-or-later
#include "host/node/linux_kernel.hpp"

#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace perhop::node {

linux_kernel::linux_kernel(const std::string& name) : name_(name) {
  tun_ = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
  if (tun_ < 0) throw std::system_error(errno, std::generic_category(), "/dev/net/tun");
  ifreq wanted{};
  wanted.ifr_flags = IFF_TUN | IFF_NO_PI;
  name.copy(wanted.ifr_name, IFNAMSIZ - 1);
  if (ioctl(tun_, TUNSETIFF, &wanted) < 0) {
    const int error = errno;
    close(tun_);
    throw std::system_error(error, std::generic_category(), "TUN interface " + name);
  }
  routes_ = std::make_unique<routes>(if_nametoindex(wanted.ifr_name));
}

linux_kernel::~linux_kernel() { close(tun_); }

std::span<std::uint8_t> linux_kernel::read_packet(std::span<std::uint8_t> buffer) const {
  const ssize_t size = read(tun_, buffer.data(), buffer.size());
  // The descriptor of an interface that is gone stays readable for ever, and never has a packet.
  if (size < 0 && errno != EAGAIN && errno != EINTR) {
    throw std::system_error(errno, std::generic_category(), "TUN interface " + name_ + " is gone");
  }
  return buffer.first(size > 0 ? static_cast<std::size_t>(size) : 0);
}

void linux_kernel::deliver(std::span<const std::uint8_t> packet) {
  if (write(tun_, packet.data(), packet.size()) != static_cast<ssize_t>(packet.size())) ++not_delivered_;
}

}  // namespace perhop::node
