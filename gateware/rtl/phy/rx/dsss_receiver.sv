// SPDX-License-Identifier: GPL-2.0-or-later
// The receiver of the DSSS PHY, from samples at two a chip to octets. Only instances and wires here.
//
// Timing: samples come at most every second clock. From the sample at the middle of the last chip's pulse to `frame_end`: six
// samples and 18 clocks.

`default_nettype none

module dsss_receiver (
  input  wire logic               clk,
  input  wire logic               rst,            // also while the station sends
  input  wire logic               sample_valid,
  input  wire logic signed [15:0] in_i,
  input  wire logic signed [15:0] in_q,
  input  wire logic               gain_settling,  // gain_control
  input  wire logic               gain_rose,

  // A signal is being received, a preamble or a frame: level.
  output wire logic               tracking,
  output wire logic               framing,        // level: its SFD was found
  output wire logic               finish,         // level: nothing more is wanted of it

  // A frame, from a good header on, whatever its rate.
  output wire logic               frame_start,    // one clock, with
  output wire logic [7:0]         signal,
  output wire logic [7:0]         service,
  output wire logic [15:0]        length_us,
  output wire logic               short_preamble,
  output wire logic [7:0]         octet,          // of a rate that is none of ours they mean nothing
  output wire logic               octet_valid,
  output wire logic               frame_running,  // level
  output wire logic               frame_end,      // one clock, with
  output wire logic               frame_lost,     // the carrier was lost, before LENGTH was over
  output wire logic [15:0]        frame_left_us,  // if so, what of LENGTH is still to come

  output wire logic               evt_header_error,
  output wire logic               evt_given_up,   // there was a signal, but no SFD
  output wire logic [2:0]         carrier,        // trust that the signal is there; 0: it is gone
  output wire logic               peaks,          // level: what is searched for may have been found

  // For estimates.
  output wire logic [20:0]        block_sum,      // of |I| + |Q| of 22 samples
  output wire logic               block_done,
  output wire logic               symbol_done,
  output wire logic signed [14:0] turn_i,
  output wire logic signed [14:0] turn_q,
  output wire logic signed [19:0] rotation_i,
  output wire logic signed [19:0] rotation_q,
  output wire logic               error_valid,
  output wire logic [15:0]        error_size
);

  logic signed [5:0]  sample_i, sample_q;
  logic signed [10:0] correlation_i, correlation_q, level_i, level_q, now_i, now_q, before_i, before_q;
  logic [10:0]        level;
  logic [4:0]         place, lock_place;
  logic               searching, lock, symbol, symbol_first, carrier_lost;
  logic               in_sync, two_bits, bit_valid, bit_data;
  logic [2:0]         filled_q;                   // stages that hold a sample

  wire logic level_valid = sample_valid && filled_q[2];

  always_ff @(posedge clk) begin
    if (rst)               filled_q <= '0;
    else if (sample_valid) filled_q <= {filled_q[1:0], 1'b1};
  end

  rx_gain u_rx_gain (
    .clk, .rst, .sample_valid, .in_i, .in_q, .hold(tracking), .settling(gain_settling), .rose(gain_rose),
    .out_i(sample_i), .out_q(sample_q), .block_sum, .block_done
  );

  barker_correlator u_barker_correlator_i (
    .clk, .rst, .sample_valid, .sample(sample_i), .correlation(correlation_i)
  );

  barker_correlator u_barker_correlator_q (
    .clk, .rst, .sample_valid, .sample(sample_q), .correlation(correlation_q)
  );

  correlation_level u_correlation_level (
    .clk, .rst, .sample_valid, .in_i(correlation_i), .in_q(correlation_q), .out_i(level_i), .out_q(level_q), .level
  );

  acquisition u_acquisition (
    .clk, .rst, .sample_valid(level_valid), .level, .searching, .place, .lock, .lock_place, .peaks
  );

  symbol_timing u_symbol_timing (
    .clk, .rst, .sample_valid(level_valid), .in_i(level_i), .in_q(level_q), .level, .searching, .place, .lock, .lock_place,
    .symbol, .symbol_first, .now_i, .now_q, .before_i, .before_q, .carrier_lost, .carrier, .finish, .tracking
  );

  symbol_demodulator u_symbol_demodulator (
    .clk, .rst, .symbol, .symbol_first, .now_i, .now_q, .before_i, .before_q, .in_sync, .two_bits,
    .bit_valid, .bit_data, .symbol_done, .turn_i, .turn_q, .rotation_i, .rotation_q,
    .error_valid, .error_size
  );

  plcp_parser u_plcp_parser (
    .clk, .rst, .tracking, .bit_valid, .bit_data, .symbol_done, .carrier_lost, .in_sync, .two_bits,
    .frame_start, .signal, .service, .length_us, .short_preamble, .octet, .octet_valid, .frame_running, .frame_end,
    .frame_lost, .frame_left_us, .evt_header_error, .evt_given_up, .finish
  );

  assign framing = !in_sync;

endmodule

`default_nettype wire
