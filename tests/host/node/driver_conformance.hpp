// SPDX-License-Identifier: GPL-2.0-or-later
/// What every driver of a MAC must do, whatever it reaches it by: one suite, and a bench a driver.
///
/// A bench plays the MAC and whatever lies between: it must have
///     driver& dut()                          made once, at first down
///     void bring_up(), vanish()              the MAC answers; is gone
///     std::vector<sent_packet> sent()        what the MAC got so far, in order
///     void complete(std::size_t nth, tx_result result)      the MAC is done with its nth packet
///     void hear(std::uint16_t sequence, bytes msdu)          the MAC got a DATA frame of `peer_address`
///     void spoil()                           something comes that is no message
///     static constexpr std::uint64_t own_address, peer_address
///     std::uint32_t readable, its_word       a register, and what it holds; refused: one that does not take a write now
#pragma once

#include <gtest/gtest.h>
#include <poll.h>

#include <chrono>
#include <string>
#include <vector>

#include "host/drivers/driver.hpp"

namespace perhop::drivers::conformance {

using bytes = std::vector<std::uint8_t>;

struct sent_packet {
  std::uint64_t receiver_address;
  std::uint8_t peer;
  std::uint8_t rate_index;
  bool use_rts;
  bytes msdu;
};

struct recorder : driver_listener {
  void on_up(const mac_properties& told) override {
    ++ups;
    mac = told;
  }
  void on_down() override { ++downs; }
  void on_completion(std::uint32_t cookie, const completion_record& record) override {
    completions.emplace_back(cookie, record.result);
    last_record = record;
  }
  void on_reception(const reception& frame) override {
    receptions.emplace_back(frame.msdu.begin(), frame.msdu.end());
    last = frame;
    last.msdu = {};
  }
  void on_registers(std::uint32_t cookie, std::span<const register_answer> told) override {
    answers.emplace_back(cookie, std::vector<register_answer>(told.begin(), told.end()));
  }
  int ups = 0, downs = 0;
  mac_properties mac;
  std::vector<std::pair<std::uint32_t, tx_result>> completions;
  std::vector<bytes> receptions;
  reception last;
  completion_record last_record;
  std::vector<std::pair<std::uint32_t, std::vector<register_answer>>> answers;
};

template <class Bench>
class driver_conformance : public testing::Test {
protected:
  static constexpr int patience_ms = 10'000;

  /// Serves the driver until the condition holds. @return whether it came to hold in time
  template <class Condition>
  bool until(Condition holds) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(patience_ms);
    while (!holds()) {
      if (std::chrono::steady_clock::now() > end) return false;
      pollfd waiting{.fd = bench.dut().descriptor(), .events = POLLIN, .revents = 0};
      if (::poll(&waiting, 1, 5) > 0) bench.dut().poll(heard);
    }
    return true;
  }

  void come_up() {
    bench.bring_up();
    ASSERT_TRUE(until([&] { return heard.ups == 1 && bench.dut().can_send(); }));
  }

  static send_request request(std::uint32_t cookie, const bytes& msdu) {
    return {.receiver_address = Bench::peer_address, .peer = 3, .rate_index = 1, .cookie = cookie, .msdu = msdu};
  }

  void send(std::uint32_t cookie, const bytes& msdu, std::uint8_t peer = 3, bool use_rts = false) {
    send_request wanted = request(cookie, msdu);
    wanted.peer = peer;
    wanted.use_rts = use_rts;
    EXPECT_TRUE(bench.dut().send(wanted));
  }

  /// Sends until there is no credit left. @return how many
  std::uint32_t spend_credits(std::uint32_t first_cookie) {
    std::uint32_t count = 0;
    while (bench.dut().can_send() && count < 1000) send(first_cookie + count++, bytes(20, 1));
    return count;
  }

  Bench bench;
  recorder heard;
};

TYPED_TEST_SUITE_P(driver_conformance);

