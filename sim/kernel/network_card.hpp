// SPDX-License-Identifier: GPL-2.0-or-later
/// The network card of a kernel: a vhost-user device (virtio-net), whose frames go to its owner and come from it.
///
/// Everything is synchronous, because the kernel waits for each answer: a kick is a message, and a used buffer that the kernel wants to
/// hear of is one, too. The queues are touched at moments of the calendar only, when no kernel runs. A frame that is sent goes back to
/// the kernel at once, as with a TUN interface: the queue that counts is the shim's.
///
/// Without offloads: checksums are computed and packets are what is sent on the air. One queue for each direction.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "sim/kernel/calendar.hpp"
#include "sim/kernel/descriptor.hpp"
#include "sim/kernel/split_queue.hpp"

namespace perhop::kernels {

/// Counted since the start.
struct card_counters {
  std::uint64_t sent = 0;       ///< frames of the kernel
  std::uint64_t received = 0;   ///< given to it
  std::uint64_t no_buffer = 0;  ///< not given, because it had no room
};

class network_card : public device {
public:
  using frame_handler = std::function<void(std::span<const std::uint8_t> frame)>;

  /// @param socket_path where the kernel connects; @param mac of the card; @param on_frame is told each frame from its Ethernet header on
  /// @throws std::system_error
  network_card(calendar& time, std::size_t kernel, const std::string& socket_path, std::uint64_t mac, frame_handler on_frame);

  int socket() const override { return connection_ ? connection_.number() : listener_.number(); }
  void on_readable() override;

  /// Gives the kernel a frame, now. Only from an action of the calendar. @throws kernel_failure
  void deliver(std::span<const std::uint8_t> frame);

  const card_counters& counters() const { return counters_; }

private:
  static constexpr std::size_t receive = 0, transmit = 1;  ///< queues

  struct request;
  template <typename Work>
  auto blaming(Work&& work);
  void read_message();
  void fill(std::span<const std::uint8_t> frame);
  bool answer(request& asked, std::span<descriptor> passed);
  void on_kick(std::uint32_t queue);
  void send_all();
  void tell_used(std::size_t queue);

  calendar& time_;
  std::size_t kernel_;
  std::uint64_t mac_;
  frame_handler on_frame_;
  descriptor listener_, connection_, calls_;
  shared_memory memory_;
  std::array<split_queue, 2> queues_;
  bool kicked_ = false;
  std::vector<std::uint8_t> frame_;
  card_counters counters_;
};

}  // namespace perhop::kernels
