// SPDX-License-Identifier: GPL-2.0-or-later
//
// ns-3's view of one node's MAC gateware: a NetDevice that queues IP packets for it and hands up what it received.
//
// Like the shim of a live node it passes on what is not for this node by itself, by the node's route table: nothing of the packet
// changes but its time to live, which is counted beside the packet until somebody looks. Packets that it cannot pass on (no route, time
// to live spent) go to ns-3's IP. With the attribute ForwardInShim off, IP forwards all of them.
//
// The device resolves next hops by itself, from the route table and the fixed addresses of node-address.h: there is no ARP traffic. A
// caller that names a next hop's MAC address is obeyed. A routing protocol of ns-3's does so through ARP caches (attribute ResolveByArp).
#pragma once

#include "sim/air/air.hpp"
#include "sim/ns3/exact-node.h"
#include "sim/ns3/host-routing.h"
#include "sim/ns3/interface-queue.h"
#include "sim/ns3/packet-slots.h"
#include "sim/ns3/shim-adapter.h"

#include "ns3/mac48-address.h"
#include "ns3/net-device.h"

#include <array>
#include <functional>
#include <memory>

namespace ns3
{

class AirChannel;

class AirNetDevice : public NetDevice
{
  public:
    static TypeId GetTypeId();

    AirNetDevice();
    ~AirNetDevice() override;

    /// @param channel must outlive the device's use; @param node index in the air
    void Attach(Ptr<AirChannel> channel,
                uint32_t node,
                Ptr<HostRouting> routes,
                const std::optional<perhop::policy::exact_router_config>& exact = std::nullopt);

    ShimAdapter& GetShimAdapter();
    Ptr<HostRouting> GetRoutes() const;

    /// This node takes part in EXACT.
    void SetExact(std::unique_ptr<ExactNode> exact);

    /// Broadcasts a hello of the node's EXACT router.
    void SendHello(Ptr<Packet> content);

    /// This node passes packets on without a shim: it leaves their path headers as they are.
    void SetSilent();

    /// nullptr without EXACT.
    ExactNode* GetExact() const
    {
        return m_exact.get();
    }

    /// `tell` is called with a neighbour's address when the MAC gave up a packet for it.
    void SetLinkFailureCallback(std::function<void(Ipv4Address)> tell);

    /// A frame for this node arrived. @param slot of its sender
    void Receive(uint64_t nowUs, const PacketSlot& slot);

    /// The MAC is done with a packet and has room for another.
    void Completed(const perhop::air::completion& record);

    // Inherited from NetDevice
    void SetIfIndex(const uint32_t index) override;
    uint32_t GetIfIndex() const override;
    Ptr<Channel> GetChannel() const override;
    void SetAddress(Address address) override;
    Address GetAddress() const override;
    bool SetMtu(const uint16_t mtu) override;
    uint16_t GetMtu() const override;
    bool IsLinkUp() const override;
    void AddLinkChangeCallback(Callback<void> callback) override;
    bool IsBroadcast() const override;
    Address GetBroadcast() const override;
    bool IsMulticast() const override;
    Address GetMulticast(Ipv4Address multicastGroup) const override;
    Address GetMulticast(Ipv6Address addr) const override;
    bool IsBridge() const override;
    bool IsPointToPoint() const override;
    bool Send(Ptr<Packet> packet, const Address& dest, uint16_t protocolNumber) override;
    bool SendFrom(Ptr<Packet> packet, const Address& source, const Address& dest, uint16_t protocolNumber) override;
    Ptr<Node> GetNode() const override;
    void SetNode(Ptr<Node> node) override;
    bool NeedsArp() const override;
    void SetReceiveCallback(ReceiveCallback cb) override;
    void SetPromiscReceiveCallback(PromiscReceiveCallback cb) override;
    bool SupportsSendFrom() const override;

  private:
    void DoDispose() override;
    uint64_t ReceiverAddress(const Address& dest, const IpView& ip) const;

    /// A packet of this node, or one that IP passes on, goes to the queue. @param packetsInFlight as in ShimAdapter::Outgoing
    bool SendNow(const Ptr<Packet>& packet, IpView ip, const Address& dest, std::optional<uint32_t> packetsInFlight);

    /// There is room for one packet more; counts a drop when there is none.
    bool HasRoom(const IpView& ip);
    /// A slot with all but its path header filled in.
    PacketSlot& Prepare(Ptr<const Packet> packet, const IpView& ip, uint64_t receiverAddress, const ExactRider& exact);
    /// Hands a slot that HasRoom() allowed to the MAC, or queues it.
    void Enqueue(const PacketSlot& slot);
    /// @return false when IP must decide what becomes of the packet
    bool Forward(uint64_t nowUs, const PacketSlot& arrived);
    uint8_t PeerOf(uint64_t address);
    void TellPeer(std::size_t peer);
    void TellQueue();
    bool MacHasRoom() const;
    void Submit(const perhop::air::tx_request& request);
    void OnLinkFailure(uint64_t receiverAddress);

    Ptr<AirChannel> m_channel;
    Ptr<HostRouting> m_routes;
    Ptr<Node> m_node;
    uint32_t m_index = 0; ///< of this node in the air
    Mac48Address m_address;
    uint32_t m_ipAddress = 0; ///< host byte order
    bool m_forwardInShim = true;
    bool m_resolveByArp = false;
    bool m_purgeOnLinkFailure = false;
    std::function<void(Ipv4Address)> m_linkFailure;
    uint32_t m_inMac = 0; ///< packets submitted and not completed
    uint32_t m_ifIndex = 0;
    uint16_t m_mtu;
    ReceiveCallback m_receive;
    PromiscReceiveCallback m_promiscReceive;

    std::unique_ptr<InterfaceQueue> m_queue;
    std::unique_ptr<ShimAdapter> m_shim;
    std::unique_ptr<ExactNode> m_exact;
    bool m_silent = false;
    uint64_t m_queuedBytes = 0;                              ///< in m_queue
    std::array<uint64_t, perhop::neighbour_slots> m_peers{}; ///< next hops by slot of the MAC's neighbour table; 0: free
    std::size_t m_nextPeer = 0;
};

} // namespace ns3
