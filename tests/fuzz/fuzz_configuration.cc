// SPDX-License-Identifier: GPL-2.0-or-later
//
// What a node's daemon reads as JSON: its configuration, and the commands of its control socket. Any text gives an error that can be
// shown, or a configuration within its bounds. The first byte chooses; some texts are nested as deep as a message can be.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/drivers/make_uhd_link.hpp"
#include "host/node/control.hpp"
#include "host/node/register_desk.hpp"
#include "tests/fuzz/input.hpp"

// Also where UHD is not there the fields of a radio are read.
namespace perhop::drivers {
bool has_uhd() { return true; }
std::unique_ptr<radio_link> make_uhd_link(const uhd_config&) { return nullptr; }
}  // namespace perhop::drivers

namespace {

using namespace perhop;
using fuzz::expect;
using nlohmann::json;

constexpr std::size_t most_message_bytes = 65536;

/// A MAC that takes all accesses and says nothing.
class silent_driver final : public drivers::driver {
public:
  int descriptor() const override { return -1; }
  void poll(drivers::driver_listener&) override {}
  bool can_send() const override { return false; }
  bool send(const drivers::send_request&) override { return false; }
  void restart(const std::string&) override {}
  bool access_registers(std::uint32_t, std::span<const drivers::register_access> accesses) override {
    expect(!accesses.empty() && accesses.size() <= air_most_register_accesses, "so many registers are asked for at once");
    for (const drivers::register_access& access : accesses) {
      expect(access.address < register_space_bytes && access.address % 4 == 0, "registers are words of the MAC");
    }
    return true;
  }
  const drivers::driver_counters& counters() const override { return counters_; }

private:
  drivers::driver_counters counters_;
};

class empty_kernel final : public node::kernel {
public:
  node::route find_route(const shim::ip_address&, bool) override { return {}; }
  void deliver(std::span<const std::uint8_t>) override {}
};

void check_policy(const shim::flow_policy& policy) {
  expect(policy.cwl.kind != policy::cwl_kind::fixed || (policy.cwl.fixed_packets >= 1 && policy.cwl.fixed_packets <= 1024),
         "a fixed limit is 1 to 1024 packets");
  expect(policy.tcp_ack.fixed_window_packets <= 255, "a window of TCP ACKs is at most 255 packets");
}

bool in_range(const drivers::config_field& field, std::int64_t value) { return value >= *field.least && value <= *field.most; }

void check_driver(const node::driver_config& driver) {
  const auto& entries = drivers::all_drivers();
  const auto entry = std::ranges::find(entries, driver.kind, [](const drivers::driver_entry* each) { return each->kind; });
  expect(entry != entries.end() && driver.make != nullptr, "a driver is one of the list");
  for (const drivers::config_field& field : (*entry)->fields) {
    if (!driver.given.has(field.name)) {
      expect(field.optional, "what is not optional is given");
      continue;
    }
    switch (field.kind) {
      case drivers::field_kind::text:
        expect(!driver.given.text(field.name).empty(), "a text says something");
        break;
      case drivers::field_kind::socket:
        expect(!driver.given.text(field.name).empty() && driver.given.text(field.name).size() <= 107, "a socket has a short path");
        break;
      case drivers::field_kind::word:
        expect(std::ranges::count(field.words, driver.given.text(field.name)) == 1, "a word is one of the field's");
        break;
      case drivers::field_kind::mac:
        expect(driver.given.count(field.name) <= broadcast_address, "a MAC address has 48 bits");
        break;
      case drivers::field_kind::count:
        expect(in_range(field, static_cast<std::int64_t>(driver.given.count(field.name))), "a count is in its range");
        break;
      case drivers::field_kind::integer:
        expect(in_range(field, driver.given.integer<std::int64_t>(field.name)), "an integer is in its range");
        break;
      case drivers::field_kind::quantity:
        expect(!field.above || driver.given.quantity(field.name) > *field.above, "a quantity is above its least");
        break;
    }
  }
  if (driver.faults) {
    for (const double share :
         {driver.faults->drop, driver.faults->duplicate, driver.faults->corrupt, driver.faults->delayed, driver.faults->reorder}) {
      expect(share >= 0 && share <= 1, "a share is 0 to 1");
    }
  }
  if (driver.capture) expect(!driver.capture->file.empty() && driver.capture->most_bytes > 0, "a capture has a file and room");
}

void check_configuration(const std::string& text) {
  node::node_config config;
  try {
    config = node::parse_node_config(text);
  } catch (const node::config_error& error) {
    expect(*error.what() != '\0', "an error says something");
    // As the log has it.
    (void)node::log_line(node::log_format::json, 0, "configuration", {{"error", error.what()}});
    return;
  }
  expect(config.queue_packets >= 1 && config.queue_packets <= 4096, "a queue has 1 to 4096 packets");
  expect(config.mtu_bytes >= 576 && config.mtu_bytes <= node::most_ip_bytes, "an MTU fits a frame");
  check_policy(config.policy);
  check_driver(config.driver);
  if (config.exact) {
    expect(config.exact->eta > 0 && config.exact->eta <= 1, "eta is a share");
    expect(config.exact->interval_us >= 1000 && config.exact->interval_us <= 60'000'000, "an interval is up to a minute");
    expect(config.exact_flows.queue_packets >= 2 && config.exact_flows.queue_packets <= 4096, "a queue has 2 to 4096 packets");
  }
  for (const node::neighbour_address& neighbour : config.neighbours) {
    expect(neighbour.mac <= broadcast_address, "a MAC address has 48 bits");
    expect(neighbour.data_rate_index.value_or(0) <= 7, "a descriptor names eight rates");
  }
}

/// A message as the daemon takes it: registers first.
void check_command(const std::string& text) {
  silent_driver driver;
  empty_kernel kernel;
  node::packet_path path({}, kernel, driver);
  node::register_desk desk(path);
  if (desk.take(1, text, driver)) {
    for (const auto& [client, answer] : desk.take_answers()) expect(json::accept(answer), "an answer is JSON");
    desk.on_down();
    for (const auto& [client, answer] : desk.take_answers()) expect(json::accept(answer), "an answer is JSON");
    return;
  }
  // `status` reads the kernel and takes nothing from the message; a kernel needs a TUN interface.
  if (text.find("status") != std::string::npos || text.find('\\') != std::string::npos) return;
  alignas(node::linux_kernel) static std::array<std::byte, sizeof(node::linux_kernel)> no_kernel;
  node::node_config config;
  const std::string answer = node::answer(text, 1, config, path, reinterpret_cast<const node::linux_kernel&>(no_kernel), driver, nullptr);
  expect(json::accept(answer), "an answer is JSON");
}

/// A text in which `@` stands for what the input nests: arrays or objects in each other.
std::string nested(std::string text, std::size_t depth, bool objects) {
  const std::size_t at = text.find('@');
  if (at == std::string::npos) return text;
  std::string inside;
  for (std::size_t level = 0; level < depth; ++level) inside += objects ? "{\"a\":" : "[";
  inside += "1";
  inside.append(depth, objects ? '}' : ']');
  text.replace(at, 1, inside);
  return text;
}

/// Numbers at the edges of the ranges that there are.
constexpr std::array<const char*, 14> edges = {"0",     "1",     "255",   "256", "1023",  "1025",       "4097",
                                               "65535", "65536", "60001", "-1",  "1e300", "4294967296", "18446744073709551615"};

/// A text in which every `#` stands for this number.
std::string with_number(std::string text, const char* number) {
  for (std::size_t at = text.find('#'); at != std::string::npos; at = text.find('#', at)) text.replace(at, 1, number);
  return text;
}

void check(const std::string& text, bool configuration) {
  if (configuration) {
    check_configuration(text);
  } else {
    check_command(text);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::size_t depth = (data[1] & 1) != 0 ? std::size_t{data[1]} * (most_message_bytes / 256 / 2) : data[1];
  const std::string written(reinterpret_cast<const char*>(data + 2), size - 2);
  const std::string text = nested(written, depth, (data[0] & 2) != 0);
  const bool configuration = (data[0] & 1) == 0;
  if (text.find('#') == std::string::npos) {
    check(text, configuration);
  } else {
    // Each of them: to find the one that matters would be left to chance.
    for (const char* number : edges) check(with_number(text, number), configuration);
  }
  return 0;
}
