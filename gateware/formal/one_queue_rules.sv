// SPDX-License-Identifier: GPL-2.0-or-later
// Two queues: at most one is in an exchange, and it is the one whose frames go to transmit_port; one number is drawn by
// one queue; a collision within the station is the lower queue's, and the higher one has won (IEEE 802.11-2012,
// 9.19.2). Bound into mac_core.

`default_nettype none

module one_queue_rules #(
  parameter int unsigned QUEUES = 2
) (
  input wire logic              clk,
  input wire logic              rst,
  input wire logic [QUEUES-1:0] wants,
  input wire logic [QUEUES-1:0] in_exchange,
  input wire logic [QUEUES-1:0] held,
  input wire logic [QUEUES-1:0] collided,
  input wire logic [QUEUES-1:0] queue_send,
  input wire logic [QUEUES-1:0] draw,
  input wire logic [QUEUES-1:0] head_taken,
  input wire logic              arbiter_pending,
  input wire logic              sender
);

  logic running_q = 1'b0, collided_q = 1'b0, sent_q = 1'b0;
  always_ff @(posedge clk) begin
    running_q  <= !rst;
    collided_q <= !rst && collided != '0;
    sent_q     <= !rst && queue_send[QUEUES-1];
  end

  always_comb if (running_q && !rst) begin
    a_one_in_exchange : assert ($onehot0(in_exchange));
    a_one_frame       : assert ($onehot0(queue_send));
    a_one_draw        : assert ($onehot0(draw));
    a_one_head        : assert ($onehot0(head_taken));
    a_lower_collides  : assert (collided[QUEUES-1:1] == '0);
    // Whoever wins has gone in the same clock, or is chosen and goes in the next unless the medium is taken from it.
    if (collided_q) a_higher_has_won : assert (sender && (sent_q || arbiter_pending));
    if (arbiter_pending) i_chosen_before_it_goes : assert (in_exchange == '0);
  end

  for (genvar queue = 0; queue < QUEUES; queue++) begin : g_queue
    always_comb if (running_q && !rst) begin
      if (queue_send[queue] || in_exchange[queue]) a_its_frame : assert (sender == 1'(queue));
      if (in_exchange[1-queue]) a_held : assert (held[queue] && !wants[queue]);
    end
  end

endmodule

bind mac_core one_queue_rules #(.QUEUES(QUEUES)) u_one_queue_rules (.*);

`default_nettype wire
