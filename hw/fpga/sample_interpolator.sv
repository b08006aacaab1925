// SPDX-License-Identifier: GPL-2.0-or-later
// One sample of the modem to FACTOR of a converter, through a low-pass (sample_filter_pkg) of gain one.
//
// Timing: `s_stb` asks for the modem's next sample every FACTOR samples; the filter's middle lies four samples of the modem
// back, and six clocks more.

`default_nettype none

module sample_interpolator
  import sample_filter_pkg::*;
#(
  parameter int unsigned FACTOR = 8
) (
  input  wire logic        clk,
  input  wire logic        rst,
  output wire logic        s_stb,
  input  wire logic [31:0] s_data,     // I in the upper half; taken with s_stb
  input  wire logic        m_stb,      // the converter takes a sample
  output wire logic [31:0] m_data
);

  localparam int unsigned PHASE_W = $clog2(FACTOR);
  localparam int unsigned PAIRS   = FILTER_BRANCHES / 2;

  logic [PHASE_W-1:0] phase_q;
  logic [31:0]        line_q [FILTER_BRANCHES];
  logic [31:0]        out_data_q;

  wire logic last = phase_q == PHASE_W'(FACTOR - 1);
  assign s_stb = m_stb && last;

  always_ff @(posedge clk) begin
    if (rst) begin
      phase_q <= '0;
      for (int unsigned branch = 0; branch < FILTER_BRANCHES; ++branch) line_q[branch] <= '0;
    end else if (m_stb) begin
      phase_q <= last ? '0 : phase_q + 1'b1;
      if (last) begin
        line_q[0] <= s_data;
        for (int unsigned branch = 1; branch < FILTER_BRANCHES; ++branch) line_q[branch] <= line_q[branch-1];
      end
    end
  end

  for (genvar half = 0; half < 2; ++half) begin : gen_half
    logic signed [31:0] product_q [FILTER_BRANCHES];
    logic signed [34:0] pair_q [PAIRS], quarter_q [PAIRS/2], sum_q;
    wire logic signed [34:0] scaled = (sum_q + 35'sd16384) >>> 15;
    wire logic fits = scaled[34:15] == '0 || scaled[34:15] == '1;

    for (genvar branch = 0; branch < FILTER_BRANCHES; ++branch) begin : gen_branch
      logic signed [15:0] tap;
      always_comb begin
        tap = '0;
        for (int unsigned phase = 0; phase < FACTOR; ++phase) begin
          if (phase_q == PHASE_W'(phase)) tap = filter_tap(FACTOR, 7'(branch * FACTOR + phase));
        end
      end
      always_ff @(posedge clk) begin
        if (m_stb) product_q[branch] <= $signed(line_q[branch][16*half +: 16]) * tap;
      end
    end

    always_ff @(posedge clk) begin
      if (m_stb) begin
        for (int unsigned pair = 0; pair < PAIRS; ++pair) pair_q[pair] <= 35'(product_q[2*pair]) + 35'(product_q[2*pair+1]);
        for (int unsigned quarter = 0; quarter < PAIRS / 2; ++quarter) begin
          quarter_q[quarter] <= pair_q[2*quarter] + pair_q[2*quarter+1];
        end
        sum_q <= quarter_q[0] + quarter_q[1];
        out_data_q[16*half +: 16] <= fits ? scaled[15:0] : {scaled[34], {15{!scaled[34]}}};
      end
    end
  end

  assign m_data = out_data_q;

endmodule

`default_nettype wire
