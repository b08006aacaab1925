// SPDX-License-Identifier: GPL-2.0-or-later
// Steps the gain of an AD936x by its pins, as gain_control asks for it: a pulse of CTRL_IN1 takes PULSE_DB off, one of CTRL_IN0 puts them on
// again (UG-570, manual gain control). The host sets the chip to manual gain by pins, the full table, steps of PULSE_DB both ways, and the most
// gain; from there on the two count alike. What is less than a pulse is left.
//
// Timing: a pulse takes twice PULSE_CLOCKS, high and low, each at least two cycles of the clock in front of the chip's receive FIR filter.

`default_nettype none

module ad936x_gain #(
  parameter int unsigned PULSE_DB     = 6,
  parameter int unsigned PULSE_CLOCKS = 4
) (
  input  wire logic       clk,
  input  wire logic       rst,             // of all: the chip's gain is the most then
  input  wire logic [6:0] below_db,
  output wire logic       more,            // CTRL_IN0
  output wire logic       less             // CTRL_IN1
);

  localparam int unsigned TIME_W = $clog2(2 * PULSE_CLOCKS);

  logic [6:0]        told_q;               // to the chip
  logic [TIME_W-1:0] time_q;
  logic              more_q, less_q;

  wire logic idle  = time_q == '0;
  wire logic lower = below_db >= told_q && below_db - told_q >= 7'(PULSE_DB);
  wire logic raise = told_q > below_db;    // never less gain than is asked for

  always_ff @(posedge clk) begin
    if (rst) begin
      told_q <= '0;
      time_q <= '0;
      more_q <= 1'b0;
      less_q <= 1'b0;
    end else if (idle) begin
      if (raise)      told_q <= told_q - 7'(PULSE_DB);
      else if (lower) told_q <= told_q + 7'(PULSE_DB);
      if (raise || lower) time_q <= TIME_W'(2 * PULSE_CLOCKS - 1);
      more_q <= raise;
      less_q <= lower;
    end else begin
      time_q <= time_q - 1'b1;
      if (time_q == TIME_W'(PULSE_CLOCKS)) begin
        more_q <= 1'b0;
        less_q <= 1'b0;
      end
    end
  end

  assign more = more_q;
  assign less = less_q;

endmodule

`default_nettype wire
