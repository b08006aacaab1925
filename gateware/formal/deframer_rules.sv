// SPDX-License-Identifier: GPL-2.0-or-later
// Whatever comes from the PHY: a frame is good only if it was as long as told and long enough, of a DATA
// frame exactly the MSDU comes out, byte by byte, and each rx_start begins anew. (Whether the FCS is right,
// crc32's tests say: here it is any verdict.)
//
// Bound into deframer.

`default_nettype none

module deframer_rules
  import perhop_pkg::*;
(
  input wire logic        clk,
  input wire logic        rst,
  input wire logic        cfg_whole,
  input wire logic        rx_start,
  input wire logic [11:0] rx_bytes,
  input wire logic        rx_valid,
  input wire logic [7:0]  rx_data,
  input wire logic        rx_end,
  input wire logic        rx_error,
  input wire logic        ok,
  input wire logic [2:0]  kind,
  input wire logic [11:0] bytes,
  input wire logic [5:0]  header_bytes,
  input wire logic [14:0] duration_us,
  input wire logic [47:0] ra,
  input wire logic        m_valid,
  input wire logic [7:0]  m_data
);

  logic        begun_q = 1'b0, open_q = 1'b0, whole_q, over_q;
  logic [11:0] told_q, came_q = '0, out_q = '0;
  logic [7:0]  first_q, second_q;
  logic [15:0] duration_q;

  wire logic takes = open_q && rx_valid && !rx_end && !rx_start;

  always_ff @(posedge clk) begin
    begun_q <= 1'b1;
    whole_q <= cfg_whole;
    if (rst) begin
      open_q <= 1'b0;
      came_q <= '0;
      out_q  <= '0;
      over_q <= 1'b0;
    end else if (rx_start) begin
      open_q <= 1'b1;
      told_q <= rx_bytes;
      came_q <= '0;
      out_q  <= '0;
      over_q <= 1'b0;
    end else begin
      if (rx_end) open_q <= 1'b0;
      if (takes) begin
        if (came_q == '1) over_q <= 1'b1;
        else came_q <= came_q + 1'b1;
        if (came_q == 12'd0) first_q <= rx_data;
        if (came_q == 12'd1) second_q <= rx_data;
        if (came_q == 12'd2) duration_q[7:0] <= rx_data;
        if (came_q == 12'd3) duration_q[15:8] <= rx_data;
      end
      if (m_valid) out_q <= out_q + 1'b1;
    end
  end

  // Before its first two bytes have come nothing of a frame is the MSDU's, whatever the last one was.
  wire logic [11:0] overhead = 12'(header_bytes) + 12'd4;

  always_comb begin
    if (!begun_q) assume (rst);
    else assume (cfg_whole == whole_q);
  end

  always_comb if (begun_q && !rst) begin
    if (rx_end) begin
      a_good_as_told   : assert (!ok || (open_q && !rx_error && came_q == told_q && !over_q && came_q >= 12'd14));
      a_bytes          : assert (!open_q || bytes == came_q);
      if (ok && kind == FRAME_RTS) a_rts_length : assert (came_q == 12'd20);
      if (ok && (kind == FRAME_CTS || kind == FRAME_MAC_ACK)) a_short_length : assert (came_q == 12'd14);
      if (ok && kind == FRAME_DATA) begin
        a_data_type     : assert (first_q == 8'h08 && !second_q[2] && !second_q[6] && !second_q[7]);
        a_whole_msdu    : assert (cfg_whole || out_q + 12'(header_bytes) + 12'd4 == came_q);
      end
      if (ok && first_q[1:0] == 2'd0) a_duration : assert (duration_us == (duration_q[15] ? 15'd0 : duration_q[14:0]));
    end
    a_bytes_of_a_frame : assert (!m_valid || open_q);
    if (m_valid && cfg_whole) a_whole_as_it_comes : assert (open_q && rx_valid && m_data == rx_data);

    // For the induction: the frame so far is the same here and there.
    i_open   : assert (deframer.in_frame_q == open_q && deframer.index_q == came_q && deframer.too_long_q == over_q);
    if (open_q) i_told : assert (deframer.told_bytes_q == told_q);
    if (came_q >= 12'd1) i_first : assert (deframer.control_q == first_q);
    if (came_q >= 12'd2) i_second : assert (deframer.flags_q == second_q);
    if (came_q == 12'd3) i_duration_half : assert (deframer.duration_q[15:8] == duration_q[7:0]);
    if (came_q >= 12'd4) i_duration : assert (deframer.duration_q == duration_q);
    i_over   : assert (!over_q || came_q == '1);
    if (!cfg_whole) i_out : assert (out_q == (came_q > overhead ? came_q - overhead : '0));
  end


endmodule

bind deframer deframer_rules u_deframer_rules (.*);

`default_nettype wire
