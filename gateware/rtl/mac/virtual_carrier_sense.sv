// SPDX-License-Identifier: GPL-2.0-or-later
// How long the medium is spoken for, whatever the carrier: the longer of the own
// transmission and the NAV; and how much of the inter-frame space is left to wait once
// it is free.
//
// With UNIT_TICKS only 0, 1 and more are told apart (as 0, 1, 2; reserved_us as 0, 1): nobody looks ahead there.
//
// Combinational.

`default_nettype none

module virtual_carrier_sense #(
  parameter bit UNIT_TICKS = 1'b0   // a clock carries one tick or none (hardware)
) (
  input  wire logic [15:0] own_left_us,
  input  wire logic [15:0] nav_until_us,
  input  wire logic [15:0] idle_us,
  input  wire logic [15:0] ifs_us,
  input  wire logic        spaced,           // with UNIT_TICKS, from interframe_space: ifs_us is not 0
  input  wire logic        waits,            // with UNIT_TICKS, from interframe_space: ifs_us is more than idle_us,
  input  wire logic        waits_on,         // by more than 1
  output wire logic [15:0] reserved_us,
  output wire logic [15:0] ifs_left_us
);

  if (UNIT_TICKS) begin : g_unit
    wire logic reserved = own_left_us != '0 || nav_until_us != '0;
    wire logic unused   = &{1'b0, idle_us, ifs_us};
    assign reserved_us = 16'(reserved);
    assign ifs_left_us = reserved ? {14'd0, spaced, 1'b0} : {14'd0, waits_on, waits && !waits_on};
  end else begin : g_any
    wire logic [15:0] reserved = own_left_us > nav_until_us ? own_left_us : nav_until_us;
    assign reserved_us = reserved;
    wire logic unused = &{1'b0, spaced, waits, waits_on};
    assign ifs_left_us = reserved != '0 ? ifs_us : ifs_us > idle_us ? ifs_us - idle_us : '0;
  end

endmodule

`default_nettype wire
