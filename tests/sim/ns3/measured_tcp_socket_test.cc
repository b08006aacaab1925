// SPDX-License-Identifier: GPL-2.0-or-later
//
// The sender's TCP over a wire that loses the packets a test names: recovery, duplicates without a meaning, timeouts, window.
//
// It is one file: all tests share the wire.

#include "sim/ns3/measured-tcp-socket.h"
#include "sim/ns3/tcp-bsd-reno.h"

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

/// Loses the n-th transmission of the segments that it is told, counting segments and transmissions from 1; others come twice more.
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
    std::set<uint32_t> echoed;                      ///< segments of which two copies arrive behind them, before the next segment
    Ptr<SimpleNetDevice> device;                    ///< at the far end of the wire
    std::map<uint32_t, uint32_t> transmissions;
    uint32_t lostSyns = 0;
    std::vector<double> synsS; ///< when SYNs reached the far end of the wire, lost or not

  private:
    bool DoCorrupt(Ptr<Packet> packet) override
    {
        Ptr<Packet> copy = packet->Copy();
        Ipv4Header ip;
        TcpHeader tcp;
        copy->RemoveHeader(ip);
        copy->RemoveHeader(tcp);
        if ((tcp.GetFlags() & TcpHeader::SYN) != 0)
        {
            synsS.push_back(Simulator::Now().GetSeconds());
            return synsS.size() <= lostSyns;
        }
        if (copy->GetSize() == 0)
        {
            return false;
        }
        const uint32_t segment = 1 + (tcp.GetSequenceNumber().GetValue() - 1) / SEGMENT_BYTES;
        if (echoed.erase(segment) != 0)
        {
            const auto address = Mac48Address::ConvertFrom(device->GetAddress());
            for (const int64_t delayMs : {1, 2})
            {
                Simulator::Schedule(
                    MilliSeconds(delayMs), &SimpleNetDevice::Receive, device, packet->Copy(), uint16_t{0x0800}, address, address);
            }
        }
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
        m_losses->device = DynamicCast<SimpleNetDevice>(devices.Get(1));
        m_losses->device->SetReceiveErrorModel(m_losses);
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

    /// When the n-th transmission of a segment reached the far end of the wire, in seconds; n counts from 1.
    double ArrivalS(uint32_t segment, uint32_t n) const
    {
        for (const auto& [seconds, sent] : m_losses->sent)
        {
            if (sent == segment && --n == 0)
            {
                return seconds;
            }
        }
        return -1;
    }

    bool m_sack = false;
    Ptr<BsdClocks> m_receiverClocks; ///< with them, the receiver is BSD's and acknowledges every second segment
    Ptr<ChosenLosses> m_losses;
    std::vector<TcpSocketState::TcpCongState_t> m_states;
    std::vector<double> m_timeouts; ///< seconds
    uint32_t m_receivedBytes = 0;
    uint32_t m_maxInFlight = 0;
    Time m_lastRoundTrip;

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
        if (node == 1 && m_receiverClocks)
        {
            socket->SetAttribute("DelAckCount", UintegerValue(2));
            socket->SetBsd(m_receiverClocks);
        }
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

    void OnRoundTrip(Time roundTrip) override
    {
        m_lastRoundTrip = roundTrip;
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

TEST_F(MeasuredTcpSocketTest, TheUpperBoundHoldsForBackedOffTimeoutsAndForSyns)
{
    m_losses->lostSyns = 3;
    m_losses->losses = {{16, 1}, {16, 2}, {16, 3}, {16, 4}, {16, 5}};
    Send(16,
         [](MeasuredTcpSocket& sender)
         {
             sender.SetMaxRto(MilliSeconds(500));
         });
    EXPECT_EQ(m_receivedBytes, 16 * SEGMENT_BYTES);
    // ns-3 would wait for 3, 6 and 12 s.
    ASSERT_EQ(m_losses->synsS.size(), 4U);
    for (std::size_t i = 1; i < 4; ++i)
    {
        EXPECT_NEAR(m_losses->synsS[i] - m_losses->synsS[i - 1], 0.5, 0.001);
    }
    // The least timeout is 200 ms; doubled it is soon too much.
    ASSERT_EQ(m_timeouts.size(), 5U);
    for (std::size_t i = 2; i < 5; ++i)
    {
        EXPECT_NEAR(m_timeouts[i] - m_timeouts[i - 1], 0.5, 0.001);
    }
}

TEST_F(MeasuredTcpSocketTest, ASynMayBeRepeatedMoreOftenThanATimeoutCanBeDoubled)
{
    m_losses->lostSyns = 70;
    Send(16,
         [](MeasuredTcpSocket& sender)
         {
             sender.SetAttribute("ConnCount", UintegerValue(1000));
             sender.SetMaxRto(MilliSeconds(200));
         });
    EXPECT_EQ(m_losses->synsS.size(), 71U);
    EXPECT_EQ(m_receivedBytes, 16 * SEGMENT_BYTES);
}

TEST_F(MeasuredTcpSocketTest, TheUpperBoundHoldsForWhatRoundTripsAskFor)
{
    // The last segment is lost: nothing but the timer helps, by the estimate alone, which the least timeout stands for.
    m_losses->losses = {{16, 1}};
    Send(16,
         [](MeasuredTcpSocket& sender)
         {
             sender.SetMinRto(Seconds(3));
             sender.SetMaxRto(Seconds(1));
         });
    ASSERT_EQ(m_timeouts.size(), 1U);
    EXPECT_NEAR(m_timeouts[0] - ArrivalS(15, 1), 1.0, 0.05);
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

TEST_F(MeasuredTcpSocketTest, ATcpAckOfNewDataEndsTheCountOfDuplicates)
{
    // Each of the three brings two duplicates, one too few, and then the next one's TCP ACK of new data.
    m_losses->echoed = {30, 31, 32};
    Send(100,
         [](MeasuredTcpSocket&)
         {
         });
    EXPECT_EQ(m_receivedBytes, 100 * SEGMENT_BYTES);
    EXPECT_TRUE(m_losses->echoed.empty());
    EXPECT_EQ(std::count(m_states.begin(), m_states.end(), TcpSocketState::CA_DISORDER), 3);
    EXPECT_EQ(std::count(m_states.begin(), m_states.end(), RECOVERY), 0);
    EXPECT_EQ(NeedlessPackets(100), 6U) << "the copies alone";
}

constexpr uint64_t CLOCK_KEY = 7;
constexpr double WIRE_S = 0.024; // 1040 bytes and 20 ms

TEST_F(MeasuredTcpSocketTest, BsdsTimeoutStaysBackedOffUntilASegmentSentOnceIsTimed)
{
    m_losses->losses = {{5, 1}, {6, 1}, {9, 1}};
    Send(12,
         [](MeasuredTcpSocket& sender)
         {
             sender.SetBsd(CreateObject<BsdClocks>(CLOCK_KEY));
             sender.SetWindowCap(1);
         });
    EXPECT_EQ(m_receivedBytes, 12 * SEGMENT_BYTES);
    ASSERT_EQ(m_timeouts.size(), 3U);
    // Three ticks of 500 ms, the first of them cut short.
    const double first = m_timeouts[0] - (ArrivalS(5, 1) - WIRE_S);
    EXPECT_GT(first, 1.0);
    EXPECT_LT(first, 1.51);
    // Segment 5 was acknowledged, but it had been sent twice: six ticks.
    const double second = m_timeouts[1] - (ArrivalS(6, 1) - WIRE_S);
    EXPECT_GT(second, 2.5);
    EXPECT_LT(second, 3.02);
    // Segments 7 and 8 were sent once.
    const double third = m_timeouts[2] - (ArrivalS(9, 1) - WIRE_S);
    EXPECT_GT(third, 1.0);
    EXPECT_LT(third, 1.51);
}

TEST_F(MeasuredTcpSocketTest, ASegmentIsNotSentForEachOfTheFirstTwoDuplicatesByBsd)
{
    // With three packets in flight a loss brings two duplicates.
    m_losses->losses = {{8, 1}};
    Send(20,
         [](MeasuredTcpSocket& sender)
         {
             sender.SetReno(true);
             sender.SetBsd(CreateObject<BsdClocks>(CLOCK_KEY));
             sender.SetWindowCap(3);
         });
    EXPECT_EQ(m_receivedBytes, 20 * SEGMENT_BYTES);
    EXPECT_EQ(m_timeouts.size(), 1U);
    EXPECT_LT(ArrivalS(10, 1), m_timeouts.at(0));
    EXPECT_GT(ArrivalS(11, 1), m_timeouts.at(0));
}

TEST_F(MeasuredTcpSocketTest, ASegmentIsSentForEachOfTheFirstTwoDuplicatesByNs3)
{
    m_losses->losses = {{8, 1}};
    Send(20,
         [](MeasuredTcpSocket& sender)
         {
             sender.SetReno(true);
             sender.SetWindowCap(3);
         });
    EXPECT_EQ(m_receivedBytes, 20 * SEGMENT_BYTES);
    EXPECT_TRUE(m_timeouts.empty());
}

TEST_F(MeasuredTcpSocketTest, BsdsFastRetransmissionStartsTheTimerAnew)
{
    // The retransmission is lost, too. Nothing that comes after it moves the timer.
    m_losses->losses = {{20, 1}, {20, 2}};
    Send(24,
         [](MeasuredTcpSocket& sender)
         {
             sender.SetReno(true);
             sender.SetBsd(CreateObject<BsdClocks>(CLOCK_KEY));
         });
    EXPECT_EQ(m_receivedBytes, 24 * SEGMENT_BYTES);
    ASSERT_EQ(m_timeouts.size(), 1U);
    Ptr<BsdClocks> clocks = CreateObject<BsdClocks>(CLOCK_KEY);
    const Time fastRetransmission = Seconds(ArrivalS(20, 2) - WIRE_S);
    EXPECT_EQ(Seconds(m_timeouts[0]).GetMicroSeconds(), clocks->slow.Next(fastRetransmission, 3).GetMicroSeconds());
}

TEST_F(MeasuredTcpSocketTest, BsdsDelayedTcpAckGoesAtTheNextFastTick)
{
    m_receiverClocks = CreateObject<BsdClocks>(CLOCK_KEY);
    // ns-3 acknowledges the first segment of a connection at once.
    Send(2,
         [](MeasuredTcpSocket&)
         {
         });
    ASSERT_EQ(m_receivedBytes, 2 * SEGMENT_BYTES);
    const Time arrival = Seconds(ArrivalS(2, 1));
    const Time tick = m_receiverClocks->fast.Next(arrival, 1);
    EXPECT_NEAR(m_lastRoundTrip.GetSeconds(), tick.GetSeconds() - (arrival.GetSeconds() - WIRE_S) + 0.020, 0.001);
    EXPECT_GT(tick, arrival);
    EXPECT_LE(tick, arrival + MilliSeconds(201));
}

TEST(BsdClockTest, TicksAreRegularButForUpToAMillisecondAndTheirPhaseIsRandom)
{
    BsdClock clock(MilliSeconds(500), CLOCK_KEY);
    EXPECT_EQ(clock.Count(MicroSeconds(-1)), 0U);
    Time before = clock.Next(MicroSeconds(-1), 1);
    EXPECT_LT(before, MilliSeconds(500));
    EXPECT_EQ(clock.Count(before), 1U);
    EXPECT_EQ(clock.Count(before - MicroSeconds(1)), 0U);
    Time least = Seconds(1);
    Time most;
    for (uint64_t n = 2; n <= 300; ++n)
    {
        const Time now = clock.Next(MicroSeconds(-1), n);
        EXPECT_EQ(clock.Next(before, 1), now);
        EXPECT_EQ(clock.Count(now), n);
        least = std::min(least, now - before);
        most = std::max(most, now - before);
        before = now;
    }
    EXPECT_GE(least, MilliSeconds(500));
    EXPECT_LT(least, MicroSeconds(500'020));
    EXPECT_GT(most, MicroSeconds(500'980));
    EXPECT_LT(most, MilliSeconds(501));
    BsdClock same(MilliSeconds(500), CLOCK_KEY);
    EXPECT_EQ(same.Next(Seconds(0), 300), clock.Next(Seconds(0), 300));
    BsdClock other(MilliSeconds(500), CLOCK_KEY + 1);
    EXPECT_NE(other.Next(Seconds(0), 1), clock.Next(Seconds(0), 1));
}

TEST(BsdTimeoutTest, FollowsFreeBsdsArithmetic)
{
    // By hand, in ticks: mean x 32, deviation x 16; (mean / 8 + deviation) / 4, at least the sample + 2.
    BsdTimeout timeout;
    EXPECT_EQ(timeout.Ticks(), 6U) << "3 s before the first sample";
    timeout.OnSample(4); // 128, 32: (16 + 32) / 4
    EXPECT_EQ(timeout.Ticks(), 12U);
    timeout.OnSample(1); // -16: 112; 32 + (16 - 8) = 40: (14 + 40) / 4
    EXPECT_EQ(timeout.Ticks(), 13U);
    timeout.OnSample(8); // 28 - 14 = 14: 126; 40 + (14 - 10) = 44: (15 + 44) / 4
    EXPECT_EQ(timeout.Ticks(), 14U);
    timeout.OnTimeout();
    EXPECT_EQ(timeout.Ticks(), 28U);
    timeout.OnTimeout();
    EXPECT_EQ(timeout.Ticks(), 56U);
    timeout.OnTimeout();
    EXPECT_EQ(timeout.Ticks(), 112U);
    timeout.OnTimeout();
    EXPECT_EQ(timeout.Ticks(), 128U) << "64 s";
    timeout.OnSample(2); // The fourth timeout has thrown the mean away: 64, 16: (8 + 16) / 4
    EXPECT_EQ(timeout.Ticks(), 6U);
}

TEST(BsdTimeoutTest, RoundTripsWithinATickLeaveNothingToBackOff)
{
    // FreeBSD 2.2 forgets the lower bound when it backs off; later versions do not.
    BsdTimeout timeout;
    for (int i = 0; i < 100; ++i)
    {
        timeout.OnSample(1);
    }
    EXPECT_EQ(timeout.Ticks(), 3U);
    for (int i = 0; i < 3; ++i)
    {
        timeout.OnTimeout();
        EXPECT_EQ(timeout.Ticks(), BsdTimeout::LEAST_TICKS);
    }
}

TEST(TcpBsdRenoTest, WindowAndThreshold)
{
    Ptr<TcpSocketState> state = CreateObject<TcpSocketState>();
    state->m_segmentSize = 1000;
    state->m_ssThresh = 2000;
    state->m_cWnd = 2000;
    Ptr<TcpBsdReno> reno = CreateObject<TcpBsdReno>();
    reno->IncreaseWindow(state, 0);
    EXPECT_EQ(state->m_cWnd, 3000U) << "slow start at the threshold, too";
    reno->IncreaseWindow(state, 3);
    EXPECT_EQ(state->m_cWnd, 3333U) << "a TCP ACK counts once";
    state->m_cWnd = 65000;
    state->m_ssThresh = 65000;
    reno->IncreaseWindow(state, 1);
    EXPECT_EQ(state->m_cWnd, 65535U);

    EXPECT_EQ(reno->GetSsThresh(state, 1000), 32000U) << "half the window, whatever is in flight";
    reno->SetAdvertisedWindow(9500);
    EXPECT_EQ(reno->GetSsThresh(state, 1000), 4000U);
    state->m_cWnd = 3000;
    EXPECT_EQ(reno->GetSsThresh(state, 1000), 2000U);
}

} // namespace measured_tcp_socket_test
