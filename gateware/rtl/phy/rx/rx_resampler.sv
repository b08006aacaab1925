// SPDX-License-Identifier: GPL-2.0-or-later
// From a converter's rate to two samples a chip, for radios whose clock gives neither 22 nor 44 Msps: between two samples lies a
// straight line, read at the nearest eighth below. IN_RATE and OUT_RATE are in any common unit.
//
// Timing: an output comes one clock after the sample behind it, a second one two clocks later. Where OUT_RATE is above IN_RATE
// samples come at most every third clock, else at most every second.

`default_nettype none

module rx_resampler #(
  parameter int unsigned IN_RATE  = 25,
  parameter int unsigned OUT_RATE = 22
) (
  input  wire logic               clk,
  input  wire logic               rst,
  input  wire logic               in_valid,
  input  wire logic signed [15:0] in_i,
  input  wire logic signed [15:0] in_q,
  output wire logic               out_valid,   // one clock
  output wire logic signed [15:0] out_i,
  output wire logic signed [15:0] out_q
);

  localparam int unsigned FRACTION_BITS = 24;  // 1.0 is a sample of the converter
  localparam int unsigned PHASE_W       = FRACTION_BITS + 2;
  localparam logic [PHASE_W-1:0] ONE  = PHASE_W'(1) << FRACTION_BITS;
  localparam logic [PHASE_W-1:0] STEP = PHASE_W'(((64'(IN_RATE) << FRACTION_BITS) + 64'(OUT_RATE) / 2) / 64'(OUT_RATE));

  if (IN_RATE >= 2 * OUT_RATE || OUT_RATE >= 2 * IN_RATE) begin : g_bad_rates
    $fatal(1, "%m: the rates must be within a factor of two");
  end

  logic [PHASE_W-1:0] phase_d, phase_q;        // of the next output, behind the older of the two samples
  logic               valid_q;
  logic signed [15:0] older_i_q, older_q_q, newer_i_q, newer_q_q, out_i_q, out_q_q;

  wire logic       between = phase_q < ONE;
  wire logic       give    = between && !valid_q;
  wire logic [2:0] eighths = phase_q[FRACTION_BITS-1 -: 3];

  logic signed [15:0] point_i, point_q;

  line_point #(.W(16)) u_line_point_i (.older(older_i_q), .newer(newer_i_q), .eighths, .point(point_i));
  line_point #(.W(16)) u_line_point_q (.older(older_q_q), .newer(newer_q_q), .eighths, .point(point_q));

  always_comb begin
    phase_d = phase_q;
    if (give)     phase_d = phase_d + STEP;
    if (in_valid) phase_d = phase_d - ONE;
  end

  always_ff @(posedge clk) begin
    if (rst) begin
      phase_q <= ONE;
      valid_q <= 1'b0;
      {older_i_q, older_q_q, newer_i_q, newer_q_q} <= '0;
    end else begin
      phase_q <= phase_d;
      valid_q <= give;
      if (in_valid) begin
        {older_i_q, older_q_q} <= {newer_i_q, newer_q_q};
        {newer_i_q, newer_q_q} <= {in_i, in_q};
      end
    end
    if (give) begin
      out_i_q <= point_i;
      out_q_q <= point_q;
    end
  end

  assign out_valid = valid_q;
  assign out_i     = out_i_q;
  assign out_q     = out_q_q;

endmodule

`default_nettype wire
