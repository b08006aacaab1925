// SPDX-License-Identifier: GPL-2.0-or-later
//
// perhop-kernel --kernel IMAGE RUN.JSON: one run with Linux kernels where its flows end, in virtual time. Writes what perhop-sim does, and
// what each kernel said to kernel-N.log. More options change how a run is made, and nothing of what comes out:
//   --messages   time is told by messages, not by shared memory     --stepwise  kernels ask for each step of their own
//   --any-core   the run stays on no processor                      --patience S  of a kernel that lets no time pass, before it has failed
// --leave-out seed, layout, command_line or time_of_day is for tests: without that, two runs differ.
// Exit status: 0 done, 2 run.json is wrong, 130 interrupted (results so far are complete), 1 anything else (likewise).
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <string>
#include <string_view>

#include "sim/kernel/kernel_run.hpp"

namespace {

using namespace perhop;

constexpr std::chrono::milliseconds progress_interval{500};

volatile std::sig_atomic_t interrupted = 0;

/// Told often, it says so about twice a second of real time.
class progress {
public:
  explicit progress(double duration_s) : duration_s_(duration_s) { print(0); }
  void operator()(double now_s) {
    // Looking at the clock costs more than most steps do.
    if (++steps_ % 64 != 0) return;
    if (const auto wall = std::chrono::steady_clock::now(); wall - told_ >= progress_interval) {
      told_ = wall;
      print(now_s);
    }
  }
  void print(double now_s) const {
    std::printf("PROGRESS %.3f %.3f\n", now_s, duration_s_);
    std::fflush(stdout);
  }

private:
  double duration_s_;
  unsigned steps_ = 0;
  std::chrono::steady_clock::time_point told_ = std::chrono::steady_clock::now();
};

int usage() {
  std::fprintf(stderr,
               "usage: perhop-kernel --kernel IMAGE [--messages] [--stepwise] [--any-core] [--patience S] "
               "[--leave-out seed|layout|command_line|time_of_day] RUN.JSON\n");
  return run::exit_bad_config;
}

/// @return whether there is such a thing
bool leave_out(std::string_view what, kernels::run_options& options) {
  if (what == "seed") {
    options.seeded = false;
  } else if (what == "layout") {
    options.fixed_layout = false;
  } else if (what == "command_line") {
    options.fixed_command_line = false;
  } else if (what == "time_of_day") {
    options.fixed_time_of_day = false;
  } else {
    return false;
  }
  return true;
}

int make(const std::string& file, const kernels::kernel_files& files, const kernels::run_options& options) {
  const run::run_config config = run::load_run_config(file);
  run::load_own_policies(config);
  progress told(config.duration_s);
  const kernels::run_outcome outcome =
      kernels::make_run(config, files, options, [&told](double now_s) { told(now_s); }, [] { return interrupted != 0; });
  if (!outcome.failure.empty()) {
    std::fprintf(stderr, "perhop-kernel: %s\n", outcome.failure.c_str());
    return 1;
  }
  if (outcome.interrupted) return run::exit_interrupted;
  told.print(config.duration_s);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  kernels::run_options options;
  kernels::kernel_files files;
  std::string file;
  for (int index = 1; index < argc; ++index) {
    const std::string_view word = argv[index];
    if (word == "--kernel" && index + 1 < argc) {
      files.kernel = std::filesystem::absolute(argv[++index]);
    } else if (word == "--patience" && index + 1 < argc) {
      options.patience = std::chrono::milliseconds(std::max(1L, std::strtol(argv[++index], nullptr, 10)) * 1000);
    } else if (word == "--leave-out" && index + 1 < argc) {
      if (!leave_out(argv[++index], options)) return usage();
    } else if (word == "--messages") {
      options.shared_memory = false;
    } else if (word == "--stepwise") {
      options.free_running = false;
    } else if (word == "--any-core") {
      options.own_core = false;
    } else if (file.empty() && !word.starts_with("--")) {
      file = word;
    } else {
      return usage();
    }
  }
  if (file.empty() || files.kernel.empty()) return usage();
  std::signal(SIGINT, [](int) { interrupted = 1; });
  std::signal(SIGTERM, [](int) { interrupted = 1; });
  try {
    const std::filesystem::path beside = std::filesystem::read_symlink("/proc/self/exe").parent_path();
    files.flow_end = beside / "perhop-flow-end.cpio.gz";
    files.seeded_random = beside / "libperhop_seeded_random.so";
    for (const auto& needed : {files.kernel, files.flow_end, files.seeded_random}) {
      if (!std::filesystem::exists(needed)) {
        std::fprintf(stderr, "perhop-kernel: %s is not there\nremedy: run `make kernel`\n", needed.c_str());
        return 1;
      }
    }
    return make(file, files, options);
  } catch (const run::config_error& error) {
    std::fprintf(stderr, "perhop-kernel: %s\n", error.what());
    return run::exit_bad_config;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "perhop-kernel: %s\n", error.what());
    return 1;
  }
}
