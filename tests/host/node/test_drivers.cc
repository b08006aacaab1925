// SPDX-License-Identifier: GPL-2.0-or-later
//
// It is one file: it holds the conformance of every driver beside what each adds.
#include <gtest/gtest.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "host/drivers/air_driver.hpp"
#include "host/drivers/fault_injector.hpp"
#include "host/drivers/loopback_driver.hpp"
#include "host/drivers/pcap_tap.hpp"

namespace perhop::drivers {
namespace {

using bytes = std::vector<std::uint8_t>;

class recorder : public driver_listener {
public:
  void on_up(const mac_properties& mac) override {
    ++ups;
    last_mac = mac;
  }
  void on_down() override { ++downs; }
  void on_completion(std::uint32_t cookie, const completion_record& record) override { completions.emplace_back(cookie, record.result); }
  void on_reception(const reception& frame) override {
    receptions.emplace_back(frame.msdu.begin(), frame.msdu.end());
    senders.push_back(frame.transmitter_address);
  }

  int ups = 0, downs = 0;
  mac_properties last_mac;
  std::vector<std::pair<std::uint32_t, tx_result>> completions;
  std::vector<bytes> receptions;
  std::vector<std::uint64_t> senders;
};

/// A driver whose test says what it receives.
class scripted_driver : public driver {
public:
  scripted_driver() {
    if (pipe(pipe_.data()) < 0) abort();
  }
  ~scripted_driver() override {
    close(pipe_[0]);
    close(pipe_[1]);
  }
  int descriptor() const override { return pipe_[0]; }
  void poll(driver_listener& listener) override {
    for (const bytes& msdu : std::exchange(script, {})) {
      listener.on_reception(
          {.receiver_address = 1, .transmitter_address = 2, .device_us = device_us, .sequence = sequence++, .rate_index = 1, .msdu = msdu});
    }
  }
  bool can_send() const override { return true; }
  bool send(const send_request& request) override {
    if (refuses) return false;
    sent.emplace_back(request.msdu.begin(), request.msdu.end());
    return true;
  }
  void restart(const std::string& why) override { restarted = why; }
  const driver_counters& counters() const override { return counters_; }
  std::optional<radio_time> time() const override { return radio; }

