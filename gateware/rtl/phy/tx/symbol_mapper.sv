// SPDX-License-Identifier: GPL-2.0-or-later
// Differential modulation: one bit (DBPSK) or two (DQPSK) turn the phase of a symbol against the one before
// (IEEE 802.11-2012, 16.4.6.5). A frame begins from phase 0.
//
// Timing: a symbol is there at most three clocks after the one before was taken; its bits have been taken then.

`default_nettype none

module symbol_mapper (
  input  wire logic       clk,
  input  wire logic       rst,

  input  wire logic       start,           // the next bit is a frame's first

  // Scrambled bits.
  input  wire logic       bit_valid,
  input  wire logic       bit_data,
  input  wire logic       bit_pair,
  output wire logic       bit_take,

  // barker_spreader.
  output wire logic       symbol_valid,
  output wire logic [1:0] symbol_quadrant,
  input  wire logic       symbol_take
);

  logic       full_q, second_q, first_bit_q;
  logic [1:0] quadrant_q;
  logic [1:0] turn;                        // in quarters

  always_comb begin
    if (second_q) turn = {first_bit_q, first_bit_q ^ bit_data};   // 00 0, 01 1, 11 2, 10 3
    else          turn = {bit_data, 1'b0};
  end

  wire logic complete = bit_take && (second_q || !bit_pair);

  always_ff @(posedge clk) begin
    if (rst || start) begin
      full_q     <= 1'b0;
      second_q   <= 1'b0;
      quadrant_q <= '0;
    end else begin
      if (complete)         full_q <= 1'b1;
      else if (symbol_take) full_q <= 1'b0;
      if (bit_take) second_q <= !complete;
      if (complete) quadrant_q <= quadrant_q + turn;
    end
    if (bit_take) first_bit_q <= bit_data;
  end

  assign bit_take        = bit_valid && !full_q && !start;
  assign symbol_valid    = full_q;
  assign symbol_quadrant = quadrant_q;

endmodule

`default_nettype wire
