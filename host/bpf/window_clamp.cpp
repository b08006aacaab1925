// SPDX-License-Identifier: GPL-2.0-or-later
#include "host/bpf/window_clamp.hpp"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <system_error>

#include "host/bpf/window_clamp_map.h"

// window_clamp.bpf.c, compiled.
// NOLINTNEXTLINE(hicpp-no-assembler)
asm(R"(
  .section .rodata
  .balign 8
perhop_window_clamp_begin:
  .incbin ")" PERHOP_WINDOW_CLAMP_OBJECT R"("
perhop_window_clamp_end:
  .byte 0
  .previous
)");
extern "C" {
extern const char perhop_window_clamp_begin[];
extern const char perhop_window_clamp_end[];
}

namespace perhop::bpf {

namespace {

constexpr std::uint32_t cgroup2_magic = 0x6367'7270;
constexpr const char* kernel_types = "/sys/kernel/btf/vmlinux";

[[noreturn]] void refuse(const std::string& what, int error, const std::string& remedy) {
  const std::string reason = error != 0 ? ": " + std::generic_category().message(error) : "";
  throw clamp_error(what + reason + "; " + remedy);
}

/// libbpf says much; its first warning says what went wrong.
std::string& first_warning() {
  static std::string text;
  return text;
}

int note_warning(libbpf_print_level level, const char* format, va_list words) {
  if (level != LIBBPF_WARN || !first_warning().empty()) return 0;
  std::array<char, 512> line{};
  const int size = std::vsnprintf(line.data(), line.size(), format, words);
  first_warning() = line.data();
  while (!first_warning().empty() && first_warning().back() == '\n') first_warning().pop_back();
  return size;
}

/// From 5.19 on a process without capabilities may change a map that it holds.
void check_kernel() {
  utsname kernel{};
  int major = 0, minor = 0;
  uname(&kernel);
  if (std::sscanf(kernel.release, "%d.%d", &major, &minor) == 2 && (major < 5 || (major == 5 && minor < 19))) {
    refuse(std::string("this is Linux ") + kernel.release, 0, "use Linux 5.19 or newer");
  }
}

struct capability {
  unsigned number;
  const char* name;
};
constexpr std::array needed{capability{CAP_BPF, "CAP_BPF"}, capability{CAP_NET_ADMIN, "CAP_NET_ADMIN"},
                            capability{CAP_PERFMON, "CAP_PERFMON"}};

/// The kernel's own answers do not say which one it misses.
void check_capabilities() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> held{};
  if (syscall(SYS_capget, &header, held.data()) < 0) return;
  for (const capability& one : needed) {
    if ((held[one.number / 32].effective >> one.number % 32 & 1U) == 0) {
      refuse(std::string("this process has not ") + one.name, 0, "run it as root, or give it CAP_BPF, CAP_NET_ADMIN and CAP_PERFMON");
    }
  }
}

std::uint64_t own_network_namespace() {
  std::uint64_t cookie = 0;
  socklen_t size = sizeof cookie;
  const int any = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  const bool known = any >= 0 && getsockopt(any, SOL_SOCKET, SO_NETNS_COOKIE, &cookie, &size) == 0;
  const int error = errno;
  if (any >= 0) close(any);
  if (!known) refuse("the kernel does not name its network namespaces (SO_NETNS_COOKIE)", error, "use Linux 5.19 or newer");
  return cookie;
}

window_clamp_flow key_of(const shim::flow_key& flow) {
  window_clamp_flow key{};
  const auto write = [](const shim::ip_address& address, std::uint8_t* bytes) {
    for (std::size_t i = 0; i < 8; ++i) {
      bytes[i] = static_cast<std::uint8_t>(address.high >> 8 * (7 - i));
      bytes[i + 8] = static_cast<std::uint8_t>(address.low >> 8 * (7 - i));
    }
  };
  write(flow.source, key.source);
  write(flow.destination, key.destination);
  key.source_port = flow.source_port;
  key.destination_port = flow.destination_port;
  return key;
}

}  // namespace

struct window_clamp::programs {
  bpf_object* object = nullptr;
  bpf_link* hook = nullptr;      // of limit_socket
  bpf_link* egress = nullptr;    // of limit_packet
  bpf_link* iterator = nullptr;  // of limit_open_sockets
  int limits = -1;

