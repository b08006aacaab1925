// SPDX-License-Identifier: GPL-2.0-or-later
// The transmitter of the DSSS PHY, from octets to samples. Only instances and wires here.
//
// Timing: a frame's first sample leaves with the third or fourth sample_take after `start`; its first chip peaks
// PULSE_CHIPS/2 chips later. `active` is there from `start` until the last sample has left.

`default_nettype none

module dsss_transmitter
  import perhop_phy_pkg::*;
#(
  parameter int unsigned SAMPLES_PER_CHIP = 2     // 2 or 4
) (
  input  wire logic               clk,
  input  wire logic               rst,

  input  wire logic [8:0]         cfg_gain,       // 256 is one
  input  wire logic [2:0]         cfg_ramp_log2_samples,
  input  wire logic               sample_take,    // the radio takes a sample, at most every second clock

  // A frame to send.
  input  wire logic               start,          // one clock, while not active, with
  input  wire logic               start_2mbps,
  input  wire logic               start_short,    // short preamble; only at 2 Mb/s
  input  wire logic [11:0]        start_bytes,    // of the PSDU, at least one
  input  wire logic [7:0]         s_data,
  input  wire logic               s_valid,
  output wire logic               s_ready,
  output wire logic               active,
  output wire logic               evt_underrun,   // an octet was not there in time

  output wire logic signed [11:0] out_i,
  output wire logic signed [11:0] out_q
);

  localparam int unsigned PLACE_W = $clog2(SAMPLES_PER_CHIP);

  logic bit_valid, bit_data, bit_pair, bit_take, scrambled_bit;
  logic symbol_valid, symbol_take, rise, fall, sending;
  logic [1:0] symbol_quadrant;
  logic [PULSE_CHIPS-1:0] plus_i, plus_q;
  logic [PLACE_W-1:0] place;
  logic signed [11:0] shaped_i, shaped_q;
  logic [2:0] leaving_q;                          // samples of the frame behind barker_spreader

  plcp_framer u_plcp_framer (
    .clk, .rst, .start, .start_2mbps, .start_short, .start_bytes, .s_data, .s_valid, .s_ready, .evt_underrun,
    .bit_valid, .bit_data, .bit_pair, .bit_take
  );

  scrambler u_scrambler (
    .clk, .seed(start), .short_preamble(start_short), .in_bit(bit_data), .take(bit_take), .out_bit(scrambled_bit)
  );

  symbol_mapper u_symbol_mapper (
    .clk, .rst, .start, .bit_valid, .bit_data(scrambled_bit), .bit_pair, .bit_take,
    .symbol_valid, .symbol_quadrant, .symbol_take
  );

  barker_spreader #(.SAMPLES_PER_CHIP(SAMPLES_PER_CHIP)) u_barker_spreader (
    .clk, .rst, .sample_take, .cfg_ramp_log2_samples, .symbol_valid, .symbol_quadrant, .symbol_take, .plus_i, .plus_q, .place,
    .rise, .fall, .sending
  );

  pulse_shaper #(.SAMPLES_PER_CHIP(SAMPLES_PER_CHIP)) u_pulse_shaper_i (
    .clk, .sample_take, .plus(plus_i), .place, .shaped(shaped_i)
  );

  pulse_shaper #(.SAMPLES_PER_CHIP(SAMPLES_PER_CHIP)) u_pulse_shaper_q (
    .clk, .sample_take, .plus(plus_q), .place, .shaped(shaped_q)
  );

  tx_ramp u_tx_ramp (
    .clk, .rst, .sample_take, .cfg_gain, .cfg_ramp_log2_samples, .rise, .fall, .sending, .shaped_i, .shaped_q, .out_i, .out_q
  );

  always_ff @(posedge clk) begin
    if (rst)              leaving_q <= '0;
    else if (sample_take) leaving_q <= {leaving_q[1:0], sending};
  end

  assign active = bit_valid || symbol_valid || sending || leaving_q != '0;

endmodule

`default_nettype wire
