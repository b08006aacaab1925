// SPDX-License-Identifier: GPL-2.0-or-later
#include "sim/air/trace.hpp"

#include <charconv>

namespace perhop::air {

namespace {

constexpr std::uint64_t fnv_prime = 0x100'0000'01b3;

void append_hex(std::string& text, std::uint64_t value, unsigned digits) {
  for (unsigned digit = digits; digit-- > 0;) text.push_back("0123456789abcdef"[(value >> (4 * digit)) & 0xf]);
}

}  // namespace

template <std::size_t size>
void trace::add_line(char letter, const std::array<std::uint64_t, size>& fields, std::uint64_t address_fields) {
  std::uint64_t hash = (hash_ ^ static_cast<std::uint64_t>(letter)) * fnv_prime;
  for (const std::uint64_t field : fields) hash = (hash ^ field) * fnv_prime;
  hash_ = hash;
  if (lines_ == nullptr) return;

  std::string line(1, letter);
  for (std::size_t index = 0; index < size; ++index) {
    line.push_back(' ');
    if ((address_fields >> index & 1) != 0) {
      append_hex(line, fields[index], 12);
    } else {
      char digits[20];
      line.append(digits, std::to_chars(digits, digits + sizeof digits, fields[index]).ptr);
    }
  }
  line.push_back('\n');
  lines_->write(line.data(), static_cast<std::streamsize>(line.size()));
}

void trace::add(const transmission& frame) {
  constexpr std::uint64_t ra_and_ta = 1U << 7 | 1U << 8;
  add_line<11>('T',
               {frame.start, frame.end, frame.node, static_cast<std::uint64_t>(frame.kind), frame.rate_index, frame.psdu_bytes,
                frame.duration_us, frame.ra, frame.ta, frame.sequence, frame.retry},
               ra_and_ta);
}

void trace::add(const completion& record) {
  const auto [queue, ifs, backoff, frozen_cca, frozen_nav, control, data, response, timeout, responder] = record.parts;
  add_line<31>('C',
               {record.t_done_us,
                record.node,
                record.tag,
                record.peer,
                record.sequence,
                record.mpdu_bytes,
                record.rate_index,
                static_cast<std::uint64_t>(record.result),
                record.rts_attempts,
                record.data_attempts,
                record.ssrc,
                record.slrc,
                record.cw,
                record.slots_drawn,
                record.t_enqueue_us,
                record.t_head_us,
                record.t_first_tx_us,
                record.t_done_us,
                queue,
                ifs,
                backoff,
                frozen_cca,
                frozen_nav,
                control,
                data,
                response,
                timeout,
                responder,
                record.avg_contention_us16,
                record.avg_overhead_us16,
                record.avg_data_attempts_256},
               0);
}

std::string trace::hash_text() const {
  std::string text;
  append_hex(text, hash_, 16);
  return text;
}

}  // namespace perhop::air
