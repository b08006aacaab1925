// SPDX-License-Identifier: GPL-2.0-or-later
/// Peer for bench_sim.py: one TCP flow over a chain of ns-3's own WifiNetDevices, 802.11b at 2 Mb/s with RTS/CTS, and
/// an ns-2-like receiver: it locks on any frame it can sense, loses those below the reception threshold, and lets a
/// ten times stronger first frame survive a later one.
///
/// usage: ns3_wifi_chain --hops=8 --window=44 --seconds=100 --seed=1
/// Prints: {"delivered_packets": N}
#include <cmath>
#include <iostream>

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/error-rate-model.h"
#include "ns3/internet-module.h"
#include "ns3/mobility-module.h"
#include "ns3/neighbor-cache-helper.h"
#include "ns3/network-module.h"
#include "ns3/preamble-detection-model.h"
#include "ns3/propagation-module.h"
#include "ns3/traffic-control-module.h"
#include "ns3/wifi-mac.h"
#include "ns3/wifi-net-device.h"
#include "ns3/wifi-phy.h"
#include "ns3/yans-wifi-helper.h"

using namespace ns3;

namespace {

// ns-2's defaults: 0.28183815 W, two-ray ground, 914 MHz, antennas at 1.5 m: 250 m to receive, 550 m to sense.
constexpr double kTxDbm = 24.4997;
constexpr double kRxDbm = -64.37;
constexpr double kSenseDbm = -78.07;
constexpr double kCaptureRatio = 10.0;
constexpr uint32_t kSegmentBytes = 1460;

class Ns2Preamble : public PreambleDetectionModel {
public:
  static TypeId GetTypeId() {
    static TypeId id = TypeId("bench::Ns2Preamble").SetParent<PreambleDetectionModel>().AddConstructor<Ns2Preamble>();
    return id;
  }
  bool IsPreambleDetected(double rssiDbm, double, double) const override {
    m_weak = rssiDbm < kRxDbm;
    return rssiDbm >= kSenseDbm;
  }
  mutable bool m_weak = false;
};

class Ns2Error : public ErrorRateModel {
public:
  static TypeId GetTypeId() {
    static TypeId id = TypeId("bench::Ns2Error").SetParent<ErrorRateModel>().AddConstructor<Ns2Error>();
    return id;
  }
  double DoGetChunkSuccessRate(WifiMode, const WifiTxVector&, double snr, uint64_t, uint8_t, WifiPpduField field, uint16_t) const override {
    if (field != WIFI_PPDU_FIELD_DATA) return 1.0;  // the lock is never lost
    if (m_preamble->m_weak) return 0.0;
    return snr >= kCaptureRatio ? 1.0 : 0.0;
  }
  Ptr<Ns2Preamble> m_preamble;
};

NS_OBJECT_ENSURE_REGISTERED(Ns2Preamble);
NS_OBJECT_ENSURE_REGISTERED(Ns2Error);

}  // namespace

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
  RngSeedManager::SetSeed(1);
  RngSeedManager::SetRun(seed);

  Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TypeId::LookupByName("ns3::TcpNewReno")));
  Config::SetDefault("ns3::TcpL4Protocol::RecoveryType", TypeIdValue(TypeId::LookupByName("ns3::TcpClassicRecovery")));
  Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(kSegmentBytes));
  Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(1));
  Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(1));
  Config::SetDefault("ns3::TcpSocket::DataRetries", UintegerValue(100000));
  Config::SetDefault("ns3::TcpSocket::ConnCount", UintegerValue(1000));
  Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(false));
  Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(false));
  Config::SetDefault("ns3::TcpSocketBase::WindowScaling", BooleanValue(false));
  Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(Seconds(1)));
  Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(1 << 20));
  Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(window * kSegmentBytes));
  Config::SetDefault("ns3::WifiMacQueue::MaxSize", StringValue("50p"));
  Config::SetDefault("ns3::WifiMacQueue::MaxDelay", TimeValue(Seconds(1000)));
  Config::SetDefault("ns3::WifiMac::FrameRetryLimit", UintegerValue(7));
  Config::SetDefault("ns3::WifiRemoteStationManager::RtsCtsThreshold", UintegerValue(0));
  Config::SetDefault("ns3::WifiRemoteStationManager::FragmentationThreshold", UintegerValue(65534));
  Config::SetDefault("ns3::WifiRemoteStationManager::NonUnicastMode", StringValue("DsssRate1Mbps"));

  NodeContainer nodes;
  nodes.Create(hops + 1);
  MobilityHelper mobility;
  auto positions = CreateObject<ListPositionAllocator>();
  for (uint32_t i = 0; i <= hops; i++) positions->Add(Vector(i * 250.0, 0, 0));
  mobility.SetPositionAllocator(positions);
  mobility.SetMobilityModel("ns3::ConstantPositionMobilityModel");
  mobility.Install(nodes);

  YansWifiChannelHelper channel;
  channel.SetPropagationDelay("ns3::ConstantSpeedPropagationDelayModel");
  channel.AddPropagationLoss("ns3::TwoRayGroundPropagationLossModel", "Frequency", DoubleValue(914e6), "HeightAboveZ", DoubleValue(1.5));
  YansWifiPhyHelper phy;
  phy.SetChannel(channel.Create());
  phy.Set("TxPowerStart", DoubleValue(kTxDbm));
  phy.Set("TxPowerEnd", DoubleValue(kTxDbm));
  phy.Set("TxGain", DoubleValue(0));
  phy.Set("RxGain", DoubleValue(0));
  phy.Set("RxSensitivity", DoubleValue(kSenseDbm));
  phy.Set("CcaEdThreshold", DoubleValue(kSenseDbm));
  WifiHelper wifi;
  wifi.SetStandard(WIFI_STANDARD_80211b);
  wifi.SetRemoteStationManager("ns3::ConstantRateWifiManager", "DataMode", StringValue("DsssRate2Mbps"), "ControlMode",
                               StringValue("DsssRate1Mbps"));
  WifiMacHelper mac;
  mac.SetType("ns3::AdhocWifiMac", "QosSupported", BooleanValue(false));
  NetDeviceContainer devices = wifi.Install(phy, mac, nodes);
  wifi.AssignStreams(devices, 100);
  for (uint32_t i = 0; i < devices.GetN(); i++) {
    auto preamble = CreateObject<Ns2Preamble>();
    auto errors = CreateObject<Ns2Error>();
    errors->m_preamble = preamble;
    auto device_phy = DynamicCast<WifiNetDevice>(devices.Get(i))->GetPhy();
    device_phy->SetPreambleDetectionModel(preamble);
    device_phy->SetErrorRateModel(errors);
  }

  InternetStackHelper().Install(nodes);
  Ipv4AddressHelper addresses;
  addresses.SetBase("10.0.0.0", "255.255.255.0");
  auto interfaces = addresses.Assign(devices);
  TrafficControlHelper().Uninstall(devices);  // else FqCoDel with 1000 packets sits on top of the MAC queue
  NeighborCacheHelper().PopulateNeighborCache();
  Ipv4StaticRoutingHelper routing;
  for (uint32_t i = 0; i <= hops; i++) {
    auto routes = routing.GetStaticRouting(nodes.Get(i)->GetObject<Ipv4>());
    for (uint32_t j = 0; j <= hops; j++) {
      if (j != i) routes->AddHostRouteTo(interfaces.GetAddress(j), interfaces.GetAddress(j > i ? i + 1 : i - 1), 1);
    }
  }

  PacketSinkHelper sinks("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), 9));
  auto sink = DynamicCast<PacketSink>(sinks.Install(nodes.Get(hops)).Get(0));
  BulkSendHelper sources("ns3::TcpSocketFactory", InetSocketAddress(interfaces.GetAddress(hops), 9));
  sources.SetAttribute("MaxBytes", UintegerValue(0));
  sources.SetAttribute("SendSize", UintegerValue(kSegmentBytes));
  sources.Install(nodes.Get(0)).Start(Seconds(0.1));
  Simulator::Stop(Seconds(seconds));
  Simulator::Run();
  std::cout << "{\"delivered_packets\": " << sink->GetTotalRx() / kSegmentBytes << "}\n";
  Simulator::Destroy();
}
