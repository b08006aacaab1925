// SPDX-License-Identifier: GPL-2.0-or-later
// Magnitude of a correlation: the larger of |I| and |Q| and half of the smaller, at most 12 % off.
//
// Timing: one sample_valid.

`default_nettype none

module correlation_level (
  input  wire logic               clk,
  input  wire logic               rst,
  input  wire logic               sample_valid,
  input  wire logic signed [10:0] in_i,
  input  wire logic signed [10:0] in_q,
  output wire logic signed [10:0] out_i,        // the correlation that the level belongs to
  output wire logic signed [10:0] out_q,
  output wire logic [10:0]        level
);

  logic signed [10:0] i_q, q_q;
  logic [10:0]        level_q;

  wire logic [9:0] size_i = in_i[10] ? ~in_i[9:0] : in_i[9:0];
  wire logic [9:0] size_q = in_q[10] ? ~in_q[9:0] : in_q[9:0];
  wire logic       i_more = size_i > size_q;
  wire logic [9:0] more   = i_more ? size_i : size_q;
  wire logic [8:0] half   = i_more ? size_q[9:1] : size_i[9:1];

  always_ff @(posedge clk) begin
    if (rst) begin
      level_q <= '0;
    end else if (sample_valid) begin
      level_q <= 11'(more) + 11'(half);
    end
    if (sample_valid) begin
      i_q <= in_i;
      q_q <= in_q;
    end
  end

  assign out_i = i_q;
  assign out_q = q_q;
  assign level = level_q;

endmodule

`default_nettype wire
