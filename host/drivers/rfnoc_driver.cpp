// SPDX-License-Identifier: GPL-2.0-or-later
#include "host/drivers/rfnoc_driver.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <system_error>
#include <utility>

#include "host/core/wire/generated/registers.hpp"

#include "host/drivers/driver_entry.hpp"
#include "host/drivers/make_uhd_link.hpp"

namespace perhop::drivers {

namespace {

constexpr std::size_t longest_packet_bytes = 8192;
// Of one poll(), so that others have their turn.
constexpr std::size_t most_events = 64;

}  // namespace

rfnoc_driver::rfnoc_driver(link_maker make_link, const rfnoc_config& config)
    : make_link_(std::move(make_link)),
      config_(config),
      mac_{.address = config.setup.address,
           .profile = config.setup.profile,
           .data_rate_index = config.data_rate_index,
           .rts_threshold_bytes = config.setup.rts_threshold_bytes,
           .average_shift = config.setup.average_shift,
           .send_credits = config.send_credits} {
  wake_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (wake_ < 0) throw std::system_error(errno, std::generic_category(), "eventfd");
  worker_ = std::thread([this] { work(); });
}

rfnoc_driver::~rfnoc_driver() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  worker_.join();
  close(wake_);
}

std::string rfnoc_driver::problem() const {
  const std::lock_guard lock(mutex_);
  return problem_;
}

// ---- The threads

void rfnoc_driver::tell(event happened) {
  {
    const std::lock_guard lock(mutex_);
    events_.push_back(std::move(happened));
  }
  wake();
}

void rfnoc_driver::wake() const {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(wake_, &one, sizeof one);
}

void rfnoc_driver::give_up(const std::string& why) {
  {
    const std::lock_guard lock(mutex_);
    problem_ = why;
    failed_ = true;
  }
  changed_.notify_all();
  wake();
}

void rfnoc_driver::work() {
  for (std::uint64_t session = 1;; ++session) {
    failed_ = false;
    try {
      const std::unique_ptr<radio_link> link = make_link_();
      set_up(*link, config_.setup);
      begin_time(*link, session);
      const seen known{.troubles = troubles_of(*link, session), .samples = link->read(registers::shell::stat_samples::address)};
      {
        const std::lock_guard lock(mutex_);
        problem_.clear();
        commands_.clear();
      }
      tell({session, up_event{}});
      std::thread listener([&] { listen(*link, session); });
      serve(*link, session, known);
      listener.join();
      tell({session, down_event{}});
    } catch (const link_error& error) {
      give_up(error.what());
    }
    std::unique_lock lock(mutex_);
    if (changed_.wait_for(lock, std::chrono::milliseconds(config_.retry_ms), [this] { return ends_; })) return;
  }
}

/// Beats and commands, until the link fails or the driver ends.
void rfnoc_driver::serve(radio_link& link, std::uint64_t session, seen known) {
  // set_up() has just set the limit, which is a beat.
  auto next_beat = std::chrono::steady_clock::now() + std::chrono::milliseconds(config_.beat_ms);
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      changed_.wait_until(lock, next_beat, [this] { return ends_ || failed_ || !commands_.empty(); });
      if (ends_ || failed_) {
        failed_ = true;
        break;
      }
    }
    try {
      obey_all(link, session);
      if (const auto now = std::chrono::steady_clock::now(); now >= next_beat) {
        next_beat = now + std::chrono::milliseconds(config_.beat_ms);
        beat(link, session, known);
      }
    } catch (const link_error& error) {
      give_up(error.what());
    }
  }
  {
    const std::lock_guard lock(mutex_);
    commands_.clear();
  }
  // Nobody owns the converter any more; if even that fails, the radio is gone.
  try {
    link.write(registers::control::address, 0);
    link.write(registers::shell::route::address, 0);
    // What made it fail may be among these, and came behind the last beat.
    tell_troubles(link, session, known.troubles);
  } catch (const link_error&) {}
}

