// SPDX-License-Identifier: GPL-2.0-or-later
/// Processes of kernels: started so that nothing of the host reaches into them, and all gone afterwards, whatever ends the run.
///
/// What a kernel sees must be the same in every run of the same file: its command line (it is mixed into the kernel's pool of entropy),
/// its environment, its files by relative paths, its addresses (no randomised layout), and what getrandom() gives
/// (seeded_random.cpp). Each kernel is the leader of a session of its own. A watchdog ends all of them when this process is gone.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "sim/kernel/descriptor.hpp"

namespace perhop::kernels {

struct kernel_command {
  std::vector<std::string> arguments;   ///< after the program's name; no path of this host in them
  std::optional<std::uint64_t> seed{};  ///< of getrandom(); nothing: as the host has it
  bool fixed_layout = true;             ///< of addresses; false: as the host has it
  std::string console;                  ///< file that takes what the kernel says, by its path from the folder
};

/// Names in a run's folder of what kernels are started with.
inline constexpr const char* kernel_link = "linux";
inline constexpr const char* random_link = "random.so";

class kernel_processes {
public:
  /// Starts the watchdog. @throws std::system_error
  kernel_processes();
  /// Ends all kernels and the processes that they have started, and waits for them.
  ~kernel_processes();
  kernel_processes(const kernel_processes&) = delete;
  kernel_processes& operator=(const kernel_processes&) = delete;

  /// @param folder holds kernel_link, random_link and the files that the arguments name
  /// @throws std::system_error
  void start(const std::filesystem::path& folder, const kernel_command& command);

  /// As the destructor does; waits for every child of this process. @return CPU seconds of those that were waited for
  double end();

private:
  descriptor alive_;  ///< the watchdog reads which kernels there are, and waits for its end
  pid_t watchdog_ = -1;
  std::vector<pid_t> kernels_;
};

}  // namespace perhop::kernels
