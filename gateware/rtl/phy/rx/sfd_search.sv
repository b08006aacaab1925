// SPDX-License-Identifier: GPL-2.0-or-later
// Search for the SFD of either preamble in the descrambled bits of SYNC (IEEE 802.11-2012, 17.2.3.3 and 17.2.3.10). It gives up
// after 170 symbols, more than any SYNC has, or when the carrier is gone: then it is no preamble, or its SFD was missed.
//
// Timing: `found` is combinational with the SFD's last bit; `given_up` with symbol_done.

`default_nettype none

module sfd_search
  import perhop_phy_pkg::*;
(
  input  wire logic clk,
  input  wire logic clear,           // a search begins
  input  wire logic valid,
  input  wire logic data,
  input  wire logic symbol_done,
  input  wire logic carrier_lost,
  output wire logic found,
  output wire logic found_short,     // with found: the short preamble's
  output wire logic given_up
);

  localparam int unsigned MOST_SYMBOLS  = 170;
  // What stands for the bits before the first one: neither SFD begins as this ends, and so the seven bits that the descrambler
  // needs to find its state are never part of one.
  localparam logic [14:0] BEFORE        = 15'h5555;

  logic [14:0] past_q;
  logic [7:0]  symbols_q;                         // with bits
  logic        bit_q;                             // the symbol has had one

  wire logic [15:0] last = {data, past_q};
  wire logic [7:0]  symbols = symbols_q + 8'(bit_q);

  always_ff @(posedge clk) begin
    if (clear) begin
      past_q    <= BEFORE;
      symbols_q <= '0;
      bit_q     <= 1'b0;
    end else begin
      if (valid) past_q <= last[15:1];
      if (valid) bit_q <= 1'b1;
      else if (symbol_done) bit_q <= 1'b0;
      if (symbol_done) symbols_q <= symbols;
    end
  end

  assign found       = valid && (last == PLCP_SFD_LONG || last == PLCP_SFD_SHORT);
  assign found_short = last == PLCP_SFD_SHORT;
  assign given_up    = symbol_done && (symbols == 8'(MOST_SYMBOLS) || carrier_lost);

endmodule

`default_nettype wire
