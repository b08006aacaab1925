// SPDX-License-Identifier: GPL-2.0-or-later
//
// perhop.modem: host/phy for Python.

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/complex.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <complex>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "host/phy/receiver.hpp"
#include "host/phy/transmitter.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace perhop::bindings {

using namespace perhop::phy;

namespace {

template <typename value>
using rows_of_two = nb::ndarray<nb::numpy, value, nb::shape<-1, 2>>;
template <typename value>
using column = nb::ndarray<nb::numpy, value, nb::shape<-1>>;
using integer_samples = nb::ndarray<const std::int16_t, nb::shape<-1, 2>, nb::c_contig, nb::device::cpu>;
using complex_samples = nb::ndarray<const std::complex<float>, nb::shape<-1>, nb::c_contig, nb::device::cpu>;

/// An array that owns the vector's memory.
template <typename array, typename value>
array owned(std::vector<value> values, std::size_t columns) {
  auto* kept = new std::vector<value>(std::move(values));
  nb::capsule owner(kept, [](void* pointer) noexcept { delete static_cast<std::vector<value>*>(pointer); });
  const std::size_t rows = kept->size() / columns;
  if constexpr (std::is_same_v<array, rows_of_two<value>>) {
    return array(kept->data(), {rows, columns}, owner);
  } else {
    return array(kept->data(), {rows}, owner);
  }
}

std::vector<std::int16_t> samples_of(const nb::bytes& psdu, int rate, bool short_preamble, int samples_per_chip, int gain) {
  const outgoing_frame frame{.psdu = {static_cast<const std::uint8_t*>(psdu.data()), psdu.size()},
                             .rate_index = static_cast<std::uint8_t>(std::clamp(rate, 0, 255)),
                             .short_preamble = short_preamble};
  const std::string fault = rate < 0 ? "rate is below 0" : fault_of(frame);
  if (!fault.empty()) throw nb::value_error(fault.c_str());
  if (samples_per_chip != 2 && samples_per_chip != 4) throw nb::value_error("samples_per_chip must be 2 or 4");
  if (gain < 0 || gain > static_cast<int>(gain_one)) throw nb::value_error("gain must be 0 to 256");
  return transmitted(frame, static_cast<std::uint32_t>(samples_per_chip), static_cast<std::uint32_t>(gain));
}

nb::tuple pair_of(const std::array<int, 2>& parts) { return nb::make_tuple(parts[0], parts[1]); }

}  // namespace