TYPED_TEST_P(driver_conformance, is_down_until_its_mac_answers_and_then_says_what_the_mac_is) {
  EXPECT_FALSE(this->bench.dut().can_send());
  const std::array<register_access, 1> accesses{{{.address = 0, .write = {}}}};
  EXPECT_FALSE(this->bench.dut().access_registers(1, accesses));
  const int descriptor = this->bench.dut().descriptor();
  this->come_up();
  EXPECT_EQ(this->bench.dut().descriptor(), descriptor);
  EXPECT_EQ(this->heard.mac.address, TypeParam::own_address);
  ASSERT_NE(this->heard.mac.profile, nullptr);
  EXPECT_EQ(this->heard.mac.profile->name, "dsss_long");
  EXPECT_EQ(this->heard.mac.data_rate_index, 1);
  EXPECT_GE(this->heard.mac.send_credits, 2U);
  EXPECT_EQ(this->bench.dut().counters().ups, 1U);
}

TYPED_TEST_P(driver_conformance, says_in_one_line_why_its_mac_is_down_and_nothing_while_it_is_up) {
  ASSERT_TRUE(this->until([&] { return !this->bench.dut().problem().empty(); }));
  this->come_up();
  EXPECT_EQ(this->bench.dut().problem(), "");
  this->bench.vanish();
  ASSERT_TRUE(this->until([&] { return this->heard.downs == 1; }));
  const std::string problem = this->bench.dut().problem();
  EXPECT_NE(problem, "");
  EXPECT_EQ(problem.find('\n'), std::string::npos) << problem;
}

TYPED_TEST_P(driver_conformance, a_packet_reaches_the_mac_as_it_is_and_its_completion_has_its_cookie) {
  this->come_up();
  for (const std::size_t size : {1, 2, 3, 4, 5, 61, 1500, 2304}) {
    bytes msdu(size);
    for (std::size_t at = 0; at < size; ++at) msdu[at] = static_cast<std::uint8_t>(at * 7 + size);
    const std::size_t number = this->bench.sent().size();
    this->send(static_cast<std::uint32_t>(0xC0000000U + size), msdu, 5, size % 2 == 0);
    ASSERT_TRUE(this->until([&] { return this->bench.sent().size() == number + 1; }));
    const sent_packet got = this->bench.sent().back();
    EXPECT_EQ(got.msdu, msdu);
    EXPECT_EQ(got.receiver_address, TypeParam::peer_address);
    EXPECT_EQ(got.peer, 5);
    EXPECT_EQ(got.rate_index, 1);
    EXPECT_EQ(got.use_rts, size % 2 == 0);
    this->bench.complete(number, tx_result::delivered);
    ASSERT_TRUE(this->until([&] { return this->heard.completions.size() == number + 1; }));
    EXPECT_EQ(this->heard.completions.back(), std::pair(static_cast<std::uint32_t>(0xC0000000U + size), tx_result::delivered));
  }
}

TYPED_TEST_P(driver_conformance, credits_end_and_come_back_one_by_one) {
  this->come_up();
  const std::uint32_t credits = this->heard.mac.send_credits;
  std::uint32_t cookie = this->spend_credits(0);
  EXPECT_EQ(cookie, credits);
  ASSERT_TRUE(this->until([&] { return this->bench.sent().size() == credits; }));
  EXPECT_FALSE(this->bench.dut().can_send());
  this->bench.complete(0, tx_result::short_retry_limit);
  ASSERT_TRUE(this->until([&] { return this->heard.completions.size() == 1; }));
  EXPECT_EQ(this->heard.completions[0], std::pair(std::uint32_t{0}, tx_result::short_retry_limit));
  EXPECT_TRUE(this->bench.dut().can_send());
  this->send(cookie++, bytes(20, 1));
  EXPECT_FALSE(this->bench.dut().can_send());
}

TYPED_TEST_P(driver_conformance, many_packets_complete_in_order_each_once) {
  this->come_up();
  // More than the tags of a MAC would tell apart by their low bits.
  const std::uint32_t packets = 600;
  for (std::uint32_t cookie = 0; cookie < packets; ++cookie) {
    ASSERT_TRUE(this->until([&] { return this->bench.dut().can_send(); }));
    this->send(cookie, bytes(10, static_cast<std::uint8_t>(cookie)));
    ASSERT_TRUE(this->until([&] { return this->bench.sent().size() == cookie + 1; }));
    this->bench.complete(cookie, tx_result::delivered);
  }
  ASSERT_TRUE(this->until([&] { return this->heard.completions.size() == packets; }));
  for (std::uint32_t cookie = 0; cookie < packets; ++cookie) ASSERT_EQ(this->heard.completions[cookie].first, cookie);
}

