// SPDX-License-Identifier: GPL-2.0-or-later
#include "sim/ns3/path-header-tag.h"

#include <type_traits>

namespace ns3
{

// The tag never leaves this process, so the header is kept as it lies in memory: no coding on the hot path.
static_assert(std::is_trivially_copyable_v<perhop::wire::path_header> && std::is_trivially_copyable_v<perhop::hop::exact_rider>);

NS_OBJECT_ENSURE_REGISTERED(PathHeaderTag);

TypeId
PathHeaderTag::GetTypeId()
{
    static TypeId tid = TypeId("perhop::PathHeaderTag").SetParent<Tag>().AddConstructor<PathHeaderTag>();
    return tid;
}

TypeId
PathHeaderTag::GetInstanceTypeId() const
{
    return GetTypeId();
}

PathHeaderTag::PathHeaderTag(const perhop::wire::path_header& header, const perhop::hop::exact_rider& exact)
    : m_header(header),
      m_exact(exact)
{
}

const perhop::wire::path_header&
PathHeaderTag::GetHeader() const
{
    return m_header;
}

const perhop::hop::exact_rider&
PathHeaderTag::GetExact() const
{
    return m_exact;
}

uint32_t
PathHeaderTag::GetSerializedSize() const
{
    return sizeof(m_header) + sizeof(m_exact);
}

void
PathHeaderTag::Serialize(TagBuffer buffer) const
{
    buffer.Write(reinterpret_cast<const uint8_t*>(&m_header), sizeof(m_header));
    buffer.Write(reinterpret_cast<const uint8_t*>(&m_exact), sizeof(m_exact));
}

void
PathHeaderTag::Deserialize(TagBuffer buffer)
{
    buffer.Read(reinterpret_cast<uint8_t*>(&m_header), sizeof(m_header));
    buffer.Read(reinterpret_cast<uint8_t*>(&m_exact), sizeof(m_exact));
}

void
PathHeaderTag::Print(std::ostream& os) const
{
    os << "hops=" << static_cast<unsigned>(m_header.hops) << " total_delay_us=" << m_header.total_delay_us
       << " max_delay_us=" << m_header.max_delay_us;
}

} // namespace ns3
