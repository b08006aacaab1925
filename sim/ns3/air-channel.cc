// SPDX-License-Identifier: GPL-2.0-or-later
#include "sim/ns3/air-channel.h"

#include "sim/run/scripted_events.hpp"

namespace ns3
{

// The simulator's loop and the air must mean the same by "nothing".
static_assert(TickSource::NEVER == perhop::air::never);

NS_OBJECT_ENSURE_REGISTERED(AirChannel);

TypeId
AirChannel::GetTypeId()
{
    static TypeId tid = TypeId("perhop::AirChannel").SetParent<Channel>();
    return tid;
}

AirChannel::AirChannel(const perhop::air::air_config& config, AirSimulatorImpl& simulator, perhop::run::run_report& report)
    : m_mac(config.mac),
      m_radios(config.nodes.size()),
      m_simulator(simulator),
      m_report(report),
      m_air(config, *this)
{
}

AirChannel::~AirChannel() = default;

void
AirChannel::DoDispose()
{
    m_devices.clear();
    Channel::DoDispose();
}

void
AirChannel::Add(Ptr<AirNetDevice> device)
{
    m_devices.push_back(device);
}

void
AirChannel::CaptureTo(const std::filesystem::path& file, const std::vector<perhop::air::node_id>& chosen)
{
    m_capture = std::make_unique<FrameCapture>(file, m_mac, m_radios, chosen, m_slots);
}

void
AirChannel::FinishCapture()
{
    if (m_capture)
    {
        m_capture->Finish();
    }
}

void
AirChannel::Submit(uint32_t node, const perhop::air::tx_request& request)
{
    Synchronise();
    m_air.submit(node, request);
}

void
AirChannel::Apply(const perhop::run::event_config& event)
{
    Synchronise();
    perhop::run::apply(m_air, event);
}

void
AirChannel::KeepRegisters(const perhop::air::air_config& config)
{
    m_statistics.resize(m_radios);
    for (perhop::air::node_id node = 0; node < m_radios; ++node)
    {
        m_registers.emplace_back(config, node);
    }
}

std::optional<uint32_t>
AirChannel::ReadRegister(uint32_t node, uint32_t address)
{
    return m_registers[node].read(address, NowUs(), m_statistics[node]);
}

bool
AirChannel::WriteRegister(uint32_t node, uint32_t address, uint32_t value)
{
    Synchronise();
    return m_registers[node].write(address, value, m_air);
}

void
AirChannel::Synchronise()
{
    if (const uint64_t nowUs = m_simulator.NowTick(); m_air.now() != nowUs)
    {
        m_air.advance(nowUs);
    }
}

std::size_t
AirChannel::GetNDevices() const
{
    return m_devices.size();
}

Ptr<NetDevice>
AirChannel::GetDevice(std::size_t i) const
{
    return m_devices[i];
}

uint64_t
AirChannel::NextTick() const
{
    return m_air.next_event();
}

void
AirChannel::RunTick()
{
    m_air.advance_one();
}

void
AirChannel::on_transmission(const perhop::air::transmission& frame)
{
    m_report.on_transmission(frame);
    if (!m_statistics.empty())
    {
        m_statistics[frame.node].note_sent(frame);
    }
    if (m_capture && m_mac.fidelity == perhop::air::mac_fidelity::core)
    {
        m_capture->Write(frame);
    }
}

void
AirChannel::on_frame_bytes(const perhop::air::transmission& frame, perhop::air::byte_span psdu)
{
    if (m_capture)
    {
        m_capture->WriteBytes(frame, psdu);
    }
}

void
AirChannel::on_overheard(perhop::air::tick now, perhop::air::node_id at, const perhop::air::transmission& frame)
{
    const AirSimulatorImpl::ContextGuard guard(m_simulator, at);
    m_devices[at]->Overhear(now, frame.node, m_slots.Get(frame.payload));
}

void
AirChannel::on_lost(const perhop::air::lost_frame& lost)
{
    if (m_capture)
    {
        m_capture->Note(lost);
    }
}

void
AirChannel::write_msdu(perhop::air::node_id, const perhop::air::tx_request& request, std::vector<uint8_t>& msdu)
{
    WriteMsdu(m_slots.Get(request.payload), m_mac.path_header, msdu);
}

void
AirChannel::on_delivery(perhop::air::tick now, perhop::air::node_id to, const perhop::air::transmission& frame)
{
    const PacketSlot& slot = m_slots.Get(frame.payload);
    if (slot.header.hops == 1)
    {
        m_report.on_path_header_delay(now, frame.node, to, slot.header.total_delay_us, Flow::TrafficOf(slot.view.flow));
    }
    if (!m_statistics.empty())
    {
        ++m_statistics[to].rx_delivered;
    }
    const AirSimulatorImpl::ContextGuard guard(m_simulator, to);
    m_devices[to]->Receive(now, slot);
}

void
AirChannel::on_completion(perhop::air::tick now, const perhop::air::completion& record)
{
    if (!m_statistics.empty())
    {
        m_statistics[record.node].note_done(record);
    }
    const PacketSlot& slot = m_slots.Get(record.payload);
    m_report.on_completion(record, Flow::TrafficOf(slot.view.flow));
    const std::shared_ptr<const RouteFrame> route = slot.route;
    if (record.result == perhop::tx_result::short_retry_limit || record.result == perhop::tx_result::long_retry_limit)
    {
        const auto to = static_cast<perhop::air::node_id>(record.ra - perhop::node_address_base - 1);
        m_report.on_link_failure(now, m_air.in_range(record.node, to));
        TellLoss(slot.view, FlowLoss::MacRetries);
    }
    if (record.result == perhop::tx_result::group_sent)
    {
        m_slots.ReleaseGroup(record.payload, now);
    }
    else
    {
        m_slots.Release(record.payload);
    }
    const AirSimulatorImpl::ContextGuard guard(m_simulator, record.node);
    m_devices[record.node]->Completed(record, route);
}

} // namespace ns3
