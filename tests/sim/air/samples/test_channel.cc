// SPDX-License-Identifier: GPL-2.0-or-later
//
// The channel alone, without gateware: what arrives against formulas of power, noise, frequency and delay.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <numbers>

#include "sim/air/samples/channel.hpp"

namespace perhop::air::samples {
namespace {

using complex = std::complex<double>;
using wave_function = std::function<complex(double number)>;

constexpr double thermal_dbm_per_hz = -173.98;

/// Two nodes so far apart; path loss of exponent 4, 24.5 dBm.
air_config two_nodes(double apart_m) {
  air_config config;
  config.nodes = {{0, 0}, {apart_m, 0}};
  config.seed = 7;
  return config;
}

/// A tone of that frequency in a sender's own samples, as strong as a frame.
wave_function tone(double hz) {
  return [hz](double number) { return std::polar(transmitter_level_steps, 2 * std::numbers::pi * hz / sample_rate_hz * number); };
}

/// Gives every node its samples in order of time, with what each sends; an empty function is silence.
struct drive {
  drive(const air_config& config, std::vector<wave_function> sent)
      : wire(config), waves(std::move(sent)), samples(waves.size()), signals(waves.size()), heard(waves.size()) {}

  /// Until every node has had so many samples.
  void run(double count) {
    while (true) {
      std::size_t next = 0;
      for (std::size_t node = 1; node < waves.size(); ++node) {
        if (time_of(node) < time_of(next)) next = node;
      }
      if (samples[next] >= count) return;
      const auto id = static_cast<node_id>(next);
      signals[next].push_back(wire.signal(id, time_of(next)));
      heard[next].push_back(wire.receive(id, time_of(next)));
      wire.send(id, waves[next] ? std::complex<float>(waves[next](samples[next])) : std::complex<float>());
      ++samples[next];
    }
  }
  sample_time time_of(std::size_t node) const { return wire.clock(static_cast<node_id>(node)).time_of(samples[node]); }

