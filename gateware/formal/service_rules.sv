// SPDX-License-Identifier: GPL-2.0-or-later
// The ten parts of a packet's life sum to the whole.
//
// Proved as steps, which a solver of bit vectors can add where it cannot add ten 32-bit
// numbers: when the packet becomes the head of the queue its parts are the time since it
// came; from then on, in every clock, the parts (and the wait whose outcome is open)
// grow by exactly the ticks of that clock, as does the time since it came. So they are
// equal throughout, and in the record, where no wait is open.
//
// Bound into service_time, within the whole MAC.

`default_nettype none

module service_rules (
  input wire logic        clk,
  input wire logic        rst,
  input wire logic [23:0] tick_n,
  input wire logic [31:0] tsf_us,
  input wire logic        head_taken,
  input wire logic        in_contention,
  input wire logic        in_rts,
  input wire logic        in_data,
  input wire logic        in_gap,
  input wire logic        report,
  input wire logic [31:0] t_enqueue_us,
  input wire logic [31:0] t_done_us,
  input wire logic [31:0] queue_us,
  input wire logic [31:0] ifs_us,
  input wire logic [31:0] backoff_us,
  input wire logic [31:0] frozen_cca_us,
  input wire logic [31:0] frozen_nav_us,
  input wire logic [31:0] control_us,
  input wire logic [31:0] data_us,
  input wire logic [31:0] response_us,
  input wire logic [31:0] timeout_us,
  input wire logic [31:0] responder_us,
  input wire logic [31:0] service_us,
  input wire logic [31:0] waited_us_q
);

  wire logic in_service = in_contention || in_rts || in_data || in_gap || report;

  // One clock before.
  logic        running_q = 1'b0;
  logic        in_service_q, head_taken_q, report_q;
  logic [23:0] tick_n_q;
  logic [31:0] tsf_us_q, t_enqueue_us_q, queue_us_q, service_us_q;
  logic [31:0] parts_us [9], parts_us_q [9], wait_us_q;
  assign parts_us = '{ifs_us, backoff_us, frozen_cca_us, frozen_nav_us, control_us, data_us, response_us, timeout_us, responder_us};

  always_ff @(posedge clk) begin
    running_q      <= !rst;
    in_service_q   <= in_service;
    head_taken_q   <= head_taken;
    report_q       <= report;
    tick_n_q       <= tick_n;
    tsf_us_q       <= tsf_us;
    t_enqueue_us_q <= t_enqueue_us;
    queue_us_q     <= queue_us;
    service_us_q   <= service_us;
    parts_us_q     <= parts_us;
    wait_us_q      <= waited_us_q;
  end

  // What is behind the head of the queue, grown by.
  logic [31:0] grown_us;
  always_comb begin
    grown_us = waited_us_q - wait_us_q;
    for (int part = 0; part < 9; part++) grown_us += parts_us[part] - parts_us_q[part];
  end

  always_comb if (running_q) begin
    if (head_taken_q) begin
      a_starts_in_queue : assert (queue_us == tsf_us - t_enqueue_us);
      a_starts_at_zero  : assert ((ifs_us | backoff_us | frozen_cca_us | frozen_nav_us | control_us | data_us |
                                   response_us | timeout_us | responder_us | service_us | waited_us_q) == '0);
    end else begin
      a_same_packet     : assert (t_enqueue_us == t_enqueue_us_q && queue_us == queue_us_q);
    end
    if (in_service_q) begin
      a_parts_grow_by_ticks    : assert (grown_us == 32'(tick_n_q));
      a_service_grows_by_ticks : assert (service_us - service_us_q == 32'(tick_n_q));
      a_time_grows_by_ticks    : assert (tsf_us - tsf_us_q == 32'(tick_n_q));
    end
    if (report_q) a_ends_with_report : assert (t_done_us == tsf_us_q && transmit_queue.reported);
    if (transmit_queue.reported) a_record_stands : assert (!in_service && waited_us_q == '0);

    // Service begins with head_taken, and only then.
    if (in_service) a_service_has_begun : assert (in_service_q || head_taken_q);
  end

  always_comb if (!rst) begin
    // A wait is open only while a response is awaited.
    if (!(in_rts || in_data)) i_no_wait_open : assert (waited_us_q == '0 || !in_service);
    if (transmit_queue.u_frame_sequence.state_q == 3'd5) begin   // ST_UNACKED: nobody answers
      i_group_waits_for_none : assert (waited_us_q == '0);
    end
  end

endmodule

bind service_time service_rules u_service_rules (.*);

`default_nettype wire
