// SPDX-License-Identifier: GPL-2.0-or-later
/// A split virtqueue (Virtual I/O Device 1.2, 2.7) as its device sees it, in memory that a kernel shares.
///
/// The kernel is somebody else's program: every address and length is examined before it is used.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace perhop::kernels {

/// The kernel has put something into the shared memory, or sent something, that no driver may.
class driver_fault : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

/// The memory that a kernel has shared, region by region, as it tells addresses of its own.
class shared_memory {
public:
  shared_memory() = default;
  ~shared_memory() { clear(); }
  shared_memory(const shared_memory&) = delete;
  shared_memory& operator=(const shared_memory&) = delete;

  /// @param file to be mapped from `file_offset` on. @throws std::system_error
  void add(int file, std::uint64_t file_offset, std::uint64_t guest_address, std::uint64_t user_address, std::uint64_t size_bytes);
  void clear();

  /// @throws driver_fault when not all of it is shared
  std::span<std::uint8_t> at_guest_address(std::uint64_t address, std::size_t bytes) const;
  std::span<std::uint8_t> at_user_address(std::uint64_t address, std::size_t bytes) const;

private:
  struct region {
    std::uint64_t guest_address, user_address, size_bytes;
    std::uint8_t* mapped;
  };
  std::span<std::uint8_t> find(std::uint64_t region::* base, std::uint64_t address, std::size_t bytes) const;

  std::vector<region> regions_;
};

class split_queue {
public:
  static constexpr std::uint32_t most_entries = 32768;

  struct descriptor_entry {
    static constexpr std::uint16_t goes_on = 1;   ///< another one follows
    static constexpr std::uint16_t writable = 2;  ///< for the device to write
    std::uint64_t address;
    std::uint32_t length;
    std::uint16_t flags, next;
  };

  /// A buffer that the driver has given: its parts, and the number by which it goes back.
  struct buffer {
    std::uint16_t head = 0;
    std::vector<std::span<std::uint8_t>> parts;
  };

  void set_entries(std::uint32_t entries);
  void set_base(std::uint16_t next) { next_available_ = next; }
  void enable(bool enabled) { enabled_ = enabled; }
  /// The parts of the queue, as user addresses of the driver. @throws driver_fault
  void set_addresses(const shared_memory& memory, std::uint64_t descriptors, std::uint64_t available, std::uint64_t used);

  /// The next buffer; nothing: there is none. @throws driver_fault
  std::optional<buffer> take(const shared_memory& memory);
  /// The device is done with it. @param written bytes at its beginning
  void give_back(const buffer& done, std::uint32_t written);
  /// The driver does not want to be told of buffers that came back.
  bool is_quiet() const { return available_ == nullptr || (at(available_, 0) & 1) != 0; }

private:
  static std::uint16_t at(const std::uint16_t* ring, std::size_t index) {
    return std::atomic_ref(const_cast<std::uint16_t&>(ring[index])).load(std::memory_order_acquire);
  }

  std::uint32_t entries_ = 0;
  bool enabled_ = false;
  std::uint16_t next_available_ = 0;
  const descriptor_entry* descriptors_ = nullptr;
  const std::uint16_t* available_ = nullptr;  ///< flags, index, then the ring
  std::uint16_t* used_ = nullptr;             ///< flags, index, then pairs of 32-bit words
};

}  // namespace perhop::kernels
