// SPDX-License-Identifier: GPL-2.0-or-later
//
// The card with a driver that the test plays: frames both ways, at the moments of the calendar.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>

#include "fake_driver.hpp"
#include "fake_kernel.hpp"
#include "sim/kernel/network_card.hpp"

namespace perhop::kernels {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t net_header_bytes = 12;

/// A kernel's network driver, as far as virtio_uml speaks to its device.
class card_driver {
public:
  explicit card_driver(const std::string& path) : socket_(connect_to(path)) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) throw std::runtime_error("socketpair");
    calls_ = descriptor(ends[0]);
    const descriptor passed(ends[1]);
    std::uint8_t table[8 + 32]{};
    const std::uint64_t region[4] = {fake_driver::guest_base, fake_driver::size_bytes, fake_driver::user_base, 0};
    table[0] = 1;
    std::memcpy(table + 8, region, sizeof region);
    features_ = ask(1, {});
    send(21, {}, passed.number());
    send(5, table, memory.file());
    for (std::uint32_t queue = 0; queue < 2; ++queue) {
      send(8, words({queue, fake_ring::entries}));
      send(10, words({queue, 0}));
      std::uint8_t addresses[40]{};
      const fake_ring& ring = queue == 0 ? receive : transmit;
      const std::uint64_t places[3] = {ring.descriptors(), ring.used(), ring.available()};
      std::memcpy(addresses, &queue, sizeof queue);
      std::memcpy(addresses + 8, places, sizeof places);
      send(9, addresses);
      send(18, words({queue, 1}));
    }
  }

  std::uint64_t features() const { return features_; }
  int calls() const { return calls_.number(); }

  std::string configuration() {
    std::vector<std::uint8_t> asked(12 + 10);
    asked[4] = 10;
    const auto answer = exchange(24, asked, -1);
    return {answer.begin() + 12, answer.end()};
  }
  void kick(std::uint32_t queue) { send(35, words({queue, 0})); }

  void transmit_frame(const std::string& frame) {
    transmit.offer({memory.text(std::string(net_header_bytes, '\0') + frame)});
    kick(1);
  }
  /// An interrupt. @return the queue
  std::uint32_t read_call() {
    std::uint8_t message[12 + 8];
    read_whole(calls_, message);
    std::uint32_t queue = 0;
    std::memcpy(&queue, message + 12, sizeof queue);
    return queue;
  }
  /// The card goes on when it has this.
  void answer_call() {
    std::vector<std::uint8_t> reply = words({4, 1 | 4, 8});
    reply.resize(12 + 8);
    write_whole(calls_, reply);
  }
  void send(std::uint32_t request, std::span<const std::uint8_t> payload, int passed = -1) {
    const auto answer = exchange(request, {payload.begin(), payload.end()}, passed);
    if (answer != std::vector<std::uint8_t>(8)) throw std::runtime_error("refused");
  }
  static std::vector<std::uint8_t> words(std::initializer_list<std::uint32_t> values) {
    std::vector<std::uint8_t> bytes(4 * values.size());
    std::memcpy(bytes.data(), std::data(values), bytes.size());
    return bytes;
  }

  fake_driver memory;
  fake_ring receive{memory, 0}, transmit{memory, 1};

private:
  std::uint64_t ask(std::uint32_t request, std::vector<std::uint8_t> payload) {
    const auto answer = exchange(request, std::move(payload), -1);
    std::uint64_t value = 0;
    std::memcpy(&value, answer.data(), sizeof value);
    return value;
  }
  std::vector<std::uint8_t> exchange(std::uint32_t request, const std::vector<std::uint8_t>& payload, int passed) {
    std::vector<std::uint8_t> message = words({request, 1 | 8, static_cast<std::uint32_t>(payload.size())});
    message.insert(message.end(), payload.begin(), payload.end());
    if (passed >= 0) {
      write_with_descriptors(socket_, message, std::array{passed});
    } else {
      write_whole(socket_, message);
    }
    std::uint8_t head[12];
    read_whole(socket_, head);
    EXPECT_EQ(head[4], 1 | 4) << "a reply";
    std::uint32_t size = 0;
    std::memcpy(&size, head + 8, sizeof size);
    std::vector<std::uint8_t> answer(size);
    read_whole(socket_, answer);
    return answer;
  }

  descriptor socket_, calls_;
  std::uint64_t features_ = 0;
};

class network_card_test : public testing::Test {
protected:
  network_card_test() {
    std::string name = (std::filesystem::temp_directory_path() / "card-XXXXXX").string();
    folder_ = mkdtemp(name.data());
    time_.emplace(calendar_config{.socket_path = folder_ / "time", .kernels = 1, .patience = 2s});
    card_ = std::make_unique<network_card>(*time_, 0, folder_ / "card", 0x0200'0000'0007, [this](std::span<const std::uint8_t> frame) {
      sent_.emplace_back(time_->now(), std::string(frame.begin(), frame.end()));
    });
  }
  ~network_card_test() override {
    card_.reset();
    time_.reset();
    kernel_.reset();
    std::filesystem::remove_all(folder_);
  }
  /// A kernel that has a driver from the start and does what the test says.
  void run(time_ns until, std::function<void(fake_kernel&, card_driver&)> does) {
    kernel_ = std::make_unique<fake_kernel>(folder_ / "time", 0, [this, does](fake_kernel& self) {
      driver_.emplace(folder_ / "card");
      self.set_interrupt(driver_->calls(), [this, &self] {
        const time_ns now = self.now();
        interrupts_.emplace_back(now, driver_->read_call());
        driver_->answer_call();
      });
      does(self, *driver_);
    });
    time_->connect();
    time_->run(until, [] { return true; });
  }
  static std::vector<std::uint8_t> bytes(const std::string& text) { return {text.begin(), text.end()}; }

