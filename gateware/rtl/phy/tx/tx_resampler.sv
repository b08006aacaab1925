// SPDX-License-Identifier: GPL-2.0-or-later
// From the transmitter's samples to a converter's rate, for radios whose clock gives neither 22 nor 44 Msps: between two of the
// transmitter's samples lies a straight line, read at the nearest eighth below. SOURCE_RATE and OUT_RATE are in any common unit.
//
// Timing: an output is taken at most every second clock up to SOURCE_RATE / OUT_RATE = 2, else at most every third. Two outputs are
// ahead of what the transmitter shows.

`default_nettype none

module tx_resampler #(
  parameter int unsigned SOURCE_RATE = 44,
  parameter int unsigned OUT_RATE    = 25
) (
  input  wire logic               clk,
  input  wire logic               rst,

  // The transmitter.
  output wire logic               source_take,
  input  wire logic signed [11:0] source_i,
  input  wire logic signed [11:0] source_q,

  // The converter.
  input  wire logic               sample_take,
  output wire logic signed [11:0] out_i,
  output wire logic signed [11:0] out_q
);

  localparam int unsigned FRACTION_BITS = 24;  // 1.0 is a sample of the transmitter
  localparam int unsigned PHASE_W       = FRACTION_BITS + 2;
  localparam logic [PHASE_W-1:0] ONE  = PHASE_W'(1) << FRACTION_BITS;
  localparam logic [PHASE_W-1:0] STEP = PHASE_W'(((64'(SOURCE_RATE) << FRACTION_BITS) + 64'(OUT_RATE) / 2) / 64'(OUT_RATE));

  if (SOURCE_RATE < OUT_RATE || SOURCE_RATE >= 3 * OUT_RATE) begin : g_bad_rates
    $fatal(1, "%m: the transmitter's rate must be one to three times the converter's");
  end

  logic [PHASE_W-1:0] phase_d, phase_q;        // of the next output, behind the last sample taken
  logic               waits_q;                 // next_i_q and next_q_q do
  logic signed [11:0] older_i_q, older_q_q, point_i, point_q, next_i_q, next_q_q, out_i_q, out_q_q;

  wire logic       between = phase_q < ONE;
  wire logic       give    = between && (!waits_q || sample_take);
  wire logic [2:0] eighths = phase_q[FRACTION_BITS-1 -: 3];

  line_point #(.W(12)) u_line_point_i (.older(older_i_q), .newer(source_i), .eighths, .point(point_i));
  line_point #(.W(12)) u_line_point_q (.older(older_q_q), .newer(source_q), .eighths, .point(point_q));

  always_comb begin
    phase_d = phase_q;
    if (give)        phase_d = phase_d + STEP;
    if (source_take) phase_d = phase_d - ONE;
  end

  always_ff @(posedge clk) begin
    if (rst) begin
      phase_q <= '0;
      waits_q <= 1'b0;
      {older_i_q, older_q_q, out_i_q, out_q_q} <= '0;
    end else begin
      phase_q <= phase_d;
      waits_q <= give || (waits_q && !sample_take);
      if (source_take) {older_i_q, older_q_q} <= {source_i, source_q};
      if (sample_take) {out_i_q, out_q_q} <= {next_i_q, next_q_q};
    end
    if (give) {next_i_q, next_q_q} <= {point_i, point_q};
  end

  // The step is a sample of the transmitter at least: with each output one of them is behind.
  assign source_take = !rst && (give || !between);
  assign out_i       = out_i_q;
  assign out_q       = out_q_q;

endmodule

`default_nettype wire
