// SPDX-License-Identifier: GPL-2.0-or-later
/// \file
/// The host's end of AXI4-Lite at the pins s_axil_* of a Verilated module: one access at a time.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace perhop::air {

class axil_master {
public:
  /// An access, and clocks until it is answered. Throws if it is not in 1000 of them.
  template <class Pins, class Clock>
  void write(Pins& pins, std::uint32_t address, std::uint32_t word, std::uint32_t strobes, Clock clock) {
    pins.s_axil_awaddr = static_cast<std::uint16_t>(address);
    pins.s_axil_awvalid = 1;
    pins.s_axil_wdata = word;
    pins.s_axil_wstrb = static_cast<std::uint8_t>(strobes);
    pins.s_axil_wvalid = 1;
    wait("write", clock);
  }
  template <class Pins, class Clock>
  std::uint32_t read(Pins& pins, std::uint32_t address, Clock clock) {
    pins.s_axil_araddr = static_cast<std::uint16_t>(address);
    pins.s_axil_arvalid = 1;
    wait("read", clock);
    return word_read_;
  }

  /// In every clock, when the outputs have settled before the rising edge, and after it.
  template <class Pins>
  void before_edge(const Pins& pins) {
    address_written_ = pins.s_axil_awvalid != 0 && pins.s_axil_awready != 0;
    word_written_ = pins.s_axil_wvalid != 0 && pins.s_axil_wready != 0;
    address_read_ = pins.s_axil_arvalid != 0 && pins.s_axil_arready != 0;
    if (pins.s_axil_bvalid != 0 || pins.s_axil_rvalid != 0) waits_ = false;
    if (pins.s_axil_rvalid != 0) word_read_ = pins.s_axil_rdata;
  }
  template <class Pins>
  void after_edge(Pins& pins) const {
    if (address_written_) pins.s_axil_awvalid = 0;
    if (word_written_) pins.s_axil_wvalid = 0;
    if (address_read_) pins.s_axil_arvalid = 0;
  }

private:
  template <class Clock>
  void wait(const char* what, Clock& clock) {
    waits_ = true;
    for (int clocks = 0; waits_; ++clocks) {
      if (clocks == 1000) throw std::runtime_error(std::string("the registers do not answer a ") + what);
      clock();
    }
  }

  bool waits_ = false, address_written_ = false, word_written_ = false, address_read_ = false;
  std::uint32_t word_read_ = 0;
};

}  // namespace perhop::air
