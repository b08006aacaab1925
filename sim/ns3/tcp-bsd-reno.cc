// SPDX-License-Identifier: GPL-2.0-or-later
#include "sim/ns3/tcp-bsd-reno.h"

#include <algorithm>

namespace ns3
{
namespace
{

constexpr uint32_t LARGEST_WINDOW_BYTES = 65535;
constexpr uint32_t LEAST_THRESHOLD_SEGMENTS = 2;

} // namespace

NS_OBJECT_ENSURE_REGISTERED(TcpBsdReno);

TypeId
TcpBsdReno::GetTypeId()
{
    static TypeId tid = TypeId("perhop::TcpBsdReno").SetParent<TcpNewReno>().AddConstructor<TcpBsdReno>();
    return tid;
}

std::string
TcpBsdReno::GetName() const
{
    return "TcpBsdReno";
}

void
TcpBsdReno::IncreaseWindow(Ptr<TcpSocketState> state, uint32_t)
{
    const uint32_t window = state->m_cWnd;
    const uint32_t segment = state->m_segmentSize;
    const uint32_t step = window > state->m_ssThresh ? segment * segment / window : segment;
    state->m_cWnd = std::min(window + step, std::max(window, LARGEST_WINDOW_BYTES));
}

uint32_t
TcpBsdReno::GetSsThresh(Ptr<const TcpSocketState> state, uint32_t)
{
    const uint32_t segment = state->m_segmentSize;
    const uint32_t halfSegments = std::min(state->m_cWnd.Get(), m_advertisedBytes) / 2 / segment;
    return std::max(halfSegments, LEAST_THRESHOLD_SEGMENTS) * segment;
}

Ptr<TcpCongestionOps>
TcpBsdReno::Fork()
{
    return CopyObject<TcpBsdReno>(this);
}

void
TcpBsdReno::SetAdvertisedWindow(uint32_t bytes)
{
    m_advertisedBytes = bytes;
}

} // namespace ns3