  channel wire;
  std::vector<wave_function> waves;
  std::vector<double> samples;
  std::vector<std::vector<complex>> signals;
  std::vector<std::vector<converted_sample>> heard;
};

/// Samples after which everything has arrived.
constexpr std::size_t settled = 400;

double mean_power(const std::vector<complex>& wave) {
  double sum = 0;
  for (std::size_t index = settled; index < wave.size(); ++index) sum += std::norm(wave[index]);
  return sum / static_cast<double>(wave.size() - settled);
}

/// Cycles a sample: the turn from each sample to the next, summed.
double frequency(const std::vector<complex>& wave) {
  complex turn = 0;
  double turned = 0;
  for (std::size_t index = settled + 1; index < wave.size(); ++index) {
    turn = wave[index] * std::conj(wave[index - 1]);
    turned += std::arg(turn);
  }
  return turned / (2 * std::numbers::pi) / static_cast<double>(wave.size() - settled - 1);
}

double decibels(double ratio) { return 10 * std::log10(ratio); }

TEST(samples_channel, a_frame_arrives_with_the_power_that_the_loss_model_says) {
  for (const double apart_m : {20.0, 100.0, 240.0}) {
    air_config config = two_nodes(apart_m);
    drive air(config, {tone(3e6), {}});
    air.run(2000);
    const double expected_dbm = 24.5 - 40 * std::log10(apart_m);
    const double full_scale_dbm = decibels(mean_power(air.signals[1]) / (32767.0 * 32767.0));
    EXPECT_NEAR(full_scale_dbm + config.medium.samples.full_scale_dbm, expected_dbm, 0.05) << apart_m << " m";
  }
}

TEST(samples_channel, noise_is_that_of_its_band_and_white) {
  air_config config = two_nodes(100);
  for (const double figure_db : {0.0, 6.0, 20.0}) {
    config.medium.samples.noise_figure_db = figure_db;
    drive air(config, {{}, {}});
    constexpr int count = 200'000;
    air.run(count);
    double squares = 0, mean = 0, neighbours = 0, before = 0, cross = 0;
    for (const auto& [i, q] : air.heard[1]) {
      squares += i * i + q * q;
      mean += i;
      neighbours += i * before;
      cross += i * q;
      before = i;
    }
    const double rounding = count / 6.0;  // 1/12 of I and of Q
    const double dbm = decibels((squares - rounding) / count / (32767.0 * 32767.0)) + config.medium.samples.full_scale_dbm;
    EXPECT_NEAR(dbm, thermal_dbm_per_hz + decibels(22e6) + figure_db, 0.05) << figure_db << " dB";
    // Of white noise these are Gaussian of deviation 1 / sqrt(count).
    const double limit = 5 / std::sqrt(count);
    EXPECT_NEAR(mean / std::sqrt(squares / 2 * count), 0, limit);
    EXPECT_NEAR(neighbours / (squares / 2), 0, limit);
    EXPECT_NEAR(cross / (squares / 2), 0, limit);
    config.medium.noise_dbm = -90;
    EXPECT_DOUBLE_EQ(receiver_noise_dbm(config.medium), -90);
    config.medium.noise_dbm.reset();
  }
}

TEST(samples_channel, nodes_and_seeds_hear_different_noise_and_the_same_seed_the_same) {
  air_config config = two_nodes(100);
  const auto heard = [](const air_config& of) {
    drive air(of, {{}, {}});
    air.run(50);
    std::vector<std::vector<int>> all(2);
    for (int node = 0; node < 2; ++node) {
      for (const auto& [i, q] : air.heard[static_cast<std::size_t>(node)])
        all[static_cast<std::size_t>(node)].insert(all[static_cast<std::size_t>(node)].end(), {i, q});
    }
    return all;
  };
  const auto first = heard(config);
  EXPECT_EQ(first, heard(config));
  EXPECT_NE(first[0], first[1]);
  config.seed = 8;
  EXPECT_NE(first, heard(config));
}

TEST(samples_channel, carriers_and_clocks_that_are_off_turn_a_tone_by_as_much) {
  constexpr double sent_hz = 2.5e6;
  for (const auto& [carriers, clocks] : std::vector<std::pair<std::vector<double>, std::vector<double>>>{
           {{}, {}}, {{61e3, -61e3}, {}}, {{}, {25, -25}}, {{-40e3, 10e3}, {-50, 50}}}) {
    air_config config = two_nodes(100);
    config.medium.samples.carrier_offset_hz = carriers;
    config.medium.samples.clock_offset_ppm = clocks;
    drive air(config, {tone(sent_hz), {}});
    air.run(20'000);
    const double carrier_hz = carriers.empty() ? 0 : carriers[0] - carriers[1];
    const double sender = clocks.empty() ? 0 : clocks[0] * 1e-6, receiver = clocks.empty() ? 0 : clocks[1] * 1e-6;
    // In the time of the receiver's own clock.
    const double expected_hz = (sent_hz * (1 + sender) + carrier_hz) / (1 + receiver);
    EXPECT_NEAR(frequency(air.signals[1]) * 22e6, expected_hz, 5);
  }
}

/// Time by which the wave is late, from how the phase falls with the frequency; of two tones half a megahertz apart, so modulo 2 us.
double group_delay_us(air_config config, double base_hz) {
  double phases[2];
  constexpr double step_hz = 0.5e6;
  for (int index = 0; index < 2; ++index) {
    const double hz = base_hz + index * step_hz;
    drive air(config, {tone(hz), {}});
    air.run(settled + 100);
    // Against the tone at the time at which the receiver takes its sample, as the sender's clock would tell it.
    const std::size_t at = settled + 50;
    const double number = air.wire.clock(0).number_at(air.wire.clock(1).time_of(static_cast<double>(at)));
    phases[index] = std::arg(air.signals[1][at] / tone(hz)(number));
  }
  double turns = (phases[0] - phases[1]) / (2 * std::numbers::pi);
  return (turns - std::floor(turns)) / (step_hz * 1e-6);
}

TEST(samples_channel, a_wave_comes_late_by_propagation_and_converter) {
  for (const double apart_m : {30.0, 123.4, 249.0}) {
    const double expected_us = apart_m / 299.8 + converter_delay_samples / 22;
    EXPECT_NEAR(group_delay_us(two_nodes(apart_m), 2e6), expected_us, 1e-3) << apart_m << " m";
  }
  air_config config = two_nodes(100);
  config.medium.propagation_us = 1;
  EXPECT_NEAR(group_delay_us(config, 2e6), 1 + converter_delay_samples / 22, 1e-3);
  config.medium.samples.taps = {{.delay_ns = 333, .gain_db = -3}};
  EXPECT_NEAR(group_delay_us(config, 2e6), 1.333 + converter_delay_samples / 22, 1e-3);
}

TEST(samples_channel, the_band_of_a_frame_passes_flat_between_samples) {
  // The transmitter's pulse has half its band at 5.5 MHz. Nodes have different sample phases: the wave is interpolated.
  air_config config = two_nodes(100);
  drive low(config, {tone(0.2e6), {}});
  low.run(3000);
  for (const double hz : {-7e6, -5.5e6, 3e6, 5.5e6, 7e6}) {
    drive air(config, {tone(hz), {}});
    air.run(3000);
    EXPECT_NEAR(decibels(mean_power(air.signals[1]) / mean_power(low.signals[1])), 0, 0.1) << hz;
  }
}

TEST(samples_channel, two_paths_cancel_where_they_are_half_a_cycle_apart) {
  air_config config = two_nodes(100);
  drive single(config, {tone(1e6), {}});
  single.run(1000);
  const double whole = mean_power(single.signals[1]);
  constexpr double delay_ns = 200;
  for (const double gain_db : {0.0, -6.0}) {
    config.medium.samples.taps = {{.phase_deg = 0}, {.delay_ns = delay_ns, .gain_db = gain_db, .phase_deg = 30}};
    for (const double hz : {0.5e6, 1e6, 2.5e6, 5e6}) {
      drive air(config, {tone(hz), {}});
      air.run(1000);
      const complex second = std::polar(std::pow(10, gain_db / 20), std::numbers::pi / 6 - 2 * std::numbers::pi * hz * delay_ns * 1e-9);
      EXPECT_NEAR(std::sqrt(mean_power(air.signals[1]) / whole), std::abs(1.0 + second), 5e-3) << hz << " Hz " << gain_db << " dB";
    }
  }
}

TEST(samples_channel, waves_of_several_senders_add_up_and_no_node_hears_itself) {
  air_config config;
  config.nodes = {{0, 0}, {100, 0}, {150, 80}};
  config.medium.samples.carrier_offset_hz = {20e3, 0, -35e3};
  std::vector<std::vector<complex>> heard;
  for (const auto& [first, third] : {std::pair(true, true), {true, false}, {false, true}}) {
    drive air(config, {first ? tone(1e6) : wave_function(), {}, third ? tone(-2e6) : wave_function()});
    air.run(1000);
    heard.push_back(air.signals[1]);
    if (!third) {
      EXPECT_EQ(mean_power(air.signals[0]), 0);
    }
  }
  ASSERT_GT(std::abs(heard[1][900]), 1);
  ASSERT_GT(std::abs(heard[2][900]), 1);
  for (std::size_t at = 0; at < 1000; ++at) ASSERT_LT(std::abs(heard[0][at] - heard[1][at] - heard[2][at]), 1e-9 * transmitter_level_steps);
}

TEST(samples_channel, what_is_too_strong_for_the_converter_is_cut_off_and_counted) {
  air_config config = two_nodes(5);  // -3.5 dBm, 22 dB above full scale
  drive air(config, {tone(3e6), {}});
  air.run(1000);
  int highest = 0, lowest = 0;
  for (const auto& [i, q] : air.heard[1]) {
    highest = std::max<int>({highest, i, q});
    lowest = std::min<int>({lowest, i, q});
  }
  EXPECT_EQ(highest, 32767);
  EXPECT_EQ(lowest, -32768);
  EXPECT_GT(air.wire.saturated_samples(), 900U);
  drive weak(two_nodes(100), {tone(3e6), {}});
  weak.run(1000);
  EXPECT_EQ(weak.wire.saturated_samples(), 0U);
}

TEST(samples_channel, links_come_and_go_and_nodes_move) {
  drive air(two_nodes(100), {tone(1e6), {}});
  const auto last_dbm = [&] {
    air.signals[1].clear();
    air.run(air.samples[1] + 1000);
    return decibels(mean_power(air.signals[1]) / (32767.0 * 32767.0)) - 26;
  };
  EXPECT_NEAR(last_dbm(), 24.5 - 80, 0.05);
  air.wire.set_position(0, {50, 0});
  EXPECT_NEAR(last_dbm(), 24.5 - 40 * std::log10(50), 0.05);
  air.wire.set_blocked(1, 0, true);
  EXPECT_EQ(mean_power((last_dbm(), air.signals[1])), 0);
  air.wire.set_blocked(0, 1, false);
  EXPECT_NEAR(last_dbm(), 24.5 - 40 * std::log10(50), 0.05);
  air.wire.set_silent(0, true);
  EXPECT_EQ(mean_power((last_dbm(), air.signals[1])), 0);
  air.wire.set_silent(0, false);
  air.wire.set_position(1, {10'000, 0});  // beyond both ranges
  EXPECT_EQ(mean_power((last_dbm(), air.signals[1])), 0);
}

TEST(samples_channel, what_has_been_forgotten_is_refused_with_the_nodes_names) {
  air_config config = two_nodes(450'000);
  config.medium.loss = loss_kind::log_distance;
  config.medium.loss_exponent = 1;
  try {
    channel refused(config);
    FAIL() << "1500 us are too late";
  } catch (const std::invalid_argument& error) {
    EXPECT_NE(std::string(error.what()).find("node 1 sends reaches node 0"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace perhop::air::samples
