// SPDX-License-Identifier: GPL-2.0-or-later
//
// One node's shim (host/core/shim) for ns-3 packets: turns packets into the shim's views and its verdicts into packets, and keeps the
// packets that the shim holds back: one TCP ACK for each flow whose TCP ACKs are thinned, and a queue for each flow that is paced.
//
// One event of ns-3 is pending for all of it, at the earliest deadline. It may come too early, because a deadline that moved away does
// not move the event; it then finds nothing to do and is set anew.
#pragma once

#include "host/core/shim/shim.hpp"
#include "sim/air/types.hpp"
#include "sim/ns3/ip-view.h"
#include "sim/ns3/tcp-flow.h"

#include "ns3/address.h"
#include "ns3/event-id.h"
#include "ns3/packet.h"

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <vector>

namespace ns3
{

class ShimAdapter
{
  public:
    /// A packet of this node between its TCP and the device's queue.
    struct Outgoing
    {
        Ptr<Packet> packet;
        IpView ip;
        Address receiver;
        std::optional<uint32_t> packetsInFlight; ///< when TCP sent it; nothing: as it is now
    };

    /// @param address this node's IPv4 address in host byte order
    /// @param send what becomes of a packet that was held back when its time has come
    ShimAdapter(const perhop::shim::shim_config& config, uint32_t address, std::function<void(const Outgoing&)> send);

    /// A flow whose sender is on this node: applies its policy and keeps its statistics. Does not own it.
    void AddFlow(TcpFlow& flow);

    /// The same for one whose receiver is on this node.
    void AddReceivedFlow(TcpFlow& flow);

    /// This node's IP sends a packet of its own. @return true when the adapter keeps it until its time has come
    bool HoldsBack(uint64_t nowUs, const Ptr<Packet>& packet, const IpView& ip, const Address& receiver);

    /// IP sends a packet of this node, or passes on one that came here. Takes the header of a forwarded packet off it (PathHeaderTag).
    /// @param packetsInFlight as in Outgoing
    /// @return the header to send with it, this hop added
    perhop::wire::path_header OnSend(uint64_t nowUs,
                                     Packet& packet,
                                     const IpView& ip,
                                     const perhop::shim::next_hop& hop,
                                     std::optional<uint32_t> packetsInFlight = std::nullopt);

    /// The shim itself passes a packet on: adds this hop to its header.
    void OnForward(uint64_t nowUs, perhop::wire::path_header& header, const IpView& ip, const perhop::shim::next_hop& hop);

    /// A packet for this node arrived. @return the window to write into its TCP header before IP sees it, if any
    std::optional<uint16_t> OnReceive(uint64_t nowUs, const perhop::wire::path_header& header, const IpView& ip);

    void OnCompletion(const perhop::air::completion& record);

    void OnNeighbourReplaced(uint8_t peer)
    {
        m_shim.on_neighbour_replaced(peer);
    }

    const perhop::shim::shim& GetShim() const
    {
        return m_shim;
    }

    perhop::shim::shim& GetShim()
    {
        return m_shim;
    }

    /// From now on every deadline of the shim is kept, and `call` is called after each.
    void SetTimerCallback(std::function<void(uint64_t nowUs)> call);

    /// The shim may have a new deadline, for what was done to it from outside.
    void Wind(uint64_t nowUs);

  private:
    static constexpr uint64_t NEVER_US = UINT64_MAX;

    /// Packets that wait for their time, in the order in which TCP sent them. TCP's window bounds them; this does so, too.
    static constexpr std::size_t MOST_PACED_PACKETS = 4096;

    struct PacedFlow
    {
        TcpFlow* flow;
        std::deque<Outgoing> waiting{};
        uint64_t releaseUs = NEVER_US; ///< of the first that waits
    };

    struct ThinnedFlow
    {
        TcpFlow* flow;
        std::optional<Outgoing> held{}; ///< what TCP wanted to send last, not sent yet
        std::optional<Outgoing> sent{}; ///< the last bare TCP ACK that was sent
    };

    TcpFlow* FlowSentFromHere(const perhop::shim::flow_key& key) const;
    ThinnedFlow* ThinnedFlowOf(const perhop::shim::flow_key& key);
    void NoteTcpAck(const perhop::shim::ip_packet_view& view) const;

    bool HoldsTcpAck(uint64_t nowUs, ThinnedFlow& thinned, const Outgoing& packet);
    bool Paces(uint64_t nowUs, PacedFlow& paced, const Outgoing& packet);
    uint64_t ReleaseUs(uint64_t nowUs, const PacedFlow& paced, const IpView& ip);
    void ReleasePaced(uint64_t nowUs, PacedFlow& paced);

    /// Sees to it that an event is pending for the earliest deadline.
    void SetTimer(uint64_t nowUs);
    void OnTimer();

    perhop::shim::shim m_shim;
    uint32_t m_address;
    std::function<void(const Outgoing&)> m_send;
    std::function<void(uint64_t)> m_onTimer;
    std::vector<TcpFlow*> m_flows;         ///< sent from here
    std::vector<TcpFlow*> m_receivedFlows; ///< received here
    std::vector<PacedFlow> m_paced;        ///< those of m_flows that are
    std::vector<ThinnedFlow> m_thinned;    ///< those of m_receivedFlows that are
    EventId m_timer;
    uint64_t m_timerUs = NEVER_US;
};

} // namespace ns3
