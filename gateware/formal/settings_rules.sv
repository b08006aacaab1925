// SPDX-License-Identifier: GPL-2.0-or-later
// Whatever is written to the registers, in whatever order, the MAC sees only legal settings, and none changes while it
// runs. Written from what the MAC needs, not from the rules in the register map.
//
// Bound to mac_registers. The memory of the guard is a table: what it says of an address is assumed. The
// first clock is a reset.

`default_nettype none

module settings_rules
  import perhop_pkg::*;
  import perhop_register_words_pkg::*;
(
  input wire logic        clk,
  input wire logic        rst,
  input wire logic        judging,               // the guard looks at a write
  input wire logic [9:0]  bus_address,
  input wire logic [35:0] memory_data,
  input wire logic        mac_enable,
  input wire mac_settings_s settings
);

  logic running_q = 1'b0, enabled_q = 1'b0;
  wire logic [186:0] stand = {
    settings.slot_us, settings.sifs_us, settings.difs_us, settings.eifs_us, settings.response_timeout_us, settings.nav_reset_us,
    settings.access_mode, settings.address, settings.bssid};
  logic [$bits(stand)-1:0] was_q;

  always_ff @(posedge clk) begin
    running_q <= 1'b1;
    enabled_q <= !rst && mac_enable;
    was_q     <= stand;
  end

  function automatic logic all_ones(logic [9:0] cw);
    return cw == 10'd1 || cw == 10'd3 || cw == 10'd7 || cw == 10'd15 || cw == 10'd31 || cw == 10'd63 || cw == 10'd127 ||
           cw == 10'd255 || cw == 10'd511 || cw == 10'd1023;
  endfunction

  function automatic logic [35:0] told_of(logic [9:0] word_address);
    logic [35:0] found = '0;
    for (int unsigned i = 0; i < 256; i++) if (word_address[9:2] == 8'(i)) found = register_word(256 + i);
    return found;
  endfunction

  always_comb begin
    if (!running_q) assume (rst);
    if (judging) assume (memory_data == told_of(bus_address));
  end

  logic windows_legal, rates_legal;
  always_comb begin
    windows_legal = 1'b1;
    rates_legal   = 1'b1;
    for (int queue = 0; queue < 2; queue++) begin
      windows_legal &= all_ones(settings.cw_min[queue]) && all_ones(settings.cw_max[queue]) && settings.cw_min[queue] <= settings.cw_max[queue];
    end
    for (int rate = 0; rate < 8; rate++) begin
      rates_legal &= settings.response_airtime_us[rate] != '0 && settings.airtime_half_bits_per_unit[rate] != '0;
    end
  end

  always_comb if (running_q && !rst) begin
    a_slot : assert (settings.slot_us != '0);
    a_sifs : assert (settings.sifs_us != '0 && 15'(settings.sifs_us) <= settings.difs_us);
    a_difs : assert (16'(settings.difs_us) <= settings.eifs_us);
    a_timeouts : assert (settings.response_timeout_us > 16'(settings.sifs_us) && settings.nav_reset_us > 16'(settings.sifs_us));
    // At 64 clocks a microsecond; a tick that is put forward needs 16, and the MAC four to respond.
    a_delays_fit : assert (20'(settings.phy_tx_delay_clocks) + 20'(settings.phy_rx_delay_clocks) + 20'd4 <= 20'(settings.sifs_us) * 20'd48);
    a_time_for_a_response : assert ({16'(settings.response_timeout_us - 16'(settings.sifs_us)), 6'd0} > 22'(settings.phy_tx_delay_clocks) + 22'(settings.phy_rx_delay_clocks));
    a_retries : assert (settings.short_retry_limit != '0 && settings.long_retry_limit != '0);
    a_mode : assert (settings.access_mode != 2'd3);
    a_rts : assert (settings.rts_airtime_us != '0);
    a_windows : assert (windows_legal);
    a_rates : assert (rates_legal);
    if (enabled_q && mac_enable) begin
      a_stand : assert (was_q == stand);
    end
  end

endmodule

bind mac_registers settings_rules u_settings_rules (
  .clk, .rst, .judging(u_register_guard.state_q == 2'd3 && bus_write), .bus_address,
  .memory_data(u_register_guard.memory_data_q), .mac_enable, .settings
);

`default_nettype wire
