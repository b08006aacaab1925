// SPDX-License-Identifier: GPL-2.0-or-later
//
// The device by itself, with UDP in place of TCP: broadcast, the interface queue, packets that cannot go on.

#include "run_file.h"

#include "sim/ns3/air-channel.h"
#include "sim/ns3/air-net-device.h"
#include "sim/ns3/node-address.h"
#include "sim/run/run_report.hpp"

#include "ns3/inet-socket-address.h"
#include "ns3/internet-stack-helper.h"
#include "ns3/ipv4-l3-protocol.h"
#include "ns3/node-container.h"
#include "ns3/simulator.h"
#include "ns3/udp-socket-factory.h"

#include <gtest/gtest.h>

#include <map>
#include <vector>

namespace air_net_device_test
{

using namespace ns3;

/// Four nodes in a row, all of which run UDP on port 9 and note what they get.
class AirNetDeviceTest : public testing::Test
{
  protected:
    static constexpr uint32_t NODES = 4;
    static constexpr uint16_t PORT = 9;

    AirNetDeviceTest()
        : m_config(Config()),
          m_report(m_config)
    {
        if (Time::GetResolution() != Time::US)
        {
            Time::SetResolution(Time::US);
        }
        m_simulator = CreateObject<AirSimulatorImpl>();
        Simulator::SetImplementation(m_simulator);
        m_channel = CreateObject<AirChannel>(m_config.air, *m_simulator, m_report);
        m_simulator->SetTickSource(PeekPointer(m_channel));
        m_nodes.Create(NODES);
        InternetStackHelper internet;
        internet.SetIpv6StackInstall(false);
        internet.Install(m_nodes);
        for (uint32_t i = 0; i < NODES; ++i)
        {
            AddDevice(i);
        }
    }

    ~AirNetDeviceTest() override
    {
        m_channel->Dispose();
        m_simulator->SetTickSource(nullptr);
        Simulator::Destroy();
    }

    /// Schedules packets of 100 bytes from a node, all at one time.
    void Send(uint32_t from, Ipv4Address to, unsigned packets = 1)
    {
        Simulator::ScheduleWithContext(from,
                                       MicroSeconds(100),
                                       [this, from, to, packets]
                                       {
                                           for (unsigned i = 0; i < packets; ++i)
                                           {
                                               m_sockets[from]->SendTo(Create<Packet>(100), 0, InetSocketAddress(to, PORT));
                                           }
                                       });
    }

    Ptr<Socket> GetSocket(uint32_t node) const
    {
        return m_sockets[node];
    }

    nlohmann::ordered_json Run()
    {
        Simulator::Stop(Seconds(1));
        Simulator::Run();
        return m_report.result(m_simulator->NowTick(), m_channel->GetCounters(), {}, {}, false);
    }

    std::map<uint32_t, unsigned> m_received; ///< packets by node

  private:
    perhop::run::run_config Config() const
    {
        nlohmann::json run = run_file::Chain(NODES - 1, m_folder.Path());
        run["warmup_s"] = 0.0;
        run["mac"]["queue_packets"] = 5;
        run["flows"] = nlohmann::json::array();
        return perhop::run::parse_run_config(run.dump(), "test");
    }

    void AddDevice(uint32_t i)
    {
        Ptr<HostRouting> routes = CreateObject<HostRouting>();
        routes->SetNode(i);
        Ptr<AirNetDevice> device = CreateObject<AirNetDevice>();
        device->Attach(m_channel, i, routes);
        m_nodes.Get(i)->AddDevice(device);
        m_channel->Add(device);
        for (const perhop::run::route_config& route : m_config.routes)
        {
            // Nobody beyond node 0 knows the way to node 3: its packets are lost at node 1.
            if (route.node == i && (route.destination != 3 || i == 0))
            {
                routes->AddRoute(route.destination, route.next_hop, device);
            }
        }
        Ptr<Ipv4L3Protocol> ip = m_nodes.Get(i)->GetObject<Ipv4L3Protocol>();
        const uint32_t interface = ip->AddInterface(device);
        ip->AddAddress(interface, Ipv4InterfaceAddress(NodeIpv4Address(i), Ipv4Mask("255.0.0.0")));
        ip->SetUp(interface);
        ip->SetRoutingProtocol(routes);

        Ptr<Socket> socket = Socket::CreateSocket(m_nodes.Get(i), UdpSocketFactory::GetTypeId());
        socket->SetAllowBroadcast(true);
        socket->Bind(InetSocketAddress(Ipv4Address::GetAny(), PORT));
        socket->SetRecvCallback(MakeCallback(&AirNetDeviceTest::OnReceived, this));
        m_sockets.push_back(socket);
    }

    void OnReceived(Ptr<Socket> socket)
    {
        while (socket->Recv())
        {
            EXPECT_EQ(Simulator::GetContext(), socket->GetNode()->GetId());
            ++m_received[socket->GetNode()->GetId()];
        }
    }

    run_file::TemporaryFolder m_folder;
    perhop::run::run_config m_config;
    perhop::run::run_report m_report;
    Ptr<AirSimulatorImpl> m_simulator;
    Ptr<AirChannel> m_channel;
    NodeContainer m_nodes;
    std::vector<Ptr<Socket>> m_sockets;
};

TEST_F(AirNetDeviceTest, ABroadcastReachesTheNeighboursOnceAndGoesNoFurther)
{
    Send(1, Ipv4Address::GetBroadcast(), 3);
    const auto result = Run();
    EXPECT_EQ(m_received, (std::map<uint32_t, unsigned>{{0, 3}, {2, 3}}));
    EXPECT_EQ(result.at("transmissions"), 3) << "no RTS, no MAC ACK, no forwarding";
}

TEST_F(AirNetDeviceTest, AUnicastPacketCrossesAForwarder)
{
    Send(0, NodeIpv4Address(2));
    EXPECT_EQ(Run().at("transmissions"), 2 * 4) << "RTS, CTS, DATA, MAC ACK on each of two hops";
    EXPECT_EQ(m_received, (std::map<uint32_t, unsigned>{{2, 1}}));
}

TEST_F(AirNetDeviceTest, WhatTheQueueCannotHoldIsLostAndCounted)
{
    Send(0, NodeIpv4Address(1), 100);
    const auto result = Run();
    const auto lost = result.at("queue_drops").at(0).get<unsigned>();
    // Five wait, and a few are in the MAC's own queue.
    EXPECT_GE(100 - lost, 6U);
    EXPECT_LE(100 - lost, 10U);
    EXPECT_EQ(m_received[1], 100 - lost);
}

TEST_F(AirNetDeviceTest, APacketWithoutARouteEndsWhereTheRouteEnds)
{
    Send(0, NodeIpv4Address(3));
    EXPECT_EQ(Run().at("transmissions"), 4);
    EXPECT_TRUE(m_received.empty());
}

TEST_F(AirNetDeviceTest, ASpentTimeToLiveIsAnsweredByTheForwarder)
{
    GetSocket(0)->SetIpTtl(1);
    Send(0, NodeIpv4Address(2));
    EXPECT_EQ(Run().at("transmissions"), 2 * 4) << "the packet to node 1, and node 1's ICMP message back";
    EXPECT_TRUE(m_received.empty());
}

} // namespace air_net_device_test
