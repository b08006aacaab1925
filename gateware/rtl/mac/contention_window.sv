// SPDX-License-Identifier: GPL-2.0-or-later
// CW (contention window): doubles with every failure up to CWmax, returns to CWmin
// after a success or when a packet is given up (IEEE 802.11-2012, 9.3.3).
//
// Also turns a random number into slots in 0..CW: CW is a power of two less one, so
// masking is exact.
//
// Timing: the window changes one clock after the outcome; the back-off that the
// outcome starts is drawn then, or later.

`default_nettype none

module contention_window
  import perhop_pkg::*;
#(
  parameter int unsigned QUEUE = 0
) (
  input  wire logic       clk,
  input  wire logic       rst,
  input  wire mac_settings_s settings,

  input  wire logic       reset_window,    // success, or given up
  input  wire logic       double_window,   // failure
  input  wire logic [9:0] random,

  output wire logic [9:0] outcome_cw,      // the window that the packet's outcome found
  output wire logic [9:0] draw_slots,
  output wire logic       redraw           // this random number will not do
);

  wire logic [9:0] cfg_cw_min = settings.cw_min[QUEUE];
  wire logic [9:0] cfg_cw_max = settings.cw_max[QUEUE];
  wire logic cfg_quirk_draw_below_cw = settings.quirk_draw_below_cw;   // ns-2: 0..CW-1

  logic [9:0] cw_q, outcome_cw_q;

  // Before the first outcome the register holds no window yet: cfg is not known at reset.
  // Of powers of two less one the larger is the union, the smaller the intersection.
  wire logic [9:0] held    = cw_q | cfg_cw_min;
  wire logic [9:0] doubled = {held[8:0], 1'b1} & cfg_cw_max;

  always_ff @(posedge clk) begin
    if (reset_window) outcome_cw_q <= held;
    if (rst) cw_q <= '0;
    else if (reset_window) cw_q <= cfg_cw_min;
    else if (double_window) cw_q <= doubled;
  end

  assign outcome_cw = outcome_cw_q;
  assign draw_slots = random & held;
  assign redraw     = cfg_quirk_draw_below_cw && draw_slots == held;

endmodule

`default_nettype wire
