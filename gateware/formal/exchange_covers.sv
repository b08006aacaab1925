// SPDX-License-Identifier: GPL-2.0-or-later
// What must be possible within mac_environment, so that the proofs are not about a MAC
// that never does anything. Bound into mac_core.

`default_nettype none

module exchange_covers
  import perhop_pkg::*;
(
  input wire logic        clk,
  input wire logic        rst,
  input wire logic [23:0] tick_n,
  input wire mac_settings_s settings,
  input wire logic        done_valid,
  input wire completion_record_s done,
  input wire logic        phy_tx_start,
  input wire phy_transmission_s phy_tx,
  input wire logic        phy_rx_end,
  input wire phy_reception_s phy_rx,
  input wire logic        rx_deliver,
  input wire logic        rx_duplicate,
  input wire logic        nav_reset_armed,
  input wire logic [15:0] nav_left_us
);

  // Frames so far, own and heard: this exchange and nothing between.
  typedef enum logic [2:0] {AT_START, AFTER_RTS, AFTER_CTS, AFTER_DATA, AFTER_MAC_ACK, ELSEWHERE} exchange_e;
  exchange_e own_q = AT_START, answered_q = AT_START;

  function automatic exchange_e next(exchange_e at, logic from_us, logic [2:0] kind, logic we_begin);
    case (at)
      AT_START:   return kind == FRAME_RTS && from_us == we_begin ? AFTER_RTS : ELSEWHERE;
      AFTER_RTS:  return kind == FRAME_CTS && from_us != we_begin ? AFTER_CTS : ELSEWHERE;
      AFTER_CTS:  return kind == FRAME_DATA && from_us == we_begin ? AFTER_DATA : ELSEWHERE;
      AFTER_DATA: return kind == FRAME_MAC_ACK && from_us != we_begin ? AFTER_MAC_ACK : ELSEWHERE;
      default:    return ELSEWHERE;
    endcase
  endfunction

  // One clock can carry both, the end of the heard frame being at the end of its ticks.
  function automatic exchange_e after_tx(exchange_e at, logic we_begin);
    return phy_tx_start ? next(at, 1'b1, phy_tx.kind, we_begin) : at;
  endfunction
  function automatic exchange_e after_rx(exchange_e at, logic we_begin);
    return phy_rx_end ? next(at, 1'b0, phy_rx.kind, we_begin) : at;
  endfunction

  // Of the PHY, more than the proofs need: what is heard began after the own frame was over.
  logic [16:0] busy_us_q = '0;   // own frame, and SIFS as the least that a frame lasts
  wire logic [16:0] busy_us = phy_tx_start ? 17'(phy_tx.airtime_us) + 17'(settings.sifs_us) : busy_us_q;
  always_ff @(posedge clk) busy_us_q <= !rst && 24'(busy_us) > tick_n ? busy_us - tick_n[16:0] : '0;
  always_comb if (phy_rx_end) assume (24'(busy_us) < tick_n || busy_us == '0);

  logic        armed_q = 1'b0, delivered_q = 1'b0, sent_rts_q = 1'b0;
  logic [15:0] nav_left_us_q = '0;
  logic [23:0] tick_n_q = '0;

  always_ff @(posedge clk) begin
    if (rst) begin   // what comes out before the reset is none of the MAC's doing
      own_q         <= AT_START;
      answered_q    <= AT_START;
      delivered_q   <= 1'b0;
      sent_rts_q    <= 1'b0;
      armed_q       <= 1'b0;
    end else begin
      own_q         <= after_rx(after_tx(own_q, 1'b1), 1'b1);
      answered_q    <= after_rx(after_tx(answered_q, 1'b0), 1'b0);
      if (rx_deliver) delivered_q <= 1'b1;
      if (phy_tx_start && phy_tx.kind == FRAME_RTS) sent_rts_q <= 1'b1;
      armed_q       <= nav_reset_armed;
      nav_left_us_q <= nav_left_us;
      tick_n_q      <= tick_n;
    end
  end

  logic running_q = 1'b0;
  always_ff @(posedge clk) running_q <= !rst;

  always_comb if (running_q) begin
    c_rts_cts_data_mac_ack : cover (done_valid && done.result == RESULT_DELIVERED && own_q == AFTER_MAC_ACK &&
                                    done.rts_attempts == 1 && done.data_attempts == 1);
    c_basic_access         : cover (done_valid && done.result == RESULT_DELIVERED && !sent_rts_q);
    c_group                : cover (done_valid && done.result == RESULT_GROUP_SENT);
    c_short_limit          : cover (done_valid && done.result == RESULT_SHORT_RETRY_LIMIT);
    c_long_limit           : cover (done_valid && done.result == RESULT_LONG_RETRY_LIMIT);
    c_retry                : cover (phy_tx_start && phy_tx.kind == FRAME_DATA && phy_tx.retry);
    c_backoff              : cover (done_valid && done.backoff_us != '0);
    c_frozen_by_nav        : cover (done_valid && done.frozen_nav_us != '0);
    c_second_packet        : cover (done_valid && done.queue_us != '0);
    c_answers_cts          : cover (answered_q == AFTER_CTS);
    c_answers_exchange     : cover (answered_q == AFTER_MAC_ACK && delivered_q);
    c_duplicate            : cover (rx_duplicate);
    c_csma                 : cover (done_valid && settings.access_mode == ACCESS_CSMA && done.backoff_us != '0);
    c_fama                 : cover (done_valid && settings.access_mode == ACCESS_FAMA && settings.no_mac_ack &&
                                    done.result == RESULT_GROUP_SENT && done.rts_attempts == 1);
    c_fama_second_rts      : cover (done_valid && settings.access_mode == ACCESS_FAMA && done.rts_attempts == 2);
    c_taken_unanswered     : cover (rx_deliver && settings.no_mac_ack);
    c_nav_reset            : cover (armed_q && nav_left_us == '0 && 24'(nav_left_us_q) > tick_n_q);
  end

endmodule

bind mac_core exchange_covers u_exchange_covers (.*);

`default_nettype wire
