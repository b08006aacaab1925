// SPDX-License-Identifier: GPL-2.0-or-later
// The receiver's side of the PHY-SAP, with any receiver and any medium: a frame that starts for the MAC ends once, and with its own
// end; whatever else kept the medium busy, a bad header or a frame that is not for the MAC, ends with one error as the medium
// becomes idle, unless a good header comes or the station sends before; and nothing ends without a cause.
//
// Bound into receive_sap.

`default_nettype none

module sap_rules (
  input wire logic clk,
  input wire logic rst,
  input wire logic stopped,
  input wire logic frame_start,
  input wire logic ours,
  input wire logic frame_end,
  input wire logic frame_lost,
  input wire logic header_error,
  input wire logic idle_next,
  input wire logic phy_rx_start,
  input wire logic phy_rx_valid,
  input wire logic phy_rx_end,
  input wire logic phy_rx_error,
  input wire logic frame_ended,
  input wire logic evt_unsupported,
  input wire logic open_q,
  input wire logic unread_q
);

  // What dsss_receiver keeps to: one frame at a time; its parser is done behind a header's error and a frame's end. A frame of
  // LENGTH 0, none of ours, ends as it starts. A station that sends receives nothing. And the medium is busy with what is
  // received (clear_rules).
  logic was_reset_q = 1'b0, running_q;

  always_ff @(posedge clk) begin
    if (rst) begin
      was_reset_q <= 1'b1;
      running_q   <= 1'b0;
    end else begin
      running_q <= !stopped && (running_q || frame_start) && !frame_end;
    end
  end

  always_comb begin
    if (running_q) assume (!frame_start && !header_error);
    if (frame_start) assume (!header_error);
    if (!running_q && !frame_start) assume (!frame_end);
    if (frame_start && ours) assume (!frame_end);
    if (frame_start) assume (!idle_next);
    if (stopped) assume (!frame_start && !frame_end && !header_error);
  end

  // What is due to the MAC: a frame that it has heard of, an error when the medium becomes idle; and what was due a clock ago.
  logic heard_q, owed_q, start_due_q, end_due_q, error_due_q, lost_due_q;

  always_ff @(posedge clk) begin
    if (rst) begin
      {heard_q, owed_q, start_due_q, end_due_q, error_due_q, lost_due_q} <= '0;
    end else begin
      start_due_q <= frame_start && ours;
      end_due_q   <= heard_q && (frame_end || stopped);
      lost_due_q  <= frame_lost || stopped;
      error_due_q <= owed_q && idle_next && !stopped;
      if (frame_start && ours)          heard_q <= 1'b1;
      else if (frame_end || stopped)    heard_q <= 1'b0;
      if (stopped)                      owed_q <= 1'b0;
      else if (header_error)            owed_q <= 1'b1;
      else if (frame_end && !heard_q)   owed_q <= 1'b1;
      else if (frame_start || idle_next) owed_q <= 1'b0;
    end
  end

  always_comb if (was_reset_q && !rst) begin
    a_start              : assert (phy_rx_start == start_due_q);
    a_end_of_a_frame     : assert (frame_ended == end_due_q);
    a_end_or_error       : assert (phy_rx_end == (end_due_q || error_due_q));
    if (end_due_q && !error_due_q) a_error_if_lost : assert (phy_rx_error == lost_due_q);
    if (error_due_q)     a_error : assert (phy_rx_error);
    a_not_both           : assert (!(end_due_q && error_due_q) && !(start_due_q && error_due_q));
    if (phy_rx_valid)    a_octets_of_a_frame : assert (!phy_rx_start);
    a_no_start_of_others : assert (!(phy_rx_start && evt_unsupported));
    i_open    : assert (open_q == heard_q && unread_q == owed_q);
    i_running : assert (!heard_q || running_q);
    i_one     : assert (!(heard_q && owed_q));
  end

endmodule

bind receive_sap sap_rules u_sap_rules (.*);

`default_nettype wire
