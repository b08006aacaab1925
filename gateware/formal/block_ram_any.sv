// SPDX-License-Identifier: GPL-2.0-or-later
// Stands for block_ram where a proof follows some of its words only: whatever is written, anything is read.
// block_ram_rules says of the words that are followed what the solver may not choose. It is an input of the top module,
// since what nothing drives is another value wherever it is used.

`default_nettype none

module block_ram #(
  parameter int unsigned WIDTH  = 8,
  parameter int unsigned DEPTH  = 2048,
  localparam int unsigned ADDRESS_W = $clog2(DEPTH)
) (
  input  wire logic                 clk,
  input  wire logic                 write,
  input  wire logic [ADDRESS_W-1:0] write_address,
  input  wire logic [WIDTH-1:0]     write_data,
  input  wire logic [ADDRESS_W-1:0] read_address,
  output wire logic [WIDTH-1:0]     read_data
);

  assign read_data = neighbour_table_pair.memory_word;

  wire logic unused = &{1'b0, clk, write, write_address, write_data, read_address};

endmodule

`default_nettype wire
