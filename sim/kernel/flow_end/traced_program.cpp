// SPDX-License-Identifier: GPL-2.0-or-later
#include "sim/kernel/flow_end/traced_program.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/ptrace.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <csignal>
#include <cstdio>
#include <ctime>

namespace perhop::kernels {

namespace {

constexpr long long second_ns = 1'000'000'000;
constexpr int exit_not_started = 127;
constexpr const char* shell = "/bin/sh";
// A stop of ptrace that is a call's, by PTRACE_O_TRACESYSGOOD.
constexpr int call_stop = SIGTRAP | 0x80;
constexpr long trace_options =
    PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL;

struct told_call {
  long long number;
  const char* name;
};
constexpr std::array<told_call, 11> told_calls{{{SYS_read, "read"},
                                                {SYS_readv, "readv"},
                                                {SYS_recvfrom, "recvfrom"},
                                                {SYS_recvmsg, "recvmsg"},
                                                {SYS_write, "write"},
                                                {SYS_writev, "writev"},
                                                {SYS_sendto, "sendto"},
                                                {SYS_sendmsg, "sendmsg"},
                                                {SYS_sendfile, "sendfile"},
                                                {SYS_shutdown, "shutdown"},
                                                {SYS_connect, "connect"}}};

const char* name_of(long long call) {
  const auto found = std::find_if(told_calls.begin(), told_calls.end(), [call](const told_call& one) { return one.number == call; });
  return found == told_calls.end() ? nullptr : found->name;
}

long long now_ns() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * second_ns + time.tv_nsec;
}

std::string text_of(const sockaddr_in& address) {
  std::array<char, INET_ADDRSTRLEN> text{};
  inet_ntop(AF_INET, &address.sin_addr, text.data(), text.size());
  return std::string(text.data()) + ":" + std::to_string(ntohs(address.sin_port));
}

/// The ends of a connection of another process. @return false when the descriptor is none of TCP over IPv4
bool ends_of(pid_t process, long long descriptor, std::string& here, std::string& there) {
  const int of = static_cast<int>(syscall(SYS_pidfd_open, process, 0));
  if (of < 0) return false;
  const int copy = static_cast<int>(syscall(SYS_pidfd_getfd, of, static_cast<int>(descriptor), 0));
  close(of);
  if (copy < 0) return false;
  int protocol = 0;
  socklen_t length = sizeof protocol;
  sockaddr_storage own{}, other{};
  socklen_t own_length = sizeof own, other_length = sizeof other;
  const bool tcp = getsockopt(copy, SOL_SOCKET, SO_PROTOCOL, &protocol, &length) == 0 && protocol == IPPROTO_TCP &&
                   getsockname(copy, reinterpret_cast<sockaddr*>(&own), &own_length) == 0 &&
                   getpeername(copy, reinterpret_cast<sockaddr*>(&other), &other_length) == 0;
  close(copy);
  if (!tcp) return false;
  const auto ipv4 = [](const sockaddr_storage& address) {
    sockaddr_in found{};
    if (address.ss_family == AF_INET6) {
      // A socket of IPv6 that an IPv4 connection came to: the address is the last four bytes.
      const auto& mapped = reinterpret_cast<const sockaddr_in6&>(address);
      found.sin_port = mapped.sin6_port;
      std::copy_n(mapped.sin6_addr.s6_addr + 12, 4, reinterpret_cast<unsigned char*>(&found.sin_addr));
    } else {
      found = reinterpret_cast<const sockaddr_in&>(address);
    }
    return found;
  };
  here = text_of(ipv4(own));
  there = text_of(ipv4(other));
  return true;
}

}  // namespace

int programs::watch() {
  sigset_t children;
  sigemptyset(&children);
  sigaddset(&children, SIGCHLD);
  sigprocmask(SIG_BLOCK, &children, nullptr);
  signals_ = signalfd(-1, &children, SFD_NONBLOCK | SFD_CLOEXEC);
  return signals_;
}

long long programs::next_start() const {
  long long next = LLONG_MAX;
  for (const planned_program& program : planned_) {
    if (!program.started) next = std::min(next, program.start_ns);
  }
  return next;
}

