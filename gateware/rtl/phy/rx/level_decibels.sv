// SPDX-License-Identifier: GPL-2.0-or-later
// Levels in decibels: 20 log10 of each input, in turn, from the place of its highest bit and the three bits below, within
// 1.3 dB. One unit for all of them.
//
// Timing: an output follows its input within INPUTS + 2 clocks.

`default_nettype none

module level_decibels #(
  parameter int unsigned INPUTS = 4,
  parameter int unsigned LEVEL_W = 21
) (
  input  wire logic               clk,
  input  wire logic [LEVEL_W-1:0] level [INPUTS],
  output wire logic [6:0]         level_db [INPUTS]   // of 0 as of 1: 1
);

  localparam int unsigned TURN_W = INPUTS > 1 ? $clog2(INPUTS) : 1;

  if (LEVEL_W < 4 || LEVEL_W > 21) begin : g_bad_width
    $fatal(1, "%m: LEVEL_W must be 4 to 21");
  end

  logic [TURN_W-1:0]  turn_q, last_turn_q;
  logic [LEVEL_W+2:0] level_q;            // three bits below the point
  logic [4:0]         top;
  logic [2:0]         below;
  logic [6:0]         level_db_q [INPUTS];

  always_comb begin
    top   = '0;
    below = '0;
    for (int unsigned bit_index = 0; bit_index < LEVEL_W; bit_index++) begin
      if (level_q[bit_index + 3]) begin
        top   = 5'(bit_index);
        below = level_q[bit_index +: 3];
      end
    end
  end

  // An octave is 6.02 dB, and eight steps here, 3/4 dB each. The logarithm of the middle of a step is a step more than its begin.
  wire logic [9:0] eighths     = 10'({top, below}) + 1'b1;
  wire logic [9:0] three_times = eighths + {eighths[8:0], 1'b0};

  always_ff @(posedge clk) begin
    turn_q      <= int'(turn_q) >= INPUTS - 1 ? '0 : turn_q + 1'b1;
    last_turn_q <= turn_q;
    level_q     <= {level[turn_q], 3'b000};
    for (int unsigned index = 0; index < INPUTS; index++) begin
      if (int'(last_turn_q) == index) level_db_q[index] <= 7'((three_times + 10'd2) >> 2);
    end
  end

  for (genvar index = 0; index < INPUTS; index++) begin : g_out
    assign level_db[index] = level_db_q[index];
  end

endmodule

`default_nettype wire
