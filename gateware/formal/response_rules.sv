// SPDX-License-Identifier: GPL-2.0-or-later
// A frame that is accepted is answered once, exactly SIFS later, at its own rate's response rate;
// nothing else is answered. Whatever the rest of the MAC does.
//
// Bound into responder.

`default_nettype none

module response_rules
  import perhop_pkg::*;
(
  input wire logic        clk,
  input wire logic        rst,
  input wire logic [23:0] tick_n,
  input wire logic [12:0] cfg_sifs_us,
  input wire logic        cfg_no_mac_ack,
  input wire logic [2:0]  cfg_response_rate       [8],
  input wire logic [15:0] cfg_response_airtime_us [8],
  input wire logic        rx_rts_for_us,
  input wire logic        rx_data_for_us,
  input wire logic [2:0]  rx_rate,
  input wire logic [47:0] rx_ta,
  input wire logic [15:0] nav_left_us,
  input wire logic        may_answer,
  input wire logic        accept,
  input wire logic        accept_data,
  input wire logic [15:0] hold_us,
  input wire logic        answer,
  input wire logic [2:0]  answer_kind,
  input wire logic [2:0]  answer_rate,
  input wire logic [15:0] answer_airtime_us,
  input wire logic [47:0] answer_ra,
  input wire logic        busy,
  input wire logic [12:0] sifs_left_us
);

  logic        begun_q = 1'b0, owed_q = 1'b0, owes_cts_q;
  logic [12:0] since_us_q, sifs_q;
  logic [47:0] ra_q;
  logic [2:0]  rate_q;
  logic [15:0] airtime_q;

  always_ff @(posedge clk) begin
    begun_q <= 1'b1;
    sifs_q  <= cfg_sifs_us;
    if (rst) owed_q <= 1'b0;
    else if (accept) begin
      owed_q     <= 1'b1;
      owes_cts_q <= rx_rts_for_us;
      since_us_q <= '0;
      ra_q       <= rx_ta;
      rate_q     <= cfg_response_rate[rx_rate];
      airtime_q  <= cfg_response_airtime_us[rx_rate];
    end else begin
      if (answer && tick_n == '0) owed_q <= 1'b0;
      since_us_q <= since_us_q + tick_n[12:0];
    end
  end

  always_comb begin
    if (!begun_q) assume (rst);
    else assume (cfg_sifs_us == sifs_q);
    assume (!(rx_rts_for_us && rx_data_for_us));
    // The rules of the time warp: time passes when nothing is to be done, and not beyond the timer.
    if (tick_n != '0) assume (!rx_rts_for_us && !rx_data_for_us && !answer && (!busy || tick_n <= 24'(sifs_left_us)));
  end

  always_comb if (begun_q && !rst) begin
    a_answers_what_it_owes : assert (!answer || (owed_q && since_us_q == cfg_sifs_us));
    a_answers_in_time      : assert (!owed_q || (since_us_q < cfg_sifs_us) || answer);
    a_busy_while_it_owes   : assert (busy == owed_q);
    if (answer) begin
      a_kind    : assert (answer_kind == (owes_cts_q ? FRAME_CTS : FRAME_MAC_ACK));
      a_to_whom : assert (answer_ra == ra_q && answer_rate == rate_q && answer_airtime_us == airtime_q);
    end
    a_one_at_a_time        : assert (!(accept && busy));
    a_accepts_for_a_reason : assert (!accept || (may_answer && (rx_rts_for_us || rx_data_for_us)));
    a_no_cts_under_nav     : assert (!accept || !rx_rts_for_us || nav_left_us == '0);
    a_mac_ack_whatever_nav : assert (!(rx_data_for_us && may_answer && !busy && !cfg_no_mac_ack) || accept);
    a_holds_the_medium     : assert (!accept || hold_us == 16'(17'(cfg_sifs_us) + 17'(cfg_response_airtime_us[rx_rate])));
    a_host_gets_data_only  : assert (!accept_data || rx_data_for_us);
    i_timer                : assert (!busy || 14'(since_us_q) + 14'(sifs_left_us) == 14'(cfg_sifs_us));
    if (busy) i_fields : assert (responder.is_cts_q == owes_cts_q && responder.rate_q == rate_q && responder.ra_q == ra_q && responder.airtime_us_q == airtime_q);
  end

endmodule

bind responder response_rules u_response_rules (.*);

`default_nettype wire
