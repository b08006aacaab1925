// SPDX-License-Identifier: GPL-2.0-or-later
// Which queue may begin an exchange, and which may draw (IEEE 802.11-2012, 9.19.2: EDCA). Of two that would
// go in one clock the higher goes, and the other has collided, inside the station; while one is in an exchange, the
// medium is busy to the others. Nothing else is common to the queues.
//
// The frame that goes is chosen by a register, `sender`, which is set first: the winner goes one clock later, and
// whoever would go meanwhile finds the medium taken. So with two queues every start takes the same clocks.
//
// One generator of random numbers serves all: a number a clock, the higher queue first.
//
// Timing: decisions are combinational; `sender` stands throughout an exchange, `reporter` from a packet's report on.
// With one queue everything here is constant.

`default_nettype none

module queue_arbiter #(
  parameter int unsigned QUEUES = 1   // 1 or 2; the last has the highest priority
) (
  input  wire logic              clk,
  input  wire logic              rst,

  // To and from frame_sequence, a bit a queue.
  input  wire logic [QUEUES-1:0] wants,
  input  wire logic [QUEUES-1:0] in_exchange,
  input  wire logic [QUEUES-1:0] outcome,
  output wire logic [QUEUES-1:0] granted,
  output wire logic [QUEUES-1:0] collided,
  output wire logic [QUEUES-1:0] held,

  // To and from frame_sequence, contention_window and random_draw.
  input  wire logic [QUEUES-1:0] draw_wanted,
  input  wire logic [QUEUES-1:0] redraw,       // a number will not do
  output wire logic [QUEUES-1:0] draw_again,
  output wire logic [QUEUES-1:0] draw,         // this number is the queue's

  output wire logic              pending,      // `sender` has just been chosen
  output wire logic              sender,       // whose frame it is that goes, or is on the air
  output wire logic              reporter      // whose record it is
);

  if (QUEUES == 1) begin : g_one
    assign granted    = 1'b1;
    assign collided   = 1'b0;
    assign held       = 1'b0;
    assign draw_again = redraw;
    assign pending    = 1'b0;
    assign sender     = 1'b0;
    assign reporter   = 1'b0;
    wire logic unused = &{1'b0, clk, rst, wants, in_exchange, outcome};
  end else if (QUEUES == 2) begin : g_two
    logic sender_q, reporter_q;
    logic decided_q;   // one clock: `sender` has won

    wire logic decide = wants != '0 && !decided_q;
    wire logic winner = wants[1];

    always_ff @(posedge clk) begin
      if (rst) begin
        sender_q   <= 1'b0;
        decided_q  <= 1'b0;
        reporter_q <= 1'b0;
      end else begin
        decided_q <= decide;
        if (decide) sender_q <= winner;
        if (outcome != '0) reporter_q <= outcome[1];
      end
    end

    for (genvar queue = 0; queue < 2; queue++) begin : g_queue
      assign granted[queue] = decided_q && sender_q == 1'(queue);
      assign held[queue]    = in_exchange[1-queue] || (decided_q && sender_q != 1'(queue));
    end
    assign collided   = {1'b0, decide && wants == 2'b11};
    assign draw_again = redraw | {1'b0, draw_wanted[1]};
    assign pending    = decided_q;
    assign sender     = sender_q;
    assign reporter   = reporter_q;
  end else begin : g_bad_queues
    $fatal(1, "%m: QUEUES must be 1 or 2");
  end

  assign draw = draw_wanted & ~draw_again;

endmodule

`default_nettype wire
