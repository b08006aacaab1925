// SPDX-License-Identifier: GPL-2.0-or-later
// CW: a power of two less one between CWmin and CWmax; a failure doubles it, a success or a limit
// resets it, nothing else changes it; draws lie within it (IEEE 802.11-2012, 9.3.3).
//
// Bound into contention_window.

`default_nettype none

module window_rules (
  input wire logic       clk,
  input wire logic       rst,
  input wire logic [9:0] cfg_cw_min,
  input wire logic [9:0] cfg_cw_max,
  input wire logic       cfg_quirk_draw_below_cw,
  input wire logic       reset_window,
  input wire logic       double_window,
  input wire logic [9:0] random,
  input wire logic [9:0] outcome_cw,
  input wire logic [9:0] draw_slots,
  input wire logic       redraw,
  input wire logic [9:0] cw_q,
  input wire logic [9:0] held
);

  logic       begun_q = 1'b0, reset_window_q, double_window_q, rst_q;
  logic [9:0] was_q, min_q, max_q;

  always_ff @(posedge clk) begin
    begun_q         <= 1'b1;
    rst_q           <= rst;
    reset_window_q  <= reset_window;
    double_window_q <= double_window;
    was_q           <= held;
    min_q           <= cfg_cw_min;
    max_q           <= cfg_cw_max;
  end

  always_comb begin
    if (!begun_q) assume (rst);
    else assume (cfg_cw_min == min_q && cfg_cw_max == max_q);
    assume ((cfg_cw_min & (cfg_cw_min + 1'b1)) == '0 && (cfg_cw_max & (cfg_cw_max + 1'b1)) == '0);
    assume (cfg_cw_min <= cfg_cw_max);
  end

  always_comb if (begun_q && !rst) begin
    a_power_of_two_less_one : assert ((held & (held + 1'b1)) == '0);
    a_within_limits         : assert (held >= cfg_cw_min && held <= cfg_cw_max);
    a_draws_within          : assert (draw_slots <= held);
    a_draws_all_of_it       : assert (random > held || draw_slots == random);
    a_ns2_draws_below       : assert (redraw == (cfg_quirk_draw_below_cw && draw_slots == held));
    if (!rst_q) begin
      if (reset_window_q) a_reset : assert (held == cfg_cw_min && outcome_cw == was_q);
      else if (double_window_q) a_doubled : assert (held == (was_q >= cfg_cw_max ? cfg_cw_max : 10'({was_q[8:0], 1'b1})));
      else a_stands : assert (held == was_q);
    end
    i_limits : assert (cw_q <= cfg_cw_max && (cw_q & (cw_q + 1'b1)) == '0);
  end

endmodule

bind contention_window window_rules u_window_rules (.*);

`default_nettype wire
