// SPDX-License-Identifier: GPL-2.0-or-later
/// The receiver's analogue to digital converter: 16 bits, rounded, and no more than it can say.
#pragma once

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>

namespace perhop::air::samples {

struct converted_sample {
  std::int16_t i = 0, q = 0;
};

/// The converter's largest number. A wave whose amplitude it is has the power medium.samples.full_scale_dbm.
inline constexpr double full_scale_steps = 32767;

inline std::int16_t converted(double steps) {
  return static_cast<std::int16_t>(std::lrint(std::clamp(steps, -full_scale_steps - 1, full_scale_steps)));
}
inline converted_sample converted(std::complex<double> steps) { return {converted(steps.real()), converted(steps.imag())}; }

}  // namespace perhop::air::samples
