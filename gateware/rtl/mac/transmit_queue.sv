// SPDX-License-Identifier: GPL-2.0-or-later
// What one queue has of its own: the packet under service, its channel access, contention window, retry counters, back-off, inter-frame
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
  input  wire medium_summary_s summary,     // 0 in hardware

  input  wire mac_settings_s settings,

  // From descriptor_queue.
  output wire logic        head_wanted,
  input  wire logic        head_valid,
  input  wire descriptor_s head,
  input  wire logic [31:0] head_t_enqueue_us,
  output wire logic        head_taken,

  // From phy_events.
  input  wire logic        cca_busy,
  input  wire phy_events_s heard,

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
  output wire next_frame_s frame,
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

  // To neighbour_table: `report` for one clock; the record, but for its account, a clock later, to stand until the next packet.
  output wire logic        report,
  output wire logic        reported,
  output wire logic [31:0] service_us,
  input  wire logic [3:0]  part_index,      // with UNIT_TICKS the account is read part by part, see service_time_serial
  output wire logic [31:0] part_us,
  output wire completion_record_s record    // without the neighbour's averages
);

  // virtual_carrier_sense, interframe_space
  logic [15:0] ifs_left_us, ifs_us;
  logic        spaced, waits, waits_on;
  // backoff_counter, contention_window, retry_counters
  logic        limit_reached;
  logic [9:0]  draw_slots;
  logic [23:0] slots_left_us;
  // channel_access
  logic        access_taken, defer, access_waits;
  logic [31:0] access_wait_us;
  // frame_sequence
  logic        contends, draw_pending, packet_waiting, reset_window, double_window, in_contention, in_rts, in_data;
  attempt_outcome_s counted;

  // Of the packet's record.
  completion_record_s packet;
  logic [15:0] slots_drawn;
  logic [4:0]  ssrc, slrc;
  logic [9:0]  cw;
  logic [31:0] t_enqueue_us, t_done_us, queue_us, ifs_part_us, backoff_us, frozen_cca_us, frozen_nav_us;
  logic [31:0] control_us, data_us, response_us, timeout_us, responder_us;

  assign record = '{
    tag: packet.tag, peer: packet.peer, sequence_number: packet.sequence_number, bytes: packet.bytes, rate: packet.rate,
    result: packet.result, rts_attempts: packet.rts_attempts, data_attempts: packet.data_attempts, ssrc: ssrc, slrc: slrc, cw: cw,
    slots_drawn: slots_drawn, queue_number: packet.queue_number, t_enqueue_us: t_enqueue_us, t_head_us: packet.t_head_us,
    t_first_tx_us: packet.t_first_tx_us, t_done_us: t_done_us, queue_us: queue_us, ifs_us: ifs_part_us, backoff_us: backoff_us,
    frozen_cca_us: frozen_cca_us, frozen_nav_us: frozen_nav_us, control_us: control_us, data_us: data_us,
    response_us: response_us, timeout_us: timeout_us, responder_us: responder_us, default: '0
  };

  // To this queue another one's exchange is a busy medium.
  wire logic busy = cca_busy || held;

  virtual_carrier_sense #(.UNIT_TICKS(UNIT_TICKS)) u_virtual_carrier_sense (
    .own_left_us, .nav_until_us, .idle_us, .ifs_us, .spaced, .waits, .waits_on, .reserved_us, .ifs_left_us
  );

  interframe_space #(.UNIT_TICKS(UNIT_TICKS), .QUEUES(QUEUES), .QUEUE(QUEUE)) u_interframe_space (
    .clk, .rst, .tick_n, .settings, .cca_busy(busy), .rx_end(heard.rx_end), .rx_bad(heard.rx_bad), .tx_go,
    .waive(settings.quirk_backoff_at_once && draw && !busy && reserved_us == '0), .reserved_us, .summary, .idle_us, .ifs_us,
    .spaced, .waits, .waits_on
  );

  contention_window #(.QUEUE(QUEUE)) u_contention_window (
    .clk, .rst, .settings,
    .reset_window, .double_window, .random, .outcome_cw(cw), .draw_slots, .redraw
  );

  backoff_counter #(.RADIX_STAGES(RADIX_STAGES), .UNIT_TICKS(UNIT_TICKS)) u_backoff_counter (
    .clk, .rst, .tick_n, .cfg_slot_us(settings.slot_us), .draw(draw && settings.access_mode == ACCESS_DCF), .draw_slots, .packet_waiting,
    .access_taken, .cca_busy(busy), .reserved_us, .ifs_left_us, .summary,
    .running(backoff_running), .slots_left, .slots_left_us
  );

  retry_counters u_retry_counters (
    .clk, .rst, .settings, .long_next(counted.long_next), .short_failure(counted.short_failure),
    .long_failure(counted.long_failure), .short_success(counted.short_success), .clear(counted.clear_retries),
    .limit_reached, .ssrc, .slrc
  );

  channel_access #(.QUEUES(QUEUES), .UNIT_TICKS(UNIT_TICKS)) u_channel_access (
    .settings, .contending(contends), .draw_pending, .access_taken, .defer, .waits(access_waits), .wait_us(access_wait_us),
    .cca_busy, .idle_us, .ifs_us, .ifs_left_us, .reserved_us, .backoff_running, .slots_left, .slots_left_us,
    .wants, .granted, .held, .draw_wanted, .draw_again
  );

  frame_sequence #(.RATE_SERIES(RATE_SERIES), .QUEUES(QUEUES), .QUEUE(QUEUE), .UNIT_TICKS(UNIT_TICKS)) u_frame_sequence (
    .clk, .rst, .tick_n, .tsf_us, .settings,
    .head_wanted, .head_valid, .head, .head_taken,
    .heard, .contending(contends), .draw_pending, .access_taken, .defer, .wants, .draw_wanted, .access_waits, .access_wait_us,
    .collided, .in_exchange, .outcome, .own_left_us, .draw_slots, .draw_again, .packet_waiting,
    .counted, .reset_window, .double_window, .limit_reached, .may_answer, .frame, .response_deadline_us,
    .in_contention, .in_rts, .in_data, .in_gap, .responded, .timed_out, .report, .done_valid(reported), .packet,
    .want_rx_start, .work_pending, .wait_valid, .wait_us
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
      .cca_busy, .held, .own_left_us, .reserved_us, .ifs_left_us, .summary, .slots_left, .draw, .draw_slots,
      .t_enqueue_us, .t_done_us, .slots_drawn, .queue_us, .ifs_us(ifs_part_us), .backoff_us, .frozen_cca_us, .frozen_nav_us,
      .control_us, .data_us, .response_us, .timeout_us, .responder_us, .service_us
    );
    assign part_us = '0;
    wire logic unused_index = &{1'b0, part_index};
  end

  assign contending = packet_waiting || backoff_running;

endmodule

`default_nettype wire
