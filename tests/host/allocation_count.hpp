// SPDX-License-Identifier: GPL-2.0-or-later
//
// How often this program has asked for memory, and for how much in all; allocation_count.cc replaces the global operator new.
#pragma once

#include <cstdint>

std::uint64_t allocation_count();
std::uint64_t allocation_bytes();
