// SPDX-License-Identifier: GPL-2.0-or-later
// No strobe of a counter is lost: what its memory holds, what is being added and what still waits are always as many as
// came. Any one counter is followed. Taken for granted: what the module's text asks, that all strobes but the first
// counter's come 6 COUNTERS clocks apart and a reader holds up four clocks of six. Bound into statistics.

`default_nettype none

module count_rules #(
  parameter int unsigned COUNTERS = 3
) (
  input wire logic                clk,
  input wire logic                rst,
  input wire logic [COUNTERS-1:0] strobes,
  input wire logic                clear,
  input wire logic                hold,
  input wire logic [4:0]          read_index,
  input wire logic [31:0]         count
);

  localparam int unsigned APART = 6 * COUNTERS;

  logic [4:0] followed;   // begins with any value and keeps it
  always_ff @(posedge clk) followed <= followed;

  logic               begun_q = 1'b0;
  logic [4:0]         holds_q = '0;          // of the clocks before
  logic [31:0]        total_q;
  logic [COUNTERS-1:0][7:0] since_q = '0;    // clocks that a counter must not strobe

  wire logic strobe = strobes[followed];

  always_ff @(posedge clk) begin
    begun_q <= 1'b1;
    holds_q <= {holds_q[3:0], hold};
    if (rst) total_q <= statistics.u_counts.memory_q[followed];
    else total_q <= total_q + 32'(strobe);
    for (int k = 0; k < int'(COUNTERS); k++) begin
      since_q[k] <= strobes[k] && !rst ? 8'(APART - 1) : since_q[k] != '0 ? since_q[k] - 1'b1 : '0;
    end
  end

  always_comb begin
    assume (rst == !begun_q);
    if (rst) assume (!statistics.adding_q);   // counters are cleared after a reset, not by it
    assume (!clear);
    assume (int'(followed) < int'(COUNTERS));
    assume ($countones({holds_q, hold}) <= 4);
    for (int k = 1; k < int'(COUNTERS); k++) if (since_q[k] != '0) assume (!strobes[k]);
  end

  wire logic [31:0] kept    = statistics.u_counts.memory_q[followed];
  wire logic [31:0] adding  = statistics.adding_q && statistics.index_q == followed ? 32'(statistics.more_q) : '0;
  logic      [31:0] waiting;
  always_comb begin
    waiting = 32'(statistics.first_waiting_q);
    for (int k = 1; k < int'(COUNTERS); k++) if (int'(followed) == k) waiting = 32'(statistics.waiting_q[k]);
  end

  logic was_read_q = 1'b0, held_q = 1'b0;
  logic [31:0] kept_q;
  always_ff @(posedge clk) begin
    held_q     <= begun_q && hold && read_index == followed;
    was_read_q <= begun_q && hold && held_q && read_index == followed;
    kept_q     <= kept;
  end

  always_comb if (begun_q) begin
    a_none_is_lost : assert (kept + adding + waiting == total_q);
    if (was_read_q) a_reads : assert (count == kept_q);
  end

endmodule

bind statistics count_rules #(.COUNTERS(COUNTERS)) u_count_rules (.*);

`default_nettype wire
