// SPDX-License-Identifier: GPL-2.0-or-later
// Descriptors come to the head of their queue in the order in which they were taken in, each once, with what they
// were given and the time at which they came. Any one of them is followed: the solver picks it.
//
// Bound into descriptor_queue.

`default_nettype none

module queue_rules
  import perhop_pkg::*;
#(
  parameter int unsigned DEPTH = 4,
  parameter int unsigned QUEUES = 1
) (
  input wire logic        clk,
  input wire logic        rst,
  input wire logic [23:0] tick_n,
  input wire logic [63:0] tsf_us,
  input wire logic        desc_valid,
  input wire logic [QUEUES-1:0] desc_ready,
  input wire descriptor_s desc,
  input wire logic [QUEUES-1:0] head_wanted,
  input wire logic [QUEUES-1:0] head_valid,
  input wire descriptor_s head,
  input wire logic [31:0] head_t_enqueue_us,
  input wire logic [QUEUES-1:0] head_taken
);

  localparam int unsigned COUNT_W = 16;

  // Which one of which queue is followed, counted from 0; both begin with any value and keep it.
  logic [COUNT_W-1:0] followed;
  logic               queue;
  always_ff @(posedge clk) begin
    followed <= followed;
    queue    <= queue;
  end

  logic [COUNT_W-1:0] in_q = '0, out_q = '0;
  logic               known_q = 1'b0, begun_q = 1'b0;
  logic [79:0]        fields_q;
  logic [31:0]        came_us_q;

  wire logic taken_in = desc_valid && desc_ready[queue] && (QUEUES == 1 || desc.queue_number == queue);
  wire logic leaves   = head_taken[queue];

  always_ff @(posedge clk) begin
    begun_q <= 1'b1;
    if (rst) begin
      in_q    <= '0;
      out_q   <= '0;
      known_q <= 1'b0;
    end else begin
      if (taken_in) in_q <= in_q + 1'b1;
      if (leaves) out_q <= out_q + 1'b1;
      if (taken_in && in_q == followed && !known_q) begin
        known_q   <= 1'b1;
        fields_q  <= {desc.ra, desc.airtime_us, desc.tag};
        came_us_q <= tsf_us[31:0] + 32'(tick_n);
      end
    end
  end

  wire logic [COUNT_W-1:0] held = in_q - out_q;
  localparam int unsigned INDEX_W = $clog2(DEPTH);
  wire logic [INDEX_W-1:0] in_queue = INDEX_W'(descriptor_queue.read_q[queue]) + INDEX_W'(followed - out_q);
  wire logic [INDEX_W:0]   place    = {queue && QUEUES > 1, in_queue};

  wire logic [INDEX_W:0] waiting = descriptor_queue.write_q[queue] - descriptor_queue.read_q[queue];

  always_comb begin
    if (!begun_q) assume (rst);
    assume (int'(queue) < int'(QUEUES));
    // A head is taken by the queue that wants it, where it is there, and by one queue at a time.
    assume ((head_taken & ~(head_valid & head_wanted)) == '0 && $onehot0(head_taken));
    // Counts do not come round again.
    assume (in_q != '1);
  end

  always_comb if (!rst && begun_q) begin
    a_holds_no_more   : assert (held <= COUNT_W'(DEPTH));
    a_ready_with_room : assert (desc_ready[queue] == (held < COUNT_W'(DEPTH)));
    a_head_if_any     : assert (!head_valid[queue] || held != '0);
    if (held != '0 && !head_valid[queue]) begin
      a_waits_for_the_higher : assert (QUEUES > 1 && !queue && head_wanted[QUEUES-1] && head_valid[QUEUES-1]);
    end
    // The one memory shows the head of the queue that may take it.
    if (head_valid[queue] && head_wanted[queue] && out_q == followed) begin
      a_in_order : assert (known_q && {head.ra, head.airtime_us, head.tag} == fields_q);
      a_time     : assert (head_t_enqueue_us == came_us_q);
    end
    // For the induction: where the one that is followed lies.
    i_count : assert (held == COUNT_W'(waiting) && in_q >= out_q);
    i_known : assert (known_q == (in_q > followed));
    if (known_q && out_q <= followed) begin
      i_lies_there : assert ({descriptor_queue.ra_q[place], descriptor_queue.airtime_us_q[place],
                              descriptor_queue.tag_q[place]} == fields_q &&
                             descriptor_queue.t_enqueue_us_q[place] == came_us_q);
    end
  end

endmodule

bind descriptor_queue queue_rules #(.DEPTH(DEPTH), .QUEUES(QUEUES)) u_queue_rules (.*);

`default_nettype wire
