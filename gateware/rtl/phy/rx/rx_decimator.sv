// SPDX-License-Identifier: GPL-2.0-or-later
// From four samples a chip to two: the mean of each pair.
//
// Timing: out_valid comes with the clock after a pair's second sample.

`default_nettype none

module rx_decimator (
  input  wire logic               clk,
  input  wire logic               rst,
  input  wire logic               in_valid,
  input  wire logic signed [15:0] in_i,
  input  wire logic signed [15:0] in_q,
  output wire logic               out_valid,   // one clock
  output wire logic signed [15:0] out_i,
  output wire logic signed [15:0] out_q
);

  logic               second_q, valid_q;
  logic signed [15:0] first_i_q, first_q_q;
  logic signed [16:0] sum_i_q, sum_q_q;

  always_ff @(posedge clk) begin
    if (rst) begin
      second_q <= 1'b0;
      valid_q  <= 1'b0;
    end else begin
      if (in_valid) second_q <= !second_q;
      valid_q <= in_valid && second_q;
    end
    if (in_valid && !second_q) {first_i_q, first_q_q} <= {in_i, in_q};
    if (in_valid && second_q) begin
      sum_i_q <= 17'(first_i_q) + 17'(in_i);
      sum_q_q <= 17'(first_q_q) + 17'(in_q);
    end
  end

  assign out_valid = valid_q;
  assign out_i     = sum_i_q[16:1];
  assign out_q     = sum_q_q[16:1];

  wire logic unused = &{1'b0, sum_i_q[0], sum_q_q[0]};

endmodule

`default_nettype wire
