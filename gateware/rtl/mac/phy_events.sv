// SPDX-License-Identifier: GPL-2.0-or-later
// Takes the PHY's indications in (PHY-CCA, PHY-RXSTART, PHY-RXEND; IEEE 802.11-2012,
// 7.3.5) and says what a received frame is to this station.
//
// Timing: an indication is registered at its clock and acted on by every other
// module at the next one, which must carry no tick. `cca_busy` is the level that
// holds from this tick on: the elapsed time of a jump belongs to the level before.

`default_nettype none

module phy_events
  import perhop_pkg::*;
(
  input  wire logic        clk,
  input  wire logic        rst,
  input  wire logic [47:0] cfg_address,

  // From the PHY.
  input  wire logic        phy_cca_busy,
  input  wire logic        phy_rx_start,
  input  wire logic        phy_rx_end,
  input  wire phy_reception_s phy_rx,

  // To the rest of the MAC.
  output wire logic        cca_busy,
  output wire phy_events_s heard
);

  wire logic phy_rx_ok = phy_rx.ok;
  wire logic [2:0] phy_rx_kind = phy_rx.kind;
  wire logic [2:0] phy_rx_rate = phy_rx.rate;
  wire logic [14:0] phy_rx_duration_us = phy_rx.duration_us;
  wire logic [47:0] phy_rx_ra = phy_rx.ra;
  wire logic [47:0] phy_rx_ta = phy_rx.ta;
  wire logic [11:0] phy_rx_sequence = phy_rx.sequence_number;
  wire logic phy_rx_retry = phy_rx.retry;

  // First address bit on the air: set for group addresses. Addresses are integers
  // whose most significant octet is sent first, and an octet's low bit goes first.
  localparam int unsigned GROUP_BIT = 40;

  logic        cca_busy_q, start_q, end_q, ok_q, for_us_q, for_group_q, retry_q;
  logic [2:0]  kind_q, rate_q;
  logic [14:0] duration_us_q;
  logic [47:0] ta_q;
  logic [11:0] sequence_q;

  always_ff @(posedge clk) begin
    if (rst) begin
      cca_busy_q <= 1'b0;
      start_q    <= 1'b0;
      end_q      <= 1'b0;
    end else begin
      cca_busy_q <= phy_cca_busy;
      start_q    <= phy_rx_start;
      end_q      <= phy_rx_end;
    end
    if (phy_rx_end) begin
      ok_q          <= phy_rx_ok;
      kind_q        <= phy_rx_kind;
      rate_q        <= phy_rx_rate;
      duration_us_q <= phy_rx_duration_us;
      for_us_q      <= phy_rx_ra == cfg_address;
      for_group_q   <= phy_rx_ra[GROUP_BIT];
      ta_q          <= phy_rx_ta;
      sequence_q    <= phy_rx_sequence;
      retry_q       <= phy_rx_retry;
    end
  end

  wire logic good = end_q && ok_q;

  assign cca_busy = cca_busy_q;
  assign heard    = '{
    rx_start: start_q, rx_end: end_q, rx_bad: end_q && !ok_q, rx_overheard: good && !for_us_q,
    rx_rts_for_us: good && for_us_q && kind_q == FRAME_RTS,
    rx_cts_for_us: good && for_us_q && kind_q == FRAME_CTS,
    rx_data_for_us: good && for_us_q && kind_q == FRAME_DATA,
    rx_mac_ack_for_us: good && for_us_q && kind_q == FRAME_MAC_ACK,
    rx_data_for_group: good && for_group_q && kind_q == FRAME_DATA,
    rx_is_rts: kind_q == FRAME_RTS, rx_rate: rate_q, rx_duration_us: duration_us_q, rx_ta: ta_q, rx_sequence: sequence_q,
    rx_retry: retry_q
  };

endmodule

`default_nettype wire