  ~programs() {
    bpf_link__destroy(iterator);
    bpf_link__destroy(egress);
    bpf_link__destroy(hook);
    bpf_object__close(object);
  }
};

window_clamp::window_clamp(const std::string& cgroup) : programs_(std::make_unique<programs>()) {
  libbpf_set_print(note_warning);
  programs& made = *programs_;
  struct statfs where{};
  if (statfs(cgroup.c_str(), &where) < 0) refuse("cgroup " + cgroup, errno, "mount one: mount -t cgroup2 none " + cgroup);
  if (static_cast<std::uint32_t>(where.f_type) != cgroup2_magic) {
    refuse(cgroup + " is no cgroup of version 2", 0, "name one: `findmnt -t cgroup2` tells where they are");
  }
  if (access(kernel_types, R_OK) < 0) refuse(kernel_types, errno, "use a kernel with CONFIG_DEBUG_INFO_BTF");
  check_kernel();
  check_capabilities();
  const std::uint64_t own_namespace = own_network_namespace();

  bpf_object_open_opts options{};
  options.sz = sizeof options;
  options.object_name = "window_clamp";
  made.object = bpf_object__open_mem(perhop_window_clamp_begin,
                                     static_cast<std::size_t>(perhop_window_clamp_end - perhop_window_clamp_begin), &options);
  if (made.object == nullptr) refuse("the BPF programs cannot be read (" + first_warning() + ")", errno, "build perhop-node again");
  bpf_map* const constants = bpf_object__find_map_by_name(made.object, ".rodata");
  if (constants == nullptr || bpf_map__set_initial_value(constants, &own_namespace, sizeof own_namespace) != 0) {
    refuse("the BPF programs have other constants than this daemon", 0, "build perhop-node again");
  }
  if (const int result = bpf_object__load(made.object); result < 0) {
    refuse("the kernel refuses the BPF programs (" + first_warning() + ")", -result, "use Linux 5.19 or newer");
  }
  const int folder = open(cgroup.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) refuse("cgroup " + cgroup, errno, "let this process read it");
  made.hook = bpf_program__attach_cgroup(bpf_object__find_program_by_name(made.object, "limit_socket"), folder);
  if (made.hook != nullptr) made.egress = bpf_program__attach_cgroup(bpf_object__find_program_by_name(made.object, "limit_packet"), folder);
  const int error = errno;
  close(folder);
  if (made.egress == nullptr) {
    refuse((made.hook == nullptr ? "sock_ops" : "cgroup_skb") + (" cannot be attached to cgroup " + cgroup), error, "name another cgroup");
  }
  made.iterator = bpf_program__attach_iter(bpf_object__find_program_by_name(made.object, "limit_open_sockets"), nullptr);
  if (made.iterator == nullptr) refuse("iter/tcp cannot be attached", errno, "use Linux 5.19 or newer");
  made.limits = bpf_map__fd(bpf_object__find_map_by_name(made.object, "limits"));
}

window_clamp::~window_clamp() = default;

void window_clamp::set(const shim::flow_key& flow, std::optional<std::uint32_t> packets) {
  const window_clamp_flow key = key_of(flow);
  const window_clamp_packets value = packets.value_or(0);
  ++counters_.changes;
  if (bpf_map_update_elem(programs_->limits, &key, &value, BPF_ANY) < 0) ++counters_.failed;
}

void window_clamp::forget(const shim::flow_key& flow) {
  const window_clamp_flow key = key_of(flow);
  bpf_map_delete_elem(programs_->limits, &key);
}

void window_clamp::apply_now() {
  ++counters_.scans;
  const int sockets = bpf_iter_create(bpf_link__fd(programs_->iterator));
  std::array<char, 64> nothing{};
  ssize_t size = -1;
  // The program runs while it is read; it writes nothing.
  if (sockets >= 0) {
    do {
      size = read(sockets, nothing.data(), nothing.size());
    } while (size > 0 || (size < 0 && (errno == EAGAIN || errno == EINTR)));
    close(sockets);
  }
  if (size < 0) ++counters_.failed;
}

}  // namespace perhop::bpf
