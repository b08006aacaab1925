// SPDX-License-Identifier: GPL-2.0-or-later
// A frame has exactly the bytes that were told, and takes exactly its MSDU, whatever the
// PHY and the source of the MSDU do.
//
// Bound into framer.

`default_nettype none

module framer_rules
  import perhop_pkg::*;
(
  input wire logic        clk,
  input wire logic        rst,
  input wire logic [47:0] cfg_address,
  input wire logic [47:0] cfg_bssid,
  input wire logic        start,
  input wire logic [2:0]  kind,
  input wire logic [11:0] bytes,
  input wire logic [14:0] duration_us,
  input wire logic [47:0] ra,
  input wire logic [11:0] sequence_number,
  input wire logic        retry,
  input wire logic        four_address,
  input wire logic [47:0] a3,
  input wire logic [47:0] a4,
  input wire logic        busy,
  input wire logic [7:0]  s_axis_tdata,
  input wire logic        s_axis_tvalid,
  input wire logic        s_axis_tready,
  input wire logic        m_axis_tvalid,
  input wire logic        m_axis_tready,
  input wire logic        m_axis_tlast,
  input wire logic [1:0]  state_q,
  input wire logic [4:0]  index_q,
  input wire logic [11:0] body_left_q
);

  localparam int unsigned FIELDS_W = 2 * 48 + 3 + 12 + 15 + 48 + 12 + 2 + 2 * 48;

  wire logic [FIELDS_W-1:0] fields = {cfg_address, cfg_bssid, kind, bytes, duration_us, ra, sequence_number, retry,
                                      four_address, a3, a4};

  // The bytes of header and FCS, as clause 8 has them.
  wire logic [11:0] overhead = kind == FRAME_DATA ? (four_address ? 12'd34 : 12'd28) : kind == FRAME_RTS ? 12'd20 : 12'd14;
  wire logic [11:0] body     = kind == FRAME_DATA ? bytes - overhead : 12'd0;

  logic                begun_q = 1'b0, body_waits_q = 1'b0;
  logic [7:0]          body_q;
  logic [FIELDS_W-1:0] fields_q;
  logic [11:0]         sent_q = '0, taken_q = '0;

  always_ff @(posedge clk) begin
    begun_q      <= !rst && (start || begun_q);
    fields_q     <= fields;
    body_waits_q <= s_axis_tvalid && !s_axis_tready;
    body_q       <= s_axis_tdata;
    if (rst || start) begin
      sent_q  <= '0;
      taken_q <= '0;
    end else begin
      if (m_axis_tvalid && m_axis_tready) sent_q <= sent_q + 1'b1;
      if (s_axis_tvalid && s_axis_tready) taken_q <= taken_q + 1'b1;
    end
  end

  always_comb begin
    // The fields stand until the next start; the source of the MSDU obeys AXI4-Stream.
    if (begun_q && !start) assume (fields == fields_q);
    if (body_waits_q) assume (s_axis_tvalid && s_axis_tdata == body_q);
    assume (kind == FRAME_DATA ? bytes >= overhead : bytes == overhead);
  end

  wire logic [11:0] header = overhead - 12'd4;
  always_comb if (!rst && busy && !start) begin
    i_begun : assert (begun_q);
    if (state_q == 2'd1) i_header : assert (sent_q == 12'(index_q) && sent_q < header && taken_q == '0);
    if (state_q == 2'd2) i_body : assert (sent_q == header + taken_q && body_left_q == body - taken_q && taken_q < body);
    if (state_q == 2'd3) i_fcs : assert (sent_q == header + body + 12'(index_q) && taken_q == body && index_q < 5'd4);
    if (m_axis_tvalid && m_axis_tready && m_axis_tlast) begin
      a_as_long_as_told : assert (sent_q + 12'd1 == bytes);
      a_whole_msdu      : assert (taken_q == body);
    end
    if (sent_q + 12'd1 == bytes) a_ends : assert (m_axis_tlast);
  end

endmodule

bind framer framer_rules u_framer_rules (.state_q(2'(state_q)), .*);

`default_nettype wire
