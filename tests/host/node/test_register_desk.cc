// SPDX-License-Identifier: GPL-2.0-or-later
#include "host/node/register_desk.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace perhop::node {
namespace {

using nlohmann::json;

class asked_driver : public drivers::driver {
public:
  int descriptor() const override { return -1; }
  void poll(drivers::driver_listener&) override {}
  bool can_send() const override { return false; }
  bool send(const drivers::send_request&) override { return false; }
  void restart(const std::string&) override {}
  bool access_registers(std::uint32_t cookie, std::span<const drivers::register_access> accesses) override {
    if (!up) return false;
    cookies.push_back(cookie);
    last.assign(accesses.begin(), accesses.end());
    return true;
  }
  const drivers::driver_counters& counters() const override { return counters_; }

  bool up = true;
  std::vector<std::uint32_t> cookies;
  std::vector<drivers::register_access> last;

private:
  drivers::driver_counters counters_;
};

struct counting_listener : drivers::driver_listener {
  void on_up(const drivers::mac_properties&) override { ++calls; }
  void on_down() override { ++calls; }
  void on_completion(std::uint32_t, const completion_record&) override { ++calls; }
  void on_reception(const drivers::reception&) override { ++calls; }
  int calls = 0;
};

class register_desk_test : public testing::Test {
protected:
  counting_listener listener;
  register_desk desk{listener};
  asked_driver driver;
};

TEST_F(register_desk_test, an_answer_goes_to_the_client_that_asked) {
  EXPECT_TRUE(desk.take(7, R"({"command": "registers", "accesses": [[48], [688, 2147483648]]})", driver));
  EXPECT_TRUE(desk.take(8, R"({"command": "registers", "accesses": [[52]]})", driver));
  EXPECT_TRUE(desk.take_answers().empty());
  desk.on_registers(driver.cookies.at(1), std::vector<drivers::register_answer>{10});
  desk.on_registers(driver.cookies.at(0), std::vector<drivers::register_answer>{20, std::nullopt});
  const auto answers = desk.take_answers();
  ASSERT_EQ(answers.size(), 2U);
  EXPECT_EQ(answers[0].first, 8);
  EXPECT_EQ(json::parse(answers[0].second), json::parse(R"({"ok": true, "values": [10]})"));
  EXPECT_EQ(answers[1].first, 7);
  EXPECT_EQ(json::parse(answers[1].second), json::parse(R"({"ok": true, "values": [20, null]})"));
}

TEST_F(register_desk_test, words_and_addresses_are_passed_on_as_they_are) {
  desk.take(7, R"({"command": "registers", "accesses": [[48], [688, 4294967295]]})", driver);
  ASSERT_EQ(driver.last.size(), 2U);
  EXPECT_EQ(driver.last[0].address, 48U);
  EXPECT_FALSE(driver.last[0].write);
  EXPECT_EQ(driver.last[1].write, 4294967295U);
}

TEST_F(register_desk_test, what_is_wrong_with_a_question_is_said_at_once) {
  for (const char* accesses : {"[]", "7", "null", "[[1]]", "[[1024]]", "[[-4]]", "[[48, 4294967296]]", "[[48, -1]]", "[[48, 1, 2]]", "[[]]",
                               "[48]", R"([["a"]])"}) {
    EXPECT_TRUE(desk.take(7, R"({"command": "registers", "accesses": )" + std::string(accesses) + "}", driver)) << accesses;
    const auto answers = desk.take_answers();
    ASSERT_EQ(answers.size(), 1U) << accesses;
    EXPECT_FALSE(json::parse(answers[0].second).at("ok").get<bool>()) << accesses;
  }
  EXPECT_TRUE(driver.cookies.empty());
}

TEST_F(register_desk_test, other_commands_are_left_to_others) {
  for (const char* asked : {R"({"command": "status"})", "", "[]", "{", R"({"command": 7})"})
    EXPECT_FALSE(desk.take(7, asked, driver)) << asked;
}

TEST_F(register_desk_test, nobody_waits_for_a_mac_that_is_down) {
  desk.take(7, R"({"command": "registers", "accesses": [[48]]})", driver);
  desk.on_down();
  ASSERT_EQ(desk.take_answers().size(), 1U);
  desk.on_registers(driver.cookies.at(0), std::vector<drivers::register_answer>{1});
  EXPECT_TRUE(desk.take_answers().empty());
  driver.up = false;
  desk.take(7, R"({"command": "registers", "accesses": [[48]]})", driver);
  EXPECT_FALSE(json::parse(desk.take_answers().at(0).second).at("ok").get<bool>());
  EXPECT_EQ(listener.calls, 1);
}

TEST_F(register_desk_test, a_client_that_is_gone_gets_nothing) {
  desk.take(7, R"({"command": "registers", "accesses": [[48]]})", driver);
  desk.forget(7);
  desk.on_registers(driver.cookies.at(0), std::vector<drivers::register_answer>{1});
  EXPECT_TRUE(desk.take_answers().empty());
}

TEST_F(register_desk_test, questions_that_no_mac_answers_are_bounded_and_a_client_that_goes_makes_room) {
  const std::string question = R"({"command": "registers", "accesses": [[48]]})";
  for (int i = 0; i < 10'000; ++i) EXPECT_TRUE(desk.take(7, question, driver));
  EXPECT_LT(driver.cookies.size(), 1000U);
  const auto answers = desk.take_answers();
  EXPECT_EQ(answers.size() + driver.cookies.size(), 10'000U);
  EXPECT_NE(answers.at(0).second.find("too many"), std::string::npos);
  desk.forget(7);
  EXPECT_TRUE(desk.take(8, question, driver));
  EXPECT_TRUE(desk.take_answers().empty());
}

TEST_F(register_desk_test, accesses_nested_deeply_are_nobody_s_question) {
  const std::string brackets(20'000, '[');
  EXPECT_FALSE(desk.take(7, R"({"command": "registers", "accesses": )" + brackets + std::string(20'000, ']') + "}", driver));
}

}  // namespace
}  // namespace perhop::node
