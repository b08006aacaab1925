// SPDX-License-Identifier: GPL-2.0-or-later
// Packets waiting for the MAC, as descriptors in order of arrival in their queue, each with the time it came.
//
// The queues share a memory with one read port: where two could have their heads taken in one clock, the lower waits.
//
// Timing: a descriptor taken in at one clock is at the head at the next.

`default_nettype none

module descriptor_queue
  import perhop_pkg::*;
#(
  parameter int unsigned DEPTH = 4,   // of each queue; a power of two
  parameter int unsigned QUEUES = 1,  // 1 or 2
  parameter int unsigned RATE_SERIES = 1   // entries of a packet's rate series: 1 or 4
) (
  input  wire logic        clk,
  input  wire logic        rst,
  input  wire logic [23:0] tick_n,
  input  wire logic [63:0] tsf_us,

  // From the host.
  input  wire logic        desc_valid,
  output wire logic [QUEUES-1:0] desc_ready,
  input  wire descriptor_s desc,

  // To frame_sequence: the head of the queue that takes it.
  input  wire logic [QUEUES-1:0] head_wanted,
  output wire logic [QUEUES-1:0] head_valid,
  output wire descriptor_s head,   // RATE_SERIES 1: without its series
  output wire logic [31:0] head_t_enqueue_us,
  input  wire logic [QUEUES-1:0] head_taken
);

  wire logic desc_queue = desc.queue_number;
  wire logic [47:0] desc_ra = desc.ra;
  wire logic [3:0] desc_peer = desc.peer;
  wire logic [11:0] desc_bytes = desc.bytes;
  wire logic [2:0] desc_rate = desc.rate;
  wire logic [15:0] desc_airtime_us = desc.airtime_us;
  wire logic desc_use_rts = desc.use_rts;
  wire logic [19:0] desc_series_attempts = desc.series_attempts;
  wire logic [8:0] desc_series_rate = desc.series_rate;
  wire logic [47:0] desc_series_airtime_us = desc.series_airtime_us;
  wire logic [15:0] desc_tag = desc.tag;

  localparam int unsigned INDEX_W = $clog2(DEPTH);
  if (DEPTH < 2 || DEPTH != 1 << INDEX_W) begin : g_bad_depth
    $fatal(1, "%m: DEPTH must be a power of two of at least 2");
  end
  if (QUEUES < 1 || QUEUES > 2) begin : g_bad_queues
    $fatal(1, "%m: QUEUES must be 1 or 2");
  end
  localparam int unsigned ENTRIES = QUEUES * DEPTH;
  localparam int unsigned ENTRY_INDEX_W = $clog2(ENTRIES);

  logic [47:0] ra_q          [ENTRIES];
  logic [3:0]  peer_q        [ENTRIES];
  logic [11:0] bytes_q       [ENTRIES];
  logic [2:0]  rate_q        [ENTRIES];
  logic [15:0] airtime_us_q  [ENTRIES];
  logic        use_rts_q     [ENTRIES];
  logic [15:0] tag_q         [ENTRIES];
  logic [31:0] t_enqueue_us_q[ENTRIES];

  // One bit more than an index: full and empty differ.
  logic [QUEUES-1:0][INDEX_W:0] write_q, read_q;

  logic                     to_queue, from_queue;
  logic [ENTRY_INDEX_W-1:0] write_index, read_index;
  for (genvar queue = 0; queue < QUEUES; queue++) begin : g_queue
    assign desc_ready[queue] = write_q[queue] - read_q[queue] != (INDEX_W + 1)'(DEPTH);
  end
  if (QUEUES > 1) begin : g_two
    wire logic high = head_wanted[QUEUES-1] && write_q[QUEUES-1] != read_q[QUEUES-1];
    assign to_queue    = desc_queue;
    assign from_queue  = high;
    assign write_index = {desc_queue, write_q[desc_queue][INDEX_W-1:0]};
    assign read_index  = {high, read_q[high][INDEX_W-1:0]};
    assign head_valid  = {write_q[QUEUES-1] != read_q[QUEUES-1], write_q[0] != read_q[0] && !high};
  end else begin : g_one
    assign to_queue    = 1'b0;
    assign from_queue  = 1'b0;
    assign write_index = write_q[0][INDEX_W-1:0];
    assign read_index  = read_q[0][INDEX_W-1:0];
    assign head_valid  = write_q[0] != read_q[0];
    wire logic unused_queue = &{1'b0, desc_queue, head_wanted};
  end

  wire logic [63:0] now_us = tsf_us + 64'(tick_n);   // written as in tsf_timer, so that synthesis finds one adder

  always_ff @(posedge clk) begin
    for (int queue = 0; queue < int'(QUEUES); queue++) begin
      if (rst) begin
        write_q[queue] <= '0;
        read_q[queue]  <= '0;
      end else begin
        if (desc_valid && desc_ready[queue] && to_queue == 1'(queue)) write_q[queue] <= write_q[queue] + 1'b1;
        if (head_taken[queue]) read_q[queue] <= read_q[queue] + 1'b1;
      end
    end
    if (desc_valid && desc_ready[to_queue]) begin
      ra_q[write_index]           <= desc_ra;
      peer_q[write_index]         <= desc_peer;
      bytes_q[write_index]        <= desc_bytes;
      rate_q[write_index]         <= desc_rate;
      airtime_us_q[write_index]   <= desc_airtime_us;
      use_rts_q[write_index]      <= desc_use_rts;
      tag_q[write_index]          <= desc_tag;
      // The descriptor arrives at the end of the ticks that this clock carries.
      t_enqueue_us_q[write_index] <= now_us[31:0];
    end
  end

  logic [19:0] series_attempts;
  logic [8:0]  series_rate;
  logic [47:0] series_airtime_us;
  if (RATE_SERIES > 1) begin : g_series
    localparam int unsigned LATER  = RATE_SERIES - 1;
    localparam int unsigned ENTRY_W = 5 + LATER * (5 + 3 + 16);
    logic [ENTRY_W-1:0] series_q [ENTRIES];

    always_ff @(posedge clk) begin
      if (desc_valid && desc_ready[to_queue]) begin
        series_q[write_index] <= {desc_series_attempts[4:0], desc_series_attempts[5 +: LATER*5],
                                  desc_series_rate[0 +: LATER*3], desc_series_airtime_us[0 +: LATER*16]};
      end
    end
    wire logic [ENTRY_W-1:0] entry = series_q[read_index];
    assign series_airtime_us = 48'(entry[0 +: LATER*16]);
    assign series_rate       = 9'(entry[LATER*16 +: LATER*3]);
    assign series_attempts   = 20'({entry[LATER*19 +: LATER*5], entry[ENTRY_W-1 -: 5]});
  end else begin : g_one_rate
    assign series_airtime_us = '0;
    assign series_rate       = '0;
    assign series_attempts   = '0;
    wire logic unused_series = &{1'b0, desc_series_attempts, desc_series_rate, desc_series_airtime_us};
  end

  assign head = '{
    ra: ra_q[read_index], peer: peer_q[read_index], bytes: bytes_q[read_index], rate: rate_q[read_index],
    airtime_us: airtime_us_q[read_index], series_attempts: series_attempts, series_rate: series_rate,
    series_airtime_us: series_airtime_us, use_rts: use_rts_q[read_index], queue_number: from_queue, tag: tag_q[read_index]
  };
  assign head_t_enqueue_us = t_enqueue_us_q[read_index];

  wire logic unused = &{1'b0, now_us[63:32]};

endmodule

`default_nettype wire
