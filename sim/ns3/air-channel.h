// SPDX-License-Identifier: GPL-2.0-or-later
//
// The air as an ns-3 channel: joins sim/air to the simulator's loop on one side and to the devices on the other.
#pragma once

#include "sim/air/air.hpp"
#include "sim/ns3/air-net-device.h"
#include "sim/ns3/air-simulator-impl.h"
#include "sim/ns3/flow.h"
#include "sim/ns3/frame-capture.h"
#include "sim/ns3/packet-slots.h"
#include "sim/run/mac_registers.hpp"
#include "sim/run/run_report.hpp"

#include "ns3/channel.h"

#include <functional>
#include <optional>
#include <utility>
#include <vector>

namespace ns3
{

class AirChannel : public Channel, public TickSource, private perhop::air::listener
{
  public:
    static TypeId GetTypeId();

    /// Neither simulator nor report are owned.
    AirChannel(const perhop::air::air_config& config, AirSimulatorImpl& simulator, perhop::run::run_report& report);
    ~AirChannel() override;

    /// The device of node GetNDevices().
    void Add(Ptr<AirNetDevice> device);

    /// Writes frames from now on to a pcapng file. @param chosen of these nodes, those that they send and those for them; empty: all
    void CaptureTo(const std::filesystem::path& file, const std::vector<perhop::air::node_id>& chosen);

    /// Writes what of the capture still waits. @throws std::runtime_error when that fails
    void FinishCapture();

    const perhop::air::mac_config& GetMacConfig() const
    {
        return m_mac;
    }

    uint64_t NowUs() const
    {
        return m_simulator.NowTick();
    }

    perhop::air::node_position PositionOf(uint32_t node, uint64_t nowUs) const
    {
        return m_air.position(node, nowUs);
    }

    PacketSlots& GetSlots()
    {
        return m_slots;
    }

    /// A server has none.
    bool HasRadio(uint32_t node) const
    {
        return node < m_radios;
    }

    bool CanSubmit(uint32_t node) const
    {
        return m_air.can_submit(node);
    }

    void Submit(uint32_t node, const perhop::air::tx_request& request);

    /// A node moves, or a link goes or comes back.
    void Apply(const perhop::run::event_config& event);

    /// Keeps the registers of every MAC from now on, the start.
    void KeepRegisters(const perhop::air::air_config& config);

    /// A register of a node's MAC; nothing where it has none of that address. Requires KeepRegisters().
    std::optional<uint32_t> ReadRegister(uint32_t node, uint32_t address);

    /// @return whether it was written: only what selects a neighbour can be, the MAC runs
    bool WriteRegister(uint32_t node, uint32_t address, uint32_t value);

    /// `tell` is called with every packet that is lost at a node, and how.
    void SetLossCallback(std::function<void(const perhop::shim::ip_packet_view&, FlowLoss)> tell)
    {
        m_loss = std::move(tell);
    }

    void OnQueueDrop(uint32_t node, const perhop::shim::ip_packet_view& packet)
    {
        m_report.on_queue_drop(node);
        TellLoss(packet, FlowLoss::QueueFull);
    }

    void OnLinkFailureDrop(uint32_t node, const perhop::shim::ip_packet_view& packet)
    {
        m_report.on_link_failure_drop(node);
        TellLoss(packet, FlowLoss::LinkFailure);
    }

    const perhop::air::air_counters& GetCounters() const
    {
        return m_air.counters();
    }

    AirNetDevice& GetAirDevice(uint32_t node) const
    {
        return *m_devices[node];
    }

    // Inherited from Channel
    std::size_t GetNDevices() const override;
    Ptr<NetDevice> GetDevice(std::size_t i) const override;

    // Inherited from TickSource
    uint64_t NextTick() const override;
    void RunTick() override;

  private:
    void DoDispose() override;

    /// The simulator's loop has processed everything of the air up to now, so this only moves its clock.
    void Synchronise();

    void TellLoss(const perhop::shim::ip_packet_view& packet, FlowLoss loss) const
    {
        if (m_loss)
        {
            m_loss(packet, loss);
        }
    }

    // Inherited from perhop::air::listener
    void on_transmission(const perhop::air::transmission& frame) override;
    void on_frame_bytes(const perhop::air::transmission& frame, perhop::air::byte_span psdu) override;
    void on_overheard(perhop::air::tick now, perhop::air::node_id at, const perhop::air::transmission& frame) override;
    void on_lost(const perhop::air::lost_frame& lost) override;
    void write_msdu(perhop::air::node_id node, const perhop::air::tx_request& request, std::vector<uint8_t>& msdu) override;
    void on_delivery(perhop::air::tick now, perhop::air::node_id to, const perhop::air::transmission& frame) override;
    void on_completion(perhop::air::tick now, const perhop::air::completion& record) override;

    perhop::air::mac_config m_mac;
    std::size_t m_radios;
    AirSimulatorImpl& m_simulator;
    perhop::run::run_report& m_report;
    perhop::air::air m_air;
    PacketSlots m_slots;
    std::vector<Ptr<AirNetDevice>> m_devices;
    std::vector<perhop::run::mac_registers> m_registers;   ///< of each MAC; empty: nobody reads them
    std::vector<perhop::run::mac_statistics> m_statistics; ///< likewise
    std::unique_ptr<FrameCapture> m_capture;
    std::function<void(const perhop::shim::ip_packet_view&, FlowLoss)> m_loss;
};

} // namespace ns3
