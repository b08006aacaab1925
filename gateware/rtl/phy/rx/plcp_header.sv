// SPDX-License-Identifier: GPL-2.0-or-later
// The PLCP header: its 48 bits in the order of the air become fields, and its CRC is held against them
// (IEEE 802.11-2012, 17.2.3). SERVICE may have any bit set.
//
// Timing: `complete` comes with the clock after the last bit, and the fields stand until `clear`.

`default_nettype none

module plcp_header
  import perhop_phy_pkg::*;
(
  input  wire logic        clk,
  input  wire logic        clear,        // a header begins
  input  wire logic        valid,
  input  wire logic        data,
  output wire logic        complete,     // level, from then on
  output wire logic        good,         // with complete: the CRC fits
  output wire logic [7:0]  signal,
  output wire logic [7:0]  service,
  output wire logic [15:0] length_us
);

  localparam int unsigned FIELDS_BITS = PLCP_HEADER_BITS - 16;

  logic [5:0]  bits_q;
  logic [31:0] fields_q;
  logic        unused_next_bit;

  wire logic take = valid && !complete;

  always_ff @(posedge clk) begin
    if (clear)     bits_q <= '0;
    else if (take) bits_q <= bits_q + 1'b1;
    if (take && bits_q < 6'(FIELDS_BITS)) fields_q <= {data, fields_q[31:1]};
  end

  plcp_crc u_plcp_crc (
    .clk, .clear, .valid(take), .data, .send(1'b0), .next_bit(unused_next_bit), .good
  );

  assign complete  = bits_q == 6'(PLCP_HEADER_BITS);
  assign signal    = fields_q[7:0];
  assign service   = fields_q[15:8];
  assign length_us = fields_q[31:16];

  wire logic unused = &{1'b0, unused_next_bit};

endmodule

`default_nettype wire
