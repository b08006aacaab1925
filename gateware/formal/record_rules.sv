// SPDX-License-Identifier: GPL-2.0-or-later
// Completion records come out whole, in order and unchanged, or are lost whole and counted: one of the two
// for each. One record and one of its words are followed: the solver picks them.
//
// Bound into completion_stream.

`default_nettype none

module record_rules
  import perhop_pkg::*;
(
  input wire logic               clk,
  input wire logic               rst,
  input wire logic               record_valid,
  input wire completion_record_s record,
  input wire logic               taken,
  input wire logic               stat_overflow,
  input wire logic [31:0]        m_axis_tdata,
  input wire logic               m_axis_tvalid,
  input wire logic               m_axis_tready,
  input wire logic               m_axis_tlast
);

  localparam int unsigned WORDS = COMPLETION_RECORD_WORDS;

  logic [1:0] followed;
  logic [4:0] place;
  always_ff @(posedge clk) begin
    followed <= followed;
    place    <= place;
  end

  logic        begun_q = 1'b0, valid_q = 1'b0, taken_q = 1'b0, known_q = 1'b0;
  logic [1:0]  in_q = '0, out_q = '0;
  logic [4:0]  out_place_q = '0;
  logic [31:0] word_q;

  wire logic [32*WORDS-1:0] words = completion_record_words(record);
  wire logic sent = m_axis_tvalid && m_axis_tready;

  always_ff @(posedge clk) begin
    begun_q <= 1'b1;
    valid_q <= !rst && record_valid;
    taken_q <= !rst && taken;
    if (rst) begin
      in_q        <= '0;
      out_q       <= '0;
      out_place_q <= '0;
      known_q     <= 1'b0;
    end else begin
      if (taken) begin
        in_q <= in_q + 1'b1;
        if (in_q == followed && !known_q) begin
          known_q <= 1'b1;
          word_q  <= words[{place, 5'b0} +: 32];
        end
      end
      if (sent) begin
        out_place_q <= m_axis_tlast ? '0 : out_place_q + 1'b1;
        if (m_axis_tlast) out_q <= out_q + 1'b1;
      end
    end
  end

  always_comb begin
    if (!begun_q) assume (rst);
    assume (int'(place) < int'(WORDS));
  end

  always_comb if (begun_q && !rst) begin
    a_taken_or_counted : assert (valid_q == (taken_q || stat_overflow) && !(taken_q && stat_overflow));
    a_whole            : assert (!m_axis_tvalid || m_axis_tlast == (int'(out_place_q) == int'(WORDS) - 1));
    if (m_axis_tvalid && out_q == followed) begin
      a_only_what_came : assert (known_q);
      if (out_place_q == place) a_word : assert (m_axis_tdata == word_q);
    end
  end

endmodule

bind completion_stream record_rules u_record_rules (.*);

`default_nettype wire
