// SPDX-License-Identifier: GPL-2.0-or-later
// The frame exchange of one packet, as its sender: contend, [RTS, CTS,] DATA, MAC ACK,
// with retries, until it is delivered or given up (IEEE 802.11-2012, 9.3.2 to 9.3.4).
//
// When a packet may go is channel_access' business. In the access modes csma and fama it waits here for each of the
// random times that it is deferred by, drawn from a window twice as large each time, until the packet has been sent. A
// time is drawn also when no CTS came. cfg_vacation_us is a rest after every packet.
//
// With cfg_no_mac_ack, as for groups, a packet is done when its DATA has been sent.
//
// Rates: a DATA frame that fails as often as its rate's entry of the series allows is sent at the next
// entry's rate; the last entry, or one of 0 attempts, is for all the rest. An RTS that fails counts for none.
//
// Two queues: each has its own frame_sequence, and queue_arbiter says which one goes. One that would go in the same clock as
// another of higher priority (`collided`) counts a short failure, as if its frame had been lost (IEEE 802.11-2012, 9.19.2.5).
// How long frames and exchanges take is computed once for all queues, in next_frame.
//
// Time-outs: the response must begin (PHY-RXSTART) within cfg_response_timeout_us of
// the end of our frame; if something begins, its end decides. With
// cfg_quirk_fixed_timeout (ns-2) the whole response must be over by then, plus its
// own airtime.
//
// Timing: everything that happens at a tick happens in the clocks that follow it
// and carry none; one decision a clock.

