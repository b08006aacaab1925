// SPDX-License-Identifier: GPL-2.0-or-later
//
// The ends of EXACT flows in one node, and its log. What an end does is host/core/hop/exact_ends.hpp's; here are ns-3's packets and time,
// and one event for all that is due. The router itself is in the node's shim; the hop path tells it of neighbours, queue and hellos.
#pragma once

#include "sim/ns3/exact-log.h"
#include "sim/ns3/hop-adapter.h"
#include "sim/ns3/packet-slots.h"

#include "host/core/hop/exact_ends.hpp"

#include <vector>

namespace ns3
{

/// A flow, as the nodes of its two ends know it.
class ExactFlowEnds
{
  public:
    virtual ~ExactFlowEnds() = default;

    virtual std::size_t GetIndex() const = 0;
    virtual double GetWeight() const = 0;
    /// As its data packets carry it.
    virtual const perhop::shim::flow_key& GetKey() const = 0;

    /// What the application would send next; nothing: it has nothing to send.
    virtual std::optional<perhop::hop::next_packet> GetNextPacket(uint64_t nowUs) = 0;
    /// IP at the source sends a packet: SetOutgoing() was called before.
    virtual void SendPacket() = 0;
    /// The same for the sink's IP, and an empty packet: SetReport() was called before.
    virtual void SendReport() = 0;
    /// A report told the source something new.
    virtual void OnReport(uint64_t nowUs, const perhop::wire::exact_report& report, const perhop::policy::exact_sender& sender) = 0;
    /// All that may go at the source has gone.
    virtual void OnServed(uint64_t nowUs, const perhop::policy::exact_sender& sender) = 0;

    /// Of the data packet that is being sent.
    const perhop::policy::exact_outgoing& GetOutgoing() const
    {
        return m_outgoing;
    }

    void SetOutgoing(const perhop::policy::exact_outgoing& outgoing)
    {
        m_outgoing = outgoing;
    }

    /// Of the report that is being sent.
    const perhop::wire::exact_report& GetReport() const
    {
        return m_report;
    }

    void SetReport(const perhop::wire::exact_report& report)
    {
        m_report = report;
    }

  private:
    perhop::policy::exact_outgoing m_outgoing;
    perhop::wire::exact_report m_report;
};

class ExactNode
{
  public:
    /// The router's settings for a node.
    static perhop::policy::exact_router_config RouterConfig(const perhop::run::run_config& config, uint32_t node);

    /// @param hop of this node, with an EXACT router; outlives this, as `log` does
    ExactNode(uint32_t node, HopAdapter& hop, const perhop::hop::exact_ends_config& ends, ExactLog& log);

    ExactNode(const ExactNode&) = delete;
    ExactNode& operator=(const ExactNode&) = delete;

    /// A flow of the run, wherever its ends are: the router knows its weight. Does not own it.
    void AddFlow(ExactFlowEnds& flow);

    /// A flow begins here. @param demandBps what its application would like best
    void Begin(uint64_t nowUs, ExactFlowEnds& flow, uint64_t demandBps);

    /// It ends: its last packet says so.
    void End(uint64_t nowUs, ExactFlowEnds& flow);

    /// IP sends a packet of its own. Writes what its EXACT end says of it into the view, and what goes behind its path header.
    void OnSend(HopPacket& packet) const;

    /// A packet has passed the router; its header says what it may tell others. @param arrivedBps the explicit rate before
    void OnLeft(uint64_t nowUs, const HopPacket& packet, uint64_t receiver, const perhop::wire::path_header& header, uint64_t arrivedBps);

    /// A packet for this node arrived. @param nextHopBack MAC address of the next hop to its source
    /// @return true for a report: it goes no further
    bool OnReceive(uint64_t nowUs,
                   const perhop::shim::ip_packet_view& view,
                   const perhop::wire::path_header& header,
                   const perhop::hop::exact_rider& rider,
                   uint64_t nextHopBack);

    /// Routes of this node have changed.
    void OnRoutes(uint64_t nowUs, const HopDevice& device);

    /// Sees to it that an event is pending for what is due next: the queue above the MAC may have room again.
    void Wind(uint64_t nowUs);

    /// Writes this router's allocations to the log.
    void Log(uint64_t nowUs) const;

  private:
    static constexpr uint64_t NEVER_US = UINT64_MAX;

    /// What the ends of flows want of applications.
    struct Application
    {
        ExactFlowEnds* flow;

        std::optional<perhop::hop::next_packet> next(uint64_t nowUs) const
        {
            return flow->GetNextPacket(nowUs);
        }

        ExactFlowEnds* take(uint64_t) const
        {
            return flow;
        }

        static bool in_use()
        {
            return true;
        }
    };

  public:
    using Ends = perhop::hop::exact_ends<Application>;

    const Ends& GetEnds() const
    {
        return m_ends;
    }

  private:
    // What they want of their host, in their spelling.
    friend Ends;

    bool has_room() const
    {
        return !m_hop.GetPath().queue().full();
    }

    void send_data(Ends::sent&& data)
    {
        data.what->SetOutgoing(data.exact);
        data.what->SendPacket();
    }

    void send_report(Ends::due_report&& due)
    {
        ExactFlowEnds* flow = FlowOf(due.flow);
        flow->SetReport(due.report);
        flow->SendReport();
    }

    perhop::policy::exact_router& Router() const
    {
        return *m_hop.GetShim().exact();
    }

    ExactFlowEnds* FlowOf(const perhop::shim::flow_key& key) const;

    void ServeAt(uint64_t nowUs, uint64_t atUs);
    void Serve();

    uint32_t m_node;
    HopAdapter& m_hop;
    ExactLog& m_log;
    std::vector<ExactFlowEnds*> m_flows; ///< all of the run
    Ends m_ends;
    EventId m_timer;
    uint64_t m_timerUs = NEVER_US;
};

} // namespace ns3
