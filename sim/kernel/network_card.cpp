// SPDX-License-Identifier: GPL-2.0-or-later
#include "sim/kernel/network_card.hpp"

#include <algorithm>
#include <cstring>

namespace perhop::kernels {

namespace {

/// Messages of vhost-user (docs/interop/vhost-user.rst of QEMU), those that arch/um/drivers/virtio_uml.c sends.
enum class vhost_request : std::uint32_t {
  get_features = 1,
  set_features = 2,
  set_owner = 3,
  set_memory_table = 5,
  set_queue_entries = 8,
  set_queue_addresses = 9,
  set_queue_base = 10,
  set_queue_kick = 12,
  set_queue_call = 13,
  get_protocol_features = 15,
  set_protocol_features = 16,
  set_queue_enable = 18,
  set_backend_socket = 21,
  get_configuration = 24,
  queue_kick = 35,
};
constexpr std::uint32_t backend_queue_call = 4;  // from the device to the driver

struct [[gnu::packed]] vhost_header {
  static constexpr std::uint32_t version = 1, is_reply = 4, wants_reply = 8;
  std::uint32_t request = 0, flags = version, size_bytes = 0;
};

struct vhost_region {
  std::uint64_t guest_address, size_bytes, user_address, file_offset;
};

// Virtual I/O Device 1.2, 5.1.3 and 6; vhost-user's own.
constexpr std::uint64_t features = 1ULL << 32 /* version 1 */ | 1ULL << 30 /* protocol features */ | 1ULL << 5 /* MAC address */;
constexpr std::uint64_t protocol_features =
    1ULL << 3 /* acknowledged */ | 1ULL << 5 /* backend's socket */ | 1ULL << 9 /* configuration */ | 1ULL << 14 /* notices in band */;

constexpr std::size_t net_header_bytes = 12;
constexpr std::size_t net_header_buffers_at = 10;
constexpr std::size_t most_payload_bytes = 4096;
constexpr std::size_t configuration_head_bytes = 12;
constexpr std::size_t most_regions = 8;

}  // namespace

struct network_card::request {
  vhost_header header;
  std::array<std::uint8_t, most_payload_bytes> payload{};

