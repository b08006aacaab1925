// SPDX-License-Identifier: GPL-2.0-or-later
// Correlator of one of I and Q with the Barker code, for samples at two a chip: the sum of two neighbours, then 11 taps of
// +-1 in transposed form, the last chip's with the newest sample.
//
// Timing: `correlation` belongs to the sample that came with the sample_valid before.

`default_nettype none

module barker_correlator
  import perhop_phy_pkg::*;
(
  input  wire logic               clk,
  input  wire logic               rst,
  input  wire logic               sample_valid,
  input  wire logic signed [5:0]  sample,
  output wire logic signed [10:0] correlation
);

  logic signed [5:0] before_q;

  wire logic signed [6:0] box = 7'(sample) + 7'(before_q);

  always_ff @(posedge clk) begin
    if (rst)               before_q <= '0;
    else if (sample_valid) before_q <= sample;
  end

  // Stage k sums the taps of chips 0 to k: what chip k of a symbol adds now is complete after chip 10.
  logic signed [10:0] partial [BARKER_CHIPS];

  for (genvar chip = 0; chip < BARKER_CHIPS; chip++) begin : g_chip
    localparam int unsigned W = $clog2(64 * (chip + 1)) + 1;   // the least sum of two neighbours is -64

    logic signed [W-1:0] sum_q, later_q;
    wire logic signed [W-1:0] earlier = chip == 0 ? '0 : W'(partial[chip == 0 ? 0 : chip - 1]);

    always_ff @(posedge clk) begin
      if (rst) begin
        sum_q   <= '0;
        later_q <= '0;
      end else if (sample_valid) begin
        if (BARKER_CODE[chip]) sum_q <= earlier + W'(box);
        else                   sum_q <= earlier - W'(box);
        later_q <= sum_q;
      end
    end

    // A chip later, but for the last one.
    assign partial[chip] = chip == BARKER_CHIPS - 1 ? 11'(sum_q) : 11'(later_q);
  end

  assign correlation = partial[BARKER_CHIPS-1];

endmodule

`default_nettype wire
