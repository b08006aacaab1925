// SPDX-License-Identifier: GPL-2.0-or-later
// What block_ram promises of one word, `watched`, any: a clock after its address the word is read that was last written
// there. Of a word that was never written, or is written while its address stands, nothing is said.
//
// The job block_ram shows it. neighbour_table_pair takes it for granted of the words that it follows, and lets the rest
// of the memory be anything; so it holds with any memory that keeps the promise.

`default_nettype none

module block_ram_rules #(
  parameter int unsigned WIDTH  = 8,
  parameter int unsigned DEPTH  = 2048,
  localparam int unsigned ADDRESS_W = $clog2(DEPTH)
) (
  input  wire logic                 clk,
  input  wire logic                 write,
  input  wire logic [ADDRESS_W-1:0] write_address,
  input  wire logic [WIDTH-1:0]     write_data,
  input  wire logic [ADDRESS_W-1:0] read_address,
  input  wire logic [WIDTH-1:0]     read_data,
  input  wire logic [ADDRESS_W-1:0] watched       // stands
);

  logic             written_q = 1'b0, read_q = 1'b0;
  logic [WIDTH-1:0] word_q;
  wire logic        writes = write && write_address == watched;

  always_ff @(posedge clk) begin
    if (writes) word_q <= write_data;
    written_q <= written_q || writes;
    read_q    <= written_q && !writes && read_address == watched;
  end

  always_comb if (read_q) a_reads_what_was_written : assert (read_data == word_q);

endmodule

`default_nettype wire
