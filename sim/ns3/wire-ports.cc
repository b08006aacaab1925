// SPDX-License-Identifier: GPL-2.0-or-later
#include "sim/ns3/wire-ports.h"

#include "sim/air/types.hpp"
#include "sim/ns3/air-net-device.h"
#include "sim/ns3/packet-rewrite.h"
#include "sim/ns3/path-header-tag.h"

#include "host/core/wire/generated/frames.hpp"

#include "ns3/data-rate.h"
#include "ns3/drop-tail-queue.h"
#include "ns3/ipv4-l3-protocol.h"
#include "ns3/point-to-point-channel.h"
#include "ns3/simulator.h"
#include "ns3/string.h"

#include <algorithm>
#include <cmath>

namespace ns3
{

void
WirePorts::Add(uint32_t node, uint32_t neighbour, Ptr<PointToPointNetDevice> end, perhop::run::run_report& report)
{
    m_ports.push_back({node, neighbour, perhop::air::mac_address(neighbour), end, &report});
}

bool
WirePorts::LeadTo(uint64_t receiver) const
{
    return std::ranges::any_of(m_ports,
                               [receiver](const Port& port)
                               {
                                   return port.receiver == receiver;
                               });
}

bool
WirePorts::Send(const Packet& packet,
                uint8_t ttlSpent,
                const perhop::wire::path_header& header,
                const perhop::hop::exact_rider& rider,
                uint64_t receiver)
{
    for (const Port& port : m_ports)
    {
        if (port.receiver == receiver)
        {
            return SendBy(port, packet, ttlSpent, header, rider);
        }
    }
    return false;
}

void
WirePorts::SendToAll(const Packet& packet)
{
    for (const Port& port : m_ports)
    {
        perhop::wire::path_header header;
        header.wired_hop_seen = true;
        SendBy(port, packet, 0, header, {});
    }
}

uint32_t
WirePorts::ExtraBytes(const perhop::hop::exact_rider& rider) const
{
    return static_cast<uint32_t>((m_pathHeader ? perhop::path_header_bytes : 0) + perhop::hop::rider_size(rider));
}

bool
WirePorts::SendBy(const Port& port,
                  const Packet& packet,
                  uint8_t ttlSpent,
                  const perhop::wire::path_header& header,
                  const perhop::hop::exact_rider& rider)
{
    // The header's values go as a tag, as they go beside a frame on the air; its bytes as padding.
    Ptr<Packet> sent = Rewritten(packet, ttlSpent, std::nullopt);
    sent->AddPaddingAtEnd(ExtraBytes(rider));
    sent->AddPacketTag(PathHeaderTag(header, rider));
    const bool taken = port.end->Send(sent, port.end->GetBroadcast(), Ipv4L3Protocol::PROT_NUMBER);
    port.report->on_wire_packet(static_cast<uint64_t>(Simulator::Now().GetMicroSeconds()), port.node, port.neighbour, taken);
    return taken;
}

void
WirePorts::Dispose()
{
    for (const Port& port : m_ports)
    {
        port.end->Dispose();
    }
    m_ports.clear();
}

WirePorts::Unpacked
WirePorts::Unpack(const Packet& arrived) const
{
    Unpacked arrival{.packet = arrived.Copy(), .header = {}, .rider = {}};
    PathHeaderTag tag;
    arrival.packet->RemovePacketTag(tag);
    arrival.header = tag.GetHeader();
    arrival.rider = tag.GetExact();
    arrival.packet->RemoveAtEnd(ExtraBytes(arrival.rider));
    return arrival;
}

void
JoinByWires(const perhop::run::run_config& config, const std::vector<Ptr<AirNetDevice>>& devices, perhop::run::run_report& report)
{
    for (const perhop::run::wire_config& wire : config.wires)
    {
        Ptr<PointToPointChannel> channel = CreateObject<PointToPointChannel>();
        channel->SetAttribute("Delay", TimeValue(MicroSeconds(wire.delay_us)));
        for (const auto& [here, there] : {std::pair(wire.a, wire.b), std::pair(wire.b, wire.a)})
        {
            Ptr<PointToPointNetDevice> end = CreateObject<PointToPointNetDevice>();
            end->SetDataRate(DataRate(static_cast<uint64_t>(std::llround(wire.rate_bps))));
            Ptr<DropTailQueue<Packet>> queue = CreateObject<DropTailQueue<Packet>>();
            queue->SetMaxSize(QueueSize(PACKETS, wire.queue_packets));
            end->SetQueue(queue);
            end->SetNode(devices[here]->GetNode());
            end->SetReceiveCallback(MakeCallback(&AirNetDevice::ReceiveFromWire, devices[here]));
            end->Attach(channel);
            devices[here]->AddWire(there, end, report);
        }
    }
}

} // namespace ns3
