// SPDX-License-Identifier: GPL-2.0-or-later
//
// Preloaded into a kernel of User-Mode Linux: lets it run on processors whose vector registers are larger than it knows.
//
// User-Mode Linux keeps the registers of the programs in it, and gives them back by PTRACE_SETREGSET. Linux 6.12 has room for those up to
// AVX-512 and PKRU, 2,696 bytes (arch/x86/um/user-offsets.c). A host whose processor has more, such as AMX's tiles, takes nothing but the
// whole (EFAULT): no program would start. What the kernel does not know is in its initial state, because it never asks the host for it,
// so the whole is what it gives and a mask of components that leaves out the rest (Intel SDM, volume 1, 13.4: standard format of XSAVE).
#include <cpuid.h>
#include <dlfcn.h>
#include <sys/types.h>
#include <sys/uio.h>

#include <array>
#include <cstdint>
#include <cstring>

namespace {

constexpr int set_registers = 0x4205;           // PTRACE_SETREGSET
constexpr std::uintptr_t vector_state = 0x202;  // NT_X86_XSTATE
constexpr unsigned state_leaf = 0xD;            // of CPUID
constexpr std::size_t components_at = 512, header_end = 576;
constexpr unsigned first_extended = 2, most_components = 63;

struct state_layout {
  std::size_t whole_bytes = 0;  ///< 0: the processor has no such registers
  std::array<std::uint32_t, most_components> ends{};
};

state_layout look() {
  state_layout found;
  unsigned size = 0, whole = 0, most = 0, unused = 0;
  if (__get_cpuid_count(state_leaf, 0, &size, &whole, &most, &unused) == 0) return found;
  found.whole_bytes = whole;
  for (unsigned component = first_extended; component < most_components; ++component) {
    unsigned bytes = 0, at = 0, kind = 0;
    if (__get_cpuid_count(state_leaf, component, &bytes, &at, &kind, &unused) != 0 && bytes != 0) found.ends[component] = at + bytes;
  }
  return found;
}

}  // namespace

extern "C" long ptrace(int request, pid_t process, void* address, void* data) {
  using function = long (*)(int, pid_t, void*, void*);
  static const auto next = reinterpret_cast<function>(dlsym(RTLD_NEXT, "ptrace"));
  static const state_layout layout = look();
  static std::array<std::uint8_t, 65536> whole;
  const auto* given = static_cast<const iovec*>(data);
  const bool short_of_it = request == set_registers && reinterpret_cast<std::uintptr_t>(address) == vector_state &&
                           given->iov_len >= header_end && given->iov_len < layout.whole_bytes && layout.whole_bytes <= whole.size();
  if (!short_of_it) return next(request, process, address, data);
  std::memcpy(whole.data(), given->iov_base, given->iov_len);
  std::uint64_t components = 0;
  std::memcpy(&components, &whole[components_at], sizeof components);
  for (unsigned component = first_extended; component < most_components; ++component) {
    if (layout.ends[component] > given->iov_len) components &= ~(std::uint64_t{1} << component);
  }
  std::memcpy(&whole[components_at], &components, sizeof components);
  iovec all{.iov_base = whole.data(), .iov_len = layout.whole_bytes};
  return next(request, process, address, &all);
}
