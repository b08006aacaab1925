// SPDX-License-Identifier: GPL-2.0-or-later
//
// host/core/policy/delayed_tcp_ack.hpp and its parts.

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>

#include "host/bindings/bind.hpp"
#include "host/bindings/clock.hpp"
#include "host/bindings/record.hpp"
#include "host/bindings/words.hpp"
#include "host/core/policy/delayed_tcp_ack.hpp"

namespace perhop::bindings {

using namespace perhop::policy;

namespace {

void bind_parts(nb::module_& module) {
  module.def(
      "dca_window_limit_packets",
      [](dca_window_rule rule, number<"forward_hops"> forward_hops, number<"min_rtt_us"> min_rtt_us) {
        return dca_window_limit_packets(rule, forward_hops, min_rtt_us);
      },
      nb::arg("rule"), nb::arg("forward_hops") = 0, nb::arg("min_rtt_us") = 0,
      "Delay window limit of TCP-DCA (packets): Table I over the hops, section V-B over the smallest round trip; 0 means unknown.\n\n"
      "Source: J. Chen, Y. Z. Lee, M. Gerla, M. Y. Sanadidi, TCP with Delayed Ack for Wireless Networks.");
  module.attr("WHOLE_WINDOW_PACKETS") = whole_window_packets;

  nb::class_<timed<inter_arrival_filter>>(module, "InterArrivalFilter",
                                          "I_avg <- 0.8 I_avg + 0.2 I_s over the times between arrivals: eq. (1) of TCP-DCA.")
      .def(nb::init<>())
      .def(
          "on_arrival", [](timed<inter_arrival_filter>& self, now_us now) { self.core.on_arrival(self.clock(now)); }, nb::arg("now_us"),
          "A data packet arrived.")
      .def_prop_ro(
          "average_us",
          [](const timed<inter_arrival_filter>& self) -> std::optional<double> {
            const auto average_us256 = self.core.average_us256();
            return average_us256 ? std::optional(static_cast<double>(*average_us256) / 256) : std::nullopt;
          },
          "I_avg (us, steps of 1/256); None before the second arrival.");

  nb::class_<smoothed_round_trip>(module, "SmoothedRoundTrip",
                                  "SRTT, its mean deviation and the timeout SRTT + 4 deviations, at least 1 s (RFC 6298).")
      .def(nb::init<deviation_order>(), nb::arg("order") = deviation_order::updated_first)
      .def(
          "on_sample", [](smoothed_round_trip& self, number<"rtt_us"> rtt_us) { self.on_sample(rtt_us); }, nb::arg("rtt_us"),
          "A round trip was measured.")
      .def_prop_ro("srtt_us", &smoothed_round_trip::srtt_us, "us; None before the first sample.")
      .def_prop_ro("deviation_us", &smoothed_round_trip::deviation_us, "us; None before the first sample.")
      .def_prop_ro("timeout_us", &smoothed_round_trip::timeout_us, "us.");
}

}  // namespace

void bind_tcp_acks(nb::module_& module) {
  bind_words(module, "DcaWindowRule", "What limits the delay window of DCA.", dca_window_rule_words, dca_window_rule_meanings);
  nb::enum_<deviation_order>(module, "DeviationOrder", "Which SRTT the deviation is taken from.")
      .value("updated_first", deviation_order::updated_first, "the one just updated, as TCP-DCA prints it")
      .value("rfc_6298", deviation_order::rfc_6298, "the one before");
  bind_words(module, "DaaProfile", "Whose account of TCP-DAA's receiver holds.", daa_profile_words, daa_profile_meanings);
  bind_words(module, "TcpAckKind", "Which TCP ACKs a receiver sends.", tcp_ack_words, tcp_ack_meanings);
  nb::enum_<tcp_ack_action>(module, "TcpAckAction", "What to do with a TCP ACK of the local TCP.")
      .value("pass_", tcp_ack_action::pass, "send it; drop one that is held")
      .value("hold", tcp_ack_action::hold, "keep it, in place of one that is held");
  nb::enum_<tcp_ack_reason>(module, "TcpAckReason", "Why a TCP ACK was sent.")
      .value("window", tcp_ack_reason::window, "a whole window has arrived")
      .value("delay_timer", tcp_ack_reason::delay_timer, "the policy's timer")
      .value("hard_limit", tcp_ack_reason::hard_limit, "500 ms")
      .value("disorder", tcp_ack_reason::disorder, "out of order, gap filled, duplicate")
      .value("at_once", tcp_ack_reason::at_once, "any other that must not wait")
      .value("repeated", tcp_ack_reason::repeated, "the retransmission timer");
  nb::enum_<tcp_ack_release>(module, "TcpAckRelease", "What to do when a deadline has come.")
      .value("nothing", tcp_ack_release::nothing)
      .value("send_held", tcp_ack_release::send_held, "send the TCP ACK that is held")
      .value("send_again", tcp_ack_release::send_again, "repeat the last TCP ACK that was sent");

  record<tcp_ack_config>(module, "TcpAckConfig", "Which policy to build. Fields that the kind does not use are ignored.")
      .field("kind", &tcp_ack_config::kind, "which policy")
      .field("rule", &tcp_ack_config::rule, "for dca: what limits the window")
      .field("fixed_window_packets", &tcp_ack_config::fixed_window_packets, "for dca; 0: by the rule")
      .field("whole_window", &tcp_ack_config::whole_window, "for dca: w is all that is in flight")
      .field("tcp_ack_retransmission", &tcp_ack_config::tcp_ack_retransmission, "for dca: repeat a TCP ACK that may be lost")
      .field("profile", &tcp_ack_config::profile, "for daa: whose account of it holds")
      .field("deviation", &tcp_ack_config::deviation, "of the retransmission timer")
      .done();

  record<data_arrival>(module, "DataArrival", "A TCP packet with data, or with a SYN or a FIN, that arrived for this node.")
      .field("sequence", &data_arrival::sequence, "sequence number")
      .field("payload_bytes", &data_arrival::payload_bytes, "data in this packet", {.low = 0, .high = 65535})
      .field("packets_in_flight", &data_arrival::packets_in_flight, "at the sender when it sent this one, which counts; 0: unknown")
      .field("forward_hops", &data_arrival::forward_hops, "0: unknown")
      .field("min_rtt_us", &data_arrival::min_rtt_us, "measured by other means, us; 0: unknown")
      .field("syn", &data_arrival::syn, "the SYN flag")
      .field("fin", &data_arrival::fin, "the FIN flag")
      .field("timestamp_echo", &data_arrival::timestamp_echo, "TSecr of the timestamps option, or None")
      .done();

  record<tcp_ack_departure>(module, "TcpAckDeparture", "A packet that the local TCP wants to send on the same connection.")
      .field("tcp_ack", &tcp_ack_departure::tcp_ack, "acknowledgement number")
      .field("window_bytes", &tcp_ack_departure::window_bytes, "advertised window")
      .field("bare", &tcp_ack_departure::bare, "nothing but a TCP ACK: no payload, SYN, FIN or RST")
      .field("sack_blocks", &tcp_ack_departure::sack_blocks, "tells of data behind a gap")
      .field("timestamp_value", &tcp_ack_departure::timestamp_value, "TSval of the timestamps option, or None")
      .done();

  record<tcp_ack_verdict>(module, "TcpAckVerdict", "What to do with a TCP ACK of the local TCP.")
      .field("action", &tcp_ack_verdict::action, "pass_ or hold")
      .field("reason", &tcp_ack_verdict::reason, "when it passes")
      .done();

  record<tcp_ack_release_verdict>(module, "TcpAckReleaseVerdict", "What to do now that a deadline has come.")
      .field("release", &tcp_ack_release_verdict::release, "what to send, if anything")
      .field("reason", &tcp_ack_release_verdict::reason, "when something is sent")
      .done();

  using thinner = timed<delayed_tcp_ack>;
  nb::class_<thinner>(
      module, "DelayedTcpAck",
      "Thins the TCP ACKs of a receiver whose TCP acknowledges every segment: which to send, which to hold. One for each\n"
      "direction of data of a connection.\n\n"
      "Source: J. Chen, Y. Z. Lee, M. Gerla, M. Y. Sanadidi, TCP with Delayed Ack for Wireless Networks (dca); R. de Oliveira,\n"
      "T. Braun, INFOCOM 2005 (daa). C++: delayed_tcp_ack.")
      .def(
          "__init__", [](thinner* self, const tcp_ack_config& config) { new (self) thinner{delayed_tcp_ack(config)}; },
          nb::arg("config") = tcp_ack_config{})
      .def(
          "on_rtt", [](thinner& self, number<"rtt_us"> rtt_us) { self.core.on_rtt(rtt_us); }, nb::arg("rtt_us"),
          "A round trip (us) measured by other means.")
      .def(
          "on_data", [](thinner& self, now_us now, const data_arrival& arrival) { self.core.on_data(self.clock(now), arrival); },
          nb::arg("now_us"), nb::arg("arrival"), "A data packet arrived. Before the local TCP's answer to it.")
      .def(
          "on_tcp_ack",
          [](thinner& self, now_us now, const tcp_ack_departure& departure) { return self.core.on_tcp_ack(self.clock(now), departure); },
          nb::arg("now_us"), nb::arg("departure"), "The local TCP wants to send this.")
      .def_prop_ro(
          "deadline_us", [](const thinner& self) { return self.core.deadline(); }, "When on_deadline wants to be called, us; or None.")
      .def(
          "on_deadline", [](thinner& self, now_us now) { return self.core.on_deadline(self.clock(now)); }, nb::arg("now_us"),
          "Time has come. Does nothing before the deadline.")
      .def_prop_ro(
          "holds", [](const thinner& self) { return self.core.holds(); }, "A TCP ACK is held.")
      .def_prop_ro(
          "thins", [](const thinner& self) { return self.core.thins(); }, "False for kind every.")
      .def_prop_ro("window_packets", [](const thinner& self) { return self.core.window_packets(); }, "w, packets; 1 for kind every.");

  bind_parts(module);
}

}  // namespace perhop::bindings
