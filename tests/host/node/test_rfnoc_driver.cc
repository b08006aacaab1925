// SPDX-License-Identifier: GPL-2.0-or-later
/// The rfnoc driver, at a model of a radio, passes the suite of all drivers. Through UHD's mock block it does so in tests/hw/uhd.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <optional>

#include "driver_conformance.hpp"
#include "host/drivers/rfnoc_driver.hpp"
#include "radio_model.hpp"

namespace perhop::drivers::conformance {
namespace {

/// What a link says beside registers and packets.
struct link_says {
  std::atomic<std::uint64_t> overflows = 0, late = 0, sequence_errors = 0;
  std::atomic<bool> has_lost_reference = false;
  std::atomic<std::uint64_t> ticks_per_s = 0, packet_ticks = 0;  ///< 0: the radio has no time; the packet has none
  // A read of this register is held, and how many packets had gone when the next read of `looked_at` came.
  static constexpr std::uint32_t held_at = registers::shell::stat_rx_samples_lost::address,
                                 looked_at = registers::stat_done_overflow::address;
  std::atomic<bool> holds = false, is_held = false;
  std::atomic<int> packets = 0, packets_then = -1;
};

class model_link : public radio_link {
public:
  model_link(radio_model& model, link_says& says) : model_(model), says_(says) {}
  std::uint32_t read(std::uint32_t address) override {
    expect_present();
    if (address == link_says::held_at && says_.holds) {
      says_.is_held = true;
      says_.holds.wait(true);
    }
    if (address == link_says::looked_at && says_.is_held.exchange(false)) says_.packets_then = says_.packets.load();
    return model_.read(address);
  }
  void write(std::uint32_t address, std::uint32_t word) override {
    expect_present();
    model_.write(address, word);
  }
  void send(std::span<const std::uint8_t> packet) override {
    if (!model_.take(packet)) throw link_error("gone");
    ++says_.packets;
  }
  std::size_t receive(std::span<std::uint8_t> packet) override {
    bytes come;
    if (!model_.give(come)) throw link_error("gone");
    std::ranges::copy(come, packet.begin());
    return come.size();
  }
  link_counts counts() const override {
    return {.overflows = says_.overflows, .late = says_.late, .sequence_errors = says_.sequence_errors};
  }
  std::optional<std::uint64_t> packet_ticks() const override {
    const std::uint64_t ticks = says_.packet_ticks;
    return ticks == 0 ? std::nullopt : std::optional(ticks);
  }
  std::uint64_t ticks_per_s() const override { return says_.ticks_per_s; }
  std::optional<radio_time> time() const override {
    if (says_.ticks_per_s == 0) return {};
    return radio_time{.by_pulses = true, .host_ahead_s = 0.25};
  }
  std::string time_trouble() override { return says_.has_lost_reference ? "the reference is gone" : ""; }

private:
  void expect_present() const {
    if (!model_.present()) throw link_error("gone");
  }
  radio_model& model_;
  link_says& says_;
};

class rfnoc_bench {
public:
  static constexpr std::uint64_t own_address = 0x020000000001, peer_address = 0x0200000000AA;
  static constexpr std::uint32_t readable = registers::id::address, its_word = core_id, refused = registers::slot::address,
                                 refused_word = 20;

