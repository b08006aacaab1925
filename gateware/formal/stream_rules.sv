// SPDX-License-Identifier: GPL-2.0-or-later
// AXI4-Stream (Arm IHI 0051B, 2.2.1): what is offered stays offered, unchanged, until it is taken.
//
// Bound to each stream that the datapath gives out. The first clock is a reset.

`default_nettype none

module stream_rules #(
  parameter int unsigned WIDTH = 9
) (
  input wire logic             clk,
  input wire logic             rst,
  input wire logic             excused,   // a new beginning breaks the old stream off
  input wire logic             valid,
  input wire logic             ready,
  input wire logic [WIDTH-1:0] beat
);

  logic             running_q = 1'b0, waiting_q = 1'b0;
  logic [WIDTH-1:0] beat_q;

  always_ff @(posedge clk) begin
    running_q <= 1'b1;
    waiting_q <= !rst && !excused && valid && !ready;
    beat_q    <= beat;
  end

  always_comb if (!running_q) assume (rst);

  always_comb if (!rst && !excused && waiting_q) begin
    a_stays_offered : assert (valid);
    a_unchanged     : assert (beat == beat_q);
  end

endmodule

bind rx_packet_buffer stream_rules #(.WIDTH(10 + STATUS_W)) u_stream_rules (
  .clk, .rst, .excused(1'b0), .valid(m_axis_tvalid), .ready(m_axis_tready),
  .beat({m_status, m_axis_tlast, m_axis_tkeep, m_axis_tkeep ? m_axis_tdata : 8'd0})
);

bind tx_packet_buffer stream_rules #(.WIDTH(9 + FRAME_W)) u_stream_rules (
  .clk, .rst, .excused(read_start || (complete && complete_queue == read_queue_q)),
  .valid(m_axis_tvalid), .ready(m_axis_tready), .beat({frame, m_axis_tlast, m_axis_tdata})
);

bind completion_stream stream_rules #(.WIDTH(33)) u_stream_rules (
  .clk, .rst, .excused(1'b0), .valid(m_axis_tvalid), .ready(m_axis_tready), .beat({m_axis_tlast, m_axis_tdata})
);

bind framer stream_rules #(.WIDTH(9)) u_stream_rules (
  .clk, .rst, .excused(start), .valid(m_axis_tvalid), .ready(m_axis_tready), .beat({m_axis_tlast, m_axis_tdata})
);

`default_nettype wire
