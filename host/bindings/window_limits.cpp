// SPDX-License-Identifier: GPL-2.0-or-later
//
// host/core/policy/congestion_window_limit*.hpp and path_measurement.hpp.

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>

#include "host/bindings/bind.hpp"
#include "host/bindings/record.hpp"
#include "host/core/policy/congestion_window_limit.hpp"

namespace perhop::bindings {

using namespace perhop::policy;

void bind_window_limits(nb::module_& module) {
  record<path_measurement>(module, "PathMeasurement",
                           "One round trip as the path headers told it: wireless hops, queueing excluded. 0 means unknown.")
      .field("forward_hops", &path_measurement::forward_hops, "hops of the data", {.low = 0, .high = 65535})
      .field("return_hops", &path_measurement::return_hops, "hops of what comes back", {.low = 0, .high = 65535})
      .field("forward_total_us", &path_measurement::forward_total_us, "sum of d_i, of data-sized packets, us")
      .field("forward_max_us", &path_measurement::forward_max_us, "largest d_i, us")
      .field("return_total_us", &path_measurement::return_total_us, "sum of d'_i, of the TCP ACKs really sent back, us")
      .field("wired_round_trip_us", &path_measurement::wired_round_trip_us, "propagation of the wired part, both ways, us; 0: none")
      .done();

  nb::enum_<cwl_kind>(module, "CwlKind", "Which congestion window limit.")
      .value("none", cwl_kind::none, "no limit; the packets are left alone")
      .value("fixed", cwl_kind::fixed, "always the same")
      .value("hop", cwl_kind::hop, "Table 1 over the round-trip hops")
      .value("delay", cwl_kind::delay, "Corollary 2 over the hops' delays")
      .value("pipeline", cwl_kind::pipeline, "what waits at a receiver that delays TCP ACKs, and what is on the way");
  nb::enum_<cwl_rounding>(module, "CwlRounding", "How Corollary 2's quotient becomes packets.")
      .value("half_up", cwl_rounding::half_up)
      .value("floor", cwl_rounding::floor);

  record<cwl_config>(module, "CwlConfig", "Which limit to build. Fields that the kind does not use are ignored.")
      .field("kind", &cwl_config::kind, "which limit")
      .field("fixed_packets", &cwl_config::fixed_packets, "for fixed", {.low = 1})
      .field("rounding", &cwl_config::rounding, "for delay")
      .field("ceiling_packets", &cwl_config::ceiling_packets, "largest limit, for hop and delay", {.low = 1})
      .done();

  nb::class_<congestion_window_limit>(
      module, "CongestionWindowLimit",
      "Congestion window limit (CWL) of one direction of one connection: caps TCP's congestion window at the packets that a\n"
      "path of CSMA hops can carry at once.\n\n"
      "Source: K. Chen, Y. Xue, S. Shah, K. Nahrstedt, Computer Communications 2004, sections 3 to 5. C++: congestion_window_limit.")
      .def(nb::init<const cwl_config&>(), nb::arg("config") = cwl_config{})
      .def("on_path", &congestion_window_limit::on_path, nb::arg("path"),
           "A round trip was measured. A measurement that tells the policy nothing leaves the limit as it was.")
      .def_prop_ro("limit_packets", &congestion_window_limit::limit_packets,
                   "The largest congestion window allowed now, packets; None when there is no limit (yet).")
      .def_prop_ro("enforces", &congestion_window_limit::enforces, "False for kind none.");

  module.def(
      "hop_table_limit_packets", [](number<"round_trip_hops", std::uint32_t, 1> hops) { return hop_table_limit_packets(hops); },
      nb::arg("round_trip_hops"), "Table 1 of the paper: limit (packets) over forward plus return hops; N/6 beyond 30.");
  module.def("delay_bound_packets", &delay_bound_packets, nb::arg("path"),
             "Corollary 2 before rounding and limits: (sum d + sum d') / (4 d_max), packets; None without a forward delay.");
}

}  // namespace perhop::bindings
