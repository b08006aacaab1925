// SPDX-License-Identifier: GPL-2.0-or-later
// MAC core: decides when to send and accounts for what it cost. Works on descriptors
// and on the PHY's events, never on bytes. Only instances and wires here. It is one file
// because it is one list of connections.
//
// Time: see the time-warp rules in ARCHITECTURE.md. A clock either carries ticks
// (tick_n microseconds; inputs are sampled at their end) or settles (tick_n = 0); ticks
// are given only when `quiescent`, and at most `next_timer` of them.
//
//   descriptors -> descriptor_queue -> transmit_queue (one a queue) -> next_frame -> transmit_port -> PHY
//   PHY -> phy_events -> { nav_counter, responder, transmit_queue }
//   queue_arbiter: whose turn it is; random_draw: one for all
//   transmit_queue -> neighbour_table -> completion record

`default_nettype none

module mac_core
  import perhop_pkg::*;
#(
  parameter bit          UNIT_TICKS   = 1'b0, // tick_n is 0 or 1 (hardware); next_timer then means nothing
  parameter int unsigned RADIX_STAGES = UNIT_TICKS ? 1 : 11,   // see backoff_counter
  parameter int unsigned QUEUE_DEPTH  = 4,
  parameter int unsigned PEERS        = 16,
  parameter int unsigned RATE_SERIES  = 1,    // rates that a packet's retries may step through: 1 or 4
  parameter int unsigned QUEUES       = 1     // 1, or 2: queue 0 best effort, queue 1 of high priority
) (
  input  wire logic        clk,
  input  wire logic        rst,                 // synchronous, active high

  // Time.
  input  wire logic [23:0] tick_n,              // microseconds that pass with this clock
  input  wire medium_summary_s summary,         // ... and what was heard meanwhile but not told; 0 in hardware
  output wire logic        quiescent,
  output wire logic [31:0] next_timer,          // all ones: none
  output wire logic        want_rx_start,       // a phy_rx_start could change something
  output wire logic        contending,          // a packet or a back-off is waiting: every CCA edge counts
  output wire logic        sending,             // an own frame is on the air, or SIFS before it runs
  output wire logic [15:0] nav_left_us,
  output wire logic [63:0] tsf_us,

  // Settings; they change only while the MAC is idle.
  input  wire mac_settings_s settings,
  input  wire logic        cfg_seed_load,

  // From the PHY.
  input  wire logic        phy_cca_busy,        // level
  input  wire logic        phy_rx_start,        // one clock: a PLCP header was good; phy_rx_end will follow
  input  wire logic        phy_rx_end,          // one clock, with
  input  wire phy_reception_s phy_rx,

  // To the PHY.
  output wire logic        phy_tx_start,        // one clock, with
  output wire phy_transmission_s phy_tx,

  // Descriptors from the host.
  input  wire logic        desc_valid,
  output wire logic        desc_ready [QUEUES],
  input  wire descriptor_s desc,

  // Received data to the host, about the frame of the last phy_rx_end.
  output wire logic        rx_deliver,
  output wire logic        rx_duplicate,

  // Completion records to the host.
  output wire logic        done_valid,
  output wire completion_record_s done,         // in the clock of done_valid
  output wire logic [31:0] done_word,           // with UNIT_TICKS: the record's words, from the clock after done_valid on

  output wire mac_events_s evt,                 // but for frames and records, of which mac_bytes tells

  // Snapshot of a neighbour's entries: out one clock after nbr_take; with UNIT_TICKS when nbr_busy has fallen, and
  // nbr_index and nbr_bin stand until then.
  input  wire logic        nbr_take,
  output wire logic        nbr_busy,
  input  wire logic [3:0]  nbr_index,
  input  wire logic [3:0]  nbr_bin,
  output wire neighbour_entry_s nbr
);

  // phy_events
  logic        cca_busy;
  phy_events_s heard;
  // nav_counter, own_transmission
  logic [15:0] nav_until_us, own_left_us;
  logic        nav_reset_armed;
  // random_draw
  logic [9:0]  random;
  // The frame that is next, from next_frame and the queue that sends
  next_frame_s frame;
  logic        send;
  logic [2:0]  send_kind, send_rate;
  logic [11:0] send_bytes;
  logic [15:0] send_airtime_us;
  logic [17:0] send_until_data_us;
  logic [16:0] send_after_data_us, response_deadline_us;
  // responder to transmit_port
  logic        answer, responder_busy, accept, accept_data;
  logic [2:0]  answer_kind, answer_rate;
  logic [15:0] answer_airtime_us, answer_hold_us;
  logic [14:0] answer_duration_us;
  logic [47:0] answer_ra;
  logic [12:0] responder_wait_us;
  // descriptor_queue
  descriptor_s head;
  logic [31:0] head_t_enqueue_us;
  // neighbour_table
  logic        table_busy;
  logic [3:0]  part_index;
  // queue_arbiter
  logic        arbiter_pending, sender, reporter;

  // Of the queues, an element each.
  typedef logic [QUEUES-1:0] each_t;
  each_t ready, head_wanted, head_valid, head_taken, wants, granted, collided, held, in_exchange, outcome, draw_wanted, redraw, draw_again, draw;
  each_t queue_send, may_answer, queue_contending, in_gap;
  each_t queue_wants_rx_start, queue_pending, wait_valid, report, reported, responded, timed_out, backoff_running;
  logic [QUEUES-1:0][9:0]  slots_left;
  logic [QUEUES-1:0][15:0] reserved_us, idle_us;
  logic [QUEUES-1:0][31:0] wait_us, queue_service_us, part_us;
  next_frame_s frames [QUEUES];
  completion_record_s records [QUEUES];

  tsf_timer u_tsf_timer (.clk, .rst, .tick_n, .tsf_us);

  phy_events u_phy_events (
    .clk, .rst, .cfg_address(settings.address), .phy_cca_busy, .phy_rx_start, .phy_rx_end, .phy_rx,
    .cca_busy, .heard
  );

  nav_counter #(.UNIT_TICKS(UNIT_TICKS)) u_nav_counter (
    .clk, .rst, .tick_n, .settings, .summary_nav_left_us(summary.nav_left_us), .rx_start(heard.rx_start), .rx_overheard(heard.rx_overheard), .rx_bad(heard.rx_bad),
    .rx_is_rts(heard.rx_is_rts), .rx_duration_us(heard.rx_duration_us),
    .nav_left_us, .nav_until_us, .reset_armed(nav_reset_armed)
  );

  own_transmission #(.UNIT_TICKS(UNIT_TICKS)) u_own_transmission (
    .clk, .rst, .tick_n,
    .hold(send || accept), .hold_us(send ? send_airtime_us : answer_hold_us), .own_left_us
  );

  random_draw u_random_draw (.clk, .rst, .cfg_seed(settings.seed), .cfg_seed_load, .step(draw_wanted != '0), .value(random));

  descriptor_queue #(.DEPTH(QUEUE_DEPTH), .QUEUES(QUEUES), .RATE_SERIES(RATE_SERIES)) u_descriptor_queue (
    .clk, .rst, .tick_n, .tsf_us,
    .desc_valid, .desc_ready(ready), .desc, .head_wanted, .head_valid, .head, .head_t_enqueue_us, .head_taken
  );

  for (genvar queue = 0; queue < QUEUES; queue++) begin : g_queue
    assign desc_ready[queue] = ready[queue];
    assign queue_send[queue] = frames[queue].send;

    transmit_queue #(
      .UNIT_TICKS(UNIT_TICKS), .RADIX_STAGES(RADIX_STAGES), .RATE_SERIES(RATE_SERIES), .QUEUES(QUEUES), .QUEUE(queue)
    ) u_transmit_queue (
      .clk, .rst, .tick_n, .tsf_us(tsf_us[31:0]), .summary, .settings,
      .head_wanted(head_wanted[queue]), .head_valid(head_valid[queue] && !table_busy), .head,
      .head_t_enqueue_us,
      .head_taken(head_taken[queue]),
      .cca_busy, .heard,
      .nav_until_us, .own_left_us, .tx_go(send || answer), .reserved_us(reserved_us[queue]), .idle_us(idle_us[queue]),
      .wants(wants[queue]), .granted(granted[queue]), .collided(collided[queue]), .held(held[queue]),
      .in_exchange(in_exchange[queue]), .outcome(outcome[queue]), .draw_wanted(draw_wanted[queue]), .redraw(redraw[queue]),
      .draw_again(draw_again[queue]), .draw(draw[queue]), .random,
      .frame(frames[queue]), .response_deadline_us,
      .may_answer(may_answer[queue]), .contending(queue_contending[queue]), .in_gap(in_gap[queue]),
      .want_rx_start(queue_wants_rx_start[queue]), .work_pending(queue_pending[queue]), .wait_valid(wait_valid[queue]),
      .wait_us(wait_us[queue]), .responded(responded[queue]), .timed_out(timed_out[queue]),
      .backoff_running(backoff_running[queue]), .slots_left(slots_left[queue]),
      .report(report[queue]), .reported(reported[queue]), .part_index, .part_us(part_us[queue]),
      .service_us(queue_service_us[queue]), .record(records[queue])
    );
  end

  queue_arbiter #(.QUEUES(QUEUES)) u_queue_arbiter (
    .clk, .rst, .wants, .in_exchange, .outcome, .granted, .collided, .held, .draw_wanted, .redraw, .draw_again, .draw,
    .pending(arbiter_pending), .sender, .reporter
  );

  // The frame of the queue that sends.
  completion_record_s sent;
  assign send  = queue_send != '0;
  assign frame = QUEUES > 1 && sender ? frames[QUEUES-1] : frames[0];
  assign sent  = QUEUES > 1 && sender ? records[QUEUES-1] : records[0];

  next_frame u_next_frame (
    .settings, .rts_next(frame.rts_next), .unanswered(frame.unanswered), .data_rate(sent.rate),
    .data_airtime_us(frame.data_airtime_us), .data_bytes(sent.bytes),
    .kind(send_kind), .rate(send_rate), .bytes(send_bytes), .airtime_us(send_airtime_us), .until_data_us(send_until_data_us),
    .after_data_us(send_after_data_us), .response_deadline_us
  );

  responder #(.UNIT_TICKS(UNIT_TICKS)) u_responder (
    .clk, .rst, .tick_n, .settings, .rx_rts_for_us(heard.rx_rts_for_us), .rx_data_for_us(heard.rx_data_for_us),
    .rx_rate(heard.rx_rate), .rx_duration_us(heard.rx_duration_us), .rx_ta(heard.rx_ta), .nav_left_us, .may_answer(&may_answer),
    .accept, .accept_data, .hold_us(answer_hold_us),
    .answer, .answer_kind, .answer_rate, .answer_airtime_us, .answer_duration_us, .answer_ra,
    .busy(responder_busy), .sifs_left_us(responder_wait_us)
  );

  duplicate_cache #(.QUEUES(QUEUES)) u_duplicate_cache (
    .clk, .rst, .accept_data, .accept_group(heard.rx_data_for_group), .rx_ta(heard.rx_ta), .rx_sequence(heard.rx_sequence),
    .rx_retry(heard.rx_retry),
    .deliver(rx_deliver), .duplicate(rx_duplicate)
  );

  transmit_port u_transmit_port (
    .clk, .rst,
    .send, .send_kind, .send_rate, .send_bytes, .send_airtime_us, .send_until_data_us, .send_after_data_us, .send_ra(frame.packet_ra),
    .send_sequence(sent.sequence_number), .send_retry(frame.send_retry), .send_tag(sent.tag), .send_queue(sender),
    .answer, .answer_kind, .answer_rate, .answer_airtime_us, .answer_duration_us, .answer_ra,
    .phy_tx_start, .phy_tx
  );

  // The record of the queue that reports.
  completion_record_s record;
  assign record = QUEUES > 1 && reporter ? records[QUEUES-1] : records[0];
  wire logic dropped = record.result == RESULT_SHORT_RETRY_LIMIT || record.result == RESULT_LONG_RETRY_LIMIT;
  logic [27:0] avg_contention_us16, avg_overhead_us16;
  logic [15:0] avg_data_attempts_256;

  completion_record_s account;   // its times and parts only

  assign done = '{
    tag: record.tag, peer: record.peer, sequence_number: record.sequence_number, bytes: record.bytes, rate: record.rate,
    result: record.result, rts_attempts: record.rts_attempts, data_attempts: record.data_attempts, ssrc: record.ssrc,
    slrc: record.slrc, cw: record.cw, slots_drawn: record.slots_drawn, queue_number: record.queue_number,
    t_enqueue_us: account.t_enqueue_us, t_head_us: account.t_head_us, t_first_tx_us: account.t_first_tx_us,
    t_done_us: account.t_done_us, queue_us: account.queue_us, ifs_us: account.ifs_us, backoff_us: account.backoff_us,
    frozen_cca_us: account.frozen_cca_us, frozen_nav_us: account.frozen_nav_us, control_us: account.control_us,
    data_us: account.data_us, response_us: account.response_us, timeout_us: account.timeout_us,
    responder_us: account.responder_us, avg_contention_us16: avg_contention_us16, avg_overhead_us16: avg_overhead_us16,
    avg_data_attempts_256: avg_data_attempts_256
  };

  // In hardware the account of a packet is collected part by part and the table takes its time: the next packet waits for
  // them, and so does the record.
  if (UNIT_TICKS) begin : g_serial
    logic [3:0]  index;
    logic        collector_busy, neighbours_busy, collected;
    logic [31:0] t_enqueue_us, t_head_us, t_first_tx_us, t_done_us, queue_us, ifs_us, backoff_us, frozen_cca_us, frozen_nav_us;
    logic [31:0] control_us, data_us, response_us, timeout_us, responder_us;

    record_collector u_record_collector (
      .clk, .rst, .tsf_us(tsf_us[31:0]), .busy(collector_busy),
      .report(report != '0), .t_enqueue_us(record.t_enqueue_us), .t_head_us(record.t_head_us),
      .t_first_tx_us(record.t_first_tx_us), .part_index(index), .part_us(part_us[reporter]),
      .collected, .updated(done_valid),
      .done_t_enqueue_us(t_enqueue_us), .done_t_head_us(t_head_us), .done_t_first_tx_us(t_first_tx_us),
      .done_t_done_us(t_done_us), .done_queue_us(queue_us), .done_ifs_us(ifs_us), .done_backoff_us(backoff_us),
      .done_frozen_cca_us(frozen_cca_us), .done_frozen_nav_us(frozen_nav_us), .done_control_us(control_us),
      .done_data_us(data_us), .done_response_us(response_us), .done_timeout_us(timeout_us),
      .done_responder_us(responder_us), .record(done), .word(done_word)
    );
    assign part_index = index;
    assign account    = '{
      t_enqueue_us: t_enqueue_us, t_head_us: t_head_us, t_first_tx_us: t_first_tx_us, t_done_us: t_done_us, queue_us: queue_us,
      ifs_us: ifs_us, backoff_us: backoff_us, frozen_cca_us: frozen_cca_us, frozen_nav_us: frozen_nav_us,
      control_us: control_us, data_us: data_us, response_us: response_us, timeout_us: timeout_us,
      responder_us: responder_us, result: RESULT_DELIVERED, default: '0
    };

    neighbour_table_serial #(.PEERS(PEERS)) u_neighbour_table (
      .clk, .rst, .cfg_average_shift(settings.average_shift), .busy(neighbours_busy), .updated(done_valid),
      .update(collected), .dropped, .peer(record.peer), .data_attempts(record.data_attempts),
      .control_us, .data_us, .response_us, .t_head_us, .t_done_us,
      .avg_contention_us16, .avg_overhead_us16, .avg_data_attempts_256,
      .nbr_take, .nbr_index, .nbr_bin, .nbr_busy, .nbr_avg_contention_us16(nbr.avg_contention_us16),
      .nbr_avg_overhead_us16(nbr.avg_overhead_us16), .nbr_avg_data_attempts_256(nbr.avg_data_attempts_256),
      .nbr_packets(nbr.packets), .nbr_drops(nbr.drops), .nbr_service_us(nbr.service_us), .nbr_histogram(nbr.histogram)
    );
    assign table_busy = collector_busy || neighbours_busy;
    wire logic unused_account = &{1'b0, reported, queue_service_us, record};
  end else begin : g_table
    assign account = record;
    wire logic [31:0] service_us = queue_service_us[reporter];

    neighbour_table #(.PEERS(PEERS)) u_neighbour_table (
      .clk, .rst, .cfg_average_shift(settings.average_shift),
      .update(report != '0), .dropped, .peer(record.peer), .data_attempts(record.data_attempts),
      .contention_us(service_us - record.control_us - record.data_us - record.response_us),
      .overhead_us(record.control_us + record.response_us), .service_us,
      .avg_contention_us16, .avg_overhead_us16, .avg_data_attempts_256,
      .nbr_take, .nbr_index, .nbr_bin, .nbr_avg_contention_us16(nbr.avg_contention_us16),
      .nbr_avg_overhead_us16(nbr.avg_overhead_us16), .nbr_avg_data_attempts_256(nbr.avg_data_attempts_256),
      .nbr_packets(nbr.packets), .nbr_drops(nbr.drops), .nbr_service_us(nbr.service_us), .nbr_histogram(nbr.histogram)
    );
    assign table_busy = 1'b0;
    assign part_index = '0;
    assign done_word  = '0;
    wire logic unused_part = &{1'b0, part_us[reporter]};
    assign nbr_busy   = 1'b0;
    assign done_valid = reported != '0;
  end

  // The first queue that would act by itself.
  logic [31:0] queue_wait_us;
  always_comb begin
    queue_wait_us = wait_us[0];
    for (int queue = 1; queue < int'(QUEUES); queue++) begin
      if (!wait_valid[0] || (wait_valid[queue] && wait_us[queue] < queue_wait_us)) queue_wait_us = wait_us[queue];
    end
  end

  warp_monitor #(.UNIT_TICKS(UNIT_TICKS)) u_warp_monitor (
    .clk, .rst, .tick_n, .summary_us(summary.us), .rx_pending(heard.rx_start || heard.rx_end || table_busy || arbiter_pending), .sequence_pending(queue_pending != '0),
    .sequence_wait_valid(wait_valid != '0), .sequence_wait_us(queue_wait_us),
    .responder_busy, .responder_wait_us, .quiescent, .next_timer
  );

  assign want_rx_start = queue_wants_rx_start != '0 || nav_reset_armed;
  assign contending    = queue_contending != '0;
  assign sending       = own_left_us != '0 || in_gap != '0;   // the responder holds the medium from SIFS on

  wire logic unused = &{1'b0, reserved_us, idle_us};

  assign evt = '{
    response: responded != '0, timeout: timed_out != '0, queue_number: sender, packet_taken: MOST_QUEUES'(head_taken),
    backoff_running: MOST_QUEUES'(backoff_running), backoff_slots: (10 * MOST_QUEUES)'(slots_left), default: '0
  };

endmodule

`default_nettype wire
