// SPDX-License-Identifier: GPL-2.0-or-later
// frame_sequence with channel_access, and with the next_frame that its time-outs and frames come from.

`default_nettype none

module frame_sequence_bench
  import perhop_pkg::*;
#(
  parameter int unsigned RATE_SERIES = 1,
  parameter int unsigned QUEUES      = 1,
  parameter int unsigned QUEUE       = 0
) (
  input  wire logic        clk,
  input  wire logic        rst,
  input  wire logic [23:0] tick_n,
  input  wire logic [31:0] tsf_us,
  input  wire mac_settings_s settings,
  output wire logic        head_wanted,
  input  wire logic        head_valid,
  input  wire descriptor_s head,
  output wire logic        head_taken,
  input  wire logic        cca_busy,
  input  wire phy_events_s heard,
  output wire logic        wants,
  input  wire logic        granted,
  input  wire logic        collided,
  input  wire logic        held,
  output wire logic        in_exchange,
  output wire logic        outcome,
  input  wire logic [15:0] idle_us,
  input  wire logic [15:0] ifs_us,
  input  wire logic [15:0] ifs_left_us,
  input  wire logic [15:0] reserved_us,
  input  wire logic [15:0] own_left_us,
  input  wire logic        backoff_running,
  input  wire logic [9:0]  slots_left,
  input  wire logic [23:0] slots_left_us,
  output wire logic        draw_wanted,
  input  wire logic [9:0]  draw_slots,
  input  wire logic        draw_again,
  output wire logic        access_taken,
  output wire logic        packet_waiting,
  output wire attempt_outcome_s counted,
  output wire logic        reset_window,
  output wire logic        double_window,
  input  wire logic        limit_reached,
  output wire logic        may_answer,
  output wire next_frame_s frame,
  output wire logic [2:0]  send_kind,
  output wire logic [2:0]  send_rate,
  output wire logic [11:0] send_bytes,
  output wire logic [15:0] send_airtime_us,
  output wire logic [14:0] send_duration_us,
  output wire logic        in_contention,
  output wire logic        in_rts,
  output wire logic        in_data,
  output wire logic        in_gap,
  output wire logic        responded,
  output wire logic        timed_out,
  output wire logic        report,
  output wire logic        done_valid,
  output wire completion_record_s packet,
  output wire logic        want_rx_start,
  output wire logic        work_pending,
  output wire logic        wait_valid,
  output wire logic [31:0] wait_us
);

  logic [16:0] response_deadline_us, after_data_us;
  logic [17:0] until_data_us;

  // As transmit_port does, a clock later.
  wire logic [17:0] duration_us = until_data_us + 18'(after_data_us);
  assign send_duration_us = duration_us[17:15] != '0 ? '1 : duration_us[14:0];

  logic        contending, draw_pending, defer, access_waits;
  logic [31:0] access_wait_us;

  channel_access #(.QUEUES(QUEUES)) u_channel_access (.*, .waits(access_waits), .wait_us(access_wait_us));

  frame_sequence #(.RATE_SERIES(RATE_SERIES), .QUEUES(QUEUES), .QUEUE(QUEUE)) u_frame_sequence (.*);

  next_frame u_next_frame (
    .settings, .rts_next(frame.rts_next), .unanswered(frame.unanswered), .data_rate(packet.rate),
    .data_airtime_us(frame.data_airtime_us), .data_bytes(packet.bytes),
    .kind(send_kind), .rate(send_rate), .bytes(send_bytes), .airtime_us(send_airtime_us), .until_data_us, .after_data_us,
    .response_deadline_us
  );

endmodule

`default_nettype wire
