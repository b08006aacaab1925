// SPDX-License-Identifier: GPL-2.0-or-later
#include "sim/air/loss_model.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace perhop::air {

namespace {

// A little more than the cut-off counts as the cut-off: positions are decimal fractions.
constexpr double radius_tolerance = 1 + 1e-9;

constexpr double minimum_distance_m = 1;

/// Hard radii. Inside, power falls with the fourth power of distance, so that the capture ratio of reception_ns2 means the
/// same ratio of distances as over two_ray.
class range_loss final : public loss_model {
public:
  explicit range_loss(const medium_config& config)
      : tx_power_w_(watts_from_dbm(config.tx_power_dbm)), radius_m_(std::max(config.tx_range_m, config.cs_range_m)) {}

  double received_power_w(double distance_m) const override {
    if (distance_m > radius_m_ * radius_tolerance) return 0;
    return tx_power_w_ / std::pow(std::max(distance_m, minimum_distance_m), 4);
  }

private:
  double tx_power_w_;
  double radius_m_;
};

/// Two-ray ground reflection as ns-2.35 computes it (tworayground.cc): Friis up to the crossover distance, then
/// Pt ht^2 hr^2 / d^4; 914 MHz, antennas 1.5 m high with unit gain, no system loss.
class two_ray_loss final : public loss_model {
public:
  explicit two_ray_loss(const medium_config& config) : tx_power_w_(watts_from_dbm(config.tx_power_dbm)) {}

  double received_power_w(double distance_m) const override {
    constexpr double wavelength_m = 3.0e8 / 914.0e6;
    constexpr double antenna_height_m = 1.5;
    constexpr double crossover_m = 4 * std::numbers::pi * antenna_height_m * antenna_height_m / wavelength_m;
    const double clamped_m = std::max(distance_m, minimum_distance_m);
    if (clamped_m <= crossover_m) return tx_power_w_ * std::pow(wavelength_m / (4 * std::numbers::pi * clamped_m), 2);
    return tx_power_w_ * std::pow(antenna_height_m * antenna_height_m / (clamped_m * clamped_m), 2);
  }

private:
  double tx_power_w_;
};

/// Free space to 1 m at 2.4 GHz, then distance to the power of -loss_exponent.
class log_distance_loss final : public loss_model {
public:
  explicit log_distance_loss(const medium_config& config)
      : power_at_1_m_w_(watts_from_dbm(config.tx_power_dbm - 40.05)), exponent_(config.loss_exponent) {}

  double received_power_w(double distance_m) const override {
    return power_at_1_m_w_ * std::pow(std::max(distance_m, minimum_distance_m), -exponent_);
  }

private:
  double power_at_1_m_w_;
  double exponent_;
};

}  // namespace

std::unique_ptr<loss_model> make_loss_model(const medium_config& config) {
  switch (config.loss) {
    case loss_kind::range:
      return std::make_unique<range_loss>(config);
    case loss_kind::two_ray:
      return std::make_unique<two_ray_loss>(config);
    case loss_kind::log_distance:
      return std::make_unique<log_distance_loss>(config);
  }
  return nullptr;
}

double watts_from_dbm(double dbm) { return std::pow(10, (dbm - 30) / 10); }

double ratio_from_db(double db) { return std::pow(10, db / 10); }

}  // namespace perhop::air
