// SPDX-License-Identifier: GPL-2.0-or-later
// NAV (network allocation vector): the time for which other stations have reserved
// the medium. A Duration heard on the air extends the NAV and never shortens it; the
// one way back is the NAV reset, after an RTS that led to nothing: if no frame starts
// within `cfg_nav_reset_us` of the RTS's end, the NAV it set is dropped
// (IEEE 802.11-2012, 9.3.2.4).
//
// A passive timer: its end wakes nobody. `nav_until_us` tells the others how long
// the medium stays reserved, reset included, and they add it to their own wait. With UNIT_TICKS it is
// 1 or 0: more does not matter where nobody looks ahead.
//
// Timing: `nav_left_us` changes one clock after the frame's end is registered.

`default_nettype none

module nav_counter
  import perhop_pkg::*;
  import tick_shares_pkg::*;
#(
  parameter bit UNIT_TICKS = 1'b0   // a clock carries one tick or none (hardware)
) (
  input  wire logic        clk,
  input  wire logic        rst,
  input  wire logic [23:0] tick_n,
  input  wire mac_settings_s settings,
  input  wire logic [15:0] summary_nav_left_us,   // with ticks: the NAV at their end, if it is longer; 0 in hardware

  // From phy_events.
  input  wire logic        rx_start,
  input  wire logic        rx_overheard,
  input  wire logic        rx_bad,
  input  wire logic        rx_is_rts,
  input  wire logic [14:0] rx_duration_us,

  output wire logic [15:0] nav_left_us,     // what Durations have reserved
  output wire logic [15:0] nav_until_us,    // ... and how much of it will stand if nothing more is heard
  output wire logic        reset_armed
);

  wire logic [15:0] cfg_nav_reset_us = settings.nav_reset_us;
  wire logic [15:0] cfg_eifs_us = settings.eifs_us;
  wire logic cfg_quirk_no_nav_reset = settings.quirk_no_nav_reset;
  wire logic cfg_quirk_eifs_as_nav = settings.quirk_eifs_as_nav;   // ns-2: a bad frame reserves EIFS as NAV

  logic [15:0] nav_left_us_q, reset_left_us_q;
  logic        reset_armed_q;

  always_ff @(posedge clk) begin
    automatic logic reset_now = reset_armed_q && ends(tick_n, 24'(reset_left_us_q), UNIT_TICKS);
    if (rst) begin
      nav_left_us_q   <= '0;
      reset_left_us_q <= '0;
      reset_armed_q   <= 1'b0;
    end else if (tick_n != '0) begin
      if (!UNIT_TICKS && summary_nav_left_us != '0) begin
        nav_left_us_q <= summary_nav_left_us;
        reset_armed_q <= 1'b0;
      end else if (nav_left_us_q != '0) begin
        if (reset_now || ends(tick_n, 24'(nav_left_us_q), UNIT_TICKS)) begin
          nav_left_us_q <= '0;
          reset_armed_q <= 1'b0;
        end else begin
          nav_left_us_q <= nav_left_us_q - 16'(step(tick_n, UNIT_TICKS));
        end
        if (reset_armed_q) reset_left_us_q <= reset_now ? '0 : reset_left_us_q - 16'(step(tick_n, UNIT_TICKS));
      end
    end else begin
      if (rx_overheard && 16'(rx_duration_us) > nav_left_us_q) begin
        nav_left_us_q   <= 16'(rx_duration_us);
        reset_left_us_q <= cfg_nav_reset_us;
        reset_armed_q   <= rx_is_rts && !cfg_quirk_no_nav_reset && cfg_nav_reset_us < 16'(rx_duration_us);
      end else if (rx_bad && cfg_quirk_eifs_as_nav && cfg_eifs_us > nav_left_us_q) begin
        nav_left_us_q <= cfg_eifs_us;
        reset_armed_q <= 1'b0;
      end
      // Also when it starts in the clock in which another frame ends.
      if (rx_start) reset_armed_q <= 1'b0;
    end
  end

  assign nav_left_us  = nav_left_us_q;
  if (UNIT_TICKS) begin : g_unit
    wire logic unused_summary = &{1'b0, summary_nav_left_us};
    // Whether there is any, so that nobody waits for 16 bits to be looked at.
    logic reserved_q, reset_over_q;   // nav_left_us_q is not 0; reset_left_us_q is

    wire logic ends_now = reset_left_us_q[15:1] == '0;   // with a tick

    always_ff @(posedge clk) begin
      if (rst) begin
        reserved_q   <= 1'b0;
        reset_over_q <= 1'b1;
      end else if (tick_n != '0) begin
        if (reserved_q) begin
          if (nav_left_us_q[15:1] == '0 || (reset_armed_q && ends_now)) reserved_q <= 1'b0;
          if (reset_armed_q && ends_now) reset_over_q <= 1'b1;
        end
      end else if (rx_overheard && 16'(rx_duration_us) > nav_left_us_q) begin
        reserved_q   <= 1'b1;
        reset_over_q <= cfg_nav_reset_us == '0;
      end else if (rx_bad && cfg_quirk_eifs_as_nav && cfg_eifs_us > nav_left_us_q) begin
        reserved_q <= 1'b1;
      end
    end
    assign nav_until_us = {15'd0, reserved_q && !(reset_armed_q && reset_over_q)};
  end else begin : g_any
    assign nav_until_us = (reset_armed_q && reset_left_us_q < nav_left_us_q) ? reset_left_us_q : nav_left_us_q;
  end
  assign reset_armed  = reset_armed_q;

endmodule

`default_nettype wire
