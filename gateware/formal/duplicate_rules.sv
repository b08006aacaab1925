// SPDX-License-Identifier: GPL-2.0-or-later
// What is accepted goes to the host or is known again, one of the two, a clock later; the repetition of
// the last frame accepted is never given twice, and what is no repetition is never held back.
//
// Bound into duplicate_cache. One transmitter, and one of its queues, is followed: the solver picks it.

`default_nettype none

module duplicate_rules #(
  parameter int unsigned INDEX_W = 4,
  parameter int unsigned QUEUES  = 1
) (
  input wire logic        clk,
  input wire logic        rst,
  input wire logic        accept_data,
  input wire logic        accept_group,
  input wire logic [47:0] rx_ta,
  input wire logic [11:0] rx_sequence,
  input wire logic        rx_retry,
  input wire logic        deliver,
  input wire logic        duplicate
);

  logic [47:0] followed;
  logic        queue;
  always_ff @(posedge clk) begin
    followed <= followed;
    queue    <= queue;
  end

  logic        begun_q = 1'b0, accepted_q = 1'b0, group_q = 1'b0, from_it_q, retry_q, same_q, known_q = 1'b0;
  logic [11:0] last_q;   // of the one that is followed, if no other with the same low bits came after it

  wire logic same_entry = rx_ta[INDEX_W-1:0] == followed[INDEX_W-1:0];
  wire logic of_queue   = QUEUES == 1 || rx_sequence[11] == queue;

  always_ff @(posedge clk) begin
    begun_q    <= 1'b1;
    accepted_q <= !rst && accept_data;
    group_q    <= !rst && accept_group;
    from_it_q  <= rx_ta == followed && of_queue;
    retry_q    <= rx_retry;
    same_q     <= known_q && rx_sequence == last_q;
    if (rst) known_q <= 1'b0;
    else if (accept_data && same_entry && rx_ta != followed) known_q <= 1'b0;
    else if (accept_data && same_entry && of_queue) begin
      known_q <= 1'b1;
      last_q  <= rx_sequence;
    end
  end

  wire logic [INDEX_W-1:0] at = followed[INDEX_W-1:0];
  logic [QUEUES-1:0]       entry_valid;
  logic [QUEUES-1:0][11:0] entry_number;
  for (genvar number = 0; number < QUEUES; number++) begin : g_entry
    assign entry_valid[number]  = duplicate_cache.g_queue[number].valid_q[at];
    assign entry_number[number] = duplicate_cache.g_queue[number].sequence_q[at];
  end

  always_comb begin
    if (!begun_q) assume (rst);
    assume (int'(queue) < int'(QUEUES));
    assume (!(accept_data && accept_group));
  end

  always_comb if (begun_q && !rst) begin
    a_one_of_the_two : assert (!(deliver && duplicate) && (deliver || duplicate) == (accepted_q || group_q));
    a_group_is_given : assert (!group_q || deliver);
    if (accepted_q && from_it_q) a_known_again : assert (duplicate == (retry_q && same_q));
    if (known_q) begin
      i_entry : assert (entry_valid[queue] && duplicate_cache.ta_q[at] == followed && entry_number[queue] == last_q);
    end else begin
      i_no_entry : assert (!entry_valid[queue] || duplicate_cache.ta_q[at] != followed);
    end
  end

endmodule

bind duplicate_cache duplicate_rules #(.INDEX_W(INDEX_W), .QUEUES(QUEUES)) u_duplicate_rules (.*);

`default_nettype wire