  rfnoc_bench() {
    rfnoc_config config;
    config.setup.address = own_address;
    config.setup.profile = find_profile("dsss_long");
    config.setup.tx_delay_clocks = 100;
    config.setup.rx_delay_clocks = 60;
    config.retry_ms = 100;  // long enough to ask in between
    config.beat_ms = 20;
    driver_.emplace(
        [this] {
          if (!model_.present()) throw link_error("there is no radio");
          if (says_.has_lost_reference) throw link_error("it does not lock");
          return std::make_unique<model_link>(model_, says_);
        },
        config);
  }
  driver& dut() { return *driver_; }
  rfnoc_driver& rfnoc() { return *driver_; }
  radio_model& model() { return model_; }
  link_says& link() { return says_; }
  void bring_up() { model_.be_present(true); }
  void vanish() { model_.be_present(false); }
  std::vector<sent_packet> sent() { return model_.sent(); }
  void complete(std::size_t nth, tx_result result) { model_.complete(nth, result); }
  void hear(std::uint16_t sequence, const bytes& msdu) { model_.hear(own_address, peer_address, sequence, msdu); }
  void spoil() { model_.say({0xEE, 1, 2, 3}); }

private:
  radio_model model_;
  link_says says_;
  std::optional<rfnoc_driver> driver_;
};

INSTANTIATE_TYPED_TEST_SUITE_P(rfnoc, driver_conformance, rfnoc_bench);

// ---- What the rfnoc driver does beside

class rfnoc : public driver_conformance<rfnoc_bench> {};

TEST_F(rfnoc, sets_the_radio_up_before_it_is_up) {
  come_up();
  radio_model& model = bench.model();
  EXPECT_EQ(model.get(registers::address::address), 1U);
  EXPECT_EQ(model.get(registers::address::address + 4), 0x0200U);
  EXPECT_EQ(model.get(registers::phy_delay::address), 100U | 60U << 16);
  // The response timeout holds the delays: 160 clocks of 60 in a microsecond.
  EXPECT_EQ(model.get(registers::response_timeout::address), find_profile("dsss_long")->response_timeout_us + 3);
  EXPECT_EQ(model.get(registers::shell::route::address), 1U);
  EXPECT_EQ(model.get(registers::control::address), 1U);
  EXPECT_EQ(model.get(registers::shell::heartbeat::address), default_heartbeat_limit_ms);
  // Enabled last; what comes behind that are beats.
  auto writes = model.writes();
  while (writes.back().first == registers::shell::heartbeat::address) writes.pop_back();
  EXPECT_EQ(writes.back(), std::pair(registers::control::address, 1U));
}

TEST_F(rfnoc, beats_for_as_long_as_it_is_up_and_not_beyond) {
  come_up();
  radio_model& model = bench.model();
  const auto beats = [&] {
    return std::ranges::count(model.writes(), registers::shell::heartbeat::address, &std::pair<std::uint32_t, std::uint32_t>::first);
  };
  const auto before = beats();
  ASSERT_TRUE(until([&] { return beats() >= before + 3; }));
  EXPECT_LE(3 * rfnoc_config().beat_ms, default_heartbeat_limit_ms) << "one that is late must not be the end";
  bench.rfnoc().restart("a test");
  ASSERT_TRUE(until([&] { return heard.downs == 1; }));
  const auto at_the_end = beats();
  // While the driver waits to begin anew, nobody beats; then set_up() sets the limit, which counts as one.
  ASSERT_TRUE(until([&] { return heard.ups == 2; }));
  EXPECT_LE(beats(), at_the_end + 3);
}

TEST_F(rfnoc, a_packet_waits_for_one_register_of_a_beat_and_not_for_all) {
  come_up();
  bench.link().holds = true;
  ASSERT_TRUE(until([&] { return bench.link().is_held.load(); }));
  send(1, bytes(20, 1));
  bench.link().holds = false;
  bench.link().holds.notify_all();
  ASSERT_TRUE(until([&] { return bench.link().packets_then >= 0; }));
  EXPECT_EQ(bench.link().packets_then, 1);
}

TEST_F(rfnoc, tells_its_macs_clock_as_of_the_last_beat_and_none_while_it_is_down) {
  EXPECT_FALSE(bench.dut().mac_clock_us());
  bench.model().set_version_on_reset(registers::tsf::address, 70);
  come_up();
  EXPECT_EQ(bench.dut().mac_clock_us(), 70U);
  bench.model().set(registers::tsf::address, 77);
  ASSERT_TRUE(until([&] { return bench.dut().mac_clock_us() == 77U; }));
  bench.model().set_version_on_reset(registers::shell::version::address, 99U << 16);
  bench.rfnoc().restart("a test");
  ASSERT_TRUE(until([&] { return heard.downs == 1; }));
  EXPECT_FALSE(bench.dut().mac_clock_us());
}

TEST_F(rfnoc, a_shell_that_had_given_the_host_up_is_set_up_anew) {
  come_up();
  radio_model& model = bench.model();
  model.set(registers::shell::route::address, 0);
  ASSERT_TRUE(until([&] { return heard.downs == 1; }));
  EXPECT_NE(bench.rfnoc().problem().find("has stopped sending"), std::string::npos);
  ASSERT_TRUE(until([&] { return heard.ups == 2; }));
  EXPECT_EQ(model.get(registers::shell::route::address), 1U);
}

TEST_F(rfnoc, counts_what_radio_and_link_say_went_wrong) {
  bench.model().set_version_on_reset(registers::shell::stat_rx_samples_lost::address, 7);
  come_up();
  radio_model& model = bench.model();
  ASSERT_TRUE(until([&] { return bench.dut().counters().ups == 1; }));
  model.set(registers::shell::stat_rx_samples_lost::address, 9);
  model.set(registers::shell::stat_tx_samples_late::address, 3);
  bench.link().late = 2;
  bench.link().sequence_errors = 4;
  bench.link().overflows = 1;
  ASSERT_TRUE(until([&] { return bench.dut().counters().overflows != 0; }));
  ASSERT_TRUE(until([&] { return bench.dut().counters().sequence_errors != 0; }));
  const driver_counters& counted = bench.dut().counters();
  EXPECT_EQ(std::tuple(counted.overflows, counted.late, counted.sequence_errors), std::tuple(1U, 2U, 4U));
  ASSERT_TRUE(until([&] { return bench.dut().counters().tx_samples_late != 0; }));
  EXPECT_EQ(std::tuple(counted.rx_samples_lost, counted.tx_samples_late), std::tuple(2U, 3U));
}

TEST_F(rfnoc, counts_also_what_went_wrong_behind_the_last_beat) {
  come_up();
  bench.link().sequence_errors = 3;
  bench.rfnoc().restart("what was lost was a completion record");
  ASSERT_TRUE(until([&] { return heard.downs == 1; }));
  EXPECT_EQ(bench.dut().counters().sequence_errors, 3U);
}

TEST_F(rfnoc, counts_frames_for_which_the_host_was_too_slow) {
  come_up();
  bench.model().set(registers::stat_rx_overflow::address, 5);
  ASSERT_TRUE(until([&] { return bench.dut().counters().overflows == 5; }));
  EXPECT_EQ(heard.downs, 0);
}

TEST_F(rfnoc, begins_anew_where_completion_records_were_lost_whose_credits_would_be_too) {
  come_up();
  bench.model().set(registers::stat_done_overflow::address, 1);
  ASSERT_TRUE(until([&] { return heard.downs == 1; }));
  EXPECT_NE(bench.rfnoc().problem().find("lost completion records"), std::string::npos);
  EXPECT_EQ(bench.dut().counters().overflows, 1U);
  ASSERT_TRUE(until([&] { return heard.ups == 2; }));
}

TEST_F(rfnoc, tells_of_a_converter_that_stands_and_counts_it) {
  come_up();
  bench.model().let_converter_stand(true);
  ASSERT_TRUE(until([&] { return heard.downs == 1; }));
  EXPECT_NE(bench.rfnoc().problem().find("its clock stands"), std::string::npos);
  EXPECT_EQ(bench.dut().counters().times_lost, 1U);
  bench.model().let_converter_stand(false);
  const int ups = heard.ups;
  ASSERT_TRUE(until([&] { return heard.ups > ups; }));
}

TEST_F(rfnoc, tells_of_a_lost_reference_and_is_up_when_it_is_back) {
  come_up();
  bench.link().has_lost_reference = true;
  ASSERT_TRUE(until([&] { return heard.downs == 1; }));
  EXPECT_EQ(bench.dut().counters().times_lost, 1U);
  ASSERT_TRUE(until([&] { return bench.rfnoc().problem().find("does not lock") != std::string::npos; }));
  bench.link().has_lost_reference = false;
  ASSERT_TRUE(until([&] { return heard.ups == 2; }));
  EXPECT_EQ(bench.rfnoc().problem(), "");
}

// ---- A radio with a time

constexpr std::uint64_t ticks_per_s = 22'000'000;

/// The registers of a radio whose time is so many microseconds when its TSF is `tsf_us`.
void set_time(radio_model& model, std::uint64_t device_us, std::uint64_t tsf_us) {
  const std::uint64_t ticks = device_us / 1'000'000 * ticks_per_s + device_us % 1'000'000 * 22;
  const auto put = [&model](std::uint32_t address, std::uint64_t value) {
    model.set_version_on_reset(address, static_cast<std::uint32_t>(value));
    model.set_version_on_reset(address + 4, static_cast<std::uint32_t>(value >> 32));
    model.set(address, static_cast<std::uint32_t>(value));
    model.set(address + 4, static_cast<std::uint32_t>(value >> 32));
  };
  put(registers::shell::device_time::address, ticks);
  put(registers::shell::device_time_tsf::address, tsf_us);
}

class rfnoc_with_time : public rfnoc {
protected:
  static constexpr std::uint64_t now_us = 1'764'000'000'123'456, tsf_us = 5'000'000;

