// SPDX-License-Identifier: GPL-2.0-or-later
// Counters of 32 bits, in a memory with one adder that goes around. A strobe waits for its counter's turn.
//
// Timing: counter 0 counts every clock of its strobe, however many in a row. Any other strobe may come again after
// 6 COUNTERS clocks: each turn takes one clock, or two where something waits, and a reader holds up
// to four of every six. Nothing is counted during reset and while `clear`.

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

  localparam int unsigned FIRST_W = $clog2(6 * COUNTERS + 1);

  logic [COUNTERS-1:1] waiting_q;
  logic [FIRST_W-1:0]  first_waiting_q, more_q;    // strobes of counter 0; what is added
  logic [COUNTERS-1:0] turn_q;                     // one-hot
  logic [4:0]          index_q;                    // the same
  logic                adding_q;                   // the count of index_q is at hand

  wire logic first_turn = turn_q[0];
  wire logic waits      = first_turn ? first_waiting_q != '0 : (waiting_q & turn_q[COUNTERS-1:1]) != '0;
  wire logic take       = waits && !adding_q && !hold;
  wire logic step       = adding_q || !waits;

  always_ff @(posedge clk) begin
    if (rst || clear) begin
      waiting_q       <= '0;
      first_waiting_q <= '0;
      adding_q        <= 1'b0;
      turn_q          <= COUNTERS'(1);
      index_q         <= '0;
    end else begin
      adding_q        <= take;
      first_waiting_q <= (take && first_turn ? '0 : first_waiting_q) + FIRST_W'(strobes[0]);
      waiting_q       <= strobes[COUNTERS-1:1] | (waiting_q & ~({COUNTERS - 1{take}} & turn_q[COUNTERS-1:1]));
      if (step) begin
        turn_q  <= {turn_q[COUNTERS-2:0], turn_q[COUNTERS-1]};
        index_q <= turn_q[COUNTERS-1] ? '0 : index_q + 1'b1;
      end
    end
    more_q <= first_turn ? first_waiting_q : FIRST_W'(1);
  end

  block_ram #(.WIDTH(32), .DEPTH(32)) u_counts (
    .clk,
    .write(clear || adding_q), .write_address(clear ? clear_index : index_q),
    .write_data(clear ? 32'd0 : count + 32'(more_q)),
    .read_address(hold ? read_index : index_q), .read_data(count)
  );

endmodule

`default_nettype wire
