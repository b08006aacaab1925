// SPDX-License-Identifier: GPL-2.0-or-later
#include "sim/ns3/frame-capture.h"

#include "sim/ns3/packet-rewrite.h"

#include "host/core/wire/generated/frames.hpp"
#include "host/core/wire/path_header.hpp"

#include <algorithm>

namespace ns3
{

void
WriteMsdu(const PacketSlot& slot, bool pathHeader, std::vector<uint8_t>& msdu)
{
    const uint32_t ipBytes = slot.packet->GetSize();
    if (slot.hello)
    {
        msdu.resize(perhop::llc_snap_bytes + ipBytes);
        const std::span<uint8_t> bytes(msdu);
        perhop::wire::llc_snap{.ethertype = perhop::exact_hello_ethertype}.encode(bytes.first<perhop::wire::llc_snap::size_bytes>());
        slot.packet->CopyData(bytes.subspan(perhop::llc_snap_bytes).data(), ipBytes);
        return;
    }
    const uint32_t riderBytes = RiderBytes(slot.exact);
    const uint32_t headerBytes = perhop::llc_snap_bytes + (pathHeader ? perhop::path_header_bytes : 0);
    msdu.resize(headerBytes + riderBytes + ipBytes);
    const std::span<uint8_t> bytes(msdu);
    perhop::wire::llc_snap{.ethertype = pathHeader ? perhop::path_header_ethertype : perhop::ipv4_ethertype}.encode(
        bytes.first<perhop::wire::llc_snap::size_bytes>());
    if (pathHeader)
    {
        std::ranges::copy(perhop::wire::encode(slot.header), bytes.subspan(perhop::llc_snap_bytes).begin());
    }
    const std::span<uint8_t> behind = bytes.subspan(headerBytes);
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
}

FrameCapture::FrameCapture(const std::filesystem::path& file, const perhop::air::mac_config& mac, std::size_t nodes, PacketSlots& slots)
    : m_writer(file, *mac.profile, nodes),
      m_slots(slots),
      m_pathHeader(mac.path_header)
{
}

void
FrameCapture::Write(const perhop::air::transmission& frame)
{
    if (frame.kind == perhop::frame_kind::data)
    {
        WriteMsdu(m_slots.Get(frame.payload), m_pathHeader, m_msdu);
        m_writer.write(frame, m_msdu);
    }
    else
    {
        m_writer.write(frame);
    }
}

void
FrameCapture::WriteBytes(const perhop::air::transmission& frame, perhop::air::byte_span psdu)
{
    m_writer.write_psdu(frame, psdu);
}

} // namespace ns3
