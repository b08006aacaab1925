// SPDX-License-Identifier: GPL-2.0-or-later
//
// Carries a packet's path header across the IP layer of a node that forwards it, and along a wire: the header stands below IP, and ns-3's
// forwarding knows nothing of it. On the air the header goes with the frame.
#pragma once

#include "host/core/hop/exact_rider.hpp"
#include "host/core/wire/path_header.hpp"

#include "ns3/tag.h"

namespace ns3
{

class PathHeaderTag : public Tag
{
  public:
    static TypeId GetTypeId();
    TypeId GetInstanceTypeId() const override;

    PathHeaderTag() = default;
    explicit PathHeaderTag(const perhop::wire::path_header& header, const perhop::hop::exact_rider& exact = {});

    const perhop::wire::path_header& GetHeader() const;
    const perhop::hop::exact_rider& GetExact() const;

    uint32_t GetSerializedSize() const override;
    void Serialize(TagBuffer buffer) const override;
    void Deserialize(TagBuffer buffer) override;
    void Print(std::ostream& os) const override;

  private:
    perhop::wire::path_header m_header;
    perhop::hop::exact_rider m_exact;
};

} // namespace ns3
