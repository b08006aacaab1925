// SPDX-License-Identifier: GPL-2.0-or-later
#include "sim/ns3/ip-view.h"

#include <array>

namespace ns3
{
namespace
{

constexpr std::size_t IPV4_HEADER_BYTES = 20;
constexpr std::size_t TCP_HEADER_BYTES = 20;
constexpr uint8_t TCP_FLAG_FIN = 0x01;
constexpr uint8_t TCP_FLAG_SYN = 0x02;
constexpr uint8_t TCP_FLAG_RST = 0x04;
constexpr uint8_t TCP_FLAG_ACK = 0x10;
constexpr uint8_t TCP_OPTION_END = 0;
constexpr uint8_t TCP_OPTION_NOP = 1;
constexpr uint8_t TCP_OPTION_MSS = 2;
constexpr uint8_t TCP_OPTION_SACK = 5;
constexpr uint8_t TCP_OPTION_TIMESTAMPS = 8;

uint16_t
Read16(const uint8_t* bytes)
{
    return static_cast<uint16_t>(bytes[0] << 8 | bytes[1]);
}

uint32_t
Read32(const uint8_t* bytes)
{
    return static_cast<uint32_t>(Read16(bytes)) << 16 | Read16(bytes + 2);
}

void
ReadOptions(const uint8_t* option, const uint8_t* end, perhop::shim::tcp_view& tcp)
{
    while (option < end && *option != TCP_OPTION_END)
    {
        if (*option == TCP_OPTION_NOP)
        {
            ++option;
            continue;
        }
        if (end - option < 2 || option[1] < 2 || option[1] > end - option)
        {
            return; // the rest makes no sense
        }
        if (*option == TCP_OPTION_MSS && option[1] == 4)
        {
            tcp.mss_option_bytes = Read16(option + 2);
        }
        if (*option == TCP_OPTION_TIMESTAMPS && option[1] == 10)
        {
            tcp.timestamps = true;
            tcp.timestamp_value = Read32(option + 2);
            tcp.timestamp_echo = Read32(option + 6);
        }
        tcp.sack_blocks |= *option == TCP_OPTION_SACK;
        option += option[1];
    }
}

} // namespace

std::optional<IpView>
ReadIpView(const Ptr<const Packet>& packet)
{
    // An IPv4 header without options and the longest TCP header.
    std::array<uint8_t, IPV4_HEADER_BYTES + 60> bytes;
    const std::size_t size = packet->CopyData(bytes.data(), bytes.size());
    if (size < IPV4_HEADER_BYTES || bytes[0] >> 4 != 4)
    {
        return std::nullopt;
    }
    const std::size_t ipHeaderBytes = (bytes[0] & 0xF) * std::size_t{4};
    if (ipHeaderBytes < IPV4_HEADER_BYTES)
    {
        return std::nullopt;
    }

    std::optional<IpView> result(std::in_place);
    IpView& ip = *result;
    ip.ipHeaderBytes = static_cast<uint16_t>(ipHeaderBytes);
    ip.source = Read32(&bytes[12]);
    ip.destination = Read32(&bytes[16]);
    ip.view.ip_bytes = Read16(&bytes[2]);
    ip.view.ttl = bytes[8];
    ip.view.flow.protocol = bytes[9];
    ip.view.flow.source = perhop::shim::ip_address::from_ipv4(ip.source);
    ip.view.flow.destination = perhop::shim::ip_address::from_ipv4(ip.destination);

    const uint8_t* l4 = bytes.data() + ipHeaderBytes;
    const bool isTcp = ip.view.flow.protocol == perhop::shim::ip_protocol_tcp;
    const bool isUdp = ip.view.flow.protocol == perhop::shim::ip_protocol_udp;
    if ((isTcp && size >= ipHeaderBytes + TCP_HEADER_BYTES) || (isUdp && size >= ipHeaderBytes + 8))
    {
        ip.view.flow.source_port = Read16(l4);
        ip.view.flow.destination_port = Read16(l4 + 2);
    }
    if (isTcp && size >= ipHeaderBytes + TCP_HEADER_BYTES)
    {
        perhop::shim::tcp_view& tcp = ip.view.tcp;
        const std::size_t tcpHeaderBytes = (l4[12] >> 4) * std::size_t{4};
        tcp.sequence = Read32(l4 + 4);
        tcp.tcp_ack = Read32(l4 + 8);
        tcp.syn = (l4[13] & TCP_FLAG_SYN) != 0;
        tcp.fin = (l4[13] & TCP_FLAG_FIN) != 0;
        tcp.rst = (l4[13] & TCP_FLAG_RST) != 0;
        tcp.has_tcp_ack = (l4[13] & TCP_FLAG_ACK) != 0;
        tcp.window_bytes = Read16(l4 + 14);
        tcp.payload_bytes = ip.view.ip_bytes < ipHeaderBytes + tcpHeaderBytes
                                ? 0
                                : static_cast<uint32_t>(ip.view.ip_bytes - ipHeaderBytes - tcpHeaderBytes);
        if (tcpHeaderBytes > TCP_HEADER_BYTES && size >= ipHeaderBytes + tcpHeaderBytes)
        {
            ReadOptions(l4 + TCP_HEADER_BYTES, l4 + tcpHeaderBytes, tcp);
        }
    }
    return result;
}

} // namespace ns3
