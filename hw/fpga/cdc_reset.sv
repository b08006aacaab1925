// SPDX-License-Identifier: GPL-2.0-or-later
// Clock crossing of a reset: it comes at once, without a clock, and goes with an edge of `clk`. So all sides of a FIFO are
// in reset together, whatever their clocks.
//
// Timing: `rst` falls some clocks of `clk` behind `foreign_rst`.

`default_nettype none

module cdc_reset #(
  parameter int unsigned STAGES = 8        // clocks that `rst` stays
) (
  input  wire logic clk,
  input  wire logic foreign_rst,           // of any clock, active high, without glitches
  output wire logic rst                    // synchronous to `clk` where it ends
);

  logic [STAGES-1:0] cdc_reset_q = '1;

  always_ff @(posedge clk or posedge foreign_rst) begin
    if (foreign_rst) cdc_reset_q <= '1;
    else             cdc_reset_q <= {cdc_reset_q[STAGES-2:0], 1'b0};
  end

  assign rst = cdc_reset_q[STAGES-1];

endmodule

`default_nettype wire
