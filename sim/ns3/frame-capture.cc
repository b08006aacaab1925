// SPDX-License-Identifier: GPL-2.0-or-later
#include "sim/ns3/frame-capture.h"

#include "sim/ns3/packet-rewrite.h"

#include "host/core/wire/generated/frames.hpp"
#include "host/core/wire/path_header.hpp"

#include <algorithm>

namespace ns3
{

FrameCapture::FrameCapture(const std::filesystem::path& file, const perhop::air::mac_config& mac, PacketSlots& slots)
    : m_writer(file, *mac.profile),
      m_slots(slots),
      m_pathHeader(mac.path_header)
{
}

void
FrameCapture::Write(const perhop::air::transmission& frame)
{
    if (frame.kind != perhop::frame_kind::data)
    {
        m_writer.write(frame);
        return;
    }
    const PacketSlot& slot = m_slots.Get(frame.payload);
    const uint32_t ipBytes = slot.packet->GetSize();
    if (slot.hello)
    {
        m_msdu.resize(perhop::llc_snap_bytes + ipBytes);
        const std::span<uint8_t> msdu(m_msdu);
        perhop::wire::llc_snap{.ethertype = perhop::exact_hello_ethertype}.encode(msdu.first<perhop::wire::llc_snap::size_bytes>());
        slot.packet->CopyData(msdu.subspan(perhop::llc_snap_bytes).data(), ipBytes);
        m_writer.write(frame, m_msdu);
        return;
    }
    const uint32_t riderBytes = RiderBytes(slot.exact);
    const uint32_t headerBytes = perhop::llc_snap_bytes + (m_pathHeader ? perhop::path_header_bytes : 0);
    m_msdu.resize(headerBytes + riderBytes + ipBytes);
    const std::span<uint8_t> msdu(m_msdu);
    perhop::wire::llc_snap{.ethertype = m_pathHeader ? perhop::path_header_ethertype : perhop::ipv4_ethertype}.encode(
        msdu.first<perhop::wire::llc_snap::size_bytes>());
    if (m_pathHeader)
    {
        std::ranges::copy(perhop::wire::encode(slot.header), msdu.subspan(perhop::llc_snap_bytes).begin());
    }
    const std::span<uint8_t> behind = msdu.subspan(headerBytes);
    if (const auto* data = std::get_if<perhop::wire::exact_header>(&slot.exact))
    {
        std::ranges::copy(perhop::wire::encode(*data), behind.begin());
    }
    else if (const auto* report = std::get_if<perhop::wire::exact_report>(&slot.exact))
    {
        std::ranges::copy(perhop::wire::encode(*report), behind.begin());
    }
    const std::span<uint8_t> ip = behind.subspan(riderBytes);
    slot.packet->CopyData(ip.data(), ipBytes);
    if (slot.ttlSpent != 0)
    {
        LowerTtl(ip, slot.ttlSpent);
    }
    m_writer.write(frame, m_msdu);
}

} // namespace ns3
