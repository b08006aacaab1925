// SPDX-License-Identifier: GPL-2.0-or-later
// The airtime calculator gives one result for each start, in time, and keeps it until the next; and it is
// the exact one: the units are the fewest that hold the frame, whatever its length and overhead.
//
// Bound into airtime_calculator.

`default_nettype none

module airtime_rules #(
  parameter int unsigned DIVISOR = 11   // half bits a unit: 5.5 Mb/s; one divisor spares the solver a multiplication
) (
  input wire logic        clk,
  input wire logic        rst,
  input wire logic        start,
  input wire logic [11:0] bytes,
  input wire logic [9:0]  base_us,
  input wire logic [8:0]  half_bits_per_unit,
  input wire logic [2:0]  unit_shift,
  input wire logic [5:0]  overhead_half_bits,
  input wire logic        busy,
  input wire logic        done,
  input wire logic [15:0] airtime_us
);

  logic        begun_q = 1'b0, running_q = 1'b0, undisturbed_q = 1'b0;
  logic [4:0]  clocks_q;     // since the start
  logic [2:0]  shift_q;
  logic [9:0]  base_q;
  logic [16:0] dividend_q;
  logic [15:0] airtime_us_q;

  always_ff @(posedge clk) begin
    begun_q       <= 1'b1;
    airtime_us_q  <= airtime_us;
    undisturbed_q <= !rst && !done;
    if (rst) running_q <= 1'b0;
    else if (start) begin
      running_q  <= 1'b1;
      clocks_q   <= 5'd1;
      shift_q    <= unit_shift;
      base_q     <= base_us;
      dividend_q <= 17'({bytes, 4'b0}) + 17'(overhead_half_bits);
    end else if (running_q) begin
      clocks_q <= clocks_q + 1'b1;
      if (done) running_q <= 1'b0;
    end
  end

  always_comb begin
    if (!begun_q) assume (rst);
    if (start) assume (half_bits_per_unit == 9'(DIVISOR));
  end

  // What the machine has of the dividend: bits not looked at yet, and bits of the quotient below them.
  wire logic [4:0]  left      = airtime_calculator.left_q;
  wire logic [1:0]  state     = airtime_calculator.state_q;
  wire logic [16:0] held      = airtime_calculator.dividend_q;
  wire logic [16:0] to_come   = held >> (5'd17 - left);
  wire logic [16:0] quotient  = held & ((17'd1 << (5'd17 - left)) - 1'b1);
  wire logic [20:0] so_far    = 21'(quotient) * 21'(DIVISOR) + 21'(airtime_calculator.remainder_q);
  logic [16:0] units_q;                       // the quotient, a unit begun counted as one
  wire logic [20:0] units_half_bits = 21'(units_q) * 21'(DIVISOR);
  wire logic [24:0] exact_us  = (25'(units_q) << shift_q) + 25'(base_q);
  wire logic [2:0]  scaled    = shift_q - airtime_calculator.shift_q;
  wire logic [24:0] scaled_us = 25'(units_q) << scaled;

  wire logic [9:0] brought      = {airtime_calculator.remainder_q, held[16]};
  wire logic       brought_fits = brought >= 10'(DIVISOR);
  wire logic [9:0] rest         = brought_fits ? brought - 10'(DIVISOR) : brought;

  // The first clock after the division: the quotient is complete.
  always_ff @(posedge clk) if (state == 2'd1 && left == 5'd1) begin
    units_q <= 17'({held[15:0], brought_fits}) + 17'(rest != '0);
  end

  always_comb if (begun_q && !rst) begin
    a_done_in_time  : assert (done == (running_q && clocks_q == 5'd19 + 5'(shift_q)));
    a_busy_until    : assert (busy == (running_q && !done));
    a_result_stands : assert (done || !undisturbed_q || airtime_us == airtime_us_q);
    if (done) a_exact : assert (airtime_us == (exact_us > 25'hffff ? 16'hffff : exact_us[15:0]));
    if (done) a_units : assert (units_half_bits >= 21'(dividend_q) && units_half_bits < 21'(dividend_q) + 21'(DIVISOR));

    // For the induction: where the machine is.
    if (running_q && !done) begin
      i_constants : assert (airtime_calculator.divisor_q == 9'(DIVISOR) && airtime_calculator.base_us_q == base_q);
      i_state     : assert (state != 2'd0);
    end
    if (state == 2'd1) begin
      i_left     : assert (running_q && left != '0 && left <= 5'd17 && clocks_q == 5'd18 - left);
      i_divided  : assert ((so_far << left) + 21'(to_come) == 21'(dividend_q));
      i_rest     : assert (airtime_calculator.remainder_q < 9'(DIVISOR));
      i_shift    : assert (airtime_calculator.shift_q == shift_q && !airtime_calculator.too_long_q);
    end
    if (state == 2'd2 || state == 2'd3 || done) begin
      i_units : assert (units_half_bits >= 21'(dividend_q) && units_half_bits < 21'(dividend_q) + 21'(DIVISOR));
    end
    if (state == 2'd2) begin
      i_scale_clocks : assert (running_q && airtime_calculator.shift_q != '0 && airtime_calculator.shift_q <= shift_q &&
                               clocks_q == 5'd18 + 5'(scaled));
      i_scaled       : assert (airtime_calculator.too_long_q == (scaled_us > 25'h1ffff) && held == scaled_us[16:0]);
    end
    if (state == 2'd3) begin
      i_add_clocks : assert (running_q && clocks_q == 5'd18 + 5'(shift_q));
      i_whole      : assert (airtime_calculator.too_long_q == ((25'(units_q) << shift_q) > 25'h1ffff) &&
                             held == 17'(25'(units_q) << shift_q));
    end
  end

endmodule

bind airtime_calculator airtime_rules u_airtime_rules (.*);

`default_nettype wire
