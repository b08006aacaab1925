// SPDX-License-Identifier: GPL-2.0-or-later
// block_ram_rules of any word of a block_ram: the solver picks it. Bound into block_ram.

`default_nettype none

module block_ram_any_word #(
  parameter int unsigned WIDTH  = 8,
  parameter int unsigned DEPTH  = 2048,
  localparam int unsigned ADDRESS_W = $clog2(DEPTH)
) (
  input  wire logic                 clk,
  input  wire logic                 write,
  input  wire logic [ADDRESS_W-1:0] write_address,
  input  wire logic [WIDTH-1:0]     write_data,
  input  wire logic [ADDRESS_W-1:0] read_address,
  input  wire logic [WIDTH-1:0]     read_data
);

  logic [ADDRESS_W-1:0] watched;   // begins with any value and keeps it
  always_ff @(posedge clk) watched <= watched;

  block_ram_rules #(.WIDTH(WIDTH), .DEPTH(DEPTH)) u_block_ram_rules (.*);

  always_comb begin
    if (u_block_ram_rules.written_q) i_it_is_there : assert (block_ram.memory_q[watched] == u_block_ram_rules.word_q);
  end

endmodule

bind block_ram block_ram_any_word #(.WIDTH(WIDTH), .DEPTH(DEPTH)) u_block_ram_any_word (.*);

`default_nettype wire
