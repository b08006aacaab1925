// SPDX-License-Identifier: GPL-2.0-or-later
#include "host/phy/transmitter.hpp"

#include <algorithm>
#include <array>
#include <cassert>

#include "host/phy/plcp.hpp"

namespace perhop::phy {

namespace {

/// Samples in which the amplitude rises and falls.
constexpr int ramp_samples = 16;

/// Chips after the frame's last one that are sent in full: half a pulse until it is at its peak, and one more.
constexpr std::size_t tail_chips = pulse_chips / 2 + 1;

/// Chips before the first one that the first sample's pulse reaches.
constexpr std::size_t lead_chips = pulse_chips - 1;

/// Quarter turns of a pair of bits, the first one in bit 1 (16.4.6.5).
constexpr std::array<std::uint8_t, 4> quarter_turns{0, 1, 3, 2};

/// Takes a frame's plain bits, gives the quadrant of each chip.
class spreader {
public:
  spreader(std::uint32_t seed, std::vector<std::uint8_t>& quadrants) : scrambler_(seed), quadrants_(quadrants) {}

  void use_pairs() { pairs_ = true; }

  void bits(std::uint32_t value, unsigned count) {
    for (unsigned place = 0; place < count; ++place) bit(value >> place & 1);
  }

  void bit(unsigned plain) {
    const unsigned sent = scrambler_.scrambled(plain);
    if (!pairs_) {
      symbol(sent != 0 ? 2 : 0);
    } else if (second_) {
      symbol(quarter_turns[first_ << 1 | sent]);
      second_ = false;
    } else {
      first_ = sent;
      second_ = true;
    }
  }

private:
  void symbol(unsigned turns) {
    phase_ = (phase_ + turns) & 3;
    for (unsigned chip = 0; chip < barker_chips; ++chip) {
      quadrants_.push_back(static_cast<std::uint8_t>((barker_code >> chip & 1) != 0 ? phase_ : (phase_ + 2) & 3));
    }
  }

  scrambler scrambler_;
  std::vector<std::uint8_t>& quadrants_;
  unsigned phase_ = 0, first_ = 0;
  bool pairs_ = false, second_ = false;
};

std::uint32_t preamble_and_header_symbols(const outgoing_frame& frame) {
  return frame.short_preamble ? plcp_sync_bits_short + 16 + plcp_header_bits / 2 : plcp_sync_bits_long + 16 + plcp_header_bits;
}

std::uint32_t psdu_symbols(const outgoing_frame& frame) { return static_cast<std::uint32_t>(frame.psdu.size()) * (8U >> frame.rate_index); }

void spread(const outgoing_frame& frame, std::vector<std::uint8_t>& quadrants) {
  spreader out(frame.short_preamble ? scrambler_seed_short : scrambler_seed_long, quadrants);
  const std::uint32_t sync_bits = frame.short_preamble ? plcp_sync_bits_short : plcp_sync_bits_long;
  for (std::uint32_t count = 0; count < sync_bits; ++count) out.bit(frame.short_preamble ? 0 : 1);
  out.bits(frame.short_preamble ? plcp_sfd_short : plcp_sfd_long, 16);
  if (frame.short_preamble) out.use_pairs();
  const std::uint32_t header =
      (frame.rate_index == 0 ? plcp_signal_1mbps : plcp_signal_2mbps) | plcp_service << 8 | psdu_symbols(frame) << 16;
  std::uint32_t remainder = 0xFFFF;
  for (unsigned place = 0; place < 32; ++place) remainder = crc_step(remainder, header >> place & 1);
  out.bits(header, 32);
  // The CRC alone is sent with its high bit first, complemented.
  for (unsigned place = 16; place-- > 0;) out.bit((~remainder >> place) & 1);
  if (frame.rate_index == 1) out.use_pairs();
  for (const std::uint8_t octet : frame.psdu) out.bits(octet, 8);
}

}  // namespace

std::string fault_of(const outgoing_frame& frame) {
  if (frame.rate_index > 1) return "rate_index " + std::to_string(frame.rate_index) + " is not 0 (1 Mb/s) or 1 (2 Mb/s)";
  if (frame.short_preamble && frame.rate_index == 0) return "1 Mb/s exists with the long preamble only (17.2.2.3)";
  if (frame.psdu.size() > max_psdu_bytes(frame.rate_index)) {
    return "a PSDU of " + std::to_string(frame.psdu.size()) + " bytes has no LENGTH: at most " +
           std::to_string(max_psdu_bytes(frame.rate_index));
  }
  return {};
}

std::uint32_t airtime_symbols(const outgoing_frame& frame) { return preamble_and_header_symbols(frame) + psdu_symbols(frame); }

std::vector<std::int16_t> transmitted(const outgoing_frame& frame, std::uint32_t samples_per_chip, std::uint32_t gain) {
  assert(fault_of(frame).empty() && (samples_per_chip == 2 || samples_per_chip == 4) && gain <= gain_one);
  const std::size_t fall_samples = tail_chips * samples_per_chip;
  const std::size_t more_chips = (fall_samples + ramp_samples + samples_per_chip - 1) / samples_per_chip;
  const std::size_t chips = std::size_t{airtime_symbols(frame)} * barker_chips;

  // Before the first chip stand chips of quadrant 0.
  std::vector<std::uint8_t> quadrants(lead_chips, 0);
  quadrants.reserve(lead_chips + chips + more_chips);
  spread(frame, quadrants);
  // The last symbol goes on.
  for (std::size_t count = 0; count < more_chips; ++count) quadrants.push_back(quadrants[quadrants.size() - barker_chips]);

  const std::size_t sent_chips = chips + more_chips;
  std::vector<std::int8_t> signs_i(quadrants.size()), signs_q(quadrants.size());
  for (std::size_t chip = 0; chip < quadrants.size(); ++chip) {
    signs_i[chip] = quadrants[chip] == 0 || quadrants[chip] == 3 ? 1 : -1;
    signs_q[chip] = quadrants[chip] < 2 ? 1 : -1;
  }
  const std::int16_t* taps = samples_per_chip == 2 ? pulse_2.data() : pulse_4.data();
  std::vector<std::int16_t> out(2 * sent_chips * samples_per_chip);
  for (std::size_t chip = 0; chip < sent_chips; ++chip) {
    for (std::uint32_t phase = 0; phase < samples_per_chip; ++phase) {
      int sum_i = 0, sum_q = 0;
      for (std::uint32_t tap = 0; tap < pulse_chips; ++tap) {
        const int weight = taps[phase + tap * samples_per_chip];
        sum_i += weight * signs_i[chip + lead_chips - tap];
        sum_q += weight * signs_q[chip + lead_chips - tap];
      }
      const auto sample = static_cast<std::int64_t>(chip * samples_per_chip + phase);
      const auto falls_at = static_cast<std::int64_t>(chips * samples_per_chip + fall_samples);
      int ramp = ramp_samples;
      if (sample < ramp_samples) ramp = static_cast<int>(sample);
      if (sample >= falls_at) ramp = static_cast<int>(std::max<std::int64_t>(ramp_samples - 1 - (sample - falls_at), 0));
      const int factor = static_cast<int>(gain) * ramp / ramp_samples;
      const auto at = 2 * static_cast<std::size_t>(sample);
      out[at] = static_cast<std::int16_t>(sum_i * factor >> 8);
      out[at + 1] = static_cast<std::int16_t>(sum_q * factor >> 8);
    }
  }
  return out;
}

}  // namespace perhop::phy
