// SPDX-License-Identifier: GPL-2.0-or-later
// Magnitude of a correlation, or of any complex number: the larger of |I| and |Q| and half of the smaller, at most 12 % off.
//
// Timing: one sample_valid.

`default_nettype none

module correlation_level #(
  parameter int unsigned W = 11
) (
  input  wire logic               clk,
  input  wire logic               rst,
  input  wire logic               sample_valid,
  input  wire logic signed [W-1:0] in_i,
  input  wire logic signed [W-1:0] in_q,
  output wire logic signed [W-1:0] out_i,        // the correlation that the level belongs to
  output wire logic signed [W-1:0] out_q,
  output wire logic [W-1:0]        level
);

  logic signed [W-1:0] i_q, q_q;
  logic [W-1:0]        level_q;

  wire logic [W-2:0] size_i = in_i[W-1] ? ~in_i[W-2:0] : in_i[W-2:0];
  wire logic [W-2:0] size_q = in_q[W-1] ? ~in_q[W-2:0] : in_q[W-2:0];
  wire logic       i_more = size_i > size_q;
  wire logic [W-2:0] more   = i_more ? size_i : size_q;
  wire logic [W-3:0] half   = i_more ? size_q[W-2:1] : size_i[W-2:1];

  always_ff @(posedge clk) begin
    if (rst) begin
      level_q <= '0;
    end else if (sample_valid) begin
      level_q <= W'(more) + W'(half);
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
