// SPDX-License-Identifier: GPL-2.0-or-later
// Airtime of a frame from its length, exact for every rate (IEEE 802.11-2012, 17.2.3.5 and
// 18.4.3): base_us + 2^unit_shift us * ceil((16 bytes + overhead_half_bits) / half_bits_per_unit).
// gateware/spec computes the coefficients of a rate. Half bits, because 5.5 Mb/s has no whole ones.
//
// Timing: `done` comes 18 + unit_shift clocks after `start`: a quotient bit a clock, no
// multiplier. The result stands until the next `start`. A `start` while busy begins anew. An airtime
// that 16 bits cannot hold, or a divisor of 0, gives 65535.

`default_nettype none

module airtime_calculator
  import perhop_pkg::*;
(
  input  wire logic        clk,
  input  wire logic        rst,

  input  wire logic        start,                // one clock, with
  input  wire logic [11:0] bytes,                // whole MPDU with FCS
  input  wire logic [9:0]  base_us,              // preamble, PLCP header, signal extension
  input  wire logic [8:0]  half_bits_per_unit,
  input  wire logic [2:0]  unit_shift,
  input  wire logic [5:0]  overhead_half_bits,

  output wire logic        busy,
  output wire logic        done,                 // one clock
  output wire logic [15:0] airtime_us
);

  localparam int unsigned DIVIDEND_W = MPDU_BYTES_W + 5;   // 16 bytes and the overhead

  typedef enum logic [1:0] {
    ST_IDLE,
    ST_DIVIDE,
    ST_SCALE,   // units to microseconds
    ST_ADD
  } state_e;

  state_e                  state_q;
  logic [4:0]              left_q;
  logic [DIVIDEND_W-1:0]   dividend_q;           // the quotient moves in from below
  logic [8:0]              remainder_q, divisor_q;
  logic [9:0]              base_us_q;
  logic [2:0]              shift_q;
  logic                    too_long_q, done_q;
  logic [15:0]             airtime_us_q;

  wire logic [9:0]            brought_down = {remainder_q, dividend_q[DIVIDEND_W-1]};
  wire logic [10:0]           rest         = 11'(brought_down) - 11'(divisor_q);   // of what fits less than the divisor
  wire logic                  fits         = !rest[10];
  wire logic [8:0]            remainder    = fits ? rest[8:0] : brought_down[8:0];
  wire logic [DIVIDEND_W-1:0] quotient     = {dividend_q[DIVIDEND_W-2:0], fits};
  wire logic [DIVIDEND_W:0]   sum_us       = (DIVIDEND_W + 1)'(dividend_q) + (DIVIDEND_W + 1)'(base_us_q);

  always_ff @(posedge clk) begin
    done_q <= 1'b0;
    if (rst) begin
      state_q <= ST_IDLE;
    end else if (start) begin
      state_q     <= ST_DIVIDE;
      left_q      <= 5'(DIVIDEND_W);
      dividend_q  <= {1'b0, bytes, 4'b0} + DIVIDEND_W'(overhead_half_bits);
      remainder_q <= '0;
      divisor_q   <= half_bits_per_unit;
      base_us_q   <= base_us;
      shift_q     <= unit_shift;
      too_long_q  <= half_bits_per_unit == '0;
    end else begin
      case (state_q)
        ST_DIVIDE: begin
          left_q      <= left_q - 1'b1;
          remainder_q <= remainder;
          dividend_q  <= quotient;
          if (left_q == 5'd1) begin
            // A unit begun is a unit sent.
            dividend_q <= quotient + DIVIDEND_W'(remainder != '0);
            state_q    <= shift_q == '0 ? ST_ADD : ST_SCALE;
          end
        end
        ST_SCALE: begin
          dividend_q <= dividend_q << 1;
          too_long_q <= too_long_q || dividend_q[DIVIDEND_W-1];
          shift_q    <= shift_q - 1'b1;
          if (shift_q == 3'd1) state_q <= ST_ADD;
        end
        ST_ADD: begin
          state_q      <= ST_IDLE;
          done_q       <= 1'b1;
          airtime_us_q <= too_long_q || sum_us[DIVIDEND_W:16] != '0 ? '1 : sum_us[15:0];
        end
        default: ;
      endcase
    end
  end

  wire logic unused = &{1'b0, rest[9]};

  assign busy       = state_q != ST_IDLE;
  assign done       = done_q;
  assign airtime_us = airtime_us_q;

endmodule

`default_nettype wire
