// SPDX-License-Identifier: GPL-2.0-or-later
// Memory with one write and one read port in one clock, written so that synthesis
// finds a block RAM.
//
// Timing: `read_data` comes one clock after its address. A word that is written and
// read in one clock reads as before or as after, so nobody may read it then.

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

  if (DEPTH < 2) begin : g_bad_depth
    $fatal(1, "%m: DEPTH must be at least 2");
  end

  // For Yosys: a block RAM however small, and no logic for a word that is written and read in one clock.
  (* no_rw_check, ram_style = "block" *)
  logic [WIDTH-1:0] memory_q [DEPTH];
  logic [WIDTH-1:0] read_data_q;

  always_ff @(posedge clk) begin
    if (write) memory_q[write_address] <= write_data;
    read_data_q <= memory_q[read_address];
  end

  assign read_data = read_data_q;

endmodule

`default_nettype wire
