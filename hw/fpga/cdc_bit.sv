// SPDX-License-Identifier: GPL-2.0-or-later
// Clock crossing of bits that have nothing to do with each other: each settles for itself. One of three modules whose
// inputs may come from another clock; hw/checks/crossings.py holds every design against that.
//
// Timing: two clocks of `clk`, and up to one more.

`default_nettype none

module cdc_bit #(
  parameter int unsigned WIDTH = 1,
  parameter bit RESET_VALUE    = 1'b0
) (
  input  wire logic             clk,
  input  wire logic             rst,       // synchronous, active high
  input  wire logic [WIDTH-1:0] foreign,   // of any clock; a register drives it
  output wire logic [WIDTH-1:0] settled    // of `clk`
);

  // The names are what constraints look for.
  logic [WIDTH-1:0] cdc_first_q, cdc_second_q;

  always_ff @(posedge clk) begin
    if (rst) begin
      cdc_first_q  <= {WIDTH{RESET_VALUE}};
      cdc_second_q <= {WIDTH{RESET_VALUE}};
    end else begin
      cdc_first_q  <= foreign;
      cdc_second_q <= cdc_first_q;
    end
  end

  assign settled = cdc_second_q;

endmodule

`default_nettype wire
