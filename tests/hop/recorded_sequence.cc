// SPDX-License-Identifier: GPL-2.0-or-later
#include "recorded_sequence.hpp"

#include "ns3/boolean.h"
#include "ns3/callback.h"
#include "ns3/config.h"
#include "ns3/simulator.h"
#include "sim/ns3/packet-slots.h"
#include "sim/ns3/scenario.h"

namespace perhop::hop_test {
namespace {

using namespace ns3;

class recorder {
public:
  explicit recorder(std::uint32_t node) : node_(node) {}

  void connect() {
    const std::string device = "/NodeList/" + std::to_string(node_) + "/DeviceList/*/$perhop::AirNetDevice/";
    Config::ConnectWithoutContext(device + "MacTx", MakeCallback(&recorder::on_send, this));
    Config::ConnectWithoutContext(device + "Arrival", MakeCallback(&recorder::on_arrival, this));
    Config::ConnectWithoutContext(device + "Completion", MakeCallback(&recorder::on_completion, this));
  }

  std::vector<event> events;

private:
  static time_us now() { return static_cast<time_us>(Simulator::Now().GetMicroSeconds()); }

  bytes seen_from_node(const Packet& packet) const {
    bytes ip(packet.GetSize());
    packet.CopyData(ip.data(), packet.GetSize());
    constexpr std::array<std::size_t, 2> addresses_at = {12, 16};
    for (const std::size_t at : addresses_at) {
      const std::uint32_t address =
          std::uint32_t{ip[at]} << 24 | std::uint32_t{ip[at + 1]} << 16 | std::uint32_t{ip[at + 2]} << 8 | ip[at + 3];
      if (address != ipv4_of(0) && address != ipv4_of(node_)) continue;
      const std::uint32_t other = address ^ ipv4_of(0) ^ ipv4_of(node_);
      for (std::size_t i = 0; i < 4; ++i) ip[at + i] = static_cast<std::uint8_t>(other >> (24 - 8 * i));
    }
    return ip;
  }

  void on_send(Ptr<const Packet> packet) { events.push_back({.kind = event::what::send, .now = now(), .ip = seen_from_node(*packet)}); }

  void on_arrival(const PacketSlot& slot) {
    if (slot.hello) return;
    const bool for_here = slot.view.flow.destination.ipv4() == ipv4_of(node_);
    events.push_back({.kind = for_here ? event::what::receive : event::what::forward,
                      .now = now(),
                      .ip = seen_from_node(*slot.packet),
                      .header = rounded(slot.header),
                      .rider = slot.exact});
    constexpr std::size_t ttl_at = 8;
    events.back().ip[ttl_at] = static_cast<std::uint8_t>(events.back().ip[ttl_at] - slot.ttlSpent);
  }

  void on_completion(const air::completion& record) {
    const std::uint32_t overhead_us = record.parts.control_us + record.parts.response_us;
    const auto service_us = static_cast<std::uint32_t>(record.service_time_us());
    events.push_back({.kind = event::what::complete,
                      .now = now(),
                      .done = {.delivered = record.result == tx_result::delivered,
                               .contention_us = service_us - overhead_us - record.parts.data_us,
                               .overhead_us = overhead_us,
                               .data_us = record.parts.data_us,
                               .data_attempts = record.data_attempts,
                               .avg_contention_us16 = record.avg_contention_us16,
                               .avg_overhead_us16 = record.avg_overhead_us16,
                               .avg_data_attempts_256 = static_cast<std::uint16_t>(record.avg_data_attempts_256)}});
  }

  std::uint32_t node_;
};

}  // namespace

std::vector<event> record(const run::run_config& config, std::uint32_t node) {
  recorder recorder(node);
  bool connected = false;
  // With all of IP's bytes.
  Config::SetDefault("perhop::AirNetDevice::BulkPath", BooleanValue(false));
  RunScenario(config, [&](double) {
    if (!std::exchange(connected, true)) recorder.connect();
    return true;
  });
  return std::move(recorder.events);
}

}  // namespace perhop::hop_test
