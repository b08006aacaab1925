// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <stdexcept>

namespace perhop::run {

/// run.json is wrong. what() names the file, the field and the remedy: `run.json: field mac.profile: unknown profile 'x'; one of ...`.
class config_error : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

/// Exit status of the programs after a config_error.
inline constexpr int exit_bad_config = 2;
/// ... and after SIGINT.
inline constexpr int exit_interrupted = 130;

}  // namespace perhop::run
