// SPDX-License-Identifier: GPL-2.0-or-later
//
// A fuzzer's bytes as a source of choices. When they run out every further choice is 0.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <type_traits>

namespace perhop::fuzz {

/// What must hold whatever the input; libFuzzer keeps the input that broke it.
inline void expect(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "INVARIANT BROKEN: %s\n", what);
  std::abort();
}

class input {
public:
  explicit input(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}

  bool empty() const { return bytes_.empty(); }

  template <typename number_type>
    requires std::unsigned_integral<number_type>
  number_type number() {
    std::uint64_t value = 0;
    for (std::size_t byte = 0; byte != sizeof(number_type); ++byte) value = value << 8 | next();
    return static_cast<number_type>(value);
  }

  bool flag() { return (next() & 1) != 0; }

  /// One of 0 .. count - 1.
  std::uint32_t choice(std::uint32_t count) { return next() % count; }

  /// A number in which the ends of the range, 0 and small numbers are as likely as all others.
  template <typename number_type>
    requires std::unsigned_integral<number_type>
  number_type hostile() {
    constexpr auto max = static_cast<number_type>(-1);
    switch (choice(6)) {
      case 0:
        return 0;
      case 1:
        return max;
      case 2:
        return static_cast<number_type>(max - next());
      case 3:
        return static_cast<number_type>(next() & 15);
      case 4:
        return static_cast<number_type>(number_type{1} << (next() % (8 * sizeof(number_type))));
      default:
        return number<number_type>();
    }
  }

  /// At most `count` bytes.
  std::span<const std::uint8_t> take(std::size_t count) {
    const auto taken = bytes_.first(count < bytes_.size() ? count : bytes_.size());
    bytes_ = bytes_.subspan(taken.size());
    return taken;
  }

private:
  std::uint8_t next() {
    if (bytes_.empty()) return 0;
    const std::uint8_t value = bytes_.front();
    bytes_ = bytes_.subspan(1);
    return value;
  }

  std::span<const std::uint8_t> bytes_;
};

}  // namespace perhop::fuzz
