// SPDX-License-Identifier: GPL-2.0-or-later
// A point of the straight line from one sample to the next, at so many eighths of the way; rounded down. Adders: a multiplier is
// dearer.
//
// Timing: combinational.

`default_nettype none

module line_point #(
  parameter int unsigned W = 16
) (
  input  wire logic signed [W-1:0] older,
  input  wire logic signed [W-1:0] newer,
  input  wire logic [2:0]          eighths,
  output wire logic signed [W-1:0] point
);

  localparam int unsigned SUM_W = W + 4;

  wire logic signed [W:0] rise = (W+1)'(newer) - (W+1)'(older);

  logic signed [SUM_W-1:0] sum;
  always_comb begin
    sum = SUM_W'(older) <<< 3;
    if (eighths[2]) sum += SUM_W'(rise) <<< 2;
    if (eighths[1]) sum += SUM_W'(rise) <<< 1;
    if (eighths[0]) sum += SUM_W'(rise);
  end

  assign point = sum[W+2:3];

  wire logic unused = &{1'b0, sum[SUM_W-1], sum[2:0]};

endmodule

`default_nettype wire
