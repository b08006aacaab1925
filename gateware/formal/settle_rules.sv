// SPDX-License-Identifier: GPL-2.0-or-later
// The MAC settles: once nothing new arrives, it is quiescent after a bounded number of
// clocks without ticks. With cfg_quirk_draw_below_cw a draw may have to be repeated,
// which only chance bounds; those clocks are not counted. Bound into mac_core.

`default_nettype none

module settle_rules #(
  parameter int unsigned BOUND = 8
) (
  input wire logic        clk,
  input wire logic        rst,
  input wire logic [23:0] tick_n,
  input wire logic        quiescent,
  input wire logic        draw_wanted,
  input wire logic        draw_again,
  input wire logic        phy_cca_busy,
  input wire logic        cca_busy,
  input wire logic        phy_rx_start,
  input wire logic        phy_rx_end,
  input wire logic        desc_valid
);

  wire logic disturbed = tick_n != '0 || phy_rx_start || phy_rx_end || desc_valid || phy_cca_busy != cca_busy;

  logic [3:0] busy_clocks_q = '0;
  always_ff @(posedge clk) begin
    if (rst || quiescent || disturbed) busy_clocks_q <= '0;
    else if (!(draw_wanted && draw_again)) busy_clocks_q <= busy_clocks_q + 1'b1;
  end

  always_comb if (!rst) begin
    a_settles : assert (busy_clocks_q < 4'(BOUND) || quiescent);
  end

endmodule

bind mac_core settle_rules u_settle_rules (.*);

`default_nettype wire
