// SPDX-License-Identifier: GPL-2.0-or-later
// Frame check sequence: CRC-32 over the bytes of a frame (IEEE 802.11-2012, 8.2.4.8;
// the same as IEEE 802.3's), one byte a clock, each byte's low bit first.
//
// Timing: `fcs` and `good` are about the bytes given up to the clock before.

`default_nettype none

module crc32 (
  input  wire logic        clk,
  input  wire logic        clear,   // begin a frame; the byte of this clock is not taken
  input  wire logic        valid,
  input  wire logic [7:0]  data,
  output wire logic [31:0] fcs,     // to follow the bytes so far, low byte first
  output wire logic        good     // the bytes so far end with their own FCS
);

  localparam logic [31:0] POLYNOMIAL = 32'hedb8_8320;   // 8.2.4.8, the low bit is the highest power
  localparam logic [31:0] RESIDUE    = 32'hdebb_20e3;   // what a frame with its FCS leaves behind

  logic [31:0] remainder_q;

  function automatic logic [31:0] divided(logic [31:0] remainder, logic [7:0] eight_bits);
    divided = remainder ^ 32'(eight_bits);
    for (int bit_index = 0; bit_index < 8; bit_index++) begin
      divided = (divided >> 1) ^ (divided[0] ? POLYNOMIAL : '0);
    end
  endfunction

  always_ff @(posedge clk) begin
    if (clear)      remainder_q <= '1;
    else if (valid) remainder_q <= divided(remainder_q, data);
  end

  assign fcs  = ~remainder_q;
  assign good = remainder_q == RESIDUE;

endmodule

`default_nettype wire
