// SPDX-License-Identifier: GPL-2.0-or-later
/// The air driver, at a medium that a test plays, passes the suite of all drivers.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <optional>

#include "driver_conformance.hpp"
#include "host/core/wire/generated/registers.hpp"
#include "host/drivers/air_driver.hpp"

namespace perhop::drivers::conformance {
namespace {

/// The socket of an emulated medium with one MAC.
class air_bench {
public:
  static constexpr std::uint64_t own_address = 0x020000000001, peer_address = 0x0200000000AA;
  static constexpr std::uint32_t readable = registers::id::address, its_word = core_id, refused = registers::slot::address,
                                 refused_word = 20;

  air_bench() {
    std::string name = std::filesystem::temp_directory_path() / "airXXXXXX";
    if (mkdtemp(name.data()) == nullptr) abort();
    folder_ = name;
    driver_.emplace(folder_ / "medium", 0);
  }
  ~air_bench() {
    vanish();
    std::filesystem::remove_all(folder_);
  }

  driver& dut() {
    serve();
    return *driver_;
  }
  void bring_up() {
    listener_ = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    (folder_ / "medium").string().copy(address.sun_path, sizeof address.sun_path - 1);
    unlink(address.sun_path);
    if (bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address) < 0 || listen(listener_, 1) < 0) abort();
  }
  void vanish() {
    for (int* each : {&socket_, &listener_}) {
      if (*each >= 0) close(std::exchange(*each, -1));
    }
  }
  std::vector<sent_packet> sent() {
    serve();
    return sent_;
  }
  void complete(std::size_t nth, tx_result result) {
    wire::air_completion head;
    head.cookie = cookies_.at(nth);
    bytes message(wire::air_completion::size_bytes);
    head.encode(std::span(message).first<wire::air_completion::size_bytes>());
    completion_record record;
    record.result = result;
    for (const std::uint32_t word : encode_completion_record(record)) {
      for (int shift = 0; shift < 32; shift += 8) message.push_back(static_cast<std::uint8_t>(word >> shift));
    }
    say(message);
  }
  void hear(std::uint16_t sequence, const bytes& msdu) {
    wire::air_reception head;
    head.rate = 1;
    head.sequence = sequence;
    head.receiver_address = own_address;
    head.transmitter_address = peer_address;
    bytes message(wire::air_reception::size_bytes);
    head.encode(std::span(message).first<wire::air_reception::size_bytes>());
    message.insert(message.end(), msdu.begin(), msdu.end());
    say(message);
  }
  void spoil() { say({0xEE, 1, 2, 3}); }

private:
  void say(const bytes& message) {
    serve();
    if (send(socket_, message.data(), message.size(), 0) < 0) abort();
  }

  /// What the driver said.
  void serve() {
    if (listener_ < 0) return;
    if (socket_ < 0) {
      socket_ = accept(listener_, nullptr, nullptr);
      if (socket_ < 0) return;
      fcntl(socket_, F_SETFL, O_NONBLOCK);
    }
    for (;;) {
      bytes message(70'000);
      const ssize_t size = recv(socket_, message.data(), message.size(), 0);
      if (size == 0) close(std::exchange(socket_, -1));  // it may come again
      if (size <= 0) return;
      message.resize(static_cast<std::size_t>(size));
      on_message(message);
    }
  }

  void on_message(const bytes& message) {
    if (wire::air_hello::decode(message)) {
      wire::air_welcome welcome;
      welcome.send_credits = 4;
      welcome.profile = static_cast<std::uint8_t>(find_profile("dsss_long") - timing_profiles().data());
      welcome.data_rate = 1;
      welcome.address = own_address;
      bytes answer(wire::air_welcome::size_bytes);
      welcome.encode(std::span(answer).first<wire::air_welcome::size_bytes>());
      if (send(socket_, answer.data(), answer.size(), 0) < 0) abort();
    } else if (const auto packet = wire::air_send::decode(message)) {
      cookies_.push_back(packet->cookie);
      sent_.push_back({packet->receiver_address, packet->peer, packet->rate, (packet->flags & wire::air_send::flags_use_rts) != 0,
                       bytes(message.begin() + wire::air_send::size_bytes, message.end())});
    } else if (const auto asked = wire::air_registers::decode(message)) {
      wire::air_register_values head;
      head.cookie = asked->cookie;
      bytes answer(wire::air_register_values::size_bytes);
      head.encode(std::span(answer).first<wire::air_register_values::size_bytes>());
      for (std::size_t at = wire::air_registers::size_bytes; at < message.size(); at += wire::air_register_access::size_bytes) {
        const auto access = *wire::air_register_access::decode(std::span(message).subspan(at));
        wire::air_register_value value;
        if (access.address == readable && (access.flags & wire::air_register_access::flags_write) == 0) {
          value.flags = wire::air_register_value::flags_done;
          value.value = its_word;
        }
        std::array<std::uint8_t, wire::air_register_value::size_bytes> written;
        value.encode(written);
        answer.insert(answer.end(), written.begin(), written.end());
      }
      if (send(socket_, answer.data(), answer.size(), 0) < 0) abort();
    }
  }

  std::filesystem::path folder_;
  std::optional<air_driver> driver_;
  int listener_ = -1, socket_ = -1;
  std::vector<sent_packet> sent_;
  std::vector<std::uint32_t> cookies_;
};

INSTANTIATE_TYPED_TEST_SUITE_P(air, driver_conformance, air_bench);

}  // namespace
}  // namespace perhop::drivers::conformance
