// SPDX-License-Identifier: GPL-2.0-or-later
#include "sim/kernel/split_queue.hpp"

#include <sys/mman.h>

#include <bit>
#include <cerrno>
#include <cstring>
#include <system_error>

namespace perhop::kernels {

namespace {

// Of the two rings: flags and index.
constexpr std::size_t ring_head_words = 2;

}  // namespace

void shared_memory::add(int file, std::uint64_t file_offset, std::uint64_t guest_address, std::uint64_t user_address,
                        std::uint64_t size_bytes) {
  void* const mapped = mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, static_cast<off_t>(file_offset));
  if (mapped == MAP_FAILED) throw std::system_error(errno, std::generic_category(), "memory of a kernel");
  regions_.push_back({guest_address, user_address, size_bytes, static_cast<std::uint8_t*>(mapped)});
}

void shared_memory::clear() {
  for (const region& known : regions_) munmap(known.mapped, known.size_bytes);
  regions_.clear();
}

std::span<std::uint8_t> shared_memory::find(std::uint64_t region::* base, std::uint64_t address, std::size_t bytes) const {
  for (const region& known : regions_) {
    const std::uint64_t offset = address - known.*base;
    if (address >= known.*base && offset <= known.size_bytes && bytes <= known.size_bytes - offset) return {known.mapped + offset, bytes};
  }
  throw driver_fault("its network driver names memory that it has not shared");
}

std::span<std::uint8_t> shared_memory::at_guest_address(std::uint64_t address, std::size_t bytes) const {
  return find(&region::guest_address, address, bytes);
}

std::span<std::uint8_t> shared_memory::at_user_address(std::uint64_t address, std::size_t bytes) const {
  return find(&region::user_address, address, bytes);
}

void split_queue::set_entries(std::uint32_t entries) {
  if (entries > most_entries || !std::has_single_bit(entries)) throw driver_fault("its network driver has a queue of a wrong size");
  entries_ = entries;
  descriptors_ = nullptr;
}

void split_queue::set_addresses(const shared_memory& memory, std::uint64_t descriptors, std::uint64_t available, std::uint64_t used) {
  if (entries_ == 0 || descriptors % 16 != 0 || available % 2 != 0 || used % 4 != 0) {
    throw driver_fault("its network driver has a queue at a wrong place");
  }
  descriptors_ = reinterpret_cast<const descriptor_entry*>(memory.at_user_address(descriptors, entries_ * sizeof(descriptor_entry)).data());
  available_ = reinterpret_cast<const std::uint16_t*>(memory.at_user_address(available, 2 * (ring_head_words + entries_)).data());
  used_ = reinterpret_cast<std::uint16_t*>(memory.at_user_address(used, 2 * ring_head_words + 8 * std::size_t{entries_}).data());
}

std::optional<split_queue::buffer> split_queue::take(const shared_memory& memory) {
  if (!enabled_ || descriptors_ == nullptr || at(available_, 1) == next_available_) return std::nullopt;
  buffer found;
  found.head = at(available_, ring_head_words + next_available_ % entries_);
  ++next_available_;
  std::uint32_t index = found.head;
  // A chain is at most as long as the queue, or it goes round.
  for (std::uint32_t count = 0; count < entries_; ++count) {
    if (index >= entries_) throw driver_fault("its network driver names a descriptor that its queue has not");
    descriptor_entry part;
    std::memcpy(&part, descriptors_ + index, sizeof part);
    found.parts.push_back(memory.at_guest_address(part.address, part.length));
    if ((part.flags & descriptor_entry::goes_on) == 0) return found;
    index = part.next;
  }
  throw driver_fault("its network driver has a chain of descriptors without end");
}

void split_queue::give_back(const buffer& done, std::uint32_t written) {
  const std::uint16_t index = at(used_, 1);
  const std::uint32_t entry[2] = {done.head, written};
  std::memcpy(used_ + ring_head_words + 4 * std::size_t{index % entries_}, entry, sizeof entry);
  std::atomic_ref(used_[1]).store(static_cast<std::uint16_t>(index + 1), std::memory_order_release);
  std::atomic_thread_fence(std::memory_order_seq_cst);
}

}  // namespace perhop::kernels
