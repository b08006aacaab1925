// SPDX-License-Identifier: GPL-2.0-or-later
//
// ns-3's host of the hop path (host/core/hop): packets are ns-3's, IP is ns-3's, and what TCP knows is asked of the flows' sockets. The
// device below is an interface, so that the way through a node can be watched without a MAC.
//
// One event of ns-3 is pending for all deadlines, at the earliest. It may come too early, because a deadline that moved away does not
// move the event; it then finds nothing to do and is set anew.
#pragma once

#include "sim/air/types.hpp"
#include "sim/ns3/node-address.h"
#include "sim/ns3/packet-rewrite.h"
#include "sim/ns3/route-frame.h"
#include "sim/ns3/tcp-flow.h"

#include "host/core/hop/hop_path.hpp"

#include "ns3/event-id.h"
#include "ns3/packet.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace ns3
{

/// What of an ns-3 packet is not in its view.
struct HopContent
{
    Ptr<const Packet> packet;
    uint64_t receiver = perhop::broadcast_address; ///< MAC address of the next hop; the broadcast address: by the route table
    uint8_t ttlSpent = 0;                          ///< by which the time to live in `packet` is too high
    std::shared_ptr<const RouteFrame> route{};     ///< by a routing agent; null: none, or none yet
    bool headerInView = false;                     ///< `packet` begins with TCP's header, and IP's is what the view says
    bool again = false;                            ///< it has left this node before, and its link failed
};

using HopPacket = perhop::hop::outgoing<HopContent>;

/// The device below a hop path: the MAC of a node, and the places of the packets that it was given.
class HopDevice
{
  public:
    virtual ~HopDevice() = default;

    /// The next hop by the route table; the broadcast address when it has none.
    virtual uint64_t NextHopTo(uint32_t destination) const = 0;

    /// A packet without route. @return true when the device keeps it, to send it on (Forward) when it has one
    virtual bool Keep(const HopPacket&)
    {
        return false;
    }

    virtual perhop::shim::next_hop Describe(const HopPacket& packet, uint64_t receiver, uint8_t peer) const = 0;
    /// It has passed the shim. @param arrivedBps its explicit rate before
    virtual void OnLeft(
        uint64_t nowUs, const HopPacket& packet, uint64_t receiver, const perhop::wire::path_header& header, uint64_t arrivedBps) = 0;
    /// @return the place of a packet for the MAC
    virtual uint64_t Make(uint64_t nowUs,
                          HopPacket&& packet,
                          const perhop::wire::path_header& header,
                          uint64_t receiver,
                          const perhop::shim::next_hop& next) = 0;
    virtual uint64_t MakeHello(uint64_t nowUs, std::span<const uint8_t> hello, uint8_t peer, uint32_t mpduBytes) = 0;

    /// A wire leads there, not the MAC.
    virtual bool IsWired(uint64_t) const
    {
        return false;
    }

    /// @return false when the wire's queue had no room
    virtual bool SendOnWire(HopPacket&&, const perhop::wire::path_header&, uint64_t)
    {
        return false;
    }

    virtual bool CanSubmit() const = 0;
    /// Submitted, and not completed.
    virtual std::size_t PacketsInMac() const = 0;
    virtual void Submit(uint64_t place) = 0;
    /// The queue had no room.
    virtual void OnQueueDrop(const perhop::shim::ip_packet_view& packet) = 0;
    /// It waited for a neighbour that does not answer.
    virtual void OnPurged(uint64_t place) = 0;
};

class HopAdapter
{
  public:
    /// @param address this node's IPv4 address in host byte order; @param device outlives this
    /// @param averageShift a new sample weighs 2^-this in the MAC's averages
    HopAdapter(
        const perhop::shim::shim_config& config, std::size_t queuePackets, uint8_t averageShift, uint32_t address, HopDevice& device);

    /// As SWAN does, from the start on.
    void SlowBestEffort(const perhop::policy::swan_settings& settings)
    {
        m_path.slow_best_effort(settings);
    }

    /// A flow whose sender is on this node: applies its policy and keeps its statistics. Does not own it.
    void AddFlow(TcpFlow& flow);

    /// The same for one whose receiver is on this node.
    void AddReceivedFlow(TcpFlow& flow);

    /// One that this node may pass on: what its policy says of the nodes on its path.
    void AddForwardedFlow(const TcpFlow& flow);

    /// A flow that was added has another policy from now on.
    void ChangePolicy(uint64_t nowUs, const TcpFlow& flow);

    /// IP sends a packet. @param packet `from` is filled in here. @return false when it was lost
    bool Send(uint64_t nowUs, HopPacket&& packet);

    /// The node itself passes a packet on. @param stamp false: it leaves headers as they are
    /// @return false when it was lost
    bool Forward(uint64_t nowUs, HopPacket&& packet, bool stamp);

    /// A packet for this node arrived. @return the window to write into its TCP header before IP sees it, if any
    std::optional<uint16_t> Receive(uint64_t nowUs, const perhop::wire::path_header& header, const perhop::shim::ip_packet_view& packet);

    /// The socket here of the connection that an arriving packet belongs to; null: none, or not yet.
    MeasuredTcpSocket* SocketOf(const perhop::shim::flow_key& arrived) const;

    /// A hello of another EXACT router arrived.
    void ReceiveHello(uint64_t nowUs, std::span<const uint8_t> content);

    /// The MAC is done with a packet. Call Pump() then. @param purge drops what waits for a neighbour that did not answer
    void Completed(const perhop::air::completion& record, bool purge);

    /// Drops what waits for a neighbour.
    void Purge(uint64_t receiverAddress)
    {
        m_path.purge(receiverAddress);
    }

    /// The MAC may have room.
    void Pump(uint64_t nowUs)
    {
        m_path.pump(nowUs);
    }

    const perhop::shim::shim& GetShim() const
    {
        return m_path.shim();
    }

    perhop::shim::shim& GetShim()
    {
        return m_path.shim();
    }

    /// What waits, and until when.
    const perhop::hop::hop_path<HopAdapter>& GetPath() const
    {
        return m_path;
    }

  private:
    static constexpr uint64_t NEVER_US = UINT64_MAX;

    // What the hop path wants of its host (host/core/hop/hop_path.hpp), in its spelling.
    friend perhop::hop::hop_path<HopAdapter>;
    friend perhop::hop::waiting_room<HopPacket, HopAdapter>;

    using content = HopContent;
    using frame = uint64_t; ///< place of the packet (PacketSlots)
    using queue_entry = perhop::hop::frame_queue<frame>::entry;

    std::optional<uint64_t> receiver_of(const HopPacket& packet) const;
    void before_leaving(HopPacket& packet);
    uint32_t window_packets(const perhop::shim::ip_packet_view& view) const;
    void on_room(perhop::hop::room_event event, const perhop::shim::ip_packet_view& view);

    static uint32_t node_of(uint64_t address)
    {
        return NodeIpv4Address(static_cast<uint32_t>(address - perhop::node_address_base - 1)).Get();
    }

    perhop::shim::next_hop describe(const HopPacket& packet, uint64_t receiver, uint8_t peer) const
    {
        return m_device.Describe(packet, receiver, peer);
    }

    void on_left(uint64_t nowUs, const HopPacket& packet, uint64_t receiver, const perhop::wire::path_header& header, uint64_t arrivedBps)
    {
        m_device.OnLeft(nowUs, packet, receiver, header, arrivedBps);
    }

    static void mark_congestion(HopPacket& packet)
    {
        if (!packet.content.headerInView)
        {
            packet.content.packet = Congested(*packet.content.packet);
        }
        packet.view.ecn = perhop::shim::ecn_field::congested;
    }

    std::size_t packets_in_mac() const
    {
        return m_device.PacketsInMac();
    }

    uint64_t make(
        uint64_t nowUs, HopPacket&& packet, const perhop::wire::path_header& header, uint64_t receiver, const perhop::shim::next_hop& next)
    {
        return m_device.Make(nowUs, std::move(packet), header, receiver, next);
    }

    uint64_t make_hello(uint64_t nowUs, std::span<const uint8_t> hello, uint8_t peer, uint32_t mpduBytes)
    {
        return m_device.MakeHello(nowUs, hello, peer, mpduBytes);
    }

    bool is_wired(uint64_t receiver) const
    {
        return m_device.IsWired(receiver);
    }

    bool send_on_wire(HopPacket&& packet, const perhop::wire::path_header& header, uint64_t receiver)
    {
        return m_device.SendOnWire(std::move(packet), header, receiver);
    }

    static bool mac_is_up()
    {
        return true;
    }

    bool can_submit() const
    {
        return m_device.CanSubmit();
    }

    void submit(uint64_t, queue_entry&& first)
    {
        m_device.Submit(first.what);
    }

    void on_lost(const perhop::shim::ip_packet_view& packet, perhop::hop::loss)
    {
        if (TcpFlow* flow = packet.tcp.payload_bytes != 0 ? FlowSentFromHere(packet.flow) : nullptr)
        {
            flow->GetStatistics().OnSegmentRefused();
        }
        m_device.OnQueueDrop(packet);
    }

    void on_purged(uint64_t place)
    {
        m_device.OnPurged(place);
    }

    TcpFlow* FlowSentFromHere(const perhop::shim::flow_key& key) const;
    TcpFlow* FlowReceivedHere(const perhop::shim::flow_key& key) const;

    /// Sees to it that an event is pending for the earliest deadline.
    void Wind(uint64_t nowUs);
    void OnTimer();

    HopDevice& m_device;
    uint32_t m_address;
    perhop::hop::hop_path<HopAdapter> m_path;
    std::vector<TcpFlow*> m_flows;         ///< sent from here
    std::vector<TcpFlow*> m_receivedFlows; ///< received here
    EventId m_timer;
    uint64_t m_timerUs = NEVER_US;
};

} // namespace ns3
