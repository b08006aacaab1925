// SPDX-License-Identifier: GPL-2.0-or-later
//
// The bytes of a packet on the air, and packets.pcapng of a run with ns-3 on top: adds to the medium's frames the bytes that only this side
// has, unless the gateware's framer made them.
#pragma once

#include "sim/air/air_config.hpp"
#include "sim/air/pcapng.hpp"
#include "sim/ns3/packet-slots.h"

namespace ns3
{

/// The MSDU: LLC/SNAP, path header, what EXACT puts behind it, and the IP packet as it is at this hop; or a hello of EXACT.
void WriteMsdu(const PacketSlot& slot, bool pathHeader, std::vector<uint8_t>& msdu);

class FrameCapture
{
  public:
    /// @param slots where the payloads of DATA frames are
    /// @param chosen nodes whose frames are kept (pcapng_writer)
    FrameCapture(const std::filesystem::path& file,
                 const perhop::air::mac_config& mac,
                 std::size_t nodes,
                 const std::vector<perhop::air::node_id>& chosen,
                 PacketSlots& slots);

    void Write(const perhop::air::transmission& frame);
    /// At fidelity bytes.
    void WriteBytes(const perhop::air::transmission& frame, perhop::air::byte_span psdu);

    void Note(const perhop::air::lost_frame& lost)
    {
        m_writer.note(lost);
    }

    /// @throws std::runtime_error when writing fails
    void Finish()
    {
        m_writer.finish();
    }

  private:
    perhop::air::pcapng_writer m_writer;
    PacketSlots& m_slots;
    bool m_pathHeader;
    std::vector<uint8_t> m_msdu;
};

} // namespace ns3
