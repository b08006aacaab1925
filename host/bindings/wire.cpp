// SPDX-License-Identifier: GPL-2.0-or-later
//
// host/core/wire: the path header, its bytes, its rounding.

#include <nanobind/nanobind.h>
#include <nanobind/stl/variant.h>

#include <cstdint>
#include <span>
#include <variant>

#include "host/bindings/bind.hpp"
#include "host/bindings/record.hpp"
#include "host/core/wire/path_header.hpp"

namespace perhop::bindings {

using namespace perhop::wire;

void bind_wire(nb::module_& module) {
  nb::enum_<decode_error>(module, "DecodeError", "Why bytes are not a path header.")
      .value("truncated", decode_error::truncated, "fewer bytes than a header")
      .value("foreign_version", decode_error::foreign_version, "another version of the layout")
      .value("max_above_total", decode_error::max_above_total, "a hop cannot take longer than all hops together")
      .value("delay_without_hops", decode_error::delay_without_hops, "a delay, and yet no hop that could have added it")
      .value("total_above_hops", decode_error::total_above_hops, "the sum is larger than hops times the largest hop")
      .value("echo_without_flag", decode_error::echo_without_flag, "echo fields are filled although the echo is not valid");

  record<path_echo>(module, "PathEcho", "What the other direction's packets gathered, brought back to their sender.")
      .field("total_delay_us", &path_echo::total_delay_us, "sum over the hops, us; 0 when the delays are not fully known")
      .field("max_delay_us", &path_echo::max_delay_us, "largest hop, us; 0 when the delays are not fully known")
      .field("hops", &path_echo::hops, "0 when unknown")
      .field("rate_bps", &path_echo::rate_bps, "explicit rate as it arrived, b/s")
      .done();

  record<path_header>(module, "PathHeader",
                      "A path header in plain units. Only wireless hops count in hops and delays; a wired hop sets its flag.\n\n"
                      "Source: K. Chen, Y. Xue, S. Shah, K. Nahrstedt, Computer Communications 2004, section 4.2.")
      .field("wired_hop_seen", &path_header::wired_hop_seen, "a hop was wired")
      .field("silent_router_seen", &path_header::silent_router_seen, "a router has no shim: hops and delays are too small")
      .field("hops", &path_header::hops, "wireless hops so far")
      .field("total_delay_us", &path_header::total_delay_us, "sum of the hops' delays, us")
      .field("max_delay_us", &path_header::max_delay_us, "largest of the hops' delays, us")
      .field("explicit_rate_bps", &path_header::explicit_rate_bps, "lowered by every router to its own allocation, b/s")
      .field("current_rate_bps", &path_header::current_rate_bps, "what the sender says it uses, b/s")
      .field("packets_in_flight", &path_header::packets_in_flight, "of this flow, at the sender; 255 means 255 or more")
      .field("exact_follows", &path_header::exact_follows, "an ExactHeader or ExactReport stands behind this header")
      .field("echo", &path_header::echo, "what came the other way, or None")
      .done();

  module.attr("MAX_DELAY_US") = max_delay_us;
  module.attr("UNLIMITED_RATE_BPS") = unlimited_rate_bps;
  module.attr("PATH_HEADER_BYTES") = path_header_bytes;

  module.def(
      "encode",
      [](const path_header& header) {
        const path_header_buffer bytes = encode(header);
        return nb::bytes(bytes.data(), bytes.size());
      },
      nb::arg("header"),
      "The header as it goes on the air: PATH_HEADER_BYTES bytes. Delays are rounded to the nearest 16 us (half up), rates to\n"
      "11 bits of mantissa; both saturate.");
  module.def(
      "decode",
      [](nb::bytes data) -> std::variant<path_header, decode_error> {
        const decode_result result = decode({static_cast<const std::uint8_t*>(data.data()), data.size()});
        if (result) return *result;
        return result.error();
      },
      nb::arg("data"), "Reads a header from the first bytes of data; more may follow. Never raises for what the bytes are.");
  module.def(
      "quantise_delay_us", [](number<"delay_us"> delay_us) { return quantise_delay_us(delay_us); }, nb::arg("delay_us"),
      "The delay (us) that arrives when this one is sent: rounded to the nearest 16 us (half up), saturated.");
  module.def(
      "encode_rate", [](number<"rate_bps", std::uint64_t> rate_bps) { return encode_rate(rate_bps); }, nb::arg("rate_bps"),
      "Rate (b/s) to 16-bit float: exponent in the upper 5 bits, mantissa in the lower 11. Rounded to the nearest; saturates.");
  module.def(
      "decode_rate", [](number<"code", std::uint16_t> code) { return decode_rate(code); }, nb::arg("code"),
      "16-bit float to rate (b/s). Every one of the 65536 values has a meaning.");
}

}  // namespace perhop::bindings
