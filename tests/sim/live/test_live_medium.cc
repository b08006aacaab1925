// SPDX-License-Identifier: GPL-2.0-or-later
#include "sim/live/live_medium.hpp"

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <vector>

#include "tests/sim/run/run_json.hpp"

namespace perhop::live {
namespace {

using bytes = std::vector<std::uint8_t>;

class recording_outlet : public outlet {
public:
  bool send(connection_id to, std::span<const std::uint8_t> message) override {
    if (deaf) return false;
    messages[to].emplace_back(message.begin(), message.end());
    return true;
  }
  void close(connection_id connection) override { closed.push_back(connection); }

  bool deaf = false;
  std::map<connection_id, std::vector<bytes>> messages;
  std::vector<connection_id> closed;
};

template <typename Message>
bytes encoded(const Message& message, const bytes& behind = {}) {
  bytes whole(Message::size_bytes);
  message.encode(std::span<std::uint8_t, Message::size_bytes>(whole));
  whole.insert(whole.end(), behind.begin(), behind.end());
  return whole;
}

class live_medium_test : public testing::Test {
protected:
  live_medium_test() {
    medium.on_message(1, encoded(wire::air_hello{.node = 0}));
    medium.on_message(2, encoded(wire::air_hello{.node = 1}));
  }

  static bytes packet(std::uint32_t cookie, std::uint64_t to = air::mac_address(1), std::size_t msdu_bytes = 100) {
    return encoded(wire::air_send{.rate = 1, .flags = wire::air_send::flags_use_rts, .cookie = cookie, .receiver_address = to},
                   bytes(msdu_bytes, 0x5a));
  }

  void pass(air::tick us) {
    medium.advance(medium.now() + us, [this] { return medium.now(); });
  }

  nlohmann::json ask(const std::string& command) {
    medium.on_message(9, encoded(wire::air_hello{.node = 0xffff}));
    medium.on_message(9, encoded(wire::air_command{}, bytes(command.begin(), command.end())));
    const bytes& answer = out.messages[9].back();
    return nlohmann::json::parse(answer.begin() + wire::air_answer::size_bytes, answer.end());
  }

  std::vector<bytes> of_kind(connection_id connection, std::uint8_t kind) {
    std::vector<bytes> found;
    for (const bytes& message : out.messages[connection]) {
      if (message[0] == kind) found.push_back(message);
    }
    return found;
  }