void rfnoc_driver::listen(radio_link& link, std::uint64_t session) {
  packet buffer(longest_packet_bytes);
  try {
    while (!failed_) {
      if (const std::size_t size = link.receive(buffer); size != 0) {
        packet bytes(buffer.begin(), buffer.begin() + static_cast<std::ptrdiff_t>(size));
        tell({session, heard_packet{std::move(bytes), device_us_of(link.packet_ticks())}});
      }
    }
  } catch (const link_error& error) {
    give_up(error.what());
  }
}

// ---- Whoever polls

void rfnoc_driver::give(command wanted) {
  {
    const std::lock_guard lock(mutex_);
    commands_.push_back(std::move(wanted));
  }
  changed_.notify_all();
}

bool rfnoc_driver::send(const send_request& request) {
  if (!is_sendable(mac_, request)) {
    ++counters_.refused;
    return false;
  }
  wire::host_send head;
  head.peer = request.peer;
  head.rate = request.rate_index;
  head.force_rts = request.use_rts;
  head.msdu_bytes = static_cast<std::uint16_t>(request.msdu.size());
  head.tag = next_tag_++;
  head.receiver_address = request.receiver_address;
  packet bytes((wire::host_send::size_bytes + request.msdu.size() + 3) / 4 * 4);
  head.encode(std::span(bytes).first<wire::host_send::size_bytes>());
  std::ranges::copy(request.msdu, bytes.begin() + wire::host_send::size_bytes);
  outstanding_.push_back({head.tag, request.cookie});
  give({session_, std::move(bytes)});
  return true;
}

void rfnoc_driver::restart(const std::string& why) {
  if (up_) give_up(why);
}

bool rfnoc_driver::access_registers(std::uint32_t cookie, std::span<const register_access> accesses) {
  if (!up_ || accesses.empty() || accesses.size() > air_most_register_accesses) return false;
  give({session_, access_list{cookie, {accesses.begin(), accesses.end()}}});
  return true;
}

void rfnoc_driver::poll(driver_listener& listener) {
  std::uint64_t count = 0;
  [[maybe_unused]] const ssize_t taken = ::read(wake_, &count, sizeof count);
  for (std::size_t done = 0;; ++done) {
    event next;
    {
      const std::lock_guard lock(mutex_);
      if (events_.empty()) return;
      if (done == most_events) {
        const std::uint64_t one = 1;
        [[maybe_unused]] const ssize_t written = ::write(wake_, &one, sizeof one);
        return;
      }
      next = std::move(events_.front());
      events_.pop_front();
    }
    if (std::holds_alternative<up_event>(next.what)) {
      session_ = next.session;
      up_ = true;
      outstanding_.clear();
      ++counters_.ups;
      listener.on_up(mac_);
    } else if (const auto* time = std::get_if<radio_time>(&next.what)) {
      time_ = *time;
    } else if (!up_ || next.session != session_) {
      continue;
    } else if (std::holds_alternative<down_event>(next.what)) {
      up_ = false;
      time_.reset();
      outstanding_.clear();
      listener.on_down();
    } else if (const auto* heard = std::get_if<heard_packet>(&next.what)) {
      on_packet(listener, *heard);
    } else if (const auto* grown = std::get_if<trouble>(&next.what)) {
      note(*grown);
    } else {
      const auto& told = std::get<answers>(next.what);
      listener.on_registers(told.cookie, told.values);
    }
  }
}

void rfnoc_driver::on_packet(driver_listener& listener, const heard_packet& heard) {
  const std::span<const std::uint8_t> message = heard.bytes;
  if (wire::host_frame::decode(message)) {
    on_frame(listener, heard);
  } else if (!wire::host_record::decode(message) || !on_record(listener, message)) {
    ++counters_.malformed;
  }
}

