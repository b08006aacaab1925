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
  output wire logic        quiescent,
  output wire logic [31:0] next_timer,          // all ones: none
  output wire logic        want_rx_start,       // a phy_rx_start could change something
  output wire logic        contending,          // a packet or a back-off is waiting: every CCA edge counts
  output wire logic        sending,             // an own frame is on the air, or SIFS before it runs
  output wire logic [15:0] nav_left_us,
  output wire logic [63:0] tsf_us,

  // Settings; they change only while the MAC is idle.
  input  wire logic [47:0] cfg_address,
  input  wire logic [63:0] cfg_seed,
  input  wire logic        cfg_seed_load,
  input  wire logic [1:0]  cfg_access_mode,
  input  wire logic        cfg_no_mac_ack,      // DATA to one station is done when sent, and is not answered
  input  wire logic [15:0] cfg_vacation_us,     // csma, fama: rest after a packet
  input  wire logic [12:0] cfg_slot_us,
  input  wire logic [12:0] cfg_sifs_us,
  input  wire logic [14:0] cfg_difs_us,
  input  wire logic [15:0] cfg_eifs_us,
  input  wire logic [15:0] cfg_response_timeout_us,
  input  wire logic [15:0] cfg_nav_reset_us,
  input  wire logic [9:0]  cfg_cw_min           [QUEUES],   // a power of two less one, as is cfg_cw_max
  input  wire logic [9:0]  cfg_cw_max           [QUEUES],
  input  wire logic [3:0]  cfg_aifs_extra_slots [QUEUES],   // added to DIFS and EIFS; ignored with one queue
  input  wire logic [4:0]  cfg_short_retry_limit,
  input  wire logic [4:0]  cfg_long_retry_limit,
  input  wire logic [2:0]  cfg_average_shift,
  input  wire logic [2:0]  cfg_rts_rate,
  input  wire logic [15:0] cfg_rts_airtime_us,
  input  wire logic [2:0]  cfg_response_rate       [8],
  input  wire logic [15:0] cfg_response_airtime_us [8],
  input  wire logic        cfg_quirk_eifs_as_nav,
  input  wire logic        cfg_quirk_no_nav_reset,
  input  wire logic        cfg_quirk_fixed_timeout,
  input  wire logic        cfg_quirk_draw_below_cw,
  input  wire logic        cfg_quirk_backoff_at_once,   // ns-2: a back-off that begins on an idle medium skips the IFS

  // From the PHY.
  input  wire logic        phy_cca_busy,        // level
  input  wire logic        phy_rx_start,        // one clock: a PLCP header was good; phy_rx_end will follow
  input  wire logic        phy_rx_end,          // one clock, with the fields below
  input  wire logic        phy_rx_ok,           // FCS good
  input  wire logic [2:0]  phy_rx_kind,
  input  wire logic [2:0]  phy_rx_rate,
  input  wire logic [14:0] phy_rx_duration_us,
  input  wire logic [47:0] phy_rx_ra,
  input  wire logic [47:0] phy_rx_ta,
  input  wire logic [11:0] phy_rx_sequence,
  input  wire logic        phy_rx_retry,

  // To the PHY.
  output wire logic        phy_tx_start,        // one clock, with the fields below
  output wire logic [2:0]  phy_tx_kind,
  output wire logic [2:0]  phy_tx_rate,
  output wire logic [11:0] phy_tx_bytes,
  output wire logic [15:0] phy_tx_airtime_us,
  output wire logic [14:0] phy_tx_duration_us,
  output wire logic [47:0] phy_tx_ra,
  output wire logic [11:0] phy_tx_sequence,
  output wire logic        phy_tx_retry,
  output wire logic [15:0] phy_tx_tag,
  output wire logic        phy_tx_queue,

  // Descriptors from the host.
  input  wire logic        desc_valid,
  output wire logic        desc_ready [QUEUES],
  input  wire logic        desc_queue,
  input  wire logic [47:0] desc_ra,
  input  wire logic [3:0]  desc_peer,
  input  wire logic [11:0] desc_bytes,          // the whole MPDU
  input  wire logic [2:0]  desc_rate,
  input  wire logic [15:0] desc_airtime_us,
  input  wire logic        desc_use_rts,
  input  wire logic [19:0] desc_series_attempts,    // attempts at desc_rate, then at three more rates, low bits first; 0: all
  input  wire logic [8:0]  desc_series_rate,        // ... which are
  input  wire logic [47:0] desc_series_airtime_us,
  input  wire logic [15:0] desc_tag,

  // Received data to the host, about the frame of the last phy_rx_end.
  output wire logic        rx_deliver,
  output wire logic        rx_duplicate,

  // Completion records to the host: valid in the clock of done_valid.
  output wire logic        done_valid,
  output wire logic        done_queue,
  output wire logic [15:0] done_tag,
  output wire logic [3:0]  done_peer,
  output wire logic [11:0] done_sequence,
  output wire logic [11:0] done_bytes,
  output wire logic [2:0]  done_rate,
  output wire logic [1:0]  done_result,
  output wire logic [4:0]  done_rts_attempts,
  output wire logic [4:0]  done_data_attempts,
  output wire logic [4:0]  done_ssrc,
  output wire logic [4:0]  done_slrc,
  output wire logic [9:0]  done_cw,
  output wire logic [15:0] done_slots_drawn,
  output wire logic [31:0] done_t_enqueue_us,
  output wire logic [31:0] done_t_head_us,
  output wire logic [31:0] done_t_first_tx_us,
  output wire logic [31:0] done_t_done_us,
  output wire logic [31:0] done_queue_us,
  output wire logic [31:0] done_ifs_us,
  output wire logic [31:0] done_backoff_us,
  output wire logic [31:0] done_frozen_cca_us,
  output wire logic [31:0] done_frozen_nav_us,
  output wire logic [31:0] done_control_us,
  output wire logic [31:0] done_data_us,
  output wire logic [31:0] done_response_us,
  output wire logic [31:0] done_timeout_us,
  output wire logic [31:0] done_responder_us,
  output wire logic [27:0] done_avg_contention_us16,
  output wire logic [27:0] done_avg_overhead_us16,
  output wire logic [15:0] done_avg_data_attempts_256,
  output wire logic [31:0] done_word,           // with UNIT_TICKS: the record's words, from the clock after done_valid on

  // What happens, for counters and an event log: a clock each, but for the back-off's levels.
  output wire logic        evt_response,        // the CTS or MAC ACK that was waited for came
  output wire logic        evt_timeout,         // or did not
  output wire logic        evt_queue,           // of the exchange
  output wire logic        evt_packet_taken    [QUEUES],
  output wire logic        evt_backoff_running [QUEUES],
  output wire logic [9:0]  evt_backoff_slots   [QUEUES],

  // Snapshot of a neighbour's entries: out one clock after nbr_take; with UNIT_TICKS when nbr_busy has fallen, and
  // nbr_index and nbr_bin stand until then.
  input  wire logic        nbr_take,
  output wire logic        nbr_busy,
  input  wire logic [3:0]  nbr_index,
  input  wire logic [3:0]  nbr_bin,
  output wire logic [27:0] nbr_avg_contention_us16,
  output wire logic [27:0] nbr_avg_overhead_us16,
  output wire logic [15:0] nbr_avg_data_attempts_256,
  output wire logic [31:0] nbr_packets,
  output wire logic [31:0] nbr_drops,
  output wire logic [47:0] nbr_service_us,
  output wire logic [15:0] nbr_histogram
);

  // phy_events
  logic        cca_busy, rx_start, rx_end, rx_bad, rx_overheard;
  logic        rx_rts_for_us, rx_cts_for_us, rx_data_for_us, rx_data_for_group, rx_mac_ack_for_us;
  logic        rx_is_rts, rx_retry;
  logic [2:0]  rx_rate;
  logic [14:0] rx_duration_us;
  logic [47:0] rx_ta;
  logic [11:0] rx_sequence;
  // nav_counter, own_transmission
  logic [15:0] nav_until_us, own_left_us;
  logic        nav_reset_armed;
  // random_draw
  logic [9:0]  random;
  // The frame that is next, from next_frame and the queue that sends
  logic        send, rts_next, unanswered, send_retry;
  logic [2:0]  send_kind, send_rate, data_rate;
  logic [11:0] send_bytes, send_sequence, data_bytes;
  logic [15:0] send_airtime_us, send_tag, data_airtime_us;
  logic [17:0] send_until_data_us;
  logic [16:0] send_after_data_us, response_deadline_us;
  logic [47:0] send_ra;
  // responder to transmit_port
  logic        answer, responder_busy, accept, accept_data;
  logic [2:0]  answer_kind, answer_rate;
  logic [15:0] answer_airtime_us, answer_hold_us;
  logic [14:0] answer_duration_us;
  logic [47:0] answer_ra;
  logic [12:0] responder_wait_us;
  // descriptor_queue
  logic        head_use_rts;
  logic [19:0] head_series_attempts;
  logic [8:0]  head_series_rate;
  logic [47:0] head_series_airtime_us;
  logic [47:0] head_ra;
  logic [3:0]  head_peer;
  logic [11:0] head_bytes;
  logic [2:0]  head_rate;
  logic [15:0] head_airtime_us, head_tag;
  logic [31:0] head_t_enqueue_us;
  // neighbour_table
  logic        table_busy;
  logic [3:0]  part_index;
  // queue_arbiter
  logic        arbiter_pending, sender, reporter;

  // Of the queues, an element each.
  typedef logic [QUEUES-1:0] each_t;
  each_t ready, head_wanted, head_valid, head_taken, wants, granted, collided, held, in_exchange, outcome, draw_wanted, redraw, draw_again, draw;
  each_t queue_send, queue_rts_next, queue_unanswered, queue_retry, may_answer, queue_contending, in_gap;
  each_t queue_wants_rx_start, queue_pending, wait_valid, report, reported, responded, timed_out;
  logic [QUEUES-1:0][1:0]  result;
  logic [QUEUES-1:0][2:0]  packet_rate;
  logic [QUEUES-1:0][3:0]  packet_peer;
  logic [QUEUES-1:0][4:0]  rts_attempts, data_attempts, ssrc, slrc;
  logic [QUEUES-1:0][9:0]  cw;
  logic [QUEUES-1:0][11:0] packet_bytes, packet_sequence;
  logic [QUEUES-1:0][15:0] reserved_us, idle_us, queue_airtime_us, packet_tag, slots_drawn;
  logic [QUEUES-1:0][31:0] wait_us, queue_service_us, t_enqueue_us, t_head_us, t_first_tx_us, t_done_us, queue_us, ifs_part_us, part_us;
  logic [QUEUES-1:0][31:0] backoff_us, frozen_cca_us, frozen_nav_us, control_us, data_us, response_us, timeout_us, responder_us;
  logic [QUEUES-1:0][47:0] packet_ra;

  tsf_timer u_tsf_timer (.clk, .rst, .tick_n, .tsf_us);

  phy_events u_phy_events (
    .clk, .rst, .cfg_address,
    .phy_cca_busy, .phy_rx_start, .phy_rx_end, .phy_rx_ok, .phy_rx_kind, .phy_rx_rate, .phy_rx_duration_us,
    .phy_rx_ra, .phy_rx_ta, .phy_rx_sequence, .phy_rx_retry,
    .cca_busy, .rx_start, .rx_end, .rx_bad, .rx_overheard, .rx_rts_for_us, .rx_cts_for_us, .rx_data_for_us,
    .rx_data_for_group, .rx_mac_ack_for_us, .rx_is_rts, .rx_rate, .rx_duration_us, .rx_ta, .rx_sequence, .rx_retry
  );

  nav_counter #(.UNIT_TICKS(UNIT_TICKS)) u_nav_counter (
    .clk, .rst, .tick_n, .cfg_nav_reset_us, .cfg_eifs_us, .cfg_quirk_no_nav_reset, .cfg_quirk_eifs_as_nav,
    .rx_start, .rx_overheard, .rx_bad, .rx_is_rts, .rx_duration_us,
    .nav_left_us, .nav_until_us, .reset_armed(nav_reset_armed)
  );

  own_transmission #(.UNIT_TICKS(UNIT_TICKS)) u_own_transmission (
    .clk, .rst, .tick_n,
    .hold(send || accept), .hold_us(send ? send_airtime_us : answer_hold_us), .own_left_us
  );

  random_draw u_random_draw (.clk, .rst, .cfg_seed, .cfg_seed_load, .step(draw_wanted != '0), .value(random));

  descriptor_queue #(.DEPTH(QUEUE_DEPTH), .QUEUES(QUEUES), .RATE_SERIES(RATE_SERIES)) u_descriptor_queue (
    .clk, .rst, .tick_n, .tsf_us,
    .desc_valid, .desc_ready(ready), .desc_queue, .desc_ra, .desc_peer, .desc_bytes, .desc_rate, .desc_airtime_us,
    .desc_use_rts, .desc_series_attempts, .desc_series_rate, .desc_series_airtime_us, .desc_tag,
    .head_wanted, .head_valid, .head_ra, .head_peer, .head_bytes, .head_rate, .head_airtime_us, .head_use_rts,
    .head_series_attempts, .head_series_rate, .head_series_airtime_us, .head_tag, .head_t_enqueue_us, .head_taken
  );

  for (genvar queue = 0; queue < QUEUES; queue++) begin : g_queue
    assign desc_ready[queue]       = ready[queue];
    assign evt_packet_taken[queue] = head_taken[queue];

    transmit_queue #(
      .UNIT_TICKS(UNIT_TICKS), .RADIX_STAGES(RADIX_STAGES), .RATE_SERIES(RATE_SERIES), .QUEUES(QUEUES), .QUEUE(queue)
    ) u_transmit_queue (
      .clk, .rst, .tick_n, .tsf_us(tsf_us[31:0]), .cfg_access_mode, .cfg_no_mac_ack, .cfg_vacation_us, .cfg_slot_us,
      .cfg_sifs_us, .cfg_difs_us, .cfg_eifs_us, .cfg_cw_min(cfg_cw_min[queue]), .cfg_cw_max(cfg_cw_max[queue]),
      .cfg_aifs_extra_slots(cfg_aifs_extra_slots[queue]), .cfg_short_retry_limit, .cfg_long_retry_limit,
      .cfg_quirk_eifs_as_nav, .cfg_quirk_fixed_timeout, .cfg_quirk_draw_below_cw, .cfg_quirk_backoff_at_once,
      .head_wanted(head_wanted[queue]), .head_valid(head_valid[queue] && !table_busy), .head_ra, .head_peer, .head_bytes, .head_rate, .head_airtime_us,
      .head_use_rts, .head_series_attempts, .head_series_rate, .head_series_airtime_us, .head_tag, .head_t_enqueue_us,
      .head_taken(head_taken[queue]),
      .cca_busy, .rx_start, .rx_end, .rx_bad, .rx_cts_for_us, .rx_mac_ack_for_us,
      .nav_until_us, .own_left_us, .tx_go(send || answer), .reserved_us(reserved_us[queue]), .idle_us(idle_us[queue]),
      .wants(wants[queue]), .granted(granted[queue]), .collided(collided[queue]), .held(held[queue]),
      .in_exchange(in_exchange[queue]), .outcome(outcome[queue]), .draw_wanted(draw_wanted[queue]), .redraw(redraw[queue]),
      .draw_again(draw_again[queue]), .draw(draw[queue]), .random,
      .send(queue_send[queue]), .rts_next(queue_rts_next[queue]), .unanswered(queue_unanswered[queue]),
      .data_airtime_us(queue_airtime_us[queue]), .packet_ra(packet_ra[queue]), .send_retry(queue_retry[queue]), .response_deadline_us,
      .may_answer(may_answer[queue]), .contending(queue_contending[queue]), .in_gap(in_gap[queue]),
      .want_rx_start(queue_wants_rx_start[queue]), .work_pending(queue_pending[queue]), .wait_valid(wait_valid[queue]),
      .wait_us(wait_us[queue]), .responded(responded[queue]), .timed_out(timed_out[queue]),
      .backoff_running(evt_backoff_running[queue]), .slots_left(evt_backoff_slots[queue]),
      .report(report[queue]), .reported(reported[queue]), .part_index, .part_us(part_us[queue]),
      .service_us(queue_service_us[queue]), .packet_tag(packet_tag[queue]),
      .packet_peer(packet_peer[queue]), .packet_sequence(packet_sequence[queue]), .packet_bytes(packet_bytes[queue]),
      .packet_rate(packet_rate[queue]), .result(result[queue]), .rts_attempts(rts_attempts[queue]),
      .data_attempts(data_attempts[queue]), .ssrc(ssrc[queue]), .slrc(slrc[queue]), .cw(cw[queue]),
      .slots_drawn(slots_drawn[queue]), .t_enqueue_us(t_enqueue_us[queue]), .t_head_us(t_head_us[queue]),
      .t_first_tx_us(t_first_tx_us[queue]), .t_done_us(t_done_us[queue]), .queue_us(queue_us[queue]),
      .ifs_part_us(ifs_part_us[queue]), .backoff_us(backoff_us[queue]), .frozen_cca_us(frozen_cca_us[queue]),
      .frozen_nav_us(frozen_nav_us[queue]), .control_us(control_us[queue]), .data_us(data_us[queue]),
      .response_us(response_us[queue]), .timeout_us(timeout_us[queue]), .responder_us(responder_us[queue])
    );
  end

  queue_arbiter #(.QUEUES(QUEUES)) u_queue_arbiter (
    .clk, .rst, .wants, .in_exchange, .outcome, .granted, .collided, .held, .draw_wanted, .redraw, .draw_again, .draw,
    .pending(arbiter_pending), .sender, .reporter
  );

  // The frame of the queue that sends.
  assign send            = queue_send != '0;
  assign rts_next        = queue_rts_next[sender];
  assign unanswered      = queue_unanswered[sender];
  assign data_rate       = packet_rate[sender];
  assign data_bytes      = packet_bytes[sender];
  assign data_airtime_us = queue_airtime_us[sender];
  assign send_ra         = packet_ra[sender];
  assign send_sequence   = packet_sequence[sender];
  assign send_retry      = queue_retry[sender];
  assign send_tag        = packet_tag[sender];

  next_frame u_next_frame (
    .cfg_sifs_us, .cfg_response_timeout_us, .cfg_rts_rate, .cfg_rts_airtime_us, .cfg_response_airtime_us,
    .cfg_quirk_fixed_timeout, .rts_next, .unanswered, .data_rate, .data_airtime_us, .data_bytes,
    .kind(send_kind), .rate(send_rate), .bytes(send_bytes), .airtime_us(send_airtime_us), .until_data_us(send_until_data_us),
    .after_data_us(send_after_data_us), .response_deadline_us
  );

  responder #(.UNIT_TICKS(UNIT_TICKS)) u_responder (
    .clk, .rst, .tick_n, .cfg_sifs_us, .cfg_no_mac_ack, .cfg_response_rate, .cfg_response_airtime_us,
    .rx_rts_for_us, .rx_data_for_us, .rx_rate, .rx_duration_us, .rx_ta, .nav_left_us, .may_answer(&may_answer),
    .accept, .accept_data, .hold_us(answer_hold_us),
    .answer, .answer_kind, .answer_rate, .answer_airtime_us, .answer_duration_us, .answer_ra,
    .busy(responder_busy), .sifs_left_us(responder_wait_us)
  );

  duplicate_cache #(.QUEUES(QUEUES)) u_duplicate_cache (
    .clk, .rst, .accept_data, .accept_group(rx_data_for_group), .rx_ta, .rx_sequence, .rx_retry,
    .deliver(rx_deliver), .duplicate(rx_duplicate)
  );

  transmit_port u_transmit_port (
    .clk, .rst,
    .send, .send_kind, .send_rate, .send_bytes, .send_airtime_us, .send_until_data_us, .send_after_data_us, .send_ra,
    .send_sequence, .send_retry, .send_tag, .send_queue(sender),
    .answer, .answer_kind, .answer_rate, .answer_airtime_us, .answer_duration_us, .answer_ra,
    .phy_tx_start, .phy_tx_kind, .phy_tx_rate, .phy_tx_bytes, .phy_tx_airtime_us, .phy_tx_duration_us, .phy_tx_ra,
    .phy_tx_sequence, .phy_tx_retry, .phy_tx_tag, .phy_tx_queue
  );

  // The record of the queue that reports.
  assign done_queue         = reporter;
  assign done_tag           = packet_tag[reporter];
  assign done_peer          = packet_peer[reporter];
  assign done_sequence      = packet_sequence[reporter];
  assign done_bytes         = packet_bytes[reporter];
  assign done_rate          = packet_rate[reporter];
  assign done_result        = result[reporter];
  assign done_rts_attempts  = rts_attempts[reporter];
  assign done_data_attempts = data_attempts[reporter];
  assign done_ssrc          = ssrc[reporter];
  assign done_slrc          = slrc[reporter];
  assign done_cw            = cw[reporter];
  assign done_slots_drawn   = slots_drawn[reporter];

  // In hardware the account of a packet is collected part by part and the table takes its time: the next packet waits for
  // them, and so does the record.
  if (UNIT_TICKS) begin : g_serial
    logic [3:0]         index;
    logic               collector_busy, neighbours_busy, collected;
    completion_record_s record;

    record_collector u_record_collector (
      .clk, .rst, .tsf_us(tsf_us[31:0]), .busy(collector_busy),
      .report(report != '0), .t_enqueue_us(t_enqueue_us[reporter]), .t_head_us(t_head_us[reporter]),
      .t_first_tx_us(t_first_tx_us[reporter]), .part_index(index), .part_us(part_us[reporter]),
      .collected, .updated(done_valid),
      .done_t_enqueue_us, .done_t_head_us, .done_t_first_tx_us, .done_t_done_us, .done_queue_us, .done_ifs_us,
      .done_backoff_us, .done_frozen_cca_us, .done_frozen_nav_us, .done_control_us, .done_data_us, .done_response_us,
      .done_timeout_us, .done_responder_us, .record, .word(done_word)
    );
    assign part_index = index;
    assign record     = '{
      done_tag: done_tag, done_queue: done_queue, done_peer: done_peer, done_sequence: done_sequence,
      done_bytes: done_bytes, done_rate: done_rate, done_result: tx_result_e'(done_result),
      done_rts_attempts: done_rts_attempts, done_data_attempts: done_data_attempts, done_ssrc: done_ssrc,
      done_slrc: done_slrc, done_cw: done_cw, done_slots_drawn: done_slots_drawn,
      done_avg_contention_us16: done_avg_contention_us16, done_avg_overhead_us16: done_avg_overhead_us16,
      done_avg_data_attempts_256: done_avg_data_attempts_256, default: '0   // the account
    };

    neighbour_table_serial #(.PEERS(PEERS)) u_neighbour_table (
      .clk, .rst, .cfg_average_shift, .busy(neighbours_busy), .updated(done_valid),
      .update(collected), .dropped(done_result == RESULT_SHORT_RETRY_LIMIT || done_result == RESULT_LONG_RETRY_LIMIT),
      .peer(done_peer), .data_attempts(done_data_attempts),
      .control_us(done_control_us), .data_us(done_data_us), .response_us(done_response_us),
      .t_head_us(done_t_head_us), .t_done_us(done_t_done_us),
      .avg_contention_us16(done_avg_contention_us16), .avg_overhead_us16(done_avg_overhead_us16),
      .avg_data_attempts_256(done_avg_data_attempts_256),
      .nbr_take, .nbr_index, .nbr_bin, .nbr_busy, .nbr_avg_contention_us16, .nbr_avg_overhead_us16,
      .nbr_avg_data_attempts_256, .nbr_packets, .nbr_drops, .nbr_service_us, .nbr_histogram
    );
    assign table_busy = collector_busy || neighbours_busy;
    wire logic unused_account = &{
      1'b0, reported, queue_service_us, t_done_us, queue_us, ifs_part_us, backoff_us, frozen_cca_us, frozen_nav_us, control_us,
      data_us, response_us, timeout_us, responder_us
    };
  end else begin : g_table
    assign done_t_enqueue_us  = t_enqueue_us[reporter];
    assign done_t_head_us     = t_head_us[reporter];
    assign done_t_first_tx_us = t_first_tx_us[reporter];
    assign done_t_done_us     = t_done_us[reporter];
    assign done_queue_us      = queue_us[reporter];
    assign done_ifs_us        = ifs_part_us[reporter];
    assign done_backoff_us    = backoff_us[reporter];
    assign done_frozen_cca_us = frozen_cca_us[reporter];
    assign done_frozen_nav_us = frozen_nav_us[reporter];
    assign done_control_us    = control_us[reporter];
    assign done_data_us       = data_us[reporter];
    assign done_response_us   = response_us[reporter];
    assign done_timeout_us    = timeout_us[reporter];
    assign done_responder_us  = responder_us[reporter];
    wire logic [31:0] service_us = queue_service_us[reporter];

    neighbour_table #(.PEERS(PEERS)) u_neighbour_table (
      .clk, .rst, .cfg_average_shift,
      .update(report != '0), .dropped(done_result == RESULT_SHORT_RETRY_LIMIT || done_result == RESULT_LONG_RETRY_LIMIT),
      .peer(done_peer), .data_attempts(done_data_attempts),
      .contention_us(service_us - done_control_us - done_data_us - done_response_us),
      .overhead_us(done_control_us + done_response_us), .service_us,
      .avg_contention_us16(done_avg_contention_us16), .avg_overhead_us16(done_avg_overhead_us16),
      .avg_data_attempts_256(done_avg_data_attempts_256),
      .nbr_take, .nbr_index, .nbr_bin, .nbr_avg_contention_us16, .nbr_avg_overhead_us16, .nbr_avg_data_attempts_256,
      .nbr_packets, .nbr_drops, .nbr_service_us, .nbr_histogram
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
    .clk, .rst, .tick_n, .rx_pending(rx_start || rx_end || table_busy || arbiter_pending), .sequence_pending(queue_pending != '0),
    .sequence_wait_valid(wait_valid != '0), .sequence_wait_us(queue_wait_us),
    .responder_busy, .responder_wait_us, .quiescent, .next_timer
  );

  assign want_rx_start = queue_wants_rx_start != '0 || nav_reset_armed;
  assign contending    = queue_contending != '0;
  assign sending       = own_left_us != '0 || in_gap != '0;   // the responder holds the medium from SIFS on

  wire logic unused = &{1'b0, reserved_us, idle_us};

  assign evt_response = responded != '0;
  assign evt_timeout  = timed_out != '0;
  assign evt_queue    = sender;

endmodule

`default_nettype wire
