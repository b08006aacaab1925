// SPDX-License-Identifier: GPL-2.0-or-later
//
// host/core/policy/congestion_window_limit*.hpp and path_measurement.hpp.

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>

#include "host/bindings/bind.hpp"
#include "host/bindings/record.hpp"
#include "host/bindings/words.hpp"
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

  bind_words(module, "CwlKind", "Which congestion window limit.", cwl_words, cwl_meanings);
  bind_words(module, "CwlRounding", "How Corollary 2's quotient becomes packets.", cwl_rounding_words, cwl_rounding_meanings);

  record<cwl_config> config(module, "CwlConfig", "Which limit to build. Fields that the kind does not use are ignored.");
  for_each_member_of_cwl_config(
      [&config](const char* name, auto member, const char* about, auto... least) { config.field(name, member, about, {least...}); });
  config.done();

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
