// SPDX-License-Identifier: GPL-2.0-or-later
//
// One flow of a run, whatever it is made of: when it starts and stops, how it meets the shims of its two ends, what is measured of it.
#pragma once

#include "sim/ns3/node-address.h"
#include "sim/run/run_report.hpp"

#include "host/core/shim/packet_view.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <ostream>
#include <vector>

namespace ns3
{

class HopAdapter;

/// One row of intervals.csv. A column that does not apply to a flow stays empty.
struct FlowInterval
{
    double startS = 0;
    double endS = 0;
    double goodputBps = 0;
    std::optional<double> roundTripMs;
    std::optional<double> limitPackets;
    std::optional<double> windowPackets;
    std::optional<double> sentPackets;      ///< that left the sender in the interval
    std::optional<double> deliveredPackets; ///< that arrived in it
    std::optional<double> delayMs;          ///< from the sender's IP to the receiver's, mean
    std::optional<double> rateSignalBps;    ///< EXACT: the path's rate as the sender knows it, mean over the interval
    std::optional<double> allowedRateBps;   ///< EXACT: what the application may use of it, likewise; TFRC: the sender's rate, mean
    std::optional<double> appRateBps;       ///< EXACT: what the application sends at, likewise
    std::optional<double> lossEventRate;    ///< TFRC: as the sender knows it, mean over the interval

    static constexpr const char* HEADER = "t_start_s,t_end_s,goodput_bps,rtt_ms,cwl_packets,cwnd_packets,sent_packets,delivered_packets,"
                                          "delay_ms,rate_signal_bps,allowed_rate_bps,app_rate_bps,loss_event_rate";

    void Write(std::ostream& csv) const
    {
        csv << startS << ',' << endS << ',' << goodputBps;
        for (const std::optional<double>& cell : {roundTripMs,
                                                  limitPackets,
                                                  windowPackets,
                                                  sentPackets,
                                                  deliveredPackets,
                                                  delayMs,
                                                  rateSignalBps,
                                                  allowedRateBps,
                                                  appRateBps,
                                                  lossEventRate})
        {
            csv << ',';
            if (cell)
            {
                csv << *cell;
            }
        }
    }
};

/// Where a packet of a flow was lost.
enum class FlowLoss
{
    MacRetries, ///< the MAC gave it up
    QueueFull,
    LinkFailure, ///< purged from the queue because the link that it waited for had failed
};

/// What a flow is like at a moment. What does not apply to it, or is not known yet, is left out.
struct FlowState
{
    std::optional<uint64_t> deliveredBytes; ///< read at the far end since the start
    std::optional<double> roundTripMs;      ///< the last sample
    std::optional<uint32_t> packetsInFlight;
    std::optional<double> windowPackets; ///< by which TCP sends
    std::optional<uint32_t> limitPackets;
};

class Flow
{
  public:
    /// Whose packet this is, by its ports.
    static perhop::run::hop_traffic TrafficOf(const perhop::shim::flow_key& key)
    {
        using perhop::run::hop_traffic;
        return key.source_port >= FIRST_SINK_PORT     ? hop_traffic::answer
               : key.source_port >= FIRST_SOURCE_PORT ? hop_traffic::data
                                                      : hop_traffic::control;
    }

    /// So many flows have ports of their own.
    static constexpr std::size_t MAX_FLOWS = 65536 - 60000;

    /// Number of the flow in the run whose packet this may be, in either direction: the one that has its ports.
    static std::size_t IndexOf(const perhop::shim::flow_key& key)
    {
        return key.source_port - (key.source_port >= FIRST_SINK_PORT ? FIRST_SINK_PORT : FIRST_SOURCE_PORT);
    }

    /// @param index number of the flow in the run, below MAX_FLOWS; gives it its ports
    Flow(const perhop::run::flow_config& config, std::size_t index, uint8_t protocol)
        : m_config(config)
    {
        m_key.source = perhop::shim::ip_address::from_ipv4(NodeIpv4Address(config.src).Get());
        m_key.destination = perhop::shim::ip_address::from_ipv4(NodeIpv4Address(config.dst).Get());
        m_key.source_port = static_cast<uint16_t>(FIRST_SOURCE_PORT + index);
        m_key.destination_port = static_cast<uint16_t>(FIRST_SINK_PORT + index);
        m_key.protocol = protocol;
    }

    virtual ~Flow() = default;

    Flow(const Flow&) = delete;
    Flow& operator=(const Flow&) = delete;

    /// As the sender's packets carry it.
    const perhop::shim::flow_key& GetKey() const
    {
        return m_key;
    }

    /// Makes the flow known to the shims of its ends. Called once, before Start().
    virtual void Attach(HopAdapter& atSource, HopAdapter& atSink) = 0;

    /// Opens the receiver's socket now and schedules the sender's start and stop.
    virtual void Start() = 0;

    /// The warm-up is over.
    virtual void StartMeasuring(uint64_t nowUs) = 0;

    /// What happened in the interval that ends now; starts the next.
    virtual FlowInterval TakeInterval(uint64_t nowUs) = 0;

    virtual perhop::run::flow_result GetResult(uint64_t nowUs) = 0;

    virtual FlowState GetState() const
    {
        return {};
    }

    /// From now on. @return false: it is of a kind without policies
    virtual bool SetPolicy(uint64_t, const perhop::shim::flow_policy&)
    {
        return false;
    }

    /// A packet of the flow, of either direction, was lost at some node.
    virtual void OnPacketLost(const perhop::shim::ip_packet_view&, FlowLoss)
    {
    }

    /// The largest number of packets on their way when a new one left; 0 when nobody counts them.
    virtual uint32_t GetMaxPacketsInFlight() const
    {
        return 0;
    }

  protected:
    perhop::run::flow_config m_config;
    perhop::shim::flow_key m_key;

  private:
    static constexpr uint16_t FIRST_SOURCE_PORT = 49152;
    static constexpr uint16_t FIRST_SINK_PORT = 60000; // no protocol that Wireshark would look for
    static_assert(FIRST_SINK_PORT + MAX_FLOWS == 65536 && FIRST_SOURCE_PORT + MAX_FLOWS <= FIRST_SINK_PORT);
};

using Flows = std::vector<std::unique_ptr<Flow>>;

} // namespace ns3
