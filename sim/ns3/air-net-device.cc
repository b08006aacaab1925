// SPDX-License-Identifier: GPL-2.0-or-later
#include "sim/ns3/air-net-device.h"

#include "sim/ns3/air-channel.h"
#include "sim/ns3/node-address.h"
#include "sim/ns3/packet-rewrite.h"
#include "sim/ns3/path-header-tag.h"

#include "ns3/boolean.h"
#include "ns3/ipv4-l3-protocol.h"
#include "ns3/node.h"

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

perhop::shim::next_hop
HopOf(const perhop::air::tx_request& request)
{
    return {.peer = request.peer, .rate_index = request.rate_index, .mpdu_bytes = request.mpdu_bytes};
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
                            .AddAttribute("ResolveByArp",
                                          "Leave next hops to ns-3's routing protocol and its ARP cache.",
                                          BooleanValue(false),
                                          MakeBooleanAccessor(&AirNetDevice::m_resolveByArp),
                                          MakeBooleanChecker())
                            .AddAttribute("PurgeOnLinkFailure",
                                          "When the MAC gives up a packet, drop all others that wait for the same neighbour. The MAC then "
                                          "holds one packet at a time, so that there are no others out of reach.",
                                          BooleanValue(false),
                                          MakeBooleanAccessor(&AirNetDevice::m_purgeOnLinkFailure),
                                          MakeBooleanChecker());
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
    m_linkFailure = nullptr;
    m_exact = nullptr;
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
    m_queue = std::make_unique<InterfaceQueue>(mac.queue_packets);
    perhop::shim::shim_config shim;
    shim.profile = mac.profile;
    shim.rts_threshold_bytes = mac.rts_threshold_bytes;
    shim.policy.cwl.kind = perhop::policy::cwl_kind::none; // flows bring their own
    shim.exact = exact;
    m_shim = std::make_unique<ShimAdapter>(shim,
                                           m_ipAddress,
                                           [this](const ShimAdapter::Outgoing& packet)
                                           {
                                               SendNow(packet.packet, packet.ip, packet.receiver, packet.packetsInFlight);
                                           });
}

void
AirNetDevice::SetExact(std::unique_ptr<ExactNode> exact)
{
    m_exact = std::move(exact);
}

void
AirNetDevice::SetSilent()
{
    m_silent = true;
}

void
AirNetDevice::SendHello(Ptr<Packet> content)
{
    if (!HasRoom({}))
    {
        return;
    }
    const uint32_t mpduBytes = perhop::mac_header_bytes + perhop::llc_snap_bytes + content->GetSize() + perhop::fcs_bytes;
    PacketSlot& slot = Prepare(content, {}, perhop::broadcast_address, {});
    slot.request.mpdu_bytes = static_cast<uint16_t>(mpduBytes);
    slot.header = {};
    slot.hello = true;
    Enqueue(slot);
}

ShimAdapter&
AirNetDevice::GetShimAdapter()
{
    return *m_shim;
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
    const std::optional<IpView> ip = ReadIpView(packet);
    NS_ASSERT_MSG(ip, "a packet without an IPv4 header was sent");
    return m_shim->HoldsBack(m_channel->NowUs(), packet, *ip, dest) || SendNow(packet, *ip, dest, std::nullopt);
}

bool
AirNetDevice::SendNow(const Ptr<Packet>& packet, IpView ip, const Address& dest, std::optional<uint32_t> packetsInFlight)
{
    if (!HasRoom(ip))
    {
        return false;
    }
    const ExactRider exact = m_exact ? m_exact->OnSend(ip, *packet) : ExactRider{};
    PacketSlot& slot = Prepare(packet, ip, ReceiverAddress(dest, ip), exact);
    const uint64_t nowUs = m_channel->NowUs();
    slot.header = m_shim->OnSend(nowUs, *packet, ip, HopOf(slot.request), packetsInFlight);
    if (m_exact)
    {
        m_exact->Note(nowUs, ip.view.exact.wanted_rate_bps, slot);
    }
    Enqueue(slot);
    return true;
}

