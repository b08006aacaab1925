// SPDX-License-Identifier: GPL-2.0-or-later
// What backoff_counter may rely on from its neighbours; backoff_rules does. Bound into
// backoff_counter.

`default_nettype none

module backoff_interface
  import tick_shares_pkg::*;
(
  input wire logic        clk,
  input wire logic        rst,
  input wire logic [23:0] tick_n,
  input wire logic        draw,
  input wire logic        access_taken,
  input wire logic        cca_busy,
  input wire logic [15:0] reserved_us,
  input wire logic [15:0] ifs_left_us,
  input wire logic [9:0]  slots_left
);

  logic in_slots_q = 1'b0;   // the last clock carried time that fell into slots
  always_ff @(posedge clk) begin
    in_slots_q <= !rst && slots_share(free_share(tick_n, reserved_us), cca_busy, ifs_left_us) != '0;
  end

  always_comb if (!rst) begin
    if (tick_n != '0) a_no_decision_while_time_passes : assert (!draw && !access_taken);
    if (access_taken) a_access_after_last_slot        : assert (slots_left == '0);
    if (in_slots_q)   a_still_in_slots                : assert (reserved_us == '0 && ifs_left_us == '0);
  end

endmodule

bind backoff_counter backoff_interface u_backoff_interface (.*);

`default_nettype wire
