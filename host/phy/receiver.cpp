// SPDX-License-Identifier: GPL-2.0-or-later
//
// It is one file, as its model in Python is: its steps count the same samples and symbols, and each is read beside the others.
#include "host/phy/receiver.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numbers>

namespace perhop::phy {

namespace {

// rx_dc_removal.
constexpr int dc_fast_shift = 3, dc_slow_shift = 9;
constexpr int dc_fall_ratio = 4;

// rx_gain: 16 bits come in, 6 go on.
constexpr int gain_top = 31;
constexpr int gain_max_shift = 10;
constexpr int gain_apply = 4;
constexpr int gain_target_bit = 8;
constexpr sample_time freeze_latency = 6, thaw_latency = 5;

constexpr int fraction_bits = 5;
constexpr int first_tested = 3;
constexpr int lock_symbols = 4;
constexpr int lock_ratio = 11;
constexpr int fresh_ratio = 2;

constexpr int early_late_shift = 4;

constexpr int product_shift = 6;
constexpr int sync_rotation_shift = 3;
constexpr int data_rotation_shift = 5;

constexpr int rssi_shift = 2;
constexpr int error_shift = 4;
constexpr int snr_base_db = 4;
constexpr int sfd_symbols = 170;

// clear_channel.
constexpr int energy_blocks = 2;
constexpr int ignore_after_frame_blocks = 2;

constexpr sample_time never = std::numeric_limits<sample_time>::max();
/// Samples that the correlator looks back, and a block of the gain.
constexpr sample_time history_samples = 3 * symbol_samples;
/// Samples computed at once while the gain stands still.
constexpr sample_time ahead_samples = 200 * symbol_samples;
constexpr sample_time forget_after_samples = 1 << 16;

/// The size of -1 is 0.
constexpr int size_of(int value) { return value < 0 ? ~value : value; }

int magnitude(int i, int q) {
  const int size_i = size_of(i), size_q = size_of(q);
  return std::max(size_i, size_q) + (std::min(size_i, size_q) >> 1);
}

/// 20 log10 as level_decibels tells it, within 1.3 dB.
int decibels(std::uint64_t level) {
  const int top = std::max(static_cast<int>(std::bit_width(level)) - 1, 0);
  const int below = static_cast<int>((level << 3 >> top) & 7);
  return (3 * (8 * top + below + 1) + 2) >> 2;
}

/// imaginary / real in 1/128, as carrier_offset tells it.
int tangent_128(int real, int imaginary) {
  const int size_i = size_of(real), size_q = size_of(imaginary);
  const int quotient = size_q >= size_i ? 127 : (size_q << 7) / size_i;
  return (real < 0) != (imaginary < 0) ? -quotient : quotient;
}

std::int16_t converted(float part) {
  constexpr float steps = 32768;
  return static_cast<std::int16_t>(std::nearbyint(std::clamp(part * steps, -32768.0F, 32767.0F)));
}

}  // namespace

dsss_receiver::dsss_receiver(const receiver_options& options) : options_(options), frozen_from_(never), frozen_until_(never) {}

void dsss_receiver::push(std::span<const std::int16_t> samples) {
  for (std::size_t index = 0; index + 1 < samples.size(); index += 2) append(samples[index], samples[index + 1]);
  process();
}

void dsss_receiver::push(std::span<const std::complex<float>> samples) {
  for (const auto& sample : samples) append(converted(sample.real()), converted(sample.imag()));
  process();
}

/// A sample without its DC. Nothing but samples moves the averages: they are the same whatever the receiver makes of them.
void dsss_receiver::append(int i, int q) {
  const sample_time at = base_ + static_cast<sample_time>(raw_i_.size());
  const bool fast = at < dc_fast_until_;
  const auto rest = [&](int part, int& average) {
    const int difference = part - (average >> dc_slow_shift);
    average += fast ? difference * (1 << (dc_slow_shift - dc_fast_shift)) : difference;
    return static_cast<std::int16_t>(std::clamp(difference, -32768, 32767));
  };
  raw_i_.push_back(rest(i, dc_[0]));
  raw_q_.push_back(rest(q, dc_[1]));
  if (at % symbol_samples == 0) {
    // What a signal has left in the averages would be energy when it is over: DC is learnt anew.
    if (at / symbol_samples >= dc_fast_blocks && dc_fall_ratio * dc_block_sum_ < dc_block_sum_before_) {
      dc_fast_until_ = at + 1 + dc_fast_blocks * symbol_samples;
    }
    dc_block_sum_before_ = std::exchange(dc_block_sum_, 0);
  }
  dc_block_sum_ += size_of(raw_i_.back()) + size_of(raw_q_.back());
}

void dsss_receiver::process() {
  end_ = base_ + static_cast<sample_time>(raw_i_.size());
  for (auto* column : {&limited_i_, &limited_q_, &correlated_i_, &correlated_q_, &levels_}) column->resize(raw_i_.size());
  sum_blocks();
  while (state_ == state::searching ? search_symbol() : track_symbol()) {}
  forget_old();
}

// ---- Samples

/// Sums of whole blocks, and what follows from their energy.
void dsss_receiver::sum_blocks() {
  for (;;) {
    const sample_time block = first_block_ + static_cast<sample_time>(block_sums_.size());
    const sample_time first = block * symbol_samples;
    if (first + symbol_samples > end_) return;
    int sum = 0;
    for (std::size_t index = place(first); index < place(first) + symbol_samples; ++index)
      sum += size_of(raw_i_[index]) + size_of(raw_q_[index]);
    block_sums_.push_back(sum);
  }
}

/// Gain and correlator for every sample before `until`, and more while it is cheap.
void dsss_receiver::advance(sample_time until) {
  if (until <= done_) return;
  if (done_ >= frozen_from_ && frozen_until_ == never) until = std::min(done_ + ahead_samples, end_);
  const sample_time first = done_;
  for (sample_time at = first; at < until;) {
    const sample_time block = at / symbol_samples;
    const int in_block = static_cast<int>(at % symbol_samples);
    const bool frozen = at >= frozen_from_ && at < frozen_until_;
    if (in_block == gain_apply && block > 0 && !frozen) {
      const int top = static_cast<int>(std::bit_width(static_cast<unsigned>(block_sum(block - 1)))) - 1;
      shift_ = std::clamp(top - gain_target_bit, 0, gain_max_shift);
    }
    const bool stays = frozen && frozen_until_ == never;
    const sample_time change = at - in_block + gain_apply + (in_block >= gain_apply ? symbol_samples : 0);
    const sample_time upto = stays ? until : std::min(until, change);
    for (std::size_t index = place(at); index < place(upto); ++index) {
      limited_i_[index] = static_cast<std::int16_t>(std::clamp(raw_i_[index] >> shift_, -gain_top - 1, gain_top));
      limited_q_[index] = static_cast<std::int16_t>(std::clamp(raw_q_[index] >> shift_, -gain_top - 1, gain_top));
    }
    at = upto;
  }
  // Sum of two neighbours, then the Barker code with its last chip at the sample itself; zeros before the first sample.
  const auto correlate = [&](const std::vector<std::int16_t>& in, std::vector<std::int16_t>& out) {
    sample_time at = first;
    for (; at < until && at < symbol_samples; ++at) {
      int sum = 0;
      for (int chip = 0; chip < static_cast<int>(barker_chips); ++chip) {
        const sample_time second = at - 2 * (static_cast<int>(barker_chips) - 1 - chip);
        int box = second >= 0 ? in[place(second)] : 0;
        if (second >= 1) box += in[place(second - 1)];
        sum += (barker_code >> chip & 1) != 0 ? box : -box;
      }
      out[place(at)] = static_cast<std::int16_t>(sum);
    }
    if (at >= until) return;
    const std::int16_t* __restrict from = in.data() + place(at);
    std::int16_t* __restrict to = out.data() + place(at);
    const auto count = static_cast<std::ptrdiff_t>(until - at);
    for (std::ptrdiff_t index = 0; index < count; ++index) {
      const std::int16_t* x = from + index;
      // The chips + - + + - + + + - - -, the last one first: each the sum of two samples.
      const int plus = x[-20] + x[-21] + x[-16] + x[-17] + x[-14] + x[-15] + x[-10] + x[-11] + x[-8] + x[-9] + x[-6] + x[-7];
      const int minus = x[-18] + x[-19] + x[-12] + x[-13] + x[-4] + x[-5] + x[-2] + x[-3] + x[0] + x[-1];
      to[index] = static_cast<std::int16_t>(plus - minus);
    }
  };
  static_assert(barker_code == 0x0ED, "the sums above spell this code");
  correlate(limited_i_, correlated_i_);
  correlate(limited_q_, correlated_q_);
  const std::size_t from = place(first), to = place(until);
  for (std::size_t index = from; index < to; ++index) {
    levels_[index] = static_cast<std::int16_t>(magnitude(correlated_i_[index], correlated_q_[index]));
  }
  done_ = until;
}

void dsss_receiver::forget_old() {
  const sample_time needed = std::min({start_, done_, end_}) - history_samples;
  if (needed - base_ < forget_after_samples) return;
  const sample_time blocks = needed / symbol_samples - first_block_;
  block_sums_.erase(block_sums_.begin(), block_sums_.begin() + blocks);
  first_block_ += blocks;
  const sample_time count = first_block_ * symbol_samples - base_;
  for (auto* column : {&raw_i_, &raw_q_, &limited_i_, &limited_q_, &correlated_i_, &correlated_q_, &levels_}) {
    column->erase(column->begin(), column->begin() + count);
  }
  base_ += count;
}

// ---- Clear channel and level

/// Everything up to sample `at` has been looked at: whether the medium is busy after it, as the gateware's clear_channel says.
void dsss_receiver::assess(sample_time at) {
  for (; (assessed_blocks_ + 1) * symbol_samples - 1 <= at; ++assessed_blocks_) {
    // What DC adds while it is learnt is nobody's energy.
    if (assessed_blocks_ < dc_fast_blocks - 1) continue;
    const int sum = block_sum(assessed_blocks_);
    level_average_ += sum - (level_average_ >> rssi_shift);
    // Its last block lasts while the search sees peaks.
    if (hold_blocks_ > 1 || (hold_blocks_ == 1 && !search_.peak_before)) --hold_blocks_;
    const bool above = options_.energy_threshold_db && decibels(static_cast<std::uint64_t>(sum)) >= *options_.energy_threshold_db;
    blocks_above_ = above && ignore_blocks_ == 0 ? blocks_above_ + 1 : 0;
    if (ignore_blocks_ > 0) --ignore_blocks_;
  }
  // With the symbol in which it ends, a reservation is over.
  if (reserved_until_ != 0 && reserved_until_ <= at + 1) {
    reserved_until_ = 0;
    ignore_energy();
  }
  const bool busy = blocks_above_ >= energy_blocks || state_ == state::tracking || hold_blocks_ > 0 || reserved_until_ != 0;
  if (busy == busy_) return;
  busy_ = busy;
  edges_.push_back({.at = at + 1, .busy = busy});
}

/// The medium is free when what has just ended is over: the blocks that its end may be in do not count.
void dsss_receiver::ignore_energy() {
  ignore_blocks_ = ignore_after_frame_blocks;
  blocks_above_ = 0;
}

// ---- Acquisition

bool dsss_receiver::search_symbol() {
  if (start_ + symbol_samples >= end_) return false;
  const sample_time end = start_ + symbol_samples;
  advance(end);
  const int weight = std::min(search_.number, 2);
  int sum = 0, peak = 0, highest = -1;
  // An average that one symbol has filled, the end of a frame for instance, passes for a peak while it fades: only a symbol whose
  // own level is there too counts. A single one that is not ends nothing: noise takes half of a signal's level now and then.
  bool fresh = false;
  for (int bin = 0; bin < symbol_samples; ++bin) {
    int& value = search_.bins[static_cast<std::size_t>(bin)];
    const int level = levels_[place(start_ + bin)] << fraction_bits, before = value;
    value += (level - before) >> weight;
    sum += value;
    if (value > highest) {
      highest = value;
      peak = bin;
      fresh = fresh_ratio * level >= before;
    }
  }
  const bool is_peak = lock_ratio * highest > sum && search_.number >= first_tested;
  const bool near = (peak - search_.last_peak + 1 + symbol_samples) % symbol_samples <= 2;
  const bool goes_on = is_peak && near && (fresh || search_.peak_before);
  search_.good = (goes_on ? search_.good : 0) + (is_peak && fresh ? 1 : 0);
  search_.peak_before = is_peak && fresh;
  search_.last_peak = peak;
  ++search_.number;
  start_ = end;
  if (search_.good == lock_symbols) lock(end - 1, peak);
  assess(end - 1);
  return true;
}

void dsss_receiver::lock(sample_time last, int peak) {
  ++counts_.locks;
  hold_blocks_ = 0;
  if (options_.keep_trace) locks_.push_back(last);
  frozen_from_ = last + freeze_latency;
  frozen_until_ = never;
  // The prompt is at place 1 of a symbol; one that is not whole any more is left out.
  const int index = (1 - peak + symbol_samples) % symbol_samples;
  start_ = last + 2 + (symbol_samples - 1 - index);
  track_ = {};
  state_ = state::tracking;
}

// ---- Tracking

bool dsss_receiver::track_symbol() {
  if (start_ + symbol_samples + 2 >= end_) return false;
  advance(start_ + symbol_samples + 1);
  std::array<std::array<int, 2>, 3> points{};
  for (std::size_t index = 0; index < 3; ++index) {
    const std::size_t at = place(start_) + index;
    points[index] = {correlated_i_[at], correlated_q_[at]};
    track_.averages[index] += ((levels_[at] << fraction_bits) - track_.averages[index]) >> early_late_shift;
  }
  const auto [early, prompt, late] = track_.averages;
  int slip = 0;
  // Without a carrier the timing stands still: the end of the frame is waited for.
  if (late > prompt && late >= early && !track_.lost) {
    slip = 1;
    track_.averages = {prompt, late, prompt};
  } else if (early > prompt && early > late && !track_.lost) {
    slip = -1;
    track_.averages = {prompt, early, prompt};
  }
  // The last symbol of a frame comes too late for them.
  const auto [snr_db, carrier_hz] = estimates();
  const auto [bits, count] = demodulate(points, start_ + 1);
  if (options_.keep_trace) trace_.back().slip = slip;
  const bool lost = track_.lost;
  const int carrier = track_.carrier;
  const int level = levels_[place(start_) + 1];
  int total = 0;
  for (int index = 0; index < symbol_samples + slip; ++index) total += levels_[place(start_) + static_cast<std::size_t>(index)];
  // A symbol's own peak against its own sum: what came before it has no part in that, however strong it was.
  const int step = 8 * level > total ? 1 : 12 * level > total ? 0 : 16 * level > total ? -1 : -2;
  track_.carrier = std::clamp(track_.carrier + step, 0, carrier_full);
  track_.lost = track_.carrier == 0 || (track_.lost && track_.carrier != carrier_full);
  const sample_time last = start_ + symbol_samples - 1 + slip;
  const bool done = parse_symbol(start_ + 1, bits, count, lost);
  start_ = last + 1;
  track_.slip_before = slip;
  if (done) {
    track_.frame.snr_db = snr_db;
    track_.frame.carrier_hz = carrier_hz;
    end_of_track(last, carrier);
  }
  assess(last);
  return true;
}

std::pair<int, double> dsss_receiver::estimates() const {
  const int turn_i = track_.rotation[0] >> fraction_bits, turn_q = track_.rotation[1] >> fraction_bits;
  const int snr_db = decibels(static_cast<std::uint64_t>(magnitude(turn_i, turn_q)) << error_shift) -
                     decibels(static_cast<std::uint64_t>(track_.error)) + snr_base_db;
  const double tangent = tangent_128(turn_i, turn_q) / 128.0;
  return {std::clamp(snr_db, -64, 63), std::atan(tangent) / (2e-6 * std::numbers::pi)};
}

/// The bits of a symbol as decided, the first one in bit 0, and how many; none for the first symbol.
std::pair<unsigned, unsigned> dsss_receiver::demodulate(const std::array<std::array<int, 2>, 3>& points, sample_time at) {
  // The symbol before at the same place: the sample before or after its prompt, where it slipped.
  const auto [was_i, was_q] = track_.previous[static_cast<std::size_t>(1 + track_.slip_before)];
  const bool first = !track_.has_previous;
  track_.previous = points;
  track_.has_previous = true;
  if (first) {
    if (options_.keep_trace) trace_.push_back({.at = at, .prompt = points[1]});
    return {0, 0};
  }
  const auto [now_i, now_q] = points[1];
  const int d_i = (now_i * was_i + now_q * was_q) >> product_shift;
  const int d_q = (now_q * was_i - now_i * was_q) >> product_shift;
  const std::int64_t e_i = track_.rotation[0] >> fraction_bits, e_q = track_.rotation[1] >> fraction_bits;
  const std::int64_t y_i = d_i * e_i + d_q * e_q;
  const std::int64_t y_q = d_q * e_i - d_i * e_q;
  unsigned turns = 0, bits = 0, count = 1;
  if (track_.two_bits) {
    // Pairs 00, 01, 11, 10; the first bit of each is bit 0 here.
    constexpr std::array<std::uint8_t, 4> pair_of_turns{0b00, 0b10, 0b11, 0b01};
    turns = y_i + y_q >= 0 ? (y_i - y_q >= 0 ? 0 : 1) : (y_i - y_q < 0 ? 2 : 3);
    bits = pair_of_turns[turns];
    count = 2;
  } else {
    turns = y_i < 0 ? 2 : 0;
    bits = turns >> 1;
  }
  if (options_.keep_symbols && track_.in_frame) {
    const auto scale = static_cast<float>(e_i * e_i + e_q * e_q);
    if (scale > 0) track_.frame.symbols.emplace_back(static_cast<float>(y_i) / scale, static_cast<float>(y_q) / scale);
  }
  // While nothing is known of the carrier it turns less than a quarter a symbol.
  const unsigned turns_back = track_.in_sync ? (d_i < 0 ? 2 : 0) : turns;
  const std::array<std::array<int, 2>, 4> turned{{{d_i, d_q}, {d_q, -d_i}, {-d_i, -d_q}, {-d_q, d_i}}};
  const auto fresh = turned[turns_back];
  const int shift = track_.in_sync ? sync_rotation_shift : data_rotation_shift;
  int error = 0;
  for (std::size_t part = 0; part < 2; ++part) error += size_of(((fresh[part] << fraction_bits) - track_.rotation[part]) >> fraction_bits);
  track_.error += error - (track_.error >> error_shift);
  for (std::size_t part = 0; part < 2; ++part) track_.rotation[part] += ((fresh[part] << fraction_bits) - track_.rotation[part]) >> shift;
  if (options_.keep_trace) trace_.push_back({.at = at, .prompt = points[1], .product = {d_i, d_q}, .rotation = track_.rotation});
  return {bits, count};
}

// ---- What the bits of a frame mean

/// @return the frame, or the hope of one, ends with this symbol
bool dsss_receiver::parse_symbol(sample_time at, unsigned bits, unsigned count, bool lost) {
  bool done = false;
  if (count != 0) ++track_.symbols;
  for (unsigned index = 0; index < count; ++index) done |= parse_bit(at, track_.descrambler.descrambled(bits >> index & 1));
  if (track_.in_frame) {
    track_.frame.ended_at = at;
    --track_.symbols_left;
    // Nothing more of it can be read, and another frame may be on its way. The symbol that ends the header is none of the PSDU's.
    track_.frame.carrier_lost = lost && track_.symbols_left > 0 && at != track_.frame.started_at;
    return track_.symbols_left <= 0 || track_.frame.carrier_lost;
  }
  if (!done && (lost || (track_.in_sync && track_.symbols == sfd_symbols))) {
    ++(!track_.in_sync ? counts_.header_errors : lost ? counts_.carriers_lost : counts_.sfd_timeouts);
    return true;
  }
  return done;
}

bool dsss_receiver::parse_bit(sample_time at, unsigned plain) {
  if (track_.in_sync) {
    track_.last_bits = track_.last_bits >> 1 | plain << 15;
    if (track_.last_bits == plcp_sfd_long || track_.last_bits == plcp_sfd_short) {
      track_.short_preamble = track_.last_bits == plcp_sfd_short;
      track_.in_sync = false;
      track_.two_bits = track_.short_preamble;
    }
    return false;
  }
  if (track_.in_frame) {
    track_.octet |= plain << track_.octet_bits;
    if (++track_.octet_bits == 8) {
      track_.frame.psdu.push_back(static_cast<std::uint8_t>(track_.octet));
      track_.octet = track_.octet_bits = 0;
    }
    return false;
  }
  track_.header |= std::uint64_t{plain} << track_.header_bits;
  track_.remainder = crc_step(track_.remainder, plain);
  if (++track_.header_bits < plcp_header_bits) return false;
  if (track_.remainder != plcp_crc_residue) {
    ++counts_.header_errors;
    return true;
  }
  track_.frame.started_at = at;
  track_.frame.signal = static_cast<std::uint8_t>(track_.header);
  track_.frame.service = static_cast<std::uint8_t>(track_.header >> 8);
  track_.frame.length_us = static_cast<std::uint16_t>(track_.header >> 16);
  track_.frame.short_preamble = track_.short_preamble;
  track_.two_bits = track_.frame.signal == plcp_signal_2mbps;
  track_.symbols_left = track_.frame.length_us + 1;
  track_.in_frame = true;
  return false;
}

void dsss_receiver::end_of_track(sample_time last, int carrier) {
  // The gain moves again; what was computed ahead of it is computed anew.
  frozen_until_ = last + thaw_latency;
  done_ = std::min(done_, frozen_until_);
  if (track_.in_frame) {
    if (track_.frame.signal != plcp_signal_1mbps && track_.frame.signal != plcp_signal_2mbps) track_.frame.psdu.clear();
    track_.frame.level_db = decibels(static_cast<std::uint64_t>(level_average_) >> rssi_shift);
    if (track_.frame.carrier_lost) {
      reserved_until_ = std::max(reserved_until_, last + 1 + sample_time{track_.symbols_left} * symbol_samples);
    }
    receptions_.push_back(std::move(track_.frame));
    ignore_energy();
  } else if (carrier > 1) {
    // Its header was missed, and it is likely to be there still.
    hold_blocks_ = 2 * (carrier - 2);
  }
  search_ = {};
  state_ = state::searching;
}

}  // namespace perhop::phy
