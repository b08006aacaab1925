// SPDX-License-Identifier: GPL-2.0-or-later
//
// One bulk TCP transfer: a sender that always has data, and a receiver that reads at once.
//
// TCP as in the papers' simulations: NewReno without SACK (fast recovery of RFC 6582 in ns-3's TcpClassicRecovery; with SACK ns-3's
// proportional rate reduction), initial window of 1 segment, retransmission timeout from the flow's min_rto_ms to 60 s, no
// timestamps. Window scaling is on only for a window above 65535 bytes, which no congestion window limit may hold.
#pragma once

#include "sim/air/run_config.hpp"
#include "sim/ns3/flow-statistics.h"

#include "host/core/policy/congestion_window_limit.hpp"
#include "host/core/shim/packet_view.hpp"

#include "ns3/node.h"
#include "ns3/socket.h"

#include <memory>

namespace ns3
{

class TcpFlow
{
  public:
    /// @param index number of the flow in the run; gives it its ports
    /// @throws perhop::air::config_error a TCP that ns-3 does not have, a window that cannot be advertised
    TcpFlow(const perhop::air::flow_config& config, std::size_t index, Ptr<Node> source, Ptr<Node> sink, uint64_t measureFromUs);

    ~TcpFlow();

    TcpFlow(const TcpFlow&) = delete;
    TcpFlow& operator=(const TcpFlow&) = delete;

    /// Opens the receiver's socket now and schedules the sender's start and stop.
    void Start();

    FlowStatistics& GetStatistics()
    {
        return m_statistics;
    }

    uint32_t GetSegmentBytes() const
    {
        return m_config.segment_bytes;
    }

    /// As the sender's packets carry it.
    const perhop::shim::flow_key& GetKey() const
    {
        return m_key;
    }

    perhop::policy::cwl_config GetLimitConfig() const;

  private:
    Ptr<MeasuredTcpSocket> CreateSocket(Ptr<Node> node) const;
    void Connect();
    void Stop();
    void Fill(Ptr<Socket> socket, uint32_t availableBytes);
    void Accept(Ptr<Socket> socket, const Address& from);
    void Read(Ptr<Socket> socket);

    perhop::air::flow_config m_config;
    Ptr<Node> m_source;
    Ptr<Node> m_sink;
    perhop::shim::flow_key m_key;
    FlowStatistics m_statistics;
    Ptr<MeasuredTcpSocket> m_sender;
    Ptr<Socket> m_listener;
    uint32_t m_windowBytes;
    bool m_windowScaling;
};

} // namespace ns3
