// SPDX-License-Identifier: GPL-2.0-or-later
// What one queue has of its own: the packet under service, contention window, retry counters, back-off, inter-frame
// space, and the account of its packet's time. Nothing of it is shared with another queue (IEEE 802.11-2012, 9.19.2).
// Only instances and wires here.

`default_nettype none

module transmit_queue
  import perhop_pkg::*;
#(
  parameter bit          UNIT_TICKS   = 1'b0,
  parameter int unsigned RADIX_STAGES = 11,
  parameter int unsigned RATE_SERIES  = 1,
  parameter int unsigned QUEUES       = 1,
  parameter int unsigned QUEUE        = 0
) (
  input  wire logic        clk,
  input  wire logic        rst,
  input  wire logic [23:0] tick_n,
  input  wire logic [31:0] tsf_us,

  input  wire logic [1:0]  cfg_access_mode,
  input  wire logic        cfg_no_mac_ack,
  input  wire logic [15:0] cfg_vacation_us,
  input  wire logic [12:0] cfg_slot_us,
  input  wire logic [12:0] cfg_sifs_us,
  input  wire logic [14:0] cfg_difs_us,
  input  wire logic [15:0] cfg_eifs_us,
  input  wire logic [9:0]  cfg_cw_min,
  input  wire logic [9:0]  cfg_cw_max,
  input  wire logic [3:0]  cfg_aifs_extra_slots,
  input  wire logic [4:0]  cfg_short_retry_limit,
  input  wire logic [4:0]  cfg_long_retry_limit,
  input  wire logic        cfg_quirk_eifs_as_nav,
  input  wire logic        cfg_quirk_fixed_timeout,
  input  wire logic        cfg_quirk_draw_below_cw,
  input  wire logic        cfg_quirk_backoff_at_once,

  // From descriptor_queue.
  output wire logic        head_wanted,
  input  wire logic        head_valid,
  input  wire logic [47:0] head_ra,
  input  wire logic [3:0]  head_peer,
  input  wire logic [11:0] head_bytes,
  input  wire logic [2:0]  head_rate,
  input  wire logic [15:0] head_airtime_us,
  input  wire logic        head_use_rts,
  input  wire logic [19:0] head_series_attempts,
  input  wire logic [8:0]  head_series_rate,
  input  wire logic [47:0] head_series_airtime_us,
  input  wire logic [15:0] head_tag,
  input  wire logic [31:0] head_t_enqueue_us,
  output wire logic        head_taken,

  // From phy_events.
  input  wire logic        cca_busy,
  input  wire logic        rx_start,
  input  wire logic        rx_end,
  input  wire logic        rx_bad,
  input  wire logic        rx_cts_for_us,
  input  wire logic        rx_mac_ack_for_us,

  // From nav_counter and own_transmission; an own frame starts, of whatever kind.
  input  wire logic [15:0] nav_until_us,
  input  wire logic [15:0] own_left_us,
  input  wire logic        tx_go,
  output wire logic [15:0] reserved_us,
  output wire logic [15:0] idle_us,

  // To and from queue_arbiter and random_draw.
  output wire logic        wants,
  input  wire logic        granted,
  input  wire logic        collided,
  input  wire logic        held,
  output wire logic        in_exchange,
  output wire logic        outcome,
  output wire logic        draw_wanted,
  output wire logic        redraw,
  input  wire logic        draw_again,
  input  wire logic        draw,
  input  wire logic [9:0]  random,

  // To transmit_port and next_frame.
  output wire logic        send,
  output wire logic        rts_next,
  output wire logic        unanswered,
  output wire logic [15:0] data_airtime_us,
  output wire logic [47:0] packet_ra,
  output wire logic        send_retry,
  input  wire logic [16:0] response_deadline_us,

  // To responder, warp_monitor and whoever watches.
  output wire logic        may_answer,
  output wire logic        contending,
  output wire logic        in_gap,
  output wire logic        want_rx_start,
  output wire logic        work_pending,
  output wire logic        wait_valid,
  output wire logic [31:0] wait_us,

  output wire logic        responded,
  output wire logic        timed_out,
  output wire logic        backoff_running,
  output wire logic [9:0]  slots_left,

  // To neighbour_table: `report` for one clock, the record a clock later, to stand until the next packet.
  output wire logic        report,
  output wire logic        reported,
  output wire logic [31:0] service_us,
  input  wire logic [3:0]  part_index,      // with UNIT_TICKS the account is read part by part, see service_time_serial
  output wire logic [31:0] part_us,
  output wire logic [15:0] packet_tag,
  output wire logic [3:0]  packet_peer,
  output wire logic [11:0] packet_sequence,
  output wire logic [11:0] packet_bytes,
  output wire logic [2:0]  packet_rate,
  output wire logic [1:0]  result,
  output wire logic [4:0]  rts_attempts,
  output wire logic [4:0]  data_attempts,
  output wire logic [4:0]  ssrc,
  output wire logic [4:0]  slrc,
  output wire logic [9:0]  cw,
  output wire logic [15:0] slots_drawn,
  output wire logic [31:0] t_enqueue_us,
  output wire logic [31:0] t_head_us,
  output wire logic [31:0] t_first_tx_us,
  output wire logic [31:0] t_done_us,
  output wire logic [31:0] queue_us,
  output wire logic [31:0] ifs_part_us,
  output wire logic [31:0] backoff_us,
  output wire logic [31:0] frozen_cca_us,
  output wire logic [31:0] frozen_nav_us,
  output wire logic [31:0] control_us,
  output wire logic [31:0] data_us,
  output wire logic [31:0] response_us,
  output wire logic [31:0] timeout_us,
  output wire logic [31:0] responder_us
);

  // virtual_carrier_sense, interframe_space
  logic [15:0] ifs_left_us, ifs_us;
  logic        spaced, waits, waits_on;
  // backoff_counter, contention_window, retry_counters
  logic        limit_reached, long_next;
  logic [9:0]  draw_slots;
  logic [23:0] slots_left_us;
  // frame_sequence
  logic        access_taken, packet_waiting, short_failure, long_failure, short_success, clear_retries;
  logic        reset_window, double_window, in_contention, in_rts, in_data;

  // To this queue another one's exchange is a busy medium.
  wire logic busy = cca_busy || held;

  virtual_carrier_sense #(.UNIT_TICKS(UNIT_TICKS)) u_virtual_carrier_sense (
    .own_left_us, .nav_until_us, .idle_us, .ifs_us, .spaced, .waits, .waits_on, .reserved_us, .ifs_left_us
  );

  interframe_space #(.UNIT_TICKS(UNIT_TICKS), .QUEUES(QUEUES)) u_interframe_space (
    .clk, .rst, .tick_n, .cfg_access_mode, .cfg_slot_us, .cfg_difs_us, .cfg_eifs_us, .cfg_aifs_extra_slots,
    .cfg_quirk_eifs_as_nav, .cca_busy(busy), .rx_end, .rx_bad, .tx_go,
    .waive(cfg_quirk_backoff_at_once && draw && !busy && reserved_us == '0), .reserved_us, .idle_us, .ifs_us, .spaced, .waits, .waits_on
  );

  contention_window u_contention_window (
    .clk, .rst, .cfg_cw_min, .cfg_cw_max, .cfg_quirk_draw_below_cw,
    .reset_window, .double_window, .random, .outcome_cw(cw), .draw_slots, .redraw
  );

  backoff_counter #(.RADIX_STAGES(RADIX_STAGES), .UNIT_TICKS(UNIT_TICKS)) u_backoff_counter (
    .clk, .rst, .tick_n, .cfg_slot_us, .draw(draw && cfg_access_mode == ACCESS_DCF), .draw_slots, .packet_waiting,
    .access_taken, .cca_busy(busy), .reserved_us, .ifs_left_us,
    .running(backoff_running), .slots_left, .slots_left_us
  );

  retry_counters u_retry_counters (
    .clk, .rst, .cfg_short_retry_limit, .cfg_long_retry_limit, .long_next,
    .short_failure, .long_failure, .short_success, .clear(clear_retries), .limit_reached, .ssrc, .slrc
  );

  frame_sequence #(.RATE_SERIES(RATE_SERIES), .QUEUES(QUEUES), .QUEUE(QUEUE), .UNIT_TICKS(UNIT_TICKS)) u_frame_sequence (
    .clk, .rst, .tick_n, .tsf_us, .cfg_access_mode, .cfg_no_mac_ack, .cfg_vacation_us, .cfg_slot_us, .cfg_sifs_us,
    .cfg_quirk_fixed_timeout,
    .head_wanted, .head_valid, .head_ra, .head_peer, .head_bytes, .head_rate, .head_airtime_us, .head_use_rts, .head_series_attempts,
    .head_series_rate, .head_series_airtime_us, .head_tag, .head_taken,
    .cca_busy, .rx_start, .rx_end, .rx_cts_for_us, .rx_mac_ack_for_us,
    .wants, .granted, .collided, .held, .in_exchange, .outcome,
    .idle_us, .ifs_us, .ifs_left_us, .reserved_us, .own_left_us, .backoff_running, .slots_left, .slots_left_us,
    .draw_wanted, .draw_slots, .draw_again, .access_taken, .packet_waiting,
    .short_failure, .long_failure, .long_next, .short_success, .clear_retries, .reset_window, .double_window, .limit_reached,
    .may_answer,
    .send, .rts_next, .unanswered, .data_airtime_us, .packet_ra, .send_retry, .response_deadline_us,
    .in_contention, .in_rts, .in_data, .in_gap, .responded, .timed_out, .report, .done_valid(reported), .result,
    .packet_peer, .packet_bytes, .packet_rate, .packet_sequence, .packet_tag, .rts_attempts, .data_attempts,
    .t_head_us, .t_first_tx_us, .want_rx_start, .work_pending, .wait_valid, .wait_us
  );

  if (UNIT_TICKS) begin : g_serial_account
    service_time_serial u_service_time (
      .clk, .rst, .tick(tick_n != '0), .head_taken, .head_t_enqueue_us, .in_contention, .in_rts, .in_data, .in_gap,
      .responded, .timed_out, .cca_busy, .held, .own_left_us, .reserved_us, .ifs_left_us, .slots_left, .draw, .draw_slots,
      .t_enqueue_us, .slots_drawn, .part_index, .part_us
    );
    assign {t_done_us, queue_us, ifs_part_us, backoff_us, frozen_cca_us, frozen_nav_us, control_us, data_us, response_us,
            timeout_us, responder_us, service_us} = '0;
  end else begin : g_account
    service_time u_service_time (
      .clk, .rst, .tick_n, .tsf_us,
      .head_taken, .head_t_enqueue_us, .in_contention, .in_rts, .in_data, .in_gap, .responded, .timed_out, .report,
      .cca_busy, .held, .own_left_us, .reserved_us, .ifs_left_us, .slots_left, .draw, .draw_slots,
      .t_enqueue_us, .t_done_us, .slots_drawn, .queue_us, .ifs_us(ifs_part_us), .backoff_us, .frozen_cca_us, .frozen_nav_us,
      .control_us, .data_us, .response_us, .timeout_us, .responder_us, .service_us
    );
    assign part_us = '0;
    wire logic unused_index = &{1'b0, part_index};
  end

  assign contending = packet_waiting || backoff_running;

endmodule

`default_nettype wire
