// SPDX-License-Identifier: GPL-2.0-or-later
//
// packets.pcapng of a run with ns-3 on top: adds to the medium's frames the bytes that only this side has.
#pragma once

#include "sim/air/air_config.hpp"
#include "sim/air/pcapng.hpp"
#include "sim/ns3/packet-slots.h"

namespace ns3
{

class FrameCapture
{
  public:
    /// @param slots where the payloads of DATA frames are
    FrameCapture(const std::filesystem::path& file, const perhop::air::mac_config& mac, PacketSlots& slots);

    void Write(const perhop::air::transmission& frame);

  private:
    perhop::air::pcapng_writer m_writer;
    PacketSlots& m_slots;
    bool m_pathHeader;
    std::vector<uint8_t> m_msdu;
};

} // namespace ns3
