// SPDX-License-Identifier: GPL-2.0-or-later
//
// It is one file because ns-3's NetDevice asks for thirty functions, most of which have one line.
#include "sim/ns3/air-net-device.h"

#include "sim/ns3/air-channel.h"
#include "sim/ns3/ip-view.h"
#include "sim/ns3/node-address.h"
#include "sim/ns3/packet-rewrite.h"
#include "sim/ns3/path-header-tag.h"

#include "ns3/boolean.h"
#include "ns3/ipv4-l3-protocol.h"
#include "ns3/node.h"
#include "ns3/trace-source-accessor.h"

#include <array>
#include <utility>

namespace ns3
{
namespace
{

/// Around the IP packet on the air.
uint32_t
MpduOverheadBytes(const perhop::air::mac_config& mac)
{
    return perhop::mac_header_bytes + perhop::llc_snap_bytes + perhop::fcs_bytes + (mac.path_header ? perhop::path_header_bytes : 0);
}

/// Largest MSDU of 802.11 (8.2.3), less what stands between it and IP.
constexpr uint16_t MTU_BYTES = 2304 - perhop::llc_snap_bytes - perhop::path_header_bytes;

bool
IsGroup(uint64_t address)
{
    return (address >> perhop::group_address_bit & 1) != 0;
}

} // namespace

NS_OBJECT_ENSURE_REGISTERED(AirNetDevice);

TypeId
AirNetDevice::GetTypeId()
{
    static TypeId tid = TypeId("perhop::AirNetDevice")
                            .SetParent<NetDevice>()
                            .AddConstructor<AirNetDevice>()
                            .AddAttribute("ForwardInShim",
                                          "Pass on packets for other nodes without ns-3's IP layer.",
                                          BooleanValue(true),
                                          MakeBooleanAccessor(&AirNetDevice::m_forwardInShim),
                                          MakeBooleanChecker())
                            .AddAttribute("BulkPath",
                                          "TCP's segments go to the hop path and come from it without ns-3's IP layer.",
                                          BooleanValue(true),
                                          MakeBooleanAccessor(&AirNetDevice::m_bulkPath),
                                          MakeBooleanChecker())
                            .AddAttribute("PurgeOnLinkFailure",
                                          "When the MAC gives up a packet, drop all others that wait for the same neighbour. The MAC then "
                                          "holds one packet at a time, so that there are no others out of reach.",
                                          BooleanValue(false),
                                          MakeBooleanAccessor(&AirNetDevice::m_purgeOnLinkFailure),
                                          MakeBooleanChecker())
                            .AddTraceSource("MacTx",
                                            "IP sends a packet; the hop path has not seen it.",
                                            MakeTraceSourceAccessor(&AirNetDevice::m_macTx),
                                            "ns3::Packet::TracedCallback")
                            .AddTraceSource("Arrival",
                                            "A frame for this node arrived; the hop path has not seen it.",
                                            MakeTraceSourceAccessor(&AirNetDevice::m_arrival),
                                            "perhop::AirNetDevice::ArrivalCallback")
                            .AddTraceSource("Completion",
                                            "The MAC is done with a packet of this node.",
                                            MakeTraceSourceAccessor(&AirNetDevice::m_completion),
                                            "perhop::AirNetDevice::CompletionCallback");
    return tid;
}

AirNetDevice::AirNetDevice()
    : m_mtu(MTU_BYTES)
{
}

AirNetDevice::~AirNetDevice() = default;

void
AirNetDevice::DoDispose()
{
    m_channel = nullptr;
    m_routes = nullptr;
    m_node = nullptr;
    m_receive.Nullify();
    m_promiscReceive.Nullify();
    m_exact = nullptr;
    m_wires.Dispose();
    m_agent = nullptr;
    m_segments = nullptr;
    NetDevice::DoDispose();
}

void
AirNetDevice::Attach(Ptr<AirChannel> channel,
                     uint32_t node,
                     Ptr<HostRouting> routes,
                     const std::optional<perhop::policy::exact_router_config>& exact)
{
    const perhop::air::mac_config& mac = channel->GetMacConfig();
    m_channel = channel;
    m_routes = routes;
    m_index = node;
    m_address = ToMac48Address(perhop::air::mac_address(node));
    m_ipAddress = NodeIpv4Address(node).Get();
    perhop::shim::shim_config shim;
    shim.profile = mac.profile;
    shim.rts_threshold_bytes = mac.rts_threshold_bytes;
    shim.policy.cwl.kind = perhop::policy::cwl_kind::none; // flows bring their own
    shim.exact = exact;
    m_hop = std::make_unique<HopAdapter>(shim, mac.queue_packets, mac.average_shift, m_ipAddress, *this);
}

void
AirNetDevice::AddWire(uint32_t neighbour, Ptr<PointToPointNetDevice> end, perhop::run::run_report& report)
{
    m_wires.Start(m_channel->GetMacConfig().path_header);
    m_wires.Add(m_index, neighbour, end, report);
}

void
AirNetDevice::SetExact(std::unique_ptr<ExactNode> exact)
{
    m_exact = std::move(exact);
}

void
AirNetDevice::SetRoutingAgent(std::unique_ptr<RoutingAgent> agent)
{
    m_agent = std::move(agent);
}

void
AirNetDevice::SetSilent()
{
    m_silent = true;
}

HopAdapter&
AirNetDevice::GetHop()
{
    return *m_hop;
}

perhop::air::node_position
AirNetDevice::PositionOf(uint32_t node, uint64_t nowUs) const
{
    return m_channel->PositionOf(node, nowUs);
}

Ptr<HostRouting>
AirNetDevice::GetRoutes() const
{
    return m_routes;
}

bool
AirNetDevice::Send(Ptr<Packet> packet, const Address& dest, uint16_t protocolNumber)
{
    NS_ASSERT_MSG(protocolNumber == Ipv4L3Protocol::PROT_NUMBER, "this device carries IPv4 only");
    const std::optional<perhop::shim::ip_packet_view> view = ReadIpView(packet);
    NS_ASSERT_MSG(view, "a packet without an IPv4 header was sent");
    m_macTx(packet);
    HopPacket outgoing{.view = *view, .content = {.packet = packet, .receiver = FromMac48Address(Mac48Address::ConvertFrom(dest))}};
    if (PathHeaderTag tag; packet->RemovePacketTag(tag))
    {
        outgoing.header = tag.GetHeader();
        outgoing.rider = tag.GetExact();
    }
    else if (m_exact)
    {
        m_exact->OnSend(outgoing);
    }
    return m_hop->Send(m_channel->NowUs(), std::move(outgoing));
}

void
AirNetDevice::ShortenWayOfTcp(Ptr<Ipv4L3Protocol> ip)
{
    if (m_bulkPath)
    {
        m_segments = std::make_unique<SegmentPath>(*this, ip);
    }
}

void
AirNetDevice::SendSegment(Ptr<const Packet> segment, const perhop::shim::ip_packet_view& view)
{
    HopPacket outgoing{.view = view, .content = {.packet = segment, .headerInView = true}};
    if (m_exact)
    {
        m_exact->OnSend(outgoing);
    }
    m_hop->Send(m_channel->NowUs(), std::move(outgoing));
}

bool
AirNetDevice::Forward(uint64_t nowUs, const PacketSlot& arrived)
{
    const uint32_t nextHop = m_routes->NextHop(arrived.view.flow.destination.ipv4());
    if (!m_forwardInShim || nextHop == MAX_NODES || arrived.view.ttl <= 1)
    {
        return false;
    }
    HopPacket outgoing{.view = arrived.view,
                       .from = perhop::hop::origin::radio,
                       .header = arrived.header,
                       .rider = arrived.exact,
                       .content = {.packet = arrived.packet,
                                   .receiver = perhop::air::mac_address(nextHop),
                                   .ttlSpent = static_cast<uint8_t>(arrived.ttlSpent + 1),
                                   .headerInView = arrived.headerInView}};
    --outgoing.view.ttl;
    m_hop->Forward(nowUs, std::move(outgoing), !m_silent);
    return true;
}

// ---- What the hop path asks

uint64_t
AirNetDevice::NextHopTo(uint32_t destination) const
{
    const uint32_t nextHop = m_routes->NextHop(destination);
    return nextHop == MAX_NODES ? perhop::broadcast_address : perhop::air::mac_address(nextHop);
}

bool
AirNetDevice::Keep(const HopPacket& packet)
{
    if (!m_agent)
    {
        return false;
    }
    m_agent->Keep(m_channel->NowUs(), packet);
    return true;
}

perhop::shim::next_hop
AirNetDevice::Describe(const HopPacket& packet, uint64_t receiver, uint8_t peer) const
{
    const perhop::air::mac_config& mac = m_channel->GetMacConfig();
    const bool group = IsGroup(receiver);
    return {.peer = peer,
            .rate_index = mac.data_rate_to(m_index, receiver),
            .mpdu_bytes = static_cast<uint32_t>(packet.view.ip_bytes + MpduOverheadBytes(mac) + perhop::hop::rider_size(packet.rider) +
                                                (packet.content.route ? packet.content.route->bytes.size() : 0) +
                                                (mac.four_address && !group ? perhop::air::fourth_address_bytes : 0))};
}

void
AirNetDevice::OnLeft(
    uint64_t nowUs, const HopPacket& packet, uint64_t receiver, const perhop::wire::path_header& header, uint64_t arrivedBps)
{
    if (m_exact)
    {
        m_exact->OnLeft(nowUs, packet, receiver, header, arrivedBps);
    }
}

uint64_t
AirNetDevice::Make(
    uint64_t nowUs, HopPacket&& packet, const perhop::wire::path_header& header, uint64_t receiver, const perhop::shim::next_hop& next)
{
    const perhop::air::mac_config& mac = m_channel->GetMacConfig();
    PacketSlot& slot = m_channel->GetSlots().Acquire(nowUs);
    perhop::air::tx_request& request = slot.request;
    const bool group = IsGroup(receiver);
    request.ra = receiver;
    request.peer = next.peer;
    request.mpdu_bytes = static_cast<uint16_t>(next.mpdu_bytes);
    request.rate_index = next.rate_index;
    request.four_address = mac.four_address && !group;
    if (request.four_address)
    {
        request.destination = perhop::air::mac_address(NodeOfIpv4Address(packet.view.flow.destination.ipv4()));
        request.source = perhop::air::mac_address(NodeOfIpv4Address(packet.view.flow.source.ipv4()));
    }
    request.use_rts = !group && request.mpdu_bytes > mac.rts_threshold_bytes;
    slot.packet = std::move(packet.content.packet);
    slot.headerInView = packet.content.headerInView;
    slot.ttlSpent = packet.content.ttlSpent;
    slot.view = packet.view;
    slot.header = header;
    slot.exact = packet.rider;
    slot.route = std::move(packet.content.route);
    slot.hello = false;
    return request.payload;
}

uint64_t
AirNetDevice::MakeHello(uint64_t nowUs, std::span<const uint8_t> hello, uint8_t peer, uint32_t mpduBytes)
{
    const HopPacket packet{.content = {.packet = Create<Packet>(hello.data(), static_cast<uint32_t>(hello.size()))}};
    const perhop::shim::next_hop next = Describe(packet, perhop::broadcast_address, peer);
    const uint64_t place = Make(nowUs, HopPacket(packet), {}, perhop::broadcast_address, next);
    PacketSlot& slot = m_channel->GetSlots().Get(place);
    slot.request.mpdu_bytes = static_cast<uint16_t>(mpduBytes);
    slot.hello = true;
    slot.route = nullptr;
    return place;
}

bool
AirNetDevice::IsWired(uint64_t receiver) const
{
    return m_wires.LeadTo(receiver) || !m_channel->HasRadio(m_index);
}

bool
AirNetDevice::TellWires(const Packet& message)
{
    m_wires.SendToAll(message);
    return m_channel->HasRadio(m_index);
}

bool
AirNetDevice::SendOnWire(HopPacket&& packet, const perhop::wire::path_header& header, uint64_t receiver)
{
    HopContent& content = packet.content;
    if (content.headerInView)
    {
        content = {.packet = WithIpHeader(*content.packet, packet.view)};
    }
    const bool taken = m_wires.Send(*content.packet, content.ttlSpent, header, packet.rider, receiver);
    if (!taken)
    {
        OnQueueDrop(packet.view);
    }
    return taken;
}

bool
AirNetDevice::CanSubmit() const
{
    return m_channel->CanSubmit(m_index) && (!m_purgeOnLinkFailure || m_inMac == 0);
}

void
AirNetDevice::Submit(uint64_t place)
{
    ++m_inMac;
    m_channel->Submit(m_index, m_channel->GetSlots().Get(place).request);
}

void
AirNetDevice::OnQueueDrop(const perhop::shim::ip_packet_view& packet)
{
    m_channel->OnQueueDrop(m_index, packet);
}

void
AirNetDevice::OnPurged(uint64_t place)
{
    PacketSlots& slots = m_channel->GetSlots();
    PacketSlot& slot = slots.Get(place);
    if (slot.route)
    {
        m_agent->OnPurged(std::move(slot.route));
    }
    else
    {
        m_channel->OnLinkFailureDrop(m_index, slot.view);
    }
    slots.Release(place);
}

// ---- Up

void
AirNetDevice::Receive(uint64_t nowUs, const PacketSlot& slot)
{
    m_arrival(slot);
    if (slot.hello)
    {
        std::array<uint8_t, perhop::wire::max_hello_bytes> bytes;
        m_hop->ReceiveHello(nowUs, std::span(bytes).first(slot.packet->CopyData(bytes.data(), bytes.size())));
        return;
    }
    if (m_agent)
    {
        m_agent->Receive(nowUs, slot);
        return;
    }
    const bool group = slot.request.ra == perhop::broadcast_address;
    if (slot.view.flow.destination.ipv4() == m_ipAddress || group)
    {
        const std::optional<uint16_t> windowBytes = m_hop->Receive(nowUs, slot.header, slot.view);
        if (m_exact && m_exact->OnReceive(nowUs, slot.view, slot.header, slot.exact, NextHopTo(slot.view.flow.source.ipv4())))
        {
            return;
        }
        PassUp(slot.view, {.packet = slot.packet, .ttlSpent = slot.ttlSpent, .headerInView = slot.headerInView}, windowBytes);
    }
    else if (!Forward(nowUs, slot))
    {
        // The tag is this node's business: the packet itself is shared.
        Ptr<Packet> packet =
            slot.headerInView ? WithIpHeader(*slot.packet, slot.view) : Rewritten(*slot.packet, slot.ttlSpent, std::nullopt);
        packet->AddPacketTag(PathHeaderTag(slot.header, slot.exact));
        m_receive(this, packet, Ipv4L3Protocol::PROT_NUMBER, m_address);
    }
}

void
AirNetDevice::PassUp(const perhop::shim::ip_packet_view& view, const HopContent& content, std::optional<uint16_t> windowBytes)
{
    if (content.headerInView)
    {
        m_segments->Deliver(view, *content.packet, windowBytes);
        return;
    }
    Ptr<const Packet> packet = content.packet;
    if (content.ttlSpent != 0 || windowBytes)
    {
        packet = Rewritten(*packet, content.ttlSpent, windowBytes);
    }
    // The sender's address as a MAC address would cost a conversion for a value that IPv4 without ARP does not look at.
    m_receive(this, packet, Ipv4L3Protocol::PROT_NUMBER, m_address);
}

void
AirNetDevice::Overhear(uint64_t nowUs, uint32_t transmitter, const PacketSlot& slot)
{
    if (m_agent)
    {
        m_agent->Overhear(nowUs, transmitter, slot);
    }
}

bool
AirNetDevice::ReceiveFromWire(Ptr<NetDevice>, Ptr<const Packet> packet, uint16_t, const Address&)
{
    const WirePorts::Unpacked arrival = m_wires.Unpack(*packet);
    PacketSlot slot;
    slot.packet = arrival.packet;
    slot.view = ReadIpView(slot.packet).value();
    slot.header = arrival.header;
    slot.exact = arrival.rider;
    const bool group = NodeOfIpv4Address(slot.view.flow.destination.ipv4()) == MAX_NODES;
    slot.request.ra = group ? perhop::broadcast_address : perhop::air::mac_address(m_index);
    Receive(m_channel->NowUs(), slot);
    return true;
}

void
AirNetDevice::DeliverUp(uint64_t nowUs, const HopPacket& packet)
{
    const std::optional<uint16_t> windowBytes = m_hop->Receive(nowUs, *packet.header, packet.view);
    const uint64_t nextHopBack = NextHopTo(packet.view.flow.source.ipv4());
    if (m_exact && m_exact->OnReceive(nowUs, packet.view, *packet.header, packet.rider, nextHopBack))
    {
        return;
    }
    PassUp(packet.view, packet.content, windowBytes);
}

void
AirNetDevice::OnNoRoute(const perhop::shim::ip_packet_view& packet)
{
    m_channel->OnLinkFailureDrop(m_index, packet);
}

void
AirNetDevice::Completed(const perhop::air::completion& record, const std::shared_ptr<const RouteFrame>& route)
{
    --m_inMac;
    m_completion(record);
    m_hop->Completed(record, m_purgeOnLinkFailure && !(m_agent && m_agent->SaysWhatToPurge()));
    const bool failed = record.result == perhop::tx_result::short_retry_limit || record.result == perhop::tx_result::long_retry_limit;
    if (route)
    {
        m_agent->OnCompletion(m_channel->NowUs(), *route, failed);
    }
    m_hop->Pump(m_channel->NowUs());
    if (m_exact)
    {
        m_exact->Wind(m_channel->NowUs());
    }
}

void
AirNetDevice::PurgeQueue(uint64_t receiverAddress)
{
    if (m_purgeOnLinkFailure)
    {
        m_hop->Purge(receiverAddress);
    }
}

void
AirNetDevice::SetIfIndex(const uint32_t index)
{
    m_ifIndex = index;
}

uint32_t
AirNetDevice::GetIfIndex() const
{
    return m_ifIndex;
}

Ptr<Channel>
AirNetDevice::GetChannel() const
{
    return m_channel;
}

void
AirNetDevice::SetAddress(Address address)
{
    m_address = Mac48Address::ConvertFrom(address);
}

Address
AirNetDevice::GetAddress() const
{
    return m_address;
}

bool
AirNetDevice::SetMtu(const uint16_t mtu)
{
    if (mtu > MTU_BYTES)
    {
        return false;
    }
    m_mtu = mtu;
    return true;
}

uint16_t
AirNetDevice::GetMtu() const
{
    return m_mtu;
}

bool
AirNetDevice::IsLinkUp() const
{
    return true;
}

void
AirNetDevice::AddLinkChangeCallback(Callback<void>)
{
    // The link never changes.
}

bool
AirNetDevice::IsBroadcast() const
{
    return true;
}

Address
AirNetDevice::GetBroadcast() const
{
    return Mac48Address::GetBroadcast();
}

bool
AirNetDevice::IsMulticast() const
{
    return false;
}

Address
AirNetDevice::GetMulticast(Ipv4Address multicastGroup) const
{
    return Mac48Address::GetMulticast(multicastGroup);
}

Address
AirNetDevice::GetMulticast(Ipv6Address addr) const
{
    return Mac48Address::GetMulticast(addr);
}

bool
AirNetDevice::IsBridge() const
{
    return false;
}

bool
AirNetDevice::IsPointToPoint() const
{
    return false;
}

bool
AirNetDevice::SendFrom(Ptr<Packet> packet, const Address&, const Address& dest, uint16_t protocolNumber)
{
    return Send(packet, dest, protocolNumber);
}

Ptr<Node>
AirNetDevice::GetNode() const
{
    return m_node;
}

void
AirNetDevice::SetNode(Ptr<Node> node)
{
    m_node = node;
}

bool
AirNetDevice::NeedsArp() const
{
    return false;
}

void
AirNetDevice::SetReceiveCallback(ReceiveCallback cb)
{
    m_receive = cb;
}

void
AirNetDevice::SetPromiscReceiveCallback(PromiscReceiveCallback cb)
{
    m_promiscReceive = cb;
}

bool
AirNetDevice::SupportsSendFrom() const
{
    return false;
}

} // namespace ns3
