// SPDX-License-Identifier: GPL-2.0-or-later
// Says what the ticks of a jump were: own transmission, NAV, busy carrier,
// inter-frame space, back-off slots. The five shares always sum to the jump; the
// inter-frame timer, the back-off counter and the accounting of a packet's life all
// take theirs from here, so they cannot disagree.
//
// A reservation (own transmission, then NAV) comes before the carrier: while the
// medium is reserved anyway it does not matter whether somebody is heard.
//
// Functions, not wires: tick_n is read in clocked blocks only (see ARCHITECTURE.md, the
// rules of time warp), so that a simulator need not settle the inputs first.
//
// `unit` (a constant, parameter UNIT_TICKS of the modules) says that a clock carries one tick or none, as
// in hardware: then nothing is compared with tick_n, and of what is left only whether it is 0 or 1 matters.

package tick_shares_pkg;

  typedef logic [23:0] ticks_t;

  function automatic ticks_t capped(ticks_t n, ticks_t limit);
    return n < limit ? n : limit;
  endfunction

  // In a clock that carries ticks: how many, and whether a timer ends with them.
  function automatic ticks_t step(ticks_t n, logic unit);
    return unit ? 24'd1 : n;
  endfunction

  function automatic logic ends(ticks_t n, ticks_t left, logic unit);
    return unit ? left[23:1] == '0 : n >= left;
  endfunction

  // own_left_us <= reserved_us always: a reservation includes the own transmission.
  function automatic ticks_t own_share(ticks_t n, logic [15:0] own_left_us);
    return capped(n, 24'(own_left_us));
  endfunction

  function automatic ticks_t nav_share(ticks_t n, logic [15:0] own_left_us, logic [15:0] reserved_us);
    return capped(n, 24'(reserved_us)) - capped(n, 24'(own_left_us));
  endfunction

  function automatic ticks_t free_share(ticks_t n, logic [15:0] reserved_us, logic unit = 1'b0);
    if (unit) return reserved_us == '0 ? n : '0;
    return n - capped(n, 24'(reserved_us));
  endfunction

  // The carrier's level is the one that held during the jump.
  function automatic ticks_t cca_share(ticks_t n_free, logic cca_busy);
    return cca_busy ? n_free : '0;
  endfunction

  function automatic ticks_t ifs_share(ticks_t n_free, logic cca_busy, logic [15:0] ifs_left_us);
    return cca_busy ? '0 : capped(n_free, 24'(ifs_left_us));
  endfunction

  function automatic ticks_t slots_share(ticks_t n_free, logic cca_busy, logic [15:0] ifs_left_us, logic unit = 1'b0);
    if (unit) return cca_busy || ifs_left_us != '0 ? '0 : n_free;
    return cca_busy ? '0 : n_free - capped(n_free, 24'(ifs_left_us));
  endfunction

endpackage
