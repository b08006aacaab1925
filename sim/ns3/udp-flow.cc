// SPDX-License-Identifier: GPL-2.0-or-later
#include "sim/ns3/udp-flow.h"

#include "ns3/header.h"
#include "ns3/inet-socket-address.h"
#include "ns3/packet.h"
#include "ns3/simulator.h"
#include "ns3/udp-socket-factory.h"

#include <limits>

namespace ns3
{
namespace
{

/// Packets that leave in the last second may still be on their way at the end.
constexpr uint64_t LOSS_MARGIN_US = 1'000'000;

/// The first bytes of each packet's payload.
class UdpStamp : public Header
{
  public:
    UdpStamp() = default;

    UdpStamp(uint32_t sequence, uint64_t sentUs)
        : m_sequence(sequence),
          m_sentUs(sentUs)
    {
    }

    static TypeId GetTypeId()
    {
        static TypeId tid = TypeId("perhop::UdpStamp").SetParent<Header>().AddConstructor<UdpStamp>();
        return tid;
    }

    TypeId GetInstanceTypeId() const override
    {
        return GetTypeId();
    }

    uint32_t GetSerializedSize() const override
    {
        return BYTES;
    }

    void Serialize(Buffer::Iterator start) const override
    {
        start.WriteHtonU32(m_sequence);
        start.WriteHtonU64(m_sentUs);
    }

    uint32_t Deserialize(Buffer::Iterator start) override
    {
        m_sequence = start.ReadNtohU32();
        m_sentUs = start.ReadNtohU64();
        return BYTES;
    }

    void Print(std::ostream& os) const override
    {
        os << "sequence " << m_sequence << " sent at " << m_sentUs << " us";
    }

    uint32_t GetSequence() const
    {
        return m_sequence;
    }

    uint64_t GetSentUs() const
    {
        return m_sentUs;
    }

    static constexpr uint32_t BYTES = 12;

  private:
    uint32_t m_sequence = 0;
    uint64_t m_sentUs = 0;
};

NS_OBJECT_ENSURE_REGISTERED(UdpStamp);

} // namespace

UdpFlow::UdpFlow(
    const perhop::run::flow_config& config, std::size_t index, Ptr<Node> source, Ptr<Node> sink, uint64_t measureFromUs, uint64_t endUs)
    : Flow(config, index, perhop::shim::ip_protocol_udp),
      m_source(source),
      m_sink(sink),
      m_statistics(config.payload_bytes, measureFromUs, endUs > LOSS_MARGIN_US ? endUs - LOSS_MARGIN_US : 0)
{
}

UdpFlow::~UdpFlow()
{
    // The sockets live on in their nodes until the simulator is destroyed.
    for (const Ptr<Socket>& socket : {m_sender, m_receiver})
    {
        if (socket)
        {
            socket->SetRecvCallback(MakeNullCallback<void, Ptr<Socket>>());
        }
    }
}

void
UdpFlow::Start()
{
    m_receiver = Socket::CreateSocket(m_sink, UdpSocketFactory::GetTypeId());
    m_receiver->Bind(InetSocketAddress(NodeIpv4Address(m_config.dst), m_key.destination_port));
    m_receiver->Connect(InetSocketAddress(NodeIpv4Address(m_config.src), m_key.source_port));
    m_receiver->SetRecvCallback(MakeCallback(&UdpFlow::Read, this));
    m_sender = Socket::CreateSocket(m_source, UdpSocketFactory::GetTypeId());
    m_sender->Bind(InetSocketAddress(NodeIpv4Address(m_config.src), m_key.source_port));
    m_sender->Connect(InetSocketAddress(NodeIpv4Address(m_config.dst), m_key.destination_port));

    Simulator::ScheduleWithContext(m_source->GetId(), Seconds(m_config.start_s), &UdpFlow::Begin, this);
    if (m_config.stop_s)
    {
        Simulator::ScheduleWithContext(m_source->GetId(), Seconds(*m_config.stop_s), &UdpFlow::End, this);
    }
}

uint64_t
UdpFlow::NowUs()
{
    return static_cast<uint64_t>(Simulator::Now().GetMicroSeconds());
}

void
UdpFlow::SendPacket(std::span<const uint8_t> header)
{
    const uint64_t nowUs = NowUs();
    const auto headerBytes = static_cast<uint32_t>(header.size());
    Ptr<Packet> packet = Create<Packet>(m_config.payload_bytes - UdpStamp::BYTES - headerBytes);
    if (headerBytes != 0)
    {
        Ptr<Packet> front = Create<Packet>(header.data(), headerBytes);
        front->AddAtEnd(packet);
        packet = front;
    }
    packet->AddHeader(UdpStamp(m_sequence++, nowUs));
    m_statistics.OnSent(nowUs);
    m_sender->Send(packet); // a full queue below loses it, as it would another's
}

void
UdpFlow::Read(Ptr<Socket> socket)
{
    while (Ptr<Packet> packet = socket->Recv(std::numeric_limits<uint32_t>::max(), 0))
    {
        UdpStamp stamp;
        const uint32_t bytes = packet->GetSize();
        packet->RemoveHeader(stamp);
        const uint64_t nowUs = NowUs();
        m_statistics.OnDelivered(nowUs, stamp.GetSentUs(), bytes);
        OnArrival(nowUs, stamp.GetSequence(), *packet);
    }
}

void
UdpFlow::OnArrival(uint64_t, uint32_t, const Packet&)
{
}

} // namespace ns3
