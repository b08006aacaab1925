// SPDX-License-Identifier: GPL-2.0-or-later
//
// The seed of random tests: fixed, unless the environment variable PERHOP_TEST_SEED names another one.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <string>

inline std::uint64_t test_seed() {
  const char* chosen = std::getenv("PERHOP_TEST_SEED");
  return chosen != nullptr ? std::stoull(chosen) : 20041117;
}

// Makes every failure in the scope tell the seed.
#define PERHOP_TELL_SEED() SCOPED_TRACE(testing::Message() << "PERHOP_TEST_SEED=" << test_seed())
