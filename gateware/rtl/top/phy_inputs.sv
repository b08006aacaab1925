// SPDX-License-Identifier: GPL-2.0-or-later
// Takes the PHY's indications in and lets those that would disturb the MAC in the clocks before a tick wait until
// it has come: a strobe for three clocks, the carrier's level for as long as the MAC takes to settle.
//
// Timing: one clock, of a strobe four at most. So the first byte comes at least four clocks after phy_rx_start, and the
// next phy_rx_start four clocks after phy_rx_end; the last byte comes at least one clock before phy_rx_end. The carrier
// is there from before phy_rx_start on until phy_rx_end or later. A phy_rx_end without a phy_rx_start, and with an error, ends what the
// PHY could not read; it comes with the clock in which the carrier falls, or before.

`default_nettype none

module phy_inputs
  import perhop_pkg::*;
(
  input  wire logic        clk,
  input  wire logic        rst,

  input  wire phy_indications_s from_phy,

  // tick_generator.
  input  wire logic        hold_strobe,
  input  wire logic        hold_carrier,
  output wire logic        news,            // something reaches the MAC with this clock

  output wire phy_indications_s to_mac
);

  logic        cca_busy_q, cca_was_busy_q, start_waits_q, start_q, end_waits_q, end_q, valid_q, error_q;
  logic [2:0]  rate_q;
  logic [11:0] bytes_q;
  logic [7:0]  data_q, rssi_dbm_q;

  wire logic start_now = (from_phy.rx_start || start_waits_q) && !hold_strobe;
  wire logic end_now   = (from_phy.rx_end || end_waits_q) && !hold_strobe;

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
      if (!hold_carrier) cca_busy_q <= from_phy.cca_busy;
      cca_was_busy_q <= cca_busy_q;
      start_waits_q  <= (from_phy.rx_start || start_waits_q) && hold_strobe;
      start_q        <= start_now;
      end_waits_q    <= (from_phy.rx_end || end_waits_q) && hold_strobe;
      end_q          <= end_now;
      valid_q        <= from_phy.rx_valid;
    end
    if (from_phy.rx_start) begin
      rate_q  <= from_phy.rx_rate;
      bytes_q <= from_phy.rx_bytes;
    end
    if (from_phy.rx_end) begin
      error_q    <= from_phy.rx_error;
      rssi_dbm_q <= from_phy.rx_rssi_dbm;
    end
    data_q <= from_phy.rx_data;
  end

  assign news   = start_q || end_q || cca_busy_q != cca_was_busy_q;
  assign to_mac = '{
    cca_busy: cca_busy_q, rx_start: start_q, rx_rate: rate_q, rx_bytes: bytes_q, rx_data: data_q, rx_valid: valid_q, rx_end: end_q,
    rx_error: error_q, rx_rssi_dbm: rssi_dbm_q
  };

endmodule

`default_nettype wire
