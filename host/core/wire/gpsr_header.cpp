// SPDX-License-Identifier: GPL-2.0-or-later

#include "host/core/wire/gpsr_header.hpp"

#include "host/core/wire/generated/frames.hpp"
#include "host/core/wire/raw_frames.hpp"

namespace perhop::wire {

namespace {

std::uint32_t raw(std::int32_t mm) { return static_cast<std::uint32_t>(mm); }

gpsr_position position(std::uint32_t x_mm, std::uint32_t y_mm) {
  return {static_cast<std::int32_t>(x_mm), static_cast<std::int32_t>(y_mm)};
}

}  // namespace

std::vector<std::uint8_t> encode(const gpsr_header& header) {
  std::vector<std::uint8_t> bytes;
  if (!header.route) {
    append(bytes, gpsr_beacon{.node = header.sender, .x_mm = raw(header.sender_at.x_mm), .y_mm = raw(header.sender_at.y_mm)});
    return bytes;
  }
  const gpsr_route& route = *header.route;
  append(bytes, gpsr_data{.flags = route.perimeter ? gpsr_data::flags_perimeter : std::uint8_t{0},
                          .next_header = route.next_header,
                          .sender = header.sender,
                          .sender_x_mm = raw(header.sender_at.x_mm),
                          .sender_y_mm = raw(header.sender_at.y_mm),
                          .destination_x_mm = raw(route.destination.x_mm),
                          .destination_y_mm = raw(route.destination.y_mm)});
  if (const auto& perimeter = route.perimeter) {
    append(bytes, gpsr_perimeter_fields{.entered_x_mm = raw(perimeter->entered.x_mm),
                                        .entered_y_mm = raw(perimeter->entered.y_mm),
                                        .face_x_mm = raw(perimeter->face.x_mm),
                                        .face_y_mm = raw(perimeter->face.y_mm),
                                        .first_edge_from = perimeter->first_edge_from,
                                        .first_edge_to = perimeter->first_edge_to});
  }
  return bytes;
}

std::optional<decoded_gpsr_header> decode_gpsr_header(std::span<const std::uint8_t> bytes) {
  if (const auto beacon = gpsr_beacon::decode(bytes)) {
    return decoded_gpsr_header{.header = {.sender = beacon->node, .sender_at = position(beacon->x_mm, beacon->y_mm)},
                               .size_bytes = gpsr_beacon::size_bytes};
  }
  const std::size_t given_bytes = bytes.size();
  const auto data = take<gpsr_data>(bytes);
  if (!data || (data->flags & ~gpsr_data::flags_perimeter) != 0) return std::nullopt;
  gpsr_route route{.next_header = data->next_header, .destination = position(data->destination_x_mm, data->destination_y_mm)};
  if ((data->flags & gpsr_data::flags_perimeter) != 0) {
    const auto perimeter = take<gpsr_perimeter_fields>(bytes);
    if (!perimeter) return std::nullopt;
    route.perimeter = {.entered = position(perimeter->entered_x_mm, perimeter->entered_y_mm),
                       .face = position(perimeter->face_x_mm, perimeter->face_y_mm),
                       .first_edge_from = perimeter->first_edge_from,
                       .first_edge_to = perimeter->first_edge_to};
  }
  return decoded_gpsr_header{
      .header = {.sender = data->sender, .sender_at = position(data->sender_x_mm, data->sender_y_mm), .route = route},
      .size_bytes = given_bytes - bytes.size()};
}

}  // namespace perhop::wire
