// SPDX-License-Identifier: GPL-2.0-or-later
//
// One TCP flow: a sender that always has data, or so much in all, or a given rate; and a receiver that reads at once. A sender with a rate
// writes a segment at a time, and what does not fit into TCP's buffer then is not sent later.
//
// TCP as in the papers' simulations: Reno or NewReno without SACK (ns-3's TcpClassicRecovery, mended in MeasuredTcpSocket; with SACK
// ns-3's proportional rate reduction), initial window of 1 segment, retransmission timeout from the flow's min_rto_ms to its
// max_rto_ms, no timestamps. Window scaling is on only for a window above 65535 bytes, which no congestion window limit may hold.
#pragma once

#include "sim/ns3/flow-statistics.h"
#include "sim/ns3/flow.h"
#include "sim/run/run_config.hpp"

#include "host/core/shim/shim.hpp"

#include "ns3/event-id.h"
#include "ns3/node.h"
#include "ns3/socket.h"

#include <memory>
#include <optional>

namespace ns3
{

class TcpFlow : public Flow
{
  public:
    /// @param index number of the flow in the run; gives it its ports
    /// @throws perhop::run::config_error a TCP that ns-3 does not have, a window that cannot be advertised
    TcpFlow(const perhop::run::flow_config& config, std::size_t index, Ptr<Node> source, Ptr<Node> sink, uint64_t measureFromUs);

    ~TcpFlow() override;

    // Inherited from Flow
    void Attach(HopAdapter& atSource, HopAdapter& atSink) override;
    void Start() override;

    void StartMeasuring(uint64_t nowUs) override
    {
        m_statistics.StartMeasuring(nowUs);
    }

    FlowInterval TakeInterval(uint64_t nowUs) override
    {
        return m_statistics.TakeInterval(nowUs);
    }

    perhop::run::flow_result GetResult(uint64_t nowUs) override;
    FlowState GetState() const override;
    bool SetPolicy(uint64_t nowUs, const perhop::shim::flow_policy& policy) override;

    uint32_t GetMaxPacketsInFlight() const override
    {
        return m_statistics.GetMaxPacketsInFlight();
    }

    FlowStatistics& GetStatistics()
    {
        return m_statistics;
    }

    uint32_t GetSegmentBytes() const
    {
        return m_config.segment_bytes;
    }

    /// Segments on their way, as the sender's TCP believes.
    uint32_t GetPacketsInFlight() const
    {
        return m_sender ? m_sender->GetPacketsInFlight() : 0;
    }

    /// Null before there is a connection.
    MeasuredTcpSocket* GetSender() const
    {
        return PeekPointer(m_sender);
    }

    /// The same at the far end.
    MeasuredTcpSocket* GetReceiver() const
    {
        return PeekPointer(m_receiver);
    }

    /// The sender's window in whole segments, at least 1.
    uint32_t GetWindowPackets() const
    {
        return m_sender ? m_sender->GetWindowPackets() : 1;
    }

    void OnPacketLost(const perhop::shim::ip_packet_view& packet, FlowLoss loss) override
    {
        m_statistics.OnPacketLost(packet.tcp.payload_bytes != 0, loss);
    }

    perhop::shim::flow_policy GetPolicy() const;

  private:
    bool IsBsd() const;
    Ptr<MeasuredTcpSocket> CreateSocket(Ptr<Node> node) const;
    void Connect();
    void Stop();
    void Fill(Ptr<Socket> socket, uint32_t availableBytes);
    /// Of a sender with a rate: writes the next segment, if there is room.
    void WriteAtRate();
    /// What the next segment holds; 0 when all has been given to TCP.
    uint32_t NextBytes() const;
    void Give(uint32_t bytes);
    void Accept(Ptr<Socket> socket, const Address& from);
    void Read(Ptr<Socket> socket);

    Ptr<Node> m_source;
    Ptr<Node> m_sink;
    HopAdapter* m_atSource = nullptr;
    HopAdapter* m_atSink = nullptr;
    FlowStatistics m_statistics;
    Ptr<MeasuredTcpSocket> m_sender;
    Ptr<Socket> m_listener;
    Ptr<MeasuredTcpSocket> m_receiver; ///< that the listener has made
    EventId m_write;
    uint64_t m_givenBytes = 0; ///< to the sender's TCP
    uint64_t m_readBytes = 0;  ///< at the far end
    std::optional<Time> m_completed;
    uint32_t m_windowBytes;
    bool m_windowScaling;
};

} // namespace ns3