void rfnoc_driver::on_frame(driver_listener& listener, const heard_packet& heard) {
  const std::span<const std::uint8_t> message = heard.bytes;
  const auto head = *wire::host_frame::decode(message);
  // The word behind the bytes says how many there are; the last of them may fill a word up.
  const std::span<const std::uint8_t> rest = message.subspan(wire::host_frame::size_bytes);
  std::uint32_t msdu_bytes = 0;
  if (rest.size() >= 4) {
    const auto last = rest.last<4>();
    msdu_bytes = last[0] | std::uint32_t{last[1]} << 8 | std::uint32_t{last[2]} << 16 | std::uint32_t{last[3]} << 24;
  }
  if (rest.size() % 4 != 0 || rest.size() < 4 || msdu_bytes > rest.size() - 4 || rest.size() - 4 - msdu_bytes > 3) {
    ++counters_.malformed;
    return;
  }
  if (head.fcs_ok == 0 || static_cast<frame_kind>(head.frame_kind) != frame_kind::data || head.rate >= mac_.profile->rates.size()) return;
  listener.on_reception({.receiver_address = head.receiver_address,
                         .transmitter_address = head.transmitter_address,
                         .tsf_us = head.tsf_us + airtime_us(*mac_.profile, head.rate, head.mpdu_bytes),
                         .device_us = heard.device_us,
                         .sequence = head.sequence,
                         .rate_index = head.rate,
                         .msdu = rest.first(msdu_bytes)});
}

/// @return false: it is no record of ours
bool rfnoc_driver::on_record(driver_listener& listener, std::span<const std::uint8_t> message) {
  if (message.size() != wire::host_record::size_bytes + 4 * completion_record_words) return false;
  std::array<std::uint32_t, completion_record_words> words{};
  for (std::size_t byte = 0; byte < 4 * words.size(); ++byte) {
    words[byte / 4] |= std::uint32_t{message[wire::host_record::size_bytes + byte]} << 8 * (byte % 4);
  }
  completion_record record = decode_completion_record(words);
  if (outstanding_.empty()) return false;
  // Records come in the order of their packets: one that was lost would keep its credit for ever.
  if (outstanding_.front().tag != record.tag) {
    counters_.lost += outstanding_.size();
    give_up("a completion record was lost");
    return false;
  }
  const std::uint32_t cookie = outstanding_.front().cookie;
  outstanding_.pop_front();
  tell_in_device_time(record);
  listener.on_completion(cookie, record);
  return true;
}

