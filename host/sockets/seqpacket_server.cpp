// SPDX-License-Identifier: GPL-2.0-or-later
#include "host/sockets/seqpacket_server.hpp"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

namespace perhop::sockets {

namespace {

// Data of events that are of no client; clients are numbered from 1 on.
constexpr std::uint64_t timer_event = ~std::uint64_t{0};
constexpr std::uint64_t listener_event = 0;
// Of one poll(), and far below the number of clients: whoever has connected and asked is heard before it can be displaced.
constexpr int accepted_at_once = 8;
// As many as the system lets wait: a client whose connection finds no room is refused at once.
constexpr int backlog = SOMAXCONN;

int checked(int result, const std::string& what) {
  if (result < 0) throw std::system_error(errno, std::generic_category(), what);
  return result;
}

bool watch(int epoll, int descriptor, std::uint64_t data, int operation = EPOLL_CTL_ADD, std::uint32_t events = EPOLLIN) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = data;
  return epoll_ctl(epoll, operation, descriptor, &event) == 0;
}

bool somebody_waits(int listener) {
  pollfd ready{.fd = listener, .events = POLLIN, .revents = 0};
  return ::poll(&ready, 1, 0) == 1;
}

/// Of the process at the other end, as it was when it connected.
uid_t user_of(int socket) {
  ucred told{};
  socklen_t size = sizeof told;
  checked(getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &told, &size), "SO_PEERCRED");
  return told.uid;
}

std::string said(int error) { return std::generic_category().message(error); }

}  // namespace

seqpacket_server::seqpacket_server(server_config config) : config_(std::move(config)), buffer_(config_.most_message_bytes) {
  try {
    epoll_ = checked(epoll_create1(EPOLL_CLOEXEC), "epoll_create1");
    timer_ = checked(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC), "timerfd_create");
    const itimerspec every_second{.it_interval = {.tv_sec = 1, .tv_nsec = 0}, .it_value = {.tv_sec = 1, .tv_nsec = 0}};
    checked(timerfd_settime(timer_, 0, &every_second, nullptr), "timerfd_settime");
    checked(watch(epoll_, timer_, timer_event) ? 0 : -1, "epoll_ctl");
    listen();
  } catch (...) {
    for (const int descriptor : {timer_, epoll_}) {
      if (descriptor >= 0) ::close(descriptor);
    }
    throw;
  }
}

seqpacket_server::~seqpacket_server() {
  if (owns_path()) unlink(config_.path.c_str());
  for (const auto& [id, each] : clients_) ::close(each.socket);
  ::close(listener_);
  ::close(timer_);
  ::close(epoll_);
}

/// Puts a new listening socket in the place of the old one. @throws std::system_error and leaves the old one
void seqpacket_server::listen() {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (config_.path.size() >= sizeof address.sun_path) {
    throw std::system_error(ENAMETOOLONG, std::generic_category(), config_.path + ": use a shorter folder");
  }
  config_.path.copy(address.sun_path, config_.path.size());
  const int made = checked(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), "socket");
  try {
    unlink(config_.path.c_str());
    checked(bind(made, reinterpret_cast<sockaddr*>(&address), sizeof address), config_.path);
    if (config_.mode != 0) checked(chmod(config_.path.c_str(), config_.mode), config_.path);
    checked(::listen(made, backlog), config_.path);
    struct stat file{};
    checked(stat(config_.path.c_str(), &file), config_.path);
    checked(watch(epoll_, made, listener_event) ? 0 : -1, "epoll_ctl");
    path_device_ = file.st_dev;
    path_inode_ = file.st_ino;
  } catch (...) {
    ::close(made);
    throw;
  }
  if (listener_ >= 0) ::close(listener_);
  listener_ = made;
  paused_ = false;
}

bool seqpacket_server::owns_path() const {
  struct stat file{};
  return stat(config_.path.c_str(), &file) == 0 && file.st_dev == path_device_ && file.st_ino == path_inode_;
}

void seqpacket_server::poll(std::uint64_t now_us, server_handler& handler) {
  std::array<epoll_event, 64> events;
  const int count = epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), 0);
  bool waiting = false, tick = false;
  for (int i = 0; i < count; ++i) {
    const std::uint64_t data = events[static_cast<std::size_t>(i)].data.u64;
    if (data == listener_event) {
      waiting = true;
    } else if (data == timer_event) {
      std::uint64_t expirations = 0;
      tick = read(timer_, &expirations, sizeof expirations) > 0;
    } else {
      serve(now_us, data, handler);
    }
  }
  if (tick) look_after(now_us, handler);
  if (waiting && !paused_) accept_some(now_us, handler);
}

