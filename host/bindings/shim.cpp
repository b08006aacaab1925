// SPDX-License-Identifier: GPL-2.0-or-later
//
// host/core/shim: views of packets, and what a node runs between IP and the MAC.

#include "host/core/shim/shim.hpp"
#include "host/core/shim/ip_packet.hpp"
#include "host/core/shim/told_window.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "host/bindings/addresses.hpp"
#include "host/bindings/bind.hpp"
#include "host/bindings/clock.hpp"
#include "host/bindings/profile.hpp"
#include "host/bindings/record.hpp"

namespace perhop::bindings {

using namespace perhop::shim;

namespace {

/// A shim that refuses a rate which its profile does not have, and a time before the last.
struct guarded_shim {
  const timing_profile* profile;
  shim::shim node;
  monotonic_clock clock{};

  const next_hop& known(const next_hop& hop) const {
    rate_of("NextHop.rate_index", hop.rate_index, *profile);
    return hop;
  }
};

void bind_views(nb::module_& module) {
  module.attr("IP_PROTOCOL_TCP") = ip_protocol_tcp;
  module.attr("IP_PROTOCOL_UDP") = ip_protocol_udp;

  record<flow_key>(module, "FlowKey", "One direction of a connection. Ports are 0 where the protocol has none.")
      .field("source", &flow_key::source, "IP address")
      .field("destination", &flow_key::destination, "IP address")
      .field("source_port", &flow_key::source_port, "0 where the protocol has none")
      .field("destination_port", &flow_key::destination_port, "0 where the protocol has none")
      .field("protocol", &flow_key::protocol, "IP protocol number; TCP is 6")
      .done()
      .def("reversed", &flow_key::reversed, "The other direction.");

  record<tcp_view>(module, "TcpView", "The part of a TCP header that the shim reads.")
      .field("syn", &tcp_view::syn, "the SYN flag")
      .field("fin", &tcp_view::fin, "the FIN flag")
      .field("rst", &tcp_view::rst, "the RST flag")
      .field("has_tcp_ack", &tcp_view::has_tcp_ack, "the ACK flag")
      .field("sequence", &tcp_view::sequence, "sequence number")
      .field("tcp_ack", &tcp_view::tcp_ack, "acknowledgement number, with the ACK flag")
      .field("window_bytes", &tcp_view::window_bytes, "as advertised: the window field, times 2^scale where scaling is in use")
      .field("payload_bytes", &tcp_view::payload_bytes, "data in this packet")
      .field("mss_option_bytes", &tcp_view::mss_option_bytes, "MSS option of a SYN, 0 when absent")
      .field("timestamps", &tcp_view::timestamps, "timestamps option of a SYN")
      .field("segment_bytes", &tcp_view::segment_bytes, "full segment of this connection where known, else 0")
      .field("sack_blocks", &tcp_view::sack_blocks, "carries a SACK option with blocks")
      .field("is_signed", &tcp_view::is_signed, "carries a digest of itself, TCP-MD5 or TCP-AO: the window stays as it is")
      .field("congestion_window_packets", &tcp_view::congestion_window_packets, "of the sender; 0: told from its segments")
      .field("told_window_packets", &tcp_view::told_window_packets, "of the sender, by the window option; 0: not told there")
      .field("timestamp_value", &tcp_view::timestamp_value, "TSval of the timestamps option, or None")
      .field("timestamp_echo", &tcp_view::timestamp_echo, "TSecr of the timestamps option, or None")
      .done();

  record<exact_view>(module, "ExactView", "What the EXACT sender of a packet says of its flow.")
      .field("wanted_rate_bps", &exact_view::wanted_rate_bps, "what the flow would like, b/s")
      .field("current_rate_bps", &exact_view::current_rate_bps, "what it uses, b/s; 0: no EXACT data")
      .field("follows", &exact_view::follows, "an ExactHeader or ExactReport stands behind the path header")
      .done();

  record<ip_packet_view>(module, "IpPacketView", "What the shim wants to know about an IP packet.")
      .field("flow", &ip_packet_view::flow, "as this packet carries it")
      .field("ip_bytes", &ip_packet_view::ip_bytes, "IP header and all that follows")
      .field("ttl", &ip_packet_view::ttl, "as in the packet; 0 when it cannot be told")
      .field("tcp", &ip_packet_view::tcp, "read when flow.protocol is TCP")
      .field("exact", &ip_packet_view::exact, "read where this node originates the packet")
      .done();

  nb::enum_<hop_medium>(module, "HopMedium", "What a hop goes over.")
      .value("wireless", hop_medium::wireless)
      .value("wired", hop_medium::wired);

  record<next_hop>(module, "NextHop", "Where a packet goes next, and how.")
      .field("peer", &next_hop::peer, "slot of the MAC's neighbour table")
      .field("rate_index", &next_hop::rate_index, "place in rates_bps(profile)")
      .field("mpdu_bytes", &next_hop::mpdu_bytes, "the whole MPDU: MAC header, LLC/SNAP, path header, IP, FCS", {.low = 0, .high = 65535})
      .field("medium", &next_hop::medium, "wireless or wired")
      .done();
}

std::vector<std::uint8_t> copy_of(const nb::bytes& packet) {
  const auto* const data = static_cast<const std::uint8_t*>(packet.data());
  return {data, data + packet.size()};
}

nb::bytes bytes_of(const std::vector<std::uint8_t>& packet) { return nb::bytes(packet.data(), packet.size()); }

ip_packet read_or_refuse(const std::vector<std::uint8_t>& packet) {
  const auto read = read_ip(packet);
  if (!read) throw nb::value_error("packet is no IP packet, or not all of one");
  return *read;
}

void bind_packets(nb::module_& module) {
  module.def(
      "read_ip", [](const nb::bytes& packet) { return read_or_refuse(copy_of(packet)).view; }, nb::arg("packet"),
      "What the shim reads of the bytes of an IPv4 or IPv6 packet.");
  module.def(
      "with_window_option",
      [](const nb::bytes& packet, number<"packets"> packets, number<"most_ip_bytes"> most_ip_bytes) -> std::optional<nb::bytes> {
        std::vector<std::uint8_t> bytes = copy_of(packet);
        ip_packet read = read_or_refuse(bytes);
        if (!add_window_option(bytes, read, most_ip_bytes)) return std::nullopt;
        write_window_option(bytes, read, packets);
        return bytes_of(bytes);
      },
      nb::arg("packet"), nb::arg("packets"), nb::arg("most_ip_bytes") = 1500,
      "The packet with an option that tells the sender's packets in flight; None where it has no room.");
  module.def(
      "with_window",
      [](const nb::bytes& packet, number<"window_bytes"> window_bytes) {
        std::vector<std::uint8_t> bytes = copy_of(packet);
        const ip_packet read = read_or_refuse(bytes);
        if (read.transport_at == 0 || !read.view.is_tcp()) throw nb::value_error("packet is no readable TCP segment");
        write_window(bytes, read, window_bytes);
        return bytes_of(bytes);
      },
      nb::arg("packet"), nb::arg("window_bytes"), "The packet with another window field.");
}

}  // namespace

void bind_shim(nb::module_& module) {
  bind_views(module);
  bind_packets(module);

  record<flow_policy>(module, "FlowPolicy",
                      "The policies of one direction of a connection. The node that originates its data uses cwl and pacing, the node\n"
                      "that receives the data uses tcp_ack; each ignores the rest, so that both can be told the same.")
      .field("cwl", &flow_policy::cwl, "congestion window limit")
      .field("tcp_ack", &flow_policy::tcp_ack, "which TCP ACKs are sent")
      .field("pacing", &flow_policy::pacing, "when packets are sent")
      .done();

  record<tcp_ack_due>(module, "TcpAckDue", "A TCP ACK to send because its time has come.")
      .field("flow", &tcp_ack_due::flow, "as the TCP ACK carries it")
      .field("release", &tcp_ack_due::release, "what to do")
      .done();

  nb::class_<receive_verdict>(module, "ReceiveVerdict", "What to do with a packet that arrived for this node. It is always delivered.")
      .def_ro("window_bytes", &receive_verdict::window_bytes, "Window to write into the TCP header before delivery, or None.")
      .def_ro("strip_window_scaling", &receive_verdict::strip_window_scaling, "A SYN: remove its window scaling option.");

  nb::class_<shim_counters>(module, "ShimCounters", "Packets and events counted since the start.")
      .def_ro("originated", &shim_counters::originated)
      .def_ro("forwarded", &shim_counters::forwarded)
      .def_ro("received", &shim_counters::received)
      .def_ro("windows_rewritten", &shim_counters::windows_rewritten)
      .def_prop_ro("malformed", &shim_counters::malformed, "Packets dropped for their header, all reasons.")
      .def(
          "malformed_by_reason",
          [](const shim_counters& self, wire::decode_error reason) { return self.malformed_by_reason[static_cast<std::size_t>(reason)]; },
          nb::arg("reason"), "Packets dropped for their header, for one reason.")
      .def_ro("silent_router_seen", &shim_counters::silent_router_seen, "Packets that arrived without a header or with that flag.")
      .def_ro("unknown_flow", &shim_counters::unknown_flow, "Echoes for connections on which this node has sent nothing.")
      .def_ro("unknown_peer", &shim_counters::unknown_peer, "Completions for a slot that does not exist.")
      .def_ro("tcp_acks_held", &shim_counters::tcp_acks_held, "Times that on_tcp_ack said hold.")
      .def("tcp_acks", &shim_counters::tcp_acks, nb::arg("reason"), "TCP ACKs sent of thinned connections, for one reason.")
      .def_ro("packets_delayed", &shim_counters::packets_delayed, "Times that release_time was later than now.")
      .def_ro("late_syns", &shim_counters::late_syns, "SYNs that changed nothing: of an open connection, or an answer to none.")
      .def_ro("signed_segments", &shim_counters::signed_segments, "Under a window limit that could not be written into them.")
      .def_ro("flows_expired", &shim_counters::flows_expired)
      .def_ro("flows_evicted", &shim_counters::flows_evicted, "Forgotten to make room.");

  nb::class_<guarded_shim>(
      module, "Shim",
      "What a node runs between IP and the MAC: stamps the path header on what leaves, reads it from what arrives, and holds TCP's\n"
      "window to the congestion window limit. It sees views of packets, not packets. C++: shim::shim, README of host/core.")
      .def(
          "__init__",
          [](guarded_shim* self, const std::string& profile, const flow_policy& policy, number<"rts_threshold_bytes"> rts_threshold_bytes,
             number<"max_flows", std::uint32_t, 1, 1U << 22> max_flows, number<"flow_idle_us", std::uint64_t> flow_idle_us,
             const std::optional<policy::exact_router_config>& exact, bool window_field_tells) {
            const timing_profile* known = profile_of("profile", profile);
            std::optional<policy::exact_router_config> router = exact;
            if (router) router->profile = known;
            new (self) guarded_shim{known, shim::shim({.profile = known,
                                                       .rts_threshold_bytes = rts_threshold_bytes,
                                                       .policy = policy,
                                                       .window_field_tells = window_field_tells,
                                                       .max_flows = max_flows,
                                                       .flow_idle_us = flow_idle_us,
                                                       .exact = router})};
          },
          nb::kw_only(), nb::arg("profile") = "dsss_long", nb::arg("policy") = flow_policy{}, nb::arg("rts_threshold_bytes") = 0,
          nb::arg("max_flows") = 1024, nb::arg("flow_idle_us") = 60'000'000, nb::arg("exact") = nb::none(),
          nb::arg("window_field_tells") = false,
          "profile: a name of profiles(). policy: of every flow without its own. rts_threshold_bytes: as in the MAC. max_flows:\n"
          "connections remembered, the one idle longest makes room. flow_idle_us: a connection idle for longer is forgotten.\n"
          "exact: this node is an EXACT router; None: rates of EXACT flows pass as they are. window_field_tells: the window field of data\n"
          "that arrives holds the sender's congestion window.")
      .def(
          "set_flow_policy",
          [](guarded_shim& self, const flow_key& flow, const flow_policy& policy) { self.node.set_flow_policy(flow, policy); },
          nb::arg("flow"), nb::arg("policy"),
          "Gives one direction of a connection its own policies; flow as the packets with the data carry it, at both ends.")
      .def(
          "set_exact_weight",
          [](guarded_shim& self, const flow_key& flow, number<"weight", double> weight) {
            const double value = weight;
            if (!(value > 0)) refuse_value("weight", weight.given, "give a number above 0");
            self.node.set_exact_weight(flow, value);
          },
          nb::arg("flow"), nb::arg("weight"),
          "A flow's weight in this node's EXACT router; 1 without. Every router of the path must be told.")
      .def(
          "on_tcp_ack",
          [](guarded_shim& self, now_us now, const ip_packet_view& packet) { return self.node.on_tcp_ack(self.clock(now), packet); },
          nb::arg("now_us"), nb::arg("packet"),
          "The local TCP wants to send this packet. hold: keep it, in place of one of this flow that is kept already. pass: drop one\n"
          "that is kept, and send this one (release_time, on_originate). Packets other than TCP pass.")
      .def(
          "release_time",
          [](guarded_shim& self, now_us now, const ip_packet_view& packet) { return self.node.release_time(self.clock(now), packet); },
          nb::arg("now_us"), nb::arg("packet"),
          "When (us) a packet that this node originates may be sent, now or later. Ask once a packet, in order: the time is taken.")
      .def_prop_ro(
          "next_deadline", [](const guarded_shim& self) { return self.node.next_deadline(); },
          "When (us) expire wants to be called next, or None; in the past when it has something to tell at once.")
      .def(
          "expire",
          [](guarded_shim& self, now_us now) {
            const std::uint64_t time = self.clock(now);
            std::vector<tcp_ack_due> all;
            std::array<tcp_ack_due, 64> some;
            std::size_t count = 0;
            do {
              count = self.node.expire(time, some);
              all.insert(all.end(), some.begin(), some.begin() + static_cast<std::ptrdiff_t>(count));
            } while (count == some.size());
            return all;
          },
          nb::arg("now_us"),
          "Tells which TCP ACKs are due, and forgets that they were. send_held: send the packet that is kept. send_again: repeat the\n"
          "last bare TCP ACK. Both go through on_originate, not through on_tcp_ack.")
      .def(
          "on_round_trip",
          [](guarded_shim& self, now_us now, const flow_key& flow, number<"rtt_us"> rtt_us) {
            self.node.on_round_trip(self.clock(now), flow, rtt_us);
          },
          nb::arg("now_us"), nb::arg("flow"), nb::arg("rtt_us"), "A round trip (us) of a connection, measured by other means.")
      .def(
          "on_originate",
          [](guarded_shim& self, now_us now, const ip_packet_view& packet, const next_hop& hop,
             number<"packets_in_flight"> packets_in_flight) {
            return self.node.on_originate(self.clock(now), packet, self.known(hop), packets_in_flight);
          },
          nb::arg("now_us"), nb::arg("packet"), nb::arg("hop"), nb::arg("packets_in_flight"),
          "This node queues a packet of its own. Returns the header for it, this hop already added.")
      .def(
          "strip_window_scaling",
          [](const guarded_shim& self, const ip_packet_view& packet) { return self.node.strip_window_scaling(packet); }, nb::arg("packet"),
          "Whether the packet of on_originate is a SYN whose window scaling option must be removed.")
      .def(
          "on_forward",
          [](guarded_shim& self, now_us now, const std::optional<wire::path_header>& header, const ip_packet_view& packet,
             const next_hop& hop) {
            if (!header) return self.node.on_forward_plain(self.clock(now), packet, self.known(hop));
            wire::path_header updated = *header;
            self.node.on_forward(self.clock(now), updated, packet, self.known(hop));
            return updated;
          },
          nb::arg("now_us"), nb::arg("header").none(), nb::arg("packet"), nb::arg("hop"),
          "This node passes a packet on. Returns its header with this hop added; for a packet that came without one (None), a header\n"
          "that tells so.")
      .def(
          "parse",
          [](guarded_shim& self, nb::bytes data) { return self.node.parse({static_cast<const std::uint8_t*>(data.data()), data.size()}); },
          nb::arg("data"), "Bytes after LLC/SNAP. Returns the header; None when malformed: it has been counted, drop the packet.")
      .def(
          "on_receive",
          [](guarded_shim& self, now_us now, const std::optional<wire::path_header>& header, const ip_packet_view& packet) {
            return self.node.on_receive(self.clock(now), header, packet);
          },
          nb::arg("now_us"), nb::arg("header").none(), nb::arg("packet"), "A packet for this node; header None when it came as plain IP.")
      .def(
          "on_completion",
          [](guarded_shim& self, now_us now, const policy::neighbour_averages& averages) {
            self.node.on_completion(self.clock(now), averages);
          },
          nb::arg("now_us"), nb::arg("averages"), "The MAC completed a packet of this node.")
      .def(
          "on_neighbour_replaced", [](guarded_shim& self, number<"peer", std::uint8_t> peer) { self.node.on_neighbour_replaced(peer); },
          nb::arg("peer"), "The MAC's neighbour slot was given to another neighbour.")
      .def(
          "cwl_packets", [](const guarded_shim& self, const flow_key& flow) { return self.node.cwl_packets(flow); }, nb::arg("flow"),
          "The limit (packets) of a flow that this node originates; None when it has none (yet).")
      .def(
          "last_path", [](const guarded_shim& self, const flow_key& flow) { return self.node.last_path(flow); }, nb::arg("flow"),
          "What the limit was last computed from; None before the first echo.")
      .def(
          "hop_delay_us", [](const guarded_shim& self, const next_hop& hop) { return self.node.hop_delay_us(self.known(hop)); },
          nb::arg("hop"), "The delay (us) that on_originate would stamp now.")
      .def_prop_ro(
          "counters", [](const guarded_shim& self) { return self.node.counters(); }, "A copy of the counters.")
      .def_prop_ro("flows", [](const guarded_shim& self) { return self.node.flows(); }, "Connections remembered now.");
}

}  // namespace perhop::bindings