  void come_up_with_time() {
    bench.link().ticks_per_s = ticks_per_s;
    bench.model().set_version_on_reset(registers::shell::build::address,
                                       static_cast<std::uint32_t>(registers::shell::build::timed.put(16, 1)));
    set_time(bench.model(), now_us, tsf_us);
    come_up();
  }

  /// The radio completes the packet that was sent first, at these times of its TSF.
  void complete_at(std::uint32_t enqueue_us, std::uint32_t done_us) {
    completion_record record;
    record.t_enqueue_us = enqueue_us;
    record.t_head_us = enqueue_us + 10;
    record.t_first_tx_us = enqueue_us + 60;
    record.t_done_us = done_us;
    bytes packet(wire::host_record::size_bytes);
    wire::host_record().encode(std::span(packet).first<wire::host_record::size_bytes>());
    for (const std::uint32_t word : encode_completion_record(record)) {
      for (int shift = 0; shift < 32; shift += 8) packet.push_back(static_cast<std::uint8_t>(word >> shift));
    }
    bench.model().say(packet);
  }
};

TEST_F(rfnoc_with_time, tells_frames_by_the_time_that_came_with_them_less_what_the_receiver_takes) {
  come_up_with_time();
  // 60 clocks of 60 in a microsecond: the modem says of a frame's end a microsecond later.
  bench.link().packet_ticks = (now_us / 1'000'000 + 7) * ticks_per_s + 11'000'022;
  bench.hear(1, bytes(20, 1));
  ASSERT_TRUE(until([&] { return heard.receptions.size() == 1; }));
  ASSERT_TRUE(heard.last.device_us);
  EXPECT_EQ(*heard.last.device_us, (now_us / 1'000'000 + 7) * 1'000'000 + 500'000);
  bench.link().packet_ticks = 0;
  bench.hear(2, bytes(20, 1));
  ASSERT_TRUE(until([&] { return heard.receptions.size() == 2; }));
  EXPECT_FALSE(heard.last.device_us);
  ASSERT_TRUE(bench.dut().time());
  EXPECT_TRUE(bench.dut().time()->by_pulses);
  EXPECT_EQ(bench.dut().time()->host_ahead_s, 0.25);
}

TEST_F(rfnoc_with_time, tells_completions_by_the_radios_time_and_leaves_what_is_between) {
  come_up_with_time();
  send(1, bytes(20, 1));
  complete_at(tsf_us - 700, tsf_us + 3000);
  ASSERT_TRUE(until([&] { return heard.completions.size() == 1; }));
  const completion_record& told = heard.last_record;
  EXPECT_EQ(told.t_done_us, static_cast<std::uint32_t>(now_us + 3000));
  EXPECT_EQ(told.t_enqueue_us, static_cast<std::uint32_t>(now_us - 700));
  EXPECT_EQ(told.t_head_us - told.t_enqueue_us, 10U);
  EXPECT_EQ(told.t_first_tx_us - told.t_enqueue_us, 60U);
}

TEST_F(rfnoc_with_time, a_time_that_jumps_is_told_of_counted_and_begun_anew) {
  come_up_with_time();
  // As much by both: nothing is wrong.
  set_time(bench.model(), now_us + 1'000'000, tsf_us + 1'000'000);
  const auto looks = [&] { return std::ranges::count(bench.model().reads(), registers::shell::device_time::address); };
  const auto before = looks();
  ASSERT_TRUE(until([&] { return looks() > before + 2; }));
  EXPECT_EQ(heard.downs, 0);
  set_time(bench.model(), now_us - 2'000'000, tsf_us + 1'000'100);
  ASSERT_TRUE(until([&] { return heard.downs == 1; }));
  EXPECT_NE(bench.rfnoc().problem().find("has jumped by -3"), std::string::npos) << bench.rfnoc().problem();
  EXPECT_EQ(bench.dut().counters().times_lost, 1U);
  ASSERT_TRUE(until([&] { return heard.ups == 2; }));
  bench.link().packet_ticks = (now_us / 1'000'000) * ticks_per_s + 22;
  bench.hear(1, bytes(20, 1));
  ASSERT_TRUE(until([&] { return heard.receptions.size() == 1; }));
  EXPECT_EQ(heard.last.device_us, now_us / 1'000'000 * 1'000'000);
}

TEST_F(rfnoc, a_radio_without_a_time_tells_its_tsf_as_it_is) {
  bench.link().ticks_per_s = ticks_per_s;
  come_up();
  bench.link().packet_ticks = 22;
  bench.hear(1, bytes(20, 1));
  ASSERT_TRUE(until([&] { return heard.receptions.size() == 1; }));
  EXPECT_FALSE(heard.last.device_us);
  send(1, bytes(20, 1));
  ASSERT_TRUE(until([&] { return bench.sent().size() == 1; }));
  bench.complete(0, tx_result::delivered);
  ASSERT_TRUE(until([&] { return heard.completions.size() == 1; }));
  EXPECT_EQ(heard.last_record.t_done_us, 0U);
}

TEST_F(rfnoc, a_radio_of_another_version_is_not_touched_and_named) {
  bench.model().set_version_on_reset(registers::shell::version::address, 99U << 16);
  bench.bring_up();
  ASSERT_TRUE(until([&] { return bench.rfnoc().problem().find("version 99") != std::string::npos; }));
  EXPECT_EQ(heard.ups, 0);
  EXPECT_TRUE(bench.model().writes().empty());
}

TEST_F(rfnoc, frames_whose_length_lies_or_whose_fcs_is_bad_are_not_given_on) {
  come_up();
  bench.model().hear(1, 2, 3, bytes(10, 1), false);
  bytes lying(wire::host_frame::size_bytes + 8);
  wire::host_frame head;
  head.fcs_ok = 1;
  head.frame_kind = static_cast<std::uint8_t>(frame_kind::data);
  head.encode(std::span(lying).first<wire::host_frame::size_bytes>());
  for (const std::uint32_t told : {0U, 5U, 0xFFFFFFFFU}) {
    for (int byte = 0; byte < 4; ++byte) lying[lying.size() - 4 + byte] = static_cast<std::uint8_t>(told >> 8 * byte);
    bench.model().say(lying);
  }
  bench.model().say(bytes(lying.begin(), lying.begin() + wire::host_frame::size_bytes));
  ASSERT_TRUE(until([&] { return bench.dut().counters().malformed == 4; }));
  EXPECT_TRUE(heard.receptions.empty());
}

TEST_F(rfnoc, a_lost_completion_record_makes_it_begin_anew) {
  come_up();
  send(1, bytes(20, 1));
  send(2, bytes(20, 2));
  ASSERT_TRUE(until([&] { return bench.sent().size() == 2; }));
  bench.complete(1, tx_result::delivered);
  ASSERT_TRUE(until([&] { return heard.downs == 1 && heard.ups == 2; }));
  EXPECT_TRUE(heard.completions.empty());
  EXPECT_EQ(bench.dut().counters().lost, 2U);
}

TEST_F(rfnoc, gives_the_converter_back_when_it_ends) {
  come_up();
  radio_model& model = bench.model();
  {
    link_says nothing;
    rfnoc_config config;
    config.setup.profile = find_profile("dsss_long");
    config.retry_ms = 10;
    rfnoc_driver other([&] { return std::make_unique<model_link>(model, nothing); }, config);
    recorder told;
    while (told.ups == 0) {
      pollfd waiting{.fd = other.descriptor(), .events = POLLIN, .revents = 0};
      if (::poll(&waiting, 1, 5) > 0) other.poll(told);
    }
    EXPECT_EQ(model.get(registers::control::address), 1U);
  }
  EXPECT_EQ(model.get(registers::control::address), 0U);
  EXPECT_EQ(model.get(registers::shell::route::address), 0U);
}

}  // namespace
}  // namespace perhop::drivers::conformance
