// SPDX-License-Identifier: GPL-2.0-or-later
// Knows again a data frame that was received before but whose MAC ACK was lost: same
// transmitter, same sequence number, retry bit set (IEEE 802.11-2012, 9.3.2.10).
//
// One entry for each value of the transmitter address's low bits. Two transmitters
// that share them evict each other; a repetition may then pass, never the reverse.
//
// A station with two queues numbers its frames by queue, which is the number's highest bit: an entry then has two
// numbers, and a frame of one queue does not make a frame of the other forgotten.
//
// Timing: `deliver` or `duplicate` comes one clock after the frame was accepted.

`default_nettype none

module duplicate_cache #(
  parameter int unsigned INDEX_W = 4,
  parameter int unsigned QUEUES  = 1
) (
  input  wire logic        clk,
  input  wire logic        rst,
  input  wire logic        accept_data,    // from responder: sent to us, will be acknowledged
  input  wire logic        accept_group,   // from phy_events: sent to a group
  input  wire logic [47:0] rx_ta,
  input  wire logic [11:0] rx_sequence,
  input  wire logic        rx_retry,
  output wire logic        deliver,        // one clock: for the host
  output wire logic        duplicate       // one clock: not again
);

  localparam int unsigned ENTRIES = 1 << INDEX_W;

  logic [47:0]        ta_q [ENTRIES];
  logic [QUEUES-1:0]  known, same_number;   // of this transmitter there is a number; it is this one
  logic               deliver_q, duplicate_q;

  wire logic [INDEX_W-1:0] index   = rx_ta[INDEX_W-1:0];
  wire logic               same_ta = ta_q[index] == rx_ta;
  wire logic               queue   = QUEUES > 1 && rx_sequence[11];
  wire logic               seen    = rx_retry && known[queue] && same_number[queue] && same_ta;

  for (genvar number = 0; number < QUEUES; number++) begin : g_queue
    logic [11:0]        sequence_q [ENTRIES];
    logic [ENTRIES-1:0] valid_q;
    always_ff @(posedge clk) begin
      if (rst) valid_q <= '0;
      else if (accept_data && queue == 1'(number)) valid_q[index] <= 1'b1;
      else if (accept_data && !same_ta) valid_q[index] <= 1'b0;
      if (accept_data && queue == 1'(number)) sequence_q[index] <= rx_sequence;
    end
    assign known[number]       = valid_q[index];
    assign same_number[number] = sequence_q[index] == rx_sequence;
  end

  always_ff @(posedge clk) begin
    if (rst) begin
      deliver_q   <= 1'b0;
      duplicate_q <= 1'b0;
    end else begin
      deliver_q   <= accept_group || (accept_data && !seen);
      duplicate_q <= accept_data && seen;
    end
    if (accept_data) ta_q[index] <= rx_ta;
  end

  assign deliver   = deliver_q;
  assign duplicate = duplicate_q;

endmodule

`default_nettype wire
