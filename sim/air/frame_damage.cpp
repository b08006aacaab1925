// SPDX-License-Identifier: GPL-2.0-or-later
#include "sim/air/frame_damage.hpp"

#include "sim/air/fcs.hpp"
#include "sim/air/mix.hpp"

namespace perhop::air {

namespace {

constexpr std::uint64_t seed_stream_damage = 0x6461'6d61'6765;

enum class damage_kind : std::uint8_t { bit, burst, rest, carrier };
constexpr unsigned damage_kinds = 4;

}  // namespace

bool damage_frame(std::vector<std::uint8_t>& psdu, std::uint64_t seed, std::uint64_t transmission_id, node_id receiver) {
  std::uint64_t state = random_bits(seed ^ seed_stream_damage, transmission_id, receiver);
  const auto draw = [&state] { return state = splitmix64(state); };
  const auto kind = static_cast<damage_kind>(draw() % damage_kinds);
  const std::size_t at = draw() % psdu.size();
  bool carrier_lost = false;
  switch (kind) {
    case damage_kind::bit:
      psdu[at] ^= static_cast<std::uint8_t>(1U << draw() % 8);
      break;
    case damage_kind::burst: {
      const std::uint64_t bits = draw() | 1;
      for (std::size_t index = 0; index < 4 && at + index < psdu.size(); ++index)
        psdu[at + index] ^= static_cast<std::uint8_t>(bits >> (8 * index));
      break;
    }
    case damage_kind::carrier:
      psdu.resize(at);
      carrier_lost = true;
      break;
    case damage_kind::rest:
      for (std::size_t index = at; index < psdu.size(); ++index) psdu[index] = static_cast<std::uint8_t>(draw());
      break;
  }
  // What is random may be right by chance.
  if (!carrier_lost && fcs_good(psdu)) psdu.front() ^= 1;
  return carrier_lost;
}

}  // namespace perhop::air
