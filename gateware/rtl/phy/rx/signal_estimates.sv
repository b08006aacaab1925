// SPDX-License-Identifier: GPL-2.0-or-later
// How strong and how clean what is received is: RSSI and energy from the sums of the gain, the signal-to-noise ratio (of a symbol,
// Es/N0) from the averaged rotation and what is left beside it, the carrier's offset from its angle.
//
// Timing: what a symbol or a block adds is in the outputs 12 clocks later. With a frame's last symbol_done they are those of the
// symbols before it.

`default_nettype none

module signal_estimates (
  input  wire logic               clk,
  input  wire logic               rst,

  input  wire logic signed [8:0]  cfg_rssi_base_dbm,  // of a sum of 1, at the front end's most gain
  input  wire logic [6:0]         below_db,           // gain_control: so much less it has
  input  wire logic               settling,           // level: it has just changed

  // rx_gain.
  input  wire logic [20:0]        block_sum,
  input  wire logic               block_done,

  // symbol_timing, symbol_demodulator.
  input  wire logic               tracking,
  input  wire logic               symbol_done,
  input  wire logic               error_valid,        // one clock for each part of a symbol
  input  wire logic [15:0]        error_size,
  input  wire logic signed [14:0] rotation_i,
  input  wire logic signed [14:0] rotation_q,

  output wire logic signed [7:0]  rssi_dbm,           // averaged over some blocks
  output wire logic signed [7:0]  energy_dbm,         // of the last block alone
  output wire logic signed [6:0]  snr_db,
  output wire logic signed [7:0]  tangent_128
);

  localparam int unsigned RSSI_SHIFT  = 2;
  localparam int unsigned ERROR_SHIFT = 4;
  // Two symbols' noise is in a turn (3 dB); the mean of |I| + |Q| is 1.05 dB above its root mean square; the magnitude of the rotation
  // is told 0.4 dB too high on the average.
  localparam logic signed [7:0] SNR_BASE_DB = 8'sd4;

  logic [20+RSSI_SHIFT:0] sum_q;                      // 2**RSSI_SHIFT times the average
  logic signed [9:0]      base_dbm_q;                 // of the last block
  logic [16:0]            part_q;                     // |I| of the error, then |I| + |Q|
  logic                   second_q, whole_q;
  logic [16+ERROR_SHIFT:0] error_q;                   // 2**ERROR_SHIFT times the average
  logic [16+ERROR_SHIFT:0] told_error_q;              // as it was with the last symbol_done
  logic [14:0]            rotation;
  logic [20:0]            level [4];
  logic [6:0]             level_db [4];
  logic signed [14:0]     unused_i, unused_q;

  always_ff @(posedge clk) begin
    // Blocks of another gain do not count.
    if (rst || settling) sum_q <= '0;
    else if (block_done) sum_q <= sum_q - (sum_q >> RSSI_SHIFT) + (21 + RSSI_SHIFT)'(block_sum);
    if (rst || block_done) base_dbm_q <= 10'(cfg_rssi_base_dbm) + 10'($signed({1'b0, below_db}));

    whole_q <= error_valid && second_q;
    if (error_valid) part_q <= second_q ? part_q + 17'(error_size) : 17'(error_size);
    if (symbol_done) told_error_q <= error_q;
    if (rst || !tracking) begin
      second_q <= 1'b0;
      error_q  <= '0;
    end else begin
      if (error_valid) second_q <= !second_q;
      if (whole_q) error_q <= error_q - (error_q >> ERROR_SHIFT) + (17 + ERROR_SHIFT)'(part_q);
    end
  end

  correlation_level #(.W(15)) u_correlation_level (
    .clk, .rst, .sample_valid(symbol_done), .in_i(rotation_i), .in_q(rotation_q), .out_i(unused_i), .out_q(unused_q),
    .level(rotation)
  );

  assign level[0] = sum_q[RSSI_SHIFT +: 21];
  assign level[1] = block_sum;
  assign level[2] = {2'b00, rotation, 4'b0000};       // as the error, 2**ERROR_SHIFT times
  assign level[3] = told_error_q;

  level_decibels u_level_decibels (.clk, .level, .level_db);

  carrier_offset u_carrier_offset (.clk, .start(symbol_done), .rotation_i, .rotation_q, .tangent_128);

  function automatic logic signed [7:0] limited(logic signed [9:0] value);
    limited = value[9:7] == {3{value[9]}} ? value[7:0] : {value[9], {7{!value[9]}}};
  endfunction

  wire logic signed [8:0] ratio_db = 9'($signed({1'b0, level_db[2]})) - 9'($signed({1'b0, level_db[3]})) + 9'(SNR_BASE_DB);

  assign rssi_dbm   = limited(10'($signed({1'b0, level_db[0]})) + base_dbm_q);
  assign energy_dbm = limited(10'($signed({1'b0, level_db[1]})) + base_dbm_q);
  assign snr_db     = ratio_db > 9'sd63 ? 7'sd63 : ratio_db < -9'sd64 ? -7'sd64 : ratio_db[6:0];

  wire logic unused = &{1'b0, unused_i, unused_q};

endmodule

`default_nettype wire
