// SPDX-License-Identifier: GPL-2.0-or-later
// tick_generator and phy_inputs with any PHY that keeps its contract, and any MAC that settles: within 8 clocks of a
// tick, a packet or a change of the carrier, within one of a strobe while it sends (settle_rules).

`default_nettype none

module timing_top
  import perhop_pkg::*;
#(
  parameter int unsigned CLOCKS_PER_US = 64,
  parameter int unsigned SETTLE_CLOCKS = 16
) (
  input wire logic        clk,
  input wire logic [15:0] tx_delay_clocks,
  input wire logic [15:0] rx_delay_clocks,
  input wire logic        phy_cca_busy,
  input wire logic        phy_rx_start,
  input wire logic        phy_rx_end,
  input wire logic        quiescent,
  input wire logic        sending,
  input wire logic        tx_start,
  input wire logic [15:0] nav_left_us
);

  localparam int unsigned SETTLED = 8;   // clocks

  // Reset lasts three clocks: the sums of the delays are ready.
  logic       started_q = 1'b0;
  logic [1:0] reset_q   = 2'd3;
  always_ff @(posedge clk) begin
    started_q <= 1'b1;
    if (reset_q != '0) reset_q <= reset_q - 1'b1;
  end
  wire logic rst = reset_q != '0;

  logic hold_strobe, hold_carrier, news, cca_busy, rx_start, rx_end, tick, desc_window;

  phy_indications_s to_mac;
  phy_inputs u_phy_inputs (
    .clk, .rst, .from_phy('{cca_busy: phy_cca_busy, rx_start: phy_rx_start, rx_end: phy_rx_end, default: '0}), .hold_strobe,
    .hold_carrier, .news, .to_mac
  );
  assign {cca_busy, rx_start, rx_end} = {to_mac.cca_busy, to_mac.rx_start, to_mac.rx_end};

  tick_generator #(.CLOCKS_PER_US(CLOCKS_PER_US), .SETTLE_CLOCKS(SETTLE_CLOCKS), .DELAY_W(10), .CONTENTION_CLOCKS(1)) u_tick_generator (
    .clk, .rst, .cfg_phy_tx_delay_clocks(tx_delay_clocks), .cfg_phy_rx_delay_clocks(rx_delay_clocks), .phy_cca_busy,
    .phy_rx_end, .cca_busy, .news, .hold_strobe, .hold_carrier, .tick, .desc_window, .quiescent, .sending, .tx_start,
    .nav_left_us
  );

  typedef logic signed [13:0] clocks_t;
  wire clocks_t left         = u_tick_generator.left;
  wire clocks_t delay_clocks = u_tick_generator.phy_q + 14'sd4;   // START_CLOCKS
  wire logic    forward      = u_tick_generator.forward_q;
  wire clocks_t rest         = clocks_t'({10'd0, u_tick_generator.settle_q});
  wire logic    ticks        = u_tick_generator.tick_now;   // the next clock carries a tick

  // ---- What is taken for granted

  logic [15:0] tx_delay_q, rx_delay_q;
  logic [3:0]  unsettled_q = '0;       // clocks for which the MAC may yet have something to do
  logic        cca_was_busy_q = 1'b0, stays_quiescent_q = 1'b0;
  logic [1:0]  since_strobe_q = '0;    // clocks since the PHY's last strobe
  logic [4:0]  blocked_q = '0;         // clocks that a tick has been held up

  wire logic due_now = u_tick_generator.due && rest == '0 && !ticks && !u_tick_generator.moved;

  wire logic strobe  = rx_start || rx_end;
  wire logic carrier_news = cca_busy != cca_was_busy_q;

  always_ff @(posedge clk) begin
    tx_delay_q        <= tx_delay_clocks;
    rx_delay_q        <= rx_delay_clocks;
    cca_was_busy_q    <= cca_busy;
    stays_quiescent_q <= !rst && quiescent && !tick && !desc_window && !strobe && !carrier_news;
    since_strobe_q    <= phy_rx_start || phy_rx_end ? '0 : since_strobe_q == '1 ? '1 : since_strobe_q + 1'b1;
    blocked_q         <= due_now ? blocked_q + 1'b1 : '0;
    if (rst || tick || desc_window || carrier_news || (strobe && !sending)) unsettled_q <= 4'(SETTLED);
    else if (strobe && unsettled_q <= 4'd1) unsettled_q <= 4'd1;
    else if (unsettled_q != '0) unsettled_q <= unsettled_q - 1'b1;
  end

  logic phy_cca_was_busy_q = 1'b0;
  always_ff @(posedge clk) phy_cca_was_busy_q <= phy_cca_busy;

  always_comb begin
    if (started_q) assume (tx_delay_clocks == tx_delay_q && rx_delay_clocks == rx_delay_q);
    assume (tx_delay_clocks < 16'd1024 && rx_delay_clocks < 16'd1024);   // 16 us each
    // The MAC.
    if (unsettled_q == '0 || stays_quiescent_q) assume (quiescent);
    // Both together hold a tick up for less than 24 clocks.
    assume (!(due_now && blocked_q >= 5'd23));
    // The PHY: strobes four clocks apart, and only where there is a carrier.
    if (phy_rx_start || phy_rx_end) assume (!rst && since_strobe_q == 2'd3 && !(phy_rx_start && phy_rx_end));
    if (phy_rx_start) assume (phy_cca_busy);
    if (phy_rx_end) assume (phy_cca_was_busy_q);
    if (rst) assume (!phy_cca_busy && !tx_start && !sending);
  end

endmodule

`default_nettype wire
