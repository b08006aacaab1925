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
  input wire medium_summary_s summary,
  input wire logic        quiescent,
  input wire logic [31:0] next_timer,

  input wire mac_settings_s settings,
  input wire logic        cfg_seed_load,

  input wire logic        cca_busy,
  input wire logic        phy_rx_end,
  input wire phy_reception_s phy_rx,
  input wire logic        phy_tx_start,
  input wire phy_transmission_s phy_tx,
  input wire logic        desc_valid,
  input wire descriptor_s desc
);

  logic started_q = 1'b0;
  always_ff @(posedge clk) started_q <= 1'b1;
  always_comb assume (rst == !started_q);

  // Whatever is heard is told at its time; summary_top shows that it makes no difference.
  always_comb assume (summary == '0);

  // ---- Settings
  mac_settings_s settings_q;
  always_ff @(posedge clk) settings_q <= settings;

  always_comb begin
    if (started_q) assume (settings == settings_q);
    assume (!settings.address[GROUP_ADDRESS_BIT]);
    assume (settings.access_mode <= ACCESS_FAMA);
    assume (settings.slot_us != '0 && settings.sifs_us != '0 && settings.difs_us > 15'(settings.sifs_us) && settings.eifs_us >= 16'(settings.difs_us));
    assume (settings.response_timeout_us != '0 && settings.nav_reset_us != '0 && settings.rts_airtime_us != '0);
    for (int queue = 0; queue < int'(QUEUES); queue++) begin
      assume ((settings.cw_min[queue] & (settings.cw_min[queue] + 1'b1)) == '0);
      assume ((settings.cw_max[queue] & (settings.cw_max[queue] + 1'b1)) == '0);
      assume (settings.cw_min[queue] != '0 && settings.cw_min[queue] <= settings.cw_max[queue]);
    end
    assume (settings.short_retry_limit != '0 && settings.long_retry_limit != '0);
    for (int rate = 0; rate < 8; rate++) begin
      // SIFS and a response fit the timer that holds the medium for them.
      assume (settings.response_airtime_us[rate] != '0 && !settings.response_airtime_us[rate][15]);
    end
    // An own frame, ns-2's allowance and the response fit the sequence's timer.
    if (settings.quirk_fixed_timeout) assume (!settings.response_timeout_us[15]);
    if (desc_valid) assume (desc.airtime_us != '0);
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

  wire logic [15:0] on_air_us  = phy_tx_start ? phy_tx.airtime_us : on_air_us_q;
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
      assume (since_rx_end_us > 25'(settings.sifs_us));
      // Half duplex: what arrives over an own frame is not understood.
      if (phy_rx.ok) assume (24'(on_air_us) <= tick_n);
      // ... not even one that starts at this very tick: with this quirk, or in csma and fama, it could still be decided.
      if (settings.quirk_backoff_at_once || settings.access_mode != ACCESS_DCF) assume (quiescent);
      // Carrier sense hears what is for this station.
      if (phy_rx.ok && phy_rx.ra == settings.address) assume (carrier_at_last_tick);
    end
  end

endmodule

bind mac_core mac_environment #(.QUEUES(QUEUES)) u_environment (.*);

`default_nettype wire
