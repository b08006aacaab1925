// SPDX-License-Identifier: GPL-2.0-or-later
/// The MAC in the FPGA of a radio as a driver, over a radio_link. Two threads of its own do what blocks: one writes packets and
/// accesses registers, one waits for what the FPGA says; whoever polls sees events, in the order in which they happened.
///
/// A radio that cannot be reached is tried again every second; a link that fails makes the driver go down and try anew. While it is up the
/// shell in the FPGA gets a beat four times in each default_heartbeat_limit_ms: without any for that long it stops sending and answering.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "host/drivers/driver.hpp"
#include "host/drivers/radio_link.hpp"
#include "host/drivers/radio_setup.hpp"

namespace perhop::drivers {

struct rfnoc_config {
  radio_setup setup;
  std::uint8_t data_rate_index = 1;
  std::uint32_t send_credits = 4;
  std::uint32_t retry_ms = 1000;  ///< between two attempts to reach the radio
  std::uint32_t beat_ms = default_heartbeat_limit_ms / 4;
};

/// Makes a link, or throws link_error. It may take seconds.
using link_maker = std::function<std::unique_ptr<radio_link>()>;

class rfnoc_driver : public driver {
public:
  /// @throws std::system_error no descriptors left
  rfnoc_driver(link_maker make_link, const rfnoc_config& config);
  ~rfnoc_driver() override;
  rfnoc_driver(const rfnoc_driver&) = delete;
  rfnoc_driver& operator=(const rfnoc_driver&) = delete;

  int descriptor() const override { return wake_; }
  void poll(driver_listener& listener) override;
  bool can_send() const override { return up_ && !failed_ && outstanding_.size() < config_.send_credits; }
  bool send(const send_request& request) override;
  void restart(const std::string& why) override;
  bool access_registers(std::uint32_t cookie, std::span<const register_access> accesses) override;
  const driver_counters& counters() const override { return counters_; }
  std::optional<radio_time> time() const override { return time_; }
  std::optional<std::uint32_t> mac_clock_us() const override { return up_ ? std::optional(mac_clock_us_.load()) : std::nullopt; }
  std::string problem() const override;

private:
  using packet = std::vector<std::uint8_t>;
  struct access_list {
    std::uint32_t cookie;
    std::vector<register_access> accesses;
  };
  struct command {
    std::uint64_t session;
    std::variant<packet, access_list> what;
  };
  /// A packet of the FPGA, and when it was heard by the radio's time.
  struct heard_packet {
    packet bytes;
    std::optional<std::uint64_t> device_us;
  };
  struct up_event {};
  struct down_event {};
  struct answers {
    std::uint32_t cookie;
    std::vector<register_answer> values;
  };
  /// What went wrong on the way, since the last one of these.
  struct trouble {
    link_counts link;
    std::uint32_t rx_samples_lost = 0, tx_samples_late = 0, frames_lost = 0, records_lost = 0, times_lost = 0;

    bool operator==(const trouble&) const = default;
  };
  /// What was read in the last beat.
  struct seen {
    trouble troubles;
    std::uint32_t samples = 0;
    unsigned beats = 0;
  };
  struct event {
    std::uint64_t session;
    std::variant<up_event, down_event, heard_packet, answers, trouble, radio_time> what;
  };
  struct waiting_packet {
    std::uint16_t tag;
    std::uint32_t cookie;
  };

  void work();
  void serve(radio_link& link, std::uint64_t session, seen known);
  void beat(radio_link& link, std::uint64_t session, seen& known);
  void tell_troubles(radio_link& link, std::uint64_t session, trouble& known);
  void check_time(radio_link& link, std::uint64_t session, seen& known);
  trouble troubles_of(radio_link& link, std::uint64_t session);
  void note(const trouble& grown);
  void obey_all(radio_link& link, std::uint64_t session);
  std::uint32_t look(radio_link& link, std::uint64_t session, std::uint32_t address);
  void listen(radio_link& link, std::uint64_t session);
  register_answer access(radio_link& link, const register_access& wanted) const;
  void tell(event happened);
  void begin_time(radio_link& link, std::uint64_t session);
  std::string look_at_time(radio_link& link, std::uint64_t session);
  std::optional<std::uint64_t> device_us_of(std::optional<std::uint64_t> ticks);
  void tell_in_device_time(completion_record& record);
  void on_packet(driver_listener& listener, const heard_packet& heard);
  void on_frame(driver_listener& listener, const heard_packet& heard);
  bool on_record(driver_listener& listener, std::span<const std::uint8_t> message);
  void give(command wanted);
  void wake() const;
  void give_up(const std::string& why);

  link_maker make_link_;
  rfnoc_config config_;
  mac_properties mac_;
  int wake_ = -1;  ///< an eventfd: events wait

  // Of whoever polls.
  bool up_ = false;
  std::uint64_t session_ = 0;  ///< of events: those of an earlier one are old
  std::uint16_t next_tag_ = 0;
  std::deque<waiting_packet> outstanding_;
  driver_counters counters_;
  std::optional<radio_time> time_;

  // Shared.
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<event> events_;
  std::deque<command> commands_;
  std::string problem_;
  std::optional<time_line> line_;  ///< of this session's radio, where it has a time
  std::uint64_t rx_delay_us_ = 0;  ///< from the end of a frame to when the modem says so
  bool ends_ = false;
  std::atomic<std::uint32_t> mac_clock_us_ = 0;  ///< in the last beat
  std::atomic<bool> failed_ = false;             ///< the link of this session is of no more use

  std::thread worker_;
};

}  // namespace perhop::drivers
