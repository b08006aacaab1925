// SPDX-License-Identifier: GPL-2.0-or-later
// Scrambler of everything that is sent: each bit differs from what goes in where the outputs 4 and 7 bits before differ
// (IEEE 802.11-2012, 17.2.4).
//
// Timing: `out_bit` is combinational; `take` moves on to the next bit.

`default_nettype none

module scrambler
  import perhop_phy_pkg::*;
(
  input  wire logic clk,
  input  wire logic seed,            // begin a frame, with
  input  wire logic short_preamble,
  input  wire logic in_bit,
  input  wire logic take,
  output wire logic out_bit
);

  logic [6:0] past_q;                // Z1 is bit 0

  always_ff @(posedge clk) begin
    if (seed)      past_q <= short_preamble ? SCRAMBLER_SEED_SHORT : SCRAMBLER_SEED_LONG;
    else if (take) past_q <= {past_q[5:0], out_bit};
  end

  assign out_bit = in_bit ^ past_q[3] ^ past_q[6];

endmodule

`default_nettype wire
