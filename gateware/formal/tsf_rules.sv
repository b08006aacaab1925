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
