// SPDX-License-Identifier: GPL-2.0-or-later
// service_time for hardware: the same parts of a packet's life, in one small memory with one adder, because each
// microsecond goes to exactly one part. See there what the parts are. A clock carries one tick or none.
//
// Timing: parts are final in the clock after `report` and stand until the next packet. `part_us` is the part that
// `part_index` names, in the same clock, if no time passed and nothing was decided in the clock before.

`default_nettype none

module service_time_serial (
  input  wire logic        clk,
  input  wire logic        rst,
  input  wire logic        tick,

  // From frame_sequence.
  input  wire logic        head_taken,      // one clock: a packet's service begins
  input  wire logic [31:0] head_t_enqueue_us,
  input  wire logic        in_contention,
  input  wire logic        in_rts,
  input  wire logic        in_data,
  input  wire logic        in_gap,
  input  wire logic        responded,
  input  wire logic        timed_out,

  // From phy_events, queue_arbiter, own_transmission and virtual_carrier_sense.
  input  wire logic        cca_busy,
  input  wire logic        held,
  input  wire logic [15:0] own_left_us,
  input  wire logic [15:0] reserved_us,
  input  wire logic [15:0] ifs_left_us,

  // The slots this packet waited for.
  input  wire logic [9:0]  slots_left,
  input  wire logic        draw,
  input  wire logic [9:0]  draw_slots,

  output wire logic [31:0] t_enqueue_us,
  output wire logic [15:0] slots_drawn,
  input  wire logic [3:0]  part_index,      // in the order of the completion record, see the enumeration
  output wire logic [31:0] part_us
);

  typedef enum logic [3:0] {
    PART_IFS,
    PART_BACKOFF,
    PART_FROZEN_CCA,
    PART_FROZEN_NAV,
    PART_CONTROL,
    PART_DATA,
    PART_RESPONSE,
    PART_TIMEOUT,
    PART_RESPONDER
  } part_e;
  localparam int unsigned PARTS = 9;

  logic [31:0]      parts_q [16];
  logic [PARTS-1:0] begun_q;       // the others are 0, whatever the memory holds
  logic [31:0]      waited_us_q;   // since our frame ended: response or time-out, not known yet
  logic [31:0]      t_enqueue_us_q;
  logic [15:0]      slots_drawn_q;

  wire logic own = own_left_us != '0;

  part_e part;
  always_comb begin
    if (in_contention) begin
      if (held || own)              part = PART_RESPONDER;
      else if (reserved_us != '0)   part = PART_FROZEN_NAV;
      else if (cca_busy)            part = PART_FROZEN_CCA;
      else if (ifs_left_us != '0)   part = PART_IFS;
      else                          part = PART_BACKOFF;
    end else if (in_gap) begin
      part = PART_RESPONSE;
    end else begin
      part = in_rts ? PART_CONTROL : PART_DATA;
    end
  end

  wire logic waits    = (in_rts || in_data) && !own;
  wire logic counts   = tick && (in_contention || in_gap || ((in_rts || in_data) && own));
  wire logic resolved = !tick && (responded || timed_out);

  // What is to be added is decided in one clock and added in the next.
  logic             counts_q, resolved_q;
  logic [3:0]       index_q;
  logic [31:0]      added_us_q;

  wire logic        adding  = counts_q || resolved_q;
  wire logic [3:0]  index   = adding ? index_q : part_index;
  wire logic [31:0] held_us = index < 4'(PARTS) && begun_q[index] ? parts_q[index] : '0;
  wire logic [31:0] sum_us  = held_us + (counts_q ? 32'd1 : added_us_q);

  always_ff @(posedge clk) begin
    if (adding) parts_q[index] <= sum_us;
    counts_q   <= !rst && counts;
    resolved_q <= !rst && resolved;
    index_q    <= tick ? part : responded ? PART_RESPONSE : PART_TIMEOUT;
    if (rst) begin
      begun_q     <= '0;
      waited_us_q <= '0;
    end else begin
      if (head_taken && !tick) begun_q <= '0;
      else if (adding) begun_q[index] <= 1'b1;
      if (resolved || (head_taken && !tick)) waited_us_q <= '0;
      else if (tick && waits) waited_us_q <= waited_us_q + 1'b1;
    end
    added_us_q <= waited_us_q;
    if (!tick) begin
      if (head_taken) begin
        t_enqueue_us_q <= head_t_enqueue_us;
        // The back-off that the packet before left behind may be drawn in this very clock.
        slots_drawn_q  <= 16'(draw ? draw_slots : slots_left);
      end
      if (draw && in_contention) slots_drawn_q <= slots_drawn_q + 16'(draw_slots);
    end
  end

  assign t_enqueue_us = t_enqueue_us_q;
  assign slots_drawn  = slots_drawn_q;
  assign part_us      = held_us;

endmodule

`default_nettype wire
