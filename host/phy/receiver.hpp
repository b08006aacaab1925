// SPDX-License-Identifier: GPL-2.0-or-later
/// The DSSS receiver: from samples, two a chip, to PSDUs; number by number what gateware/rtl/phy/rx makes of them. The same as
/// host/python/perhop/phy/receiver.py, whose names it uses and which explains itself; this one is fast, and takes samples in
/// pieces of any length, with the same result.
///
/// Beyond that model it has what the gateware's signal_estimates and clear_channel have: a level in decibels, and whether the
/// medium is busy. Their times are those of blocks and symbols, not of the gateware's clocks.
///
/// Times are numbers of samples since the first one.
#pragma once

#include <array>
#include <complex>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "host/phy/generated/constants.hpp"
#include "host/phy/plcp.hpp"

namespace perhop::phy {

using sample_time = std::int64_t;

inline constexpr int symbol_samples = 2 * static_cast<int>(barker_chips);

/// What stands for the bits before the first one: neither SFD begins as this ends, and so the seven bits that the descrambler
/// needs to find its state are never part of one.
inline constexpr std::uint32_t bits_before = 0xAAAA;

/// Blocks of symbol_samples in which DC is learnt.
inline constexpr sample_time dc_fast_blocks = 4;

/// The most trust in a carrier; it is lost at 0.
inline constexpr int carrier_full = 7;

/// A frame whose PLCP header was good.
struct reception {
  sample_time started_at = 0;  ///< sample of the header's last symbol
  sample_time ended_at = 0;    ///< sample of the last symbol
  std::uint8_t signal = 0, service = 0;
  std::uint16_t length_us = 0;
  bool short_preamble = false;
  bool carrier_lost = false;  ///< it ended when its carrier was lost, before its LENGTH was over: the medium stays busy
  int snr_db = 0;             ///< Es/N0 of the frame's last symbols
  double carrier_hz = 0;      ///< offset of the carrier, for symbols of 1 us
  int level_db = 0;           ///< of |I| + |Q|, summed over 22 samples in steps of 16 bits, averaged over some blocks
  std::vector<std::uint8_t> psdu{};
  /// Decision variables, 1 being a symbol as clean as the average; empty unless asked for.
  std::vector<std::complex<float>> symbols{};
};

/// What tracking and demodulation made of one symbol; for comparison with the model.
struct symbol_trace {
  sample_time at = 0;  ///< sample of the prompt correlation
  std::array<int, 2> prompt{}, product{}, rotation{};
  int slip = 0;
};

/// From `at` on the medium is busy, or free.
struct carrier_edge {
  sample_time at;
  bool busy;
  bool operator==(const carrier_edge&) const = default;
};

struct receiver_counts {
  std::uint64_t locks = 0, header_errors = 0, sfd_timeouts = 0, carriers_lost = 0;
};

struct receiver_options {
  bool keep_symbols = false;
  bool keep_trace = false;
  /// Energy of a block of 22 samples that makes the medium busy, as `reception::level_db`; none: carrier sense alone.
  std::optional<int> energy_threshold_db{};
};

class dsss_receiver {
public:
  explicit dsss_receiver(const receiver_options& options = {});

  /// I, Q, I, Q ...
  void push(std::span<const std::int16_t> samples);
  /// The same from numbers whose full scale is 1; what is beyond is clipped.
  void push(std::span<const std::complex<float>> samples);

  sample_time samples() const { return end_; }
  const receiver_counts& counts() const { return counts_; }
  bool busy() const { return busy_; }

  /// Frames that have ended since the last call.
  std::vector<reception> take_receptions() { return std::exchange(receptions_, {}); }
  std::vector<carrier_edge> take_carrier_edges() { return std::exchange(edges_, {}); }
  std::vector<symbol_trace> take_trace() { return std::exchange(trace_, {}); }
  std::vector<sample_time> take_locks() { return std::exchange(locks_, {}); }

private:
  enum class state : std::uint8_t { searching, tracking };

  struct search {
    std::array<int, symbol_samples> bins{};
    int good = 0, last_peak = 0, number = 0;
    bool peak_before = false;
  };

  struct track {
    int slip_before = 0;
    std::array<int, 3> averages{};
    int carrier = carrier_full;  ///< trust in it, which symbols with a peak raise and others lower
    bool lost = false;
    bool has_previous = false;
    std::array<std::array<int, 2>, 3> previous{};
    std::array<int, 2> rotation{};
    int error = 0;
    // What the bits mean.
    scrambler descrambler{};
    std::uint32_t last_bits = bits_before;
    int symbols = 0;
    bool in_sync = true, two_bits = false, short_preamble = false, in_frame = false;
    std::uint64_t header = 0;
    unsigned header_bits = 0;
    std::uint32_t remainder = 0xFFFF;
    unsigned octet = 0, octet_bits = 0;
    std::int32_t symbols_left = 0;
    reception frame{};
  };

  void append(int i, int q);
  void process();
  bool search_symbol();
  void lock(sample_time last, int peak);
  bool track_symbol();
  std::pair<unsigned, unsigned> demodulate(const std::array<std::array<int, 2>, 3>& points, sample_time at);
  bool parse_symbol(sample_time at, unsigned bits, unsigned count, bool lost);
  bool parse_bit(sample_time at, unsigned plain);
  void end_of_track(sample_time last, int carrier);
  std::pair<int, double> estimates() const;

  void advance(sample_time until);
  void sum_blocks();
  int block_sum(sample_time block) const { return block_sums_[static_cast<std::size_t>(block - first_block_)]; }
  void forget_old();
  std::size_t place(sample_time at) const { return static_cast<std::size_t>(at - base_); }
  void assess(sample_time at);
  void ignore_energy();

  receiver_options options_;

  // Samples from base_ to end_; behind gain and correlator up to done_.
  sample_time base_ = 0, end_ = 0, done_ = 0;
  // rx_dc_removal's averages, sums of the block that goes on and of the one before, and until when it is fast.
  std::array<int, 2> dc_{};
  int dc_block_sum_ = 0, dc_block_sum_before_ = 0;
  sample_time dc_fast_until_ = dc_fast_blocks * symbol_samples;
  std::vector<std::int16_t> raw_i_, raw_q_, limited_i_, limited_q_, correlated_i_, correlated_q_, levels_;
  sample_time first_block_ = 0;
  std::vector<int> block_sums_;
  int shift_ = 0;
  // The gain stands still for samples frozen_from_ to frozen_until_.
  sample_time frozen_from_, frozen_until_;

  state state_ = state::searching;
  sample_time start_ = 0;  // of the symbol that comes next
  search search_{};
  track track_{};

  // Clear channel.
  std::int64_t level_average_ = 0;
  int blocks_above_ = 0, hold_blocks_ = 0, ignore_blocks_ = 0;
  sample_time reserved_until_ = 0;  // by the LENGTH of frames whose carrier was lost; 0: not
  sample_time assessed_blocks_ = 0;
  bool busy_ = false;

  receiver_counts counts_{};
  std::vector<reception> receptions_;
  std::vector<carrier_edge> edges_;
  std::vector<symbol_trace> trace_;
  std::vector<sample_time> locks_;
};

}  // namespace perhop::phy
