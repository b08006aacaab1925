// SPDX-License-Identifier: GPL-2.0-or-later
/// No MAC at all: packets go to another daemon on this host, or back to this one, over Unix datagram sockets, at once and without
/// loss as long as the other end reads. For trying a daemon out, and for tests.
///
/// A datagram is an air_reception of gateware/spec/frames.yaml with its MSDU. The completion of a packet says that it took its
/// airtime and nothing else; it is a drop where nobody took the packet.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "host/drivers/driver.hpp"

namespace perhop::drivers {

struct loopback_config {
  std::string socket;  ///< made by the driver
  std::string peer;    ///< the other end's; may be `socket` itself
  mac_properties mac;
};

class loopback_driver : public driver {
public:
  /// @throws std::system_error the socket cannot be made
  explicit loopback_driver(const loopback_config& config);
  ~loopback_driver() override;
  loopback_driver(const loopback_driver&) = delete;
  loopback_driver& operator=(const loopback_driver&) = delete;

  int descriptor() const override { return epoll_; }
  void poll(driver_listener& listener) override;
  bool can_send() const override { return up_ && problem_.empty() && done_.size() < config_.mac.send_credits; }
  bool send(const send_request& request) override;
  void restart(const std::string& why) override;
  const driver_counters& counters() const override { return counters_; }
  std::string problem() const override { return problem_; }

private:
  struct finished {
    std::uint32_t cookie;
    completion_record record;
  };

  void wake() const;

  loopback_config config_;
  int epoll_ = -1;
  int socket_ = -1;
  int wake_ = -1;  ///< an eventfd: completions wait to be told
  bool up_ = false;
  std::string problem_;  ///< it is to begin anew
  std::uint16_t next_sequence_ = 0;
  std::deque<finished> done_;
  std::vector<std::uint8_t> buffer_;
  driver_counters counters_;
};

}  // namespace perhop::drivers
