// SPDX-License-Identifier: GPL-2.0-or-later
// The transmitter's side of the PHY-SAP: starts dsss_transmitter with what mac_top says of a frame (PHY-TXSTART, PHY-DATA;
// IEEE 802.11-2012, 7.3.5). A frame at a rate that is none of ours is taken and not sent.
//
// Timing: combinational.

`default_nettype none

module transmit_sap (
  input  wire logic        clk,
  input  wire logic        rst,
  input  wire logic        cfg_short_preamble,   // at 2 Mb/s

  // From the MAC.
  input  wire logic        phy_tx_start,
  input  wire logic [2:0]  phy_tx_rate,
  input  wire logic [11:0] phy_tx_bytes,
  input  wire logic [7:0]  phy_tx_data,
  input  wire logic        phy_tx_valid,
  output wire logic        phy_tx_ready,
  input  wire logic        phy_tx_last,

  // dsss_transmitter.
  output wire logic        start,
  output wire logic        start_2mbps,
  output wire logic        start_short,
  output wire logic [11:0] start_bytes,
  output wire logic [7:0]  data,
  output wire logic        data_valid,
  input  wire logic        data_ready,

  output wire logic        evt_unsupported       // one clock
);

  logic swallow_q;

  wire logic ours = phy_tx_rate[2:1] == '0;

  always_ff @(posedge clk) begin
    if (rst)               swallow_q <= 1'b0;
    else if (phy_tx_start) swallow_q <= !ours;
    else if (swallow_q && phy_tx_valid && phy_tx_last) swallow_q <= 1'b0;
  end

  assign phy_tx_ready    = swallow_q || data_ready;
  assign start           = phy_tx_start && ours;
  assign start_2mbps     = phy_tx_rate[0];
  assign start_short     = phy_tx_rate[0] && cfg_short_preamble;
  assign start_bytes     = phy_tx_bytes;
  assign data            = phy_tx_data;
  assign data_valid      = phy_tx_valid && !swallow_q;
  assign evt_unsupported = phy_tx_start && !ours;

endmodule

`default_nettype wire