TYPED_TEST_P(driver_conformance, a_frame_reaches_the_listener_as_it_is) {
  this->come_up();
  for (const std::size_t size : {1, 2, 3, 4, 63, 1500}) {
    bytes msdu(size);
    for (std::size_t at = 0; at < size; ++at) msdu[at] = static_cast<std::uint8_t>(at * 3 + size);
    this->bench.hear(static_cast<std::uint16_t>(size), msdu);
    const std::size_t number = this->heard.receptions.size();
    ASSERT_TRUE(this->until([&] { return this->heard.receptions.size() == number + 1; }));
    EXPECT_EQ(this->heard.receptions.back(), msdu);
    EXPECT_EQ(this->heard.last.transmitter_address, TypeParam::peer_address);
    EXPECT_EQ(this->heard.last.receiver_address, TypeParam::own_address);
    EXPECT_EQ(this->heard.last.sequence, size);
    EXPECT_EQ(this->heard.last.rate_index, 1);
  }
}

TYPED_TEST_P(driver_conformance, registers_are_read_and_written_in_order_and_answered_later) {
  this->come_up();
  const std::array<register_access, 4> accesses{{{.address = this->bench.readable, .write = {}},
                                                 {.address = 0x3FC, .write = {}},  // in no register
                                                 {.address = this->bench.readable, .write = 1},
                                                 {.address = this->bench.refused, .write = this->bench.refused_word}}};
  ASSERT_TRUE(this->bench.dut().access_registers(0xABCD, accesses));
  EXPECT_TRUE(this->heard.answers.empty()) << "within the call";
  ASSERT_TRUE(this->until([&] { return this->heard.answers.size() == 1; }));
  const auto& [cookie, answers] = this->heard.answers[0];
  EXPECT_EQ(cookie, 0xABCDU);
  EXPECT_EQ(answers, (std::vector<register_answer>{this->bench.its_word, std::nullopt, std::nullopt, std::nullopt}));
  EXPECT_FALSE(this->bench.dut().access_registers(1, {}));
  EXPECT_FALSE(this->bench.dut().access_registers(1, std::vector<register_access>(air_most_register_accesses + 1)));
}

TYPED_TEST_P(driver_conformance, what_is_no_message_is_counted_and_nothing_else) {
  this->come_up();
  this->bench.spoil();
  ASSERT_TRUE(this->until([&] { return this->bench.dut().counters().malformed >= 1; }));
  EXPECT_TRUE(this->heard.receptions.empty());
  EXPECT_TRUE(this->heard.completions.empty());
  this->bench.hear(9, bytes(30, 7));
  ASSERT_TRUE(this->until([&] { return this->heard.receptions.size() == 1; }));
  EXPECT_EQ(this->heard.downs, 0);
}

TYPED_TEST_P(driver_conformance, a_mac_that_vanishes_takes_its_packets_along_and_comes_back_with_all_credits) {
  this->come_up();
  this->send(1, bytes(20, 1));
  this->send(2, bytes(20, 2));
  ASSERT_TRUE(this->until([&] { return this->bench.sent().size() == 2; }));
  this->bench.vanish();
  ASSERT_TRUE(this->until([&] { return this->heard.downs == 1; }));
  EXPECT_FALSE(this->bench.dut().can_send());
  this->bench.bring_up();
  ASSERT_TRUE(this->until([&] { return this->heard.ups == 2; }));
  EXPECT_EQ(this->bench.dut().counters().ups, 2U);
  EXPECT_EQ(this->spend_credits(100), this->heard.mac.send_credits);
  const std::size_t before = 2;
  ASSERT_TRUE(this->until([&] { return this->bench.sent().size() == before + this->heard.mac.send_credits; }));
  this->bench.complete(before, tx_result::delivered);
  ASSERT_TRUE(this->until([&] { return this->heard.completions.size() == 1; }));
  EXPECT_EQ(this->heard.completions[0].first, 100U);
}

