// SPDX-License-Identifier: GPL-2.0-or-later
#include "sim/ns3/air-net-device.h"

#include "sim/ns3/air-channel.h"
#include "sim/ns3/node-address.h"

#include "ns3/ipv4-l3-protocol.h"
#include "ns3/node.h"

namespace ns3
{
namespace
{

/// Around the IP packet on the air.
constexpr uint32_t MPDU_OVERHEAD_BYTES = perhop::mac_header_bytes + perhop::llc_snap_bytes + perhop::path_header_bytes + perhop::fcs_bytes;

/// Largest MSDU of 802.11 (8.2.3), less what stands between it and IP.
constexpr uint16_t MTU_BYTES = 2304 - perhop::llc_snap_bytes - perhop::path_header_bytes;

} // namespace

NS_OBJECT_ENSURE_REGISTERED(AirNetDevice);

TypeId
AirNetDevice::GetTypeId()
{
    static TypeId tid = TypeId("perhop::AirNetDevice").SetParent<NetDevice>().AddConstructor<AirNetDevice>();
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
    NetDevice::DoDispose();
}

void
AirNetDevice::Attach(Ptr<AirChannel> channel, uint32_t node, Ptr<HostRouting> routes)
{
    const perhop::air::mac_config& mac = channel->GetMacConfig();
    m_channel = channel;
    m_routes = routes;
    m_index = node;
    m_address = ToMac48Address(perhop::air::mac_address(node));
    m_queue = std::make_unique<InterfaceQueue>(mac.queue_packets);
    perhop::shim::shim_config shim;
    shim.profile = mac.profile;
    shim.rts_threshold_bytes = mac.rts_threshold_bytes;
    shim.cwl.kind = perhop::policy::cwl_kind::none; // flows bring their own
    m_shim = std::make_unique<ShimAdapter>(shim, NodeIpv4Address(node).Get());
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
    const bool toMac = m_queue->IsEmpty() && m_channel->CanSubmit(m_index);
    if (!toMac && m_queue->IsFull())
    {
        m_channel->OnQueueDrop(m_index);
        return false;
    }
    std::optional<IpView> ip = ReadIpView(packet);
    NS_ASSERT_MSG(ip, "a packet without an IPv4 header was sent");

    const perhop::air::mac_config& mac = m_channel->GetMacConfig();
    const uint64_t nowUs = m_channel->NowUs();
    PacketSlot& slot = m_channel->GetSlots().Acquire(nowUs);
    perhop::air::tx_request& request = slot.request;
    request.ra = ReceiverAddress(dest, *ip);
    const bool group = (request.ra >> perhop::group_address_bit & 1) != 0;
    request.peer = PeerOf(request.ra);
    request.mpdu_bytes = static_cast<uint16_t>(packet->GetSize() + MPDU_OVERHEAD_BYTES);
    request.rate_index = group ? mac.profile->lowest_basic_rate_index : mac.data_rate_index;
    request.use_rts = !group && request.mpdu_bytes > mac.rts_threshold_bytes;
    slot.header =
        m_shim->OnSend(nowUs, *packet, *ip, {.peer = request.peer, .rate_index = request.rate_index, .mpdu_bytes = request.mpdu_bytes});
    slot.packet = std::move(packet);

    if (toMac)
    {
        m_channel->Submit(m_index, request);
    }
    else
    {
        m_queue->Push(request.payload);
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
            return static_cast<uint8_t>(peer);
        }
    }
    // More next hops than slots: the oldest one makes room. Its averages in the MAC go on from there with the new neighbour's.
    const std::size_t peer = m_nextPeer;
    m_nextPeer = (m_nextPeer + 1) % m_peers.size();
    m_peers[peer] = address;
    m_shim->OnNeighbourReplaced(static_cast<uint8_t>(peer));
    return static_cast<uint8_t>(peer);
}

void
AirNetDevice::Receive(uint64_t nowUs, const PacketSlot& slot)
{
    const bool group = slot.request.ra == perhop::broadcast_address;
    const Ptr<const Packet> packet = m_shim->OnReceive(nowUs, slot.header, slot.packet, group);
    // The sender's address as a MAC address would cost a conversion for a value that IPv4 without ARP does not look at.
    m_receive(this, packet, Ipv4L3Protocol::PROT_NUMBER, m_address);
}

void
AirNetDevice::Completed(const perhop::air::completion& record)
{
    m_shim->OnCompletion(record);
    while (!m_queue->IsEmpty() && m_channel->CanSubmit(m_index))
    {
        m_channel->Submit(m_index, m_channel->GetSlots().Get(m_queue->Pop()).request);
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