  std::filesystem::path folder_;
  std::optional<calendar> time_;
  std::unique_ptr<network_card> card_;
  std::optional<card_driver> driver_;
  std::unique_ptr<fake_kernel> kernel_;
  std::vector<std::pair<time_ns, std::string>> sent_;
  std::vector<std::pair<time_ns, std::uint32_t>> interrupts_;
};

TEST_F(network_card_test, says_what_it_is) {
  std::string configuration;
  run(10, [&](fake_kernel&, card_driver& driver) { configuration = driver.configuration(); });
  EXPECT_EQ(driver_->features(), 1ULL << 32 | 1ULL << 30 | 1ULL << 5) << "version 1, protocol features, a MAC address; no offload";
  EXPECT_EQ(configuration, std::string("\x02\0\0\0\0\x07\0\0\0\0", 10));
}

TEST_F(network_card_test, takes_a_frame_at_the_moment_of_the_kick_and_gives_it_back) {
  run(100'000, [](fake_kernel& self, card_driver& driver) {
    self.sleep_until(1'234);
    driver.transmit_frame("a frame");
    self.sleep_until(50'000);
    driver.transmit_frame("another");
  });
  EXPECT_EQ(sent_, (std::vector<std::pair<time_ns, std::string>>{{1'234, "a frame"}, {50'000, "another"}}));
  EXPECT_EQ(driver_->transmit.taken_back().size(), 2U);
  EXPECT_EQ(interrupts_, (std::vector<std::pair<time_ns, std::uint32_t>>{{1'234, 1}, {50'000, 1}})) << "it hears that they are back";
}

TEST_F(network_card_test, gives_the_kernel_a_frame_at_the_moment_of_the_event) {
  std::string got;
  time_->at(70'000, [this] { card_->deliver(bytes("for you")); });
  run(100'000, [](fake_kernel& self, card_driver& driver) {
    driver.receive.offer({driver.memory.room(5), driver.memory.room(2000)});
    self.sleep_until(90'000);
  });
  EXPECT_EQ(interrupts_, (std::vector<std::pair<time_ns, std::uint32_t>>{{70'000, 0}}));
  const auto back = driver_->receive.taken_back();
  ASSERT_EQ(back.size(), 1U);
  EXPECT_EQ(back[0].second, net_header_bytes + 7);
  const std::string memory = driver_->memory.read({fake_driver::guest_base + fake_driver::first_buffer, net_header_bytes + 7});
  EXPECT_EQ(memory, std::string("\0\0\0\0\0\0\0\0\0\0\1\0for you", net_header_bytes + 7));
  EXPECT_EQ(card_->counters().received, 1U);
}

TEST_F(network_card_test, counts_a_frame_for_which_the_kernel_has_no_room) {
  time_->at(70'000, [this] { card_->deliver(bytes("for you")); });
  run(100'000, [](fake_kernel&, card_driver&) {});
  EXPECT_EQ(card_->counters().no_buffer, 1U);
  EXPECT_EQ(card_->counters().received, 0U);
}

TEST_F(network_card_test, does_not_interrupt_who_does_not_want_it) {
  time_->at(70'000, [this] { card_->deliver(bytes("for you")); });
  run(100'000, [](fake_kernel&, card_driver& driver) {
    driver.receive.set_quiet(true);
    driver.receive.offer({driver.memory.room(2000)});
  });
  EXPECT_EQ(card_->counters().received, 1U);
  EXPECT_TRUE(interrupts_.empty());
}

TEST_F(network_card_test, blames_the_kernel_for_a_driver_that_errs) {
  const auto problem_of = [this](std::function<void(fake_kernel&, card_driver&)> does) -> std::string {
    try {
      run(100'000, std::move(does));
    } catch (const kernel_failure& failure) {
      EXPECT_EQ(failure.kernel(), 0U);
      return failure.what();
    }
    return "";
  };
  EXPECT_EQ(problem_of([](fake_kernel&, card_driver& driver) {
              driver.transmit.offer({{.address = 1, .length = 100}});
              driver.kick(1);
            }),
            "its network driver names memory that it has not shared");
}

TEST_F(network_card_test, knows_no_other_message) {
  EXPECT_THROW(run(100'000, [](fake_kernel&, card_driver& driver) { driver.send(99, {}); }), kernel_failure);
}

TEST_F(network_card_test, sees_a_frame_without_its_header) {
  EXPECT_THROW(run(100'000,
                   [](fake_kernel&, card_driver& driver) {
                     driver.transmit.offer({driver.memory.text("short")});
                     driver.kick(1);
                   }),
               kernel_failure);
}

}  // namespace
}  // namespace perhop::kernels
