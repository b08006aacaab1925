// SPDX-License-Identifier: GPL-2.0-or-later
// Whatever the PHY does, time does not drift: the ticks stay within a few microseconds, and the PHY's delays, of the
// clock; two are never closer than the MAC needs to settle, and it is quiescent when one comes. Bound into timing_top.

`default_nettype none

module tsf_rules #(
  parameter int unsigned CLOCKS_PER_US = 64,
  parameter int unsigned SETTLE_CLOCKS = 16
) (
  input wire logic               clk,
  input wire logic               rst,
  input wire logic               tick,
  input wire logic               ticks,
  input wire logic               quiescent,
  input wire logic               forward,
  input wire logic signed [13:0] left,
  input wire logic signed [13:0] delay_clocks,
  input wire logic signed [13:0] rest,
  input wire logic [4:0]         blocked_q,
  input wire logic [15:0]        tx_delay_q,
  input wire logic [15:0]        rx_delay_q
);

  typedef logic signed [13:0] clocks_t;
  localparam clocks_t US     = clocks_t'(CLOCKS_PER_US);
  localparam clocks_t SETTLE = clocks_t'(SETTLE_CLOCKS);

  wire clocks_t error = clocks_t'(timing_top.u_tick_generator.error_q);

  // By how many clocks the ticks are ahead of the clock since reset.
  clocks_t ahead_q = '0;
  logic [7:0] since_tick_q = '1;

  always_ff @(posedge clk) begin
    ahead_q      <= rst ? '0 : ahead_q - 14'sd1 + (ticks ? US : 14'sd0);
    since_tick_q <= rst ? '1 : tick ? 8'd1 : since_tick_q == '1 ? '1 : since_tick_q + 1'b1;
  end

  // A tick that is overdue waits for the distance to the last one, then for MAC and PHY.
  wire clocks_t waited = SETTLE + 14'sd1 - rest + clocks_t'({9'd0, blocked_q});

  always_comb if (!rst) begin
    a_error_is_bounded      : assert (error <= 14'sd4 * US && error >= -14'sd4 * US);
    i_time_is_accounted_for : assert (ahead_q == error - US + left - (forward ? 14'sd0 : delay_clocks));
    a_tsf_is_bounded        : assert (ahead_q <= 14'sd5 * US 
                               && ahead_q >= -14'sd5 * US - delay_clocks - SETTLE - 14'sd25);
    i_delay                 : assert (delay_clocks == clocks_t'(tx_delay_q) + clocks_t'(rx_delay_q) + 14'sd4);
    i_delay_apart           : assert (timing_top.u_tick_generator.heard_q - timing_top.u_tick_generator.ahead_q == delay_clocks);
    i_delay_sums            : assert (timing_top.u_tick_generator.later_q == US + delay_clocks - 14'sd4 && timing_top.u_tick_generator.sooner_q == US - delay_clocks);
    i_left_above            : assert (left <= 14'sd2 * US + (forward ? 14'sd0 : delay_clocks));
    i_left_below            : assert (left >= (forward ? -delay_clocks : 14'sd0) - waited);
  end

  // ---- A carrier that stays behind a frame's end

  // Clocks since that end, and since the carrier fell behind it.
  logic [9:0] since_end_q = '1;
  always_ff @(posedge clk) begin
    if (timing_top.u_tick_generator.medium_edge && timing_top.phy_rx_end) since_end_q <= 10'd1;
    else if (since_end_q != '1) since_end_q <= since_end_q + 1'b1;
  end
  wire clocks_t since_end  = clocks_t'({4'd0, since_end_q});
  wire clocks_t lag        = clocks_t'(timing_top.u_tick_generator.lag_q);
  wire clocks_t since_fall = since_end - lag - 14'sd1;
  wire clocks_t heard      = timing_top.u_tick_generator.heard_q;
  wire logic    fresh      = timing_top.u_tick_generator.fresh_q;
  wire logic    stayed     = timing_top.u_tick_generator.stayed_q;
  wire logic    lagging    = timing_top.u_tick_generator.lagging_q;

  clocks_t since_fall_q;
  logic    fall_counted_q;
  always_ff @(posedge clk) begin
    since_fall_q   <= since_fall + 14'sd1;
    fall_counted_q <= !timing_top.u_tick_generator.cca_was_busy_q;
  end

  always_comb if (!rst) begin
    if (timing_top.u_tick_generator.since_end_q != '0) i_clocks_since_end : assert (10'(timing_top.u_tick_generator.since_end_q) == since_end_q);
    if (timing_top.u_tick_generator.since_end_q != '0 && fresh) i_counted_from_end : assert (heard == US + 14'sd1 - since_end);
    if (fresh) i_fresh_is_forward : assert (forward);
    if (stayed) begin
      i_stayed_is_forward : assert (forward);
      i_end_was_the_edge  : assert (heard == US + 14'sd1 - since_end + (fresh ? 14'sd0 : US));
      i_fell_since        : assert (lag >= 14'sd0 && since_fall >= 14'sd0);
      i_known_with_tick   : assert (fresh || rest == SETTLE - 14'sd1);
      if (fresh && timing_top.cca_busy && since_fall > 14'sd1) i_held_before_tick : assert (left >= 14'sd1 && left + since_fall <= SETTLE + 14'sd1);
      if (!fresh && timing_top.u_tick_generator.cca_was_busy_q) i_fell_with_tick : assert (since_fall <= SETTLE + 14'sd1);
    end
    // Ticks put off fall as if the fall had been the edge: whole microseconds behind it.
    if (lagging) a_counts_from_the_fall : assert (heard + lag == (fall_counted_q ? 14'sd2 * US : US) - since_fall_q);
    if (lagging) i_lagging : assert (forward && rest == SETTLE - 14'sd2 && heard + lag >= 14'sd0 && heard + lag < 14'sd2 * US);
  end

  // ---- Ticks

  always_comb if (!rst) begin
    if (tick) begin
      a_ticks_are_apart  : assert (since_tick_q >= 8'(SETTLE_CLOCKS));
      a_mac_is_quiescent : assert (quiescent);
    end
    i_rest : assert (tick ? rest == SETTLE - 14'sd1 : since_tick_q >= 8'(SETTLE_CLOCKS - 1) ? rest == '0 :
                     8'(SETTLE_CLOCKS - 1) == since_tick_q + 8'(rest));
  end

endmodule

bind timing_top tsf_rules #(.CLOCKS_PER_US(CLOCKS_PER_US), .SETTLE_CLOCKS(SETTLE_CLOCKS)) u_tsf_rules (.*);

`default_nettype wire
