// SPDX-License-Identifier: GPL-2.0-or-later
// Counts the symbols of a PSDU, of which LENGTH has one a microsecond: the frame, and the medium's being busy with it, end when it
// says so, whatever happens to the carrier (IEEE 802.11-2012, 17.3.6).
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
  output wire logic        over          // one clock
);

  logic [15:0] left_q;

  always_ff @(posedge clk) begin
    if (rst)                         left_q <= '0;
    else if (load)                   left_q <= load_length_us;
    else if (symbol_done && running) left_q <= left_q - 1'b1;
  end

  assign running = left_q != '0;
  assign over    = load ? load_length_us == '0 : symbol_done && left_q == 16'd1;

endmodule

`default_nettype wire
