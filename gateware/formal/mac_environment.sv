// SPDX-License-Identifier: GPL-2.0-or-later
// What the proofs of the whole MAC take for granted: settings that stand still and make
// sense, a driver of time that keeps its two rules, a PHY that keeps its contract.
// Everything else (what arrives and when, packets, random numbers) is free.
//
// Bound into mac_core. `rst` is high in the first clock and low ever after.

`default_nettype none

module mac_environment
  import perhop_pkg::*;
#(
  parameter int unsigned QUEUES = 1
) (
  input wire logic        clk,
  input wire logic        rst,
  input wire logic [23:0] tick_n,
  input wire logic        quiescent,
  input wire logic [31:0] next_timer,

  input wire logic [47:0] cfg_address,
  input wire logic        cfg_seed_load,
  input wire logic [1:0]  cfg_access_mode,
  input wire logic        cfg_no_mac_ack,
  input wire logic [15:0] cfg_vacation_us,
  input wire logic [12:0] cfg_slot_us,
  input wire logic [12:0] cfg_sifs_us,
  input wire logic [14:0] cfg_difs_us,
  input wire logic [15:0] cfg_eifs_us,
  input wire logic [15:0] cfg_response_timeout_us,
  input wire logic [15:0] cfg_nav_reset_us,
  input wire logic [9:0]  cfg_cw_min [QUEUES],
  input wire logic [9:0]  cfg_cw_max [QUEUES],
  input wire logic [3:0]  cfg_aifs_extra_slots [QUEUES],
  input wire logic [4:0]  cfg_short_retry_limit,
  input wire logic [4:0]  cfg_long_retry_limit,
  input wire logic [2:0]  cfg_rts_rate,
  input wire logic [15:0] cfg_rts_airtime_us,
  input wire logic [2:0]  cfg_response_rate       [8],
  input wire logic [15:0] cfg_response_airtime_us [8],
  input wire logic        cfg_quirk_eifs_as_nav,
  input wire logic        cfg_quirk_no_nav_reset,
  input wire logic        cfg_quirk_fixed_timeout,
  input wire logic        cfg_quirk_draw_below_cw,
  input wire logic        cfg_quirk_backoff_at_once,

  input wire logic        cca_busy,
  input wire logic        phy_rx_end,
  input wire logic        phy_rx_ok,
  input wire logic [47:0] phy_rx_ra,
  input wire logic        phy_tx_start,
  input wire logic [15:0] phy_tx_airtime_us,
  input wire logic        desc_valid,
  input wire logic [15:0] desc_airtime_us
);

  logic started_q = 1'b0;
  always_ff @(posedge clk) started_q <= 1'b1;
  always_comb assume (rst == !started_q);

  // ---- Settings
  localparam int unsigned FIXED_W = 48 + 2 + 1 + 16 + 13 + 13 + 15 + 16 + 16 + 16 + 5 + 5 + 3 + 16 + 5;
  wire logic [FIXED_W-1:0] fixed = {
    cfg_address, cfg_access_mode, cfg_no_mac_ack, cfg_vacation_us, cfg_slot_us, cfg_sifs_us, cfg_difs_us, cfg_eifs_us, cfg_response_timeout_us, cfg_nav_reset_us,
    cfg_short_retry_limit, cfg_long_retry_limit, cfg_rts_rate, cfg_rts_airtime_us,
    cfg_quirk_eifs_as_nav, cfg_quirk_no_nav_reset, cfg_quirk_fixed_timeout, cfg_quirk_draw_below_cw,
    cfg_quirk_backoff_at_once};
  logic [FIXED_W-1:0] fixed_q;
  logic [2:0]         response_rate_q      [8];
  logic [15:0]        response_airtime_us_q[8];
  logic [9:0]         cw_min_q[QUEUES], cw_max_q[QUEUES];
  logic [3:0]         aifs_extra_slots_q[QUEUES];

  always_ff @(posedge clk) begin
    fixed_q               <= fixed;
    response_rate_q       <= cfg_response_rate;
    response_airtime_us_q <= cfg_response_airtime_us;
    cw_min_q              <= cfg_cw_min;
    cw_max_q              <= cfg_cw_max;
    aifs_extra_slots_q    <= cfg_aifs_extra_slots;
  end

  always_comb begin
    if (started_q) assume (fixed == fixed_q);
    assume (!cfg_address[GROUP_ADDRESS_BIT]);
    assume (cfg_access_mode <= ACCESS_FAMA);
    assume (cfg_slot_us != '0 && cfg_sifs_us != '0 && cfg_difs_us > 15'(cfg_sifs_us) && cfg_eifs_us >= 16'(cfg_difs_us));
    assume (cfg_response_timeout_us != '0 && cfg_nav_reset_us != '0 && cfg_rts_airtime_us != '0);
    for (int queue = 0; queue < int'(QUEUES); queue++) begin
      if (started_q) begin
        assume (cfg_cw_min[queue] == cw_min_q[queue] && cfg_cw_max[queue] == cw_max_q[queue]);
        assume (cfg_aifs_extra_slots[queue] == aifs_extra_slots_q[queue]);
      end
      assume ((cfg_cw_min[queue] & (cfg_cw_min[queue] + 1'b1)) == '0);
      assume ((cfg_cw_max[queue] & (cfg_cw_max[queue] + 1'b1)) == '0);
      assume (cfg_cw_min[queue] != '0 && cfg_cw_min[queue] <= cfg_cw_max[queue]);
    end
    assume (cfg_short_retry_limit != '0 && cfg_long_retry_limit != '0);
    for (int rate = 0; rate < 8; rate++) begin
      if (started_q) begin
        assume (cfg_response_rate[rate] == response_rate_q[rate]);
        assume (cfg_response_airtime_us[rate] == response_airtime_us_q[rate]);
      end
      // SIFS and a response fit the timer that holds the medium for them.
      assume (cfg_response_airtime_us[rate] != '0 && !cfg_response_airtime_us[rate][15]);
    end
    // An own frame, ns-2's allowance and the response fit the sequence's timer.
    if (cfg_quirk_fixed_timeout) assume (!cfg_response_timeout_us[15]);
    if (desc_valid) assume (desc_airtime_us != '0);
    // The seed is loaded before use.
    if (started_q) assume (!cfg_seed_load);
  end

  // ---- Time
  always_comb begin
    if (tick_n != '0) assume (!rst && quiescent && 32'(tick_n) <= next_timer);
  end

  // ---- PHY
  logic [23:0] since_rx_end_us_q = '1;   // stays at its end
  logic [15:0] on_air_us_q = '0;         // how long the own frame still lasts
  logic        carrier_at_last_tick_q = 1'b0;

  wire logic [15:0] on_air_us  = phy_tx_start ? phy_tx_airtime_us : on_air_us_q;
  wire logic        carrier_at_last_tick = tick_n != '0 ? cca_busy : carrier_at_last_tick_q;
  wire logic [24:0] since_rx_end_us = 25'(since_rx_end_us_q) + 25'(tick_n);

  always_ff @(posedge clk) begin
    on_air_us_q <= 24'(on_air_us) > tick_n && !rst ? on_air_us - tick_n[15:0] : '0;
    carrier_at_last_tick_q <= carrier_at_last_tick;
    since_rx_end_us_q <= phy_rx_end ? '0 : since_rx_end_us[24] ? '1 : since_rx_end_us[23:0];
  end

  always_comb begin
    if (rst) assume (!phy_rx_end);
    if (phy_rx_end) begin
      // Every frame lasts longer than SIFS: its preamble alone does.
      assume (since_rx_end_us > 25'(cfg_sifs_us));
      // Half duplex: what arrives over an own frame is not understood.
      if (phy_rx_ok) assume (24'(on_air_us) <= tick_n);
      // ... not even one that starts at this very tick: with this quirk, or in csma and fama, it could still be decided.
      if (cfg_quirk_backoff_at_once || cfg_access_mode != ACCESS_DCF) assume (quiescent);
      // Carrier sense hears what is for this station.
      if (phy_rx_ok && phy_rx_ra == cfg_address) assume (carrier_at_last_tick);
    end
  end

endmodule

bind mac_core mac_environment #(.QUEUES(QUEUES)) u_environment (.*);

`default_nettype wire
