// SPDX-License-Identifier: GPL-2.0-or-later
#include "sim/kernel/descriptor.hpp"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>

namespace perhop::kernels {

namespace {

constexpr std::size_t most_passed = 8;
constexpr int backlog = 128;

[[noreturn]] void fail(const std::string& what) { throw std::system_error(errno, std::generic_category(), what); }

bool means_gone(int error) { return error == ECONNRESET || error == EPIPE; }

}  // namespace

descriptor::~descriptor() {
  if (number_ >= 0) close(number_);
}

descriptor listen_at(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) throw std::runtime_error(path + ": too long for a socket; use a shorter folder");
  std::copy(path.begin(), path.end(), address.sun_path);
  unlink(path.c_str());
  descriptor listener(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!listener || bind(listener.number(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      listen(listener.number(), backlog) != 0) {
    fail(path);
  }
  return listener;
}

descriptor accept_from(const descriptor& listener) {
  descriptor connection(accept4(listener.number(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!connection) fail("accept");
  return connection;
}

void read_whole(const descriptor& from, std::span<std::uint8_t> bytes) {
  while (!bytes.empty()) {
    const ssize_t got = read(from.number(), bytes.data(), bytes.size());
    if (got == 0 || (got < 0 && means_gone(errno))) throw connection_gone("the other end has closed its socket");
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail("read");
    bytes = bytes.subspan(static_cast<std::size_t>(got));
  }
}

void write_whole(const descriptor& to, std::span<const std::uint8_t> bytes) {
  while (!bytes.empty()) {
    const ssize_t put = send(to.number(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (put < 0 && means_gone(errno)) throw connection_gone("the other end has closed its socket");
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) fail("write");
    bytes = bytes.subspan(static_cast<std::size_t>(put));
  }
}

passed_descriptors<8> read_with_descriptors(const descriptor& from, std::span<std::uint8_t> bytes) {
  static_assert(most_passed == std::tuple_size_v<passed_descriptors<8>>);
  alignas(cmsghdr) char control[CMSG_SPACE(most_passed * sizeof(int))];
  iovec part{bytes.data(), bytes.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  ssize_t got = -1;
  do {
    got = recvmsg(from.number(), &message, MSG_CMSG_CLOEXEC);
  } while (got < 0 && errno == EINTR);
  if (got == 0 || (got < 0 && means_gone(errno))) throw connection_gone("the other end has closed its socket");
  if (got < 0) fail("recvmsg");
  passed_descriptors<8> passed;
  for (cmsghdr* part_of = CMSG_FIRSTHDR(&message); part_of != nullptr; part_of = CMSG_NXTHDR(&message, part_of)) {
    if (part_of->cmsg_level != SOL_SOCKET || part_of->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = std::min((part_of->cmsg_len - CMSG_LEN(0)) / sizeof(int), most_passed);
    for (std::size_t index = 0; index < count; ++index) {
      int number = -1;
      std::memcpy(&number, CMSG_DATA(part_of) + index * sizeof(int), sizeof number);
      passed[index] = descriptor(number);
    }
  }
  read_whole(from, bytes.subspan(static_cast<std::size_t>(got)));
  return passed;
}

void write_with_descriptors(const descriptor& to, std::span<const std::uint8_t> bytes, std::span<const int> passed) {
  alignas(cmsghdr) char control[CMSG_SPACE(most_passed * sizeof(int))]{};
  iovec part{const_cast<std::uint8_t*>(bytes.data()), bytes.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = CMSG_SPACE(passed.size_bytes());
  cmsghdr* rights = CMSG_FIRSTHDR(&message);
  rights->cmsg_level = SOL_SOCKET;
  rights->cmsg_type = SCM_RIGHTS;
  rights->cmsg_len = CMSG_LEN(passed.size_bytes());
  std::memcpy(CMSG_DATA(rights), passed.data(), passed.size_bytes());
  const ssize_t put = sendmsg(to.number(), &message, MSG_NOSIGNAL);
  if (put < 0 && means_gone(errno)) throw connection_gone("the other end has closed its socket");
  if (put < 0) fail("sendmsg");
  write_whole(to, bytes.subspan(static_cast<std::size_t>(put)));
}

}  // namespace perhop::kernels