bool
AirNetDevice::HasRoom(const IpView& ip)
{
    if (m_queue->IsFull())
    {
        m_channel->OnQueueDrop(m_index, ip);
        return false;
    }
    return true;
}

PacketSlot&
AirNetDevice::Prepare(Ptr<const Packet> packet, const IpView& ip, uint64_t receiverAddress, const ExactRider& exact)
{
    const perhop::air::mac_config& mac = m_channel->GetMacConfig();
    PacketSlot& slot = m_channel->GetSlots().Acquire(m_channel->NowUs());
    perhop::air::tx_request& request = slot.request;
    const bool group = (receiverAddress >> perhop::group_address_bit & 1) != 0;
    request.ra = receiverAddress;
    request.peer = PeerOf(receiverAddress);
    request.mpdu_bytes = static_cast<uint16_t>(packet->GetSize() + MpduOverheadBytes(mac) + RiderBytes(exact));
    request.rate_index = group ? mac.profile->lowest_basic_rate_index : mac.data_rate_index;
    request.four_address = mac.four_address && !group;
    if (request.four_address)
    {
        request.mpdu_bytes += perhop::air::fourth_address_bytes;
        request.destination = perhop::air::mac_address(NodeOfIpv4Address(ip.destination));
        request.source = perhop::air::mac_address(NodeOfIpv4Address(ip.source));
    }
    request.use_rts = !group && request.mpdu_bytes > mac.rts_threshold_bytes;
    slot.packet = std::move(packet);
    slot.ttlSpent = 0;
    slot.ip = ip;
    slot.exact = exact;
    slot.hello = false;
    return slot;
}

void
AirNetDevice::Enqueue(const PacketSlot& slot)
{
    if (m_queue->IsEmpty() && MacHasRoom())
    {
        Submit(slot.request);
    }
    else
    {
        m_queue->Push(slot.request.payload);
        m_queuedBytes += slot.request.mpdu_bytes;
    }
    TellQueue();
}

void
AirNetDevice::TellQueue()
{
    if (m_exact)
    {
        m_exact->OnQueue(m_queuedBytes);
    }
}

bool
AirNetDevice::Forward(uint64_t nowUs, const PacketSlot& arrived)
{
    const uint32_t nextHop = m_routes->NextHop(arrived.ip.destination);
    if (!m_forwardInShim || nextHop == MAX_NODES || arrived.ip.view.ttl <= 1)
    {
        return false;
    }
    if (HasRoom(arrived.ip))
    {
        PacketSlot& slot = Prepare(arrived.packet, arrived.ip, perhop::air::mac_address(nextHop), arrived.exact);
        slot.ttlSpent = static_cast<uint8_t>(arrived.ttlSpent + 1);
        --slot.ip.view.ttl;
        slot.header = arrived.header;
        if (!m_silent)
        {
            m_shim->OnForward(nowUs, slot.header, slot.ip, HopOf(slot.request));
        }
        if (m_exact)
        {
            m_exact->Note(nowUs, arrived.header.explicit_rate_bps, slot);
        }
        Enqueue(slot);
    }
    return true;
}

uint64_t
AirNetDevice::ReceiverAddress(const Address& dest, const IpView& ip) const
{
    const Mac48Address mac = Mac48Address::ConvertFrom(dest);
    if (mac != Mac48Address::GetBroadcast())
    {
        return FromMac48Address(mac);
    }
    const uint32_t nextHop = m_routes->NextHop(ip.destination);
    return nextHop == MAX_NODES ? perhop::broadcast_address : perhop::air::mac_address(nextHop);
}

uint8_t
AirNetDevice::PeerOf(uint64_t address)
{
    for (std::size_t peer = 0; peer < m_peers.size(); ++peer)
    {
        if (m_peers[peer] == address)
        {
            return static_cast<uint8_t>(peer);
        }
        if (m_peers[peer] == 0)
        {
            m_peers[peer] = address;
            TellPeer(peer);
            return static_cast<uint8_t>(peer);
        }
    }
    // More next hops than slots: the oldest one makes room. Its averages in the MAC go on from there with the new neighbour's.
    const std::size_t peer = m_nextPeer;
    m_nextPeer = (m_nextPeer + 1) % m_peers.size();
    m_peers[peer] = address;
    m_shim->OnNeighbourReplaced(static_cast<uint8_t>(peer));
    TellPeer(peer);
    return static_cast<uint8_t>(peer);
}

