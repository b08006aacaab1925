// SPDX-License-Identifier: GPL-2.0-or-later
//
// What the rfnoc driver's worker does for whoever polls: packets go out, registers are accessed. It does so between any two registers of a
// beat, too.
#include <algorithm>
#include <mutex>
#include <span>
#include <utility>

#include "host/core/wire/generated/registers.hpp"
#include "host/drivers/rfnoc_driver.hpp"

namespace perhop::drivers {

namespace {

/// The register that holds the word at an address; nullptr: there is none.
const registers::register_info* find(std::uint32_t address) {
  const auto within = [address](const registers::register_info& each) {
    if (address < each.address || address % 4 != 0) return false;
    const std::uint32_t offset = address - each.address;
    return offset / each.stride_bytes < each.count && offset % each.stride_bytes < each.width_bits / 8U;
  };
  for (const auto list :
       {std::span<const registers::register_info>(registers::all), std::span<const registers::register_info>(registers::radio::all),
        std::span<const registers::register_info>(registers::shell::all)}) {
    const auto found = std::ranges::find_if(list, within);
    if (found != list.end()) return &*found;
  }
  return nullptr;
}

bool is_writable(const registers::register_info& found) {
  return std::ranges::any_of(found.fields, [](const registers::field& each) { return each.access != registers::access::read_only; });
}

}  // namespace

/// All commands that wait. @throws link_error
void rfnoc_driver::obey_all(radio_link& link, std::uint64_t session) {
  for (;;) {
    command next{};
    {
      const std::lock_guard lock(mutex_);
      if (commands_.empty()) return;
      next = std::move(commands_.front());
      commands_.pop_front();
    }
    if (next.session != session) continue;
    if (const auto* bytes = std::get_if<packet>(&next.what)) {
      link.send(*bytes);
    } else {
      const auto& list = std::get<access_list>(next.what);
      answers told{.cookie = list.cookie, .values = {}};
      for (const register_access& each : list.accesses) told.values.push_back(access(link, each));
      tell({session, std::move(told)});
    }
  }
}

/// A register, for a beat. Packets go first: a dozen registers take a real radio a millisecond, and a virtual one some tenths of a second.
/// @throws link_error
std::uint32_t rfnoc_driver::look(radio_link& link, std::uint64_t session, std::uint32_t address) {
  obey_all(link, session);
  return link.read(address);
}

register_answer rfnoc_driver::access(radio_link& link, const register_access& wanted) const {
  const registers::register_info* found = find(wanted.address);
  if (found == nullptr || (wanted.write && !is_writable(*found))) return std::nullopt;
  if (!wanted.write) return link.read(wanted.address);
  link.write(wanted.address, *wanted.write);
  if (was_refused(link, wanted.address)) return std::nullopt;
  return 0;
}

}  // namespace perhop::drivers
