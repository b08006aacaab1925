// SPDX-License-Identifier: GPL-2.0-or-later
// What the proofs of one queue take for granted: time passes as the rest of the MAC lets it, and an own frame lasts as
// long as next_frame and own_transmission say. What the medium, the host and the other queue do is free.
//
// Bound into transmit_queue. `rst` is high in the first clock and low ever after.

`default_nettype none

module queue_environment
  import perhop_pkg::*;
(
  input wire logic        clk,
  input wire logic        rst,
  input wire logic [23:0] tick_n,
  input wire logic [31:0] tsf_us,
  input wire phy_events_s heard,
  input wire medium_summary_s summary,
  input wire logic        wants,
  input wire logic        granted,
  input wire logic        collided,
  input wire logic        draw,
  input wire logic        work_pending,
  input wire logic        wait_valid,
  input wire logic [31:0] wait_us,
  input wire next_frame_s frame,
  input wire logic [16:0] response_deadline_us,
  input wire logic [15:0] own_left_us
);

  logic        started_q = 1'b0;
  logic        send_q, lasts_q, wants_q;
  logic [16:0] response_deadline_us_q;
  logic [15:0] own_left_us_q;
  logic [23:0] tick_n_q;
  logic [31:0] tsf_us_q;

  always_ff @(posedge clk) begin
    started_q     <= 1'b1;
    send_q        <= frame.send;
    wants_q       <= !rst && wants;
    lasts_q       <= frame.send && frame.unanswered && !frame.rts_next;   // a frame that is waited for to its end
    response_deadline_us_q <= response_deadline_us;
    own_left_us_q <= own_left_us;
    tick_n_q      <= tick_n;
    tsf_us_q      <= tsf_us;
  end

  // Time: quiescent includes that nothing has been heard and that queue_arbiter has nothing to grant.
  always_comb begin
    assume (rst == !started_q);
    if (rst) assume (tick_n == '0);
    if (tick_n != '0) begin
      assume (!work_pending && (!wait_valid || 32'(tick_n) <= wait_us));
      assume (!heard.rx_start && !heard.rx_end && !granted && !collided && !draw);
    end
    if (started_q) assume (tsf_us == tsf_us_q + 32'(tick_n_q));
  end

  // Whatever is heard is told at its time; summary_top shows that it makes no difference.
  always_comb assume (summary == '0);

  // phy_events: what a frame is is known when it ends, and it is one of them.
  always_comb assume ((heard.rx_end || (!heard.rx_cts_for_us && !heard.rx_mac_ack_for_us)) && !(heard.rx_cts_for_us && heard.rx_mac_ack_for_us));

  // queue_arbiter: only who wants collides, at once, or is chosen, a clock later.
  always_comb begin
    assume (!collided || wants);
    assume (!granted || (wants_q && !collided));
  end

  // Own frames: one that nobody answers has its airtime as its deadline. None begins over another, or with a tick.
  always_comb if (started_q) begin
    if (lasts_q) assume (17'(own_left_us) == response_deadline_us_q);
    else if (!send_q && own_left_us_q != '0) begin
      assume (24'(own_left_us) == (24'(own_left_us_q) > tick_n_q ? 24'(own_left_us_q) - tick_n_q : '0));
    end
    if (frame.send) assume (own_left_us == '0 && response_deadline_us != '0);
  end

  // So, while a frame is on the air that nobody answers (ST_UNACKED), its timer is what is left of it.
  always_comb if (started_q && transmit_queue.u_frame_sequence.state_q == 3'd5 && transmit_queue.u_frame_sequence.timer_us_q != '0) begin
    i_timer_of_the_frame : assert (transmit_queue.u_frame_sequence.timer_us_q == 17'(own_left_us));
  end

endmodule

bind transmit_queue queue_environment u_queue_environment (.*);

`default_nettype wire
