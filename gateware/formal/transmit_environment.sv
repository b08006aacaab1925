// SPDX-License-Identifier: GPL-2.0-or-later
// The MAC sends only a packet that it was told of and that does not go in this very clock, as tx_packet_buffer asserts
// too. Bound into tx_packet_buffer.

`default_nettype none

module transmit_environment #(
  parameter int unsigned QUEUE_W = 1
) (
  input wire logic               read_start,
  input wire logic [QUEUE_W-1:0] read_queue,
  input wire logic               complete,
  input wire logic [QUEUE_W-1:0] complete_queue
);

  wire logic here = tx_packet_buffer.tail_q[read_queue] != tx_packet_buffer.head_q[read_queue];

  always_comb if (read_start) assume (here && !(complete && complete_queue == read_queue));

endmodule

bind tx_packet_buffer transmit_environment #(.QUEUE_W(QUEUE_W)) u_transmit_environment (.*);

`default_nettype wire
