// SPDX-License-Identifier: GPL-2.0-or-later
// The amplitude of what is sent: the gain, and its rise and fall at a frame's ends (IEEE 802.11-2012, 16.4.7.8: at most 2 us
// each). The rise takes a power of two of samples.
//
// Timing: `level` belongs to the rise and fall of the sample_take before, as pulse_shaper's output; a frame's samples
// leave one sample_take later still.

`default_nettype none

module tx_ramp #(
  parameter int unsigned RAMP_LOG2_MAX = 5
) (
  input  wire logic               clk,
  input  wire logic               rst,
  input  wire logic               sample_take,

  input  wire logic [8:0]         cfg_gain,        // 256 is one; taken at the begin of a frame
  input  wire logic [2:0]         cfg_ramp_log2_samples,

  // barker_spreader.
  input  wire logic               rise,
  input  wire logic               fall,
  input  wire logic               sending,

  // pulse_shaper.
  input  wire logic signed [11:0] shaped_i,
  input  wire logic signed [11:0] shaped_q,

  output wire logic signed [11:0] out_i,
  output wire logic signed [11:0] out_q
);

  localparam int unsigned STEP_W = RAMP_LOG2_MAX;  // fraction bits of the level

  if (RAMP_LOG2_MAX < 1 || RAMP_LOG2_MAX > 7) begin : illegal_parameters
    $fatal(1, "%m: RAMP_LOG2_MAX must be 1 to 7");
  end

  logic [8:0]        level_q;
  logic [8+STEP_W:0] step_q;                       // of the level, a sample
  logic [8+STEP_W:0] sum_q;                        // steps risen, so far
  logic signed [20:0] product_i_q, product_q_q;

  wire logic [8+STEP_W:0] lower = sum_q - step_q;
  wire logic [8+STEP_W:0] now   = fall ? lower : sum_q;
  wire logic signed [20:0] factor = $signed({12'd0, level_q});

  always_ff @(posedge clk) begin
    if (rst) begin
      level_q     <= '0;
      product_i_q <= '0;
      product_q_q <= '0;
    end else if (sample_take) begin
      if (!sending) begin
        step_q <= {cfg_gain, {STEP_W{1'b0}}} >> cfg_ramp_log2_samples;
        sum_q  <= '0;
      end else if (rise) begin
        sum_q <= sum_q + step_q;
      end else begin
        sum_q <= now;
      end
      level_q     <= sending ? now[STEP_W +: 9] : '0;
      product_i_q <= 21'(shaped_i) * factor;
      product_q_q <= 21'(shaped_q) * factor;
    end
  end

  assign out_i = product_i_q[19:8];
  assign out_q = product_q_q[19:8];

  wire logic unused = &{1'b0, product_i_q[20], product_i_q[7:0], product_q_q[20], product_q_q[7:0]};

endmodule

`default_nettype wire
