// SPDX-License-Identifier: GPL-2.0-or-later
// frame_sequence with the next_frame that its time-outs and frames come from.

`default_nettype none

module frame_sequence_bench #(
  parameter int unsigned RATE_SERIES = 1,
  parameter int unsigned QUEUES      = 1,
  parameter int unsigned QUEUE       = 0
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
  input  wire logic        cfg_quirk_fixed_timeout,
  input  wire logic [15:0] cfg_response_timeout_us,
  input  wire logic [2:0]  cfg_rts_rate,
  input  wire logic [15:0] cfg_rts_airtime_us,
  input  wire logic [15:0] cfg_response_airtime_us [8],
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
  output wire logic        head_taken,
  input  wire logic        cca_busy,
  input  wire logic        rx_start,
  input  wire logic        rx_end,
  input  wire logic        rx_cts_for_us,
  input  wire logic        rx_mac_ack_for_us,
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
  output wire logic        short_failure,
  output wire logic        long_failure,
  output wire logic        long_next,
  output wire logic        short_success,
  output wire logic        clear_retries,
  output wire logic        reset_window,
  output wire logic        double_window,
  input  wire logic        limit_reached,
  output wire logic        may_answer,
  output wire logic        send,
  output wire logic        rts_next,
  output wire logic        unanswered,
  output wire logic [15:0] data_airtime_us,
  output wire logic [47:0] packet_ra,
  output wire logic        send_retry,
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
  output wire logic [1:0]  result,
  output wire logic [3:0]  packet_peer,
  output wire logic [11:0] packet_bytes,
  output wire logic [2:0]  packet_rate,
  output wire logic [11:0] packet_sequence,
  output wire logic [15:0] packet_tag,
  output wire logic [4:0]  rts_attempts,
  output wire logic [4:0]  data_attempts,
  output wire logic [31:0] t_head_us,
  output wire logic [31:0] t_first_tx_us,
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

  frame_sequence #(.RATE_SERIES(RATE_SERIES), .QUEUES(QUEUES), .QUEUE(QUEUE)) u_frame_sequence (.*);

  next_frame u_next_frame (
    .cfg_sifs_us, .cfg_response_timeout_us, .cfg_rts_rate, .cfg_rts_airtime_us, .cfg_response_airtime_us,
    .cfg_quirk_fixed_timeout, .rts_next, .unanswered, .data_rate(packet_rate), .data_airtime_us, .data_bytes(packet_bytes),
    .kind(send_kind), .rate(send_rate), .bytes(send_bytes), .airtime_us(send_airtime_us), .until_data_us, .after_data_us,
    .response_deadline_us
  );

endmodule

`default_nettype wire
