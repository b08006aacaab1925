// SPDX-License-Identifier: GPL-2.0-or-later
#include "sim/ns3/packet-rewrite.h"

#include "ns3/ipv4-header.h"
#include "ns3/node.h"
#include "ns3/tcp-header.h"
#include "ns3/tcp-l4-protocol.h"

namespace ns3
{
namespace
{

/// @param ip at least the IPv4 header
void
MendIpChecksum(std::span<uint8_t> ip)
{
    const std::span<uint8_t> header = ip.first((ip[0] & 0xF) * std::size_t{4});
    header[10] = header[11] = 0;
    uint32_t sum = 0; // RFC 1071
    for (std::size_t i = 0; i < header.size(); i += 2)
    {
        sum += static_cast<uint32_t>(header[i] << 8 | header[i + 1]);
    }
    sum = (sum & 0xFFFF) + (sum >> 16);
    sum = (sum & 0xFFFF) + (sum >> 16);
    header[10] = static_cast<uint8_t>(~sum >> 8);
    header[11] = static_cast<uint8_t>(~sum);
}

} // namespace

Ptr<Packet>
Rewritten(const Packet& original, uint8_t ttlSpent, std::optional<uint16_t> windowBytes)
{
    Ptr<Packet> packet = original.Copy();
    if (ttlSpent == 0 && !windowBytes)
    {
        return packet;
    }
    Ipv4Header ipHeader;
    packet->RemoveHeader(ipHeader);
    ipHeader.SetTtl(static_cast<uint8_t>(ipHeader.GetTtl() - ttlSpent));
    if (windowBytes)
    {
        TcpHeader tcpHeader;
        packet->RemoveHeader(tcpHeader);
        tcpHeader.SetWindowSize(*windowBytes);
        if (Node::ChecksumEnabled())
        {
            tcpHeader.EnableChecksums();
            tcpHeader.InitializeChecksum(ipHeader.GetSource(), ipHeader.GetDestination(), TcpL4Protocol::PROT_NUMBER);
        }
        packet->AddHeader(tcpHeader);
    }
    if (Node::ChecksumEnabled())
    {
        ipHeader.EnableChecksum();
    }
    packet->AddHeader(ipHeader);
    return packet;
}

void
SetWindow(Packet& segment, uint16_t windowBytes)
{
    TcpHeader header;
    segment.RemoveHeader(header);
    header.SetWindowSize(windowBytes);
    segment.AddHeader(header);
}

Ptr<Packet>
WithIpHeader(const Packet& segment, const perhop::shim::ip_packet_view& view)
{
    Ipv4Header header;
    header.SetSource(Ipv4Address(view.flow.source.ipv4()));
    header.SetDestination(Ipv4Address(view.flow.destination.ipv4()));
    header.SetProtocol(view.flow.protocol);
    header.SetPayloadSize(static_cast<uint16_t>(segment.GetSize()));
    header.SetTtl(view.ttl);
    header.SetDscp(view.expedited ? Ipv4Header::DSCP_EF : Ipv4Header::DscpDefault);
    header.SetEcn(static_cast<Ipv4Header::EcnType>(view.ecn));
    Ptr<Packet> packet = segment.Copy();
    packet->AddHeader(header);
    return packet;
}

Ptr<Packet>
Congested(const Packet& original)
{
    Ptr<Packet> packet = original.Copy();
    Ipv4Header ipHeader;
    packet->RemoveHeader(ipHeader);
    ipHeader.SetEcn(Ipv4Header::ECN_CE);
    if (Node::ChecksumEnabled())
    {
        ipHeader.EnableChecksum();
    }
    packet->AddHeader(ipHeader);
    return packet;
}

void
LowerTtl(std::span<uint8_t> ip, uint8_t ttlSpent)
{
    ip[8] = static_cast<uint8_t>(ip[8] - ttlSpent);
    MendIpChecksum(ip);
}

void
InsertRouteHeader(std::vector<uint8_t>& bytes, std::size_t ipAt, const RouteFrame& route)
{
    const std::size_t headerBytes = (bytes[ipAt] & 0xF) * std::size_t{4};
    bytes.insert(bytes.begin() + static_cast<std::ptrdiff_t>(ipAt + headerBytes), route.bytes.begin(), route.bytes.end());
    const std::size_t totalBytes = bytes.size() - ipAt;
    bytes[ipAt + 2] = static_cast<uint8_t>(totalBytes >> 8);
    bytes[ipAt + 3] = static_cast<uint8_t>(totalBytes);
    bytes[ipAt + 9] = route.protocol;
    MendIpChecksum(std::span(bytes).subspan(ipAt));
}

} // namespace ns3
