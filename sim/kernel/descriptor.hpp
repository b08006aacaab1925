// SPDX-License-Identifier: GPL-2.0-or-later
/// A file descriptor that is closed when nobody has it any more, and the Unix sockets and whole reads that both protocols need.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>

namespace perhop::kernels {

/// The other end of a socket is gone.
class connection_gone : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

class descriptor {
public:
  descriptor() = default;
  explicit descriptor(int number) : number_(number) {}
  ~descriptor();
  descriptor(descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  descriptor& operator=(descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }

  int number() const { return number_; }
  explicit operator bool() const { return number_ >= 0; }

private:
  int number_ = -1;
};

/// A listening stream socket; a file of an earlier one makes room. @throws std::system_error
descriptor listen_at(const std::string& path);

/// The next connection of a listening socket. @throws std::system_error
descriptor accept_from(const descriptor& listener);

/// All the bytes asked for. @throws connection_gone; std::system_error
void read_whole(const descriptor& from, std::span<std::uint8_t> bytes);

/// @throws connection_gone; std::system_error
void write_whole(const descriptor& to, std::span<const std::uint8_t> bytes);

/// As read_whole, and takes the descriptors that came along; those that did not come are empty.
template <std::size_t most>
using passed_descriptors = std::array<descriptor, most>;
passed_descriptors<8> read_with_descriptors(const descriptor& from, std::span<std::uint8_t> bytes);

/// As write_whole, and passes descriptors along.
void write_with_descriptors(const descriptor& to, std::span<const std::uint8_t> bytes, std::span<const int> passed);

template <typename Plain>
std::span<std::uint8_t> bytes_of(Plain& plain) {
  return {reinterpret_cast<std::uint8_t*>(&plain), sizeof plain};
}
template <typename Plain>
std::span<const std::uint8_t> bytes_of(const Plain& plain) {
  return {reinterpret_cast<const std::uint8_t*>(&plain), sizeof plain};
}

}  // namespace perhop::kernels