void programs::start_due(long long now) {
  for (std::size_t index = 0; index < planned_.size(); ++index) {
    if (!planned_[index].started && planned_[index].start_ns <= now) start(index);
  }
}

void programs::start(std::size_t index) {
  planned_program& program = planned_[index];
  program.started = true;
  std::vector<std::string> words;
  if (access(shell, X_OK) == 0) {
    words = {shell, "-c", program.command};
  } else {
    for (std::size_t at = 0, end = 0; at < program.command.size(); at = end + 1) {
      end = std::min(program.command.find(' ', at), program.command.size());
      if (end != at) words.push_back(program.command.substr(at, end - at));
    }
  }
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  std::printf("{\"program\": %zu, \"started_ns\": %lld}\n", index, now_ns());
  std::fflush(stdout);
  const pid_t child = fork();
  if (child < 0) {
    std::printf("{\"problem\": \"a program cannot be started\"}\n");
    return;
  }
  if (child == 0) {
    setsid();
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    setenv("PATH", "/usr/sbin:/usr/bin:/sbin:/bin", 1);
    setenv("HOME", "/", 1);
    if (program.traced) {
      ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
      raise(SIGSTOP);
    }
    execvp(arguments[0], arguments.data());
    _exit(exit_not_started);
  }
  processes_[child] = {.program = index};
  if (!program.traced) return;
  int status = 0;
  if (waitpid(child, &status, 0) != child || !WIFSTOPPED(status)) return;
  ptrace(PTRACE_SETOPTIONS, child, nullptr, reinterpret_cast<void*>(trace_options));
  ptrace(PTRACE_SYSCALL, child, nullptr, nullptr);
}

void programs::look() {
  for (signalfd_siginfo told{}; read(signals_, &told, sizeof told) > 0;) {}
  int status = 0;
  for (pid_t id = 0; (id = waitpid(-1, &status, WNOHANG | __WALL)) > 0;) {
    if (WIFSTOPPED(status)) {
      on_stop(id, status);
      continue;
    }
    const auto ended = processes_.find(id);
    if (ended == processes_.end()) continue;
    std::printf("{\"program\": %zu, \"process\": %d, \"ended_ns\": %lld, \"status\": %d}\n", ended->second.program, id, now_ns(),
                WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
    processes_.erase(ended);
  }
}

void programs::on_stop(pid_t id, int status) {
  const int signal = WSTOPSIG(status);
  long pass = 0;
  if (signal == call_stop) {
    on_call(id, processes_[id]);
  } else if (signal == SIGTRAP && status >> 16 != 0) {
    if (const int event = status >> 16; event == PTRACE_EVENT_FORK || event == PTRACE_EVENT_VFORK || event == PTRACE_EVENT_CLONE) {
      unsigned long child = 0;
      ptrace(PTRACE_GETEVENTMSG, id, nullptr, &child);
      processes_[static_cast<pid_t>(child)].program = processes_[id].program;
    }
  } else if (signal != SIGSTOP) {
    pass = signal;
  }
  ptrace(PTRACE_SYSCALL, id, nullptr, reinterpret_cast<void*>(pass));
}

void programs::on_call(pid_t id, process& of) {
  user_regs_struct registers{};
  if (ptrace(PTRACE_GETREGS, id, nullptr, &registers) != 0) return;
  of.in_call = !of.in_call;
  if (of.in_call) {
    of.call = static_cast<long long>(registers.orig_rax);
    of.descriptor = static_cast<long long>(registers.rdi);
    of.entered_ns = now_ns();
  } else {
    tell_call(id, of, static_cast<long long>(registers.rax));
  }
}

void programs::tell_call(pid_t id, const process& of, long long result) const {
  const char* const name = name_of(of.call);
  std::string here, there;
  if (name == nullptr || !ends_of(id, of.descriptor, here, there)) return;
  std::printf(
      "{\"program\": %zu, \"call\": \"%s\", \"process\": %d, \"at_ns\": %lld, \"until_ns\": %lld, \"bytes\": %lld, \"here\": \"%s\", "
      "\"there\": \"%s\"}\n",
      of.program, name, id, of.entered_ns, now_ns(), result, here.c_str(), there.c_str());
}

}  // namespace perhop::kernels
