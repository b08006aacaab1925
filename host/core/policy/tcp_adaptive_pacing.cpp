// SPDX-License-Identifier: GPL-2.0-or-later

#include "host/core/policy/tcp_adaptive_pacing.hpp"

#include <algorithm>
#include <cmath>
#include <span>

#include "host/core/policy/time.hpp"

namespace perhop::policy {

namespace {

/// Longer round trips count as this long: the squares of 50 of them, times 50, stay within 64 bits.
constexpr std::uint32_t longest_sample_us = (1U << 26) - 1;

std::uint64_t airtime_us(std::uint32_t bytes, std::uint64_t rate_bps) { return std::uint64_t{bytes} * 8 * us_per_s / rate_bps; }

}  // namespace

void tcp_adaptive_pacing::on_rtt(std::uint32_t rtt_us) {
  remember(std::min(rtt_us, longest_sample_us));
  const std::uint64_t hops = path_.forward_hops;
  if (hops == 0) return;
  // Both directions, all hops: what of the round trip is neither queueing nor contention.
  std::uint64_t data_us = path_.forward_total_us;
  std::uint64_t tcp_ack_us = path_.return_total_us;
  if (config_.link_rate_bps != 0) {
    data_us = hops * airtime_us(config_.data_bytes, config_.link_rate_bps);
    tcp_ack_us = hops * airtime_us(config_.tcp_ack_bytes, config_.link_rate_bps);
  }
  const std::uint64_t known_us = data_us + tcp_ack_us;
  const std::uint64_t queueing_us256 = rtt_us > known_us ? ((rtt_us - known_us) << 8) / (2 * hops) : 0;
  const std::uint64_t one_hop_us256 = queueing_us256 + (data_us << 8) / hops;
  const std::uint64_t four_hop_us256 = std::min<std::uint64_t>(hops, reuse_distance_hops) * one_hop_us256;
  four_hop_us256_ = four_hop_us256_ == 0 ? four_hop_us256 : (7 * four_hop_us256_ + 3 * four_hop_us256 + 5) / 10;
}

void tcp_adaptive_pacing::remember(std::uint32_t rtt_us) {
  if (sample_count_ == history_samples) {
    const std::uint64_t dropped = samples_us_[oldest_sample_];
    sum_us_ -= dropped;
    sum_of_squares_us2_ -= dropped * dropped;
  } else {
    ++sample_count_;
  }
  samples_us_[oldest_sample_] = rtt_us;
  oldest_sample_ = (oldest_sample_ + 1) % history_samples;
  sum_us_ += rtt_us;
  sum_of_squares_us2_ += std::uint64_t{rtt_us} * rtt_us;
}

std::uint32_t tcp_adaptive_pacing::variation_256() const {
  if (sample_count_ < 2 || sum_us_ == 0) return 0;
  if (config_.variation == round_trip_variation::mean_deviation) {
    // sum of |n * sample - sum| = n * n * deviation, in whole numbers.
    std::uint64_t off_us = 0;
    for (const std::uint64_t sample_us : std::span(samples_us_).first(sample_count_)) {
      const std::uint64_t scaled_us = sample_us * sample_count_;
      off_us += scaled_us > sum_us_ ? scaled_us - sum_us_ : sum_us_ - scaled_us;
    }
    return static_cast<std::uint32_t>(256 * off_us / (sample_count_ * sum_us_));
  }
  // n * sum of squares - square of the sum = n * (n - 1) * variance, in whole numbers.
  const std::uint64_t n = sample_count_;
  const std::uint64_t variance_us2 = (n * sum_of_squares_us2_ - sum_us_ * sum_us_) / (n * (n - 1));
  const double deviation_us = std::sqrt(static_cast<double>(variance_us2));
  return static_cast<std::uint32_t>(256 * static_cast<std::uint64_t>(deviation_us) * n / sum_us_);
}

std::uint64_t tcp_adaptive_pacing::interval_us() const { return (four_hop_us256_ * (256 + 2 * std::uint64_t{variation_256()})) >> 16; }

}  // namespace perhop::policy
