// SPDX-License-Identifier: GPL-2.0-or-later
/// Peer for bench_sim.py: one TCP flow over a chain of ns-3's own WifiNetDevices (ns3_wifi.hpp).
///
/// usage: ns3_wifi_chain --hops=8 --window=44 --seconds=100 --seed=1
/// Prints: {"delivered_packets": N}
#include <iostream>

#include "ns3_wifi.hpp"

using namespace ns3;

int main(int argc, char** argv) {
  uint32_t hops = 8;
  uint32_t window = 44;
  uint32_t seed = 1;
  double seconds = 100;
  CommandLine cmd;
  cmd.AddValue("hops", "length of the chain", hops);
  cmd.AddValue("window", "TCP window, segments", window);
  cmd.AddValue("seed", "run number", seed);
  cmd.AddValue("seconds", "simulated seconds", seconds);
  cmd.Parse(argc, argv);
  bench::SetDefaults(window, seed);

  std::vector<Vector> places;
  for (uint32_t i = 0; i <= hops; i++) places.emplace_back(i * 250.0, 0, 0);
  bench::Network network(places);
  for (uint32_t i = 0; i <= hops; i++) {
    for (uint32_t j = 0; j <= hops; j++) {
      if (j != i) network.Route(i, j, j > i ? i + 1 : i - 1);
    }
  }
  auto sink = bench::MakeSink(network, hops, 9);
  bench::MakeBulkSource(network, 0, hops, 9, Seconds(0.1));
  Simulator::Stop(Seconds(seconds));
  Simulator::Run();
  std::cout << "{\"delivered_packets\": " << sink->GetTotalRx() / bench::kSegmentBytes << "}\n";
  Simulator::Destroy();
}
