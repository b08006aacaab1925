// SPDX-License-Identifier: GPL-2.0-or-later
//
// The ends of the wired links at one node. A wire is ns-3's own: a PointToPointChannel, at each end a PointToPointNetDevice with a
// drop-tail queue. IP does not see it: a packet passes the hop path first, as one for the air does, and takes its path header along.
#pragma once

#include "sim/run/run_report.hpp"

#include "host/core/hop/exact_rider.hpp"
#include "host/core/wire/path_header.hpp"

#include "ns3/packet.h"
#include "ns3/point-to-point-net-device.h"

#include <cstdint>
#include <functional>
#include <vector>

namespace ns3
{

class AirNetDevice;

class WirePorts
{
  public:
    /// @param pathHeader it takes its bytes on the wire, too
    void Start(bool pathHeader)
    {
        m_pathHeader = pathHeader;
    }

    /// @param neighbour at the other end; @param report outlives this
    void Add(uint32_t node, uint32_t neighbour, Ptr<PointToPointNetDevice> end, perhop::run::run_report& report);

    bool LeadTo(uint64_t receiver) const;

    /// @param packet from the IP header on; @param ttlSpent by which its time to live is too high
    /// @return false when the queue had no room, or no wire leads there
    bool Send(const Packet& packet,
              uint8_t ttlSpent,
              const perhop::wire::path_header& header,
              const perhop::hop::exact_rider& rider,
              uint64_t receiver);

    /// Sends a packet for all neighbours along every wire.
    void SendToAll(const Packet& packet);

    /// The wires are cut: nothing refers to this node any more.
    void Dispose();

    struct Unpacked
    {
        Ptr<Packet> packet;
        perhop::wire::path_header header;
        perhop::hop::exact_rider rider;
    };

    /// Takes what Send() added off a packet that arrived.
    Unpacked Unpack(const Packet& arrived) const;

  private:
    struct Port
    {
        uint32_t node;
        uint32_t neighbour;
        uint64_t receiver; ///< MAC address of the neighbour, by which the hop path knows it
        Ptr<PointToPointNetDevice> end;
        perhop::run::run_report* report;
    };

    uint32_t ExtraBytes(const perhop::hop::exact_rider& rider) const;
    bool SendBy(const Port& port,
                const Packet& packet,
                uint8_t ttlSpent,
                const perhop::wire::path_header& header,
                const perhop::hop::exact_rider& rider);

    bool m_pathHeader = true;
    std::vector<Port> m_ports;
};

/// Makes the wires of a run between the devices of its nodes.
void JoinByWires(const perhop::run::run_config& config, const std::vector<Ptr<AirNetDevice>>& devices, perhop::run::run_report& report);

} // namespace ns3
