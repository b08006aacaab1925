// SPDX-License-Identifier: GPL-2.0-or-later
// TSF (timing synchronisation function) timer: microseconds since reset, the time
// base of every timestamp the MAC reports (IEEE 802.11-2012, 10.1.3.1).
//
// Timing: adds `tick_n` at the clock that carries it; 64 bits in one register, so a
// reader never sees half of a carry.

`default_nettype none

module tsf_timer (
  input  wire logic        clk,
  input  wire logic        rst,
  input  wire logic [23:0] tick_n,
  output wire logic [63:0] tsf_us
);

  logic [63:0] tsf_us_q;

  always_ff @(posedge clk) begin
    if (rst) tsf_us_q <= '0;
    else if (tick_n != '0) tsf_us_q <= tsf_us_q + 64'(tick_n);
  end

  assign tsf_us = tsf_us_q;

endmodule

`default_nettype wire
