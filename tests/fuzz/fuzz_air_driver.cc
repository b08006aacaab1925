// SPDX-License-Identifier: GPL-2.0-or-later
//
// The driver of the emulated medium against a medium that says anything: messages with hostile fields, cut short, too long, of no kind
// at all; completions twice or of nobody; connections that end at any time. What it says is refused or handled, and the credits are those
// that the MAC gave. The socket is a real one, in the abstract name space.

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "host/drivers/air_driver.hpp"
#include "tests/fuzz/input.hpp"

namespace {

using namespace perhop;
using fuzz::expect;
using byte_vector = std::vector<std::uint8_t>;

constexpr std::size_t most_message_bytes = 16384;  // of the driver's buffer

sockaddr_un address_of(const std::string& name) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  name.copy(address.sun_path, sizeof address.sun_path - 1);
  return address;
}

/// The medium's end.
class medium {
public:
  explicit medium(std::string name) : name_(std::move(name)) {
    listener_ = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    const sockaddr_un address = address_of(name_);
    expect(bind(listener_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 && listen(listener_, 4) == 0,
           "the harness can listen");
  }
  ~medium() {
    end();
    close(listener_);
  }

  /// @return whether the driver has connected and said hello
  bool meet() {
    if (connection_ >= 0) return true;
    connection_ = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (connection_ < 0) return false;
    std::array<std::uint8_t, 64> hello;
    const ssize_t size = recv(connection_, hello.data(), hello.size(), 0);
    expect(size > 0 && wire::air_hello::decode(std::span(hello).first(static_cast<std::size_t>(size))).has_value(),
           "the driver says hello first");
    return true;
  }
  void end() {
    if (connection_ >= 0) close(std::exchange(connection_, -1));
  }
  bool say(std::span<const std::uint8_t> message) const {
    return connection_ >= 0 &&
           send(connection_, message.data(), message.size(), MSG_DONTWAIT | MSG_NOSIGNAL) == static_cast<ssize_t>(message.size());
  }
  /// The next message of the driver; empty: there is none.
  byte_vector hear() const {
    byte_vector message(most_message_bytes);
    const ssize_t size = connection_ >= 0 ? recv(connection_, message.data(), message.size(), MSG_DONTWAIT) : -1;
    message.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
    return message;
  }

private:
  std::string name_;
  int listener_ = -1;
  int connection_ = -1;
};

class machine final : public drivers::driver_listener {
public:
  machine(fuzz::input& input, const std::string& name) : input_(input), medium_(name), driver_(name, 1) {
    driver_.poll(*this);
    expect(medium_.meet(), "a driver connects where a medium listens");
    check();
  }

  void step() {
    switch (input_.choice(12)) {
      case 0:
        say(welcome());
        break;
      case 1:
      case 2:
        say(completion());
        break;
      case 3:
        say(reception());
        break;
      case 4:
        say(register_values());
        break;
      case 5:
        say(input_.take(input_.number<std::uint8_t>()));
        break;
      case 6:
      case 7:
      case 8:
        send();
        break;
      case 9:
        ask_registers();
        break;
      case 10:
        if (input_.choice(4) == 0) driver_.restart("the harness wants it");
        break;
      default:
        if (input_.choice(4) == 0) come_back();
    }
    driver_.poll(*this);
    listen();
    check();
  }

  // ---- What the driver tells

