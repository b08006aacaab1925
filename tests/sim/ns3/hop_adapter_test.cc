// SPDX-License-Identifier: GPL-2.0-or-later
//
// What the adapter keeps back and when it lets go: TCP ACKs of a receiver, paced data of a sender.

#include "sim/ns3/hop-adapter.h"
#include "sim/ns3/node-address.h"
#include "sim/ns3/tcp-flow.h"

#include "ns3/ipv4-header.h"
#include "ns3/mac48-address.h"
#include "ns3/node.h"
#include "ns3/simulator.h"
#include "ns3/tcp-header.h"

#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <vector>

namespace hop_adapter_test
{

using namespace ns3;

constexpr uint32_t SENDER = 0;
constexpr uint32_t RECEIVER = 1;
constexpr uint32_t SEGMENT_BYTES = 1000;
constexpr uint64_t GAP_US = 10'000; ///< between two packets of data that arrive
constexpr uint8_t TCP_SYN_FLAG = 0x02;
constexpr uint8_t TCP_ACK_FLAG = 0x10;

class HopAdapterTest : public testing::Test, public HopDevice
{
  protected:
    HopAdapterTest()
    {
        if (Time::GetResolution() != Time::US)
        {
            Time::SetResolution(Time::US);
        }
    }

    ~HopAdapterTest() override
    {
        m_adapter.reset();
        m_flow.reset();
        Simulator::Destroy();
    }

    /// One flow from node 0 to node 1 with these policies; the adapter is that of `node`.
    void Make(uint32_t node, perhop::run::flow_config config)
    {
        config.src = SENDER;
        config.dst = RECEIVER;
        config.segment_bytes = SEGMENT_BYTES;
        m_flow = std::make_unique<TcpFlow>(config, 0, nullptr, nullptr, 0);
        perhop::shim::shim_config shim;
        shim.profile = perhop::find_profile("dsss_long");
        shim.policy.cwl.kind = perhop::policy::cwl_kind::none;
        m_adapter = std::make_unique<HopAdapter>(shim, 50, 4, NodeIpv4Address(node).Get(), *this);
        node == SENDER ? m_adapter->AddFlow(*m_flow) : m_adapter->AddReceivedFlow(*m_flow);
    }

    static perhop::run::flow_config Dca(uint32_t window)
    {
        perhop::run::flow_config config;
        config.policy.tcp_ack.kind = perhop::policy::tcp_ack_kind::dca;
        config.policy.tcp_ack.fixed_window_packets = window;
        return config;
    }

    Ptr<Packet> DataPacket(uint32_t segment) const
    {
        return WithHeaders(m_flow->GetKey(), 1 + segment * SEGMENT_BYTES, 1, SEGMENT_BYTES);
    }

    Ptr<Packet> SynPacket() const
    {
        return WithHeaders(m_flow->GetKey(), 0, 0, 0, TCP_SYN_FLAG);
    }

    Ptr<Packet> TcpAckPacket(uint32_t segments) const
    {
        return WithHeaders(m_flow->GetKey().reversed(), 1, 1 + segments * SEGMENT_BYTES, 0);
    }

    /// Data arrives at the receiver; its TCP answers at once with a TCP ACK for everything before `tcpAckSegments`.
    void ArriveAt(uint64_t us, uint32_t segment, uint32_t tcpAckSegments, uint32_t packetsInFlight)
    {
        Simulator::Schedule(MicroSeconds(us),
                            [=, this]
                            {
                                perhop::wire::path_header header;
                                header.hops = 1;
                                header.total_delay_us = 8000;
                                header.max_delay_us = 8000;
                                header.packets_in_flight = static_cast<uint8_t>(packetsInFlight);
                                m_adapter->Receive(us, header, *ReadIpView(DataPacket(segment)));
                                Submit(us, TcpAckPacket(tcpAckSegments));
                            });
    }

    /// TCP hands a packet down.
    void Submit(uint64_t us, const Ptr<Packet>& packet)
    {
        m_adapter->Send(us, {.view = *ReadIpView(packet), .content = {.packet = packet}});
    }

    // A MAC that is done with every packet at once. Places are numbers of packets.
    uint64_t NextHopTo(uint32_t destination) const override
    {
        return perhop::air::mac_address(NodeOfIpv4Address(Ipv4Address(destination).Get()));
    }

    perhop::shim::next_hop Describe(const HopPacket& packet, uint64_t, uint8_t peer) const override
    {
        return {.peer = peer, .rate_index = 1, .mpdu_bytes = packet.view.ip_bytes + 60};
    }

    void OnLeft(uint64_t, const HopPacket&, uint64_t, const perhop::wire::path_header&, uint64_t) override
    {
    }

    uint64_t Make(uint64_t, HopPacket&& packet, const perhop::wire::path_header& header, uint64_t, const perhop::shim::next_hop&) override
    {
        m_made.push_back(packet.view);
        m_toldInFlight.push_back(header.packets_in_flight);
        return m_made.size() - 1;
    }

