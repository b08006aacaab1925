// SPDX-License-Identifier: GPL-2.0-or-later
/// What a kernel's network driver has: memory that it shares, and virtqueues in it.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "sim/kernel/descriptor.hpp"
#include "sim/kernel/split_queue.hpp"

namespace perhop::kernels {

class fake_driver {
public:
  static constexpr std::uint64_t guest_base = 0x1'0000, user_base = 0x6000'0000;
  static constexpr std::size_t size_bytes = 1 << 18;
  static constexpr std::size_t first_buffer = 1 << 16;  ///< the rings lie before

  struct part {
    std::uint64_t address = 0;
    std::uint32_t length = 0;
  };

  fake_driver() : file_(memfd_create("driver", MFD_CLOEXEC)) {
    if (ftruncate(file_.number(), size_bytes) != 0) throw std::runtime_error("memfd");
    memory_ = static_cast<std::uint8_t*>(mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file_.number(), 0));
  }
  ~fake_driver() { munmap(memory_, size_bytes); }
  fake_driver(const fake_driver&) = delete;
  fake_driver& operator=(const fake_driver&) = delete;

  void share_with(shared_memory& memory) const { memory.add(file_.number(), 0, guest_base, user_base, size_bytes); }
  int file() const { return file_.number(); }
  std::uint8_t* at(std::size_t offset) { return memory_ + offset; }

  /// A piece of memory for a buffer, and what is in it.
  part room(std::uint32_t bytes) {
    if (next_ + bytes > size_bytes) next_ = first_buffer;
    const part made{guest_base + next_, bytes};
    next_ += bytes;
    return made;
  }
  part text(const std::string& content) {
    const part made = room(static_cast<std::uint32_t>(content.size()));
    std::memcpy(memory_ + (made.address - guest_base), content.data(), content.size());
    return made;
  }
  std::string read(const part& from) const { return {reinterpret_cast<const char*>(memory_ + (from.address - guest_base)), from.length}; }

private:
  descriptor file_;
  std::uint8_t* memory_ = nullptr;
  std::size_t next_ = first_buffer;
};

class fake_ring {
public:
  static constexpr std::uint32_t entries = 8;

  fake_ring(fake_driver& driver, std::size_t number) : driver_(driver), offset_(number * 4096) {}

  std::uint64_t descriptors() const { return fake_driver::user_base + offset_; }
  std::uint64_t available() const { return descriptors() + 1024; }
  std::uint64_t used() const { return descriptors() + 2048; }

  void offer(const std::vector<fake_driver::part>& parts) {
    const std::uint16_t head = next_descriptor_;
    for (std::size_t index = 0; index < parts.size(); ++index) {
      const bool last = index + 1 == parts.size();
      const std::uint16_t here = next_descriptor_;
      next_descriptor_ = static_cast<std::uint16_t>((next_descriptor_ + 1) % entries);
      write(here, {parts[index].address, parts[index].length, last ? std::uint16_t{0} : split_queue::descriptor_entry::goes_on,
                   next_descriptor_});
    }
    offer_number(head);
  }
  void offer_circle() {
    write(0, {fake_driver::guest_base, 1, split_queue::descriptor_entry::goes_on, 0});
    offer_number(0);
  }
  void offer_number(std::uint32_t number) {
    auto* const ring = reinterpret_cast<std::uint16_t*>(driver_.at(offset_ + 1024));
    ring[2 + ring[1] % entries] = static_cast<std::uint16_t>(number);
    ++ring[1];
  }
  void set_quiet(bool quiet) { reinterpret_cast<std::uint16_t*>(driver_.at(offset_ + 1024))[0] = quiet ? 1 : 0; }

  /// Heads and bytes written, since the last call.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> taken_back() {
    const auto* const ring = reinterpret_cast<const std::uint16_t*>(driver_.at(offset_ + 2048));
    std::vector<std::pair<std::uint32_t, std::uint32_t>> found;
    for (; seen_ != ring[1]; ++seen_) {
      std::uint32_t entry[2];
      std::memcpy(entry, driver_.at(offset_ + 2048 + 4 + 8 * (seen_ % entries)), sizeof entry);
      found.emplace_back(entry[0], entry[1]);
    }
    return found;
  }

private:
  void write(std::size_t index, const split_queue::descriptor_entry& entry) {
    std::memcpy(driver_.at(offset_ + index * sizeof entry), &entry, sizeof entry);
  }

  fake_driver& driver_;
  std::size_t offset_;
  std::uint16_t next_descriptor_ = 0;
  std::uint16_t seen_ = 0;
};

}  // namespace perhop::kernels