void
AirNetDevice::TellPeer(std::size_t peer)
{
    if (m_exact && m_peers[peer] != perhop::broadcast_address)
    {
        const auto node = static_cast<uint32_t>(m_peers[peer] - perhop::node_address_base - 1);
        m_exact->OnPeer(static_cast<uint8_t>(peer), NodeIpv4Address(node).Get());
    }
}

void
AirNetDevice::Receive(uint64_t nowUs, const PacketSlot& slot)
{
    if (slot.hello)
    {
        if (m_exact)
        {
            m_exact->OnHello(nowUs, *slot.packet);
        }
        return;
    }
    const bool group = slot.request.ra == perhop::broadcast_address;
    Ptr<const Packet> packet = slot.packet;
    if (slot.ip.destination == m_ipAddress || group)
    {
        const std::optional<uint16_t> windowBytes = m_shim->OnReceive(nowUs, slot.header, slot.ip);
        if (m_exact && m_exact->OnReceive(nowUs, slot))
        {
            return;
        }
        if (slot.ttlSpent != 0 || windowBytes)
        {
            packet = Rewritten(*packet, slot.ttlSpent, windowBytes);
        }
    }
    else if (Forward(nowUs, slot))
    {
        return;
    }
    else
    {
        // The tag is this node's business: the packet itself is shared.
        packet = Rewritten(*packet, slot.ttlSpent, std::nullopt);
        packet->AddPacketTag(PathHeaderTag(slot.header, slot.exact));
    }
    // The sender's address as a MAC address would cost a conversion for a value that IPv4 without ARP does not look at.
    m_receive(this, packet, Ipv4L3Protocol::PROT_NUMBER, m_address);
}

void
AirNetDevice::Completed(const perhop::air::completion& record)
{
    --m_inMac;
    m_shim->OnCompletion(record);
    if (record.result == perhop::tx_result::short_retry_limit || record.result == perhop::tx_result::long_retry_limit)
    {
        OnLinkFailure(record.ra);
    }
    while (!m_queue->IsEmpty() && MacHasRoom())
    {
        const perhop::air::tx_request& request = m_channel->GetSlots().Get(m_queue->Pop()).request;
        m_queuedBytes -= request.mpdu_bytes;
        Submit(request);
    }
    TellQueue();
}

void
AirNetDevice::SetLinkFailureCallback(std::function<void(Ipv4Address)> tell)
{
    m_linkFailure = std::move(tell);
}

void
AirNetDevice::OnLinkFailure(uint64_t receiverAddress)
{
    if (m_purgeOnLinkFailure)
    {
        PacketSlots& slots = m_channel->GetSlots();
        m_queue->RemoveIf(
            [&](uint64_t slot)
            {
                const bool unwanted = slots.Get(slot).request.ra == receiverAddress;
                if (unwanted)
                {
                    m_queuedBytes -= slots.Get(slot).request.mpdu_bytes;
                    m_channel->OnLinkFailureDrop(m_index, slots.Get(slot).ip);
                    slots.Release(slot);
                }
                return unwanted;
            });
    }
    if (m_linkFailure)
    {
        m_linkFailure(NodeIpv4Address(static_cast<uint32_t>(receiverAddress - perhop::node_address_base - 1)));
    }
}

bool
AirNetDevice::MacHasRoom() const
{
    return m_channel->CanSubmit(m_index) && (!m_purgeOnLinkFailure || m_inMac == 0);
}

void
AirNetDevice::Submit(const perhop::air::tx_request& request)
{
    ++m_inMac;
    m_channel->Submit(m_index, request);
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
    return m_resolveByArp;
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