  run::run_config config = run::parse_run_config(run::two_node_run().dump(), "test");
  recording_outlet out;
  live_medium medium{config, out};
};

TEST_F(live_medium_test, a_daemon_is_told_what_its_mac_is) {
  const auto welcome = wire::air_welcome::decode(out.messages[2].at(0));
  ASSERT_TRUE(welcome);
  EXPECT_EQ(welcome->status, 0);
  EXPECT_EQ(welcome->address, air::mac_address(1));
  EXPECT_EQ(timing_profiles()[welcome->profile].name, "dsss_long");
  EXPECT_EQ(welcome->data_rate, 1);
  EXPECT_EQ(welcome->average_shift, config.air.mac.average_shift);
}

TEST_F(live_medium_test, another_version_and_a_node_that_is_not_there_are_refused) {
  medium.on_message(3, encoded(wire::air_hello{.version = 3, .node = 0}));
  medium.on_message(4, encoded(wire::air_hello{.node = 2}));
  EXPECT_EQ(wire::air_welcome::decode(out.messages[3].at(0))->status, 1);
  EXPECT_EQ(wire::air_welcome::decode(out.messages[4].at(0))->status, 2);
  EXPECT_EQ(out.closed, (std::vector<connection_id>{3, 4}));
}

TEST_F(live_medium_test, a_packet_arrives_and_its_sender_gets_the_gatewares_record) {
  medium.on_message(1, packet(77));
  pass(20'000);
  const auto received = of_kind(2, wire::air_reception{}.kind);
  ASSERT_EQ(received.size(), 1U);
  EXPECT_EQ(wire::air_reception::decode(received[0])->transmitter_address, air::mac_address(0));
  EXPECT_EQ(bytes(received[0].begin() + wire::air_reception::size_bytes, received[0].end()), bytes(100, 0x5a));
  const auto done = of_kind(1, wire::air_completion{}.kind);
  ASSERT_EQ(done.size(), 1U);
  EXPECT_EQ(wire::air_completion::decode(done[0])->cookie, 77U);
  std::array<std::uint32_t, completion_record_words> words{};
  ASSERT_EQ(done[0].size(), wire::air_completion::size_bytes + 4 * words.size());
  for (std::size_t i = 0; i < 4 * words.size(); ++i)
    words[i / 4] |= std::uint32_t{done[0][wire::air_completion::size_bytes + i]} << 8 * (i % 4);
  const completion_record record = decode_completion_record(words);
  EXPECT_EQ(record.result, tx_result::delivered);
  EXPECT_EQ(record.bytes, mac_header_bytes + 100 + fcs_bytes);
  EXPECT_EQ(sum_of_parts_us(record), record.t_done_us - record.t_enqueue_us);
  EXPECT_EQ(record.rts_attempts, 1);
}

TEST_F(live_medium_test, what_goes_beyond_the_credits_ends_the_connection_and_the_next_one_has_all) {
  for (std::uint32_t cookie = 0; cookie <= live_medium::send_credits; ++cookie) medium.on_message(1, packet(cookie));
  EXPECT_EQ(medium.counters().over_credit, 1U);
  EXPECT_EQ(out.closed, std::vector<connection_id>{1});
  medium.on_message(3, encoded(wire::air_hello{.node = 0}));
  for (std::uint32_t cookie = 0; cookie < live_medium::send_credits; ++cookie) medium.on_message(3, packet(100 + cookie));
  pass(200'000);
  EXPECT_TRUE(of_kind(1, wire::air_completion{}.kind).empty());
  EXPECT_EQ(of_kind(3, wire::air_completion{}.kind).size(), live_medium::send_credits);
}

TEST_F(live_medium_test, a_packet_that_cannot_be_sent_ends_the_connection_so_that_nobody_waits_for_its_completion) {
  const std::vector<bytes> wrong{
      encoded(wire::air_send{.rate = 1, .receiver_address = 1}),                  // no MSDU
      packet(1, air::mac_address(1), most_msdu_bytes + 1),                        // a longer one than there is
      encoded(wire::air_send{.rate = 4, .receiver_address = 1}, {1}),             // no such rate
      encoded(wire::air_send{.peer = 16, .rate = 1, .receiver_address = 1}, {1})  // no such slot
  };
  connection_id connection = 1;
  std::vector<connection_id> closed;
  for (const bytes& message : wrong) {
    medium.on_message(connection, message);
    closed.push_back(connection);
    EXPECT_EQ(out.closed, closed);
    medium.on_message(connection += 10, encoded(wire::air_hello{.node = 0}));
  }
  EXPECT_EQ(medium.counters().malformed, wrong.size());
  medium.on_message(connection, packet(5, air::mac_address(1), most_msdu_bytes));
  pass(200'000);
  EXPECT_EQ(of_kind(connection, wire::air_completion{}.kind).size(), 1U) << "the longest that there is";
}

TEST_F(live_medium_test, malformed_messages_are_counted_and_change_nothing) {
  medium.on_message(1, {});
  medium.on_message(1, bytes{200});
  medium.on_message(1, encoded(wire::air_hello{.node = 1}));  // a node cannot become another one
  medium.on_message(5, packet(1));                            // a stranger
  medium.on_message(1, encoded(wire::air_command{}, {'{', '}'}));
  EXPECT_EQ(medium.counters().malformed, 5U);
  EXPECT_EQ(medium.counters().sent, 0U);
}

TEST_F(live_medium_test, random_messages_never_do_harm) {
  std::minstd_rand random(3);
  for (int round = 0; round < 20'000; ++round) {
    bytes message(random() % 60);
    for (std::uint8_t& byte : message) byte = static_cast<std::uint8_t>(random());
    if (!message.empty()) message[0] = static_cast<std::uint8_t>(random() % 9);
    medium.on_message(1 + random() % 6, message);
    if (round % 100 == 0) pass(10'000);
  }
  pass(5'000'000);
  out.messages.clear();
  medium.on_message(21, encoded(wire::air_hello{.node = 0}));
  medium.on_message(22, encoded(wire::air_hello{.node = 1}));
  medium.on_message(21, packet(5));
  pass(1'000'000);
  EXPECT_EQ(of_kind(22, wire::air_reception{}.kind).size(), 1U);
}

TEST_F(live_medium_test, a_new_daemon_takes_a_node_over_and_hears_nothing_of_the_old_ones_packets) {
  medium.on_message(1, packet(1));
  medium.on_message(1, packet(2));
  medium.on_message(3, encoded(wire::air_hello{.node = 0}));
  EXPECT_EQ(out.closed, std::vector<connection_id>{1});
  pass(100'000);
  EXPECT_TRUE(of_kind(3, wire::air_completion{}.kind).empty());
  EXPECT_GE(medium.counters().completions_unheard, 1U);
  for (std::uint32_t cookie = 0; cookie < live_medium::send_credits; ++cookie) medium.on_message(3, packet(10 + cookie));
  EXPECT_EQ(medium.counters().over_credit, 0U);
  pass(200'000);
  EXPECT_EQ(of_kind(3, wire::air_completion{}.kind).size(), live_medium::send_credits);
}

TEST_F(live_medium_test, a_daemon_that_does_not_read_loses_its_connection_and_no_credit) {
  out.deaf = true;
  medium.on_message(1, packet(1));
  pass(100'000);
  EXPECT_EQ(out.closed, std::vector<connection_id>{1});
  EXPECT_EQ(medium.counters().receptions_lost, 1U);
}

TEST_F(live_medium_test, commands_change_the_medium) {
  EXPECT_TRUE(ask(R"({"command": "link_down", "a": 0, "b": 1})")["ok"]);
  medium.on_message(1, packet(1));
  pass(1'000'000);
  EXPECT_TRUE(of_kind(2, wire::air_reception{}.kind).empty());
  EXPECT_TRUE(ask(R"({"command": "link_up", "a": 0, "b": 1})")["ok"]);
  medium.on_message(1, packet(2));
  pass(1'000'000);
  EXPECT_EQ(of_kind(2, wire::air_reception{}.kind).size(), 1U);
  EXPECT_TRUE(ask(R"({"command": "move", "node": 1, "x_m": 5000, "y_m": 0})")["ok"]);
  medium.on_message(1, packet(3));
  pass(1'000'000);
  EXPECT_EQ(of_kind(2, wire::air_reception{}.kind).size(), 1U);
}

TEST_F(live_medium_test, a_dead_node_and_lost_frames_let_nothing_through_until_they_are_over) {
  std::size_t arrived = 0;
  for (const char* kind : {R"("node_down", "node": 0)", R"("node_down", "node": 1)", R"("loss", "frame_error_rate": 1)"}) {
    EXPECT_TRUE(ask(std::string(R"({"command": )") + kind + "}")["ok"]) << kind;
    medium.on_message(1, packet(1));
    pass(1'000'000);
    EXPECT_EQ(of_kind(2, wire::air_reception{}.kind).size(), arrived) << kind;
    for (const char* over : {R"("node_up", "node": 0)", R"("node_up", "node": 1)", R"("loss", "frame_error_rate": 0)"}) {
      EXPECT_TRUE(ask(std::string(R"({"command": )") + over + "}")["ok"]) << over;
    }
    medium.on_message(1, packet(2));
    pass(1'000'000);
    EXPECT_EQ(of_kind(2, wire::air_reception{}.kind).size(), ++arrived) << kind;
  }
}

TEST_F(live_medium_test, events_of_the_run_hold_from_the_beginning) {
  nlohmann::json run = run::two_node_run();
  run["events"] = {{{"at_s", 0.0}, {"kind", "node_down"}, {"node", 1}}};
  const run::run_config dead = run::parse_run_config(run.dump(), "test");
  recording_outlet told;
  live_medium other(dead, told);
  other.on_message(1, encoded(wire::air_hello{.node = 0}));
  other.on_message(2, encoded(wire::air_hello{.node = 1}));
  other.on_message(1, packet(1));
  other.advance(1'000'000, [&other] { return other.now(); });
  EXPECT_EQ(other.counters().delivered, 0U);
  EXPECT_EQ(other.counters().completed, 1U);
}

TEST_F(live_medium_test, a_wrong_command_is_answered_with_what_is_wrong) {
  for (const char* wrong :
       {"", "{", "[]", R"({"command": "fly"})", R"({"command": "link_down", "a": 0, "b": 2})",
        R"({"command": "link_down", "a": 0, "b": 0})", R"({"command": "move", "node": "x"})", R"({"command": "node_down", "node": 2})",
        R"({"command": "loss", "frame_error_rate": 1.1})", R"({"command": "loss"})"}) {
    const nlohmann::json answer = ask(wrong);
    EXPECT_FALSE(answer["ok"]) << wrong;
    EXPECT_FALSE(answer["error"].get<std::string>().empty());
  }
}

TEST_F(live_medium_test, lateness_is_that_of_the_clock) {
  medium.on_message(1, packet(1));
  medium.advance(20'000, [this] { return medium.now() + 300; });
  EXPECT_GT(medium.lateness().events(), 10U);
  EXPECT_EQ(medium.lateness().max_us(), 300U);
  EXPECT_EQ(ask(R"({"command": "status"})")["late"]["p999_us"], 300);
}

}  // namespace
}  // namespace perhop::live
