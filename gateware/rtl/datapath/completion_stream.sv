// SPDX-License-Identifier: GPL-2.0-or-later
// Completion records as 32-bit words of an AXI4-Stream, in the layout of gateware/spec; tlast
// ends a record. A block RAM holds those that the host has not read. A record for which there is
// no room is lost as a whole and counted; none is ever torn.
//
// Timing: a record is registered at its clock and moves into the memory at a word a clock
// (`busy`); the next one must not come before that, or it is lost and counted too.

`default_nettype none

module completion_stream
  import perhop_pkg::*;
#(
  parameter int unsigned MEMORY_WORDS = 512,  // a power of two
  parameter bit          SERIAL       = 1'b0  // the record comes word by word, from the clock after record_valid on
) (
  input  wire logic               clk,
  input  wire logic               rst,

  // From the MAC.
  input  wire logic               record_valid,
  input  wire completion_record_s record,
  input  wire logic [31:0]        record_word,   // with SERIAL
  output wire logic               busy,
  output wire logic               stat_overflow,

  // To the host.
  output wire logic [31:0]        m_axis_tdata,
  output wire logic [3:0]         m_axis_tkeep,
  output wire logic               m_axis_tvalid,
  input  wire logic               m_axis_tready,
  output wire logic               m_axis_tlast
);

  localparam int unsigned WORDS     = COMPLETION_RECORD_WORDS;
  localparam int unsigned RAM_W = $clog2(MEMORY_WORDS);
  localparam int unsigned INDEX_W   = $clog2(WORDS);
  if (MEMORY_WORDS != 1 << RAM_W || MEMORY_WORDS < WORDS) begin : g_bad_memory
    $fatal(1, "%m: MEMORY_WORDS must be a power of two that holds a record");
  end

  logic               busy_q, overflow_q, valid_q;
  logic [INDEX_W-1:0] in_index_q, out_index_q;
  logic [RAM_W:0] write_q, read_q;    // one bit more than an address: full and empty differ

  wire logic [RAM_W:0]  used      = write_q - read_q;
  wire logic                room      = used <= (RAM_W + 1)'(MEMORY_WORDS - WORDS);
  wire logic                taken     = record_valid && !busy_q && room;
  wire logic                sent      = m_axis_tvalid && m_axis_tready;
  wire logic [RAM_W:0]  read_next = read_q + (RAM_W + 1)'(sent);

  always_ff @(posedge clk) begin
    if (rst) begin
      busy_q      <= 1'b0;
      overflow_q  <= 1'b0;
      valid_q     <= 1'b0;
      in_index_q  <= '0;
      out_index_q <= '0;
      write_q     <= '0;
      read_q      <= '0;
    end else begin
      overflow_q <= record_valid && !taken;
      if (taken) busy_q <= 1'b1;
      if (busy_q) begin
        write_q    <= write_q + 1'b1;
        in_index_q <= in_index_q + 1'b1;
        if (in_index_q == INDEX_W'(WORDS - 1)) begin
          busy_q     <= 1'b0;
          in_index_q <= '0;
        end
      end
      read_q  <= read_next;
      valid_q <= read_next != write_q;   // a word is read after the clock in which it was written
      if (sent) out_index_q <= m_axis_tlast ? '0 : out_index_q + 1'b1;
    end
  end

  logic [31:0] word;
  if (SERIAL) begin : g_serial
    assign word = record_word;
    wire logic unused = &{1'b0, record};
  end else begin : g_whole
    completion_record_s record_q;
    always_ff @(posedge clk) if (taken) record_q <= record;

    wire logic [32*WORDS-1:0] words = completion_record_words(record_q);
    assign word = words[{in_index_q, 5'b0} +: 32];
    wire logic unused = &{1'b0, record_word};
  end

  block_ram #(.WIDTH(32), .DEPTH(MEMORY_WORDS)) u_words (
    .clk,
    .write(busy_q), .write_address(write_q[RAM_W-1:0]), .write_data(word),
    .read_address(read_next[RAM_W-1:0]), .read_data(m_axis_tdata)
  );

  assign busy          = busy_q;
  assign stat_overflow = overflow_q;
  assign m_axis_tkeep  = '1;
  assign m_axis_tvalid = valid_q;
  assign m_axis_tlast  = out_index_q == INDEX_W'(WORDS - 1);

endmodule

`default_nettype wire