    uint64_t MakeHello(uint64_t, std::span<const uint8_t>, uint8_t, uint32_t) override
    {
        ADD_FAILURE() << "there is no EXACT router";
        return 0;
    }

    std::size_t PacketsInMac() const override
    {
        return 0;
    }

    bool CanSubmit() const override
    {
        return true;
    }

    void Submit(uint64_t place) override
    {
        const perhop::shim::tcp_view& tcp = m_made[place].tcp;
        const uint32_t number = tcp.payload_bytes == 0 ? tcp.tcp_ack : tcp.sequence;
        m_sent.emplace_back(Simulator::Now().GetMicroSeconds(), (number - 1) / SEGMENT_BYTES);
    }

    void OnQueueDrop(const perhop::shim::ip_packet_view&) override
    {
        ADD_FAILURE() << "the queue is never full";
    }

    void OnPurged(uint64_t) override
    {
        ADD_FAILURE() << "no neighbour fails";
    }

    /// (microsecond, segments that the TCP ACK covers) or (microsecond, segment) of everything sent, in order.
    std::vector<std::pair<uint64_t, uint32_t>> m_sent;
    std::vector<uint32_t> m_toldInFlight; ///< by the header of each packet
    std::unique_ptr<TcpFlow> m_flow;
    std::unique_ptr<HopAdapter> m_adapter;

  private:
    std::vector<perhop::shim::ip_packet_view> m_made;

