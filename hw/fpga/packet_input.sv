// SPDX-License-Identifier: GPL-2.0-or-later
// Packets of the host for the MAC: a host_send head (gateware/spec/frames.yaml), then the MSDU, in words of 32 bits with
// the first byte in the low ones. The head becomes a descriptor, the rest goes on byte by byte.
//
// A packet that has no good head, or whose length in words is not what its head says, is dropped whole and counted: the
// stream goes on with the next one whatever came.
//
// Timing: a byte a clock.

`default_nettype none

module packet_input
  import perhop_pkg::*;
(
  input  wire logic        clk,
  input  wire logic        rst,

  // From the host.
  input  wire logic        s_valid,
  output wire logic        s_ready,
  input  wire logic [31:0] s_word,
  input  wire logic        s_last,
  input  wire logic [15:0] s_packet_bytes,       // of the whole packet; stands with its first word

  // To radio_top.
  output wire logic        m_desc_valid,
  input  wire logic        m_desc_ready,
  output wire packet_descriptor_s m_desc,
  output wire byte_stream_s m_axis,
  input  wire logic        m_axis_tready,

  output wire logic        stat_packet,          // one clock
  output wire logic        stat_packet_refused
);

  localparam int unsigned HEAD_WORDS = 10;
  localparam int unsigned HEAD_BYTES = 4 * HEAD_WORDS;
  localparam logic [7:0]  KIND_SEND  = 8'd1;

  typedef enum logic [1:0] {
    ST_HEAD,    // words of the head come
    ST_GIVE,    // the descriptor waits for room
    ST_BYTES,   // the MSDU goes on
    ST_DROP     // the rest of a packet that is refused
  } state_e;

  state_e      state_d, state_q;
  logic [31:0] head_q [HEAD_WORDS];
  logic [3:0]  at_d, at_q;                       // word of the head
  logic [1:0]  byte_d, byte_q;                   // of the word
  logic [11:0] left_d, left_q;                   // bytes of the MSDU
  logic [15:0] packet_bytes_q;
  logic        refuse;

  wire logic        head_last  = at_q == 4'(HEAD_WORDS - 1);
  wire logic [15:0] msdu_bytes = head_q[1][15:0];
  // A whole word may be given where the last bytes of it belong to nothing.
  wire logic [16:0] exact_bytes  = 17'(msdu_bytes) + 17'(HEAD_BYTES);
  wire logic [16:0] padded_bytes = {exact_bytes[16:2] + 15'(exact_bytes[1:0] != '0), 2'b00};
  wire logic        good_head    = head_q[0][7:0] == KIND_SEND && msdu_bytes != '0 && msdu_bytes < 16'd4096
                                   && 17'(packet_bytes_q) >= exact_bytes && 17'(packet_bytes_q) <= padded_bytes;

  wire logic        last_byte  = left_q == 12'd1;
  wire logic        byte_valid = state_q == ST_BYTES && s_valid;
  wire logic        byte_last  = last_byte || (s_last && byte_q == 2'd3);
  wire logic        byte_goes  = byte_valid && m_axis_tready;

  always_comb begin
    state_d = state_q;
    at_d    = at_q;
    byte_d  = byte_q;
    left_d  = left_q;
    refuse  = 1'b0;
    case (state_q)
      ST_HEAD: if (s_valid) begin
        at_d = at_q + 1'b1;
        if (s_last) begin        // no MSDU follows
          at_d   = '0;
          refuse = 1'b1;
        end else if (head_last) begin
          at_d    = '0;
          state_d = ST_GIVE;
        end
      end
      ST_GIVE: begin
        byte_d = '0;
        left_d = msdu_bytes[11:0];
        if (!good_head) begin
          refuse  = 1'b1;
          state_d = ST_DROP;
        end else if (m_desc_ready) begin
          state_d = ST_BYTES;
        end
      end
      ST_BYTES: if (byte_goes) begin
        byte_d = byte_q + 1'b1;
        left_d = left_q - 1'b1;
        if (last_byte) state_d = s_last ? ST_HEAD : ST_DROP;
        // Its length lied: the MAC refuses what ends too early.
        else if (byte_last) state_d = ST_HEAD;
      end
      ST_DROP: if (s_valid && s_last) state_d = ST_HEAD;
      default: state_d = ST_HEAD;
    endcase
  end

  always_ff @(posedge clk) begin
    if (rst) begin
      state_q <= ST_HEAD;
      at_q    <= '0;
      byte_q  <= '0;
      left_q  <= '0;
    end else begin
      state_q <= state_d;
      at_q    <= at_d;
      byte_q  <= byte_d;
      left_q  <= left_d;
    end
    if (state_q == ST_HEAD && s_valid) begin
      head_q[at_q] <= s_word;
      if (at_q == '0) packet_bytes_q <= s_packet_bytes;
    end
  end

  assign s_ready = state_q == ST_HEAD || state_q == ST_DROP || (byte_goes && (byte_q == 2'd3 || last_byte));

  assign m_desc_valid = state_q == ST_GIVE && good_head;
  assign m_desc = '{
    ra: {head_q[3][15:0], head_q[2]}, four_address: head_q[0][9], a3: {head_q[7][15:0], head_q[6]}, a4: {head_q[9][15:0], head_q[8]},
    peer: head_q[0][19:16], bytes: msdu_bytes[11:0], rate: head_q[0][22:20], series_attempts: head_q[4][19:0],
    series_rate: head_q[5][8:0], peer_series: head_q[0][10], force_rts: head_q[0][11], queue_number: head_q[0][8],
    tag: head_q[1][31:16]
  };

  assign m_axis = '{tdata: s_word[8*byte_q +: 8], tkeep: 1'b1, tvalid: byte_valid, tlast: byte_last};

  assign stat_packet         = m_desc_valid && m_desc_ready;
  assign stat_packet_refused = refuse;

  wire logic unused = &{1'b0, head_q[0][31:23], head_q[0][15:12], head_q[3][31:16], head_q[4][31:20], head_q[5][31:9],
                        head_q[7][31:16], head_q[9][31:16]};

endmodule

`default_nettype wire
