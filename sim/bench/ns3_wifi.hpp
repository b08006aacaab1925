// SPDX-License-Identifier: GPL-2.0-or-later
/// What the ns-3 peers of bench_sim.py and bench_grid.py share: ns-3's own WifiNetDevices, 802.11b at 2 Mb/s with
/// RTS/CTS, and an ns-2-like receiver: it locks on any frame it can sense, loses those below the reception threshold,
/// and lets a ten times stronger first frame survive a later one.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

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

namespace bench {

using namespace ns3;

// ns-2's defaults: 0.28183815 W, two-ray ground, 914 MHz, antennas at 1.5 m: 250 m to receive, 550 m to sense.
inline constexpr double kTxDbm = 24.4997;
inline constexpr double kRxDbm = -64.37;
inline constexpr double kSenseDbm = -78.07;
inline constexpr double kCaptureRatio = 10.0;
inline constexpr uint32_t kSegmentBytes = 1460;

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

/// TCP NewReno without SACK, an ACK for every segment, a queue of 50 packets in the MAC. @param window segments
inline void SetDefaults(uint32_t window, uint32_t seed) {
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
}

/// Nodes that stand at these places, with IP over Wi-Fi.
struct Network {
  explicit Network(const std::vector<Vector>& places);

  /// Packets of one node for another leave for a third.
  void Route(uint32_t node, uint32_t destination, uint32_t nextHop) {
    auto routes = Ipv4StaticRoutingHelper().GetStaticRouting(nodes.Get(node)->GetObject<Ipv4>());
    routes->AddHostRouteTo(interfaces.GetAddress(destination), interfaces.GetAddress(nextHop), 1);
  }

  NodeContainer nodes;
  Ipv4InterfaceContainer interfaces;
};

inline Network::Network(const std::vector<Vector>& places) {
  nodes.Create(places.size());
  MobilityHelper mobility;
  auto positions = CreateObject<ListPositionAllocator>();
  for (const Vector& place : places) positions->Add(place);
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
  interfaces = addresses.Assign(devices);
  TrafficControlHelper().Uninstall(devices);  // else FqCoDel with 1000 packets sits on top of the MAC queue
  NeighborCacheHelper().PopulateNeighborCache();
}

/// A sink on this node. @param port of it
inline Ptr<PacketSink> MakeSink(const Network& network, uint32_t node, uint16_t port) {
  PacketSinkHelper sinks("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), port));
  return DynamicCast<PacketSink>(sinks.Install(network.nodes.Get(node)).Get(0));
}

/// A source that always has data.
inline void MakeBulkSource(const Network& network, uint32_t from, uint32_t to, uint16_t port, Time start) {
  BulkSendHelper sources("ns3::TcpSocketFactory", InetSocketAddress(network.interfaces.GetAddress(to), port));
  sources.SetAttribute("MaxBytes", UintegerValue(0));
  sources.SetAttribute("SendSize", UintegerValue(kSegmentBytes));
  sources.Install(network.nodes.Get(from)).Start(start);
}

}  // namespace bench
