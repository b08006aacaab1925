// SPDX-License-Identifier: GPL-2.0-or-later
/// \file
/// What the programs of this folder have in common: two radios, a plan on standard input, what came of it on standard output.
#pragma once

#include <exception>
#include <iostream>
#include <nlohmann/json.hpp>
#include <span>
#include <stdexcept>

#include "sim/bench/radio_top/radio_device.hpp"

namespace perhop::bench {

/// Writes each radio's registers as the plan says them. @throws std::runtime_error one refused a setting
inline void set_up(std::span<radio_device> radios, const nlohmann::json& plan) {
  for (std::size_t radio = 0; radio < radios.size(); ++radio) {
    for (const auto& each : plan.at("writes").at(radio)) radios[radio].write(each.at(0), each.at(1));
    for (const std::uint32_t error : plan.at("errors")) {
      if ((radios[radio].read(error) & 0xF) != 0) throw std::runtime_error("a setting was refused");
    }
  }
}

/// A program: reads the plan, prints what `run` makes of it. @return its exit status
inline int run_plan(const char* name, nlohmann::json (*run)(const nlohmann::json& plan)) {
  try {
    nlohmann::json plan;
    std::cin >> plan;
    std::cout << run(plan) << "\n";
    return 0;
  } catch (const std::exception& error) {
    std::cerr << name << ": " << error.what() << "\n";
    return 2;
  }
}

}  // namespace perhop::bench
