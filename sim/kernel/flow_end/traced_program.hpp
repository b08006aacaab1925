// SPDX-License-Identifier: GPL-2.0-or-later
/// Programs in a kernel beside its flows: starts them at their moments, and tells what those that are traced do with their connections.
///
/// A program is traced as by strace, with all that it starts. That takes virtual time only where the clock is read, 256 ns each.
#pragma once

#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

namespace perhop::kernels {

struct planned_program {
  long long start_ns = 0;
  bool traced = false;
  std::string command;
  bool started = false;
};

class programs {
public:
  void add(planned_program program) { planned_.push_back(std::move(program)); }

  /// From now on something has happened to a process when this descriptor can be read. -1: it cannot be told.
  int watch();
  /// The earliest start that has not come; LLONG_MAX: none.
  long long next_start() const;
  /// Starts what is due.
  void start_due(long long now_ns);
  /// Something has happened to a process: tells it, and lets it go on. Never waits.
  void look();

private:
  /// A process of a program, and the call that it is in.
  struct process {
    std::size_t program = 0;
    bool in_call = false;
    long long call = 0, descriptor = 0, entered_ns = 0;
  };

  void start(std::size_t program);
  void on_stop(pid_t id, int status);
  void on_call(pid_t id, process& of);
  void tell_call(pid_t id, const process& of, long long result) const;

  int signals_ = -1;
  std::vector<planned_program> planned_;
  std::map<pid_t, process> processes_;
};

}  // namespace perhop::kernels
