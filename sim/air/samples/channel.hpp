// SPDX-License-Identifier: GPL-2.0-or-later
/// The channel at fidelity samples: what every node has sent in, what a node's converter gives out.
///
/// What reaches a node is the sum over all nodes that send and all taps of
///
///   amplitude * wave(t - converter delay - propagation - tap delay) * exp(2 pi j (phase + carrier offset * t))
///
/// and noise, rounded to 16 bits. Power follows from positions by the loss model that the other fidelities use; nothing is
/// said about who understands what. A node's samples are taken at its own clock's times, which sent_wave is asked for
/// between its samples. So a node needs only the past of the others: the converter delay is longer than the reach of the
/// interpolation, and whoever is behind in time is clocked first.
///
/// Changes (positions, links) hold for what arrives from then on: a frame on the air is cut.
#pragma once

#include <complex>
#include <cstdint>
#include <vector>

#include "sim/air/air_config.hpp"
#include "sim/air/samples/converter.hpp"
#include "sim/air/samples/interpolator.hpp"
#include "sim/air/samples/noise.hpp"
#include "sim/air/samples/sample_time.hpp"
#include "sim/air/samples/sent_wave.hpp"

namespace perhop::air::samples {

/// From the antenna to the converter's sample: the filters of a receiver, and what the interpolation needs of the future.
inline constexpr double converter_delay_samples = interpolator::half_samples + 1;

/// Root mean square of what radio_top sends during a frame with full gain, in its steps of 12 bits. A test measures it.
inline constexpr double transmitter_level_steps = 2239;

/// A link weaker than the noise by this is left out: 0.004 dB more noise.
inline constexpr double negligible_db = 30;

/// A node's clock against time: its sample n comes at first + n * period.
struct node_clock {
  sample_time first = 0;
  double period = 1;

  sample_time time_of(double number) const { return first + number * period; }
  double number_at(sample_time time) const { return (time - first) / period; }
};

class channel {
public:
  /// @throws std::invalid_argument a delay beyond sent_wave::longest_delay_samples
  explicit channel(const air_config& config);

  /// With positions and blocked links as they are now.
  const air_config& config() const { return config_; }

  const node_clock& clock(node_id node) const { return nodes_[node].clock; }

  /// The node's next sample, in the transmitter's steps. Every node gives one at each of its sample times.
  void send(node_id node, std::complex<float> steps) { nodes_[node].wave.push(steps); }

  /// What the converter gives at that time. Each node takes one at each of its sample times, so that noise goes on.
  /// Requires that all samples up to one before that time have been sent.
  converted_sample receive(node_id node, sample_time at);

  /// What is there without noise, in steps of the converter.
  std::complex<double> signal(node_id node, sample_time at) const;

  /// Received power of a frame of `from`, without taps; 0 if nothing arrives.
  double power_w(node_id from, node_id to) const;
  /// In the band of the samples.
  double noise_w() const { return noise_w_; }
  double propagation_us(node_id from, node_id to) const;
  /// Amplitude in steps of the converter of a wave of that power.
  double amplitude_steps(double power_w) const;

  std::uint64_t saturated_samples() const { return saturated_; }

  void set_position(node_id node, node_position position);
  void set_blocked(node_id one, node_id other, bool blocked);
  void set_silent(node_id node, bool silent);

private:
  struct path {
    double delay_samples;       // all of it
    std::complex<double> gain;  // to steps of the converter
  };
  struct link {
    node_id from;
    double turns_per_sample;  // of the carriers against each other
    std::vector<path> paths;
  };
  struct node {
    node_clock clock;
    sent_wave wave;
    noise thermal;
    std::vector<link> links;  // to it
  };

  void renew_links();

  air_config config_;
  interpolator interpolator_;
  double noise_w_;
  double noise_steps_;  // of I and of Q
  std::vector<node> nodes_;
  std::uint64_t saturated_ = 0;
};

/// Noise of a receiver in the band of the samples: medium.noise_dbm, or that of 290 K and medium.samples.noise_figure_db.
double receiver_noise_dbm(const medium_config& medium);

}  // namespace perhop::air::samples