NB_MODULE(modem, module) {
  // GNU Radio keeps its blocks, and with them objects of this module, until the very end.
  nb::set_leak_warnings(false);
  module.doc() =
      "The DSSS modem of the gateware in C++ (host/phy): transmitter and receiver for 802.11 at 1 and 2 Mb/s, number by number as\n"
      "the model in perhop.phy. `rate` is 0 for 1 Mb/s and 1 for 2 Mb/s.";

  module.def(
      "transmitted",
      [](const nb::bytes& psdu, int rate, bool short_preamble, int samples_per_chip, int gain) {
        return owned<rows_of_two<std::int16_t>>(samples_of(psdu, rate, short_preamble, samples_per_chip, gain), 2);
      },
      "psdu"_a, "rate"_a = 0, "short_preamble"_a = false, "samples_per_chip"_a = 2, "gain"_a = static_cast<int>(gain_one),
      "The samples of a PSDU (an MPDU with its FCS): int16, one row of I and Q a sample, 12 bits with a gain of 256.");
  module.def(
      "transmitted_complex",
      [](const nb::bytes& psdu, int rate, bool short_preamble, int samples_per_chip, double amplitude) {
        constexpr double full_scale = 2048;
        const std::vector<std::int16_t> samples = samples_of(psdu, rate, short_preamble, samples_per_chip, static_cast<int>(gain_one));
        std::vector<std::complex<float>> out(samples.size() / 2);
        const auto scale = static_cast<float>(amplitude / full_scale);
        for (std::size_t index = 0; index < out.size(); ++index) {
          out[index] = {scale * static_cast<float>(samples[2 * index]), scale * static_cast<float>(samples[2 * index + 1])};
        }
        return owned<column<std::complex<float>>>(std::move(out), 1);
      },
      "psdu"_a, "rate"_a = 0, "short_preamble"_a = false, "samples_per_chip"_a = 2, "amplitude"_a = 1.0,
      "The same as complex64; 12 bits' full scale is `amplitude`.");
  module.def(
      "airtime_us",
      [](std::size_t psdu_bytes, int rate, bool short_preamble) {
        const std::vector<std::uint8_t> psdu(psdu_bytes);
        const outgoing_frame frame{
            .psdu = psdu, .rate_index = static_cast<std::uint8_t>(std::clamp(rate, 0, 255)), .short_preamble = short_preamble};
        const std::string fault = fault_of(frame);
        if (!fault.empty()) throw nb::value_error(fault.c_str());
        return airtime_symbols(frame);
      },
      "psdu_bytes"_a, "rate"_a = 0, "short_preamble"_a = false, "Microseconds of preamble, header and PSDU at 11 Mchip/s.");

  nb::class_<reception>(module, "Reception", "A frame whose PLCP header was good. Times are numbers of samples.")
      .def_ro("started_at", &reception::started_at, "Sample of the header's last symbol.")
      .def_ro("ended_at", &reception::ended_at, "Sample of the last symbol.")
      .def_ro("signal", &reception::signal, "SIGNAL of the header: the rate in 100 kb/s.")
      .def_ro("service", &reception::service, "SERVICE of the header.")
      .def_ro("length_us", &reception::length_us, "LENGTH of the header, symbols.")
      .def_ro("short_preamble", &reception::short_preamble)
      .def_ro("carrier_lost", &reception::carrier_lost, "The signal went away before LENGTH was over, and the frame ended with it.")
      .def_ro("snr_db", &reception::snr_db, "Es/N0 of the last symbols, dB; within 3 dB up to 26.")
      .def_ro("carrier_hz", &reception::carrier_hz, "Offset of the carrier at 11 Mchip/s, Hz.")
      .def_ro("level_db", &reception::level_db, "20 log10 of |I| + |Q| summed over 22 samples, in steps of 16 bits.")
      .def_prop_ro(
          "psdu", [](const reception& self) { return nb::bytes(self.psdu.data(), self.psdu.size()); },
          "The octets; empty at rates that are none of ours.")
      .def_prop_ro(
          "symbols", [](const reception& self) { return owned<column<std::complex<float>>>(self.symbols, 1); }, nb::rv_policy::automatic,
          "Decision variables of the PSDU's symbols, complex64; empty without keep_symbols.");

  nb::class_<dsss_receiver>(
      module, "Receiver",
      "Takes samples, two a chip, in pieces of any length, as int16 rows of I and Q or as complex64 whose full scale is 1.")
      .def(
          "__init__",
          [](dsss_receiver* self, bool keep_symbols, bool keep_trace, std::optional<int> energy_threshold_db) {
            new (self) dsss_receiver({.keep_symbols = keep_symbols, .keep_trace = keep_trace, .energy_threshold_db = energy_threshold_db});
          },
          "keep_symbols"_a = false, "keep_trace"_a = false, "energy_threshold_db"_a = nb::none(),
          "energy_threshold_db: level (as Reception.level_db) that makes the medium busy by itself; None: only a carrier does.")
      .def(
          "push",
          [](dsss_receiver& self, const integer_samples& samples) {
            const std::span<const std::int16_t> all(samples.data(), samples.size());
            nb::gil_scoped_release released;
            self.push(all);
          },
          "samples"_a.noconvert())
      .def(
          "push",
          [](dsss_receiver& self, const complex_samples& samples) {
            const std::span<const std::complex<float>> all(samples.data(), samples.size());
            nb::gil_scoped_release released;
            self.push(all);
          },
          "samples"_a.noconvert())
      .def("take_receptions", &dsss_receiver::take_receptions, "Frames that have ended since the last call.")
      .def(
          "take_carrier_edges",
          [](dsss_receiver& self) {
            nb::list edges;
            for (const carrier_edge& edge : self.take_carrier_edges()) edges.append(nb::make_tuple(edge.at, edge.busy));
            return edges;
          },
          "(sample, busy) for each change since the last call.")
      .def(
          "take_trace",
          [](dsss_receiver& self) {
            nb::list symbols;
            for (const symbol_trace& each : self.take_trace()) {
              symbols.append(nb::make_tuple(each.at, pair_of(each.prompt), pair_of(each.product), pair_of(each.rotation), each.slip));
            }
            return symbols;
          },
          "(at, prompt, product, rotation, slip) of each symbol since the last call, with keep_trace.")
      .def("take_locks", &dsss_receiver::take_locks, "Last sample of each symbol at whose end the timing was taken, with keep_trace.")
      .def_prop_ro("busy", &dsss_receiver::busy, "The medium is busy after what has been looked at.")
      .def_prop_ro("samples", &dsss_receiver::samples, "How many have been given.")
      .def_prop_ro("locks", [](const dsss_receiver& self) { return self.counts().locks; })
      .def_prop_ro("header_errors", [](const dsss_receiver& self) { return self.counts().header_errors; })
      .def_prop_ro("sfd_timeouts", [](const dsss_receiver& self) { return self.counts().sfd_timeouts; })
      .def_prop_ro("carriers_lost", [](const dsss_receiver& self) { return self.counts().carriers_lost; });
}

}  // namespace perhop::bindings
