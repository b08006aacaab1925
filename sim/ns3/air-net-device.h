// SPDX-License-Identifier: GPL-2.0-or-later
//
// ns-3's view of one node's MAC gateware: a NetDevice below whose IP packets go the hop path (host/core/hop), and that hands up what was
// received.
//
// Like a live node it passes on what is not for this node by itself, by the node's route table: nothing of the packet
// changes but its time to live, which is counted beside the packet until somebody looks. Packets that it cannot pass on (no route, time
// to live spent) go to ns-3's IP. With the attribute ForwardInShim off, IP forwards all of them.
//
// The device resolves next hops by itself, from the route table and the fixed addresses of node-address.h: there is no ARP traffic. A
// caller that names a next hop's MAC address is obeyed. With routing on demand, an agent (routing-agent.h) has every packet before the
// queue and says where it goes.
//
// TCP's segments go past IP (segment-path.h) where nobody wants bytes. With the attribute BulkPath off, IP has all packets.
#pragma once

#include "sim/air/air.hpp"
#include "sim/ns3/exact-node.h"
#include "sim/ns3/hop-adapter.h"
#include "sim/ns3/host-routing.h"
#include "sim/ns3/packet-slots.h"
#include "sim/ns3/routing-agent.h"
#include "sim/ns3/segment-path.h"
#include "sim/ns3/wire-ports.h"

#include "ns3/mac48-address.h"
#include "ns3/net-device.h"
#include "ns3/traced-callback.h"

#include <memory>

namespace ns3
{

class AirChannel;

class AirNetDevice : public NetDevice, public HopDevice
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

    HopAdapter& GetHop();

    /// Where a node of the run stands.
    perhop::air::node_position PositionOf(uint32_t node, uint64_t nowUs) const;

    Ptr<HostRouting> GetRoutes() const;

    /// This node takes part in EXACT.
    void SetExact(std::unique_ptr<ExactNode> exact);

    /// This node routes on demand.
    void SetRoutingAgent(std::unique_ptr<RoutingAgent> agent);

    /// The routing agent: a packet has arrived here.
    void DeliverUp(uint64_t nowUs, const HopPacket& packet);

    /// The same: a packet is lost for want of a route.
    void OnNoRoute(const perhop::shim::ip_packet_view& packet);

    /// The same: what waits in the queue for a neighbour is lost, if link failures cost waiting packets at all.
    void PurgeQueue(uint64_t receiverAddress);

    /// The same: a message for all neighbours goes along the wires. @return whether there are others, over the air
    bool TellWires(const Packet& message);

    /// A wire leads there, not the MAC.
    bool IsWired(uint64_t receiver) const override;

    /// This node passes packets on without a shim: it leaves their path headers as they are.
    void SetSilent();

    /// A wire leads to a neighbour, and packets for it leave by the wire.
    void AddWire(uint32_t neighbour, Ptr<PointToPointNetDevice> end, perhop::run::run_report& report);

    /// A packet arrived over a wire: it is for this node, or goes on.
    bool ReceiveFromWire(Ptr<NetDevice> end, Ptr<const Packet> packet, uint16_t protocolNumber, const Address& from);

    /// nullptr without EXACT.
    ExactNode* GetExact() const
    {
        return m_exact.get();
    }

    /// The node's TCP sends its segments past IP from now on, unless the attribute BulkPath is off. Nobody wants bytes of its packets.
    /// @param ip has an interface for this device
    void ShortenWayOfTcp(Ptr<Ipv4L3Protocol> ip);

    /// The node's TCP sends a segment with what IP's header would say.
    void SendSegment(Ptr<const Packet> segment, const perhop::shim::ip_packet_view& view);

    /// A frame for this node arrived. @param slot of its sender
    void Receive(uint64_t nowUs, const PacketSlot& slot);

    /// A frame for another node was received. @param transmitter its node; @param slot of it
    void Overhear(uint64_t nowUs, uint32_t transmitter, const PacketSlot& slot);

    /// The MAC is done with a packet and has room for another. @param route of a routing agent, or null
    void Completed(const perhop::air::completion& record, const std::shared_ptr<const RouteFrame>& route);

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
    /// A packet for this node has passed the hop path. @param windowBytes to write into its TCP header, if any
    void PassUp(const perhop::shim::ip_packet_view& view, const HopContent& content, std::optional<uint16_t> windowBytes);
    /// @return false when IP must decide what becomes of the packet
    bool Forward(uint64_t nowUs, const PacketSlot& arrived);

    // Inherited from HopDevice
    uint64_t NextHopTo(uint32_t destination) const override;
    bool Keep(const HopPacket& packet) override;
    perhop::shim::next_hop Describe(const HopPacket& packet, uint64_t receiver, uint8_t peer) const override;
    void OnLeft(
        uint64_t nowUs, const HopPacket& packet, uint64_t receiver, const perhop::wire::path_header& header, uint64_t arrivedBps) override;
    uint64_t Make(uint64_t nowUs,
                  HopPacket&& packet,
                  const perhop::wire::path_header& header,
                  uint64_t receiver,
                  const perhop::shim::next_hop& next) override;
    uint64_t MakeHello(uint64_t nowUs, std::span<const uint8_t> hello, uint8_t peer, uint32_t mpduBytes) override;
    bool SendOnWire(HopPacket&& packet, const perhop::wire::path_header& header, uint64_t receiver) override;
    bool CanSubmit() const override;

    std::size_t PacketsInMac() const override
    {
        return m_inMac;
    }

    void Submit(uint64_t place) override;
    void OnQueueDrop(const perhop::shim::ip_packet_view& packet) override;
    void OnPurged(uint64_t place) override;

    Ptr<AirChannel> m_channel;
    Ptr<HostRouting> m_routes;
    Ptr<Node> m_node;
    uint32_t m_index = 0; ///< of this node in the air
    Mac48Address m_address;
    uint32_t m_ipAddress = 0; ///< host byte order
    bool m_forwardInShim = true;
    bool m_bulkPath = true;
    bool m_purgeOnLinkFailure = false;
    uint32_t m_inMac = 0; ///< packets submitted and not completed
    uint32_t m_ifIndex = 0;
    uint16_t m_mtu;
    ReceiveCallback m_receive;
    PromiscReceiveCallback m_promiscReceive;

    TracedCallback<Ptr<const Packet>> m_macTx;
    TracedCallback<const PacketSlot&> m_arrival;
    TracedCallback<const perhop::air::completion&> m_completion;

    std::unique_ptr<HopAdapter> m_hop;
    WirePorts m_wires;
    std::unique_ptr<ExactNode> m_exact;
    std::unique_ptr<RoutingAgent> m_agent;
    std::unique_ptr<SegmentPath> m_segments; ///< null: TCP goes through IP
    bool m_silent = false;
};

} // namespace ns3
