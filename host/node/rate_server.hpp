// SPDX-License-Identifier: GPL-2.0-or-later
/// The rates socket: tells applications what their EXACT flows may send. Unix, SOCK_SEQPACKET, one JSON object a message.
///
/// A connection follows one flow, which is one of EXACT from then on:
///
///     -> {"follow": {"source": "10.0.0.1", "source_port": 40000, "destination": "10.0.0.4", "destination_port": 5004},
///         "wanted_bps": 128000,                     may be missing: as much as there is
///         "queue_packets": 4}                       may be missing: packets that wait at most, as configured
///     <- {"ok": true, "rate_bps": .., ...}          exact_flow_state, and again whenever it changes (rate, hops, room)
///     -> {"wanted_bps": 64000}                      <- the same
///     -> {}                                         <- the state now
///
/// What is wrong is answered with {"ok": false, "error": ".."}. When the application closes, the flow is an ordinary one again.
/// Rates are of IP packets. An application that does not read misses states, never the newest one.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "host/node/exact_flows.hpp"
#include "host/node/packet_path.hpp"

namespace perhop::node {

class rate_server {
public:
  /// @throws std::system_error
  /// @param path of the socket, replaced if it is there; anybody on this host may connect
  /// @param packets has EXACT, and outlives this
  rate_server(const std::string& path, packet_path& packets);
  ~rate_server();
  rate_server(const rate_server&) = delete;
  rate_server& operator=(const rate_server&) = delete;

  /// Readable when poll() has something to do.
  int descriptor() const { return epoll_; }
  void poll(time_us now);

  /// Tells those whose flow has changed.
  void tell();

private:
  struct client {
    std::optional<shim::flow_key> flow;
    std::optional<exact_flow_state> told;
  };

  void accept();
  /// @return whether the client is still there
  bool serve(time_us now, int socket, client& client);
  void answer(time_us now, client& client, const std::string& asked);
  static bool send_text(int socket, const std::string& text);
  void leave(const client& client);

  packet_path& packets_;
  int epoll_ = -1;
  int listener_ = -1;
  std::map<int, client> clients_;  // by socket
  std::array<char, 4096> buffer_{};
};

/// As JSON.
std::string text_of(const exact_flow_state& state);

}  // namespace perhop::node
