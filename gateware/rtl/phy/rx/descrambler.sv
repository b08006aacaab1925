// SPDX-License-Identifier: GPL-2.0-or-later
// Takes the scrambler off what was received: each bit differs from what was sent where the received bits 4 and 7 before
// differ. It finds its state by itself within 7 bits (IEEE 802.11-2012, 17.2.4).
//
// Timing: combinational; `valid` moves on to the next bit.

`default_nettype none

module descrambler (
  input  wire logic clk,
  input  wire logic clear,       // a frame may begin: the past is zeros
  input  wire logic valid,
  input  wire logic in_bit,
  output wire logic out_bit
);

  logic [6:0] past_q;

  always_ff @(posedge clk) begin
    if (clear)      past_q <= '0;
    else if (valid) past_q <= {past_q[5:0], in_bit};
  end

  assign out_bit = in_bit ^ past_q[3] ^ past_q[6];

endmodule

`default_nettype wire
