// SPDX-License-Identifier: GPL-2.0-or-later
// Counts the symbols of a PSDU, of which LENGTH has one a microsecond: the frame ends when it says so (IEEE 802.11-2012, 17.2.6).
//
// Timing: `running` from the clock after `load` on; `over` is combinational with the last symbol, or with the load of 0.

`default_nettype none

module length_counter (
  input  wire logic        clk,
  input  wire logic        rst,
  input  wire logic        load,         // a header was good, and its last symbol is over
  input  wire logic [15:0] load_length_us,
  input  wire logic        symbol_done,  // one more symbol is over
  output wire logic        running,
  output wire logic [15:0] left_us,      // with symbol_done: what of LENGTH is still to come
  output wire logic        over          // one clock
);

  logic [15:0] left_q;

  wire logic [15:0] left = left_q - 1'b1;

  always_ff @(posedge clk) begin
    if (rst)                         left_q <= '0;
    else if (load)                   left_q <= load_length_us;
    else if (symbol_done && running) left_q <= left;
  end

  assign running = left_q != '0;
  assign left_us = left;
  assign over    = load ? load_length_us == '0 : symbol_done && left_q == 16'd1;

endmodule

`default_nettype wire
