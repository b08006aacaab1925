// SPDX-License-Identifier: GPL-2.0-or-later
// Says what the ticks of a jump were: own transmission, NAV, busy carrier,
// inter-frame space, back-off slots. The five shares always sum to `tick_n`; the
// inter-frame timer, the back-off counter and the accounting of a packet's life all
// take theirs from here, so they cannot disagree.
//
// A reservation (own transmission, then NAV) comes before the carrier: while the
// medium is reserved anyway it does not matter whether somebody is heard.
//
// Combinational.

`default_nettype none

module elapsed_split (
  input  wire logic [23:0] tick_n,
  input  wire logic [15:0] own_left_us,
  input  wire logic [15:0] nav_until_us,
  input  wire logic        cca_busy,       // the level that held during the jump
  input  wire logic [15:0] idle_us,        // how long the medium had been idle before it
  input  wire logic [15:0] ifs_us,

  output wire logic [15:0] reserved_us,    // until the medium is nobody's, whatever the carrier
  output wire logic [15:0] ifs_left_us,    // inter-frame space still to wait after that
  output wire logic [23:0] n_own,
  output wire logic [23:0] n_nav,
  output wire logic [23:0] n_cca,
  output wire logic [23:0] n_ifs,
  output wire logic [23:0] n_slots
);

  wire logic [15:0] reserved = own_left_us > nav_until_us ? own_left_us : nav_until_us;
  wire logic [15:0] ifs_left = reserved != '0 ? ifs_us : ifs_us > idle_us ? ifs_us - idle_us : '0;

  wire logic [23:0] n_reserved = tick_n < 24'(reserved) ? tick_n : 24'(reserved);
  wire logic [23:0] n_free     = tick_n - n_reserved;

  assign n_own   = tick_n < 24'(own_left_us) ? tick_n : 24'(own_left_us);
  assign n_nav   = n_reserved - n_own;
  assign n_cca   = cca_busy ? n_free : '0;
  assign n_ifs   = cca_busy ? '0 : n_free < 24'(ifs_left) ? n_free : 24'(ifs_left);
  assign n_slots = cca_busy ? '0 : n_free - n_ifs;

  assign reserved_us = reserved;
  assign ifs_left_us = ifs_left;

endmodule

`default_nettype wire
