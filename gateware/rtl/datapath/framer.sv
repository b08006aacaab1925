// SPDX-License-Identifier: GPL-2.0-or-later
// Makes the bytes of a frame: header, MSDU, FCS (IEEE 802.11-2012, 8.2.4 and 8.3). RTS,
// CTS, MAC ACK, and DATA between stations without access point: three addresses, or
// four (to DS and from DS set), when it passes the frame on for others.
//
// Timing: the first byte is offered in the clock after `start`; a byte goes out in
// every clock in which the PHY is ready (and the MSDU's byte is there). A `start` while a
// frame is still going out, which no PHY causes that keeps up with its own airtime,
// begins the new frame and drops the rest of the old one.

`default_nettype none

module framer
  import perhop_pkg::*;
(
  input  wire logic        clk,
  input  wire logic        rst,
  input  wire mac_settings_s settings,

  // The frame; the fields stand from the clock after `start` until the next one.
  input  wire logic        start,
  input  wire logic [2:0]  kind,
  input  wire logic [11:0] bytes,             // whole MPDU with FCS
  input  wire logic [14:0] duration_us,
  input  wire logic [47:0] ra,
  input  wire logic [11:0] sequence_number,
  input  wire logic        retry,
  input  wire logic        four_address,
  input  wire logic [47:0] a3,                // with four addresses: destination
  input  wire logic [47:0] a4,                // and source
  output wire logic        busy,

  // The MSDU of a DATA frame; exactly its bytes are taken.
  input  wire logic [7:0]  s_axis_tdata,
  input  wire logic        s_axis_tvalid,
  output wire logic        s_axis_tready,

  // To the PHY.
  output wire logic [7:0]  m_axis_tdata,
  output wire logic        m_axis_tvalid,
  input  wire logic        m_axis_tready,
  output wire logic        m_axis_tlast
);

  wire logic [47:0] cfg_address = settings.address;
  wire logic [47:0] cfg_bssid = settings.bssid;   // address 3 of a DATA frame with three

  // Frame Control, first octet: subtype, type, protocol version 0 (8.2.4.1).
  localparam logic [7:0] RTS_CONTROL     = 8'hb4;
  localparam logic [7:0] CTS_CONTROL     = 8'hc4;
  localparam logic [7:0] MAC_ACK_CONTROL = 8'hd4;
  localparam logic [7:0] DATA_CONTROL    = 8'h08;

  localparam logic [4:0] SHORT_HEADER_BYTES = 5'(CTS_BYTES - FCS_BYTES);
  localparam logic [4:0] RTS_HEADER_BYTES   = 5'(RTS_BYTES - FCS_BYTES);
  localparam logic [4:0] THREE_ADDRESSES    = 5'(MAC_HEADER_BYTES);
  localparam logic [4:0] FOUR_ADDRESSES     = 5'(MAC_HEADER_BYTES + 6);

  typedef enum logic [1:0] {
    ST_IDLE,     // nothing to send
    ST_HEADER,
    ST_BODY,     // the MSDU
    ST_FCS
  } state_e;

  state_e      state_q;
  logic [4:0]  index_q;       // bytes of this state sent
  logic [2:0]  octet_q;       // of an address
  logic [11:0] body_left_q;   // bytes of the MSDU to come
  logic [31:0] fcs;
  logic        unused_good;

  wire logic is_data = kind == FRAME_DATA;
  wire logic [4:0] header_bytes = is_data ? (four_address ? FOUR_ADDRESSES : THREE_ADDRESSES) :
                                  kind == FRAME_RTS ? RTS_HEADER_BYTES : SHORT_HEADER_BYTES;
  wire logic [11:0] overhead_bytes = 12'(header_bytes) + 12'(FCS_BYTES);
  wire logic [11:0] body_bytes     = is_data && bytes > overhead_bytes ? bytes - overhead_bytes : '0;

  // The most significant octet is sent first. Chosen of each address before the address is: fewer bits go through
  // multiplexers.
  function automatic logic [7:0] octet_of(logic [47:0] address, logic [2:0] octet);
    case (octet)
      3'd5:    octet_of = address[47:40];
      3'd4:    octet_of = address[39:32];
      3'd3:    octet_of = address[31:24];
      3'd2:    octet_of = address[23:16];
      3'd1:    octet_of = address[15:8];
      default: octet_of = address[7:0];
    endcase
  endfunction

  // Bytes 4 to 9, 10 to 15, 16 to 21, from 24 on.
  wire logic [7:0] octet =
      index_q[4] ? (index_q[3] ? octet_of(a4, octet_q) : four_address ? octet_of(a3, octet_q) : octet_of(cfg_bssid, octet_q)) :
      index_q >= 5'd10 ? octet_of(cfg_address, octet_q) : octet_of(ra, octet_q);

  logic [7:0] header;
  always_comb begin
    case (index_q)
      5'd0: case (kind)
        FRAME_RTS:  header = RTS_CONTROL;
        FRAME_CTS:  header = CTS_CONTROL;
        FRAME_DATA: header = DATA_CONTROL;
        default:    header = MAC_ACK_CONTROL;
      endcase
      5'd1:  header = {4'b0, is_data && retry, 1'b0, {2{is_data && four_address}}};
      5'd2:  header = duration_us[7:0];
      5'd3:  header = {1'b0, duration_us[14:8]};
      5'd22: header = {sequence_number[3:0], 4'b0};   // fragment 0
      5'd23: header = sequence_number[11:4];
      default: header = octet;
    endcase
  end

  wire logic sent = m_axis_tvalid && m_axis_tready;

  always_ff @(posedge clk) begin
    if (rst) begin
      state_q <= ST_IDLE;
    end else if (start) begin
      state_q <= ST_HEADER;
      index_q <= '0;
    end else if (sent) begin
      index_q     <= index_q + 1'b1;
      octet_q     <= index_q inside {5'd3, 5'd23} || octet_q == 3'd0 ? 3'd5 : octet_q - 1'b1;
      body_left_q <= body_left_q - 1'b1;
      case (state_q)
        ST_HEADER: if (index_q == header_bytes - 1'b1) begin
          state_q     <= body_bytes != '0 ? ST_BODY : ST_FCS;
          body_left_q <= body_bytes;
          index_q     <= '0;
        end
        ST_BODY: if (body_left_q == 12'd1) begin
          state_q <= ST_FCS;
          index_q <= '0;
        end
        default: if (m_axis_tlast) state_q <= ST_IDLE;
      endcase
    end
  end

  wire logic covered = sent && state_q != ST_FCS;   // by the FCS

  crc32 u_crc32 (.clk, .clear(start), .valid(covered), .data(m_axis_tdata), .fcs, .good(unused_good));

  logic [7:0] octet_now;
  always_comb begin
    case (state_q)
      ST_BODY: octet_now = s_axis_tdata;
      ST_FCS:  octet_now = fcs[{index_q[1:0], 3'b0} +: 8];
      default: octet_now = header;
    endcase
  end

  assign m_axis_tdata  = octet_now;
  assign m_axis_tvalid = state_q == ST_BODY ? s_axis_tvalid : state_q != ST_IDLE;
  assign m_axis_tlast  = state_q == ST_FCS && index_q[1:0] == 2'd3;
  assign s_axis_tready = state_q == ST_BODY && m_axis_tready;
  assign busy          = state_q != ST_IDLE;

endmodule

`default_nettype wire