TYPED_TEST_P(driver_conformance, what_no_mac_can_send_is_refused_at_once_and_costs_no_credit) {
  this->come_up();
  const bytes good(20, 1);
  for (const std::size_t size : {0U, most_msdu_bytes + 1, 4061U, 8192U, 65'535U, 65'536U, 65'556U}) {
    const bytes msdu(size, 1);
    EXPECT_FALSE(this->bench.dut().send(this->request(1, msdu))) << size << " bytes";
  }
  send_request wrong = this->request(2, good);
  wrong.peer = neighbour_slots;
  EXPECT_FALSE(this->bench.dut().send(wrong));
  wrong = this->request(2, good);
  wrong.rate_index = static_cast<std::uint8_t>(this->heard.mac.profile->rates.size());
  EXPECT_FALSE(this->bench.dut().send(wrong));
  wrong = this->request(2, good);
  wrong.receiver_address = broadcast_address + 1;
  EXPECT_FALSE(this->bench.dut().send(wrong));
  EXPECT_EQ(this->bench.dut().counters().refused, 10U);
  // The longest that there is passes, with all credits left.
  this->send(100, bytes(most_msdu_bytes, 7));
  EXPECT_EQ(this->spend_credits(101), this->heard.mac.send_credits - 1);
  ASSERT_TRUE(this->until([&] { return this->bench.sent().size() == this->heard.mac.send_credits; }));
  EXPECT_EQ(this->bench.sent()[0].msdu, bytes(most_msdu_bytes, 7));
  this->bench.complete(0, tx_result::delivered);
  ASSERT_TRUE(this->until([&] { return this->heard.completions.size() == 1; }));
  EXPECT_EQ(this->heard.completions[0].first, 100U);
}

TYPED_TEST_P(driver_conformance, a_completion_that_comes_twice_gives_no_second_credit) {
  this->come_up();
  const std::uint32_t credits = this->heard.mac.send_credits;
  EXPECT_EQ(this->spend_credits(0), credits);
  ASSERT_TRUE(this->until([&] { return this->bench.sent().size() == credits; }));
  this->bench.complete(0, tx_result::delivered);
  this->bench.complete(0, tx_result::delivered);
  ASSERT_TRUE(this->until([&] { return this->bench.dut().counters().malformed == 1; }));
  EXPECT_EQ(this->heard.completions.size(), 1U);
  // It may be taken for a sign that another one was lost: then the driver begins anew.
  ASSERT_TRUE(this->until([&] { return this->bench.dut().can_send(); }));
  EXPECT_EQ(this->spend_credits(100), this->heard.ups == 2 ? credits : 1);
}

TYPED_TEST_P(driver_conformance, told_to_begin_anew_it_goes_down_says_why_and_comes_back_with_all_credits) {
  this->come_up();
  const std::uint32_t credits = this->heard.mac.send_credits;
  EXPECT_EQ(this->spend_credits(0), credits);
  ASSERT_TRUE(this->until([&] { return this->bench.sent().size() == credits; }));
  this->bench.dut().restart("the MAC keeps packets");
  EXPECT_EQ(this->bench.dut().problem(), "the MAC keeps packets");
  EXPECT_EQ(this->heard.downs, 0) << "within the call";
  EXPECT_FALSE(this->bench.dut().can_send());
  ASSERT_TRUE(this->until([&] { return this->heard.ups == 2; }));
  EXPECT_EQ(this->heard.downs, 1);
  EXPECT_EQ(this->bench.dut().problem(), "");
  EXPECT_TRUE(this->heard.completions.empty());
  EXPECT_EQ(this->spend_credits(100), credits);
  ASSERT_TRUE(this->until([&] { return this->bench.sent().size() == 2 * credits; }));
  this->bench.complete(credits, tx_result::delivered);
  ASSERT_TRUE(this->until([&] { return this->heard.completions.size() == 1; }));
  EXPECT_EQ(this->heard.completions[0].first, 100U);
}

REGISTER_TYPED_TEST_SUITE_P(driver_conformance, is_down_until_its_mac_answers_and_then_says_what_the_mac_is,
                            says_in_one_line_why_its_mac_is_down_and_nothing_while_it_is_up,
                            a_packet_reaches_the_mac_as_it_is_and_its_completion_has_its_cookie, credits_end_and_come_back_one_by_one,
                            many_packets_complete_in_order_each_once, a_frame_reaches_the_listener_as_it_is,
                            registers_are_read_and_written_in_order_and_answered_later, what_is_no_message_is_counted_and_nothing_else,
                            a_mac_that_vanishes_takes_its_packets_along_and_comes_back_with_all_credits,
                            what_no_mac_can_send_is_refused_at_once_and_costs_no_credit,
                            a_completion_that_comes_twice_gives_no_second_credit,
                            told_to_begin_anew_it_goes_down_says_why_and_comes_back_with_all_credits);

}  // namespace perhop::drivers::conformance