    static Ptr<Packet> WithHeaders(
        const perhop::shim::flow_key& key, uint32_t sequence, uint32_t tcpAck, uint32_t payloadBytes, uint8_t flags = TCP_ACK_FLAG)
    {
        Ptr<Packet> packet = Create<Packet>(payloadBytes);
        TcpHeader tcp;
        tcp.SetSourcePort(key.source_port);
        tcp.SetDestinationPort(key.destination_port);
        tcp.SetSequenceNumber(SequenceNumber32(sequence));
        tcp.SetAckNumber(SequenceNumber32(tcpAck));
        tcp.SetFlags(flags);
        tcp.SetWindowSize(60000);
        packet->AddHeader(tcp);
        Ipv4Header ip;
        ip.SetSource(Ipv4Address(static_cast<uint32_t>(key.source.low)));
        ip.SetDestination(Ipv4Address(static_cast<uint32_t>(key.destination.low)));
        ip.SetProtocol(perhop::shim::ip_protocol_tcp);
        ip.SetPayloadSize(static_cast<uint16_t>(packet->GetSize()));
        ip.SetTtl(255);
        packet->AddHeader(ip);
        return packet;
    }
};

using Sent = std::vector<std::pair<uint64_t, uint32_t>>;

// The receiver tells by it what the sender had heard of, so that what TCP holds for lost stays in it.
TEST_F(HopAdapterTest, AHeaderTellsPacketsSinceTheFirstByteThatNoTcpAckToldOf)
{
    Make(SENDER, {});
    Submit(1, SynPacket());
    for (uint32_t segment = 0; segment < 3; ++segment)
    {
        Submit(2 + segment, DataPacket(segment));
    }
    Submit(5, DataPacket(0)); // again
    EXPECT_EQ(m_toldInFlight, (std::vector<uint32_t>{0, 1, 2, 3, 1}));
}

TEST_F(HopAdapterTest, OneTcpAckInThreeGoesAndItIsTheNewest)
{
    Make(RECEIVER, Dca(3));
    for (uint32_t segment = 0; segment < 7; ++segment)
    {
        ArriveAt(GAP_US * (segment + 1), segment, segment + 1, 10);
    }
    Simulator::Stop(MicroSeconds(7 * GAP_US));
    Simulator::Run();
    // The first goes at once, because the time between packets is not known yet.
    EXPECT_EQ(m_sent, (Sent{{10'000, 1}, {40'000, 4}, {70'000, 7}}));
}

TEST_F(HopAdapterTest, ATcpAckWaitsForNoMorePacketsThanAreInFlight)
{
    Make(RECEIVER, Dca(5));
    for (uint32_t segment = 0; segment < 7; ++segment)
    {
        ArriveAt(GAP_US * (segment + 1), segment, segment + 1, 2);
    }
    Simulator::Stop(MicroSeconds(7 * GAP_US));
    Simulator::Run();
    EXPECT_EQ(m_sent, (Sent{{10'000, 1}, {30'000, 3}, {50'000, 5}, {70'000, 7}}));
}

TEST_F(HopAdapterTest, DisorderAndTheEndOfAGapAreToldAtOnce)
{
    Make(RECEIVER, Dca(8));
    ArriveAt(10'000, 0, 1, 10);
    ArriveAt(20'000, 1, 2, 10); // held
    ArriveAt(30'000, 3, 2, 10); // segment 2 is missing: a duplicate, in place of the held one
    ArriveAt(40'000, 4, 2, 10);
    ArriveAt(50'000, 2, 5, 10); // fills the gap
    ArriveAt(60'000, 5, 6, 10); // held again
    Simulator::Stop(MicroSeconds(65'000));
    Simulator::Run();
    EXPECT_EQ(m_sent, (Sent{{10'000, 1}, {30'000, 2}, {40'000, 2}, {50'000, 5}}));
}

TEST_F(HopAdapterTest, ATcpAckWhoseWindowDoesNotFillGoesByTheTimer)
{
    Make(RECEIVER, Dca(4));
    ArriveAt(10'000, 0, 1, 10);
    ArriveAt(20'000, 1, 2, 10);
    ArriveAt(30'000, 2, 3, 10);
    Simulator::Stop(MicroSeconds(999'000));
    Simulator::Run();
    // alpha w I = 1.5 * 4 * 10 ms after the oldest packet that is not acknowledged.
    EXPECT_EQ(m_sent, (Sent{{10'000, 1}, {20'000 + 60'000, 3}}));
    EXPECT_EQ(m_flow->GetResult(1).tcp_acks_held, 2U);
}

TEST_F(HopAdapterTest, TheLastTcpAckIsRepeatedWhenNothingFollows)
{
    for (const bool repeats : {true, false})
    {
        m_sent.clear();
        perhop::run::flow_config config = Dca(2);
        config.policy.tcp_ack.tcp_ack_retransmission = repeats;
        Make(RECEIVER, config);
        // With one packet in flight each is the answer to the TCP ACK before: a round trip of 10 ms, so a timeout of the least, 1 s.
        for (uint32_t segment = 0; segment < 6; ++segment)
        {
            ArriveAt(GAP_US * (segment + 1), segment, segment + 1, 1);
        }
        Simulator::Stop(MicroSeconds(1'500'000));
        Simulator::Run();
        ASSERT_EQ(m_sent.size(), repeats ? 7U : 6U);
        EXPECT_EQ(m_sent[5], (std::pair<uint64_t, uint32_t>{60'000, 6}));
        if (repeats)
        {
            EXPECT_EQ(m_sent[6], (std::pair<uint64_t, uint32_t>{1'060'000, 6}));
        }
        m_adapter.reset();
        Simulator::Destroy();
    }
}

TEST_F(HopAdapterTest, PacedDataGoesInOrderOnePacketAPeriod)
{
    perhop::run::flow_config config;
    config.policy.pacing.kind = perhop::policy::pacing_kind::path;
    Make(SENDER, config);
    Simulator::Schedule(MicroSeconds(1'000),
                        [this]
                        {
                            // A packet must have left before the path is known: 5 hops that take 7 ms for data and 2 ms for a TCP ACK each.
                            Submit(1'000, DataPacket(0));
                            perhop::wire::path_header header;
                            header.hops = 5;
                            header.total_delay_us = 5 * 2'000;
                            header.max_delay_us = 2'000;
                            header.echo = perhop::wire::path_echo{.total_delay_us = 5 * 7'008, .max_delay_us = 7'008, .hops = 5};
                            m_adapter->Receive(1'000, header, *ReadIpView(TcpAckPacket(1)));
                        });
    Simulator::Schedule(MicroSeconds(100'000),
                        [this]
                        {
                            for (const uint32_t segment : {1, 2, 3, 1}) // the last one again, as after a timeout
                            {
                                Submit(100'000, DataPacket(segment));
                            }
                        });
    Simulator::Stop(MicroSeconds(400'000));
    Simulator::Run();
    ASSERT_EQ(m_sent.size(), 5U);
    EXPECT_EQ(m_sent[1], (std::pair<uint64_t, uint32_t>{100'000, 1}));
    // The period is the policy's business; it lies between a hop's time and the round trip.
    const uint64_t periodUs = m_sent[2].first - m_sent[1].first;
    EXPECT_GE(periodUs, 7'000U);
    EXPECT_LE(periodUs, 5U * (7'008 + 2'000));
    for (uint32_t i = 2; i < 5; ++i)
    {
        EXPECT_EQ(m_sent[i].second, i == 4 ? 1U : i);
        EXPECT_EQ(m_sent[i].first - m_sent[i - 1].first, periodUs);
    }
}

TEST_F(HopAdapterTest, WithoutAPolicyNothingIsHeldBack)
{
    Make(RECEIVER, {});
    for (uint32_t segment = 0; segment < 5; ++segment)
    {
        ArriveAt(GAP_US * (segment + 1), segment, segment + 1, 10);
    }
    Simulator::Run();
    EXPECT_EQ(m_sent.size(), 5U);
    EXPECT_EQ(Simulator::GetEventCount(), 5U) << "and no timer is set";
}

} // namespace hop_adapter_test
