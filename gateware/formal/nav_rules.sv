// SPDX-License-Identifier: GPL-2.0-or-later
// The NAV: a Duration extends it, time shortens it, and one thing else: the reset after
// an RTS that set it and that no frame followed in time (IEEE 802.11-2012, 9.3.2.4).
//
// Bound into nav_counter, within the whole MAC.

`default_nettype none

module nav_rules (
  input wire logic        clk,
  input wire logic        rst,
  input wire logic [23:0] tick_n,
  input wire logic [15:0] cfg_nav_reset_us,
  input wire logic [15:0] cfg_eifs_us,
  input wire logic        cfg_quirk_no_nav_reset,
  input wire logic        cfg_quirk_eifs_as_nav,
  input wire logic        rx_start,
  input wire logic        rx_overheard,
  input wire logic        rx_bad,
  input wire logic        rx_is_rts,
  input wire logic [14:0] rx_duration_us,
  input wire logic [15:0] nav_left_us,
  input wire logic [15:0] nav_until_us,
  input wire logic        reset_armed,
  input wire logic [15:0] reset_left_us_q
);

  // Which frame set the NAV, and what followed.
  logic        rts_set_it_q = 1'b0;
  logic        frame_followed_q = 1'b0;
  logic [15:0] since_us_q = '0;    // stays at its end

  wire logic        set_by_duration  = rx_overheard && 16'(rx_duration_us) > nav_left_us;
  wire logic        set_by_eifs = rx_bad && cfg_quirk_eifs_as_nav && cfg_eifs_us > nav_left_us;
  wire logic [24:0] since_us = 25'(since_us_q) + 25'(tick_n);

  // One clock before.
  logic        running_q = 1'b0, overheard_q, bad_q;
  logic [14:0] duration_us_q;
  logic [15:0] nav_left_us_q;
  logic [23:0] tick_n_q;

  always_ff @(posedge clk) begin
    running_q     <= !rst;
    overheard_q   <= rx_overheard;
    bad_q         <= rx_bad;
    duration_us_q <= rx_duration_us;
    nav_left_us_q <= nav_left_us;
    tick_n_q      <= tick_n;

    if (rst) begin
      rts_set_it_q     <= 1'b0;
      frame_followed_q <= 1'b0;
      since_us_q       <= '0;
    end else if (set_by_duration || set_by_eifs) begin
      rts_set_it_q     <= set_by_duration && rx_is_rts;
      frame_followed_q <= rx_start;   // within a tick ends come before starts
      since_us_q       <= '0;
    end else begin
      if (rx_start) frame_followed_q <= 1'b1;
      since_us_q <= since_us > 25'hffff ? '1 : since_us[15:0];
    end
  end

  wire logic may_reset = rts_set_it_q && !frame_followed_q && since_us_q >= cfg_nav_reset_us && !cfg_quirk_no_nav_reset;

  always_comb if (!rst) begin
    if (running_q) begin
      a_shortened_by_time_or_reset : assert (24'(nav_left_us) + tick_n_q >= 24'(nav_left_us_q) ||
                                             (nav_left_us == '0 && may_reset));
      if (overheard_q) a_duration_heard_counts : assert (nav_left_us >= 16'(duration_us_q));
      if (bad_q && cfg_quirk_eifs_as_nav) a_eifs_as_nav : assert (nav_left_us >= cfg_eifs_us);
      if (tick_n_q != '0) a_time_does_not_extend : assert (nav_left_us <= nav_left_us_q);
    end
    if (may_reset) a_reset_comes : assert (nav_left_us == '0);
    a_until_foresees_the_reset : assert (nav_until_us <= nav_left_us && (nav_until_us != '0 || nav_left_us == '0));

    if (reset_armed) begin
      i_armed_by_rts : assert (nav_left_us != '0 && rts_set_it_q && !frame_followed_q && !cfg_quirk_no_nav_reset);
      i_armed_since  : assert (17'(reset_left_us_q) + 17'(since_us_q) == 17'(cfg_nav_reset_us) && reset_left_us_q != '0);
    end else if (rts_set_it_q && !frame_followed_q && !cfg_quirk_no_nav_reset) begin
      i_ends_before  : assert (nav_left_us == '0 || 17'(nav_left_us) + 17'(since_us_q) <= 17'(cfg_nav_reset_us));
    end
  end

endmodule

bind nav_counter nav_rules u_nav_rules (.*);

`default_nettype wire
