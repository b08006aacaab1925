// SPDX-License-Identifier: GPL-2.0-or-later
//
// Which IPv4 and MAC address a node has. Nodes are numbered from 0.
#pragma once

#include "sim/air/types.hpp"

#include "ns3/ipv4-address.h"
#include "ns3/mac48-address.h"

namespace ns3
{

/// Addresses per value of the upper octets: .1 to .250.
constexpr uint32_t NODES_PER_SUBNET = 250;

/// 10.w.x.y; 65,536 times NODES_PER_SUBNET nodes fit.
constexpr uint32_t MAX_NODES = 65536 * NODES_PER_SUBNET;

constexpr uint32_t NETWORK_PREFIX = 0x0A000000;
constexpr uint32_t NETWORK_MASK = 0xFF000000;

inline Ipv4Address
NodeIpv4Address(uint32_t node)
{
    return Ipv4Address(NETWORK_PREFIX | (node / NODES_PER_SUBNET) << 8 | (node % NODES_PER_SUBNET + 1));
}

/// The inverse, for an address in host byte order. @return MAX_NODES when it is no node's address
inline uint32_t
NodeOfIpv4Address(uint32_t address)
{
    const uint32_t host = address & 0xFF;
    if ((address & NETWORK_MASK) != NETWORK_PREFIX || host == 0 || host > NODES_PER_SUBNET)
    {
        return MAX_NODES;
    }
    return (address >> 8 & 0xFFFF) * NODES_PER_SUBNET + host - 1;
}

inline Mac48Address
ToMac48Address(uint64_t address)
{
    uint8_t octets[6];
    for (int i = 5; i >= 0; --i, address >>= 8)
    {
        octets[i] = static_cast<uint8_t>(address);
    }
    Mac48Address mac;
    mac.CopyFrom(octets);
    return mac;
}

inline uint64_t
FromMac48Address(const Mac48Address& mac)
{
    uint8_t octets[6];
    mac.CopyTo(octets);
    uint64_t address = 0;
    for (const uint8_t octet : octets)
    {
        address = address << 8 | octet;
    }
    return address;
}

} // namespace ns3