namespace {

config_field missing_says(config_field field, std::string remedy) {
  field.if_missing = std::move(remedy);
  return field;
}

std::vector<config_field> fields() {
  const uhd_config device;
  const radio_setup setup;
  const std::string calibrates = "hw/bringup/bringup.py calibrate measures it";
  config_field bandwidth = required(field_kind::quantity, "bandwidth_hz",
                                    "of the front end's filters; none: 20 MHz where it can have that; 0: as UHD leaves them");
  bandwidth.optional = true;
  config_field frequency = required(field_kind::quantity, "frequency_hz", "centre of a channel that you may use");
  frequency.above = 0;
  config_field pulse_wait =
      quantity_field("pulse_wait_s", device.pulse_wait_s, "in which a pulse must come; of a virtual radio as much more as it is slower");
  pulse_wait.above = 0;
  config_field seed = count_field("seed", {}, 0, INT64_MAX, "any number that no other station has; none: from the address");
  seed.optional = true;
  return {
      where(missing_says(required(field_kind::text, "args", "which device, as UHD says it: addr=192.168.10.2,master_clock_rate=22e6"),
                         "which device, as UHD says it: addr=192.168.10.2,master_clock_rate=22e6")),
      where(text_field("block", device.block, "perhop's block")),
      text_field("radio", device.radio, "UHD's radio block, for the front end"),
      count_field("channel", 0, 0, 7, "of the radio: the one that is perhop's in the image"),
      missing_says(frequency, "the centre of a channel that you may use"),
      quantity_field("tx_gain_db", 0, "of the front end"),
      quantity_field("rx_gain_db", 0, "of the front end"),
      text_field("tx_antenna", device.tx_antenna, "a port of the front end"),
      text_field("rx_antenna", device.rx_antenna, "a port of the front end"),
      bandwidth,
      text_field("clock_source", device.clock_source, "of the device's reference: internal, external, gpsdo as it has them"),
      text_field(
          "time_source", device.time_source,
          "of the device's time: internal takes this host's clock; external and gpsdo take pulses, one a second, which make the times of "
          "all radios one"),
      pulse_wait,
      required(field_kind::mac, "mac", "this node's address"),
      profile_field("dsss_", "those that the modem keeps"),
      count_field("data_rate_index", 1, 0, 1, "of the profile"),
      count_field("rts_threshold_bytes", setup.rts_threshold_bytes, 0, 4095, "of the MAC"),
      seed,
      missing_says(count_field("tx_delay_clocks", {}, 0, 65535, calibrates), calibrates),
      missing_says(count_field("rx_delay_clocks", {}, 0, 65535, "as tx_delay_clocks"), calibrates),
      count_field("tx_gain_256", setup.tx_gain_256, 0, 256, "of the modem's samples; 256 is all"),
      integer_field("energy_threshold_dbm", setup.energy_threshold_dbm, -128, -std::int64_t{cca_quiet_limit_below_dbm},
                    "hw/bringup/bringup.py levels; at most what the standard has for tx_power_dbm"),
      integer_field("tx_power_dbm", setup.transmit_power_dbm, -128, 127,
                    "conducted, at tx_gain_db; above 17 carrier sense reaches further, above 20 further still"),
      integer_field("rssi_base_dbm", setup.rssi_base_dbm, -256, 255, "hw/bringup/bringup.py levels"),
  };
}

driver_maker prepare(const field_values& given) {
  if (!has_uhd()) {
    throw field_error(
        "driver.kind: rfnoc needs UHD, which this program was built without: install libuhd-dev, remove out/build, build again");
  }
  const uhd_config device{.args = given.text("args"),
                          .block = given.text("block"),
                          .radio = given.text("radio"),
                          .channel = given.count<std::uint32_t>("channel"),
                          .frequency_hz = given.quantity("frequency_hz"),
                          .tx_gain_db = given.quantity("tx_gain_db"),
                          .rx_gain_db = given.quantity("rx_gain_db"),
                          .tx_antenna = given.text("tx_antenna"),
                          .rx_antenna = given.text("rx_antenna"),
                          .bandwidth_hz = given.has("bandwidth_hz") ? std::optional(given.quantity("bandwidth_hz")) : std::nullopt,
                          .clock_source = given.text("clock_source"),
                          .time_source = given.text("time_source"),
                          .pulse_wait_s = given.quantity("pulse_wait_s")};
  rfnoc_config mac;
  mac.setup.profile = find_profile(given.text("profile"));
  mac.setup.address = given.count("mac");
  mac.setup.seed = given.has("seed") ? given.count("seed") : mac.setup.address;
  mac.setup.tx_delay_clocks = given.count<std::uint16_t>("tx_delay_clocks");
  mac.setup.rx_delay_clocks = given.count<std::uint16_t>("rx_delay_clocks");
  mac.setup.rts_threshold_bytes = given.count<std::uint32_t>("rts_threshold_bytes");
  mac.setup.tx_gain_256 = given.count<std::uint16_t>("tx_gain_256");
  mac.setup.energy_threshold_dbm = given.integer<std::int8_t>("energy_threshold_dbm");
  mac.setup.transmit_power_dbm = given.integer<std::int8_t>("tx_power_dbm");
  mac.setup.rssi_base_dbm = given.integer<std::int16_t>("rssi_base_dbm");
  mac.data_rate_index = given.count<std::uint8_t>("data_rate_index");
  return [device, mac] { return std::make_unique<rfnoc_driver>([device] { return make_uhd_link(device); }, mac); };
}

}  // namespace

extern const driver_entry rfnoc_driver_entry{
    .kind = "rfnoc",
    .meaning = "The MAC in the FPGA of a radio, by UHD (hw/README.md).",
    .fields = fields(),
    .if_away = "is it powered and connected? Look with uhd_find_devices there, and mend `radio`",
    .prepare = prepare,
};

}  // namespace perhop::drivers
