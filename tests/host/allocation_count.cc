// SPDX-License-Identifier: GPL-2.0-or-later

#include "tests/host/allocation_count.hpp"

#include <cstdlib>
#include <new>

namespace {
std::uint64_t allocations = 0;
std::uint64_t allocated_bytes = 0;
}  // namespace

std::uint64_t allocation_count() { return allocations; }
std::uint64_t allocation_bytes() { return allocated_bytes; }

void* operator new(std::size_t bytes) {
  ++allocations;
  allocated_bytes += bytes;
  void* memory = std::malloc(bytes == 0 ? 1 : bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

// std::stable_sort and its like ask this way.
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  ++allocations;
  allocated_bytes += bytes;
  return std::malloc(bytes == 0 ? 1 : bytes);
}

void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
