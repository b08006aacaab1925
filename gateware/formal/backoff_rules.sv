// SPDX-License-Identifier: GPL-2.0-or-later
// The back-off counts time exactly: what is left of it falls by the ticks that fell into
// slots, however they came in jumps, and a busy medium takes nothing from it but the
// part of a slot. Bound into backoff_counter.

`default_nettype none

module backoff_rules
  import tick_shares_pkg::*;
(
  input wire logic        clk,
  input wire logic        rst,
  input wire logic [23:0] tick_n,
  input wire logic [12:0] cfg_slot_us,
  input wire logic        draw,
  input wire logic        access_taken,
  input wire logic        cca_busy,
  input wire logic [15:0] reserved_us,
  input wire logic [15:0] ifs_left_us,
  input wire logic        running,
  input wire logic [9:0]  slots_left,
  input wire logic [23:0] slots_left_us,
  input wire logic [12:0] phase_us_q
);

  // One clock before.
  logic        running_q = 1'b0, draw_q, cca_busy_q;
  logic [9:0]  slots_left_q;
  logic [23:0] slots_left_us_q, tick_n_q, slot_ticks_q;

  always_ff @(posedge clk) begin
    running_q       <= !rst;
    draw_q          <= draw;
    cca_busy_q      <= cca_busy;
    slots_left_q    <= slots_left;
    slots_left_us_q <= slots_left_us;
    tick_n_q        <= tick_n;
    slot_ticks_q    <= slots_share(free_share(tick_n, reserved_us), cca_busy, ifs_left_us);
  end

  always_comb if (!rst) begin
    if (running_q && tick_n_q != '0) begin
      if (cca_busy_q) begin
        a_busy_freezes : assert (slots_left == slots_left_q);
      end else begin
        a_counts_time : assert (slots_left_us == (slots_left_us_q > slot_ticks_q ? slots_left_us_q - slot_ticks_q : '0));
      end
    end
    if (running_q && tick_n_q == '0 && !draw_q) a_stands : assert (slots_left == slots_left_q);
    a_over_when_no_time_is_left : assert ((slots_left == '0) == (slots_left_us == '0));

    i_phase : assert (phase_us_q < cfg_slot_us);
    i_runs  : assert (running || slots_left == '0);
  end

endmodule

bind backoff_counter backoff_rules u_backoff_rules (.*);

`default_nettype wire