  std::vector<bytes> script;
  std::vector<bytes> sent;
  bool refuses = false;
  std::string restarted;
  std::uint16_t sequence = 0;
  std::optional<radio_time> radio;
  std::optional<std::uint64_t> device_us;

private:
  std::array<int, 2> pipe_{};
  driver_counters counters_;
};

class folder {
public:
  folder() {
    std::string name = std::filesystem::temp_directory_path() / "drvXXXXXX";
    if (mkdtemp(name.data()) == nullptr) abort();
    path = name;
  }
  ~folder() { std::filesystem::remove_all(path); }
  std::filesystem::path path;
};

/// Until the driver has nothing to do, or for `patience_ms` if it has none at first.
void serve(driver& driver, driver_listener& listener, int patience_ms = 0) {
  pollfd waiting{.fd = driver.descriptor(), .events = POLLIN, .revents = 0};
  while (::poll(&waiting, 1, patience_ms) > 0) {
    driver.poll(listener);
    patience_ms = 0;
  }
}

bytes packet(std::size_t number) {
  bytes msdu(20, static_cast<std::uint8_t>(number >> 8));
  msdu[0] = static_cast<std::uint8_t>(number);
  return msdu;
}

// ---- loopback

loopback_config loopback(const folder& where, const std::string& own, const std::string& peer, std::uint64_t address) {
  return {.socket = where.path / own,
          .peer = where.path / peer,
          .mac = {.address = address, .profile = find_profile("dsss_long"), .data_rate_index = 1, .send_credits = 4}};
}

TEST(loopback_driver, two_ends_exchange_packets_and_complete_them) {
  const folder where;
  loopback_driver one(loopback(where, "one", "other", 11)), other(loopback(where, "other", "one", 12));
  recorder heard_by_one, heard_by_other;
  EXPECT_FALSE(one.can_send()) << "it is not up yet";
  serve(one, heard_by_one);
  serve(other, heard_by_other);
  EXPECT_EQ(heard_by_one.ups, 1);
  EXPECT_EQ(heard_by_one.last_mac.address, 11U);
  const bytes msdu = packet(7);
  EXPECT_TRUE(one.send({.receiver_address = 12, .rate_index = 1, .cookie = 99, .msdu = msdu}));
  serve(one, heard_by_one);
  serve(other, heard_by_other);
  ASSERT_EQ(heard_by_one.completions.size(), 1U);
  EXPECT_EQ(heard_by_one.completions[0], std::pair(std::uint32_t{99}, tx_result::delivered));
  ASSERT_EQ(heard_by_other.receptions.size(), 1U);
  EXPECT_EQ(heard_by_other.receptions[0], msdu);
  EXPECT_EQ(heard_by_other.senders[0], 11U);
}

TEST(loopback_driver, a_packet_that_nobody_takes_is_dropped_and_its_credit_comes_back) {
  const folder where;
  loopback_driver alone(loopback(where, "one", "nobody", 11));
  recorder heard;
  serve(alone, heard);
  const bytes msdu = packet(1);
  for (std::uint32_t cookie = 0; alone.can_send(); ++cookie) {
    EXPECT_TRUE(alone.send({.receiver_address = 12, .cookie = cookie, .msdu = msdu}));
  }
  EXPECT_EQ(alone.counters().lost, 4U);
  serve(alone, heard);
  ASSERT_EQ(heard.completions.size(), 4U);
  EXPECT_EQ(heard.completions[3], std::pair(std::uint32_t{3}, tx_result::short_retry_limit));
  EXPECT_TRUE(alone.can_send());
}

TEST(loopback_driver, what_no_mac_can_send_is_refused_at_once_and_costs_no_credit) {
  const folder where;
  loopback_driver one(loopback(where, "one", "one", 11));
  recorder heard;
  serve(one, heard);
  for (const std::size_t size : {std::size_t{0}, std::size_t{most_msdu_bytes + 1}, std::size_t{70'000}}) {
    const bytes msdu(size, 1);
    EXPECT_FALSE(one.send({.receiver_address = 11, .rate_index = 1, .cookie = 1, .msdu = msdu})) << size;
  }
  EXPECT_EQ(one.counters().refused, 3U);
  const bytes longest(most_msdu_bytes, 1);
  for (std::uint32_t cookie = 0; cookie < 4; ++cookie) {
    ASSERT_TRUE(one.can_send());
    EXPECT_TRUE(one.send({.receiver_address = 11, .rate_index = 1, .cookie = cookie, .msdu = longest}));
  }
  serve(one, heard);
  EXPECT_EQ(heard.completions.size(), 4U);
  EXPECT_EQ(heard.receptions, std::vector<bytes>(4, longest));
}

TEST(loopback_driver, told_to_begin_anew_it_goes_down_and_comes_back_with_all_credits) {
  const folder where;
  loopback_driver one(loopback(where, "one", "nobody", 11));
  recorder heard;
  serve(one, heard);
  const bytes msdu = packet(1);
  while (one.can_send()) EXPECT_TRUE(one.send({.receiver_address = 12, .cookie = 1, .msdu = msdu}));
  one.restart("it keeps packets");
  EXPECT_FALSE(one.can_send());
  EXPECT_EQ(one.problem(), "it keeps packets");
  EXPECT_EQ(heard.downs, 0) << "within the call";
  serve(one, heard);
  EXPECT_EQ(heard.downs, 1);
  EXPECT_EQ(heard.ups, 2);
  EXPECT_EQ(one.problem(), "");
  EXPECT_TRUE(heard.completions.empty()) << "what was given is lost";
  std::uint32_t credits = 0;
  for (; one.can_send(); ++credits) EXPECT_TRUE(one.send({.receiver_address = 12, .cookie = credits, .msdu = msdu}));
  EXPECT_EQ(credits, 4U);
}

TEST(loopback_driver, strangers_messages_are_counted) {
  const folder where;
  loopback_driver one(loopback(where, "one", "one", 11));
  recorder heard;
  serve(one, heard);
  const int stranger = socket(AF_UNIX, SOCK_DGRAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string path = where.path / "one";
  path.copy(address.sun_path, path.size());
  std::size_t sent = 0;
  for (std::size_t size = 0; size < 60; ++size) {
    const bytes message(size, static_cast<std::uint8_t>(size));
    sent += sendto(stranger, message.data(), size, MSG_DONTWAIT, reinterpret_cast<sockaddr*>(&address), sizeof address) >= 0;
    serve(one, heard);
  }
  const bytes long_one(9000, 5);
  sent += sendto(stranger, long_one.data(), long_one.size(), 0, reinterpret_cast<sockaddr*>(&address), sizeof address) >= 0;
  serve(one, heard);
  close(stranger);
  EXPECT_EQ(sent, 61U);
  EXPECT_EQ(one.counters().malformed, 61U);
  EXPECT_TRUE(heard.receptions.empty());
}

// ---- fault injector

struct injected {
  explicit injected(const fault_config& config) {
    auto made = std::make_unique<scripted_driver>();
    inner = made.get();
    injector = std::make_unique<fault_injector>(std::move(made), config);
  }
  void receive(std::size_t count) {
    for (std::size_t number = 0; number < count; ++number) inner->script.push_back(packet(number));
    injector->poll(heard);
  }

  scripted_driver* inner = nullptr;
  std::unique_ptr<fault_injector> injector;
  recorder heard;
};

constexpr std::size_t many = 4000;

TEST(fault_injector, without_faults_everything_passes_as_it_came) {
  injected with{fault_config{}};
  with.receive(many);
  ASSERT_EQ(with.heard.receptions.size(), many);
  for (std::size_t number = 0; number < many; ++number) EXPECT_EQ(with.heard.receptions[number], packet(number));
  const bytes msdu = packet(3);
  EXPECT_TRUE(with.injector->send({.msdu = msdu}));
  EXPECT_EQ(with.inner->sent, std::vector<bytes>{msdu});
}

TEST(fault_injector, packets_are_dropped_and_duplicated_at_their_rates) {
  injected with{fault_config{.drop = 0.25, .duplicate = 0.125}};
  with.receive(many);
  const fault_counters& faults = with.injector->faults();
  EXPECT_EQ(faults.received, many);
  EXPECT_NEAR(static_cast<double>(faults.dropped), many * 0.25, 100);
  EXPECT_NEAR(static_cast<double>(faults.duplicated), many * 0.75 * 0.125, 80);
  EXPECT_EQ(with.heard.receptions.size(), many - faults.dropped + faults.duplicated);
}

TEST(fault_injector, a_corrupted_packet_differs_and_keeps_its_length) {
  injected with{fault_config{.corrupt = 1}};
  with.receive(many);
  ASSERT_EQ(with.heard.receptions.size(), many);
  std::size_t same = 0;
  for (std::size_t number = 0; number < many; ++number) {
    EXPECT_EQ(with.heard.receptions[number].size(), packet(number).size());
    same += with.heard.receptions[number] == packet(number);
  }
  // Two changes of one byte may cancel out.
  EXPECT_LT(same, many / 100);
}

TEST(fault_injector, a_seed_says_all_and_another_one_something_else) {
  const fault_config config{.seed = 5, .drop = 0.2, .duplicate = 0.1, .corrupt = 0.3, .reorder = 0.2};
  injected first{config}, again{config};
  fault_config changed = config;
  changed.seed = 6;
  injected other{changed};
  first.receive(500);
  again.receive(500);
  other.receive(500);
  EXPECT_EQ(first.heard.receptions, again.heard.receptions);
  EXPECT_NE(first.heard.receptions, other.heard.receptions);
}

TEST(fault_injector, one_faults_rate_does_not_change_where_another_strikes) {
  injected one{fault_config{.drop = 0.2}}, both{fault_config{.drop = 0.2, .duplicate = 0.5}};
  one.receive(many);
  both.receive(many);
  const std::set<bytes> with_one(one.heard.receptions.begin(), one.heard.receptions.end());
  const std::set<bytes> with_both(both.heard.receptions.begin(), both.heard.receptions.end());
  EXPECT_EQ(with_one, with_both);
}

TEST(fault_injector, a_reordered_packet_comes_behind_the_next_one_and_none_is_lost) {
  injected with{fault_config{.reorder = 0.3}};
  with.receive(many);
  serve(*with.injector, with.heard, 200);  // the last one has none to wait for
  ASSERT_EQ(with.heard.receptions.size(), many);
  std::size_t behind = 0;
  const auto number_of = [](const bytes& msdu) { return std::size_t{msdu[1]} << 8 | msdu[0]; };
  for (std::size_t i = 0; i < many; ++i) {
    const std::size_t number = number_of(with.heard.receptions[i]);
    EXPECT_LE(number > i ? number - i : i - number, 1U);
    behind += number < i;
  }
  // The last packet has none to follow.
  EXPECT_LE(behind, with.injector->faults().reordered);
  EXPECT_GE(behind + 1, with.injector->faults().reordered);
  EXPECT_GT(behind, many / 10);
}

TEST(fault_injector, a_delayed_packet_comes_after_its_time) {
  using clock = std::chrono::steady_clock;
  constexpr std::chrono::milliseconds delay{20};
  injected with{fault_config{.delayed = 1, .delay_us = std::chrono::microseconds(delay).count()}};
  const clock::time_point begun = clock::now();
  with.receive(3);
  while (with.heard.receptions.size() < 3 && clock::now() < begun + std::chrono::seconds(10)) serve(*with.injector, with.heard, 1);
  EXPECT_GE(clock::now() - begun, delay) << "too early";
  ASSERT_EQ(with.heard.receptions.size(), 3U);
  EXPECT_EQ(with.heard.receptions[2], packet(2));
}

TEST(fault_injector, only_so_many_packets_wait) {
  injected with{fault_config{.delayed = 1, .delay_us = 60'000'000}};
  with.receive(many);
  EXPECT_EQ(with.injector->faults().delayed, fault_injector::most_waiting);
  EXPECT_EQ(with.injector->faults().dropped, many - fault_injector::most_waiting);
}

// ---- capture

struct tapped {
  tapped(const std::string& file, std::uint64_t most_bytes) {
    auto made = std::make_unique<scripted_driver>();
    inner = made.get();
    tap = std::make_unique<pcap_tap>(std::move(made), file, most_bytes);
  }
  scripted_driver* inner = nullptr;
  std::unique_ptr<pcap_tap> tap;
  recorder heard;
};

TEST(pcap_tap, packets_pass_and_the_file_holds_them_after_a_restart_too) {
  const folder where;
  const std::string file = where.path / "tap.pcapng";
  std::uintmax_t before = 0;
  for (int run = 0; run < 2; ++run) {
    tapped with(file, 1'000'000);
    with.inner->script = {packet(1), packet(2)};
    with.tap->poll(with.heard);
    const bytes msdu = packet(3);
    EXPECT_TRUE(with.tap->send({.receiver_address = 5, .rate_index = 1, .msdu = msdu}));
    EXPECT_EQ(with.heard.receptions, (std::vector<bytes>{packet(1), packet(2)}));
    EXPECT_EQ(with.inner->sent, std::vector<bytes>{msdu});
    EXPECT_EQ(with.tap->captured().written, 3U);
    EXPECT_EQ(with.tap->captured().lost, 0U);
    const std::uintmax_t size = std::filesystem::file_size(file);
    EXPECT_EQ(run == 0 ? size : size - before, size / (run + 1U));
    before = size;
  }
}

/// The time of each packet of a capture (draft-ietf-opsawg-pcapng, 4.3), and whether TSFT of its radiotap header is a given one.
std::vector<std::uint64_t> times_of(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  const std::string all{std::istreambuf_iterator<char>(in), {}};
  const auto word = [&](std::size_t at) {
    std::uint32_t value = 0;
    std::memcpy(&value, all.data() + at, sizeof value);
    return value;
  };
  std::vector<std::uint64_t> times;
  for (std::size_t at = 0; at + 12 <= all.size(); at += word(at + 4)) {
    if (word(at) == 6) times.push_back(std::uint64_t{word(at + 12)} << 32 | word(at + 16));
  }
  return times;
}

TEST(pcap_tap, received_packets_have_the_radios_time_where_pulses_make_it_that_of_others) {
  const folder where;
  constexpr std::uint64_t heard_us = 1'000'000'000'000'000;
  for (const bool by_pulses : {false, true}) {
    const std::string file = where.path / (by_pulses ? "by_pulses.pcapng" : "by_host.pcapng");
    tapped with(file, 1'000'000);
    with.inner->radio = radio_time{.by_pulses = by_pulses};
    with.inner->device_us = heard_us;
    with.inner->script = {packet(1)};
    with.tap->poll(with.heard);
    ASSERT_TRUE(with.tap->time());
    EXPECT_EQ(with.tap->time()->by_pulses, by_pulses);
    const auto times = times_of(file);
    ASSERT_EQ(times.size(), 1U);
    EXPECT_EQ(times[0] == heard_us, by_pulses);
    // TSFT is the radio's time in either case.
    std::ifstream in(file, std::ios::binary);
    const std::string all{std::istreambuf_iterator<char>(in), {}};
    EXPECT_NE(all.find(std::string(reinterpret_cast<const char*>(&heard_us), sizeof heard_us)), std::string::npos);
  }
}

TEST(pcap_tap, what_the_driver_refuses_is_refused_and_not_captured) {
  const folder where;
  tapped with(where.path / "tap.pcapng", 1'000'000);
  const bytes msdu = packet(3);
  with.inner->refuses = true;
  EXPECT_FALSE(with.tap->send({.receiver_address = 5, .rate_index = 1, .msdu = msdu}));
  EXPECT_EQ(with.tap->captured().written, 0U);
  with.tap->restart("why");
  EXPECT_EQ(with.inner->restarted, "why");
}

TEST(pcap_tap, a_file_does_not_grow_beyond_its_limit_and_packets_pass_all_the_same) {
  const folder where;
  const std::string file = where.path / "tap.pcapng";
  tapped with(file, 400);
  for (std::size_t number = 0; number < 50; ++number) with.inner->script.push_back(packet(number));
  with.tap->poll(with.heard);
  EXPECT_EQ(with.heard.receptions.size(), 50U);
  EXPECT_GT(with.tap->captured().written, 0U);
  EXPECT_EQ(with.tap->captured().written + with.tap->captured().lost, 50U);
  EXPECT_LE(std::filesystem::file_size(file), 400U);
}

TEST(pcap_tap, a_full_disk_loses_packets_of_the_capture_only) {
  if (access("/dev/full", W_OK) != 0) GTEST_SKIP() << "there is no /dev/full";
  tapped with("/dev/full", 1'000'000);
  with.inner->script = {packet(1)};
  with.tap->poll(with.heard);
  EXPECT_EQ(with.heard.receptions.size(), 1U);
  EXPECT_EQ(with.tap->captured().lost, 1U);
}

TEST(pcap_tap, a_folder_that_is_not_there_is_said) { EXPECT_THROW(tapped("/nowhere/at/all.pcapng", 1000), std::system_error); }

// ---- air: the other end is a stranger

/// Where a medium listens; -1: it cannot.
int listener_at(const std::string& path) {
  const int listener = socket(AF_UNIX, SOCK_SEQPACKET, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, path.size());
  const bool listens = bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0 && listen(listener, 4) == 0;
  return listens ? listener : -1;
}

TEST(air_driver, nonsense_of_its_medium_is_counted_and_the_driver_comes_up_when_one_makes_sense) {
  const folder where;
  const std::string path = where.path / "air";
  const int listener = listener_at(path);
  ASSERT_GE(listener, 0);
  air_driver driver(path, 3);
  recorder heard;
  const int medium = accept(listener, nullptr, nullptr);
  for (std::size_t size = 1; size < 100; ++size) {
    const bytes message(size, static_cast<std::uint8_t>(size * 7));
    ASSERT_EQ(send(medium, message.data(), size, 0), static_cast<ssize_t>(size));
    serve(driver, heard);
  }
  EXPECT_EQ(heard.ups, 0);
  EXPECT_EQ(driver.counters().malformed, 99U);
  EXPECT_EQ(driver.problem(), "the medium at " + path + " is of another version");
  wire::air_welcome welcome;
  std::array<std::uint8_t, wire::air_welcome::size_bytes> encoded;
  welcome.status = 2;
  welcome.encode(encoded);
  ASSERT_GT(send(medium, encoded.data(), encoded.size(), 0), 0);
  serve(driver, heard);
  EXPECT_EQ(driver.problem(), "the medium at " + path + " has no node 3");
  welcome.status = 0;
  welcome.send_credits = 2;
  welcome.address = 77;
  welcome.encode(encoded);
  ASSERT_GT(send(medium, encoded.data(), encoded.size(), 0), 0);
  serve(driver, heard);
  EXPECT_EQ(heard.ups, 1);
  EXPECT_EQ(heard.last_mac.address, 77U);
  for (std::size_t size = 1; size < 100; ++size) {
    const bytes message(size, static_cast<std::uint8_t>(0x80 | size));
    ASSERT_EQ(send(medium, message.data(), size, 0), static_cast<ssize_t>(size));
    serve(driver, heard);
  }
  EXPECT_TRUE(heard.receptions.empty());
  EXPECT_EQ(driver.counters().malformed, 199U);
  close(medium);
  serve(driver, heard);
  EXPECT_EQ(heard.downs, 1);
  EXPECT_FALSE(driver.can_send());
  // It connects again by itself.
  pollfd waiting{.fd = listener, .events = POLLIN, .revents = 0};
  serve(driver, heard, 500);
  EXPECT_GT(::poll(&waiting, 1, 500), 0);
  close(listener);
}

TEST(air_driver, a_medium_that_tells_of_a_mac_that_cannot_be_is_refused) {
  const folder where;
  const std::string path = where.path / "air";
  const int listener = listener_at(path);
  ASSERT_GE(listener, 0);
  air_driver driver(path, 3);
  recorder heard;
  const int medium = accept(listener, nullptr, nullptr);
  ASSERT_GE(medium, 0);
  const auto say = [&](const wire::air_welcome& welcome) {
    std::array<std::uint8_t, wire::air_welcome::size_bytes> encoded;
    welcome.encode(encoded);
    ASSERT_GT(send(medium, encoded.data(), encoded.size(), 0), 0);
    serve(driver, heard);
  };
  // Rates and addresses that are used without another look.
  const auto rates = static_cast<std::uint8_t>(timing_profiles()[0].rates.size());
  say({.send_credits = 2, .data_rate = rates, .address = 77});
  say({.send_credits = 2, .data_rate = 255, .address = 77});
  say({.send_credits = 2, .address = broadcast_address + 1});
  EXPECT_EQ(heard.ups, 0);
  EXPECT_FALSE(driver.can_send());
  EXPECT_EQ(driver.counters().malformed, 3U);
  EXPECT_EQ(driver.problem(), "the medium at " + path + " tells of a MAC that cannot be");
  say({.send_credits = 2, .data_rate = static_cast<std::uint8_t>(rates - 1), .address = 77});
  EXPECT_EQ(heard.ups, 1);
  close(medium);
  close(listener);
}

}  // namespace
}  // namespace perhop::drivers
