// SPDX-License-Identifier: GPL-2.0-or-later
/// What an `air` is made of: nodes, MAC settings, medium, seed and warp mode.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "host/core/wire/generated/protocol.hpp"
#include "sim/air/types.hpp"

namespace perhop::air {

struct node_position {
  double x_m;
  double y_m;
};

/// How the MAC behaves: as the standard says, or with the quirks of ns-2's 802.11 that change chain results.
enum class mac_compatibility { standard, ns2 };

/// What of a node is Verilated. Frames start at the same times, whatever it is.
enum class mac_fidelity {
  core,     ///< mac_core: channel access, without bytes
  bytes,    ///< mac_bytes: real MSDUs and MPDUs through framer, deframer and packet buffers
  samples,  ///< radio_top: the modem too, and a channel between the antennas. At the same times within what the modem delays
};

/// What of access mode fama may be other than the profile and the gateware have it. Only at fidelity core and with compatibility standard.
struct fama_config {
  std::optional<std::uint32_t> sifs_us, rts_us, cts_us;  ///< turnaround and airtimes, in place of the profile's
  std::optional<std::uint32_t> random_step_us;           ///< of the random times, in place of the profile's slot
  bool hold = false;           ///< who has sent a CTS begins nothing until the DATA must have come; the gateware's fama may
  std::uint32_t noise_us = 0;  ///< what was heard and not understood reserves the medium for so long
  bool nav = true;             ///< frames reserve the medium for the rest of their exchange
};

/// DATA frames from one node to another have a rate of their own.
struct link_rate {
  node_id from = 0, to = 0;
  std::uint8_t data_rate_index = 0;
};

struct mac_config {
  const timing_profile* profile = nullptr;  ///< never null in a valid configuration
  mac_fidelity fidelity = mac_fidelity::core;
  mac_compatibility compatibility = mac_compatibility::standard;
  access_mode access = access_mode::dcf;
  fama_config fama;                                 ///< as initialized under another access mode
  bool mac_ack = true;                              ///< DATA to one station is answered, and sent again if it is not
  std::uint32_t vacation_us = default_vacation_us;  ///< csma, fama: rest after a packet
  bool path_header = true;                          ///< frames of perhop-sim have one; without, no policy that needs it
  bool four_address = false;                        ///< DATA frames tell the ends of the path, too
  std::uint8_t data_rate_index = 0;                 ///< of DATA frames on a link that `link_rates` does not name
  std::vector<link_rate> link_rates;                ///< each direction of a link at most once
  std::uint32_t rts_threshold_bytes = 0;            ///< an MPDU longer than this is sent after an RTS
  std::uint8_t short_retry_limit = 7;
  std::uint8_t long_retry_limit = 4;
  std::uint32_t queue_packets = 50;  ///< interface queue above the MAC (drop-tail); not the gateware's own queue
  std::uint8_t average_shift = 4;    ///< weight of a new sample in the neighbour averages: 2^-shift

  /// Rate of DATA frames from `from` to the station with this address; a group's has to be one that all can read.
  std::uint8_t data_rate_to(node_id from, std::uint64_t receiver_address) const {
    if ((receiver_address >> group_address_bit & 1) != 0) return static_cast<std::uint8_t>(profile->lowest_basic_rate_index);
    for (const link_rate& link : link_rates) {
      if (link.from == from && mac_address(link.to) == receiver_address) return link.data_rate_index;
    }
    return data_rate_index;
  }

  /// The highest rate of DATA frames that leave this node for one station.
  std::uint64_t fastest_rate_from_bps(node_id from) const {
    std::uint64_t rate_bps = profile->rates[data_rate_index].bps;
    for (const link_rate& link : link_rates) {
      if (link.from == from) rate_bps = std::max<std::uint64_t>(rate_bps, profile->rates[link.data_rate_index].bps);
    }
    return rate_bps;
  }
};

enum class reception_kind {
  ns2,   ///< reception_ns2.hpp
  sinr,  ///< reception_sinr.hpp
};

enum class loss_kind {
  range,         ///< path loss of exponent 4, cut off at cs_range_m
  two_ray,       ///< ns-2's two-ray ground
  log_distance,  ///< exponent loss_exponent from 1 m on
};

/// A path of the channel beside the direct one, or that one.
struct multipath_tap {
  double delay_ns = 0;
  double gain_db = 0;                 ///< on top of the path loss
  std::optional<double> phase_deg{};  ///< against the link's own; without it at random, by link
};

/// What fidelity samples knows more of the medium. Node i has entry i of a list, which is repeated; of an empty one, 0.
struct samples_config {
  std::vector<double> carrier_offset_hz;
  std::vector<double> clock_offset_ppm;
  std::vector<multipath_tap> taps;  ///< of every link; empty: one path
  double noise_figure_db = 6;       ///< counts where medium.noise_dbm does not say what the noise is
  double full_scale_dbm = -26;      ///< of a wave whose amplitude is the converter's largest number
};

struct medium_config {
  reception_kind reception = reception_kind::ns2;
  loss_kind loss = loss_kind::range;
  double tx_range_m = 250;  ///< the received power at this distance is the receiver's sensitivity
  double cs_range_m = 550;  ///< ... and at this one the carrier-sense threshold
  double capture_ratio_db = 10;
  std::optional<std::uint32_t> propagation_us;  ///< same for all pairs (>= 1); without it distance / c, at least 1
  double frame_error_rate = 0;                  ///< of every reception of a DATA frame that would be good
  double loss_exponent = 3;                     ///< log_distance only
  double tx_power_dbm = 24.5;
  std::vector<double> sinr_threshold_db;  ///< sinr only: one for each rate of the profile
  std::optional<double> noise_dbm;        ///< sinr: without it every rate is good up to tx_range_m; samples: in their band
  std::optional<double> relock_ratio_db;  ///< sinr only; without it a receiver stays with the first frame
  samples_config samples;
};

enum class warp_mode {
  on,          ///< jump to the next event and evaluate only the nodes it concerns
  all_nodes,   ///< jump, but evaluate every node at every event
  every_tick,  ///< clock every node at every microsecond
};

struct air_config {
  std::vector<node_position> nodes;
  std::vector<std::pair<node_id, node_id>> blocked;  ///< pairs between which nothing passes, neither frames nor energy
  std::vector<node_id> silent;                       ///< nodes that nothing passes to or from
  mac_config mac;
  medium_config medium;
  std::uint64_t seed = 1;
  warp_mode warp = warp_mode::on;
  bool tell_overheard = false;  ///< listener::on_overheard() is called; never at fidelity samples, as with tell_losses
  bool tell_losses = false;     ///< listener::on_lost() is called; never at fidelity samples, whose medium knows no frames
};

}  // namespace perhop::air
