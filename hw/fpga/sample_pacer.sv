// SPDX-License-Identifier: GPL-2.0-or-later
// The modem's side of the samples: gives radio_top the received ones no faster than it can take them, and sends what it shows
// then back with the sample's number. When sample_port says that one came too late, none is sent back for a while, so that the
// FIFO between them empties.
//
// Timing: a sample is with the modem one clock after it left the FIFO.

`default_nettype none

module sample_pacer #(
  parameter int unsigned SPACING_CLOCKS = 2,     // at least from one sample to the next
  localparam int unsigned NUMBER_W      = 6      // as sample_port has it
) (
  input  wire logic        clk,
  input  wire logic        rst,

  // From sample_port.
  input  wire logic        s_valid,
  output wire logic        s_ready,
  input  wire logic [NUMBER_W+33:0] s_data,
  // To sample_port.
  output wire logic        m_valid,
  input  wire logic        m_ready,
  output wire logic [NUMBER_W+24:0] m_data,

  // radio_top.
  output wire logic        rx_sample_valid,
  output wire logic signed [15:0] rx_i,
  output wire logic signed [15:0] rx_q,
  output wire logic        tx_sample_take,
  input  wire logic signed [11:0] tx_i,
  input  wire logic signed [11:0] tx_q,
  input  wire logic        tx_active,

  output wire logic        stat_rx_sample_lost,  // one clock
  output wire logic        stat_tx_sample_late,
  output wire logic        stat_sample
);

  localparam int unsigned PAUSE_SAMPLES = 2**NUMBER_W - 1;

  logic [NUMBER_W+33:0] sample_q;
  logic                 valid_q;
  logic [3:0]           wait_q;
  logic [NUMBER_W-1:0]  pause_q;

  wire logic take = s_valid && wait_q == '0;
  wire logic late = valid_q && sample_q[NUMBER_W+33];

  always_ff @(posedge clk) begin
    if (rst) begin
      valid_q <= 1'b0;
      wait_q  <= '0;
      pause_q <= '0;
    end else begin
      valid_q <= take;
      if (take)               wait_q <= 4'(SPACING_CLOCKS - 1);
      else if (wait_q != '0)  wait_q <= wait_q - 1'b1;
      if (late)                             pause_q <= NUMBER_W'(PAUSE_SAMPLES);
      else if (valid_q && pause_q != '0)    pause_q <= pause_q - 1'b1;
    end
    if (take) sample_q <= s_data;
  end

  assign s_ready         = wait_q == '0;
  assign rx_sample_valid = valid_q;
  assign tx_sample_take  = valid_q;
  assign rx_i            = sample_q[31:16];
  assign rx_q            = sample_q[15:0];

  assign m_valid = valid_q && pause_q == '0;
  assign m_data  = {sample_q[NUMBER_W+31:32], tx_active, tx_i, tx_q};

  assign stat_sample         = valid_q;
  assign stat_tx_sample_late = late;
  assign stat_rx_sample_lost = valid_q && sample_q[NUMBER_W+32];

  wire logic unused = &{1'b0, m_ready};    // what does not fit is one that comes too late

endmodule

`default_nettype wire
