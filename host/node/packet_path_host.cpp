// SPDX-License-Identifier: GPL-2.0-or-later
//
// What the hop path asks of the daemon: where a packet goes, how long its frame is, its bytes for the MAC, and what is kept of its
// connection.
#include <algorithm>
#include <utility>

#include "host/node/packet_path.hpp"

namespace perhop::node {

packet_path::packet packet_path::packet_of(std::span<const std::uint8_t> bytes, const shim::ip_packet& read, bool own) const {
  return {.view = read.view,
          .from = own ? hop::origin::here : hop::origin::elsewhere,
          .content = {.bytes = std::vector<std::uint8_t>(bytes.begin(), bytes.end()), .read = read}};
}

std::optional<std::uint64_t> packet_path::receiver_of(packet& what) {
  std::optional<route>& to = what.content.to;
  if (!to) to = what.content.read.group ? route{.kind = route_kind::group} : kernel_.find_route(what.view.flow.destination, true);
  if (to->kind != route_kind::radio && to->kind != route_kind::group) {
    ++counters_.no_route;
    return std::nullopt;
  }
  const std::optional<std::uint64_t> address =
      to->kind == route_kind::group ? std::optional(broadcast_address) : neighbours_.find(to->next_hop);
  if (!address) ++counters_.no_neighbour;
  return address;
}

std::uint8_t packet_path::data_rate_to(std::uint64_t receiver_address) const {
  if ((receiver_address >> group_address_bit & 1) != 0) return static_cast<std::uint8_t>(mac_->profile->lowest_basic_rate_index);
  const auto own = data_rates_.find(receiver_address);
  return own != data_rates_.end() && own->second < mac_->profile->rates.size() ? own->second : mac_->data_rate_index;
}

shim::next_hop packet_path::describe(const packet& what, std::uint64_t receiver, std::uint8_t peer) {
  neighbour_sums_.open(peer, receiver);
  return {.peer = peer,
          .rate_index = data_rate_to(receiver),
          .mpdu_bytes = static_cast<std::uint32_t>(mac_header_bytes + llc_snap_bytes + path_header_bytes + hop::rider_size(what.rider) +
                                                   what.content.bytes.size() + fcs_bytes)};
}

void packet_path::before_leaving(packet& what) {
  if (what.view.flow.protocol != shim::ip_protocol_tcp) return;
  const shim::tcp_view& tcp = what.view.tcp;
  flow& sent = flow_of(what.view.flow);
  sent.opened |= !tcp.rst && !(tcp.syn && tcp.has_tcp_ack);
  tell_segment(sent, what);
  if (tcp.payload_bytes != 0) {
    ++counters_.data_segments;
    ++sent.data_segments;
  }
  if (tcp.is_bare_tcp_ack()) ++counters_.bare_tcp_acks;
}

void packet_path::on_left(time_us now, packet& what, std::uint64_t receiver, const wire::path_header& header, std::uint64_t) {
  if (exact_) exact_->on_left(now, what, receiver, header);
  const bool own = what.from == hop::origin::here;
  flow_sums_.note(now, what.view.flow, own ? flow_role::originated : flow_role::forwarded, what.view.ip_bytes);
  if (what.from == hop::origin::radio) ++counters_.forwarded;
  if (!own) return;
  if (what.view.flow.protocol == shim::ip_protocol_tcp) {
    flow& sent = flow_of(what.view.flow);
    sent.most_in_flight = std::max(sent.most_in_flight, path_.shim().packets_in_flight(what.view.flow));
    tell_limit(what.view.flow, sent);
  }
  tell_window(what, header);
  if (what.content.read.transport_at != 0 && path_.shim().strip_window_scaling(what.view)) {
    shim::strip_window_scaling(what.content.bytes, what.content.read);
  }
}

/// Nothing where it is not known: of a connection that was open before this daemon, until its first TCP ACK.
void packet_path::tell_window(packet& what, const wire::path_header& header) const {
  const shim::tcp_view& tcp = what.view.tcp;
  if (tcp.payload_bytes == 0 || tcp.is_signed || what.content.read.transport_at == 0 || header.packets_in_flight == 0) return;
  switch (config_.tell_window) {
    case shim::window_telling::path_header:
      break;
    case shim::window_telling::option:
      shim::write_window_option(what.content.bytes, what.content.read, header.packets_in_flight);
      break;
    case shim::window_telling::window_field:
      shim::write_window(what.content.bytes, what.content.read, header.packets_in_flight * tcp.payload_bytes);
      break;
  }
}

packet_path::frame packet_path::make(time_us now, packet&& what, const wire::path_header& header, std::uint64_t,
                                     const shim::next_hop& next) {
  std::vector<std::uint8_t> msdu(wire::llc_snap::size_bytes);
  msdu.reserve(llc_snap_bytes + path_header_bytes + hop::rider_size(what.rider) + what.content.bytes.size());
  wire::llc_snap{}.encode(std::span<std::uint8_t, wire::llc_snap::size_bytes>(msdu));
  const wire::path_header_buffer encoded = wire::encode(header);
  msdu.insert(msdu.end(), encoded.begin(), encoded.end());
  hop::append_rider(msdu, what.rider);
  msdu.insert(msdu.end(), what.content.bytes.begin(), what.content.bytes.end());
  return {.msdu = std::move(msdu), .peer = next.peer, .next_hop = what.content.to->next_hop, .since = now};
}

packet_path::frame packet_path::make_hello(time_us now, std::span<const std::uint8_t> hello, std::uint8_t peer, std::uint32_t) {
  std::vector<std::uint8_t> msdu(wire::llc_snap::size_bytes);
  wire::llc_snap{.ethertype = exact_hello_ethertype}.encode(std::span<std::uint8_t, wire::llc_snap::size_bytes>(msdu));
  msdu.insert(msdu.end(), hello.begin(), hello.end());
  ++counters_.hellos_sent;
  neighbour_sums_.open(peer, broadcast_address);
  return {.msdu = std::move(msdu), .peer = peer, .since = now};
}

void packet_path::submit(time_us now, queue_entry&& first) {
  const bool group = (first.receiver_address >> group_address_bit & 1) != 0;
  if (driver_.send({.receiver_address = first.receiver_address,
                    .peer = first.what.peer,
                    .rate_index = data_rate_to(first.receiver_address),
                    .use_rts = !group && first.mpdu_bytes > mac_->rts_threshold_bytes,
                    .cookie = next_cookie_,
                    .msdu = first.what.msdu})) {
    given_.push_back({.cookie = next_cookie_++, .receiver_address = first.receiver_address, .next_hop = first.what.next_hop});
    neighbour_sums_.note_given(first.what.peer, static_cast<std::uint64_t>(now - first.what.since));
  } else {
    ++counters_.mac_refused;
  }
  watch_given();
}

void packet_path::on_room(hop::room_event event, const shim::ip_packet_view& view) {
  switch (event) {
    case hop::room_event::tcp_ack_held:
      ++counters_.tcp_acks_held;
      break;
    case hop::room_event::paced:
      ++counters_.paced;
      break;
    case hop::room_event::paced_lost:
      note_queue_drop(view);
      break;
    case hop::room_event::tcp_ack_due:
    case hop::room_event::tcp_ack_repeated:
      break;
  }
}

/// A connection whose SYN this daemon has not seen (it was started anew since): its full segment is taken to fill the interface.
void packet_path::tell_segment(flow& flow, packet& what) const {
  constexpr std::uint32_t timestamps_bytes = 12, tcp_bytes = 20, ipv4_bytes = 20, ipv6_bytes = 40;
  flow.handshake_seen |= what.view.tcp.syn;
  if (flow.handshake_seen) return;
  what.view.tcp.segment_bytes =
      static_cast<std::uint16_t>(config_.mtu_bytes - (what.content.read.ipv6 ? ipv6_bytes : ipv4_bytes) - tcp_bytes - timestamps_bytes);
}

}  // namespace perhop::node
