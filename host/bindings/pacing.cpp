// SPDX-License-Identifier: GPL-2.0-or-later
//
// host/core/policy/pacing.hpp.

#include "host/core/policy/pacing.hpp"

#include <nanobind/nanobind.h>

#include "host/bindings/bind.hpp"
#include "host/bindings/clock.hpp"
#include "host/bindings/record.hpp"
#include "host/bindings/words.hpp"

namespace perhop::bindings {

using namespace perhop::policy;

void bind_pacing(nb::module_& module) {
  bind_words(module, "PacingKind", "When packets are released.", pacing_words, pacing_meanings);

  bind_words(module, "RoundTripVariation", "What tells TCP-AP how much round trips vary.", round_trip_variation_words,
             round_trip_variation_meanings);

  record<adaptive_pacing_config>(module, "AdaptivePacingConfig", "TCP-AP without measured delays, and what its round trips tell.")
      .field("link_rate_bps", &adaptive_pacing_config::link_rate_bps, "not 0: s/b as in the source, in place of measured delays, b/s")
      .field("data_bytes", &adaptive_pacing_config::data_bytes, "s_data, with link_rate_bps", {.low = 0, .high = 65535})
      .field("tcp_ack_bytes", &adaptive_pacing_config::tcp_ack_bytes, "s_tcp_ack, with link_rate_bps", {.low = 0, .high = 65535})
      .field("variation", &adaptive_pacing_config::variation, "how much the round trips vary")
      .done();

  record<pacing_config>(module, "PacingConfig", "Which pacing to build. Fields that the kind does not use are ignored.")
      .field("kind", &pacing_config::kind, "which pacing")
      .field("interval_percent", &pacing_config::interval_percent, "of the interval that the policy says", {.low = 0, .high = 100'000})
      .field("adaptive", &pacing_config::adaptive, "for adaptive")
      .done();

  using timed_pacer = timed<pacer>;
  nb::class_<timed_pacer>(module, "Pacer",
                          "When a sender may release its next packet. One for each direction of a connection. Credit does not add up; an\n"
                          "interval is never longer than 1 s.\n\n"
                          "Sources: A. Aggarwal, S. Savage, T. Anderson, INFOCOM 2000 (window); S. M. ElRakabawy, A. Klemm, C. Lindemann,\n"
                          "MobiHoc 2005 (adaptive); ours (path). C++: pacer.")
      .def(
          "__init__", [](timed_pacer* self, const pacing_config& config) { new (self) timed_pacer{pacer(config)}; },
          nb::arg("config") = pacing_config{})
      .def(
          "on_path",
          [](timed_pacer& self, const path_measurement& path, number<"packets_per_tcp_ack", std::uint32_t, 1> packets_per_tcp_ack) {
            self.core.on_path(path, packets_per_tcp_ack);
          },
          nb::arg("path"), nb::arg("packets_per_tcp_ack") = 1, "A round trip of the path was measured.")
      .def(
          "on_rtt", [](timed_pacer& self, number<"rtt_us"> rtt_us) { self.core.on_rtt(rtt_us); }, nb::arg("rtt_us"),
          "A round trip (us) was timed.")
      .def(
          "on_window", [](timed_pacer& self, number<"packets"> packets) { self.core.on_window(packets); }, nb::arg("packets"),
          "What may be in flight now, packets; 0: unknown.")
      .def(
          "release_time",
          [](timed_pacer& self, now_us now, number<"payload_bytes", std::uint32_t, 0, 65535> payload_bytes) {
            return self.core.release_time(self.clock(now), payload_bytes);
          },
          nb::arg("now_us"), nb::arg("payload_bytes"), "When (us) this packet may go, now or later; the time is then taken.")
      .def_prop_ro(
          "interval_us", [](const timed_pacer& self) { return self.core.interval_us(); },
          "Time (us) from a full packet to the next; 0: not paced, or not known yet.")
      .def_prop_ro("paces", [](const timed_pacer& self) { return self.core.paces(); }, "False for kind none.");
}

}  // namespace perhop::bindings
