// SPDX-License-Identifier: GPL-2.0-or-later
/// Wraps a driver and writes the packets that pass it to a file which Wireshark and tshark read: pcapng, each packet as the DATA
/// frame that carries it, with its direction. What is sent is written when the MAC is given it, whatever becomes of it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "host/core/wire/pcapng.hpp"
#include "host/drivers/wrapping_driver.hpp"

namespace perhop::drivers {

struct capture_counters {
  std::uint64_t written = 0;
  std::uint64_t lost = 0;  ///< the file takes no more: it is full, or longer than it may be
};

class pcap_tap : public wrapping_driver {
public:
  /// Goes on in a file that is there, with a new section: after a restart, nothing is lost.
  /// @param most_bytes of the file
  /// @throws std::system_error the file cannot be opened
  pcap_tap(std::unique_ptr<driver> inner, const std::string& file, std::uint64_t most_bytes);
  ~pcap_tap() override;
  pcap_tap(const pcap_tap&) = delete;
  pcap_tap& operator=(const pcap_tap&) = delete;

  bool send(const send_request& request) override;
  const capture_counters& captured() const { return captured_; }

private:
  void on_up(const mac_properties& mac) override;
  void on_reception(const reception& frame) override;

  std::uint64_t time_of_day(std::optional<std::uint64_t> device_us);
  void write_frame(const wire::data_header& header, std::optional<std::uint64_t> end_us, std::uint8_t rate_index,
                   std::span<const std::uint8_t> msdu, wire::capture_direction direction, std::uint64_t time_us);
  bool write_out();

  int file_ = -1;
  std::uint64_t file_bytes_ = 0;
  std::uint64_t most_bytes_;
  mac_properties mac_;
  std::vector<std::uint8_t> block_;
  capture_counters captured_;
};

}  // namespace perhop::drivers
