// SPDX-License-Identifier: GPL-2.0-or-later
/// Accesses to the MAC's registers for clients of the control socket. The answers come later, from the driver, so the desk stands
/// between the driver and its listener and remembers who waits.
///
///     {"command": "registers", "accesses": [[ADDRESS], [ADDRESS, VALUE], ...]}      read; write
///     {"ok": true, "values": [WORD, 0, null, ...]}                                  null: the MAC does not do that
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "host/drivers/driver.hpp"
#include "host/sockets/seqpacket_server.hpp"

namespace perhop::node {

class register_desk : public drivers::driver_listener {
public:
  explicit register_desk(drivers::driver_listener& next) : next_(next) {}

  /// Takes a client's question if it is about registers. What is wrong with it is among the answers.
  /// @return whether it is about registers
  bool take(sockets::client_id client, std::string_view asked, drivers::driver& driver);

  /// What to say to whom, since the last call.
  std::vector<std::pair<sockets::client_id, std::string>> take_answers() { return std::exchange(answers_, {}); }

  /// The client is gone.
  void forget(sockets::client_id client);

  void on_up(const drivers::mac_properties& mac) override { next_.on_up(mac); }
  void on_down() override;
  void on_completion(std::uint32_t cookie, const completion_record& record) override { next_.on_completion(cookie, record); }
  void on_reception(const drivers::reception& frame) override { next_.on_reception(frame); }
  void on_registers(std::uint32_t cookie, std::span<const drivers::register_answer> answers) override;

private:
  drivers::driver_listener& next_;
  std::map<std::uint32_t, sockets::client_id> waiting_;  ///< clients by cookie
  std::uint32_t next_cookie_ = 0;
  std::vector<std::pair<sockets::client_id, std::string>> answers_;
};

}  // namespace perhop::node
