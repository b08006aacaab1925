// SPDX-License-Identifier: GPL-2.0-or-later
#include "host/node/register_desk.hpp"

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "host/sockets/json_message.hpp"

namespace perhop::node {

namespace {

using nlohmann::json;

// Questions that a MAC has not answered yet. A client may ask as it likes, and MACs may be slow.
constexpr std::size_t most_waiting = 256;

std::string refusal(const std::string& why) {
  return json{{"ok", false}, {"error", why}}.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::vector<drivers::register_access> parse_accesses(const json& accesses) {
  if (!accesses.is_array() || accesses.empty() || accesses.size() > air_most_register_accesses) {
    throw std::invalid_argument("accesses: give 1 to " + std::to_string(air_most_register_accesses));
  }
  std::vector<drivers::register_access> parsed;
  for (const json& access : accesses) {
    const bool fits = access.is_array() && (access.size() == 1 || access.size() == 2) && access[0].is_number_unsigned() &&
                      (access.size() == 1 || (access[1].is_number_unsigned() && access[1].get<std::uint64_t>() <= UINT32_MAX));
    if (!fits) throw std::invalid_argument("accesses: " + access.dump() + " is neither [ADDRESS] nor [ADDRESS, WORD]");
    const auto address = access[0].get<std::uint64_t>();
    if (address >= register_space_bytes || address % 4 != 0) throw std::invalid_argument("accesses: no register is at " + access[0].dump());
    parsed.push_back({.address = static_cast<std::uint32_t>(address)});
    if (access.size() == 2) parsed.back().write = access[1].get<std::uint32_t>();
  }
  return parsed;
}

}  // namespace

bool register_desk::take(sockets::client_id client, std::string_view asked, drivers::driver& driver) {
  const json command = sockets::parse_message(asked);
  if (!command.is_object() || command.value("command", json()) != "registers") return false;
  try {
    const std::vector<drivers::register_access> accesses = parse_accesses(command.value("accesses", json()));
    if (waiting_.size() >= most_waiting) throw std::runtime_error("too many questions wait for the MAC");
    if (!driver.access_registers(next_cookie_, accesses)) throw std::runtime_error("the MAC is down, or its driver has no registers");
    waiting_[next_cookie_++] = client;
  } catch (const std::exception& error) {
    answers_.emplace_back(client, refusal(error.what()));
  }
  return true;
}

void register_desk::forget(sockets::client_id client) {
  std::erase_if(waiting_, [client](const auto& entry) { return entry.second == client; });
  std::erase_if(answers_, [client](const auto& entry) { return entry.first == client; });
}

void register_desk::on_down() {
  for (const auto& [cookie, client] : waiting_) answers_.emplace_back(client, refusal("the MAC went down"));
  waiting_.clear();
  next_.on_down();
}

void register_desk::on_registers(std::uint32_t cookie, std::span<const drivers::register_answer> answers) {
  const auto found = waiting_.find(cookie);
  if (found == waiting_.end()) return;
  json values = json::array();
  for (const drivers::register_answer& answer : answers) values.push_back(answer ? json(*answer) : json());
  answers_.emplace_back(found->second, json{{"ok", true}, {"values", std::move(values)}}.dump());
  waiting_.erase(found);
}

}  // namespace perhop::node
