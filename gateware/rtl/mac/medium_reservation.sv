// SPDX-License-Identifier: GPL-2.0-or-later
// How long the medium is spoken for, whatever the carrier: the longer of the own
// transmission and the NAV; and how much of the inter-frame space is left to wait once
// it is free.
//
// Combinational.

`default_nettype none

module medium_reservation (
  input  wire logic [15:0] own_left_us,
  input  wire logic [15:0] nav_until_us,
  input  wire logic [15:0] idle_us,
  input  wire logic [15:0] ifs_us,
  output wire logic [15:0] reserved_us,
  output wire logic [15:0] ifs_left_us
);

  wire logic [15:0] reserved = own_left_us > nav_until_us ? own_left_us : nav_until_us;

  assign reserved_us = reserved;
  assign ifs_left_us = reserved != '0 ? ifs_us : ifs_us > idle_us ? ifs_us - idle_us : '0;

endmodule

`default_nettype wire
