// SPDX-License-Identifier: GPL-2.0-or-later
// A burst of the host's stream becomes one packet. UHD cuts what is longer than a packet of its transport: 1456 bytes by Ethernet's 1500,
// where a data frame of the MAC has up to 2344.
//
// The packet is given when all of it is there, so that its length is known with its first word. What has no room is left out: its length
// then tells more than comes, and packet_input refuses it.
//
// Timing: a word a clock in, then a word a clock out, two clocks behind the last one.

`default_nettype none

module burst_join #(
  parameter int unsigned WORDS = 1024           // of the longest burst; a power of two
) (
  input  wire logic        clk,
  input  wire logic        rst,

  input  wire logic        s_valid,
  output wire logic        s_ready,
  input  wire logic [31:0] s_word,
  input  wire logic        s_last,              // of a packet of the stream
  input  wire logic        s_burst_ends,        // with this packet; stands with its last word
  input  wire logic [15:0] s_packet_bytes,      // stands with its first word

  output wire logic        m_valid,
  input  wire logic        m_ready,
  output wire logic [31:0] m_word,
  output wire logic        m_last,
  output wire logic [15:0] m_packet_bytes       // of the whole burst
);

  localparam int unsigned INDEX_W = $clog2(WORDS);

  if (WORDS < 2 || WORDS != 1 << INDEX_W) begin : gen_illegal
    $fatal(1, "%m: WORDS must be a power of two of at least 2");
  end

  logic [31:0]      kept_q [WORDS];
  logic [31:0]      word_q;
  logic [INDEX_W:0] count_q;                    // of words that are kept
  logic [INDEX_W:0] read_q;                     // of words that were read, the one in word_q among them
  logic [15:0]      bytes_q;
  logic             first_q;                    // the next word is the first of a packet of the stream
  logic             gives_q;                    // all of the burst is there
  logic             read_valid_q;

  wire logic take = s_valid && s_ready;
  wire logic room = count_q != (INDEX_W+1)'(WORDS);
  wire logic goes = m_valid && m_ready;
  wire logic read = gives_q && read_q != count_q && (!read_valid_q || goes);

  always_ff @(posedge clk) begin
    if (take && room) kept_q[count_q[INDEX_W-1:0]] <= s_word;
    if (read)         word_q <= kept_q[read_q[INDEX_W-1:0]];
    if (rst) begin
      count_q      <= '0;
      read_q       <= '0;
      bytes_q      <= '0;
      first_q      <= 1'b1;
      gives_q      <= 1'b0;
      read_valid_q <= 1'b0;
    end else begin
      if (take) begin
        first_q <= s_last;
        if (room)    count_q <= count_q + 1'b1;
        if (first_q) bytes_q <= bytes_q + s_packet_bytes;
        gives_q <= s_last && s_burst_ends;
      end
      if (read) begin
        read_q       <= read_q + 1'b1;
        read_valid_q <= 1'b1;
      end else if (goes) begin
        read_valid_q <= 1'b0;
      end
      if (goes && m_last) begin
        count_q <= '0;
        read_q  <= '0;
        bytes_q <= '0;
        gives_q <= 1'b0;
      end
    end
  end

  assign s_ready        = !gives_q;
  assign m_valid        = read_valid_q;
  assign m_word         = word_q;
  assign m_last         = read_q == count_q;
  assign m_packet_bytes = bytes_q;

endmodule

`default_nettype wire
