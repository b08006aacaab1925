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
  input wire logic        done_valid,
  input wire logic [1:0]  done_result,
  input wire logic [31:0] done_queue_us,
  input wire logic [31:0] done_backoff_us,
  input wire logic [31:0] done_frozen_nav_us,
  input wire logic        phy_tx_start,
  input wire logic [2:0]  phy_tx_kind,
  input wire logic        phy_tx_retry,
  input wire logic        rx_deliver,
  input wire logic        rx_duplicate,
  input wire logic        nav_reset_armed,
  input wire logic [15:0] nav_left_us
);

  // Frames of the exchange so far, own and answered.
  logic sent_rts_q = 1'b0, sent_data_q = 1'b0, sent_cts_q = 1'b0, sent_mac_ack_q = 1'b0, delivered_q = 1'b0;
  logic armed_q = 1'b0;
  logic [15:0] nav_left_us_q = '0;
  logic [23:0] tick_n_q = '0;

  always_ff @(posedge clk) begin
    if (phy_tx_start && phy_tx_kind == FRAME_RTS)                    sent_rts_q     <= 1'b1;
    if (phy_tx_start && phy_tx_kind == FRAME_DATA && sent_rts_q)     sent_data_q    <= 1'b1;
    if (phy_tx_start && phy_tx_kind == FRAME_CTS)                    sent_cts_q     <= 1'b1;
    if (phy_tx_start && phy_tx_kind == FRAME_MAC_ACK && sent_cts_q)  sent_mac_ack_q <= 1'b1;
    if (rx_deliver)                                                  delivered_q    <= 1'b1;
    armed_q       <= nav_reset_armed;
    nav_left_us_q <= nav_left_us;
    tick_n_q      <= tick_n;
  end

  always_comb if (!rst) begin
    c_rts_cts_data_mac_ack : cover (done_valid && done_result == RESULT_DELIVERED && sent_rts_q && sent_data_q);
    c_basic_access         : cover (done_valid && done_result == RESULT_DELIVERED && !sent_rts_q);
    c_group                : cover (done_valid && done_result == RESULT_GROUP_SENT);
    c_short_limit          : cover (done_valid && done_result == RESULT_SHORT_RETRY_LIMIT);
    c_long_limit           : cover (done_valid && done_result == RESULT_LONG_RETRY_LIMIT);
    c_retry                : cover (phy_tx_start && phy_tx_kind == FRAME_DATA && phy_tx_retry);
    c_backoff              : cover (done_valid && done_backoff_us != '0);
    c_frozen_by_nav        : cover (done_valid && done_frozen_nav_us != '0);
    c_second_packet        : cover (done_valid && done_queue_us != '0);
    c_answers_cts          : cover (sent_cts_q);
    c_answers_exchange     : cover (sent_mac_ack_q && delivered_q);
    c_duplicate            : cover (rx_duplicate);
    c_nav_reset            : cover (armed_q && nav_left_us == '0 && 24'(nav_left_us_q) > tick_n_q);
  end

endmodule

bind mac_core exchange_covers u_exchange_covers (.*);

`default_nettype wire
