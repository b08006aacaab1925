// SPDX-License-Identifier: GPL-2.0-or-later
// What the host gets, as packets of 32-bit words: completion records behind a host_record head, received frames behind a
// host_frame head (gateware/spec/frames.yaml). A record goes first where both wait.
//
// The length of a frame's bytes stands behind them, in a word of its own: it is known only then.
//
// Timing: a word a clock for heads and records, a byte a clock for frames. A host that does not take them holds them up;
// what is lost then is lost in the MAC, whole and counted.

`default_nettype none

module frame_output
  import perhop_pkg::*;
(
  input  wire logic        clk,
  input  wire logic        rst,

  // From radio_top.
  input  wire rx_status_s  s_rx_status,
  input  wire byte_stream_s s_axis_rx,
  output wire logic        s_axis_rx_tready,
  input  wire word_stream_s s_done,
  output wire logic        s_done_tready,

  // To the host.
  output wire logic [31:0] m_word,
  output wire logic        m_last,
  output wire logic        m_is_record,        // and no frame
  output wire logic        m_valid,
  input  wire logic        m_ready,

  output wire logic        stat_frame,         // one clock, with the last word
  output wire logic        stat_record
);

  localparam int unsigned HEAD_WORDS  = 12;
  localparam logic [7:0]  KIND_RECORD = 8'd2, KIND_FRAME = 8'd3;

  typedef enum logic [2:0] {
    ST_IDLE,      // nothing is under way
    ST_RECORD,    // words of a record, behind its head
    ST_HEAD,      // words of a frame's head
    ST_BYTES,     // bytes of a frame fill a word
    ST_WORD,      // a word of the frame goes
    ST_LENGTH     // its length goes
  } state_e;

  state_e      state_d, state_q;
  logic [3:0]  at_d, at_q;
  logic [1:0]  byte_d, byte_q;
  logic [31:0] word_d, word_q;
  logic [11:0] bytes_d, bytes_q;
  logic        ended_d, ended_q;
  logic [31:0] head_word;

  always_comb begin
    case (at_q)
      4'd0:    head_word = {8'd0, s_rx_status.rssi_dbm, s_rx_status.retry, s_rx_status.fcs_ok,
                            s_rx_status.kind, s_rx_status.rate, KIND_FRAME};
      4'd1:    head_word = {4'd0, s_rx_status.sequence_number, 4'd0, s_rx_status.bytes};
      4'd2:    head_word = s_rx_status.tsf_us[31:0];
      4'd3:    head_word = s_rx_status.tsf_us[63:32];
      4'd4:    head_word = s_rx_status.ra[31:0];
      4'd5:    head_word = {16'd0, s_rx_status.ra[47:32]};
      4'd6:    head_word = s_rx_status.ta[31:0];
      4'd7:    head_word = {16'd0, s_rx_status.ta[47:32]};
      4'd8:    head_word = s_rx_status.a3[31:0];
      4'd9:    head_word = {16'd0, s_rx_status.a3[47:32]};
      4'd10:   head_word = s_rx_status.a4[31:0];
      default: head_word = {16'd0, s_rx_status.a4[47:32]};
    endcase
  end

  wire logic byte_come = state_q == ST_BYTES && s_axis_rx.tvalid;

  always_comb begin
    state_d = state_q;
    at_d    = at_q;
    byte_d  = byte_q;
    word_d  = word_q;
    bytes_d = bytes_q;
    ended_d = ended_q;
    case (state_q)
      ST_IDLE: begin
        at_d    = '0;
        byte_d  = '0;
        word_d  = '0;
        bytes_d = '0;
        ended_d = 1'b0;
        if (s_done.tvalid) begin
          if (m_ready) state_d = ST_RECORD;
        end else if (s_axis_rx.tvalid) begin
          state_d = ST_HEAD;
        end
      end
      ST_RECORD: if (s_done.tvalid && s_done.tlast && m_ready) state_d = ST_IDLE;
      ST_HEAD: if (m_ready) begin
        at_d = at_q + 1'b1;
        if (at_q == 4'(HEAD_WORDS - 1)) state_d = ST_BYTES;
      end
      ST_BYTES: if (byte_come) begin
        ended_d = s_axis_rx.tlast;
        if (s_axis_rx.tkeep) begin
          word_d[8*byte_q +: 8] = s_axis_rx.tdata;
          byte_d  = byte_q + 1'b1;
          bytes_d = bytes_q + 1'b1;
        end
        if (s_axis_rx.tlast && byte_d == '0 && !s_axis_rx.tkeep) state_d = ST_LENGTH;
        else if (s_axis_rx.tlast || (s_axis_rx.tkeep && byte_q == 2'd3)) state_d = ST_WORD;
      end
      ST_WORD: if (m_ready) begin
        byte_d  = '0;
        word_d  = '0;
        state_d = ended_q ? ST_LENGTH : ST_BYTES;
      end
      ST_LENGTH: if (m_ready) state_d = ST_IDLE;
      default: state_d = ST_IDLE;
    endcase
  end

  always_ff @(posedge clk) begin
    if (rst) begin
      state_q <= ST_IDLE;
      at_q    <= '0;
      byte_q  <= '0;
      word_q  <= '0;
      bytes_q <= '0;
      ended_q <= 1'b0;
    end else begin
      state_q <= state_d;
      at_q    <= at_d;
      byte_q  <= byte_d;
      word_q  <= word_d;
      bytes_q <= bytes_d;
      ended_q <= ended_d;
    end
  end

  logic [31:0] word;
  always_comb begin
    case (state_q)
      ST_RECORD: word = s_done.tdata;
      ST_HEAD:   word = head_word;
      ST_WORD:   word = word_q;
      ST_LENGTH: word = {20'd0, bytes_q};
      default:   word = {24'd0, KIND_RECORD};
    endcase
  end

  assign m_word  = word;
  assign m_valid = (state_q == ST_IDLE && s_done.tvalid) || (state_q == ST_RECORD && s_done.tvalid) || state_q == ST_HEAD
                   || state_q == ST_WORD || state_q == ST_LENGTH;
  assign m_is_record = state_q == ST_IDLE || state_q == ST_RECORD;
  assign m_last  = state_q == ST_LENGTH || (state_q == ST_RECORD && s_done.tlast);

  assign s_done_tready    = state_q == ST_RECORD && m_ready;
  assign s_axis_rx_tready = state_q == ST_BYTES;

  assign stat_frame  = state_q == ST_LENGTH && m_ready;
  assign stat_record = state_q == ST_RECORD && s_done.tvalid && s_done.tlast && m_ready;

  wire logic unused = &{1'b0, s_done.tkeep};

endmodule

`default_nettype wire
