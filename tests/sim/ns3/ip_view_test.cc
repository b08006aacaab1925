// SPDX-License-Identifier: GPL-2.0-or-later
//
// The view read from raw bytes agrees with the headers that ns-3 wrote.

#include "sim/ns3/ip-view.h"

#include "ns3/ipv4-header.h"
#include "ns3/tcp-header.h"
#include "ns3/tcp-option-ts.h"
#include "ns3/udp-header.h"

#include <gtest/gtest.h>

namespace ip_view_test
{

using namespace ns3;

constexpr uint8_t TCP_ACK_FLAG = 0x10;

Ptr<Packet>
WithIpHeader(Ptr<Packet> packet, uint8_t protocol)
{
    Ipv4Header ip;
    ip.SetSource("10.0.0.1");
    ip.SetDestination("10.0.3.250");
    ip.SetProtocol(protocol);
    ip.SetPayloadSize(static_cast<uint16_t>(packet->GetSize()));
    ip.SetTtl(200);
    packet->AddHeader(ip);
    return packet;
}

TcpHeader
SomeTcpHeader()
{
    TcpHeader tcp;
    tcp.SetSourcePort(49152);
    tcp.SetDestinationPort(5000);
    tcp.SetSequenceNumber(SequenceNumber32(0x89ABCDEF));
    tcp.SetAckNumber(SequenceNumber32(0x12345678));
    tcp.SetWindowSize(64240);
    return tcp;
}

TEST(IpView, ReadsATcpDataSegment)
{
    TcpHeader tcp = SomeTcpHeader();
    tcp.SetFlags(TCP_ACK_FLAG);
    Ptr<Packet> packet = Create<Packet>(1460);
    packet->AddHeader(tcp);
    const auto view = ReadIpView(WithIpHeader(packet, 6));
    ASSERT_TRUE(view);
    EXPECT_EQ(view->flow.source, perhop::shim::ip_address::from_ipv4(0x0A000001));
    EXPECT_EQ(view->flow.destination.ipv4(), 0x0A0003FAU);
    EXPECT_EQ(view->flow.destination_port, 5000);
    EXPECT_EQ(view->flow.source_port, 49152);
    EXPECT_EQ(view->ip_bytes, 1500U);
    EXPECT_EQ(view->ttl, 200);
    EXPECT_EQ(view->tcp.sequence, 0x89ABCDEFU);
    EXPECT_EQ(view->tcp.tcp_ack, 0x12345678U);
    EXPECT_EQ(view->tcp.window_bytes, 64240U);
    EXPECT_EQ(view->tcp.payload_bytes, 1460U);
    EXPECT_TRUE(view->tcp.has_tcp_ack);
    EXPECT_FALSE(view->tcp.syn);
}

TEST(IpView, ReadsTheOptionsOfASyn)
{
    TcpHeader tcp = SomeTcpHeader();
    tcp.SetFlags(TcpHeader::SYN);
    Ptr<TcpOptionTS> timestamps = CreateObject<TcpOptionTS>();
    tcp.AppendOption(timestamps);
    Ptr<Packet> packet = Create<Packet>();
    packet->AddHeader(tcp);
    const auto view = ReadIpView(WithIpHeader(packet, 6));
    ASSERT_TRUE(view);
    EXPECT_TRUE(view->tcp.syn);
    EXPECT_TRUE(view->tcp.timestamps);
    EXPECT_EQ(view->tcp.payload_bytes, 0U);
}

TEST(IpView, ReadsPortsOfUdpAndNoTcpFields)
{
    UdpHeader udp;
    udp.SetSourcePort(7);
    udp.SetDestinationPort(9);
    Ptr<Packet> packet = Create<Packet>(100);
    packet->AddHeader(udp);
    const auto view = ReadIpView(WithIpHeader(packet, 17));
    ASSERT_TRUE(view);
    EXPECT_EQ(view->flow.source_port, 7);
    EXPECT_EQ(view->flow.destination_port, 9);
    EXPECT_EQ(view->tcp.payload_bytes, 0U);
}

TEST(IpView, RefusesWhatIsNoIpv4Header)
{
    EXPECT_FALSE(ReadIpView(Create<Packet>(0)));
    EXPECT_FALSE(ReadIpView(Create<Packet>(19)));
    EXPECT_FALSE(ReadIpView(Create<Packet>(40))) << "version 0";
    const uint8_t shortHeader[20] = {0x44};
    EXPECT_FALSE(ReadIpView(Create<Packet>(shortHeader, sizeof shortHeader))) << "16 bytes of header";
}

TEST(IpView, StopsAtOptionsThatMakeNoSense)
{
    uint8_t bytes[44] = {0x45, 0, 0, 44};
    bytes[9] = 6;
    bytes[32] = 6 << 4;
    bytes[33] = 0x02;
    bytes[40] = 2;  // MSS
    bytes[41] = 40; // longer than the header
    const auto view = ReadIpView(Create<Packet>(bytes, sizeof bytes));
    ASSERT_TRUE(view);
    EXPECT_EQ(view->tcp.mss_option_bytes, 0);
    bytes[41] = 4;
    bytes[42] = 0x05;
    bytes[43] = 0xB4;
    EXPECT_EQ(ReadIpView(Create<Packet>(bytes, sizeof bytes))->tcp.mss_option_bytes, 1460);
}

} // namespace ip_view_test
