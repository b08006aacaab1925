// SPDX-License-Identifier: GPL-2.0-or-later
// Why some bins of the frame exchange (cocotbext/perhop/exchange_bins.py) cannot be met: what it argues from the MAC's
// own rules is shown here of the RTL; that module's SHOWN_BY says which claim stands for which reason.
//
// Beyond mac_environment, the PHY keeps the whole of the contract of those tests: every good frame was announced by
// rx_start, no other began within SIFS of the last or while it came, and the PHY hears a carrier while it receives.
// Without cfg_quirk_backoff_at_once, as in transmission_rules. Bound into mac_core; one queue.

`default_nettype none

module bin_rules
  import perhop_pkg::*;
(
  input wire logic        clk,
  input wire logic        rst,
  input wire logic [23:0] tick_n,
  input wire logic        quiescent,
  input wire mac_settings_s settings,
  input wire logic        cca_busy,
  input wire logic        phy_rx_start,
  input wire logic        phy_rx_end,
  input wire phy_reception_s phy_rx,
  input wire phy_events_s heard,
  input wire logic [15:0] nav_left_us,
  input wire logic [15:0] own_left_us,
  input wire logic        nav_reset_armed,
  input wire logic        accept
);

  // States of frame_sequence.
  localparam logic [2:0] ST_IDLE = 3'd0, ST_CONTEND = 3'd1, ST_WAIT_CTS = 3'd2, ST_GAP = 3'd3, ST_WAIT_MAC_ACK = 3'd4,
                         ST_REPORT = 3'd6;

  wire logic [2:0] state  = mac_core.g_queue[0].u_transmit_queue.u_frame_sequence.state_q;
  wire logic [1:0] result = mac_core.g_queue[0].u_transmit_queue.u_frame_sequence.result_q;
  wire logic       began  = mac_core.g_queue[0].u_transmit_queue.u_frame_sequence.response_began_q;
  wire logic       taken  = mac_core.g_queue[0].u_transmit_queue.head_taken;
  wire logic       waits  = state == ST_WAIT_CTS || state == ST_WAIT_MAC_ACK;
  wire logic       coming = waits && began;

  // ---- The PHY's contract.
  logic announced_q = 1'b0;   // a frame began and has not ended

  always_ff @(posedge clk) begin
    if (rst) announced_q <= 1'b0;
    else if (heard.rx_start) announced_q <= 1'b1;
    else if (heard.rx_end) announced_q <= 1'b0;
  end

  always_comb begin
    if (heard.rx_end && !heard.rx_bad) assume (announced_q);
    if (phy_rx_end && phy_rx.ok) assume (mac_core.u_environment.carrier_at_last_tick);
    if (announced_q && !heard.rx_end) assume (cca_busy && mac_core.u_environment.carrier_at_last_tick);
    if (phy_rx_start) begin
      // It sends nothing meanwhile, and its PLCP header lasts longer than SIFS.
      assume (24'(mac_core.u_environment.on_air_us) <= tick_n);
      assume (!phy_rx_end && mac_core.u_environment.since_rx_end_us > 25'(settings.sifs_us));
      assume (mac_core.u_environment.carrier_at_last_tick);
      if (settings.access_mode != ACCESS_DCF) assume (quiescent);
    end
    assume (!settings.quirk_backoff_at_once);
  end

  // ---- A clock before.
  logic       running_q = 1'b0, coming_q, rx_end_q, cts_q, mac_ack_q, taken_q;
  logic [2:0] state_q;

  always_ff @(posedge clk) begin
    running_q <= !rst;
    coming_q  <= coming;
    rx_end_q  <= heard.rx_end;
    cts_q     <= heard.rx_cts_for_us;
    mac_ack_q <= heard.rx_mac_ack_for_us;
    taken_q   <= taken;
    state_q   <= state;
  end

  always_comb if (running_q && !rst) begin
    // The NAV reset: called off by the frame that is answered or awaited, and no other frame comes meanwhile.
    a_no_reset_over_own_frames : assert (!nav_reset_armed || own_left_us == '0);
    a_no_reset_before_data     : assert (!nav_reset_armed || state != ST_GAP);
    a_no_reset_in_a_wait       : assert (!nav_reset_armed || !waits || settings.quirk_fixed_timeout);
    i_announced_is_called_off  : assert (!nav_reset_armed || !announced_q);
    i_reset_of_a_nav           : assert (!nav_reset_armed || nav_left_us != '0);
    i_nothing_over_own_frames  : assert (!announced_q || own_left_us == '0);
    if (heard.rx_start || (announced_q && !heard.rx_end)) begin
      i_not_within_sifs : assert (mac_core.u_environment.since_rx_end_us_q > 24'(settings.sifs_us));
    end
    i_what_begins_is_awaited   : assert (!announced_q || !waits || began || settings.quirk_fixed_timeout);

    // A frame that comes decides, and it alone.
    if (coming_q && !rx_end_q) a_only_its_end_ends_a_frame : assert (coming && state == state_q);
    if (coming_q && rx_end_q)  a_its_end_ends_the_wait     : assert (!waits);
    if (waits && settings.quirk_fixed_timeout) a_ns2_awaits_the_end : assert (!began);

    // What only one event does.
    if (state == ST_GAP && state_q == ST_WAIT_CTS) a_cts_alone_lets_data_go : assert (cts_q);
    if (state == ST_REPORT && state_q == ST_WAIT_MAC_ACK && result == RESULT_DELIVERED) begin
      a_mac_ack_alone_delivers : assert (mac_ack_q);
    end
    if (state_q == ST_IDLE && state != ST_IDLE) a_packet_alone_begins : assert (taken_q);
    if (state == ST_GAP) i_gap_comes_from_a_cts : assert (state_q == ST_GAP || state_q == ST_WAIT_CTS);

    a_nobody_awaits_what_nobody_sends : assert (!(settings.no_mac_ack && state == ST_WAIT_MAC_ACK));
    if (heard.rx_rts_for_us && state == ST_CONTEND && nav_left_us == '0 && own_left_us == '0) a_rts_is_answered : assert (accept);
  end

endmodule

bind mac_core bin_rules u_bin_rules (.*);

`default_nettype wire
