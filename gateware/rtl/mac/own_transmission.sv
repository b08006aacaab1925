// SPDX-License-Identifier: GPL-2.0-or-later
// How long this station's own transmission still holds its medium: from the decision
// to answer (SIFS and the response) or from the start of its own frame.
//
// A passive timer: its end wakes nobody.

`default_nettype none

module own_transmission
  import tick_shares_pkg::*;
#(
  parameter bit UNIT_TICKS = 1'b0   // a clock carries one tick or none (hardware)
) (
  input  wire logic        clk,
  input  wire logic        rst,
  input  wire logic [23:0] tick_n,
  input  wire logic        hold,           // one clock: the medium is ours for hold_us from now
  input  wire logic [15:0] hold_us,
  output wire logic [15:0] own_left_us
);

  logic [15:0] left_us_q;

  always_ff @(posedge clk) begin
    if (rst) left_us_q <= '0;
    else if (hold) left_us_q <= hold_us;
    else if (tick_n != '0 && left_us_q != '0) begin
      left_us_q <= ends(tick_n, 24'(left_us_q), UNIT_TICKS) ? '0 : left_us_q - 16'(step(tick_n, UNIT_TICKS));
    end
  end

  if (UNIT_TICKS) begin : g_unit
    // Whether there is any, so that nobody waits for 16 bits to be looked at.
    logic holds_q;

    always_ff @(posedge clk) begin
      if (rst) holds_q <= 1'b0;
      else if (hold) holds_q <= 1'b1;
      else if (tick_n != '0 && left_us_q[15:1] == '0) holds_q <= 1'b0;
    end
    assign own_left_us = {15'd0, holds_q};
  end else begin : g_any
    assign own_left_us = left_us_q;
  end

endmodule

`default_nettype wire
