// SPDX-License-Identifier: GPL-2.0-or-later
#include "host/sockets/json_message.hpp"

#include <gtest/gtest.h>

#include <string>

namespace perhop::sockets {
namespace {

std::string nested(int depth, char open, char close) {
  const auto times = static_cast<std::size_t>(depth);
  std::string text;
  for (std::size_t i = 0; i < times; ++i) text += open == '{' ? R"({"a":)" : "[";
  return text + "1" + std::string(times, close);
}

TEST(json_message, what_is_nested_as_deeply_as_allowed_is_read) {
  for (const auto& [open, close] : {std::pair('[', ']'), std::pair('{', '}')}) {
    EXPECT_EQ(parse_message(nested(most_message_depth, open, close)).dump(), nested(most_message_depth, open, close));
    EXPECT_TRUE(parse_message(nested(most_message_depth + 1, open, close)).is_discarded());
  }
}

TEST(json_message, what_would_overflow_the_stack_is_discarded) {
  EXPECT_TRUE(parse_message(nested(5'000'000, '[', ']')).is_discarded());
  EXPECT_TRUE(parse_message(nested(1'000'000, '{', '}')).is_discarded());
  EXPECT_TRUE(parse_message(std::string(5'000'000, '[')).is_discarded());
}

TEST(json_message, brackets_in_a_string_are_no_nesting) {
  const std::string text = '"' + std::string(100, '[') + '"';
  EXPECT_EQ(parse_message(text), std::string(100, '['));
}

TEST(json_message, what_is_no_json_is_discarded) {
  for (const char* text : {"", "{", "nonsense", "{\"a\":}", "\xff", "[1] [2]"}) EXPECT_TRUE(parse_message(text).is_discarded()) << text;
}

}  // namespace
}  // namespace perhop::sockets
