// SPDX-License-Identifier: GPL-2.0-or-later
// The carrier's offset of a frame: the tangent of what it turns in a symbol, in 1/128, by long division of the averaged rotation's
// parts. Offset = arctan(tangent / 128) / 2 pi of the symbol rate: at 1 Msymbol/s about 1.24 kHz a step.
//
// Timing: 10 clocks after `start`.

`default_nettype none

module carrier_offset (
  input  wire logic               clk,
  input  wire logic               start,           // one clock, at least 10 after the last one
  input  wire logic signed [14:0] rotation_i,
  input  wire logic signed [14:0] rotation_q,
  output wire logic signed [7:0]  tangent_128      // beyond +-127/128, +-127
);

  localparam int unsigned BITS = 7;

  logic [3:0]        left_q;
  logic [14:0]       remainder_q, divisor_q;
  logic [BITS-1:0]   quotient_q;
  logic              negative_q, over_q;
  logic signed [7:0] tangent_q;

  wire logic [14:0] size_i = {1'b0, rotation_i[14] ? ~rotation_i[13:0] : rotation_i[13:0]};
  wire logic [14:0] size_q = {1'b0, rotation_q[14] ? ~rotation_q[13:0] : rotation_q[13:0]};
  wire logic [15:0] twice  = {remainder_q, 1'b0};
  wire logic        fits   = twice >= {1'b0, divisor_q};
  wire logic [14:0] rest   = 15'(twice - {1'b0, divisor_q});

  always_ff @(posedge clk) begin
    if (start) begin
      left_q      <= 4'(BITS + 1);
      remainder_q <= size_q;
      divisor_q   <= size_i;
      negative_q  <= rotation_q[14] != rotation_i[14];
      over_q      <= size_q >= size_i;
    end else if (left_q > 4'd1) begin
      left_q      <= left_q - 1'b1;
      quotient_q  <= {quotient_q[BITS-2:0], fits};
      remainder_q <= fits ? rest : twice[14:0];
    end else if (left_q == 4'd1) begin
      left_q    <= '0;
      tangent_q <= over_q ? (negative_q ? -8'sd127 : 8'sd127)
                          : (negative_q ? -$signed({1'b0, quotient_q}) : $signed({1'b0, quotient_q}));
    end
  end

  assign tangent_128 = tangent_q;

endmodule

`default_nettype wire
