// SPDX-License-Identifier: GPL-2.0-or-later
//
// The sender's TCP over a wire that loses the packets a test names: recovery, duplicates without a meaning, timeouts, window.

#include "sim/ns3/measured-tcp-socket.h"

#include "ns3/boolean.h"
#include "ns3/data-rate.h"
#include "ns3/error-model.h"
#include "ns3/inet-socket-address.h"
#include "ns3/internet-stack-helper.h"
#include "ns3/ipv4-address-helper.h"
#include "ns3/ipv4-header.h"
#include "ns3/node-container.h"
#include "ns3/rtt-estimator.h"
#include "ns3/simple-channel.h"
#include "ns3/simple-net-device.h"
#include "ns3/simulator.h"
#include "ns3/tcp-congestion-ops.h"
#include "ns3/tcp-header.h"
#include "ns3/tcp-l4-protocol.h"
#include "ns3/tcp-recovery-ops.h"
#include "ns3/uinteger.h"

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <set>
#include <vector>

namespace measured_tcp_socket_test
{

using namespace ns3;

constexpr uint32_t SEGMENT_BYTES = 1000;

/// Loses the n-th transmission of the segments that it is told, counting segments and transmissions from 1.
class ChosenLosses : public ErrorModel
{
  public:
    static TypeId GetTypeId()
    {
        static TypeId tid = TypeId("perhop::test::ChosenLosses").SetParent<ErrorModel>();
        return tid;
    }

    std::set<std::pair<uint32_t, uint32_t>> losses; ///< (segment, transmission)
    std::vector<std::pair<double, uint32_t>> sent;  ///< (seconds, segment) of every data packet that reached the far end of the wire
    std::map<uint32_t, uint32_t> transmissions;

  private:
    bool DoCorrupt(Ptr<Packet> packet) override
    {
        Ptr<Packet> copy = packet->Copy();
        Ipv4Header ip;
        TcpHeader tcp;
        copy->RemoveHeader(ip);
        copy->RemoveHeader(tcp);
        if (copy->GetSize() == 0)
        {
            return false;
        }
        const uint32_t segment = 1 + (tcp.GetSequenceNumber().GetValue() - 1) / SEGMENT_BYTES;
        sent.emplace_back(Simulator::Now().GetSeconds(), segment);
        return losses.contains({segment, ++transmissions[segment]});
    }

    void DoReset() override
    {
    }
};

class MeasuredTcpSocketTest : public testing::Test, private MeasuredTcpSocket::Observer
{
  protected:
    MeasuredTcpSocketTest()
    {
        if (Time::GetResolution() != Time::US)
        {
            Time::SetResolution(Time::US);
        }
        m_nodes.Create(2);
        InternetStackHelper internet;
        internet.SetIpv6StackInstall(false);
        internet.Install(m_nodes);
        Ptr<SimpleChannel> wire = CreateObject<SimpleChannel>();
        wire->SetAttribute("Delay", TimeValue(MilliSeconds(20)));
        NetDeviceContainer devices;
        for (uint32_t i = 0; i < 2; ++i)
        {
            Ptr<SimpleNetDevice> device = CreateObject<SimpleNetDevice>();
            device->SetAttribute("DataRate", DataRateValue(DataRate("2Mbps")));
            device->SetAttribute("PointToPointMode", BooleanValue(true));
            device->SetAddress(Mac48Address::Allocate());
            device->SetChannel(wire);
            m_nodes.Get(i)->AddDevice(device);
            devices.Add(device);
        }
        m_losses = CreateObject<ChosenLosses>();
        DynamicCast<SimpleNetDevice>(devices.Get(1))->SetReceiveErrorModel(m_losses);
        Ipv4AddressHelper addresses("10.0.0.0", "255.0.0.0");
        addresses.Assign(devices);
    }

    ~MeasuredTcpSocketTest() override
    {
        m_sender->SetObserver(nullptr);
        Simulator::Destroy();
    }

