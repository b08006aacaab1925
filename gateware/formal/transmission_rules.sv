// SPDX-License-Identifier: GPL-2.0-or-later
// When the MAC may start a frame (IEEE 802.11-2012, 9.3.2.3, 9.3.2.4, 9.3.2.6, 9.3.2.8):
// in an idle medium, or SIFS after the frame it answers. Nothing else.
//
// The rules are kept by watching the MAC's ports: a model of the idle time and of the
// SIFS, next to the MAC's own. Bound into mac_core.

`default_nettype none

module transmission_rules
  import perhop_pkg::*;
#(
  parameter int unsigned QUEUES = 1
) (
  input wire logic        clk,
  input wire logic        rst,
  input wire logic [23:0] tick_n,
  input wire mac_settings_s settings,

  input wire logic        cca_busy,
  input wire logic [15:0] nav_left_us,
  input wire logic [15:0] nav_until_us,

  input wire logic        phy_rx_end,
  input wire phy_reception_s phy_rx,

  // Decisions; the frame is on phy_tx_* one clock later.
  input wire logic        send,
  input wire logic        answer,
  input wire logic [2:0]  send_kind,
  input wire logic [2:0]  answer_kind,
  input wire logic [47:0] answer_ra,
  input wire logic [15:0] answer_airtime_us,

  // The MAC's own state, for the induction alone.
  input wire logic        accept,
  input wire logic [15:0] own_left_us,
  input wire logic        nav_reset_armed,
  input wire logic        responder_busy,
  input wire logic [12:0] responder_wait_us
);

  // ---- What the queues are at.
  logic [QUEUES-1:0] in_rts, in_data, in_gaps;
  wire logic in_gap      = in_gaps != '0;
  wire logic in_exchange = (in_rts | in_data) != '0;

  // ---- How long the medium has been idle: no carrier, NAV zero, no own frame.
  logic [15:0] idle_model_us_q = '0;   // stays at its end
  wire logic   busy_at_last_tick = mac_core.u_environment.carrier_at_last_tick_q;

  wire logic [15:0] on_air_us = mac_core.u_environment.on_air_us;
  wire logic [15:0] nav_or_own_us = nav_until_us > on_air_us ? nav_until_us : on_air_us;
  wire logic [24:0] idle_sum_us   = 25'(nav_or_own_us == '0 ? idle_model_us_q : '0) + 25'(tick_n) - 25'(nav_or_own_us);

  always_ff @(posedge clk) begin
    if (rst) begin
      idle_model_us_q     <= '0;
    end else if (tick_n != '0) begin
      if (cca_busy || tick_n <= 24'(nav_or_own_us)) idle_model_us_q <= '0;
      else idle_model_us_q <= idle_sum_us > 25'hffff ? '1 : idle_sum_us[15:0];
    end
  end

  // ---- The frame heard last, and the time since its end.
  logic        heard_for_us_q = 1'b0;
  logic [2:0]  heard_kind_q;
  logic [47:0] heard_ta_q;
  logic [15:0] heard_nav_us_q;   // NAV when it ended
  logic        heard_now_q = 1'b0;
  wire logic [23:0] since_heard_us = mac_core.u_environment.since_rx_end_us_q;

  always_ff @(posedge clk) begin
    heard_now_q <= phy_rx_end;
    if (phy_rx_end) begin
      heard_for_us_q   <= phy_rx.ok && phy_rx.ra == settings.address;
      heard_kind_q     <= phy_rx.kind;
      heard_ta_q       <= phy_rx.ta;
    end
    if (heard_now_q) heard_nav_us_q <= nav_left_us;
  end

  always_comb if (!rst) begin
    if (send && !in_gap) begin
      a_carrier_was_idle   : assert (!busy_at_last_tick || settings.quirk_backoff_at_once || settings.access_mode != ACCESS_DCF);
      a_nav_was_zero       : assert (nav_left_us == '0);
      a_difs_was_idle      : assert (idle_model_us_q >= 16'(settings.difs_us) || settings.quirk_backoff_at_once ||
                                     settings.access_mode != ACCESS_DCF);
      a_medium_is_idle     : assert (settings.access_mode == ACCESS_DCF || (!cca_busy && nav_or_own_us == '0));
      a_csma_sends_no_rts  : assert (settings.access_mode != ACCESS_CSMA || send_kind == FRAME_DATA);
    end
    if (send && in_gap) begin
      a_data_answers_cts   : assert (send_kind == FRAME_DATA && heard_for_us_q && heard_kind_q == FRAME_CTS);
      a_data_sifs_after_cts: assert (since_heard_us == 24'(settings.sifs_us));
    end
    if (answer) begin
      a_answer_sifs_after  : assert (since_heard_us == 24'(settings.sifs_us));
      a_answer_to_whom     : assert (heard_for_us_q && answer_ra == heard_ta_q);
      a_cts_answers_rts    : assert (answer_kind != FRAME_CTS || heard_kind_q == FRAME_RTS);
      a_mac_ack_answers_data : assert (answer_kind == FRAME_CTS || (answer_kind == FRAME_MAC_ACK && heard_kind_q == FRAME_DATA));
      a_no_cts_under_nav   : assert (answer_kind != FRAME_CTS || (nav_left_us == '0 && heard_nav_us_q == '0));
    end
    a_one_decision         : assert (!(send && answer));
    if (send || answer) a_not_over_own_frame : assert (on_air_us == '0);
  end

  // ---- What the MAC's state has to do with the models above.
  for (genvar queue = 0; queue < QUEUES; queue++) begin : g_queue
    // The names of one queue's signals.
    wire logic [2:0]  state      = mac_core.g_queue[queue].u_transmit_queue.u_frame_sequence.state_q;
    wire logic [16:0] timer_us   = mac_core.g_queue[queue].u_transmit_queue.u_frame_sequence.timer_us_q;
    wire logic        drawn      = mac_core.g_queue[queue].u_transmit_queue.u_frame_sequence.defer_drawn_q;
    wire logic        use_rts    = mac_core.g_queue[queue].u_transmit_queue.u_frame_sequence.use_rts_q;
    wire logic        contention = mac_core.g_queue[queue].u_transmit_queue.in_contention;
    wire logic        running    = mac_core.g_queue[queue].u_transmit_queue.backoff_running;
    wire logic [9:0]  slots_left = mac_core.g_queue[queue].u_transmit_queue.slots_left;
    wire logic [15:0] idle_us    = mac_core.idle_us[queue];

    assign in_rts[queue]  = mac_core.g_queue[queue].u_transmit_queue.in_rts;
    assign in_data[queue] = mac_core.g_queue[queue].u_transmit_queue.in_data;
    assign in_gaps[queue] = mac_core.in_gap[queue];

    always_comb if (!rst) begin
      // The SIFS before an own response counts as idle here, as part of the response there.
      i_idle      : assert (idle_us <= idle_model_us_q || settings.quirk_backoff_at_once);
      i_idle_busy : assert (!busy_at_last_tick || idle_us == '0 || settings.quirk_backoff_at_once);
      i_state     : assert (settings.access_mode != ACCESS_DCF || state <= 3'd6);
      i_defer     : assert (!drawn || state == 3'd7);
      i_csma      : assert (settings.access_mode != ACCESS_CSMA || (!in_rts[queue] && !in_gaps[queue]));
      if ((contention || in_data[queue]) && settings.access_mode == ACCESS_CSMA) i_csma_rts : assert (!use_rts);
      if (settings.access_mode != ACCESS_DCF) i_no_backoff : assert (!running && slots_left == '0);
      if (mac_core.in_exchange[queue]) i_sender : assert (mac_core.sender == 1'(queue));
      if (state == 3'd5) i_group_on_air : assert (timer_us == 17'(own_left_us));   // ST_UNACKED
      if (in_gaps[queue]) i_gap_sifs : assert (25'(timer_us) + 25'(since_heard_us) == 25'(settings.sifs_us));
    end
  end

  always_comb if (!rst) begin
    i_chosen_before_it_goes : assert (!(mac_core.arbiter_pending && (in_exchange || in_gap)));
    a_one_queue_at_a_time : assert ($onehot0(in_rts | in_data | in_gaps));
    i_heard     : assert (!(heard_now_q && heard_for_us_q) || busy_at_last_tick);
    i_nav_reset : assert (!nav_reset_armed || nav_until_us != '0);
    if (responder_busy) begin
      i_responder_fits  : assert (!answer_airtime_us[15]);
      i_responder_holds : assert (own_left_us == 16'(responder_wait_us) + answer_airtime_us);
      i_responder_sifs  : assert (25'(responder_wait_us) + 25'(since_heard_us) == 25'(settings.sifs_us));
      i_responder_frame : assert (heard_for_us_q && answer_ra == heard_ta_q && !heard_now_q);
      i_responder_kind  : assert ((answer_kind == FRAME_CTS && heard_kind_q == FRAME_RTS) || (answer_kind == FRAME_MAC_ACK && heard_kind_q == FRAME_DATA));
      i_responder_nav   : assert (answer_kind != FRAME_CTS || (nav_left_us == '0 && heard_nav_us_q == '0));
      i_responder_alone : assert (!in_exchange && !in_gap && on_air_us == '0);
    end else begin
      i_own_is_on_air   : assert (own_left_us == on_air_us);
    end
    if (in_gap) i_gap_cts : assert (heard_for_us_q && heard_kind_q == FRAME_CTS && !heard_now_q && own_left_us == '0);
  end

endmodule

bind mac_core transmission_rules #(.QUEUES(QUEUES)) u_transmission_rules (.*);

`default_nettype wire
