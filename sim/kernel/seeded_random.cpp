// SPDX-License-Identifier: GPL-2.0-or-later
//
// Preloaded into a kernel of User-Mode Linux, whose entropy is the host's getrandom(): makes that a seeded generator (SplitMix64), so
// that the kernel, unmodified, draws the same numbers in every run. The seed is in the environment; without one, the host's it stays.
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace {

const char* seed() {
  static const char* const said = std::getenv("PERHOP_RANDOM_SEED");
  return said;
}

std::uint64_t next_word() {
  static std::uint64_t state = std::strtoull(seed(), nullptr, 10);
  std::uint64_t word = state += 0x9e37'79b9'7f4a'7c15;
  word = (word ^ word >> 30) * 0xbf58'476d'1ce4'e5b9;
  word = (word ^ word >> 27) * 0x94d0'49bb'1331'11eb;
  return word ^ word >> 31;
}

}  // namespace

extern "C" ssize_t getrandom(void* buffer, std::size_t length, unsigned flags) {
  if (seed() == nullptr) return syscall(SYS_getrandom, buffer, length, flags);
  auto* to = static_cast<std::uint8_t*>(buffer);
  for (std::size_t left = length; left > 0;) {
    const std::uint64_t word = next_word();
    const std::size_t part = left < sizeof word ? left : sizeof word;
    std::memcpy(to, &word, part);
    to += part;
    left -= part;
  }
  return static_cast<ssize_t>(length);
}
