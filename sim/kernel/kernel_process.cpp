// SPDX-License-Identifier: GPL-2.0-or-later
#include "sim/kernel/kernel_process.hpp"

#include <fcntl.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <system_error>

namespace perhop::kernels {

namespace {

constexpr int exit_not_started = 127;

[[noreturn]] void fail(const char* what) { throw std::system_error(errno, std::generic_category(), what); }

/// A kernel is the leader of a session, and so of a group that all of its processes are in.
void kill_kernel(pid_t kernel) {
  kill(-kernel, SIGKILL);
  kill(kernel, SIGKILL);
}

/// In the watchdog's process: reads which kernels there are, and ends them when nobody holds the other end of the pipe any more.
[[noreturn]] void watch(int pipe) {
  setpgid(0, 0);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) std::signal(number, SIG_IGN);
  close_range(0, static_cast<unsigned>(pipe) - 1, 0);
  close_range(static_cast<unsigned>(pipe) + 1, ~0U, 0);
  std::vector<pid_t> kernels;
  pid_t kernel = 0;
  for (ssize_t got = 0; (got = read(pipe, &kernel, sizeof kernel)) == sizeof kernel || (got < 0 && errno == EINTR);) {
    if (got > 0) kernels.push_back(kernel);
  }
  for (const pid_t known : kernels) kill_kernel(known);
  _exit(0);
}

double seconds_of(const timeval& time) { return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6; }

}  // namespace

kernel_processes::kernel_processes() {
  // What a kernel has started and left becomes ours, so that we can wait for it.
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) fail("pipe");
  const descriptor watched(ends[0]);
  alive_ = descriptor(ends[1]);
  watchdog_ = fork();
  if (watchdog_ < 0) fail("fork");
  if (watchdog_ == 0) watch(ends[0]);
}

kernel_processes::~kernel_processes() { end(); }

void kernel_processes::start(const std::filesystem::path& folder, const kernel_command& command) {
  std::vector<std::string> arguments = command.arguments;
  arguments.insert(arguments.begin(), std::string("./") + kernel_link);
  std::vector<char*> argument_pointers;
  for (std::string& argument : arguments) argument_pointers.push_back(argument.data());
  argument_pointers.push_back(nullptr);
  // As long as ever, whatever the seed: it lies on the kernel's stack.
  std::array<char, 48> seed{};
  std::snprintf(seed.data(), seed.size(), "PERHOP_RANDOM_%s=%020llu", command.seed ? "SEED" : "NONE",
                static_cast<unsigned long long>(command.seed.value_or(0)));
  std::string preload = std::string("LD_PRELOAD=./") + random_link;
  std::string path = "PATH=/usr/bin:/bin", home = "HOME=/", temporary = "TMPDIR=/dev/shm";
  const std::array<char*, 6> environment{path.data(), home.data(), temporary.data(), preload.data(), seed.data(), nullptr};

  const descriptor console(open((folder / command.console).c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0644));
  const descriptor nothing(open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!console || !nothing) fail((folder / command.console).c_str());
  const pid_t child = fork();
  if (child < 0) fail("fork");
  if (child > 0) {
    kernels_.push_back(child);
    if (write(alive_.number(), &child, sizeof child) != sizeof child) fail("pipe");
    return;
  }
  setsid();
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  if ((command.fixed_layout && personality(ADDR_NO_RANDOMIZE) < 0) || chdir(folder.c_str()) != 0 || dup2(nothing.number(), 0) < 0 ||
      dup2(console.number(), 1) < 0 || dup2(console.number(), 2) < 0) {
    _exit(exit_not_started);
  }
  std::signal(SIGINT, SIG_DFL);
  execve(arguments[0].c_str(), argument_pointers.data(), environment.data());
  std::perror("perhop-kernel: the kernel cannot be started");
  _exit(exit_not_started);
}

double kernel_processes::end() {
  if (watchdog_ < 0) return 0;
  for (const pid_t kernel : kernels_) kill_kernel(kernel);
  alive_ = descriptor();
  rusage before{}, after{};
  getrusage(RUSAGE_CHILDREN, &before);
  while (waitpid(-1, nullptr, 0) > 0 || errno == EINTR) {}
  getrusage(RUSAGE_CHILDREN, &after);
  watchdog_ = -1;
  return seconds_of(after.ru_utime) + seconds_of(after.ru_stime) - seconds_of(before.ru_utime) - seconds_of(before.ru_stime);
}

}  // namespace perhop::kernels
