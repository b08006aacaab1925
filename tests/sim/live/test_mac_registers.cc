// SPDX-License-Identifier: GPL-2.0-or-later
//
// What the medium answers about a MAC's registers, beside the completion records of the same packets.
#include "sim/run/mac_registers.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <map>
#include <vector>

#include "host/core/wire/generated/registers.hpp"
#include "sim/live/live_medium.hpp"
#include "tests/sim/run/run_json.hpp"

namespace perhop::live {
namespace {

namespace reg = perhop::registers;
using bytes = std::vector<std::uint8_t>;

class keeping_outlet : public outlet {
public:
  bool send(connection_id to, std::span<const std::uint8_t> message) override {
    messages[to].emplace_back(message.begin(), message.end());
    return true;
  }
  void close(connection_id) override {}
  std::map<connection_id, std::vector<bytes>> messages;
};

template <typename Message>
void append(bytes& to, const Message& message) {
  const std::size_t at = to.size();
  to.resize(at + Message::size_bytes);
  message.encode(std::span(to).subspan(at).template first<Message::size_bytes>());
}

class registers_test : public testing::Test {
protected:
  registers_test() {
    for (std::uint16_t node = 0; node < 2; ++node) {
      bytes hello;
      append(hello, wire::air_hello{.node = node});
      medium.on_message(node + 1U, hello);
    }
  }

  void send(std::uint64_t to, bool use_rts = true) {
    bytes message;
    append(
        message,
        wire::air_send{
            .peer = 5, .rate = 1, .flags = static_cast<std::uint8_t>(use_rts ? wire::air_send::flags_use_rts : 0), .receiver_address = to});
    message.resize(message.size() + 700, 0x5a);
    medium.on_message(1, message);
  }

  void pass(air::tick us) {
    medium.advance(medium.now() + us, [this] { return medium.now(); });
  }

  std::vector<std::optional<std::uint32_t>> access(std::vector<wire::air_register_access> accesses, connection_id from = 1) {
    bytes message;
    append(message, wire::air_registers{.cookie = 4711});
    for (const wire::air_register_access& wanted : accesses) append(message, wanted);
    medium.on_message(from, message);
    const bytes& answer = out.messages[from].back();
    const auto head = wire::air_register_values::decode(answer);
    if (!head) return {};
    EXPECT_EQ(head->cookie, 4711U);
    std::vector<std::optional<std::uint32_t>> values;
    for (std::size_t at = wire::air_register_values::size_bytes; at < answer.size(); at += wire::air_register_value::size_bytes) {
      const auto value = *wire::air_register_value::decode(std::span(answer).subspan(at));
      values.push_back((value.flags & wire::air_register_value::flags_done) != 0 ? std::optional(value.value) : std::nullopt);
    }
    return values;
  }

  std::optional<std::uint32_t> read(std::uint32_t address) { return access({{.address = static_cast<std::uint16_t>(address)}}).at(0); }

  static wire::air_register_access take(unsigned slot, unsigned bin) {
    std::uint64_t word = reg::neighbour_select::index.put(0, slot);
    word = reg::neighbour_select::take.put(reg::neighbour_select::histogram_bin.put(word, bin), 1);
    return {.address = reg::neighbour_select::address,
            .flags = wire::air_register_access::flags_write,
            .value = static_cast<std::uint32_t>(word)};
  }

  std::vector<completion_record> completions() {
    std::vector<completion_record> found;
    for (const bytes& message : out.messages[1]) {
      if (message[0] != wire::air_completion{}.kind) continue;
      std::array<std::uint32_t, completion_record_words> words{};
      for (std::size_t i = 0; i < 4 * words.size(); ++i)
        words[i / 4] |= std::uint32_t{message[wire::air_completion::size_bytes + i]} << 8 * (i % 4);
      found.push_back(decode_completion_record(words));
    }
    return found;
  }

