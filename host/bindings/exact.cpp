// SPDX-License-Identifier: GPL-2.0-or-later
//
// EXACT: host/core/policy/exact_*.hpp and delayed_increase.hpp, and what they put on the air.

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "host/bindings/bind.hpp"
#include "host/bindings/clock.hpp"
#include "host/bindings/profile.hpp"
#include "host/bindings/record.hpp"
#include "host/bindings/words.hpp"
#include "host/core/policy/delayed_increase.hpp"
#include "host/core/policy/exact_receiver.hpp"
#include "host/core/policy/exact_router.hpp"
#include "host/core/policy/exact_sender.hpp"
#include "host/core/policy/exact_water_filling.hpp"
#include "host/core/wire/exact_header.hpp"
#include "host/core/wire/hello.hpp"

namespace perhop::bindings {

using namespace perhop::policy;

namespace {

void bind_exact_wire(nb::module_& module) {
  using namespace perhop::wire;
  record<exact_header>(module, "ExactHeader", "Number of an EXACT data packet in its flow; stands behind the path header.")
      .field("sequence", &exact_header::sequence, "from 0, modulo 2^32")
      .field("last", &exact_header::last, "the flow ends with this packet")
      .done();
  record<exact_report>(module, "ExactReport",
                       "What an EXACT receiver tells the sender: how the last data packet came, and which ones arrived.")
      .field("silent_router_seen", &exact_report::silent_router_seen, "a router of the path has no shim")
      .field("hops", &exact_report::hops, "wireless hops")
      .field("explicit_rate_bps", &exact_report::explicit_rate_bps, "as it arrived: the minimum over the routers, b/s")
      .field("current_rate_bps", &exact_report::current_rate_bps, "as it arrived: what the sender said that it used, b/s")
      .field("total_delay_us", &exact_report::total_delay_us, "sum of the hops' delays, us")
      .field("max_delay_us", &exact_report::max_delay_us, "largest hop, us")
      .field("held_us", &exact_report::held_us, "from the arrival of highest_sequence to this report, us")
      .field("highest_sequence", &exact_report::highest_sequence, "largest number that arrived")
      .field("received_packets", &exact_report::received_packets, "modulo 2^32")
      .field("arrived_bitmap", &exact_report::arrived_bitmap, "bit i: highest_sequence - 1 - i arrived")
      .done();
  const auto bytes = [](const auto& buffer) { return nb::bytes(buffer.data(), buffer.size()); };
  module.def("encode_exact_header", [bytes](const exact_header& header) { return bytes(encode(header)); }, nb::arg("header"));
  module.def(
      "encode_exact_report", [bytes](const exact_report& report) { return bytes(encode(report)); }, nb::arg("report"),
      "Delays and rates are rounded as in a path header, and saturate.");
  module.def(
      "decode_exact_header",
      [](nb::bytes data) { return decode_exact_header({static_cast<const std::uint8_t*>(data.data()), data.size()}); }, nb::arg("data"),
      "None when the bytes are no such header.");
  module.def(
      "decode_exact_report",
      [](nb::bytes data) { return decode_exact_report({static_cast<const std::uint8_t*>(data.data()), data.size()}); }, nb::arg("data"),
      "None when the bytes are no such report, or contradict themselves.");
}

void bind_water_filling(nb::module_& module) {
  record<water_filling_flow>(module, "WaterFillingFlow", "A flow that wants a share of channel time.")
      .field("gain", &water_filling_flow::gain, "what it gains a unit of level; its weight for max-min fair rates",
             {.low = 1e-9, .high = 1e15})
      .field("floor_bps", &water_filling_flow::floor_bps, "it gets this in any case, b/s", {.low = 0})
      .field("limit_bps", &water_filling_flow::limit_bps, "it does not want more, b/s", {.low = 0})
      .done();
  module.def(
      "water_fill",
      [](const std::vector<water_filling_flow>& wanted, const std::vector<std::pair<double, nb::dict>>& budgets) {
        std::vector<water_filling_flow> flows = wanted;
        std::vector<water_filling_cost> costs;
        std::vector<water_filling_budget> given;
        for (const auto& [budget, of] : budgets) {
          given.push_back({.budget = checked<double>("budget", nb::float_(budget), {.low = 0}), .first = costs.size(), .count = of.size()});
          for (const auto [flow, cost] : of) {
            const auto place = checked<std::uint32_t>("flow", flow);
            if (place >= flows.size()) refuse_value("flow", flow, "there are " + std::to_string(flows.size()) + " flows, from 0");
            costs.push_back({.flow = place, .cost_s_per_bit = checked<double>("cost_s_per_bit", cost, {.low = 1e-15, .high = 1e6})});
          }
        }
        water_filling().fill(flows, costs, given);
        std::vector<double> shares_bps;
        for (const water_filling_flow& flow : flows) shares_bps.push_back(flow.share_bps);
        return shares_bps;
      },
      nb::arg("flows"), nb::arg("budgets"),
      nb::sig("def water_fill(flows: list[WaterFillingFlow], budgets: list[tuple[float, dict[int, float]]]) -> list[float]"),
      "Weighted max-min fair shares (b/s), one a flow. A budget is its share of time and what each flow (place in the list) takes of it\n"
      "for a bit (s). The sum over a budget never exceeds it; where the floors alone would, they are lowered in proportion.");
}

void bind_ends(nb::module_& module) {
  record<exact_sender_config>(module, "ExactSenderConfig", "What an EXACT sender knows from the start.")
      .field("packet_bytes", &exact_sender_config::packet_bytes, "IP packet; rates count these", {.low = 1, .high = 65535})
      .field("max_rate_bps", &exact_sender_config::max_rate_bps, "ceiling: the rate of the link, b/s",
             {.low = 1, .high = wire::unlimited_rate_bps})
      .field("first_packets", &exact_sender_config::first_packets, "before the first report", {.low = 1, .high = 64})
      .field("feedback_every_packets", &exact_sender_config::feedback_every_packets, "as at the receiver", {.low = 1, .high = 1024})
      .field("max_feedback_interval_us", &exact_sender_config::max_feedback_interval_us, "as at the receiver, us")
      .done();
  record<exact_outgoing>(module, "ExactOutgoing", "What to write into the headers of an EXACT packet.")
      .field("header", &exact_outgoing::header, "behind the path header")
      .field("explicit_rate_bps", &exact_outgoing::explicit_rate_bps, "what the flow would like, b/s")
      .field("current_rate_bps", &exact_outgoing::current_rate_bps, "what it uses, b/s")
      .done();

  using sender = timed<exact_sender>;
  nb::class_<sender>(
      module, "ExactSender",
      "Paces one flow at what the routers allow, and bounds what it may have under way when feedback is missing.\n\n"
      "Source: K. Chen, K. Nahrstedt, Limitations of equation-based congestion control in mobile ad hoc networks, section VI.\n"
      "C++: exact_sender.")
      .def(
          "__init__", [](sender* self, const exact_sender_config& config) { new (self) sender{exact_sender(config)}; },
          nb::arg("config") = exact_sender_config{})
      .def(
          "set_application_rate",
          [](sender& self, number<"rate_bps", std::uint64_t> rate_bps) { self.core.set_application_rate(rate_bps); }, nb::arg("rate_bps"),
          "What the application can use, b/s.")
      .def(
          "set_window_limit",
          [](sender& self, nb::handle packets) { self.core.set_window_limit(checked<std::optional<std::uint32_t>>("packets", packets)); },
          nb::arg("packets").none(), nb::sig("def set_window_limit(self, packets: int | None) -> None"),
          "A congestion window limit beside the safety window, or None.")
      .def(
          "next_send", [](sender& self, now_us now) { return self.core.next_send(self.clock(now)); }, nb::arg("now_us"),
          "When (us) the next packet may go, not before now; None: not before a report or the deadline.")
      .def(
          "on_send",
          [](sender& self, now_us now, bool last) {
            const std::uint64_t time = self.clock(now);
            const auto next = self.core.next_send(time);
            if (!next || *next > time) {
              refuse_value(
                  "now_us", now.given,
                  next ? "next_send allows " + std::to_string(*next) : "next_send allows no packet before a report or the deadline");
            }
            return self.core.on_send(time, last);
          },
          nb::arg("now_us"), nb::arg("last") = false,
          "A packet goes now; ValueError when next_send does not allow it. last: the flow ends with it.")
      .def(
          "on_first_hop",
          [](sender& self, now_us now, number<"explicit_rate_bps", std::uint64_t> explicit_rate_bps) {
            self.core.on_first_hop(self.clock(now), explicit_rate_bps);
          },
          nb::arg("now_us"), nb::arg("explicit_rate_bps"),
          "What this node's own router left the packet just sent with, b/s: in force at once.")
      .def(
          "on_report",
          [](sender& self, now_us now, const wire::exact_report& report) { return self.core.on_report(self.clock(now), report); },
          nb::arg("now_us"), nb::arg("report"), "A report arrived. Returns whether it was used.")
      .def_prop_ro(
          "deadline_us", [](const sender& self) { return self.core.deadline(); }, "When on_deadline wants to be called, us; or None.")
      .def(
          "on_deadline", [](sender& self, now_us now) { self.core.on_deadline(self.clock(now)); }, nb::arg("now_us"), "Time has come.")
      .def_prop_ro(
          "rate_bps", [](const sender& self) { return self.core.rate_bps(); }, "b/s.")
      .def_prop_ro(
          "window_packets", [](const sender& self) { return self.core.window_packets(); }, "Safety window, packets.")
      .def_prop_ro(
          "unacknowledged_packets", [](const sender& self) { return self.core.unacknowledged_packets(); }, "Under way.")
      .def_prop_ro(
          "smoothed_round_trip_us", [](const sender& self) { return self.core.smoothed_round_trip_us(); }, "us; 0: unknown.")
      .def_prop_ro(
          "silent_router", [](const sender& self) { return self.core.silent_router(); }, "The path has a router without the shim.")
      .def_prop_ro("started", [](const sender& self) { return self.core.started(); }, "A report has come.");

  record<exact_receiver_config>(module, "ExactReceiverConfig", "When an EXACT receiver reports.")
      .field("every_packets", &exact_receiver_config::every_packets, "a report for so many packets", {.low = 1})
      .field("max_interval_us", &exact_receiver_config::max_interval_us, "at the latest, us")
      .field("fall", &exact_receiver_config::fall, "a larger relative fall of the rate is told at once", {.low = 0, .high = 1})
      .done();
  using receiver = timed<exact_receiver>;
  nb::class_<receiver>(module, "ExactReceiver", "Says when to tell the sender what rate its packets arrived with. C++: exact_receiver.")
      .def(
          "__init__", [](receiver* self, const exact_receiver_config& config) { new (self) receiver{exact_receiver(config)}; },
          nb::arg("config") = exact_receiver_config{})
      .def(
          "on_data",
          [](receiver& self, now_us now, const wire::path_header& path, const wire::exact_header& exact, number<"ttl_hops"> ttl_hops) {
            return self.core.on_data(self.clock(now), path, exact, ttl_hops);
          },
          nb::arg("now_us"), nb::arg("path"), nb::arg("exact"), nb::arg("ttl_hops") = 0,
          "A data packet arrived; ttl_hops: hops by the IP header's TTL, 0 unknown. Returns whether a report is to be sent now.")
      .def_prop_ro(
          "deadline_us", [](const receiver& self) { return self.core.deadline(); }, "When a report is due, us; or None.")
      .def(
          "take_report", [](receiver& self, now_us now) { return self.core.take_report(self.clock(now)); }, nb::arg("now_us"),
          "The report to send now.");
}

struct guarded_router {
  const timing_profile* profile;
  exact_router core;
  monotonic_clock clock{};
};

void bind_router(nb::module_& module) {
  bind_words(module, "ExactMode", "What an EXACT router shares.", exact_mode_words, exact_mode_meanings);
  bind_words(module, "ExactFairness", "What is max-min fair.", exact_fairness_words, exact_fairness_meanings);
  record<wire::node_position>(module, "NodePosition", "Where a node stands, from an origin that all share.")
      .field("x_m", &wire::node_position::x_m, "m")
      .field("y_m", &wire::node_position::y_m, "m")
      .done();
  record<exact_neighbourhood_config>(module, "ExactNeighbourhoodConfig", "What an EXACT router knows of the routers near it (M2).")
      .field("node", &exact_neighbourhood_config::node, "this router, the same name as in the hellos of others")
      .field("interference_hops", &exact_neighbourhood_config::interference_hops, "nodes so near to each other share the medium")
      .field("interference_range_m", &exact_neighbourhood_config::interference_range_m, "the same, m, of nodes that know where they stand",
             {.low = 0, .high = 1e6})
      .field("position", &exact_neighbourhood_config::position, "of this router, or None")
      .field("relay_hops", &exact_neighbourhood_config::relay_hops, "hellos tell of routers at most this far from who reads them")
      .field("max_nodes", &exact_neighbourhood_config::max_nodes, "routers remembered", {.low = 1, .high = 4096})
      .field("forget_us", &exact_neighbourhood_config::forget_us, "a router not heard of for longer is forgotten, us")
      .done();
  record<exact_router_config> config(module, "ExactRouterConfig", "How an EXACT router shares channel time.");
  for_each_exact_setting<exact_router_config>(
      [&config](const char* name, auto member, const char* about, auto... range) { config.field(name, member, about, {range...}); });
  config.field("rts_threshold_bytes", &exact_router_config::rts_threshold_bytes, "as in the MAC")
      .field("max_flows", &exact_router_config::max_flows, "the flow idle longest makes room", {.low = 1, .high = 1U << 20})
      .field("neighbourhood", &exact_router_config::neighbourhood, "what is known of the routers near (M2)")
      .done();
  record<exact_packet>(module, "ExactPacket", "A packet that is queued at a router, as far as EXACT looks at it.")
      .field("flow", &exact_packet::flow, "identity, the same at all routers")
      .field("peer", &exact_packet::peer, "slot of the next hop in the MAC's neighbour table")
      .field("rate_index", &exact_packet::rate_index, "place in rates_bps(profile)")
      .field("ip_bytes", &exact_packet::ip_bytes, "what rates count", {.low = 0, .high = 65535})
      .field("mpdu_bytes", &exact_packet::mpdu_bytes, "what the air carries", {.low = 0, .high = 65535})
      .field("explicit_rate_bps", &exact_packet::explicit_rate_bps, "as it came, b/s")
      .field("current_rate_bps", &exact_packet::current_rate_bps, "what the sender uses, b/s; 0: no EXACT flow")
      .field("weight", &exact_packet::weight, "of the flow", {.low = 1e-3, .high = 1e3})
      .done();

  nb::class_<guarded_router>(module, "ExactRouter",
                             "Tells every flow that passes what rate it may use here, by lowering the explicit rate of its packets.\n\n"
                             "Source: K. Chen, K. Nahrstedt, section VI; the allocation is ours. C++: exact_router.")
      .def(
          "__init__",
          [](guarded_router* self, const std::string& profile, exact_router_config config) {
            config.profile = profile_of("profile", profile);
            new (self) guarded_router{config.profile, exact_router(config)};
          },
          nb::arg("profile") = "dsss_long", nb::arg("config") = exact_router_config{})
      .def(
          "on_packet",
          [](guarded_router& self, now_us now, const exact_packet& packet) {
            rate_of("ExactPacket.rate_index", packet.rate_index, *self.profile);
            return self.core.on_packet(self.clock(now), packet);
          },
          nb::arg("now_us"), nb::arg("packet"), "Queued here. Returns the explicit rate (b/s) to send on with it.")
      .def(
          "on_completion",
          [](guarded_router& self, now_us now, const neighbour_averages& averages, bool delivered) {
            return self.core.on_completion(self.clock(now), {.averages = averages, .delivered = delivered});
          },
          nb::arg("now_us"), nb::arg("averages"), nb::arg("delivered") = true,
          "Returns True when the next hop is lost: the third drop in a row.")
      .def(
          "on_queue", [](guarded_router& self, number<"queued_bytes", std::uint64_t> bytes) { self.core.on_queue(bytes); },
          nb::arg("queued_bytes"), "Bytes waiting in front of the MAC.")
      .def_prop_ro(
          "deadline_us", [](const guarded_router& self) { return self.core.deadline(); },
          "When on_deadline wants to be called, us; or None.")
      .def(
          "on_deadline", [](guarded_router& self, now_us now) { self.core.on_deadline(self.clock(now)); }, nb::arg("now_us"),
          "Allocates when due, and makes a hello due.")
      .def(
          "set_peer_node",
          [](guarded_router& self, number<"peer", std::uint8_t> peer, number<"node"> node) { self.core.set_peer_node(peer, node); },
          nb::arg("peer"), nb::arg("node"), "Which node a slot of the MAC's neighbour table stands for (M2).")
      .def(
          "on_hello",
          [](guarded_router& self, now_us now, nb::bytes data) {
            const std::uint64_t time = self.clock(now);
            const auto message = wire::decode_hello({static_cast<const std::uint8_t*>(data.data()), data.size()});
            if (message) self.core.on_hello(time, *message);
            return message.has_value();
          },
          nb::arg("now_us"), nb::arg("data"), "Bytes after LLC/SNAP of a neighbour's hello (M2). Returns False when they are malformed.")
      .def(
          "take_hello",
          [](guarded_router& self, now_us now) -> std::optional<nb::bytes> {
            const auto message = self.core.take_hello(self.clock(now));
            if (!message) return std::nullopt;
            const std::vector<std::uint8_t> data = wire::encode(*message);
            return nb::bytes(data.data(), data.size());
          },
          nb::arg("now_us"), "The hello to broadcast now, or None. Ask after on_deadline (M2).")
      .def_prop_ro(
          "known_nodes", [](const guarded_router& self) { return self.core.neighbourhood().nodes(); }, "Other routers heard of (M2).")
      .def_prop_ro(
          "links", [](const guarded_router& self) { return self.core.neighbourhood().links(); },
          "Links with traffic that the last allocation looked at, own and others' (M2).")
      .def(
          "allocation_bps", [](const guarded_router& self, number<"flow", std::uint64_t> flow) { return self.core.allocation_bps(flow); },
          nb::arg("flow"), "What the flow may use here, b/s; None when unknown.")
      .def(
          "bandwidth_bps",
          [](guarded_router& self, now_us now, number<"peer", std::uint8_t> peer, number<"rate_index", std::uint8_t> rate_index) {
            return self.core.bandwidth_bps(self.clock(now), peer, rate_of("rate_index", rate_index, *self.profile));
          },
          nb::arg("now_us"), nb::arg("peer"), nb::arg("rate_index"), "Effective bandwidth to a next hop for 1500-byte packets, b/s.")
      .def_prop_ro(
          "load", [](const guarded_router& self) { return self.core.load(); }, "Share of channel time that the last allocation gives out.")
      .def_prop_ro("flows", [](const guarded_router& self) { return self.core.flows(); }, "Flows known now.");
}

}  // namespace

void bind_exact(nb::module_& module) {
  bind_exact_wire(module);
  bind_water_filling(module);
  bind_ends(module);
  bind_router(module);

  nb::enum_<delayed_increase_rule>(module, "DelayedIncreaseRule", "What an increase goes to.")
      .value("window_minimum", delayed_increase_rule::window_minimum, "the smallest signal of the window")
      .value("current", delayed_increase_rule::current, "the signal of the moment");
  using increase = timed<delayed_increase>;
  nb::class_<increase>(
      module, "DelayedIncrease",
      "Delayed increase, immediate decrease (DIID): follows a falling rate at once, a rising one when it has stayed up.\n\n"
      "Source: K. Chen, K. Nahrstedt, section VI.C. C++: delayed_increase.")
      .def(
          "__init__",
          [](increase* self, number<"window_us", std::uint64_t> window_us, delayed_increase_rule rule,
             number<"max_signals", std::uint32_t, 1, 1U << 20> max_signals) {
            new (self) increase{delayed_increase({.window_us = window_us, .rule = rule, .max_signals = max_signals})};
          },
          nb::arg("window_us") = 5'000'000, nb::arg("rule") = delayed_increase_rule::window_minimum, nb::arg("max_signals") = 4096)
      .def(
          "on_signal",
          [](increase& self, now_us now, number<"signal_bps", std::uint64_t> signal_bps) {
            return self.core.on_signal(self.clock(now), signal_bps);
          },
          nb::arg("now_us"), nb::arg("signal_bps"), "A rate signal arrived. Returns the rate allowed now, b/s.")
      .def(
          "allowed_bps", [](increase& self, now_us now) { return self.core.allowed_bps(self.clock(now)); }, nb::arg("now_us"),
          "Time alone can raise it; b/s.")
      .def_prop_ro("changes", [](const increase& self) { return self.core.changes(); }, "Changes of the allowed rate so far.");
}

}  // namespace perhop::bindings
