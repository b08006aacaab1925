// SPDX-License-Identifier: GPL-2.0-or-later
// CRC-16 of the PLCP header, a bit a clock in the order of the air (IEEE 802.11-2012, 17.2.3.7). Unlike every other
// field it is sent with its high bit first, complemented.
//
// Timing: `next_bit` and `good` are about the bits given up to the clock before.

`default_nettype none

module plcp_crc
  import perhop_phy_pkg::*;
(
  input  wire logic clk,
  input  wire logic clear,      // begin a header; the bit of this clock is not taken
  input  wire logic valid,      // take a bit
  input  wire logic data,
  input  wire logic send,       // or move on to the next bit of the CRC
  output wire logic next_bit,   // of the CRC, as it is sent
  output wire logic good        // the bits so far are a header with its CRC
);

  logic [15:0] remainder_q;

  always_ff @(posedge clk) begin
    if (clear)      remainder_q <= '1;
    else if (valid) remainder_q <= {remainder_q[14:0], 1'b0} ^ (remainder_q[15] != data ? PLCP_CRC_POLYNOMIAL : '0);
    else if (send)  remainder_q <= {remainder_q[14:0], 1'b0};
  end

  assign next_bit = !remainder_q[15];
  assign good     = remainder_q == PLCP_CRC_RESIDUE;

endmodule

`default_nettype wire
