// SPDX-License-Identifier: GPL-2.0-or-later
// Clock crossing of words: a FIFO with a clock at each end. Read and write counts cross in Gray code, so that a count
// which is caught in mid-change is the old or the new one.
//
// Both resets come from one source through cdc_reset, so that they overlap.
//
// Timing: a word can be taken three to four clocks of `m_clk` after it was given.

`default_nettype none

module cdc_fifo #(
  parameter int unsigned WIDTH      = 32,
  parameter int unsigned DEPTH_LOG2 = 4
) (
  input  wire logic             s_clk,
  input  wire logic             s_rst,     // synchronous to s_clk, active high
  input  wire logic             s_valid,
  output wire logic             s_ready,
  input  wire logic [WIDTH-1:0] s_data,

  input  wire logic             m_clk,
  input  wire logic             m_rst,     // synchronous to m_clk, active high
  output wire logic             m_valid,
  input  wire logic             m_ready,
  output wire logic [WIDTH-1:0] m_data
);

  if (DEPTH_LOG2 < 2) begin : gen_illegal
    $fatal(1, "%m: DEPTH_LOG2 must be 2 or more");
  end

  typedef logic [DEPTH_LOG2:0] count_t;

  function automatic count_t gray(input count_t count);
    return count ^ (count >> 1);
  endfunction

  logic [WIDTH-1:0] cdc_memory [2**DEPTH_LOG2];
  count_t written_q, read_q;                   // each of its own clock
  count_t cdc_written_gray_q, cdc_read_gray_q;
  count_t written_gray, read_gray;             // as the other side sees them

  // Full: the counts differ by the depth, in Gray code by the two highest bits.
  assign s_ready = cdc_written_gray_q != {~read_gray[DEPTH_LOG2:DEPTH_LOG2-1], read_gray[DEPTH_LOG2-2:0]};
  assign m_valid = cdc_read_gray_q != written_gray;
  assign m_data  = cdc_memory[read_q[DEPTH_LOG2-1:0]];

  wire logic   give = s_valid && s_ready;
  wire logic   take = m_valid && m_ready;
  wire count_t written_next = written_q + count_t'(give);
  wire count_t read_next    = read_q + count_t'(take);

  always_ff @(posedge s_clk) begin
    if (give) cdc_memory[written_q[DEPTH_LOG2-1:0]] <= s_data;
    if (s_rst) begin
      written_q          <= '0;
      cdc_written_gray_q <= '0;
    end else begin
      written_q          <= written_next;
      cdc_written_gray_q <= gray(written_next);
    end
  end

  always_ff @(posedge m_clk) begin
    if (m_rst) begin
      read_q          <= '0;
      cdc_read_gray_q <= '0;
    end else begin
      read_q          <= read_next;
      cdc_read_gray_q <= gray(read_next);
    end
  end

  cdc_bit #(.WIDTH(DEPTH_LOG2 + 1)) u_read (.clk(s_clk), .rst(s_rst), .foreign(cdc_read_gray_q), .settled(read_gray));
  cdc_bit #(.WIDTH(DEPTH_LOG2 + 1)) u_written (
    .clk(m_clk), .rst(m_rst), .foreign(cdc_written_gray_q), .settled(written_gray)
  );

endmodule

`default_nettype wire
