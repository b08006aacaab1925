// SPDX-License-Identifier: GPL-2.0-or-later
#include "sim/air/samples/channel.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <stdexcept>
#include <string>

#include "sim/air/blocked_links.hpp"
#include "sim/air/loss_model.hpp"
#include "sim/air/mix.hpp"

namespace perhop::air::samples {

namespace {

constexpr std::uint64_t seed_stream_noise = 0x6e6f'6973;
constexpr std::uint64_t seed_stream_clocks = 0x636c'6f63;
constexpr std::uint64_t seed_stream_phases = 0x7068'6173;

double uniform(std::uint64_t bits) { return static_cast<double>(bits >> 11) * 0x1p-53; }

/// Node i has entry i of the list, which is repeated; 0 if it is empty.
double of_node(const std::vector<double>& list, node_id node) { return list.empty() ? 0 : list[node % list.size()]; }

std::complex<double> turned(double turns) { return std::polar(1.0, 2 * std::numbers::pi * (turns - std::floor(turns))); }

}  // namespace

double receiver_noise_dbm(const medium_config& medium) {
  constexpr double thermal_dbm_per_hz = -173.98;  // k 290 K
  if (medium.noise_dbm) return *medium.noise_dbm;
  return thermal_dbm_per_hz + 10 * std::log10(sample_rate_hz) + medium.samples.noise_figure_db;
}

channel::channel(const air_config& config) : config_(config), noise_w_(watts_from_dbm(receiver_noise_dbm(config.medium))) {
  noise_steps_ = amplitude_steps(noise_w_) / std::numbers::sqrt2;
  for (node_id id = 0; id < config.nodes.size(); ++id) {
    // Nobody's samples fall where another's do.
    const node_clock clock{.first = uniform(random_bits(config.seed, seed_stream_clocks, id)),
                           .period = 1 / (1 + of_node(config.medium.samples.clock_offset_ppm, id) * 1e-6)};
    nodes_.push_back({clock, {}, noise(random_bits(config.seed, seed_stream_noise, id)), {}});
  }
  renew_links();
}

double channel::amplitude_steps(double power_w) const {
  return full_scale_steps * std::sqrt(power_w / watts_from_dbm(config_.medium.samples.full_scale_dbm));
}

double channel::propagation_us(node_id from, node_id to) const {
  if (config_.medium.propagation_us) return *config_.medium.propagation_us;
  return distance_m(config_.nodes[from], config_.nodes[to]) / speed_of_light_m_per_us;
}

double channel::power_w(node_id from, node_id to) const {
  if (from == to || is_blocked(config_, from, to)) return 0;
  return make_loss_model(config_.medium)->received_power_w(distance_m(config_.nodes[from], config_.nodes[to]));
}

void channel::renew_links() {
  const medium_config& medium = config_.medium;
  std::vector<multipath_tap> taps = medium.samples.taps;
  if (taps.empty()) taps.push_back({.phase_deg = 0});
  for (node_id to = 0; to < nodes_.size(); ++to) {
    nodes_[to].links.clear();
    for (node_id from = 0; from < nodes_.size(); ++from) {
      const double received_w = power_w(from, to);
      if (received_w <= noise_w_ * ratio_from_db(-negligible_db)) continue;
      link& added = nodes_[to].links.emplace_back();
      added.from = from;
      added.turns_per_sample =
          (of_node(medium.samples.carrier_offset_hz, from) - of_node(medium.samples.carrier_offset_hz, to)) / sample_rate_hz;
      const std::uint64_t phases = random_bits(config_.seed ^ seed_stream_phases, from, to);
      for (std::size_t index = 0; index < taps.size(); ++index) {
        const multipath_tap& tap = taps[index];
        const double turns = uniform(phases) + (tap.phase_deg ? *tap.phase_deg / 360 : uniform(random_bits(phases, index, 0)));
        const double steps = amplitude_steps(received_w * ratio_from_db(tap.gain_db)) / transmitter_level_steps;
        const double delay_samples = samples_of_us(propagation_us(from, to) + tap.delay_ns * 1e-3) + converter_delay_samples;
        if (delay_samples > sent_wave::longest_delay_samples) {
          throw std::invalid_argument("medium.samples: what node " + std::to_string(from) + " sends reaches node " + std::to_string(to) +
                                      " after more than " + std::to_string(static_cast<int>(us_of(sent_wave::longest_delay_samples))) +
                                      " us; place them nearer to each other, or shorten the delays of taps");
        }
        added.paths.push_back({delay_samples, steps * turned(turns)});
      }
    }
  }
}

std::complex<double> channel::signal(node_id node, sample_time at) const {
  std::complex<double> sum = 0;
  for (const link& link : nodes_[node].links) {
    const channel::node& sender = nodes_[link.from];
    std::complex<double> arrives = 0;
    for (const path& path : link.paths) {
      const double place = sender.clock.number_at(at - path.delay_samples);
      if (sender.wave.sounds_at(place)) arrives += path.gain * sender.wave.at(place, interpolator_);
    }
    if (arrives != 0.0) sum += arrives * (link.turns_per_sample == 0 ? 1 : turned(link.turns_per_sample * at));
  }
  return sum;
}

converted_sample channel::receive(node_id node, sample_time at) {
  const std::complex<double> steps = signal(node, at) + noise_steps_ * nodes_[node].thermal.next();
  saturated_ += std::max(std::abs(steps.real()), std::abs(steps.imag())) > full_scale_steps + 0.5;
  return converted(steps);
}

void channel::set_position(node_id node, node_position position) {
  config_.nodes[node] = position;
  renew_links();
}

void channel::set_blocked(node_id one, node_id other, bool blocked) {
  change_blocked(config_, one, other, blocked);
  renew_links();
}

void channel::set_silent(node_id node, bool silent) {
  change_silent(config_, node, silent);
  renew_links();
}

}  // namespace perhop::air::samples
