// SPDX-License-Identifier: GPL-2.0-or-later
// One airtime_calculator for each rate of every profile, all given the same length, so that
// every length can be tried in a second.

`default_nettype none

module airtime_bench #(
  parameter int unsigned RATES = 37
) (
  input  wire logic                clk,
  input  wire logic                rst,
  input  wire logic                start,
  input  wire logic [11:0]         bytes,
  input  wire logic [10*RATES-1:0] base_us,
  input  wire logic [9*RATES-1:0]  half_bits_per_unit,
  input  wire logic [3*RATES-1:0]  unit_shift,
  input  wire logic [6*RATES-1:0]  overhead_half_bits,
  output wire logic                all_idle,
  output wire logic [16*RATES-1:0] airtime_us
);

  logic [RATES-1:0] busy, unused_done;
  for (genvar rate = 0; rate < RATES; rate++) begin : g_rate
    airtime_calculator u_airtime_calculator (
      .clk, .rst, .start, .bytes,
      .base_us(base_us[10*rate +: 10]), .half_bits_per_unit(half_bits_per_unit[9*rate +: 9]),
      .unit_shift(unit_shift[3*rate +: 3]), .overhead_half_bits(overhead_half_bits[6*rate +: 6]),
      .busy(busy[rate]), .done(unused_done[rate]), .airtime_us(airtime_us[16*rate +: 16])
    );
  end
  assign all_idle = busy == '0;

endmodule

`default_nettype wire
