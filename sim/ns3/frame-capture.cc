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
    msdu.resize(perhop::llc_snap_bytes);
    const uint16_t ethertype = pathHeader ? perhop::path_header_ethertype : perhop::ipv4_ethertype;
    perhop::wire::llc_snap{.ethertype = ethertype}.encode(std::span(msdu).first<perhop::wire::llc_snap::size_bytes>());
    if (pathHeader)
    {
        const auto header = perhop::wire::encode(slot.header);
        msdu.insert(msdu.end(), header.begin(), header.end());
    }
    perhop::hop::append_rider(msdu, slot.exact);
    const std::size_t ipAt = msdu.size();
    msdu.resize(ipAt + ipBytes);
    const std::span<uint8_t> ip = std::span(msdu).subspan(ipAt);
    slot.packet->CopyData(ip.data(), ipBytes);
    if (slot.ttlSpent != 0)
    {
        LowerTtl(ip, slot.ttlSpent);
    }
    if (slot.route && !slot.route->bytes.empty())
    {
        InsertRouteHeader(msdu, ipAt, *slot.route);
    }
}

FrameCapture::FrameCapture(const std::filesystem::path& file,
                           const perhop::air::mac_config& mac,
                           std::size_t nodes,
                           const std::vector<perhop::air::node_id>& chosen,
                           PacketSlots& slots)
    : m_writer(file, *mac.profile, nodes, chosen),
      m_slots(slots),
      m_pathHeader(mac.path_header)
{
}

void
FrameCapture::Write(const perhop::air::transmission& frame)
{
    if (!m_writer.keeps(frame))
    {
        return; // nor are its bytes made
    }
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
