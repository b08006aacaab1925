// SPDX-License-Identifier: GPL-2.0-or-later
// The bits of a frame in the order of the air, before the scrambler: SYNC, SFD, header with its CRC, PSDU
// (IEEE 802.11-2012, 16.2 and 17.2). With the short preamble the header's bits go two to a symbol.
//
// Timing: the first bit is there in the clock after `start`; `bit_take` moves on to the next one with the next clock.
// Octets are fetched one ahead. One that is not there when its first bit is due is sent as zeros: evt_underrun.

`default_nettype none

module plcp_framer
  import perhop_phy_pkg::*;
(
  input  wire logic        clk,
  input  wire logic        rst,

  // A frame to send.
  input  wire logic        start,            // one clock, while no frame is being sent, with
  input  wire logic        start_2mbps,
  input  wire logic        start_short,      // short preamble; only at 2 Mb/s
  input  wire logic [11:0] start_bytes,      // of the PSDU, at least one
  input  wire logic [7:0]  s_data,
  input  wire logic        s_valid,
  output wire logic        s_ready,
  output wire logic        evt_underrun,

  // scrambler and symbol_mapper.
  output wire logic        bit_valid,
  output wire logic        bit_data,
  output wire logic        bit_pair,         // the symbol that begins with this bit has two
  input  wire logic        bit_take
);

  typedef enum logic [2:0] {
    ST_IDLE,     // nothing to send
    ST_SYNC,
    ST_SFD,
    ST_HEADER,   // SIGNAL, SERVICE, LENGTH
    ST_CRC,
    ST_PSDU
  } state_e;

  localparam int unsigned FIELDS_BITS = PLCP_HEADER_BITS - 16;

  state_e      state_d, state_q;
  logic [14:0] left_d, left_q;               // bits after this one in the same part of the frame
  logic [31:0] bits_d, bits_q;               // to be sent, the next one in the low bit
  logic        is_2mbps_q, is_short_q;
  logic [11:0] bytes_q;
  logic [7:0]  octet_q;                      // the next one
  logic        octet_valid_q;
  logic        crc_bit, unused_good;

  wire logic [15:0] length_us = is_2mbps_q ? {2'b00, bytes_q, 2'b00} : {1'b0, bytes_q, 3'b000};
  wire logic        octet_due = bit_take && ((state_q == ST_PSDU && left_q != '0 && left_q[2:0] == '0)
                                             || (state_q == ST_CRC && left_q == '0));

  always_comb begin
    state_d = state_q;
    left_d  = left_q;
    bits_d  = bits_q;
    if (state_q == ST_IDLE) begin
      if (start) begin
        state_d = ST_SYNC;
        left_d  = start_short ? 15'(PLCP_SYNC_BITS_SHORT - 1) : 15'(PLCP_SYNC_BITS_LONG - 1);
        bits_d  = start_short ? '0 : '1;
      end
    end else if (bit_take) begin
      left_d = left_q - 1'b1;
      if (state_q != ST_SYNC) bits_d = {1'b0, bits_q[31:1]};
      if (left_q == '0) begin
        case (state_q)
          ST_SYNC: begin
            state_d = ST_SFD;
            left_d  = 15'd15;
            bits_d  = {16'd0, is_short_q ? PLCP_SFD_SHORT : PLCP_SFD_LONG};
          end
          ST_SFD: begin
            state_d = ST_HEADER;
            left_d  = 15'(FIELDS_BITS - 1);
            bits_d  = {length_us, PLCP_SERVICE, is_2mbps_q ? PLCP_SIGNAL_2MBPS : PLCP_SIGNAL_1MBPS};
          end
          ST_HEADER: begin
            state_d = ST_CRC;
            left_d  = 15'd15;
          end
          ST_CRC: begin
            state_d = ST_PSDU;
            left_d  = {bytes_q, 3'b000} - 1'b1;
          end
          default: state_d = ST_IDLE;
        endcase
      end
      if (octet_due) bits_d = {24'd0, octet_valid_q ? octet_q : 8'd0};
    end
  end

  always_ff @(posedge clk) begin
    if (rst) begin
      state_q       <= ST_IDLE;
      octet_valid_q <= 1'b0;
    end else begin
      state_q <= state_d;
      if (state_q == ST_IDLE)     octet_valid_q <= 1'b0;
      else if (s_ready && s_valid) octet_valid_q <= 1'b1;
      else if (octet_due)          octet_valid_q <= 1'b0;
    end
    left_q <= left_d;
    bits_q <= bits_d;
    if (state_q == ST_IDLE) begin
      is_2mbps_q <= start_2mbps;
      is_short_q <= start_short;
      bytes_q    <= start_bytes;
    end
    if (s_ready) octet_q <= s_data;
  end

  plcp_crc u_plcp_crc (
    .clk, .clear(state_q == ST_SFD), .valid(bit_take && state_q == ST_HEADER), .data(bits_q[0]),
    .send(bit_take && state_q == ST_CRC), .next_bit(crc_bit), .good(unused_good)
  );

  // The octet after the last one belongs to the next frame.
  assign s_ready      = !octet_valid_q && state_q != ST_IDLE && !(state_q == ST_PSDU && left_q < 15'd8);
  assign evt_underrun = octet_due && !octet_valid_q;
  assign bit_valid    = state_q != ST_IDLE;
  assign bit_data     = state_q == ST_CRC ? crc_bit : bits_q[0];
  assign bit_pair     = (is_2mbps_q && state_q == ST_PSDU)
                        || (is_short_q && (state_q == ST_HEADER || state_q == ST_CRC));

  wire logic unused = &{1'b0, unused_good};

endmodule

`default_nettype wire
