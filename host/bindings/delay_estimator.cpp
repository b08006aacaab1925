// SPDX-License-Identifier: GPL-2.0-or-later
//
// host/core/policy/delay_estimator.hpp and the timing profiles it works from.

#include "host/core/policy/delay_estimator.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <string>
#include <vector>

#include "host/bindings/bind.hpp"
#include "host/bindings/profile.hpp"
#include "host/bindings/record.hpp"

namespace perhop::bindings {

using namespace perhop::policy;

namespace {

/// Knows its profile, so that a rate which the profile does not have is refused here.
struct profiled_delay_estimator {
  const timing_profile* profile;
  delay_estimator estimator;
};

}  // namespace

void bind_delay_estimator(nb::module_& module) {
  module.def(
      "profiles",
      [] {
        std::vector<std::string> names;
        for (const timing_profile& profile : detail::all_profiles) names.emplace_back(profile.name);
        return names;
      },
      "Names of the timing profiles of the MAC.");
  module.def(
      "rates_bps",
      [](const std::string& profile) {
        std::vector<std::uint32_t> rates;
        for (const transmit_rate& rate : profile_of("profile", profile)->rates) rates.push_back(rate.bps);
        return rates;
      },
      nb::arg("profile"), "Rates of a profile, b/s; a rate index is the place in this list.");
  module.def(
      "airtime_us",
      [](const std::string& profile, number<"rate_index", std::uint8_t> rate_index, number<"mpdu_bytes"> mpdu_bytes) {
        const timing_profile* known = profile_of("profile", profile);
        return airtime_us(*known, rate_of("rate_index", rate_index, *known), mpdu_bytes);
      },
      nb::arg("profile"), nb::arg("rate_index"), nb::arg("mpdu_bytes"), "Time on the air (us) of an MPDU with its FCS, preamble included.");

  record<neighbour_averages>(module, "NeighbourAverages", "One neighbour's averages, as a completion record of the MAC carries them.")
      .field("peer", &neighbour_averages::peer, "slot of the neighbour table, 0 to 15; others are ignored")
      .field("avg_contention_us16", &neighbour_averages::avg_contention_us16, "waiting for the medium, unit 1/16 us")
      .field("avg_overhead_us16", &neighbour_averages::avg_overhead_us16, "RTS, CTS, MAC ACK and SIFS, unit 1/16 us")
      .field("avg_data_attempts_256", &neighbour_averages::avg_data_attempts_256, "attempts of the DATA frame, unit 1/256")
      .done();

  nb::class_<profiled_delay_estimator>(
      module, "DelayEstimator",
      "How long a packet of any size takes to each next hop, from head of line to MAC ACK, queueing excluded:\n"
      "avg_contention + avg_overhead + avg_data_attempts * airtime(size, rate).\n\n"
      "Source: S. Shah, K. Chen, K. Nahrstedt, PerCom 2003 (delay normalised to a packet size). C++: delay_estimator.")
      .def(
          "__init__",
          [](profiled_delay_estimator* self, const std::string& profile, number<"rts_threshold_bytes"> rts_threshold_bytes) {
            const timing_profile* known = profile_of("profile", profile);
            new (self) profiled_delay_estimator{known, delay_estimator(*known, rts_threshold_bytes)};
          },
          nb::arg("profile") = "dsss_long", nb::arg("rts_threshold_bytes") = 0,
          "profile: a name of profiles(). rts_threshold_bytes: a larger MPDU is preceded by RTS/CTS; matters before a\n"
          "neighbour's first completion only.")
      .def(
          "on_completion",
          [](profiled_delay_estimator& self, const neighbour_averages& averages) { return self.estimator.on_completion(averages); },
          nb::arg("averages"), "A packet to this neighbour was completed. Returns whether the slot exists; if not, nothing changes.")
      .def(
          "forget", [](profiled_delay_estimator& self, number<"peer", std::uint8_t> peer) { self.estimator.forget(peer); }, nb::arg("peer"),
          "The slot now belongs to another neighbour: start again from the idle medium.")
      .def(
          "delay_us",
          [](const profiled_delay_estimator& self, number<"peer", std::uint8_t> peer,
             number<"mpdu_bytes", std::uint32_t, 0, 65535> mpdu_bytes, number<"rate_index", std::uint8_t> rate_index) {
            return self.estimator.delay_us(peer, mpdu_bytes, rate_of("rate_index", rate_index, *self.profile));
          },
          nb::arg("peer"), nb::arg("mpdu_bytes"), nb::arg("rate_index"),
          "Delay (us) of an MPDU of this size; of an idle medium before the neighbour's first completion or for an unknown slot.")
      .def(
          "uncontended_delay_us",
          [](const profiled_delay_estimator& self, number<"mpdu_bytes", std::uint32_t, 0, 65535> mpdu_bytes,
             number<"rate_index", std::uint8_t> rate_index) {
            return self.estimator.uncontended_delay_us(mpdu_bytes, rate_of("rate_index", rate_index, *self.profile));
          },
          nb::arg("mpdu_bytes"), nb::arg("rate_index"),
          "DIFS + CWmin/2 slots + the whole exchange (us), on an idle medium without errors.");
}

}  // namespace perhop::bindings