  void on_up(const drivers::mac_properties& mac) override {
    expect(!up_, "a MAC that is up does not come up");
    expect(mac.profile != nullptr, "a MAC has a timing profile");
    expect(mac.data_rate_index < mac.profile->rates.size(), "a MAC's rate is one of its profile");
    expect(mac.address <= broadcast_address, "a MAC's address has 48 bits");
    up_ = true;
    credits_ = mac.send_credits;
    ++ups_;
  }
  void on_down() override {
    expect(up_, "only a MAC that was up goes down");
    up_ = false;
    outstanding_.clear();
  }
  void on_completion(std::uint32_t cookie, const completion_record&) override {
    expect(up_, "a completion comes of a MAC that is up");
    expect(whole_, "a record that is cut short completes nothing");
    const auto found = std::ranges::find(outstanding_, cookie);
    expect(found != outstanding_.end(), "a packet is completed once, and only what was given");
    outstanding_.erase(found);
  }
  void on_reception(const drivers::reception& frame) override {
    expect(up_ && frame.msdu.size() <= most_message_bytes, "a reception comes of a MAC that is up");
    for (const std::uint8_t byte : frame.msdu) sum_ = sum_ + byte;
  }
  void on_registers(std::uint32_t, std::span<const drivers::register_answer> answers) override {
    expect(up_ && answers.size() <= most_message_bytes, "answers come of a MAC that is up");
  }

private:
  // ---- What the medium says

  template <typename frame_type>
  byte_vector encoded(const frame_type& frame) {
    byte_vector bytes(frame_type::size_bytes);
    frame.encode(std::span<std::uint8_t, frame_type::size_bytes>(bytes));
    return bytes;
  }

  byte_vector welcome() {
    wire::air_welcome frame;
    frame.version = input_.choice(8) == 0 ? input_.number<std::uint8_t>() : frame.version;
    frame.status = input_.choice(8) == 0 ? input_.number<std::uint8_t>() : 0;
    frame.send_credits = input_.hostile<std::uint8_t>();
    frame.profile =
        input_.choice(4) == 0 ? input_.number<std::uint8_t>() : static_cast<std::uint8_t>(input_.choice(timing_profiles().size()));
    frame.data_rate = input_.choice(4) == 0 ? input_.number<std::uint8_t>() : static_cast<std::uint8_t>(input_.choice(4));
    frame.average_shift = input_.hostile<std::uint8_t>();
    frame.rts_threshold_bytes = input_.hostile<std::uint16_t>();
    frame.address = input_.choice(4) == 0 ? input_.hostile<std::uint64_t>() : 0x0200'0000'0001;
    return encoded(frame);
  }
  byte_vector completion() {
    wire::air_completion frame;
    // Of a packet that waits, of the last one that was completed, of nobody.
    switch (input_.choice(4)) {
      case 0:
        frame.cookie = input_.hostile<std::uint32_t>();
        break;
      case 1:
        frame.cookie = last_completed_;
        break;
      default:
        if (!outstanding_.empty()) frame.cookie = outstanding_[input_.number<std::uint8_t>() % outstanding_.size()];
        last_completed_ = frame.cookie;
    }
    byte_vector bytes = encoded(frame);
    for (std::size_t word = 0; word < completion_record_words; ++word) {
      const auto value = input_.hostile<std::uint32_t>();
      for (std::size_t byte = 0; byte < 4; ++byte) bytes.push_back(static_cast<std::uint8_t>(value >> 8 * byte));
    }
    const std::size_t right_bytes = bytes.size();
    bytes = spoiled(std::move(bytes));
    whole_ = bytes.size() == right_bytes;
    return bytes;
  }
  byte_vector reception() {
    wire::air_reception frame;
    frame.receiver_address = input_.hostile<std::uint64_t>();
    frame.transmitter_address = input_.hostile<std::uint64_t>();
    byte_vector bytes = encoded(frame);
    bytes.resize(bytes.size() + input_.hostile<std::uint16_t>() % 20000);
    return spoiled(std::move(bytes));
  }
  byte_vector register_values() {
    wire::air_register_values frame;
    frame.cookie = input_.hostile<std::uint32_t>();
    byte_vector bytes = encoded(frame);
    const auto rest = input_.take(input_.number<std::uint8_t>());
    bytes.insert(bytes.end(), rest.begin(), rest.end());
    return bytes;
  }
  byte_vector spoiled(byte_vector bytes) {
    const std::uint32_t how = input_.choice(16);
    if (how == 0) bytes.resize(bytes.size() - std::min<std::size_t>(bytes.size(), input_.number<std::uint8_t>()));
    if (how == 1) bytes.resize(bytes.size() + input_.number<std::uint8_t>());
    return bytes;
  }