void seqpacket_server::serve(std::uint64_t now_us, client_id from, server_handler& handler) {
  for (int count = 0; count < config_.messages_at_once; ++count) {
    // A handler may have closed it.
    const auto found = clients_.find(from);
    if (found == clients_.end()) return;
    const ssize_t size = recv(found->second.socket, buffer_.data(), buffer_.size(), MSG_DONTWAIT);
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (size <= 0) {
      drop(from, handler);
      return;
    }
    found->second.heard_us = now_us;
    handler.on_message(from, std::span<const std::uint8_t>(buffer_.data(), static_cast<std::size_t>(size)));
  }
}

void seqpacket_server::accept_some(std::uint64_t now_us, server_handler& handler) {
  // Without a descriptor left accept4() fails even if nobody waits, so that is asked first.
  for (int count = 0; count < accepted_at_once && somebody_waits(listener_); ++count) {
    const int socket = accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (socket < 0) {
      if (errno == EAGAIN || errno == EINTR || errno == ECONNABORTED) continue;
      const int error = errno;
      ++counters_.not_accepted;
      if (displace(handler)) continue;
      paused_ = watch(epoll_, listener_, listener_event, EPOLL_CTL_MOD, 0);
      tell_trouble("accepts nobody: " + said(error), handler);
      return;
    }
    if (clients_.size() >= config_.most_clients && !displace(handler)) {
      ++counters_.refused;
      ::close(socket);
      continue;
    }
    if (config_.send_buffer_bytes > 0) {
      setsockopt(socket, SOL_SOCKET, SO_SNDBUF, &config_.send_buffer_bytes, sizeof config_.send_buffer_bytes);
    }
    const client_id id = next_++;
    if (!watch(epoll_, socket, id)) {
      ++counters_.not_accepted;
      ::close(socket);
      continue;
    }
    clients_.emplace(id, client{.socket = socket, .heard_us = now_us, .user = user_of(socket)});
    ++counters_.accepted;
    tell_trouble("", handler);
  }
}

/// Sends the client away that has been silent for the longest time. @return whether there is one that is not kept
bool seqpacket_server::displace(server_handler& handler) {
  client_id oldest = 0;
  std::uint64_t oldest_us = 0;
  for (const auto& [id, each] : clients_) {
    // Of two that were heard in the same poll() the one that came first goes.
    if (each.kept || (oldest != 0 && std::pair(each.heard_us, id) > std::pair(oldest_us, oldest))) continue;
    oldest = id;
    oldest_us = each.heard_us;
  }
  if (oldest == 0) return false;
  ++counters_.displaced;
  drop(oldest, handler);
  return true;
}

void seqpacket_server::look_after(std::uint64_t now_us, server_handler& handler) {
  if (paused_) paused_ = !watch(epoll_, listener_, listener_event, EPOLL_CTL_MOD, EPOLLIN);
  std::vector<client_id> silent;
  for (const auto& [id, each] : clients_) {
    if (!each.kept && now_us - each.heard_us >= config_.idle_us) silent.push_back(id);
  }
  for (const client_id id : silent) {
    ++counters_.timed_out;
    drop(id, handler);
  }
  struct stat file{};
  if (stat(config_.path.c_str(), &file) == 0 || errno != ENOENT) return;
  try {
    listen();
    ++counters_.made_anew;
    trouble_.clear();
    handler.on_trouble("was removed, and is there again");
  } catch (const std::system_error& error) {
    tell_trouble("was removed: " + said(error.code().value()), handler);
  }
}

void seqpacket_server::tell_trouble(const std::string& what, server_handler& handler) {
  if (what == trouble_) return;
  trouble_ = what;
  handler.on_trouble(what.empty() ? "works again" : what);
}

void seqpacket_server::drop(client_id gone, server_handler& handler) {
  close(gone);
  handler.on_closed(gone);
}

void seqpacket_server::close(client_id client) {
  const auto found = clients_.find(client);
  if (found == clients_.end()) return;
  ::close(found->second.socket);
  clients_.erase(found);
}

bool seqpacket_server::keep(client_id client) {
  const auto found = clients_.find(client);
  if (found == clients_.end()) return false;
  if (found->second.kept) return true;
  const auto kept = std::count_if(clients_.begin(), clients_.end(),
                                  [user = found->second.user](const auto& each) { return each.second.kept && each.second.user == user; });
  found->second.kept = static_cast<std::size_t>(kept) < config_.most_kept_of_a_user;
  return found->second.kept;
}

bool seqpacket_server::send(client_id to, std::span<const std::uint8_t> message) const {
  const auto found = clients_.find(to);
  if (found == clients_.end()) return false;
  return ::send(found->second.socket, message.data(), message.size(), MSG_DONTWAIT | MSG_NOSIGNAL) == static_cast<ssize_t>(message.size());
}

bool seqpacket_server::send(client_id to, std::string_view text) const {
  return send(to, std::span(reinterpret_cast<const std::uint8_t*>(text.data()), text.size()));
}

}  // namespace perhop::sockets
