// SPDX-License-Identifier: GPL-2.0-or-later
/// The rates socket: tells applications what their EXACT flows may send. Unix, SOCK_SEQPACKET, one JSON object a message.
///
/// A connection follows one flow, which is one of EXACT from then on:
///
///     -> {"follow": {"source": "10.0.0.1", "source_port": 40000, "destination": "10.0.0.4", "destination_port": 5004,
///                    "protocol": "tcp"},            may be missing: udp; a flow of TCP has rates where the policy is `paced exact`
///         "wanted_bps": 128000,                     may be missing: as much as there is
///         "queue_packets": 4}                       may be missing: packets that wait at most, as configured
///     <- {"ok": true, "rate_bps": .., ...}          exact_flow_state, and again whenever it changes (rate, hops, room)
///     -> {"wanted_bps": 64000}                      <- the same
///     -> {}                                         <- the state now
///
/// What is wrong is answered with {"ok": false, "error": ".."}. When the application closes, the flow is an ordinary one again.
/// Rates are of IP packets. An application that does not read misses states, never the newest one. It may be silent while it follows
/// a flow; who follows none is sent away after a while.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "host/node/exact_flows.hpp"
#include "host/node/packet_path.hpp"
#include "host/sockets/seqpacket_server.hpp"

namespace perhop::node {

class rate_server : private sockets::server_handler {
public:
  /// @throws std::system_error
  /// @param path of the socket, replaced if it is there; anybody on this host may connect
  /// @param packets has EXACT, and outlives this
  rate_server(const std::string& path, packet_path& packets);

  /// Readable when poll() has something to do.
  int descriptor() const { return server_.descriptor(); }
  void poll(time_us now);

  /// Tells those whose flow has changed.
  void tell();

private:
  struct client {
    std::optional<shim::flow_key> flow;
    std::optional<exact_flow_state> told;
  };

  void on_message(sockets::client_id from, std::span<const std::uint8_t> message) override;
  void on_closed(sockets::client_id client) override;
  void on_trouble(const std::string& what) override;
  void answer(client& client, std::string_view asked);
  void leave(const client& client);

  std::string path_;
  packet_path& packets_;
  time_us now_ = 0;
  sockets::seqpacket_server server_;
  std::map<sockets::client_id, client> clients_;  ///< those that have said something
};

/// As JSON.
std::string text_of(const exact_flow_state& state);

}  // namespace perhop::node
