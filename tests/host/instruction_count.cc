// SPDX-License-Identifier: GPL-2.0-or-later

#include "tests/host/instruction_count.hpp"

#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

namespace {

std::optional<std::uint64_t> count_by_perf(const std::function<void()>& work) {
  perf_event_attr attributes{};
  attributes.type = PERF_TYPE_HARDWARE;
  attributes.size = sizeof attributes;
  attributes.config = PERF_COUNT_HW_INSTRUCTIONS;
  attributes.disabled = 1;
  attributes.exclude_kernel = 1;
  attributes.exclude_hv = 1;
  const int counter = static_cast<int>(syscall(SYS_perf_event_open, &attributes, 0, -1, -1, 0));
  if (counter < 0) return std::nullopt;
  ioctl(counter, PERF_EVENT_IOC_ENABLE, 0);
  work();
  ioctl(counter, PERF_EVENT_IOC_DISABLE, 0);
  std::uint64_t instructions = 0;
  const bool complete = read(counter, &instructions, sizeof instructions) == sizeof instructions;
  close(counter);
  return complete ? std::optional(instructions) : std::nullopt;
}

// The child stops itself before and after the work; between the two the parent steps it.
std::optional<std::uint64_t> count_by_steps(const std::function<void()>& work) {
  const pid_t child = fork();
  if (child < 0) return std::nullopt;
  if (child == 0) {
    if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) _exit(1);
    std::raise(SIGSTOP);
    work();
    std::raise(SIGSTOP);
    _exit(0);
  }
  int status = 0;
  std::uint64_t steps = 0;
  bool complete = false;
  if (waitpid(child, &status, 0) == child && WIFSTOPPED(status)) {
    while (ptrace(PTRACE_SINGLESTEP, child, nullptr, nullptr) == 0 && waitpid(child, &status, 0) == child && WIFSTOPPED(status)) {
      if (WSTOPSIG(status) == SIGSTOP) {
        complete = true;
        break;
      }
      ++steps;
    }
  }
  if (!WIFEXITED(status)) {
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
  }
  return complete ? std::optional(steps) : std::nullopt;
}

}  // namespace

std::optional<instruction_count> count_instructions(const std::function<void()>& work) {
  const auto nothing = [] {};
  if (const auto by_perf = count_by_perf(work)) return instruction_count{*by_perf - *count_by_perf(nothing), "perf"};
  const auto by_steps = count_by_steps(work);
  const auto around = count_by_steps(nothing);
  if (!by_steps || !around) return std::nullopt;
  return instruction_count{*by_steps - *around, "single-step"};
}
