// SPDX-License-Identifier: GPL-2.0-or-later
/// One run with Linux kernels where its flows end, in virtual time: from run.json to result.json.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <string>

#include "sim/kernel/calendar.hpp"
#include "sim/run/run_config.hpp"

namespace perhop::kernels {

/// What kernels are made of.
struct kernel_files {
  std::filesystem::path kernel;         ///< the image, a program of User-Mode Linux
  std::filesystem::path flow_end;       ///< an archive of its first and only program
  std::filesystem::path seeded_random;  ///< the library that it is preloaded with
};

/// How a run is made. Nothing of the first part changes what comes out.
struct run_options {
  bool shared_memory = true;
  bool free_running = true;
  bool own_core = true;
  // What runs that repeat need. A test leaves each of them out, and must see that.
  bool seeded = true;              ///< the kernels' entropy
  bool fixed_layout = true;        ///< of their addresses
  bool fixed_command_line = true;  ///< false: it names this process
  bool fixed_time_of_day = true;   ///< false: the host's
  std::chrono::milliseconds patience{60'000};
};

/// A run that has ended before its time; what was measured is written.
struct run_outcome {
  bool interrupted = false;
  std::string failure;  ///< in words for a person; empty: none
};

/// Makes a run and writes its files. @param on_progress is told the run's time in seconds; @param interrupted ends it early
/// @throws run::config_error, std::exception what keeps it from beginning, or from writing
run_outcome make_run(run::run_config config, const kernel_files& files, const run_options& options,
                     const std::function<void(double)>& on_progress, const std::function<bool()>& interrupted);

}  // namespace perhop::kernels
