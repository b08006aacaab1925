// SPDX-License-Identifier: GPL-2.0-or-later
#include "sim/air/frame_fields.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <type_traits>

namespace perhop::air {

namespace {

std::uint64_t address_at(byte_span bytes, std::size_t offset) {
  std::uint64_t address = 0;
  for (const std::uint8_t octet : bytes.subspan(offset, 6)) address = address << 8 | octet;
  return address;
}

}  // namespace

frame_fields read_frame(byte_span psdu) {
  if (const auto rts = wire::rts_frame::decode(psdu); rts && psdu.size() == rts_bytes) {
    return {.kind = frame_kind::rts,
            .duration_us = rts->duration_us,
            .ra = rts->receiver_address,
            .ta = rts->transmitter_address,
            .header_bytes = wire::rts_frame::size_bytes};
  }
  if (const auto cts = wire::cts_frame::decode(psdu); cts && psdu.size() == cts_bytes) {
    return {
        .kind = frame_kind::cts, .duration_us = cts->duration_us, .ra = cts->receiver_address, .header_bytes = wire::cts_frame::size_bytes};
  }
  if (const auto mac_ack = wire::mac_ack_frame::decode(psdu); mac_ack && psdu.size() == mac_ack_bytes) {
    return {.kind = frame_kind::mac_ack,
            .duration_us = mac_ack->duration_us,
            .ra = mac_ack->receiver_address,
            .header_bytes = wire::mac_ack_frame::size_bytes};
  }
  // A header with four addresses is one with three, but for the bits to DS and from DS and what follows.
  constexpr std::uint8_t to_and_from_ds = 0x03;
  std::array<std::uint8_t, wire::data_header::size_bytes> header{};
  if (psdu.size() < header.size() + fcs_bytes) return {};
  std::copy_n(psdu.begin(), header.size(), header.begin());
  const bool four_address = (header[1] & to_and_from_ds) == to_and_from_ds;
  if (four_address) header[1] &= static_cast<std::uint8_t>(~to_and_from_ds);
  const auto data = wire::data_header::decode(header);
  if (!data || (four_address && psdu.size() < header.size() + fourth_address_bytes + fcs_bytes)) return {};
  return {.kind = frame_kind::data,
          .duration_us = data->duration_us,
          .ra = data->receiver_address,
          .ta = data->transmitter_address,
          .sequence = data->sequence,
          .retry = data->retry != 0,
          .header_bytes = header.size() + (four_address ? fourth_address_bytes : 0),
          .a3 = data->bssid,
          .a4 = four_address ? address_at(psdu, header.size()) : 0};
}

rx_status unpack_rx_status(const std::uint32_t* words) {
  std::size_t above = 0;
  for (const record_field& field : rx_status_fields) above += field.width_bits;
  rx_status status;
  std::size_t index = 0;
  for_each_field(status, [&](std::string_view, auto& value) {
    const std::size_t width = rx_status_fields[index++].width_bits;
    above -= width;
    std::uint64_t bits = 0;
    for (std::size_t bit = 0; bit < width; ++bit) bits |= std::uint64_t{words[(above + bit) / 32] >> (above + bit) % 32 & 1} << bit;
    value = static_cast<std::remove_reference_t<decltype(value)>>(bits);
  });
  return status;
}

}  // namespace perhop::air
