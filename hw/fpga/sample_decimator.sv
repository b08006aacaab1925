// SPDX-License-Identifier: GPL-2.0-or-later
// FACTOR samples of a converter to one of the modem, behind a low-pass (sample_filter_pkg). Its gain is FACTOR over the next
// power of two.
//
// Timing: takes a sample every clock; the filter's middle lies four samples of the modem back, and eight clocks more.

`default_nettype none

module sample_decimator
  import sample_filter_pkg::*;
#(
  parameter int unsigned FACTOR = 8
) (
  input  wire logic        clk,
  input  wire logic        rst,
  input  wire logic        s_stb,
  input  wire logic [31:0] s_data,     // I in the upper half
  output wire logic        m_stb,
  output wire logic [31:0] m_data
);

  localparam int unsigned SHIFT   = 15 + $clog2(FACTOR);
  localparam int unsigned SUM_W   = 32 + $clog2(FACTOR * FILTER_BRANCHES);
  localparam int unsigned PHASE_W = $clog2(FACTOR);

  logic [PHASE_W-1:0] phase_q;
  logic               stb_q, first_q, valid_q, out_q;
  logic [31:0]        out_data_q;

  wire logic last = phase_q == PHASE_W'(FACTOR - 1);

  always_ff @(posedge clk) begin
    if (rst) begin
      phase_q <= '0;
      stb_q   <= 1'b0;
      first_q <= 1'b0;
    end else begin
      stb_q   <= s_stb;
      first_q <= s_stb && phase_q == '0;
      if (s_stb) phase_q <= last ? '0 : phase_q + 1'b1;
    end
  end

  for (genvar half = 0; half < 2; ++half) begin : gen_half
    logic signed [31:0]      product_q [FILTER_BRANCHES];
    logic signed [SUM_W-1:0] sum_q [FILTER_BRANCHES];     // of the output that comes now, the next, ...
    wire logic signed [SUM_W-1:0] rounded = sum_q[0] + (SUM_W'(1) <<< (SHIFT - 1));
    wire logic signed [SUM_W-1:0] scaled  = rounded >>> SHIFT;
    wire logic fits = scaled[SUM_W-1:15] == '0 || scaled[SUM_W-1:15] == '1;

    for (genvar branch = 0; branch < FILTER_BRANCHES; ++branch) begin : gen_branch
      logic signed [15:0] tap;
      always_comb begin
        tap = '0;
        for (int unsigned phase = 0; phase < FACTOR; ++phase) begin
          if (phase_q == PHASE_W'(phase)) tap = filter_tap(FACTOR, 7'(branch * FACTOR + FACTOR - 1 - phase));
        end
      end

      logic signed [SUM_W-1:0] carried;
      if (branch + 1 < FILTER_BRANCHES) begin : gen_next
        assign carried = first_q ? sum_q[branch+1] : sum_q[branch];
      end else begin : gen_empty
        assign carried = first_q ? '0 : sum_q[branch];
      end

      always_ff @(posedge clk) begin
        if (s_stb) product_q[branch] <= $signed(s_data[16*half +: 16]) * tap;
        if (rst)        sum_q[branch] <= '0;
        else if (stb_q) sum_q[branch] <= carried + SUM_W'(product_q[branch]);
      end
    end

    always_ff @(posedge clk) begin
      if (first_q) out_data_q[16*half +: 16] <= fits ? scaled[15:0] : {scaled[SUM_W-1], {15{!scaled[SUM_W-1]}}};
    end
  end

  // The first output after a reset is of nothing.
  always_ff @(posedge clk) begin
    if (rst) begin
      valid_q <= 1'b0;
      out_q   <= 1'b0;
    end else begin
      out_q <= first_q && valid_q;
      if (first_q) valid_q <= 1'b1;
    end
  end

  assign m_stb  = out_q;
  assign m_data = out_data_q;

endmodule

`default_nettype wire
