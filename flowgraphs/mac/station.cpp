// SPDX-License-Identifier: GPL-2.0-or-later
#include "flowgraphs/mac/station.hpp"

#include <algorithm>
#include <stdexcept>

#include "sim/air/fcs.hpp"
#include "sim/air/frame_fields.hpp"

namespace perhop::flowgraphs {

namespace {

constexpr std::size_t neighbour_slots = 16;
/// The length of a frame has 12 bits in the MAC.
constexpr std::size_t max_psdu_bytes = 4095;
constexpr std::size_t receiver_address_at = 4, transmitter_address_at = 10;

std::uint64_t address_at(std::span<const std::uint8_t> bytes, std::size_t offset) {
  std::uint64_t address = 0;
  for (const std::uint8_t octet : bytes.subspan(offset, 6)) address = address << 8 | octet;
  return address;
}

air::air_config air_config_of(const station_config& config) {
  air::air_config made;
  made.mac.profile = find_profile(config.profile);
  if (made.mac.profile == nullptr) throw std::invalid_argument("profile '" + config.profile + "' is not in gateware/spec/protocol.yaml");
  if (config.data_rate_index >= made.mac.profile->rates.size()) {
    throw std::invalid_argument("data_rate " + std::to_string(config.data_rate_index) + " is no rate of profile " + config.profile);
  }
  made.mac.data_rate_index = config.data_rate_index;
  made.mac.rts_threshold_bytes = config.rts_threshold_bytes;
  made.seed = config.seed;
  made.nodes.resize(config.node + 1);
  return made;
}

/// One for all stations, as in an air: with several, evaluations wait for each other for ever. It outlives every model.
VerilatedContext& shared_context() {
  static auto* context = new VerilatedContext;
  return *context;
}

/// Microseconds that a frame reserves; the field has other meanings where its highest bit is set.
std::uint16_t duration_of(std::span<const std::uint8_t> psdu) {
  constexpr std::size_t shortest_bytes = cts_bytes;
  if (psdu.size() < shortest_bytes) return 0;
  const unsigned field = psdu[2] | psdu[3] << 8;
  return field < 0x8000 ? static_cast<std::uint16_t>(field) : 0;
}

}  // namespace

station::station(const station_config& config) : config_(config), air_(air_config_of(config)), node_(shared_context(), air_, config.node) {
  settle();
}

bool station::advance(air::tick until) {
  for_host_ = false;
  while (now_ < until && !for_host_) {
    const auto left = std::min<air::tick>(until - now_, air::max_ticks);
    const auto ticks = static_cast<std::uint32_t>(std::min<air::tick>(left, node_.next_timer()));
    now_ += ticks;
    clock(ticks);
    settle();
  }
  return now_ >= until;
}

void station::set_carrier(bool busy) {
  if (busy == node_.carrier()) return;
  node_.set_carrier(busy);
  clock(0);
  settle();
}

bool station::receive(std::span<const std::uint8_t> psdu, std::uint8_t rate_index, double power_dbm) {
  // What has no room in the MAC's counter cannot be one of its frames; a transmitter that lies about its rate is nobody's.
  if (psdu.size() <= fcs_bytes || psdu.size() > max_psdu_bytes || rate_index >= air_.mac.profile->rates.size()) return false;
  const bool good = air::fcs_good(psdu);
  if (good && air::read_frame(psdu).kind == frame_kind::other) {
    node_.strobe_overheard(duration_of(psdu), true);
    clock(0);
    settle();
    return true;
  }
  received_.assign(psdu.begin(), psdu.end());
  const air::transmission frame{.id = frames_++, .rate_index = rate_index, .psdu_bytes = static_cast<std::uint16_t>(psdu.size())};
  node_.strobe_rx_start(frame, received_, power_dbm);
  clock(0);
  settle();
  node_.strobe_rx_end(frame, good);
  clock(0);
  settle();
  return good;
}

void station::submit(std::uint64_t ra, std::span<const std::uint8_t> msdu, std::uint16_t tag) {
  if (!has_room()) throw std::logic_error("the MAC has no room for a packet");
  const std::size_t mpdu_bytes = msdu.size() + mac_header_bytes + fcs_bytes;
  if (mpdu_bytes > max_psdu_bytes) throw std::invalid_argument("an MSDU of " + std::to_string(msdu.size()) + " bytes is too long");
  const bool group = (ra >> group_address_bit & 1) != 0;
  addresses_[tag % addresses_.size()] = ra;
  const air::tx_request request{.ra = ra,
                                .peer = peer_of(ra),
                                .mpdu_bytes = static_cast<std::uint16_t>(mpdu_bytes),
                                .rate_index = config_.data_rate_index,
                                .use_rts = !group && mpdu_bytes > config_.rts_threshold_bytes,
                                .payload = 0};
  node_.strobe_descriptor(request, tag, 0, msdu);
  clock(0);
  settle();
}

/// A slot of the neighbour table; with more than its slots, neighbours take turns.
std::uint8_t station::peer_of(std::uint64_t ra) {
  const auto found = std::ranges::find(peers_, ra);
  if (found != peers_.end()) return static_cast<std::uint8_t>(found - peers_.begin());
  if (peers_.size() < neighbour_slots) {
    peers_.push_back(ra);
    return static_cast<std::uint8_t>(peers_.size() - 1);
  }
  const std::size_t slot = next_peer_++ % neighbour_slots;
  peers_[slot] = ra;
  return static_cast<std::uint8_t>(slot);
}

void station::settle() {
  while (!node_.quiescent()) clock(0);
}

void station::clock(std::uint32_t ticks) {
  node_.clock(ticks);
  for_host_ |= node_.deliver() || node_.done();
  if (node_.tx_start()) {
    const air::byte_span bytes = node_.read_psdu();
    events_.emplace_back(sent_frame{.at = now_, .frame = node_.read_transmission(now_), .psdu = {bytes.begin(), bytes.end()}});
  } else if (node_.deliver()) {
    const air::byte_span bytes = node_.read_psdu();
    events_.emplace_back(delivered_frame{.at = now_,
                                         .source = address_at(received_, transmitter_address_at),
                                         .destination = address_at(received_, receiver_address_at),
                                         .msdu = {bytes.begin(), bytes.end()}});
  } else if (node_.done()) {
    air::completion record = node_.read_completion(now_);
    record.ra = addresses_[record.tag % addresses_.size()];
    events_.emplace_back(finished_packet{record});
  }
}

}  // namespace perhop::flowgraphs
