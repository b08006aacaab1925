// SPDX-License-Identifier: GPL-2.0-or-later
// Takes the PHY's indications in and lets those that would disturb the MAC in the clocks before a tick wait until
// it has come: a strobe for three clocks, the carrier's level for as long as the MAC takes to settle.
//
// Timing: one clock, of a strobe four at most. So the first byte comes at least four clocks after phy_rx_start, and the
// next phy_rx_start four clocks after phy_rx_end; the last byte comes at least one clock before phy_rx_end. The carrier
// is there from before phy_rx_start on until phy_rx_end or later. A phy_rx_end without a phy_rx_start, and with an error, ends what the
// PHY could not read; it comes with the clock in which the carrier falls, or before.

`default_nettype none

module phy_inputs (
  input  wire logic        clk,
  input  wire logic        rst,

  // From the PHY.
  input  wire logic        phy_cca_busy,
  input  wire logic        phy_rx_start,
  input  wire logic [2:0]  phy_rx_rate,
  input  wire logic [11:0] phy_rx_bytes,
  input  wire logic [7:0]  phy_rx_data,
  input  wire logic        phy_rx_valid,
  input  wire logic        phy_rx_end,
  input  wire logic        phy_rx_error,
  input  wire logic [7:0]  phy_rx_rssi_dbm,

  // tick_generator.
  input  wire logic        hold_strobe,
  input  wire logic        hold_carrier,
  output wire logic        news,            // something reaches the MAC with this clock

  // To mac_bytes.
  output wire logic        cca_busy,
  output wire logic        rx_start,
  output wire logic [2:0]  rx_rate,
  output wire logic [11:0] rx_bytes,
  output wire logic [7:0]  rx_data,
  output wire logic        rx_valid,
  output wire logic        rx_end,
  output wire logic        rx_error,
  output wire logic [7:0]  rx_rssi_dbm
);

  logic        cca_busy_q, cca_was_busy_q, start_waits_q, start_q, end_waits_q, end_q, valid_q, error_q;
  logic [2:0]  rate_q;
  logic [11:0] bytes_q;
  logic [7:0]  data_q, rssi_dbm_q;

  wire logic start_now = (phy_rx_start || start_waits_q) && !hold_strobe;
  wire logic end_now   = (phy_rx_end || end_waits_q) && !hold_strobe;

  always_ff @(posedge clk) begin
    if (rst) begin
      cca_busy_q     <= 1'b0;
      cca_was_busy_q <= 1'b0;
      start_waits_q  <= 1'b0;
      start_q        <= 1'b0;
      end_waits_q    <= 1'b0;
      end_q          <= 1'b0;
      valid_q        <= 1'b0;
    end else begin
      if (!hold_carrier) cca_busy_q <= phy_cca_busy;
      cca_was_busy_q <= cca_busy_q;
      start_waits_q  <= (phy_rx_start || start_waits_q) && hold_strobe;
      start_q        <= start_now;
      end_waits_q    <= (phy_rx_end || end_waits_q) && hold_strobe;
      end_q          <= end_now;
      valid_q        <= phy_rx_valid;
    end
    if (phy_rx_start) begin
      rate_q  <= phy_rx_rate;
      bytes_q <= phy_rx_bytes;
    end
    if (phy_rx_end) begin
      error_q    <= phy_rx_error;
      rssi_dbm_q <= phy_rx_rssi_dbm;
    end
    data_q <= phy_rx_data;
  end

  assign news        = start_q || end_q || cca_busy_q != cca_was_busy_q;
  assign cca_busy    = cca_busy_q;
  assign rx_start    = start_q;
  assign rx_rate     = rate_q;
  assign rx_bytes    = bytes_q;
  assign rx_data     = data_q;
  assign rx_valid    = valid_q;
  assign rx_end      = end_q;
  assign rx_error    = error_q;
  assign rx_rssi_dbm = rssi_dbm_q;

endmodule

`default_nettype wire