    /// Sends `segments` segments after `change` has had its way with the sender; runs for 20 s.
    void Send(uint32_t segments, const std::function<void(MeasuredTcpSocket&)>& change)
    {
        Ptr<MeasuredTcpSocket> listener = CreateSocket(1);
        listener->Bind(InetSocketAddress(Ipv4Address::GetAny(), 9));
        listener->Listen();
        listener->SetAcceptCallback(MakeNullCallback<bool, Ptr<Socket>, const Address&>(),
                                    MakeCallback(&MeasuredTcpSocketTest::OnAccepted, this));
        m_sender = CreateSocket(0);
        change(*m_sender);
        m_sender->SetObserver(this);
        m_sender->Bind();
        m_sender->Connect(InetSocketAddress(Ipv4Address("10.0.0.2"), 9));
        m_sender->TraceConnectWithoutContext("CongState", MakeCallback(&MeasuredTcpSocketTest::OnState, this));
        for (uint32_t i = 0; i < segments; ++i)
        {
            m_sender->Send(Create<Packet>(SEGMENT_BYTES), 0);
        }
        Simulator::Stop(Seconds(20));
        Simulator::Run();
    }

    /// Data packets that reached the receiver's end of the wire beyond one a segment and the chosen losses.
    std::size_t NeedlessPackets(uint32_t segments) const
    {
        return m_losses->sent.size() - segments - m_losses->losses.size();
    }

    bool m_sack = false;
    Ptr<ChosenLosses> m_losses;
    std::vector<TcpSocketState::TcpCongState_t> m_states;
    std::vector<double> m_timeouts; ///< seconds
    uint32_t m_receivedBytes = 0;
    uint32_t m_maxInFlight = 0;

  private:
    Ptr<MeasuredTcpSocket> CreateSocket(uint32_t node)
    {
        Ptr<TcpL4Protocol> tcp = m_nodes.Get(node)->GetObject<TcpL4Protocol>();
        Ptr<MeasuredTcpSocket> socket = CreateObject<MeasuredTcpSocket>();
        socket->SetNode(m_nodes.Get(node));
        socket->SetTcp(tcp);
        socket->SetRtt(CreateObject<RttMeanDeviation>());
        socket->SetCongestionControlAlgorithm(CreateObject<TcpNewReno>());
        socket->SetRecoveryAlgorithm(CreateObject<TcpClassicRecovery>());
        tcp->AddSocket(socket);
        socket->SetMinRto(MilliSeconds(200));
        socket->SetAttribute("Sack", BooleanValue(m_sack));
        socket->SetAttribute("SndBufSize", UintegerValue(1 << 20));
        socket->SetAttribute("Timestamp", BooleanValue(false));
        socket->SetAttribute("SegmentSize", UintegerValue(SEGMENT_BYTES));
        socket->SetAttribute("InitialCwnd", UintegerValue(1));
        socket->SetAttribute("DelAckCount", UintegerValue(1));
        return socket;
    }

    void OnAccepted(Ptr<Socket> socket, const Address&)
    {
        socket->SetRecvCallback(MakeCallback(&MeasuredTcpSocketTest::OnReadable, this));
    }

    void OnReadable(Ptr<Socket> socket)
    {
        while (Ptr<Packet> data = socket->Recv())
        {
            m_receivedBytes += data->GetSize();
        }
    }

    void OnState(TcpSocketState::TcpCongState_t, TcpSocketState::TcpCongState_t now)
    {
        m_states.push_back(now);
    }

    void OnRoundTrip(Time) override
    {
    }

    void OnTimeout() override
    {
        m_timeouts.push_back(Simulator::Now().GetSeconds());
    }

    void OnWindow(uint32_t, uint32_t) override
    {
        m_maxInFlight = std::max(m_maxInFlight, m_sender->GetPacketsInFlight());
    }

