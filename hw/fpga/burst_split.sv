// SPDX-License-Identifier: GPL-2.0-or-later
// A packet for the host becomes a burst of its stream: packets of at most WORDS words, none longer than its transport carries. Ethernet of
// 1500 bytes drops longer ones, and nobody says so.
//
// Timing: a word a clock; nothing is kept.

`default_nettype none

module burst_split #(
  parameter int unsigned WORDS = 364            // of a packet; 0: none is cut
) (
  input  wire logic clk,
  input  wire logic rst,

  input  wire logic s_valid,
  input  wire logic s_last,
  input  wire logic m_ready,

  output wire logic m_last,                     // of a packet of the stream
  output wire logic m_burst_ends                // with this packet; stands with its last word
);

  logic full;

  if (WORDS == 0) begin : gen_whole
    assign full = 1'b0;
    wire logic unused = &{1'b0, clk, rst, s_valid, m_ready};
  end else begin : gen_cut
    logic [15:0] left_q;                        // words behind this one that the packet may have

    always_ff @(posedge clk) begin
      if (rst) begin
        left_q <= 16'(WORDS - 1);
      end else if (s_valid && m_ready) begin
        left_q <= m_last ? 16'(WORDS - 1) : left_q - 1'b1;
      end
    end

    assign full = left_q == '0;
  end

  assign m_last       = s_last || full;
  assign m_burst_ends = s_last;

endmodule

`default_nettype wire
