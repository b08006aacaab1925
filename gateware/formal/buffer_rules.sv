// SPDX-License-Identifier: GPL-2.0-or-later
// No byte of a frame that was kept is overwritten before the host has it, and frames that end in
// drop, or without verdict, are never seen. Any one frame is followed: the solver picks it.
//
// Bound into rx_packet_buffer.

`default_nettype none

module buffer_rules #(
  parameter int unsigned STATUS_W = 8
) (
  input wire logic                clk,
  input wire logic                rst,
  input wire logic                start,
  input wire logic                valid,
  input wire logic [7:0]          data,
  input wire logic                keep,
  input wire logic [STATUS_W-1:0] status,
  input wire logic                drop,
  input wire logic                kept,
  input wire logic                stat_overflow,
  input wire logic [STATUS_W-1:0] m_status,
  input wire logic [7:0]          m_axis_tdata,
  input wire logic                m_axis_tkeep,
  input wire logic                m_axis_tvalid,
  input wire logic                m_axis_tready,
  input wire logic                m_axis_tlast
);

  // Registers that begin with any value and keep it.
  logic [1:0] followed;      // a frame, counted from 0 among those that were kept
  logic [2:0] place;         // and one of its bytes
  always_ff @(posedge clk) begin
    followed <= followed;
    place    <= place;
  end

  logic                open_q = 1'b0, known_q = 1'b0;
  logic [1:0]          kept_q = '0, out_q = '0;     // modulo more than there is room for
  logic [2:0]          in_place_q = '0, out_place_q = '0, length_q = '0;
  logic [7:0]          byte_q = '0, candidate_q = '0;
  logic [STATUS_W-1:0] status_q = '0;
  logic                was_good_q = 1'b0, was_kept_q = 1'b0;

  wire logic sent = m_axis_tvalid && m_axis_tready;
  wire logic good = open_q && keep;

  always_ff @(posedge clk) begin
    was_good_q <= !rst && good;
    was_kept_q <= !rst && kept;
    if (rst) begin
      open_q      <= 1'b0;
      kept_q      <= '0;
      out_q       <= '0;
      out_place_q <= '0;
      in_place_q  <= '0;
      known_q     <= 1'b0;
    end else begin
      if (keep || drop) open_q <= 1'b0;
      if (start) begin
        open_q     <= 1'b1;
        in_place_q <= '0;
      end else if (open_q && valid && !keep && !drop) begin
        if (in_place_q != '1) in_place_q <= in_place_q + 1'b1;
        if (in_place_q == place) candidate_q <= data;
      end
      if (kept) begin
        kept_q <= kept_q + 1'b1;
        if (kept_q == followed && !known_q) begin
          known_q  <= 1'b1;
          length_q <= in_place_q;
          byte_q   <= candidate_q;
          status_q <= status;
        end
      end
      if (sent) begin
        out_place_q <= m_axis_tlast ? '0 : out_place_q + 1'b1;
        if (m_axis_tlast) out_q <= out_q + 1'b1;
      end
    end
  end

  always_comb if (!rst) begin
    a_good_is_kept_or_counted : assert (!was_good_q || (was_kept_q != stat_overflow));
    a_counted_only_then       : assert (was_good_q || !stat_overflow);
    if (m_axis_tvalid && out_q == followed) begin
      a_only_what_was_kept : assert (known_q);
      a_status             : assert (m_status == status_q);
      a_length             : assert (m_axis_tlast == (out_place_q + 3'(m_axis_tkeep) == length_q));
      if (m_axis_tkeep && out_place_q == place) a_byte : assert (m_axis_tdata == byte_q);
    end
  end

endmodule

bind rx_packet_buffer buffer_rules #(.STATUS_W(STATUS_W)) u_buffer_rules (.*);

`default_nettype wire
