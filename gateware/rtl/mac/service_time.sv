// SPDX-License-Identifier: GPL-2.0-or-later
// Accounts for every microsecond of a packet's life in the MAC: from the queue to its
// MAC ACK (or to being given up), each tick goes to exactly one of ten parts, so the
// parts sum to the whole; asserted for every packet.
//
// "Service time" is the time from the head of the queue to the outcome: the per-hop
// delay that delay-based congestion window limits need (K. Chen, Y. Xue, S. Shah,
// K. Nahrstedt, "Understanding bandwidth-delay product in mobile ad hoc networks",
// 2004, section 4). The queue is counted too, but apart.
//
// With two queues the time in which the other one has the medium is this one's `responder_us`: the station was at work,
// not for this packet.
//
// Timing: parts are final in the clock of `report` and stand until the next packet.

`default_nettype none

module service_time
  import tick_shares_pkg::*;
  import perhop_pkg::*;
(
  input  wire logic        clk,
  input  wire logic        rst,
  input  wire logic [23:0] tick_n,
  input  wire logic [31:0] tsf_us,

  // From frame_sequence.
  input  wire logic        head_taken,      // one clock: a packet's service begins
  input  wire logic [31:0] head_t_enqueue_us,
  input  wire logic        in_contention,
  input  wire logic        in_rts,
  input  wire logic        in_data,
  input  wire logic        in_gap,
  input  wire logic        responded,
  input  wire logic        timed_out,
  input  wire logic        report,

  // From phy_events, own_transmission and virtual_carrier_sense.
  input  wire logic        cca_busy,
  input  wire logic        held,            // another queue of this station is in an exchange
  input  wire logic [15:0] own_left_us,
  input  wire logic [15:0] reserved_us,
  input  wire logic [15:0] ifs_left_us,

  input  wire medium_summary_s summary,

  // The slots this packet waited for: what was left of a running back-off, and what it drew.
  input  wire logic [9:0]  slots_left,
  input  wire logic        draw,
  input  wire logic [9:0]  draw_slots,

  output wire logic [31:0] t_enqueue_us,
  output wire logic [31:0] t_done_us,
  output wire logic [15:0] slots_drawn,
  output wire logic [31:0] queue_us,        // before the head of the queue
  output wire logic [31:0] ifs_us,          // inter-frame spaces
  output wire logic [31:0] backoff_us,      // idle slots counted
  output wire logic [31:0] frozen_cca_us,   // carrier busy
  output wire logic [31:0] frozen_nav_us,   // medium reserved by others
  output wire logic [31:0] control_us,      // own RTS on the air
  output wire logic [31:0] data_us,         // own DATA on the air
  output wire logic [31:0] response_us,     // SIFS, CTS, MAC ACK of successful steps
  output wire logic [31:0] timeout_us,      // waiting for responses that did not come
  output wire logic [31:0] responder_us,    // answering others, and the other queue's exchanges
  output wire logic [31:0] service_us       // head of the queue to the outcome
);

  logic [31:0] t_enqueue_us_q, t_done_us_q, queue_us_q;
  logic [31:0] ifs_us_q, backoff_us_q, frozen_cca_us_q, frozen_nav_us_q, control_us_q;
  logic [31:0] data_us_q, response_us_q, timeout_us_q, responder_us_q;
  logic [31:0] waited_us_q;    // since our frame ended: response or time-out, not known yet
  logic [31:0] service_us_q;
  logic [15:0] slots_drawn_q;

  wire logic in_exchange = in_rts || in_data;

  wire logic [23:0] summary_us = summary.us;
  wire logic [23:0] summary_nav_us = summary.nav_us;
  wire logic [23:0] summary_cca_us = summary.cca_us;
  wire logic [23:0] summary_ifs_us = summary.ifs_us;
  wire logic [23:0] summary_slots_us = summary_us - summary_nav_us - summary_cca_us - summary_ifs_us;
  wire logic unused_summary = &{1'b0, summary};

  always_ff @(posedge clk) begin
    automatic ticks_t n_own  = own_share(tick_n, own_left_us);
    automatic ticks_t n_told = tick_n - summary_us;
    automatic ticks_t n_free = free_share(n_told, reserved_us);
    if (rst) begin
      t_enqueue_us_q  <= '0;
      t_done_us_q     <= '0;
      queue_us_q      <= '0;
      ifs_us_q        <= '0;
      backoff_us_q    <= '0;
      frozen_cca_us_q <= '0;
      frozen_nav_us_q <= '0;
      control_us_q    <= '0;
      data_us_q       <= '0;
      response_us_q   <= '0;
      timeout_us_q    <= '0;
      responder_us_q  <= '0;
      waited_us_q     <= '0;
      service_us_q    <= '0;
      slots_drawn_q   <= '0;
    end else if (tick_n != '0) begin
      if (in_contention && held) begin
        responder_us_q <= responder_us_q + 32'(tick_n);
      end else if (in_contention) begin
        responder_us_q  <= responder_us_q + 32'(n_own);
        frozen_nav_us_q <= frozen_nav_us_q + 32'(nav_share(n_told, own_left_us, reserved_us)) + 32'(summary_nav_us);
        frozen_cca_us_q <= frozen_cca_us_q + 32'(cca_share(n_free, cca_busy)) + 32'(summary_cca_us);
        ifs_us_q        <= ifs_us_q + 32'(ifs_share(n_free, cca_busy, ifs_left_us)) + 32'(summary_ifs_us);
        backoff_us_q    <= backoff_us_q + 32'(slots_share(n_free, cca_busy, ifs_left_us)) + 32'(summary_slots_us);
      end
      if (in_rts) control_us_q <= control_us_q + 32'(n_own);
      if (in_data) data_us_q <= data_us_q + 32'(n_own);
      if (in_exchange) waited_us_q <= waited_us_q + 32'(tick_n - n_own);
      if (in_gap) response_us_q <= response_us_q + 32'(tick_n);
      if (in_contention || in_exchange || in_gap) service_us_q <= service_us_q + 32'(tick_n);
    end else begin
      if (head_taken) begin
        t_enqueue_us_q  <= head_t_enqueue_us;
        queue_us_q      <= tsf_us - head_t_enqueue_us;
        ifs_us_q        <= '0;
        backoff_us_q    <= '0;
        frozen_cca_us_q <= '0;
        frozen_nav_us_q <= '0;
        control_us_q    <= '0;
        data_us_q       <= '0;
        response_us_q   <= '0;
        timeout_us_q    <= '0;
        responder_us_q  <= '0;
        waited_us_q     <= '0;
        service_us_q    <= '0;
        // The back-off that the packet before left behind may be drawn in this very clock.
        slots_drawn_q   <= 16'(draw ? draw_slots : slots_left);
      end
      if (draw && in_contention) slots_drawn_q <= slots_drawn_q + 16'(draw_slots);
      if (responded) response_us_q <= response_us_q + waited_us_q;
      if (timed_out) timeout_us_q <= timeout_us_q + waited_us_q;
      if (responded || timed_out) waited_us_q <= '0;
      if (report) t_done_us_q <= tsf_us;
    end
  end

  assign t_enqueue_us  = t_enqueue_us_q;
  assign t_done_us     = t_done_us_q;
  assign slots_drawn   = slots_drawn_q;
  assign queue_us      = queue_us_q;
  assign ifs_us        = ifs_us_q;
  assign backoff_us    = backoff_us_q;
  assign frozen_cca_us = frozen_cca_us_q;
  assign frozen_nav_us = frozen_nav_us_q;
  assign control_us    = control_us_q;
  assign data_us       = data_us_q;
  assign response_us   = response_us_q;
  assign timeout_us    = timeout_us_q;
  assign responder_us  = responder_us_q;
  assign service_us    = service_us_q;

`ifndef SYNTHESIS
  wire logic [31:0] parts_us = queue_us_q + ifs_us_q + backoff_us_q + frozen_cca_us_q + frozen_nav_us_q +
                               control_us_q + data_us_q + response_us_q + timeout_us_q + responder_us_q;
  always_ff @(posedge clk) begin
    if (!rst && report) begin
      a_parts_sum_to_whole : assert (parts_us == tsf_us - t_enqueue_us_q);
      a_nothing_left_over  : assert (waited_us_q == '0);
    end
  end
`endif

endmodule

`default_nettype wire
