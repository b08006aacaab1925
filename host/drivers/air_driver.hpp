// SPDX-License-Identifier: GPL-2.0-or-later
/// The emulated medium (sim/live) as a driver: a Unix socket, connected anew whenever the medium comes back.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "host/drivers/driver.hpp"

namespace perhop::drivers {

class air_driver : public driver {
public:
  /// @throws std::system_error no descriptors left
  /// @param path of the medium's socket, which need not exist yet
  air_driver(std::string path, std::uint16_t node);
  ~air_driver() override;
  air_driver(const air_driver&) = delete;
  air_driver& operator=(const air_driver&) = delete;

  int descriptor() const override { return epoll_; }
  void poll(driver_listener& listener) override;
  bool can_send() const override { return up_ && !ending_ && outstanding_.size() < mac_.send_credits; }
  bool send(const send_request& request) override;
  void restart(const std::string& why) override;
  bool access_registers(std::uint32_t cookie, std::span<const register_access> accesses) override;
  const driver_counters& counters() const override { return counters_; }
  std::string problem() const override { return problem_; }

private:
  void connect();
  void disconnect(driver_listener& listener);
  void set_timer(bool on) const;
  void on_message(driver_listener& listener, std::span<const std::uint8_t> message);
  void on_welcome(driver_listener& listener, std::span<const std::uint8_t> message);
  void on_register_values(driver_listener& listener, const wire::air_register_values& head, std::span<const std::uint8_t> values);

  std::string path_;
  std::uint16_t node_;
  int epoll_ = -1;
  int timer_ = -1;
  int socket_ = -1;
  bool up_ = false;
  std::vector<std::uint32_t> outstanding_;  ///< cookies
  bool ending_ = false;                     ///< the connection was ended here, and poll() will see it
  mac_properties mac_;
  driver_counters counters_;
  std::string problem_;
  std::vector<register_answer> answers_;
  std::array<std::uint8_t, 16384> buffer_{};
};

}  // namespace perhop::drivers
