// SPDX-License-Identifier: GPL-2.0-or-later
#include <gtest/gtest.h>

#include <sstream>

#include "sim/air/trace.hpp"

namespace perhop::air {
namespace {

transmission frame() {
  return {.id = 0,
          .node = 3,
          .start = 1000,
          .end = 1352,
          .kind = frame_kind::rts,
          .rate_index = 0,
          .psdu_bytes = 20,
          .duration_us = 7046,
          .ra = mac_address(1),
          .ta = mac_address(3),
          .sequence = 7,
          .retry = true};
}

/// FNV-1a with a field as its unit, from the text of a trace.
std::uint64_t hash_of_text(const std::string& text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  const auto add = [&](std::uint64_t word) { hash = (hash ^ word) * 0x100000001b3; };
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream fields(line);
    std::string letter;
    fields >> letter;
    add(static_cast<unsigned char>(letter[0]));
    int index = 0;
    for (std::string field; fields >> field; ++index) {
      const bool address = letter == "T" && (index == 7 || index == 8);
      add(std::stoull(field, nullptr, address ? 16 : 10));
    }
  }
  return hash;
}

TEST(trace, a_transmission_is_one_line) {
  std::ostringstream lines;
  trace log(&lines);
  log.add(frame());
  EXPECT_EQ(lines.str(), "T 1000 1352 3 0 0 20 7046 020000000002 020000000004 7 1\n");
}

TEST(trace, the_hash_is_that_of_the_lines_whether_or_not_they_are_written) {
  completion record{};
  record.node = 2;
  record.t_enqueue_us = 5;
  record.t_done_us = 12'345;
  record.parts.data_us = 6408;
  record.avg_data_attempts_256 = 256;
  std::ostringstream lines;
  trace written(&lines), silent;
  for (trace* log : {&written, &silent}) {
    log->add(frame());
    log->add(record);
  }
  EXPECT_EQ(written.hash(), silent.hash());
  EXPECT_EQ(written.hash(), hash_of_text(lines.str()));
}

TEST(trace, every_field_counts) {
  trace reference;
  reference.add(frame());
  const auto differs = [&](auto change) {
    transmission changed = frame();
    change(changed);
    trace log;
    log.add(changed);
    return log.hash() != reference.hash();
  };
  EXPECT_TRUE(differs([](transmission& changed) { ++changed.end; }));
  EXPECT_TRUE(differs([](transmission& changed) { changed.retry = false; }));
  EXPECT_TRUE(differs([](transmission& changed) { changed.ra += 1; }));
  EXPECT_FALSE(differs([](transmission& changed) { changed.payload = 9; })) << "a cookie is the caller's business";
}

}  // namespace
}  // namespace perhop::air