  void say(std::span<const std::uint8_t> message) {
    // An empty message is the end of a connection to who receives it.
    if (!message.empty()) medium_.say(message);
  }

  // ---- What the daemon does

  void send() {
    byte_vector msdu(input_.hostile<std::uint16_t>() % 3000);
    const drivers::send_request request{.receiver_address = input_.choice(4) == 0 ? input_.hostile<std::uint64_t>() : 0x0200'0000'0002,
                                        .peer = static_cast<std::uint8_t>(input_.choice(neighbour_slots + 1)),
                                        .rate_index = static_cast<std::uint8_t>(input_.choice(4)),
                                        .use_rts = input_.flag(),
                                        .cookie = next_cookie_,
                                        .msdu = msdu};
    if (!driver_.can_send()) return;
    if (driver_.send(request)) {
      outstanding_.push_back(next_cookie_++);
      sent_ = msdu.size();
    }
  }

  void ask_registers() {
    std::vector<drivers::register_access> accesses(input_.choice(air_most_register_accesses + 2));
    for (auto& access : accesses) access.address = input_.hostile<std::uint16_t>();
    const bool taken = driver_.access_registers(input_.hostile<std::uint32_t>(), accesses);
    expect(!taken || (up_ && !accesses.empty() && accesses.size() <= air_most_register_accesses),
           "a MAC that is up is asked, for so many words");
  }

  /// The medium goes and comes again. The driver tries it every 20 ms, so this is done seldom.
  void come_back() {
    medium_.end();
    driver_.poll(*this);
    expect(!up_ && !driver_.can_send(), "without a medium there is no MAC");
    if (std::exchange(came_back_, true)) return;
    for (int waited = 0; !medium_.meet(); ++waited) {
      expect(waited < 500, "the driver connects anew");
      pollfd ready{.fd = driver_.descriptor(), .events = POLLIN, .revents = 0};
      ::poll(&ready, 1, 100);
      driver_.poll(*this);
    }
  }

  // ---- What holds

  void listen() {
    for (byte_vector message = medium_.hear(); !message.empty(); message = medium_.hear()) {
      if (const auto frame = wire::air_send::decode(message)) {
        const std::size_t bytes = message.size() - wire::air_send::size_bytes;
        expect(bytes > 0 && bytes <= most_msdu_bytes && frame->peer < neighbour_slots, "the medium gets what a MAC can send");
      } else {
        expect(wire::air_registers::decode(message).has_value(), "the medium gets packets and accesses to registers");
      }
    }
  }

  void check() {
    expect(outstanding_.size() <= credits_ || !up_, "no more packets wait than the MAC gave credits");
    expect(!driver_.can_send() || (up_ && outstanding_.size() < credits_), "a packet can go for a credit that is left");
    expect(driver_.counters().ups == ups_, "every MAC that comes up is told");
  }

  fuzz::input& input_;
  medium medium_;
  drivers::air_driver driver_;
  bool up_ = false;
  std::uint32_t credits_ = 0;
  std::uint64_t ups_ = 0;
  std::uint32_t next_cookie_ = 0;
  std::uint32_t last_completed_ = 0;
  std::vector<std::uint32_t> outstanding_;
  std::size_t sent_ = 0;
  bool came_back_ = false;
  bool whole_ = false;  // the last completion that was said
  volatile unsigned sum_ = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string name = std::string(1, '\0') + "perhop-fuzz-air-" + std::to_string(getpid());
  fuzz::input input({data, size});
  machine driven(input, name);
  while (!input.empty()) driven.step();
  return 0;
}
