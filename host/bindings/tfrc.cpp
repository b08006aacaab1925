// SPDX-License-Identifier: GPL-2.0-or-later
//
// host/core/policy/tfrc_*.hpp.

#include <nanobind/nanobind.h>

#include <string>

#include "host/bindings/bind.hpp"
#include "host/bindings/record.hpp"
#include "host/core/policy/tfrc_equation.hpp"
#include "host/core/policy/tfrc_loss_intervals.hpp"

namespace perhop::bindings {

using namespace perhop::policy;

namespace {

struct sized_loss_intervals {
  std::uint32_t intervals;
  tfrc_loss_intervals core;
};

}  // namespace

void bind_tfrc(nb::module_& module) {
  nb::enum_<tfrc_profile>(module, "TfrcProfile", "Whose TFRC.")
      .value("paper", tfrc_profile::paper, "t_RTO = max(4 R, 1 s); no history discounting")
      .value("rfc5348", tfrc_profile::rfc5348, "t_RTO = 4 R; history discounting");
  record<tfrc_equation_input>(module, "TfrcEquationInput", "What TCP's throughput depends on.")
      .field("packet_bytes", &tfrc_equation_input::packet_bytes, "s, bytes", {.low = 1, .high = 65535})
      .field("round_trip_s", &tfrc_equation_input::round_trip_s, "R, s", {.low = 0, .high = 1e6})
      .field("loss_event_rate", &tfrc_equation_input::loss_event_rate, "p", {.low = 0, .high = 1})
      .field("packets_per_tcp_ack", &tfrc_equation_input::packets_per_tcp_ack, "b", {.low = 1, .high = 1e6})
      .done();
  module.def("tfrc_rate", &tfrc_rate, nb::arg("input"), nb::arg("profile") = tfrc_profile::paper,
             "TCP's throughput, bytes per second: K. Chen, K. Nahrstedt, equation (1); RFC 5348, section 3.1.");
  module.def(
      "tfrc_loss_event_rate",
      [](number<"bytes_per_s", double, 0.0, 1e18> bytes_per_s, const tfrc_equation_input& input, tfrc_profile profile) {
        return tfrc_loss_event_rate(bytes_per_s, input, profile);
      },
      nb::arg("bytes_per_s"), nb::arg("input"), nb::arg("profile") = tfrc_profile::paper,
      "The loss event rate at which tfrc_rate gives this rate.");

  using intervals = sized_loss_intervals;
  nb::class_<intervals>(module, "TfrcLossIntervals",
                        "The inverse of a weighted mean of the last L intervals between loss events: K. Chen, K. Nahrstedt, equation (2);\n"
                        "RFC 5348, section 5. C++: tfrc_loss_intervals.")
      .def(
          "__init__",
          [](intervals* self, number<"intervals", std::uint32_t, 1, 65536> count, tfrc_profile profile) {
            new (self) intervals{count, tfrc_loss_intervals(count.get(), profile)};
          },
          nb::arg("intervals") = 8, nb::arg("profile") = tfrc_profile::paper)
      .def(
          "on_packets", [](intervals& self, number<"packets"> packets) { self.core.on_packets(packets); }, nb::arg("packets") = 1,
          "Packets arrived without a new loss event.")
      .def(
          "on_loss_event", [](intervals& self) { self.core.on_loss_event(); }, "The interval that ran ends.")
      .def(
          "on_first_loss_event",
          [](intervals& self, number<"interval_packets", double, 0.0, 1e15> packets) { self.core.on_first_loss_event(packets); },
          nb::arg("interval_packets"), "The first loss event, with the interval that the equation gives for the rate so far.")
      .def_prop_ro(
          "mean_packets", [](const intervals& self) { return self.core.mean_packets(); },
          "Weighted mean, packets; 0 before the first interval ended.")
      .def_prop_ro(
          "loss_event_rate", [](const intervals& self) { return self.core.loss_event_rate(); }, "1 / mean; 0 before the first loss event.")
      .def(
          "weight",
          [](const intervals& self, number<"age"> age) {
            if (age >= self.intervals) refuse_value("age", age.given, "there are " + std::to_string(self.intervals) + " intervals, from 0");
            return self.core.weight(age);
          },
          nb::arg("age"), "Weight of the age-th newest interval (from 0), of all L together 1.");
}

}  // namespace perhop::bindings