    NodeContainer m_nodes;
    Ptr<MeasuredTcpSocket> m_sender;
};

constexpr auto RECOVERY = TcpSocketState::CA_RECOVERY;

TEST_F(MeasuredTcpSocketTest, NewRenoMendsTwoLossesOfAWindowInOneRecovery)
{
    m_losses->losses = {{20, 1}, {22, 1}};
    Send(60,
         [](MeasuredTcpSocket&)
         {
         });
    EXPECT_EQ(m_receivedBytes, 60 * SEGMENT_BYTES);
    EXPECT_EQ(std::count(m_states.begin(), m_states.end(), RECOVERY), 1);
    EXPECT_TRUE(m_timeouts.empty());
}

TEST_F(MeasuredTcpSocketTest, RenoLeavesRecoveryAtThePartialTcpAck)
{
    m_losses->losses = {{20, 1}, {22, 1}};
    Send(60,
         [](MeasuredTcpSocket& sender)
         {
             sender.SetReno(true);
         });
    EXPECT_EQ(m_receivedBytes, 60 * SEGMENT_BYTES);
    // The second loss takes a recovery of its own, or a timeout.
    EXPECT_EQ(std::count(m_states.begin(), m_states.end(), RECOVERY) + m_timeouts.size(), 2U);
    EXPECT_EQ(m_losses->transmissions[22], 2U) << "and no third time at the end of the first recovery";
}

TEST_F(MeasuredTcpSocketTest, WithSackRenosRecoveryGoesOnToItsEnd)
{
    m_losses->losses = {{20, 1}, {22, 1}};
    m_sack = true;
    Send(60,
         [](MeasuredTcpSocket& sender)
         {
             sender.SetReno(true);
         });
    EXPECT_EQ(m_receivedBytes, 60 * SEGMENT_BYTES);
    EXPECT_EQ(std::count(m_states.begin(), m_states.end(), RECOVERY), 1);
    EXPECT_TRUE(m_timeouts.empty());
    EXPECT_EQ(NeedlessPackets(60), 0U);
}

TEST_F(MeasuredTcpSocketTest, TheRetransmissionTimeoutTakesItsFactorAndItsUpperBound)
{
    // Segment 1 and its first retransmission are lost: nothing but the timer helps, and it has no round trip but the SYN's to go by.
    const auto firstTimeoutsS = [this](uint32_t factor, Time most)
    {
        m_losses->losses = {{10, 1}, {10, 2}, {11, 1}, {12, 1}, {13, 1}, {14, 1}, {15, 1}, {16, 1}};
        Send(16,
             [&](MeasuredTcpSocket& sender)
             {
                 sender.SetRtoFactor(factor);
                 sender.SetMaxRto(most);
             });
        return m_timeouts;
    };
    const auto timeouts = firstTimeoutsS(5, Seconds(60));
    ASSERT_GE(timeouts.size(), 2U);
    double lastTcpAckS = 0;
    for (const auto& [seconds, segment] : m_losses->sent)
    {
        lastTcpAckS = segment == 9 ? seconds + 0.020 : lastTcpAckS;
    }
    // Five times the least timeout of 200 ms (the round trip of 45 ms asks for no more), then twice that.
    EXPECT_NEAR(timeouts[0] - lastTcpAckS, 1.0, 0.01);
    EXPECT_NEAR(timeouts[1] - timeouts[0], 2.0, 0.01);
}

TEST_F(MeasuredTcpSocketTest, TheWindowCapBoundsWhatIsInFlight)
{
    Send(60,
         [](MeasuredTcpSocket& sender)
         {
             sender.SetWindowCap(4);
         });
    EXPECT_EQ(m_receivedBytes, 60 * SEGMENT_BYTES);
    EXPECT_EQ(m_maxInFlight, 4U);
}

TEST_F(MeasuredTcpSocketTest, NeedlessRetransmissionsAreNotTakenForLosses)
{
    // A window of which five packets are lost, the first of them twice. After the timeout slow start sends the window again from there,
    // and while the five arrive it has got to packets that were there already: each of those brings a duplicate of the TCP ACK for all.
    m_losses->losses = {{30, 1}, {30, 2}, {31, 1}, {32, 1}, {33, 1}, {34, 1}};
    Send(200,
         [](MeasuredTcpSocket&)
         {
         });
    EXPECT_EQ(m_receivedBytes, 200 * SEGMENT_BYTES);
    EXPECT_EQ(std::count(m_states.begin(), m_states.end(), RECOVERY), 1) << "the one before the timeout";
    EXPECT_EQ(m_timeouts.size(), 1U);
    EXPECT_GE(NeedlessPackets(200), 3U) << "enough duplicates for a false alarm";
}

} // namespace measured_tcp_socket_test
