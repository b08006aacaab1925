// SPDX-License-Identifier: GPL-2.0-or-later
//
// An IP address is a str in Python ("10.0.0.1", "fd00::1"), as the module ipaddress reads and writes it.

#pragma once

#include <nanobind/nanobind.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "host/bindings/arguments.hpp"
#include "host/core/shim/packet_view.hpp"

namespace nanobind::detail {

template <>
struct type_caster<perhop::shim::ip_address> {
  NB_TYPE_CASTER(perhop::shim::ip_address, const_name("str"))

  /// Not used: `checked` below reads addresses, because it can say what is wrong with one.
  bool from_python(handle, std::uint32_t, cleanup_list*) noexcept { return false; }

  static handle from_cpp(const perhop::shim::ip_address& address, rv_policy, cleanup_list*) noexcept {
    try {
      constexpr std::uint64_t mapped = 0xffff'0000'0000U;
      const object module = module_::import_("ipaddress");
      if (address.high == 0 && (address.low & ~std::uint64_t{0xffff'ffff}) == mapped) {
        return str(module.attr("IPv4Address")(address.low & 0xffff'ffff)).release();
      }
      const object shifted = int_(address.high).attr("__lshift__")(64);
      return str(module.attr("IPv6Address")(shifted.attr("__or__")(address.low))).release();
    } catch (python_error& error) {
      error.restore();
      return {};
    }
  }
};

}  // namespace nanobind::detail

namespace perhop::bindings {

template <>
inline std::string python_type<shim::ip_address>() {
  return "str";
}

template <>
inline shim::ip_address checked<shim::ip_address>(std::string_view field, nb::handle given, const std::nullptr_t&) {
  if (!nb::isinstance<nb::str>(given)) refuse_type(field, given, "an IP address such as \"10.0.0.1\"");
  nb::object packed;
  try {
    packed = nb::module_::import_("ipaddress").attr("ip_address")(given).attr("packed");
  } catch (nb::python_error&) {
    refuse_value(field, given, "give an IP address such as \"10.0.0.1\" or \"fd00::1\"");
  }
  const auto bytes = nb::cast<nb::bytes>(packed);
  const auto* octets = static_cast<const std::uint8_t*>(bytes.data());
  const auto number = [octets](std::size_t from, std::size_t to) {
    std::uint64_t value = 0;
    for (std::size_t at = from; at != to; ++at) value = value << 8 | octets[at];
    return value;
  };
  if (bytes.size() == 4) return shim::ip_address::from_ipv4(static_cast<std::uint32_t>(number(0, 4)));
  return {.high = number(0, 8), .low = number(8, 16)};
}

}  // namespace perhop::bindings
