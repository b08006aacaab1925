// SPDX-License-Identifier: GPL-2.0-or-later
// Reads the bytes of a received frame as they come (IEEE 802.11-2012, 8.2.4 and 8.3) and
// says at its end what it was. Nothing in a frame can stop it: whatever comes, the next
// rx_start begins anew.
//
// DATA is a whole, unencrypted MSDU in a DATA frame without QoS: those this station can
// take. Every other frame with a good FCS is `other`; of these only the Duration counts. A
// frame of another protocol version has no field that could be understood (8.2.4.1.2): no
// Duration either. A Duration field with its top bit set holds something else (8.2.4.2).
//
// Timing: `ok` holds in the clock of `rx_end`, the fields until the next `rx_start`. The
// last byte comes at least one clock before `rx_end`. A byte of the MSDU comes out when four more have
// come in, for the last four are the FCS; with `cfg_whole` every byte as it comes in.

`default_nettype none

module deframer
  import perhop_pkg::*;
(
  input  wire logic        clk,
  input  wire logic        rst,
  input  wire logic        cfg_whole,     // pass on the whole MPDU (monitor mode)

  // From the PHY.
  input  wire logic        rx_start,      // one clock, with the length that the PLCP header tells
  input  wire logic [11:0] rx_bytes,
  input  wire logic        rx_valid,
  input  wire logic [7:0]  rx_data,
  input  wire logic        rx_end,        // one clock
  input  wire logic        rx_error,      // with rx_end: the carrier was lost, or the modulation violated

  // The frame.
  output wire logic        ok,            // as long as told, FCS good
  output wire logic [2:0]  kind,
  output wire logic [11:0] bytes,         // came, at most 4095
  output wire logic [5:0]  header_bytes,
  output wire logic [14:0] duration_us,
  output wire logic [47:0] ra,
  output wire logic [47:0] ta,            // 0: the frame has none, as the next two
  output wire logic [47:0] a3,
  output wire logic [47:0] a4,
  output wire logic [11:0] sequence_number,
  output wire logic        retry,
  output wire logic        to_ds,
  output wire logic        from_ds,

  // Its MSDU, or all of it.
  output wire logic        m_valid,
  output wire logic [7:0]  m_data
);

  localparam logic [5:0] SHORT_HEADER = 6'(CTS_BYTES - FCS_BYTES);
  localparam logic [5:0] RTS_HEADER   = 6'(RTS_BYTES - FCS_BYTES);
  localparam logic [5:0] DATA_HEADER  = 6'(MAC_HEADER_BYTES);

  localparam logic [1:0] TYPE_MANAGEMENT = 2'd0;
  localparam logic [1:0] TYPE_CONTROL    = 2'd1;
  localparam logic [1:0] TYPE_DATA       = 2'd2;
  localparam logic [3:0] SUBTYPE_RTS     = 4'd11;
  localparam logic [3:0] SUBTYPE_CTS     = 4'd12;
  localparam logic [3:0] SUBTYPE_MAC_ACK = 4'd13;
  localparam logic [3:0] SUBTYPE_DATA    = 4'd0;

  logic        in_frame_q;
  logic [11:0] told_bytes_q, index_q;
  logic        too_long_q;
  logic [7:0]  control_q, flags_q;        // the octets of Frame Control
  logic [15:0] duration_q, sequence_q;
  logic [47:0] ra_q, ta_q, a3_q, a4_q;
  logic [31:0] last_q;                    // the last four bytes, the newest in the low ones
  logic        fcs_good;
  logic [31:0] unused_fcs;

  wire logic take = in_frame_q && rx_valid && !rx_end;

  always_ff @(posedge clk) begin
    if (rst) begin
      in_frame_q   <= 1'b0;
      told_bytes_q <= '0;
      index_q      <= '0;
      too_long_q   <= 1'b0;
      flags_q      <= '0;
      control_q    <= '0;
    end else if (rx_start) begin
      in_frame_q   <= 1'b1;
      told_bytes_q <= rx_bytes;
      index_q      <= '0;
      too_long_q   <= 1'b0;
    end else if (rx_end) begin
      in_frame_q <= 1'b0;
    end else if (take) begin
      if (index_q == '1) too_long_q <= 1'b1;
      else               index_q <= index_q + 1'b1;
      if (index_q == 12'd0) control_q <= rx_data;
      if (index_q == 12'd1) flags_q   <= rx_data;
    end
    if (take) begin
      last_q <= {last_q[23:0], rx_data};
      case (index_q)
        12'd2, 12'd3:                                     duration_q <= {rx_data, duration_q[15:8]};
        12'd4, 12'd5, 12'd6, 12'd7, 12'd8, 12'd9:         ra_q       <= {ra_q[39:0], rx_data};
        12'd10, 12'd11, 12'd12, 12'd13, 12'd14, 12'd15:   ta_q       <= {ta_q[39:0], rx_data};
        12'd16, 12'd17, 12'd18, 12'd19, 12'd20, 12'd21:   a3_q       <= {a3_q[39:0], rx_data};
        12'd22, 12'd23:                                   sequence_q <= {rx_data, sequence_q[15:8]};
        12'd24, 12'd25, 12'd26, 12'd27, 12'd28, 12'd29:   a4_q       <= {a4_q[39:0], rx_data};
        default: ;
      endcase
    end
  end

  crc32 u_crc32 (.clk, .clear(rx_start), .valid(take), .data(rx_data), .fcs(unused_fcs), .good(fcs_good));

  // Frame Control.
  wire logic       known      = control_q[1:0] == 2'd0;
  wire logic [1:0] frame_type = control_q[3:2];
  wire logic [3:0] subtype    = control_q[7:4];
  wire logic       both_ds    = flags_q[0] && flags_q[1];
  wire logic       fragments  = flags_q[2] || sequence_q[3:0] != '0;
  wire logic       encrypted  = flags_q[6];
  wire logic       order      = flags_q[7];

  wire logic       unused     = &{1'b0, flags_q[5:4]};   // more data, power management

  // A station that does not know the frame knows its first address (8.2.3).
  logic [5:0] header;
  always_comb begin
    header = SHORT_HEADER;
    if (known) begin
      case (frame_type)
        TYPE_MANAGEMENT: header = DATA_HEADER + (order ? 6'd4 : 6'd0);          // HT Control
        TYPE_CONTROL:    if (subtype == SUBTYPE_RTS) header = RTS_HEADER;
        TYPE_DATA: begin
          header = DATA_HEADER + (both_ds ? 6'd6 : 6'd0);
          if (subtype[3]) header = header + (order ? 6'd6 : 6'd2);              // QoS Control, HT Control
        end
        default: ;
      endcase
    end
  end

  wire logic [11:0] overhead_bytes = 12'(header) + 12'(FCS_BYTES);
  wire logic        whole_header   = index_q >= overhead_bytes;
  wire logic        exact          = index_q == overhead_bytes;

  logic [2:0] kind_found;
  always_comb begin
    kind_found = FRAME_OTHER;
    if (known && frame_type == TYPE_CONTROL && exact) begin
      case (subtype)
        SUBTYPE_RTS:     kind_found = FRAME_RTS;
        SUBTYPE_CTS:     kind_found = FRAME_CTS;
        SUBTYPE_MAC_ACK: kind_found = FRAME_MAC_ACK;
        default: ;
      endcase
    end
    if (known && frame_type == TYPE_DATA && subtype == SUBTYPE_DATA && whole_header && !fragments && !encrypted && !order)
      kind_found = FRAME_DATA;
  end

  assign ok = in_frame_q && !rx_error && fcs_good && !too_long_q && index_q == told_bytes_q &&
              index_q >= 12'(CTS_BYTES);   // no frame is shorter
  assign kind            = kind_found;
  assign bytes           = index_q;
  assign header_bytes    = header;
  assign duration_us     = known && !duration_q[15] ? duration_q[14:0] : '0;
  assign ra              = ra_q;
  assign ta              = header >= RTS_HEADER && whole_header ? ta_q : '0;
  assign a3              = header >= DATA_HEADER && whole_header ? a3_q : '0;
  assign a4              = known && frame_type == TYPE_DATA && both_ds && whole_header ? a4_q : '0;
  assign sequence_number = header >= DATA_HEADER && whole_header ? sequence_q[15:4] : '0;
  assign retry           = flags_q[3];
  assign to_ds           = flags_q[0];
  assign from_ds         = flags_q[1];

  assign m_valid = take && !too_long_q && index_q != '1 && (cfg_whole || index_q >= overhead_bytes);
  assign m_data  = cfg_whole ? rx_data : last_q[31:24];

endmodule

`default_nettype wire
