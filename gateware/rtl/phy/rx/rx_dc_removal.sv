// SPDX-License-Identifier: GPL-2.0-or-later
// Takes off I and Q what they have of a constant (DC, a direct-conversion receiver's leaking oscillator): what is left is the
// difference to a leaky average. Fast at first, so that it is settled before a response can come, then slow: Barker symbols have little
// power there, 10 dB below their mean. Fast again when a signal has ended, so that what it has left does not outlast it.
//
// Timing: none, `out` belongs to `in`. I and Q come in turn, I first, one with each `valid`.

`default_nettype none

module rx_dc_removal #(
  parameter int unsigned FAST_SHIFT = 3,          // averages over 8 samples
  parameter int unsigned SLOW_SHIFT = 9           // and over 512
) (
  input  wire logic               clk,
  input  wire logic               rst,
  input  wire logic               valid,
  input  wire logic               fast,
  input  wire logic signed [15:0] in,
  output wire logic signed [15:0] out
);

  localparam int unsigned AVERAGE_W = 16 + SLOW_SHIFT;

  logic signed [AVERAGE_W-1:0] average_q, other_q;   // of this part and of the other, SLOW_SHIFT bits of them fraction

  wire logic signed [16:0] rest = 17'(in) - 17'($signed(average_q[AVERAGE_W-1:SLOW_SHIFT]));
  wire logic signed [AVERAGE_W-1:0] change = fast ? AVERAGE_W'(rest) <<< (SLOW_SHIFT - FAST_SHIFT) : AVERAGE_W'(rest);

  always_ff @(posedge clk) begin
    if (rst) begin
      average_q <= '0;
      other_q   <= '0;
    end else if (valid) begin
      average_q <= other_q;
      other_q   <= average_q + change;
    end
  end

  assign out = rest[16] == rest[15] ? rest[15:0] : {rest[16], {15{!rest[16]}}};

endmodule

`default_nettype wire
