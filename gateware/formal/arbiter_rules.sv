// SPDX-License-Identifier: GPL-2.0-or-later
// Of two queues at most one goes, the higher of two that would in one clock; the lower has then collided, once; and
// while one is in an exchange the other is held. Numbers drawn go to one queue each, the higher first; a queue that
// wants one gets the next that will do.
//
// Bound into queue_arbiter, with two queues.

`default_nettype none

module arbiter_rules #(
  parameter int unsigned QUEUES = 2
) (
  input wire logic              clk,
  input wire logic              rst,
  input wire logic [QUEUES-1:0] wants,
  input wire logic [QUEUES-1:0] in_exchange,
  input wire logic [QUEUES-1:0] outcome,
  input wire logic [QUEUES-1:0] granted,
  input wire logic [QUEUES-1:0] collided,
  input wire logic [QUEUES-1:0] held,
  input wire logic [QUEUES-1:0] draw_wanted,
  input wire logic [QUEUES-1:0] redraw,
  input wire logic [QUEUES-1:0] draw_again,
  input wire logic [QUEUES-1:0] draw,
  input wire logic              pending,
  input wire logic              sender,
  input wire logic              reporter
);

  logic              begun_q = 1'b0, chosen_q = 1'b0, came_q = 1'b0;
  logic [QUEUES-1:0] was_exchange_q, outcome_q;

  wire logic [QUEUES-1:0] go = wants & granted;   // an exchange begins with the next clock

  always_ff @(posedge clk) begin
    begun_q        <= 1'b1;
    chosen_q       <= !rst && wants != '0 && go == '0 && !pending;
    came_q         <= !rst && outcome != '0;
    outcome_q      <= outcome;
    was_exchange_q <= in_exchange;
  end

  always_comb begin
    if (!begun_q) assume (rst);
    // A queue that is held, or in an exchange, does not want one, and there is never more than one.
    assume ((wants & (held | in_exchange)) == '0 && $onehot0(in_exchange) && $onehot0(outcome));
    // One that would go, and is not held meanwhile, still would a clock later; so would the winner of a collision.
    if (chosen_q) assume (wants != '0 && wants[sender]);
  end

  always_comb if (begun_q && !rst) begin
    a_one_goes           : assert ($onehot0(go));
    a_higher_first       : assert (wants != 2'b11 || !go[0]);
    a_collides_once      : assert (collided == (wants == 2'b11 && !pending ? 2'b01 : 2'b00));
    a_held_by_the_other  : assert ((held & {in_exchange[0], in_exchange[1]}) == {in_exchange[0], in_exchange[1]});
    a_goes_a_clock_later : assert (!chosen_q || go[sender]);
    a_sender_goes        : assert (go == '0 || go[sender]);
    a_one_draws          : assert ($onehot0(draw) && (draw & ~draw_wanted) == '0 && (draw & redraw) == '0);
    a_higher_draws_first : assert (!draw_wanted[1] || !draw[0]);
    a_somebody_draws     : assert (draw_wanted == '0 || redraw != '0 || draw != '0);
    a_record_of_whom     : assert (!came_q || reporter == outcome_q[1]);
  end

endmodule

bind queue_arbiter arbiter_rules #(.QUEUES(QUEUES)) u_arbiter_rules (.*);

`default_nettype wire
