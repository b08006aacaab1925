// SPDX-License-Identifier: GPL-2.0-or-later
/// A listening Unix socket (SOCK_SEQPACKET) and its clients, for a process that has to go on whatever clients do:
///
/// - There are at most `most_clients`. One more takes the place of the one that has been silent for the longest time, so that idle
///   clients never keep a new one out. A client that is kept (`keep`) loses its place to nobody.
/// - Of the clients of one user at most `most_kept_of_a_user` are kept, so that nobody takes all places for ever.
/// - A client that is not kept and says nothing for `idle_us` is sent away.
/// - Where the process has no descriptor left for a new client, the oldest idle one makes room; where there is none, the socket is left
///   alone for a second. A listening socket that cannot accept stays readable, so trying again at once would spin.
/// - A socket whose file was removed is made anew within a second. One whose place another process has taken is not.
///
/// One thread; nothing blocks. Time is an argument, in microseconds of any clock that never goes back.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace perhop::sockets {

/// Of one server, never given twice; 0 is nobody.
using client_id = std::uint64_t;

struct server_config {
  std::string path;  ///< replaced if it is there
  std::size_t most_clients = 64;
  std::size_t most_kept_of_a_user = SIZE_MAX;
  std::uint64_t idle_us = 10'000'000;
  std::size_t most_message_bytes = 65536;
  int messages_at_once = 1;   ///< of one client in one poll(), so that others have their turn
  int send_buffer_bytes = 0;  ///< of each client; 0: as the kernel has it
  mode_t mode = 0;            ///< of the socket's file; 0: as the umask has it
};

class server_handler {
public:
  virtual ~server_handler() = default;
  virtual void on_message(client_id from, std::span<const std::uint8_t> message) = 0;
  /// The client went, or was sent away by the server itself.
  virtual void on_closed(client_id client) = 0;
  /// The socket has trouble, or has got over it, in words for a person. Told once each.
  virtual void on_trouble(const std::string& what) = 0;
};

/// Counted since the start.
struct server_counters {
  std::uint64_t accepted = 0;
  std::uint64_t displaced = 0;     ///< silent ones that made room
  std::uint64_t timed_out = 0;     ///< silent for too long
  std::uint64_t refused = 0;       ///< no room, and all others are kept
  std::uint64_t not_accepted = 0;  ///< times that the system had no room
  std::uint64_t made_anew = 0;     ///< the socket's file was gone
};

class seqpacket_server {
public:
  /// @throws std::system_error
  explicit seqpacket_server(server_config config);
  ~seqpacket_server();
  seqpacket_server(const seqpacket_server&) = delete;
  seqpacket_server& operator=(const seqpacket_server&) = delete;

  /// Readable when poll() has something to do.
  int descriptor() const { return epoll_; }
  void poll(std::uint64_t now_us, server_handler& handler);

  /// @return false: the client does not read, or is gone
  bool send(client_id to, std::span<const std::uint8_t> message) const;
  bool send(client_id to, std::string_view text) const;

  /// The client may be silent, and holds its place. @return false: it does not, since others of its user hold all that a user may
  bool keep(client_id client);
  /// Without on_closed().
  void close(client_id client);

  std::size_t clients() const { return clients_.size(); }
  const server_counters& counters() const { return counters_; }

private:
  struct client {
    int socket = -1;
    std::uint64_t heard_us = 0;
    uid_t user = 0;
    bool kept = false;
  };

  void listen();
  bool owns_path() const;
  void accept_some(std::uint64_t now_us, server_handler& handler);
  void serve(std::uint64_t now_us, client_id from, server_handler& handler);
  bool displace(server_handler& handler);
  void drop(client_id gone, server_handler& handler);
  void look_after(std::uint64_t now_us, server_handler& handler);
  void tell_trouble(const std::string& what, server_handler& handler);

  server_config config_;
  int epoll_ = -1;
  int timer_ = -1;
  int listener_ = -1;
  dev_t path_device_ = 0;  ///< of the socket's file, by which it is known
  ino_t path_inode_ = 0;
  bool paused_ = false;  ///< nothing is accepted until the timer's next tick
  std::string trouble_;  ///< as last told; empty: none
  client_id next_ = 1;
  std::unordered_map<client_id, client> clients_;
  std::vector<std::uint8_t> buffer_;
  server_counters counters_;
};

}  // namespace perhop::sockets