`default_nettype none

module frame_sequence
  import perhop_pkg::*;
  import tick_shares_pkg::*;
#(
  parameter int unsigned RATE_SERIES = 1,  // entries of a packet's rate series: 1 or 4
  parameter int unsigned QUEUES      = 1,  // 1, or 2: then each queue has half of the sequence numbers
  parameter int unsigned QUEUE       = 0,
  parameter bit          UNIT_TICKS  = 1'b0   // a clock carries one tick or none (hardware); wait_us then means nothing
) (
  input  wire logic        clk,
  input  wire logic        rst,
  input  wire logic [23:0] tick_n,
  input  wire logic [31:0] tsf_us,
  input  wire mac_settings_s settings,

  // From descriptor_queue.
  output wire logic        head_wanted,
  input  wire logic        head_valid,
  input  wire descriptor_s head,
  output wire logic        head_taken,      // one clock

  // From phy_events.
  input  wire phy_events_s heard,

  // From and to channel_access.
  output wire logic        contending,
  output wire logic        draw_pending,    // an outcome calls for a back-off
  input  wire logic        access_taken,    // one clock: the packet goes
  input  wire logic        defer,           // one clock: it looks again after the time that is drawn now
  input  wire logic        wants,
  input  wire logic        draw_wanted,
  input  wire logic        access_waits,
  input  wire logic [31:0] access_wait_us,

  // To and from queue_arbiter.
  input  wire logic        collided,        // one clock: another queue goes instead
  output wire logic        in_exchange,     // from the first frame on the air to the outcome
  output wire logic        outcome,         // one clock: the packet is done; `report` comes with the next

  // From own_transmission.
  input  wire logic [15:0] own_left_us,

  // To backoff_counter; from random_draw and contention_window.
  input  wire logic [9:0]  draw_slots,
  input  wire logic        draw_again,      // the number drawn will not do: once more
  output wire logic        packet_waiting,

  // To retry_counters and contention_window.
  output wire attempt_outcome_s counted,
  output wire logic        reset_window,    // one clock
  output wire logic        double_window,   // one clock
  input  wire logic        limit_reached,

  // To responder.
  output wire logic        may_answer,

  // To transmit_port and next_frame: the frame that is next.
  output wire next_frame_s frame,
  input  wire logic [16:0] response_deadline_us,     // from its start to the time-out, or, where nobody answers, to its end

  // To service_time, and the packet's record.
  output wire logic        in_contention,
  output wire logic        in_rts,          // RTS on the air or its CTS awaited
  output wire logic        in_data,         // DATA on the air or its MAC ACK awaited
  output wire logic        in_gap,          // SIFS between CTS and DATA
  output wire logic        responded,       // one clock: what was waited for came
  output wire logic        timed_out,       // one clock: it did not
  output wire logic        report,          // one clock: the packet is done
  output wire logic        done_valid,      // one clock later: its record is complete, and stands until the next packet
  output wire completion_record_s packet,   // its part of the record: the packet and its attempts

  // To warp_monitor.
  output wire logic        want_rx_start,
  output wire logic        work_pending,    // something is to be done at this tick
  output wire logic        wait_valid,
  output wire logic [31:0] wait_us
);

  wire logic [47:0] head_ra = head.ra;
  wire logic [3:0] head_peer = head.peer;
  wire logic [11:0] head_bytes = head.bytes;
  wire logic head_use_rts = head.use_rts;
  wire logic [15:0] head_tag = head.tag;

  wire logic rx_start = heard.rx_start;
  wire logic rx_end = heard.rx_end;
  wire logic rx_cts_for_us = heard.rx_cts_for_us;
  wire logic rx_mac_ack_for_us = heard.rx_mac_ack_for_us;

  wire logic [1:0] cfg_access_mode = settings.access_mode;
  wire logic cfg_no_mac_ack = settings.no_mac_ack;
  wire logic [15:0] cfg_vacation_us = settings.vacation_us;
  wire logic [12:0] cfg_slot_us = settings.slot_us;
  wire logic [12:0] cfg_sifs_us = settings.sifs_us;
  wire logic cfg_quirk_fixed_timeout = settings.quirk_fixed_timeout;

  localparam int unsigned GROUP_BIT = 40;   // see phy_events

  typedef enum logic [2:0] {
    ST_IDLE,           // no packet
    ST_CONTEND,        // waiting for the medium
    ST_WAIT_CTS,       // RTS on the air, then its CTS awaited
    ST_GAP,            // CTS came; SIFS before DATA
    ST_WAIT_MAC_ACK,   // DATA on the air, then its MAC ACK awaited
    ST_UNACKED,          // DATA on the air that nobody answers: to a group, or with cfg_no_mac_ack
    ST_REPORT,         // one clock: the record is complete
    ST_DEFER           // csma, fama: a random time, or the vacation, until the next look at the medium
  } state_e;

  state_e      state_q;
  logic [16:0] timer_us_q;
  logic        timer_over_q;       // with UNIT_TICKS: timer_us_q is 0, so that nobody waits for 17 bits to be looked at
  logic        defer_drawn_q;      // the random time was drawn in the clock before
  logic [10:0] defer_slots_q;      // one slot more than was drawn
  logic        response_began_q;   // a frame began in time: the timer no longer decides
  logic        draw_pending_q;     // an outcome calls for a back-off
  logic        tried_q;            // the packet has been on the air
  logic        retry_q;            // ... as DATA: the retry bit
  logic [47:0] ra_q;
  logic [3:0]  peer_q;
  logic [11:0] bytes_q, sequence_q;
  logic [15:0] tag_q;
  logic        use_rts_q, done_valid_q;
  logic [1:0]  result_q;
  logic [4:0]  rts_attempts_q, data_attempts_q;
  logic [31:0] t_head_us_q, t_first_tx_us_q;

  wire logic dcf        = cfg_access_mode == ACCESS_DCF;
  wire logic group      = ra_q[GROUP_BIT];
  wire logic unanswered = group || cfg_no_mac_ack;
  wire logic in_wait   = state_q == ST_WAIT_CTS || state_q == ST_WAIT_MAC_ACK;
  wire logic timer_on  = state_q == ST_GAP || state_q == ST_UNACKED || state_q == ST_DEFER || (in_wait && !response_began_q);
  wire logic timer_over = UNIT_TICKS ? timer_over_q : timer_us_q == '0;
  wire logic timer_end  = timer_on && timer_over && !defer_drawn_q;

  // Of a time that does not fit the timer, as much as fits.
  wire logic [23:0] defer_product_us = 24'(defer_slots_q) * 24'(cfg_slot_us);
  wire logic [16:0] defer_us         = defer_product_us[23:17] != '0 ? '1 : defer_product_us[16:0];

  wire logic long_next = state_q == ST_WAIT_MAC_ACK && use_rts_q;   // a failure now would be a long one

  // Outcomes. What is heard over our own frame is no response to it, whatever it says.
  wire logic own_over = own_left_us == '0;
  wire logic response = own_over && ((state_q == ST_WAIT_CTS && rx_cts_for_us) || (state_q == ST_WAIT_MAC_ACK && rx_mac_ack_for_us));
  wire logic wrong_frame = in_wait && response_began_q && rx_end && !response;
  wire logic no_frame    = in_wait && timer_end && !rx_end && (!rx_start || cfg_quirk_fixed_timeout);
  wire logic failure     = wrong_frame || no_frame || collided;
  wire logic delivered   = state_q == ST_WAIT_MAC_ACK && response;
  wire logic sent        = state_q == ST_UNACKED && timer_end;

  // Frames.
  // Which frame is next does not wait for whether it goes now.
  wire logic rts_next  = state_q == ST_CONTEND && use_rts_q && !group;
  wire logic send_rts  = access_taken && rts_next;
  wire logic send_data = (access_taken && !rts_next) || (state_q == ST_GAP && timer_end);

  // The rate series.
  wire logic       data_failed = failure && state_q == ST_WAIT_MAC_ACK && !limit_reached;
  wire logic [2:0]  rate;
  wire logic [15:0] airtime_us;
  rate_series #(.RATE_SERIES(RATE_SERIES), .QUEUES(QUEUES)) u_rate_series (
    .clk, .rst, .head_taken, .head, .data_failed,
    .rate, .airtime_us
  );

  always_ff @(posedge clk) begin
    done_valid_q <= !rst && state_q == ST_REPORT;
    if (rst) begin
      state_q          <= ST_IDLE;
      timer_us_q       <= '0;
      timer_over_q     <= UNIT_TICKS;
      response_began_q <= 1'b0;
      draw_pending_q   <= 1'b0;
      defer_drawn_q    <= 1'b0;
      sequence_q       <= '0;
    end else if (tick_n != '0) begin
      if (timer_us_q != '0) begin
        timer_us_q <= ends(tick_n, 24'(timer_us_q), UNIT_TICKS) ? '0 : timer_us_q - 17'(step(tick_n, UNIT_TICKS));
        if (UNIT_TICKS && timer_us_q[16:1] == '0) timer_over_q <= 1'b1;
      end
    end else begin
      if (draw_wanted) draw_pending_q <= draw_again;

      case (state_q)
        ST_IDLE: if (head_valid) begin
          // A vacation may still be running.
          state_q         <= dcf || timer_over ? ST_CONTEND : ST_DEFER;
          ra_q            <= head_ra;
          peer_q          <= head_peer;
          bytes_q         <= head_bytes;
          use_rts_q       <= dcf ? head_use_rts : cfg_access_mode == ACCESS_FAMA;
          tag_q           <= head_tag;
          sequence_q      <= sequence_q + 1'b1;
          tried_q         <= 1'b0;
          retry_q         <= 1'b0;
          rts_attempts_q  <= '0;
          data_attempts_q <= '0;
          t_head_us_q     <= tsf_us;
        end

        ST_CONTEND: if (access_taken || collided) begin
          tried_q <= 1'b1;
          if (!tried_q) t_first_tx_us_q <= tsf_us;
          if (access_taken) begin
            state_q <= send_rts ? ST_WAIT_CTS : unanswered ? ST_UNACKED : ST_WAIT_MAC_ACK;
          end else begin
            draw_pending_q <= dcf || !limit_reached;
            if (limit_reached) state_q <= ST_REPORT;
            result_q       <= RESULT_SHORT_RETRY_LIMIT;
          end
        end else if (defer) begin
          state_q       <= ST_DEFER;
          defer_drawn_q <= 1'b1;
          defer_slots_q <= 11'(draw_slots) + 11'd1;
        end

        ST_DEFER: if (defer_drawn_q) begin
          defer_drawn_q <= 1'b0;
          timer_us_q    <= defer_us;
          if (UNIT_TICKS) timer_over_q <= cfg_slot_us == '0;
        end else if (timer_end) begin
          state_q <= ST_CONTEND;
        end

        ST_WAIT_CTS, ST_WAIT_MAC_ACK: begin
          if (rx_start && own_over && !cfg_quirk_fixed_timeout) response_began_q <= 1'b1;
          if (state_q == ST_WAIT_CTS && response) begin
            state_q    <= ST_GAP;
            timer_us_q <= 17'(cfg_sifs_us);
            if (UNIT_TICKS) timer_over_q <= cfg_sifs_us == '0;
          end else if (delivered) begin
            state_q  <= ST_REPORT;
            result_q <= RESULT_DELIVERED;
          end else if (failure) begin
            draw_pending_q <= dcf || !limit_reached;
            state_q        <= limit_reached ? ST_REPORT : ST_CONTEND;
            result_q       <= long_next ? RESULT_LONG_RETRY_LIMIT : RESULT_SHORT_RETRY_LIMIT;
          end
        end

        ST_GAP: if (timer_end) state_q <= unanswered ? ST_UNACKED : ST_WAIT_MAC_ACK;

        ST_UNACKED: if (sent) begin
          state_q  <= ST_REPORT;
          result_q <= RESULT_GROUP_SENT;
        end

        ST_REPORT: state_q <= ST_IDLE;

        default: state_q <= ST_IDLE;
      endcase

      if ((delivered || sent) && dcf) draw_pending_q <= 1'b1;
      if (reset_window && !dcf) begin
        timer_us_q <= 17'(cfg_vacation_us);
        if (UNIT_TICKS) timer_over_q <= cfg_vacation_us == '0;
      end

      if (send_rts || send_data) begin
        timer_us_q       <= response_deadline_us;
        if (UNIT_TICKS) timer_over_q <= 1'b0;   // no frame takes no time
        response_began_q <= 1'b0;
      end
      // A CTS starts the short count anew, so only this count can pass what five bits hold; it stops there.
      if (send_rts && rts_attempts_q != '1) rts_attempts_q <= rts_attempts_q + 1'b1;
      if (send_data) begin
        data_attempts_q <= data_attempts_q + 1'b1;
        retry_q         <= 1'b1;
      end
    end
  end

  assign head_wanted = state_q == ST_IDLE;
  assign head_taken  = head_wanted && head_valid;

  assign contending     = state_q == ST_CONTEND;
  assign draw_pending   = draw_pending_q;
  assign packet_waiting = state_q == ST_CONTEND || state_q == ST_DEFER;

  assign counted = '{
    short_failure: failure && !long_next, long_failure: failure && long_next, long_next: long_next,
    short_success: state_q == ST_WAIT_CTS && response, clear_retries: head_taken
  };
  assign reset_window  = outcome;
  assign double_window = dcf ? failure && !limit_reached : defer;

  // While this station waits for a response, a frame that began in time and is for it
  // ends the wait, and may be answered.
  assign may_answer = own_over && state_q != ST_GAP && (!in_wait || response_began_q);

  assign frame = '{
    send: send_rts || send_data, rts_next: rts_next, unanswered: unanswered, data_airtime_us: airtime_us, packet_ra: ra_q,
    send_retry: retry_q && !rts_next
  };

  assign in_contention   = state_q == ST_CONTEND || state_q == ST_DEFER;
  assign in_rts          = state_q == ST_WAIT_CTS;
  assign in_data         = state_q == ST_WAIT_MAC_ACK || state_q == ST_UNACKED;
  assign in_gap          = state_q == ST_GAP;
  assign in_exchange     = in_rts || in_data || in_gap;
  assign outcome         = delivered || sent || (failure && limit_reached);
  assign responded       = response;
  assign timed_out       = failure;
  assign report          = state_q == ST_REPORT;
  assign done_valid      = done_valid_q;
  assign packet          = '{
    tag: tag_q, peer: peer_q, sequence_number: QUEUES == 1 ? sequence_q : {1'(QUEUE), sequence_q[10:0]}, bytes: bytes_q,
    rate: rate, result: tx_result_e'(result_q), rts_attempts: rts_attempts_q, data_attempts: data_attempts_q,
    queue_number: 1'(QUEUE), t_head_us: t_head_us_q, t_first_tx_us: t_first_tx_us_q, default: '0
  };

  assign want_rx_start = in_wait && !response_began_q && !cfg_quirk_fixed_timeout;
  assign work_pending  =
      (state_q == ST_IDLE && head_valid) || wants || draw_wanted || timer_end || defer_drawn_q || state_q == ST_REPORT;

  assign wait_valid = timer_on || access_waits;
  assign wait_us    = UNIT_TICKS ? '0 : timer_on ? 32'(timer_us_q) : access_wait_us;

`ifndef SYNTHESIS
  always_ff @(posedge clk) begin
    if (!rst && frame.send) begin
      a_no_send_over_own_frame : assert (own_left_us == '0);
    end
  end
`endif

endmodule

`default_nettype wire