  run::run_config config = run::parse_run_config(run::two_node_run().dump(), "test");
  keeping_outlet out;
  live_medium medium{config, out};
};

TEST_F(registers_test, settings_are_those_of_the_core) {
  EXPECT_EQ(read(reg::id::address), core_id);
  EXPECT_EQ(read(reg::address::address), static_cast<std::uint32_t>(air::mac_address(0)));
  EXPECT_EQ(read(reg::slot::address), 20U);
  EXPECT_EQ(read(reg::difs::address), 50U);
  const std::uint32_t window = read(reg::contention_window::address(0)).value();
  EXPECT_EQ(reg::contention_window::cw_min.get(window), 31U);
  EXPECT_EQ(reg::contention_window::cw_max.get(window), 1023U);
  EXPECT_EQ(read(reg::control::address), 1U);
}

TEST_F(registers_test, the_snapshot_agrees_with_the_completion_records_of_the_same_packets) {
  for (int i = 0; i < 12; ++i) {
    send(air::mac_address(1));
    pass(30'000);
  }
  const std::vector<completion_record> records = completions();
  ASSERT_EQ(records.size(), 12U);
  std::uint64_t service_us = 0;
  std::array<std::uint32_t, 16> histogram{};
  for (const completion_record& record : records) {
    const std::uint32_t us = record.t_done_us - record.t_head_us;
    service_us += us;
    ++histogram[us < 128 ? 0 : std::min(15, static_cast<int>(std::bit_width(us)) - 7)];
  }
  for (unsigned bin = 0; bin < histogram.size(); ++bin) {
    const auto values = access({take(5, bin),
                                {.address = reg::neighbour_data_attempts::address},
                                {.address = reg::neighbour_packets::address},
                                {.address = reg::neighbour_service::address},
                                {.address = reg::neighbour_contention::address}});
    EXPECT_EQ(reg::neighbour_data_attempts::histogram_packets.get(values.at(1).value()), histogram[bin]) << "bin " << bin;
    EXPECT_EQ(reg::neighbour_data_attempts::average_256.get(values.at(1).value()), records.back().avg_data_attempts_256);
    EXPECT_EQ(values.at(2), 12U);
    EXPECT_EQ(values.at(3), service_us);
    EXPECT_EQ(values.at(4), records.back().avg_contention_us16);
  }
  const auto other = access({take(6, 0), {.address = reg::neighbour_packets::address}});
  EXPECT_EQ(other.at(1), 0U) << "nothing was sent to slot 6";
}

TEST_F(registers_test, counters_agree_with_the_completion_records) {
  for (int i = 0; i < 4; ++i) {
    send(air::mac_address(1));
    pass(30'000);
  }
  send(broadcast_address, false);
  pass(30'000);
  send(air::mac_address(7));  // nobody
  pass(400'000);
  send(air::mac_address(7), false);
  pass(400'000);
  std::uint32_t rts = 0, data = 0;
  for (const completion_record& record : completions()) {
    rts += record.rts_attempts;
    data += record.data_attempts;
  }
  EXPECT_EQ(read(reg::stat_rts_sent::address), rts);
  EXPECT_EQ(read(reg::stat_data_sent::address), data);
  EXPECT_EQ(read(reg::stat_delivered::address), 4U);
  EXPECT_EQ(read(reg::stat_group_sent::address), 1U);
  EXPECT_EQ(read(reg::stat_short_retry_limit::address), 2U);
  EXPECT_EQ(read(reg::stat_timeouts::address), 14U) << "seven RTS frames and seven DATA frames that nobody answered";
  EXPECT_EQ(read(reg::stat_data_retries_sent::address), 6U);
  EXPECT_EQ(access({{.address = reg::stat_mac_ack_sent::address}}, 2).at(0), 4U);
  EXPECT_EQ(access({{.address = reg::stat_rx_delivered::address}}, 2).at(0), 5U);
}

TEST_F(registers_test, what_this_mac_does_not_have_is_not_made_up) {
  EXPECT_FALSE(read(reg::stat_rx_bad_fcs::address));
  EXPECT_FALSE(read(reg::event_log_status::address));
  EXPECT_FALSE(read(0x3fc));
  const auto refused = access(
      {{.address = reg::slot::address, .flags = wire::air_register_access::flags_write, .value = 9}, {.address = reg::slot::address}});
  EXPECT_FALSE(refused.at(0));
  EXPECT_EQ(refused.at(1), 20U);
}

TEST_F(registers_test, malformed_requests_are_counted_and_not_answered) {
  const auto answers = out.messages[1].size();
  bytes empty, cut, many;
  append(empty, wire::air_registers{});
  append(cut, wire::air_registers{});
  append(cut, wire::air_register_access{});
  cut.pop_back();
  append(many, wire::air_registers{});
  for (std::uint32_t i = 0; i <= air_most_register_accesses; ++i) append(many, wire::air_register_access{});
  for (const bytes& message : {empty, cut, many, bytes{wire::air_registers{}.kind}}) medium.on_message(1, message);
  medium.on_message(9, empty);  // no node
  EXPECT_EQ(medium.counters().malformed, 5U);
  EXPECT_EQ(out.messages[1].size(), answers);
}

/// The times of all completions of a saturated sender, with or without somebody who looks at the registers all the time.
std::vector<std::uint32_t> times_of_completions(bool looking) {
  const run::run_config config = run::parse_run_config(run::two_node_run().dump(), "test");
  struct : air::listener {
    void on_delivery(air::tick, air::node_id, const air::transmission&) override {}
    void on_completion(air::tick, const air::completion& record) override { times.push_back(static_cast<std::uint32_t>(record.t_done_us)); }
    std::vector<std::uint32_t> times;
  } listener;
  air::air air(config.air, listener);
  for (air::tick now = 0; now < 2'000'000; now += 777) {
    air.advance(now);
    for (air::node_id node = 0; node < 2; ++node) {
      while (air.can_submit(node)) {
        air.submit(node, {.ra = air::mac_address(1 - node), .peer = 1, .mpdu_bytes = 500, .rate_index = 1, .use_rts = true});
      }
      for (std::uint8_t bin = 0; looking && bin < 16; ++bin) air.take_neighbour(node, 1, bin);
    }
  }
  return listener.times;
}

TEST(take_neighbour, changes_nothing_that_the_mac_does) {
  const std::vector<std::uint32_t> alone = times_of_completions(false);
  EXPECT_GT(alone.size(), 300U);
  EXPECT_EQ(times_of_completions(true), alone);
}

}  // namespace
}  // namespace perhop::live
