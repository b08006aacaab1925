// SPDX-License-Identifier: GPL-2.0-or-later
// Counters of 32 bits, in a memory with one adder. A strobe waits for its counter's turn; low numbers go first.
//
// Timing: counter 0 counts every clock of its strobe, however many in a row. Any other strobe may come
// again after 6 COUNTERS clocks, in which all that wait have been counted even while a reader holds
// as often as axil_slave lets it. Nothing is counted during reset and while `clear`.

`default_nettype none

module statistics #(
  parameter int unsigned COUNTERS = 17    // at most 32
) (
  input  wire logic                clk,
  input  wire logic                rst,
  input  wire logic [COUNTERS-1:0] strobes,

  input  wire logic                clear,          // counter clear_index becomes 0
  input  wire logic [4:0]          clear_index,

  input  wire logic                hold,           // a reader stands at read_index
  input  wire logic [4:0]          read_index,
  output wire logic [31:0]         count           // after two clocks of `hold`
);

  if (COUNTERS < 2 || COUNTERS > 32) begin : g_bad_counters
    $fatal(1, "%m: 2 to 32 counters");
  end

  logic [COUNTERS-1:1] waiting_q;
  logic [3:0]          first_waiting_q;            // strobes of counter 0
  logic [4:0]          index_q, next_index;
  logic [3:0]          more_q;
  logic                adding_q;                   // the count of index_q is at hand

  always_comb begin
    next_index = '0;
    for (int i = int'(COUNTERS) - 1; i > 0; i--) begin
      if (waiting_q[i] && first_waiting_q == '0) next_index = 5'(i);
    end
  end

  wire logic any      = first_waiting_q != '0 || waiting_q != '0;
  wire logic take_one = any && !adding_q && !hold && !clear;

  always_ff @(posedge clk) begin
    if (rst || clear) begin
      waiting_q       <= '0;
      first_waiting_q <= '0;
      adding_q        <= 1'b0;
    end else begin
      adding_q        <= take_one;
      first_waiting_q <= (take_one && next_index == '0 ? 4'd0 : first_waiting_q) + 4'(strobes[0]);
      for (int i = 1; i < int'(COUNTERS); i++) begin
        waiting_q[i] <= strobes[i] || (waiting_q[i] && !(take_one && next_index == 5'(i)));
      end
    end
    index_q <= next_index;
    more_q  <= next_index == '0 ? first_waiting_q : 4'd1;
  end

  block_ram #(.WIDTH(32), .DEPTH(32)) u_counts (
    .clk,
    .write(clear || adding_q), .write_address(clear ? clear_index : index_q),
    .write_data(clear ? 32'd0 : count + 32'(more_q)),
    .read_address(hold ? read_index : next_index), .read_data(count)
  );

endmodule

`default_nettype wire
