// SPDX-License-Identifier: GPL-2.0-or-later
// Completion records come out whole, in order and unchanged, or are lost whole and counted: one of the two
// for each. One record of every sixteen and one of its words are followed: the solver picks them.
//
// Bound into completion_stream. i_* are the invariants that make the claims (a_*) inductive.

`default_nettype none

module record_rules
  import perhop_pkg::*;
#(
  localparam int unsigned RAM_W = 5   // as the proof's memory of 32 words has it
) (
  input wire logic               clk,
  input wire logic               rst,
  input wire logic               record_valid,
  input wire completion_record_s record,
  input wire logic               taken,
  input wire logic               stat_overflow,
  input wire logic               busy_q,
  input wire logic [4:0]         in_index_q,
  input wire logic [4:0]         out_index_q,
  input wire logic [RAM_W:0]     write_q,
  input wire logic [RAM_W:0]     read_q,
  input wire logic [31:0]        m_axis_tdata,
  input wire logic               m_axis_tvalid,
  input wire logic               m_axis_tready,
  input wire logic               m_axis_tlast
);

  localparam logic [7:0] WORDS = 8'(COMPLETION_RECORD_WORDS);
  localparam logic [7:0] SPACE = 8'd1 << RAM_W;

  logic [3:0] followed;
  logic [4:0] place;
  always_ff @(posedge clk) begin
    followed <= followed;
    place    <= place;
  end

  logic        begun_q = 1'b0, valid_q = 1'b0, taken_q = 1'b0;
  logic [3:0]  in_q = '0, out_q = '0;   // records, modulo 16
  logic [31:0] word_q;                  // the followed one, as it came

  wire logic [32*COMPLETION_RECORD_WORDS-1:0] words = completion_record_words(record);
  wire logic [32*COMPLETION_RECORD_WORDS-1:0] kept  = completion_record_words(completion_stream.g_whole.record_q);
  wire logic sent = m_axis_tvalid && m_axis_tready;

  always_ff @(posedge clk) begin
    begun_q <= 1'b1;
    valid_q <= !rst && record_valid;
    taken_q <= !rst && taken;
    if (rst) begin
      in_q  <= '0;
      out_q <= '0;
    end else begin
      if (taken) in_q <= in_q + 1'b1;
      if (taken && in_q == followed) word_q <= words[{place, 5'b0} +: 32];
      if (sent && m_axis_tlast) out_q <= out_q + 1'b1;
    end
  end

  // Records and words between in and out.
  wire logic [3:0] records   = in_q - out_q;
  wire logic [7:0] stored    = 8'((RAM_W + 1)'(write_q - read_q));
  wire logic [7:0] to_come   = busy_q ? WORDS - 8'(in_index_q) : 8'd0;
  // The followed word: how many words are before it, if its record is among them and it has not gone.
  wire logic [3:0] behind    = followed - out_q;
  wire logic [7:0] before_it = WORDS * 8'(behind) + 8'(place);
  wire logic       inside_it = behind < records && before_it >= 8'(out_index_q);
  wire logic [7:0] offset    = before_it - 8'(out_index_q);

  always_comb begin
    if (!begun_q) assume (rst);
    assume (8'(place) < WORDS);
  end

  always_comb if (begun_q && !rst) begin
    a_taken_or_counted : assert (valid_q == (taken_q || stat_overflow) && !(taken_q && stat_overflow));
    a_whole            : assert (!m_axis_tvalid || m_axis_tlast == (8'(out_index_q) == WORDS - 8'd1));
    a_only_what_came   : assert (!m_axis_tvalid || records != '0);
    if (m_axis_tvalid && out_q == followed && out_index_q == place) a_word : assert (m_axis_tdata == word_q);

    i_places     : assert (8'(in_index_q) < WORDS && 8'(out_index_q) < WORDS && (busy_q || in_index_q == '0));
    i_room       : assert (stored + to_come <= SPACE);
    i_few        : assert (records <= 4'd3);
    i_counted    : assert (WORDS * 8'(records) == stored + to_come + 8'(out_index_q));
    i_being_read : assert (!m_axis_tvalid || (stored != '0 && m_axis_tdata == completion_stream.u_words.memory_q[read_q[RAM_W-1:0]]));
    if (inside_it && offset < stored) begin
      i_stored : assert (completion_stream.u_words.memory_q[RAM_W'(read_q + (RAM_W + 1)'(offset))] == word_q);
    end
    if (inside_it && offset >= stored) begin
      i_to_come : assert (kept[{place, 5'b0} +: 32] == word_q);
    end
  end

endmodule

bind completion_stream record_rules u_record_rules (.*);

`default_nettype wire
