// SPDX-License-Identifier: GPL-2.0-or-later
//
// perhop.station: flowgraphs/mac for Python.

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <variant>

#include "flowgraphs/mac/station.hpp"
#include "sim/air/fcs.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace perhop::flowgraphs {

namespace {

nb::dict of(const sent_frame& sent) {
  nb::dict out;
  out["event"] = "sent";
  out["at_us"] = sent.at;
  out["kind"] = std::string(to_string(sent.frame.kind));
  out["rate"] = sent.frame.rate_index;
  out["airtime_us"] = sent.frame.end - sent.frame.start;
  out["retry"] = sent.frame.retry;
  out["tag"] = sent.frame.tag;
  out["psdu"] = nb::bytes(sent.psdu.data(), sent.psdu.size());
  return out;
}

nb::dict of(const delivered_frame& frame) {
  nb::dict out;
  out["event"] = "delivered";
  out["at_us"] = frame.at;
  out["source"] = frame.source;
  out["destination"] = frame.destination;
  out["msdu"] = nb::bytes(frame.msdu.data(), frame.msdu.size());
  return out;
}

nb::dict of(const finished_packet& finished) {
  const air::completion& record = finished.record;
  nb::dict parts;
  const auto values = record.parts.values();
  for (std::size_t index = 0; index < values.size(); ++index) parts[air::service_parts::names[index].data()] = values[index];
  nb::dict out;
  out["event"] = "done";
  out["at_us"] = record.t_done_us;
  out["result"] = std::string(to_string(record.result));
  out["tag"] = record.tag;
  out["ra"] = record.ra;
  out["sequence"] = record.sequence;
  out["bytes"] = record.mpdu_bytes;
  out["rate"] = record.rate_index;
  out["rts_attempts"] = record.rts_attempts;
  out["data_attempts"] = record.data_attempts;
  out["t_enqueue_us"] = record.t_enqueue_us;
  out["t_head_us"] = record.t_head_us;
  out["t_first_tx_us"] = record.t_first_tx_us;
  out["t_done_us"] = record.t_done_us;
  out["parts_us"] = parts;
  return out;
}

std::span<const std::uint8_t> span_of(const nb::bytes& bytes) { return {static_cast<const std::uint8_t*>(bytes.data()), bytes.size()}; }

}  // namespace

NB_MODULE(station, module) {
  // GNU Radio keeps its blocks, and with them objects of this module, until the very end.
  nb::set_leak_warnings(false);
  module.doc() = "One station's MAC, the gateware as Verilator compiles it, with a time that its owner moves (flowgraphs/mac).";
  module.def("address_of", &air::mac_address, "node"_a, "The 48-bit address of a node.");
  module.def(
      "fcs_good", [](const nb::bytes& psdu) { return air::fcs_good(span_of(psdu)); }, "psdu"_a,
      "The last four octets are the FCS of the others.");
  module.def(
      "profile",
      [](const std::string& name) {
        const timing_profile* found = find_profile(name);
        if (found == nullptr) throw nb::value_error(("profile '" + name + "' is not in gateware/spec/protocol.yaml").c_str());
        nb::dict out;
        out["slot_us"] = found->slot_us;
        out["sifs_us"] = found->sifs_us;
        out["difs_us"] = found->difs_us;
        out["response_timeout_us"] = found->response_timeout_us;
        return out;
      },
      "name"_a, "Times of a timing profile.");
  nb::class_<station>(module, "Station", "Times are microseconds since the start. What is given is given at `now_us`.")
      .def(
          "__init__",
          [](station* self, std::uint32_t node, const std::string& profile, std::uint8_t data_rate, std::uint32_t rts_threshold_bytes,
             std::uint64_t seed) {
            constexpr std::uint32_t most_nodes = 1000;
            constexpr std::uint32_t most_threshold_bytes = 4095;
            if (node >= most_nodes) throw nb::value_error("node must be 0 to 999");
            if (rts_threshold_bytes > most_threshold_bytes) throw nb::value_error("rts_threshold_bytes must be 0 to 4095");
            new (self) station(
                {.node = node, .profile = profile, .data_rate_index = data_rate, .rts_threshold_bytes = rts_threshold_bytes, .seed = seed});
          },
          "node"_a = 0, "profile"_a = "host_phy", "data_rate"_a = 1, "rts_threshold_bytes"_a = 0, "seed"_a = 1,
          "data_rate: index into the profile's rates.")
      .def("advance", &station::advance, "until_us"_a,
           "Lets time pass, at most to when there is something for the host (delivered, done). Returns whether `until_us` is reached.")
      .def("set_carrier", &station::set_carrier, "busy"_a)
      .def(
          "receive",
          [](station& self, const nb::bytes& psdu, std::uint8_t rate, double power_dbm) {
            return self.receive(span_of(psdu), rate, power_dbm);
          },
          "psdu"_a, "rate"_a = 0, "power_dbm"_a = 0.0, "A frame with FCS is over. Returns whether its FCS was good.")
      .def(
          "submit",
          [](station& self, std::uint64_t ra, const nb::bytes& msdu, std::uint16_t tag) {
            constexpr unsigned address_bits = 48;
            if (ra >> address_bits != 0) throw nb::value_error("ra has more than 48 bits");
            if (!self.has_room()) return false;
            self.submit(ra, span_of(msdu), tag);
            return true;
          },
          "ra"_a, "msdu"_a, "tag"_a, "A packet for a neighbour. False: there is no room now.")
      .def(
          "take_events",
          [](station& self) {
            nb::list out;
            for (const station_event& event : self.take_events()) {
              out.append(std::visit([](const auto& each) { return of(each); }, event));
            }
            return out;
          },
          "What happened since the last call: dicts with `event` sent, delivered or done, in their order.")
      .def_prop_ro("now_us", &station::now)
      .def_prop_ro("has_room", &station::has_room)
      .def_prop_ro("address", &station::address);
}

}  // namespace perhop::flowgraphs
