// SPDX-License-Identifier: GPL-2.0-or-later
/// The trace of a run: one line a transmission and one a completion, and a hash over them that is always computed.
///
///     T start end node kind rate bytes duration ra ta sequence retry
///     C time node tag peer sequence bytes rate result rts_attempts data_attempts ssrc slrc cw slots_drawn
///       t_enqueue t_head t_first_tx t_done <the ten parts> avg_contention avg_overhead avg_data_attempts      (one line)
///
/// All numbers are decimal, addresses 12 hexadecimal digits. The hash is FNV-1a (64 bits, its offset basis and prime) with
/// the fields of a line as its units in place of bytes: for each line the line's letter, then every field, each one 64-bit
/// word. So it is the same whether or not lines are written, and anybody can recompute it from the lines.
#pragma once

#include <array>
#include <cstdint>
#include <ostream>
#include <string>

#include "sim/air/types.hpp"

namespace perhop::air {

class trace {
public:
  /// @param lines where the lines go; null: only the hash is computed. Must outlive the trace.
  explicit trace(std::ostream* lines = nullptr) : lines_(lines) {}

  void add(const transmission& frame);
  void add(const completion& record);

  std::uint64_t hash() const { return hash_; }
  /// 16 hexadecimal digits.
  std::string hash_text() const;

private:
  template <std::size_t size>
  void add_line(char letter, const std::array<std::uint64_t, size>& fields, std::uint64_t address_fields);

  std::ostream* lines_;
  std::uint64_t hash_ = 0xcbf2'9ce4'8422'2325;
};

}  // namespace perhop::air
