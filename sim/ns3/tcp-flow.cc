// SPDX-License-Identifier: GPL-2.0-or-later
#include "sim/ns3/tcp-flow.h"

#include "sim/ns3/hop-adapter.h"
#include "sim/ns3/node-address.h"
#include "sim/ns3/tcp-bsd-reno.h"

#include "ns3/boolean.h"
#include "ns3/enum.h"
#include "ns3/inet-socket-address.h"
#include "ns3/packet.h"
#include "ns3/rtt-estimator.h"
#include "ns3/simulator.h"
#include "ns3/tcp-congestion-ops.h"
#include "ns3/tcp-l4-protocol.h"
#include "ns3/tcp-prr-recovery.h"
#include "ns3/tcp-recovery-ops.h"
#include "ns3/uinteger.h"

#include <algorithm>
#include <string>

namespace ns3
{
namespace
{

using perhop::run::config_error;

constexpr uint32_t LARGEST_UNSCALED_WINDOW_BYTES = 65535;
constexpr uint32_t UNLIMITED_WINDOW_BYTES = 1 << 20;
constexpr uint32_t INITIAL_WINDOW_SEGMENTS = 1;
constexpr uint32_t RETRIES_FOR_EVER = 1'000'000; // a flow outlives any break of its path
constexpr uint32_t BSD_LEAST_RTO_MS = 1000;
constexpr uint32_t FILL_SEGMENTS = 16;               // the sender's buffer is filled in portions of this many segments
constexpr uint32_t BSD_SEND_SPACE_BYTES = 16 * 1024; // FreeBSD 2.2.4's tcp_sendspace, and GloMoSim's TCP_SENDSPACE

/// ns-3's class for the run file's name of a congestion control.
struct Variant
{
    std::string_view name;
    const char* typeId;
};

constexpr std::string_view BSD = "bsd";

constexpr Variant VARIANTS[] = {
    {"newreno", "ns3::TcpNewReno"},
    {"reno", "ns3::TcpNewReno"}, // its congestion avoidance is Reno's; MeasuredTcpSocket::SetReno makes its recovery Reno's, too
    {BSD, "perhop::TcpBsdReno"},
    {"linuxreno", "ns3::TcpLinuxReno"},
    {"cubic", "ns3::TcpCubic"},
    {"bbr", "ns3::TcpBbr"}, // paces by itself
    {"dctcp", "ns3::TcpDctcp"},
    {"vegas", "ns3::TcpVegas"},
    {"veno", "ns3::TcpVeno"},
    {"westwood", "ns3::TcpWestwoodPlus"},
};

/// @return nullptr for a name that is not in VARIANTS
const char*
TypeIdOfVariant(const std::string& name)
{
    for (const Variant& variant : VARIANTS)
    {
        if (variant.name == name)
        {
            return variant.typeId;
        }
    }
    return nullptr;
}

std::string
KnownVariants()
{
    std::string names;
    for (const Variant& variant : VARIANTS)
    {
        names += (names.empty() ? "" : ", ") + std::string(variant.name);
    }
    return names;
}

} // namespace

TcpFlow::TcpFlow(const perhop::run::flow_config& config, std::size_t index, Ptr<Node> source, Ptr<Node> sink, uint64_t measureFromUs)
    : Flow(config, index, perhop::shim::ip_protocol_tcp),
      m_source(source),
      m_sink(sink),
      m_statistics(config.segment_bytes, measureFromUs)
{
    const std::string field = "field flows[" + std::to_string(index) + "].";
    if (TypeIdOfVariant(config.variant) == nullptr)
    {
        throw config_error(field + "variant: there is no TCP '" + config.variant + "'; one of " + KnownVariants());
    }
    if (IsBsd() && (config.min_rto_ms != BSD_LEAST_RTO_MS || config.sack || config.max_rto_ms != perhop::run::longest_rto_ms))
    {
        throw config_error(field + "variant: bsd has no SACK and a least retransmission timeout of " + std::to_string(BSD_LEAST_RTO_MS) +
                           " ms; write sack false and min_rto_ms " + std::to_string(BSD_LEAST_RTO_MS) + ", and leave max_rto_ms out");
    }
    const uint64_t windowBytes = uint64_t{config.max_window_packets} * config.segment_bytes;
    const bool limited = config.policy.cwl.kind != perhop::policy::cwl_kind::none;
    if (limited && windowBytes > LARGEST_UNSCALED_WINDOW_BYTES)
    {
        throw config_error(field + "max_window_packets: " + std::to_string(config.max_window_packets) + " segments of " +
                           std::to_string(config.segment_bytes) +
                           " bytes need window scaling, which a congestion window limit must do without; use at most " +
                           std::to_string(LARGEST_UNSCALED_WINDOW_BYTES / config.segment_bytes) + ", or 0 for that, or policy.cwl none");
    }
    m_windowScaling = !limited && (config.max_window_packets == 0 || windowBytes > LARGEST_UNSCALED_WINDOW_BYTES);
    m_windowBytes = config.max_window_packets != 0 ? static_cast<uint32_t>(windowBytes)
                    : limited                      ? LARGEST_UNSCALED_WINDOW_BYTES
                                                   : UNLIMITED_WINDOW_BYTES;
}

TcpFlow::~TcpFlow()
{
    // The sockets live on in their nodes until the simulator is destroyed.
    if (m_sender)
    {
        m_sender->SetObserver(nullptr);
        m_sender->SetSendCallback(MakeNullCallback<void, Ptr<Socket>, uint32_t>());
    }
}

perhop::shim::flow_policy
TcpFlow::GetPolicy() const
{
    return m_config.policy;
}

bool
TcpFlow::IsBsd() const
{
    return m_config.variant == BSD;
}

Ptr<MeasuredTcpSocket>
TcpFlow::CreateSocket(Ptr<Node> node) const
{
    // TcpL4Protocol::CreateSocket, with our socket in place of its own.
    Ptr<TcpL4Protocol> tcp = node->GetObject<TcpL4Protocol>();
    Ptr<MeasuredTcpSocket> socket = CreateObject<MeasuredTcpSocket>();
    ObjectFactory congestionControl{std::string(TypeIdOfVariant(m_config.variant))};
    socket->SetNode(node);
    socket->SetTcp(tcp);
    socket->SetRtt(CreateObject<RttMeanDeviation>());
    Ptr<TcpCongestionOps> algorithm = congestionControl.Create<TcpCongestionOps>();
    if (IsBsd())
    {
        DynamicCast<TcpBsdReno>(algorithm)->SetAdvertisedWindow(m_windowBytes);
    }
    socket->SetCongestionControlAlgorithm(algorithm);
    socket->SetRecoveryAlgorithm(m_config.sack ? Ptr<TcpRecoveryOps>(CreateObject<TcpPrrRecovery>())
                                               : Ptr<TcpRecoveryOps>(CreateObject<TcpClassicRecovery>()));
    tcp->AddSocket(socket);

    socket->SetMinRto(MilliSeconds(m_config.min_rto_ms));
    socket->SetMaxRto(MilliSeconds(m_config.max_rto_ms));
    socket->SetReno(m_config.variant == "reno" || IsBsd());
    if (IsBsd())
    {
        socket->SetBsd(BsdClocks::Of(node, node->GetId()));
    }
    socket->SetAttribute("Sack", BooleanValue(m_config.sack));
    socket->SetAttribute("Timestamp", BooleanValue(false));
    if (m_config.uses_ecn())
    {
        socket->SetAttribute("UseEcn", EnumValue(TcpSocketState::On));
    }
    socket->SetAttribute("WindowScaling", BooleanValue(m_windowScaling));
    socket->SetAttribute("SegmentSize", UintegerValue(m_config.segment_bytes));
    socket->SetAttribute("InitialCwnd", UintegerValue(INITIAL_WINDOW_SEGMENTS));
    // BSD also acknowledges when half the receiver's window has come.
    const bool everySegment = IsBsd() && m_config.max_window_packets != 0 && m_config.max_window_packets <= 2;
    socket->SetAttribute("DelAckCount", UintegerValue(everySegment ? 1 : m_config.tcp_ack_every));
    socket->SetAttribute("ConnCount", UintegerValue(RETRIES_FOR_EVER));
    socket->SetAttribute("DataRetries", UintegerValue(RETRIES_FOR_EVER));
    socket->SetAttribute("RcvBufSize", UintegerValue(m_windowBytes));
    // A source that always has data never notices how much of it waits in TCP; what finds no room of one with a rate is lost.
    const bool bsdSpace = IsBsd() && m_config.tcp_rate_bps != 0;
    const uint32_t portionsBytes = 2 * FILL_SEGMENTS * m_config.segment_bytes;
    socket->SetAttribute("SndBufSize", UintegerValue(bsdSpace ? BSD_SEND_SPACE_BYTES : m_windowBytes + portionsBytes));
    return socket;
}

void
TcpFlow::Attach(HopAdapter& atSource, HopAdapter& atSink)
{
    m_atSource = &atSource;
    m_atSink = &atSink;
    atSource.AddFlow(*this);
    atSink.AddReceivedFlow(*this);
}

bool
TcpFlow::SetPolicy(uint64_t nowUs, const perhop::shim::flow_policy& policy)
{
    if (policy.cwl.kind != perhop::policy::cwl_kind::none && m_windowScaling)
    {
        throw config_error("field policy.cwl: the flow began with window scaling, which a congestion window limit must do without; give it "
                           "a max_window_packets of at most " +
                           std::to_string(LARGEST_UNSCALED_WINDOW_BYTES / m_config.segment_bytes));
    }
    if (policy.tcp_ack.kind != perhop::policy::tcp_ack_kind::every && m_config.tcp_ack_every != 1)
    {
        throw config_error("field policy.tcp_ack: the flow's tcp_ack_every must be 1 for it");
    }
    m_config.policy = policy;
    m_atSource->ChangePolicy(nowUs, *this);
    m_atSink->ChangePolicy(nowUs, *this);
    return true;
}

FlowState
TcpFlow::GetState() const
{
    return {
        .deliveredBytes = m_readBytes,
        .roundTripMs = m_statistics.GetLastRoundTripMs(),
        .packetsInFlight = m_statistics.GetPacketsInFlight(),
        .windowPackets = m_statistics.GetWindowPackets(),
        .limitPackets = m_atSource->GetShim().cwl_packets(m_key),
    };
}

void
TcpFlow::Start()
{
    m_listener = CreateSocket(m_sink);
    m_listener->Bind(InetSocketAddress(NodeIpv4Address(m_config.dst), m_key.destination_port));
    m_listener->Listen();
    m_listener->SetAcceptCallback(MakeNullCallback<bool, Ptr<Socket>, const Address&>(), MakeCallback(&TcpFlow::Accept, this));

    Simulator::ScheduleWithContext(m_source->GetId(), Seconds(m_config.start_s), &TcpFlow::Connect, this);
    if (m_config.stop_s)
    {
        Simulator::ScheduleWithContext(m_source->GetId(), Seconds(*m_config.stop_s), &TcpFlow::Stop, this);
    }
}

void
TcpFlow::Connect()
{
    m_sender = CreateSocket(m_source);
    if (m_config.policy.tcp_ack.kind == perhop::policy::tcp_ack_kind::daa)
    {
        using perhop::policy::tcp_daa_sender;
        m_sender->SetAttribute("ReTxThreshold", UintegerValue(tcp_daa_sender::duplicate_tcp_ack_threshold));
        m_sender->SetWindowCap(tcp_daa_sender::congestion_window_limit_packets);
        m_sender->SetRtoFactor(tcp_daa_sender::retransmission_timeout_factor);
    }
    m_sender->SetObserver(&m_statistics);
    m_sender->Bind(InetSocketAddress(NodeIpv4Address(m_config.src), m_key.source_port));
    if (m_config.tcp_rate_bps == 0)
    {
        m_sender->SetSendCallback(MakeCallback(&TcpFlow::Fill, this));
    }
    m_sender->Connect(InetSocketAddress(NodeIpv4Address(m_config.dst), m_key.destination_port));
    m_sender->ShutdownRecv();
    if (m_config.tcp_rate_bps != 0)
    {
        WriteAtRate();
    }
}

void
TcpFlow::Stop()
{
    m_write.Cancel();
    m_sender->SetSendCallback(MakeNullCallback<void, Ptr<Socket>, uint32_t>());
    m_sender->Close();
}

void
TcpFlow::Fill(Ptr<Socket>, uint32_t availableBytes)
{
    const uint32_t segments = availableBytes / m_config.segment_bytes;
    for (uint32_t i = 0; segments >= FILL_SEGMENTS && i < segments && NextBytes() != 0; ++i)
    {
        Give(NextBytes());
    }
}

void
TcpFlow::WriteAtRate()
{
    const uint32_t bytes = NextBytes();
    if (m_sender->GetTxAvailable() >= bytes)
    {
        Give(bytes);
    }
    if (NextBytes() != 0)
    {
        m_write = Simulator::Schedule(Seconds(bytes * 8 / m_config.tcp_rate_bps), &TcpFlow::WriteAtRate, this);
    }
}

uint32_t
TcpFlow::NextBytes() const
{
    if (m_config.transfer_bytes == 0)
    {
        return m_config.segment_bytes;
    }
    return static_cast<uint32_t>(std::min<uint64_t>(m_config.segment_bytes, m_config.transfer_bytes - m_givenBytes));
}

void
TcpFlow::Give(uint32_t bytes)
{
    m_givenBytes += std::max(m_sender->Send(Create<Packet>(bytes), 0), 0);
    if (NextBytes() == 0)
    {
        Stop();
    }
}

void
TcpFlow::Accept(Ptr<Socket> socket, const Address&)
{
    m_receiver = DynamicCast<MeasuredTcpSocket>(socket);
    socket->SetRecvCallback(MakeCallback(&TcpFlow::Read, this));
}

void
TcpFlow::Read(Ptr<Socket> socket)
{
    while (Ptr<Packet> data = socket->Recv(std::numeric_limits<uint32_t>::max(), 0))
    {
        if (data->GetSize() == 0)
        {
            break; // the sender has closed
        }
        m_statistics.OnDelivered(data->GetSize());
        m_readBytes += data->GetSize();
        if (m_readBytes == m_config.transfer_bytes)
        {
            m_completed = Simulator::Now();
        }
    }
}

perhop::run::flow_result
TcpFlow::GetResult(uint64_t nowUs)
{
    perhop::run::flow_result result = m_statistics.GetResult(nowUs);
    if (m_completed)
    {
        result.completion_s = m_completed->GetSeconds() - m_config.start_s;
    }
    return result;
}

} // namespace ns3
