// SPDX-License-Identifier: GPL-2.0-or-later
// The receiver's side of the PHY-SAP: of frames at our rates that fit, start, octets and end as mac_top wants them (PHY-RXSTART,
// PHY-DATA, PHY-RXEND; IEEE 802.11-2012, 7.3.5 and 17.2.6).
//
//   the frame                                     phy_rx_start   phy_rx_end
//   ours                                          header         when LENGTH is over
//   ours, its carrier is lost (CarrierLost)       header         with an error, when that is known
//   another rate (UnsupportedRate), or of no      none           with an error, when the medium becomes idle: when LENGTH is over,
//   octet or too many (FormatViolation)                          unless somebody else is heard then
//   a header whose CRC is bad (FormatViolation)   none           with an error, when the medium becomes idle: its carrier is gone
//   a header whose carrier is lost (CarrierLost)  none           with an error, when the medium becomes idle: at once, or if another
//                                                                signal is there, or energy, when that is gone
//
// The MAC uses EIFS after an error, from the idle medium on (9.3.2.3.7). An error that waits for the idle medium is forgotten if the
// station sends first, or a good header comes: how that frame ends says more, and a good one would cancel EIFS. A signal without
// an SFD is no frame, and ends nothing.
//
// Timing: one clock. The first octet comes four symbols or more after phy_rx_start, the last one two clocks or more before
// phy_rx_end. An error without a start comes with the clock in which phy_cca_busy falls.

`default_nettype none

module receive_sap
  import perhop_phy_pkg::*;
(
  input  wire logic              clk,
  input  wire logic              rst,
  input  wire logic              stopped,         // the receiver is stopped: the station sends

  // dsss_receiver.
  input  wire logic              frame_start,
  input  wire logic [7:0]        signal,
  input  wire logic [15:0]       length_us,
  input  wire logic [7:0]        octet,
  input  wire logic              octet_valid,
  input  wire logic              frame_end,
  input  wire logic              frame_lost,
  input  wire logic              header_error,

  // clear_channel.
  input  wire logic              idle_next,       // the medium becomes idle with the next clock

  // signal_estimates.
  input  wire logic signed [7:0] rssi_dbm,
  input  wire logic signed [6:0] snr_db,
  input  wire logic signed [7:0] tangent_128,

  // To the MAC.
  output wire logic              phy_rx_start,    // one clock, with
  output wire logic [2:0]        phy_rx_rate,
  output wire logic [11:0]       phy_rx_bytes,
  output wire logic [7:0]        phy_rx_data,
  output wire logic              phy_rx_valid,
  output wire logic              phy_rx_end,      // one clock, with
  output wire logic              phy_rx_error,
  output wire logic [7:0]        phy_rx_rssi_dbm,
  output wire logic signed [6:0] rx_snr_db,
  output wire logic signed [7:0] rx_tangent_128,

  output wire logic              frame_ended,     // with phy_rx_end: of a frame that had started
  output wire logic              evt_unsupported  // a good header of a frame that is not for the MAC
);

  logic        open_q, start_q, valid_q, end_q, ended_q, error_q, rate_q, unsupported_q;
  logic        unread_q;                          // something that nobody could read keeps the medium busy
  logic [11:0] bytes_q;
  logic [7:0]  data_q, tangent_q;
  logic signed [7:0] rssi_q;
  logic signed [6:0] snr_q;

  wire logic        is_2mbps = signal == PLCP_SIGNAL_2MBPS;
  wire logic [13:0] bytes    = is_2mbps ? length_us[15:2] : {1'b0, length_us[15:3]};
  wire logic        ours     = (is_2mbps || signal == PLCP_SIGNAL_1MBPS) && bytes != '0 && bytes[13:12] == '0;
  wire logic        closes   = open_q && (frame_end || stopped);
  wire logic        unread   = header_error || (frame_end && !open_q);
  wire logic        tells    = unread_q && idle_next && !stopped;

  always_ff @(posedge clk) begin
    if (rst) begin
      open_q        <= 1'b0;
      start_q       <= 1'b0;
      valid_q       <= 1'b0;
      end_q         <= 1'b0;
      ended_q       <= 1'b0;
      unread_q      <= 1'b0;
      unsupported_q <= 1'b0;
    end else begin
      start_q       <= frame_start && ours;
      unsupported_q <= frame_start && !ours;
      valid_q       <= octet_valid && open_q;
      end_q         <= closes || tells;
      ended_q       <= closes;
      if (frame_start && ours) open_q <= 1'b1;
      else if (closes)         open_q <= 1'b0;
      if (stopped)                   unread_q <= 1'b0;
      else if (unread)               unread_q <= 1'b1;
      else if (frame_start || tells) unread_q <= 1'b0;
    end
    if (frame_start) begin
      rate_q  <= is_2mbps;
      bytes_q <= bytes[11:0];
    end
    data_q <= octet;
    if (closes || tells) begin
      error_q   <= frame_lost || stopped || tells;
      rssi_q    <= rssi_dbm;
      snr_q     <= snr_db;
      tangent_q <= tangent_128;
    end
  end

  assign phy_rx_start    = start_q;
  assign phy_rx_rate     = {2'b00, rate_q};
  assign phy_rx_bytes    = bytes_q;
  assign phy_rx_data     = data_q;
  assign phy_rx_valid    = valid_q;
  assign phy_rx_end      = end_q;
  assign phy_rx_error    = error_q;
  assign phy_rx_rssi_dbm = rssi_q;
  assign rx_snr_db       = snr_q;
  assign rx_tangent_128  = tangent_q;
  assign frame_ended     = ended_q;
  assign evt_unsupported = unsupported_q;

  wire logic unused = &{1'b0, length_us[1:0]};

endmodule

`default_nettype wire
