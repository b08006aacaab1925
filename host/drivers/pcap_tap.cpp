// SPDX-License-Identifier: GPL-2.0-or-later
#include "host/drivers/pcap_tap.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cmath>
#include <system_error>
#include <utility>

namespace perhop::drivers {

namespace {

/// Captures tell the time of day.
std::uint64_t now_us() {
  timespec time{};
  clock_gettime(CLOCK_REALTIME, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000 + static_cast<std::uint64_t>(time.tv_nsec) / 1000;
}

}  // namespace

pcap_tap::pcap_tap(std::unique_ptr<driver> inner, const std::string& file, std::uint64_t most_bytes)
    : wrapping_driver(std::move(inner)), most_bytes_(most_bytes) {
  file_ = open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0640);
  struct stat status{};
  if (file_ < 0 || fstat(file_, &status) < 0) throw std::system_error(errno, std::generic_category(), "capture " + file);
  file_bytes_ = static_cast<std::uint64_t>(status.st_size);
  wire::append_capture_section(block_, std::array{std::string("perhop-node")});
  write_out();
}

pcap_tap::~pcap_tap() { close(file_); }

void pcap_tap::on_up(const mac_properties& mac) {
  mac_ = mac;
  listener().on_up(mac);
}

bool pcap_tap::send(const send_request& request) {
  if (!inner().send(request)) return false;
  write_frame({.receiver_address = request.receiver_address, .transmitter_address = mac_.address}, std::nullopt, request.rate_index,
              request.msdu, wire::capture_direction::outbound, time_of_day({}));
  return true;
}

void pcap_tap::on_reception(const reception& frame) {
  write_frame({.receiver_address = frame.receiver_address, .transmitter_address = frame.transmitter_address, .sequence = frame.sequence},
              frame.device_us.value_or(frame.tsf_us), frame.rate_index, frame.msdu, wire::capture_direction::inbound,
              time_of_day(frame.device_us));
  listener().on_reception(frame);
}

/// By the radio's own time where others have the same: captures of several radios are then in the order of the air. What was heard has it
/// to the microsecond, other packets as exactly as this host's clock was compared with it.
std::uint64_t pcap_tap::time_of_day(std::optional<std::uint64_t> device_us) {
  const auto time = inner().time();
  if (!time || !time->by_pulses) return now_us();
  return device_us ? *device_us : now_us() - static_cast<std::uint64_t>(std::llround(1e6 * time->host_ahead_s));
}

void pcap_tap::write_frame(const wire::data_header& header, std::optional<std::uint64_t> end_us, std::uint8_t rate_index,
                           std::span<const std::uint8_t> msdu, wire::capture_direction direction, std::uint64_t time_us) {
  wire::data_header whole = header;
  whole.bssid = node_address_base;
  std::array<std::uint8_t, wire::data_header::size_bytes> bytes;
  whole.encode(bytes);
  // A driver that is not up has no profile; one that tells a rate that is not there is not believed.
  const timing_profile& profile = mac_.profile != nullptr ? *mac_.profile : timing_profiles()[0];
  const std::uint8_t rate = rate_index < profile.rates.size() ? rate_index : std::uint8_t{0};
  wire::append_captured_frame(block_, {.time_us = time_us, .direction = direction}, wire::radiotap_of(end_us, profile, rate, false), bytes,
                              msdu);
  ++(write_out() ? captured_.written : captured_.lost);
}

/// One write a packet: whoever reads the file while it grows, or after this process was killed, finds whole packets.
bool pcap_tap::write_out() {
  const bool room = file_bytes_ + block_.size() <= most_bytes_;
  if (room && write(file_, block_.data(), block_.size()) == static_cast<ssize_t>(block_.size())) {
    file_bytes_ += block_.size();
    block_.clear();
    return true;
  }
  block_.clear();
  // Half a packet would make the rest of the file unreadable.
  if (room && ftruncate(file_, static_cast<off_t>(file_bytes_)) < 0) most_bytes_ = 0;
  return false;
}

}  // namespace perhop::drivers
