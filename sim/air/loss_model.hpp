// SPDX-License-Identifier: GPL-2.0-or-later
/// Received power as a function of distance.
#pragma once

#include <cmath>
#include <memory>

#include "sim/air/air_config.hpp"

namespace perhop::air {

class loss_model {
public:
  virtual ~loss_model() = default;
  /// @param distance_m metres; less than 1 m counts as 1 m
  /// @return watts; 0 if nothing arrives
  virtual double received_power_w(double distance_m) const = 0;
};

std::unique_ptr<loss_model> make_loss_model(const medium_config& config);

inline constexpr double speed_of_light_m_per_us = 299.8;

inline double distance_m(const node_position& one, const node_position& other) {
  return std::hypot(other.x_m - one.x_m, other.y_m - one.y_m);
}

double watts_from_dbm(double dbm);
double ratio_from_db(double db);

}  // namespace perhop::air
