// SPDX-License-Identifier: GPL-2.0-or-later
/// Peer for bench_grid.py: the grid of paper 003 with ns-3's own WifiNetDevices (ns3_wifi.hpp). TCP without end down every column, and
/// over every hop along the rows a connection whose application writes at a constant rate.
///
/// usage: ns3_wifi_grid --side=10 --window=1 --row_bps=23360 --seconds=20 --seed=1
/// Prints: {"columns": [N, ...], "rows": N}, packets delivered
#include <iostream>

#include "ns3_wifi.hpp"

using namespace ns3;

namespace {

constexpr uint16_t kColumnPort = 9;
constexpr uint16_t kRowPort = 10;

void MakeRateSource(const bench::Network& network, uint32_t from, uint32_t to, double bps, Time start) {
  OnOffHelper sources("ns3::TcpSocketFactory", InetSocketAddress(network.interfaces.GetAddress(to), kRowPort));
  sources.SetConstantRate(DataRate(static_cast<uint64_t>(bps)), bench::kSegmentBytes);
  sources.Install(network.nodes.Get(from)).Start(start);
}

}  // namespace

int main(int argc, char** argv) {
  uint32_t side = 10;
  uint32_t window = 1;
  uint32_t seed = 1;
  double row_bps = 23360;
  double seconds = 20;
  CommandLine cmd;
  cmd.AddValue("side", "rows, and columns", side);
  cmd.AddValue("window", "TCP window, segments", window);
  cmd.AddValue("row_bps", "at which the applications of the rows write", row_bps);
  cmd.AddValue("seed", "run number", seed);
  cmd.AddValue("seconds", "simulated seconds", seconds);
  cmd.Parse(argc, argv);
  bench::SetDefaults(window, seed);

  std::vector<Vector> places;
  for (uint32_t node = 0; node < side * side; node++) places.emplace_back(node % side * 250.0, node / side * 250.0, 0);
  bench::Network network(places);
  std::vector<Ptr<PacketSink>> columns, rows;
  for (uint32_t column = 0; column < side; column++) {
    const uint32_t top = column;
    const uint32_t bottom = top + (side - 1) * side;
    for (uint32_t node = top; node < bottom; node += side) {
      network.Route(node, bottom, node + side);
      network.Route(node + side, top, node);
    }
    columns.push_back(bench::MakeSink(network, bottom, kColumnPort));
    bench::MakeBulkSource(network, top, bottom, kColumnPort, Seconds(0.1 + 0.1 * column));
  }
  for (uint32_t node = 0; node < side * side; node++) {
    if (node % side + 1 == side) continue;
    network.Route(node, node + 1, node + 1);
    network.Route(node + 1, node, node);
    MakeRateSource(network, node, node + 1, row_bps, Seconds(1.2 + 0.0137 * static_cast<double>(rows.size())));
    rows.push_back(bench::MakeSink(network, node + 1, kRowPort));
  }
  Simulator::Stop(Seconds(seconds));
  Simulator::Run();
  std::cout << "{\"columns\": [";
  for (uint32_t i = 0; i < columns.size(); i++) {
    std::cout << (i == 0 ? "" : ", ") << columns[i]->GetTotalRx() / bench::kSegmentBytes;
  }
  uint64_t row_bytes = 0;
  for (const auto& row : rows) row_bytes += row->GetTotalRx();
  std::cout << "], \"rows\": " << row_bytes / bench::kSegmentBytes << "}\n";
  Simulator::Destroy();
}
