// SPDX-License-Identifier: GPL-2.0-or-later
//
// What all flows over UDP share: a socket at each end, packets that begin with their number and the time they left, statistics.
#pragma once

#include "sim/ns3/flow.h"
#include "sim/ns3/udp-statistics.h"

#include "ns3/node.h"
#include "ns3/socket.h"

#include <span>

namespace ns3
{

class UdpFlow : public Flow
{
  public:
    /// @param endUs of the run
    UdpFlow(const perhop::run::flow_config& config,
            std::size_t index,
            Ptr<Node> source,
            Ptr<Node> sink,
            uint64_t measureFromUs,
            uint64_t endUs);

    ~UdpFlow() override;

    // Inherited from Flow
    void Start() override;

    void StartMeasuring(uint64_t nowUs) override
    {
        m_statistics.StartMeasuring(nowUs);
    }

    FlowInterval TakeInterval(uint64_t nowUs) override
    {
        return m_statistics.TakeInterval(nowUs);
    }

    perhop::run::flow_result GetResult(uint64_t nowUs) override
    {
        return m_statistics.GetResult(nowUs);
    }

  protected:
    /// The flow's start: the first packet may leave.
    virtual void Begin() = 0;

    /// The flow's stop: no packet leaves any more.
    virtual void End() = 0;

    /// Packet `sequence` arrived at the far end. @param payload what follows the stamp
    virtual void OnArrival(uint64_t nowUs, uint32_t sequence, const Packet& payload);

    static uint64_t NowUs();

    /// Sends a packet of the flow's size. @param header what follows the stamp first; the rest are zeros
    void SendPacket(std::span<const uint8_t> header = {});

    uint32_t GetSentPackets() const
    {
        return m_sequence;
    }

    const Ptr<Node>& GetSource() const
    {
        return m_source;
    }

    /// The receiver's socket; what it sends goes to the flow's source.
    const Ptr<Socket>& GetReceiver() const
    {
        return m_receiver;
    }

    /// The sender's socket.
    const Ptr<Socket>& GetSender() const
    {
        return m_sender;
    }

  private:
    void Read(Ptr<Socket> socket);

    Ptr<Node> m_source;
    Ptr<Node> m_sink;
    Ptr<Socket> m_sender;
    Ptr<Socket> m_receiver;
    UdpStatistics m_statistics;
    uint32_t m_sequence = 0; ///< of the next packet
};

} // namespace ns3