  template <typename Plain>
  Plain read(std::size_t at = 0) const {
    Plain value;
    if (at + sizeof value > header.size_bytes) throw driver_fault("its network driver sent too short a message");
    std::memcpy(&value, payload.data() + at, sizeof value);
    return value;
  }
  void reply(std::uint64_t value) {
    std::memcpy(payload.data(), &value, sizeof value);
    header.size_bytes = sizeof value;
  }
};

network_card::network_card(calendar& time, std::size_t kernel, const std::string& socket_path, std::uint64_t mac, frame_handler on_frame)
    : time_(time), kernel_(kernel), mac_(mac), on_frame_(std::move(on_frame)), listener_(listen_at(socket_path)) {
  time_.attach(kernel, *this);
}

/// What the driver does wrong is this kernel's failure.
template <typename Work>
auto network_card::blaming(Work&& work) {
  try {
    return work();
  } catch (const driver_fault& fault) {
    throw kernel_failure(kernel_, fault.what());
  }
}

void network_card::on_readable() {
  if (!connection_) {
    connection_ = accept_from(listener_);
    return;
  }
  blaming([this] { read_message(); });
}

void network_card::read_message() {
  request asked;
  auto passed = read_with_descriptors(connection_, bytes_of(asked.header));
  if (asked.header.size_bytes > asked.payload.size()) throw driver_fault("its network driver sent too long a message");
  read_whole(connection_, std::span(asked.payload).first(asked.header.size_bytes));
  const bool wants_reply = (asked.header.flags & vhost_header::wants_reply) != 0;
  const bool replied = answer(asked, passed);
  if (!replied && !wants_reply) return;
  if (!replied) asked.reply(0);
  asked.header.flags = vhost_header::version | vhost_header::is_reply;
  std::vector<std::uint8_t> message(sizeof asked.header + asked.header.size_bytes);
  std::memcpy(message.data(), &asked.header, sizeof asked.header);
  std::copy_n(asked.payload.begin(), asked.header.size_bytes, message.begin() + sizeof asked.header);
  write_whole(connection_, message);
}

/// @return whether the message has an answer of its own, which is then in it
bool network_card::answer(request& asked, std::span<descriptor> passed) {
  const auto queue = [&]() -> split_queue& {
    const auto index = asked.read<std::uint32_t>();
    if (index >= queues_.size()) throw driver_fault("its network driver names a queue that the card has not");
    return queues_[index];
  };
  switch (static_cast<vhost_request>(asked.header.request)) {
    case vhost_request::get_features:
      asked.reply(features);
      return true;
    case vhost_request::get_protocol_features:
      asked.reply(protocol_features);
      return true;
    case vhost_request::get_configuration: {
      // A MAC address, a status and a number of queue pairs.
      std::array<std::uint8_t, 10> known{};
      for (std::size_t octet = 0; octet < 6; ++octet) known[octet] = static_cast<std::uint8_t>(mac_ >> 8 * (5 - octet));
      const auto offset = asked.read<std::uint32_t>();
      const std::size_t bytes = asked.header.size_bytes - configuration_head_bytes;
      std::fill_n(asked.payload.begin() + configuration_head_bytes, bytes, 0);
      for (std::size_t index = 0; index < bytes && offset + index < known.size(); ++index) {
        asked.payload[configuration_head_bytes + index] = known[offset + index];
      }
      return true;
    }
    case vhost_request::set_memory_table: {
      const auto regions = asked.read<std::uint32_t>();
      if (regions > most_regions) throw driver_fault("its network driver shares too many pieces of memory");
      memory_.clear();
      queues_ = {};
      for (std::uint32_t index = 0; index < regions; ++index) {
        const auto region = asked.read<vhost_region>(8 + index * sizeof(vhost_region));
        memory_.add(passed[index].number(), region.file_offset, region.guest_address, region.user_address, region.size_bytes);
      }
      return false;
    }
    case vhost_request::set_queue_entries:
      queue().set_entries(asked.read<std::uint32_t>(4));
      return false;
    case vhost_request::set_queue_base:
      queue().set_base(static_cast<std::uint16_t>(asked.read<std::uint32_t>(4)));
      return false;
    case vhost_request::set_queue_addresses:
      queue().set_addresses(memory_, asked.read<std::uint64_t>(8), asked.read<std::uint64_t>(24), asked.read<std::uint64_t>(16));
      return false;
    case vhost_request::set_queue_enable:
      queue().enable(asked.read<std::uint32_t>(4) != 0);
      return false;
    case vhost_request::set_backend_socket:
      calls_ = std::move(passed[0]);
      return false;
    case vhost_request::queue_kick:
      on_kick(asked.read<std::uint32_t>());
      return false;
    case vhost_request::set_features:
    case vhost_request::set_owner:
    case vhost_request::set_queue_kick:
    case vhost_request::set_queue_call:
    case vhost_request::set_protocol_features:
      return false;
  }
  throw driver_fault("its network driver sent message " + std::to_string(asked.header.request) + ", which this card does not know");
}

/// The kernel runs, so its queue is looked at when it does not: at this very moment, but as an event of its own.
void network_card::on_kick(std::uint32_t queue) {
  if (queue != transmit || kicked_) return;
  kicked_ = true;
  time_.at(time_.now(), [this] { blaming([this] { send_all(); }); });
}

void network_card::send_all() {
  kicked_ = false;
  bool any = false;
  while (const auto buffer = queues_[transmit].take(memory_)) {
    frame_.clear();
    for (const std::span<std::uint8_t> part : buffer->parts) frame_.insert(frame_.end(), part.begin(), part.end());
    if (frame_.size() < net_header_bytes) throw driver_fault("its network driver sent a frame without its header");
    queues_[transmit].give_back(*buffer, 0);
    any = true;
    ++counters_.sent;
    on_frame_(std::span(frame_).subspan(net_header_bytes));
  }
  if (any) tell_used(transmit);
}

void network_card::deliver(std::span<const std::uint8_t> frame) {
  blaming([this, frame] { fill(frame); });
}

void network_card::fill(std::span<const std::uint8_t> frame) {
  const auto buffer = queues_[receive].take(memory_);
  if (!buffer) {
    ++counters_.no_buffer;
    return;
  }
  std::vector<std::uint8_t> bytes(net_header_bytes + frame.size());
  bytes[net_header_buffers_at] = 1;
  std::copy(frame.begin(), frame.end(), bytes.begin() + net_header_bytes);
  std::span<const std::uint8_t> left = bytes;
  for (const std::span<std::uint8_t> part : buffer->parts) {
    const std::size_t size = std::min(part.size(), left.size());
    std::copy_n(left.begin(), size, part.begin());
    left = left.subspan(size);
  }
  if (!left.empty()) throw driver_fault("its network driver has buffers that hold no whole frame");
  queues_[receive].give_back(*buffer, static_cast<std::uint32_t>(bytes.size()));
  ++counters_.received;
  tell_used(receive);
}

/// An interrupt: the kernel takes it in a signal handler, asks for time, and answers.
void network_card::tell_used(std::size_t queue) {
  if (!calls_ || queues_[queue].is_quiet()) return;
  struct [[gnu::packed]] {
    vhost_header header{
        .request = backend_queue_call, .flags = vhost_header::version | vhost_header::wants_reply, .size_bytes = 2 * sizeof(std::uint32_t)};
    std::uint32_t queue = 0, unused = 0;
  } call;
  call.queue = static_cast<std::uint32_t>(queue);
  struct [[gnu::packed]] {
    vhost_header header;
    std::uint64_t problem = 0;
  } answer;
  try {
    write_whole(calls_, bytes_of(call));
    time_.serve_until_readable(kernel_, calls_.number());
    read_whole(calls_, bytes_of(answer));
  } catch (const connection_gone&) {
    throw kernel_failure(kernel_, "has ended");
  }
  if (answer.problem != 0) throw driver_fault("its network driver refuses an interrupt");
}

}  // namespace perhop::kernels
