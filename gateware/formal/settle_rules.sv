// SPDX-License-Identifier: GPL-2.0-or-later
// The MAC settles: once nothing new arrives, it is quiescent after a bounded number of
// clocks without ticks. With cfg_quirk_draw_below_cw a draw may have to be repeated,
// which only chance bounds: taken not to happen here. Bound into mac_core.

`default_nettype none

module settle_rules #(
  parameter int unsigned BOUND = 8,
  parameter int unsigned QUEUE_DEPTH = 4,
  parameter int unsigned QUEUES = 1
) (
  input wire logic        clk,
  input wire logic        rst,
  input wire logic [23:0] tick_n,
  input wire logic        quiescent,
  input wire logic [QUEUES-1:0] draw_wanted,
  input wire logic [QUEUES-1:0] redraw,
  input wire logic        phy_cca_busy,
  input wire logic        cca_busy,
  input wire logic        phy_rx_start,
  input wire logic        phy_rx_end,
  input wire logic        desc_valid
);

  wire logic disturbed = tick_n != '0 || phy_rx_start || phy_rx_end || desc_valid || phy_cca_busy != cca_busy;

  logic [3:0] busy_clocks_q = '0;
  always_ff @(posedge clk) begin
    if (rst || quiescent || disturbed) busy_clocks_q <= '0;
    else busy_clocks_q <= busy_clocks_q + 1'b1;
  end

  always_comb assume ((draw_wanted & redraw) == '0);

  always_comb if (!rst) a_settles : assert (busy_clocks_q < 4'(BOUND) || quiescent);

  // Every frame takes time: no chain of frames at one tick.
  for (genvar queue = 0; queue < QUEUES; queue++) begin : g_queue
    wire logic [$clog2(QUEUE_DEPTH):0] read    = mac_core.u_descriptor_queue.read_q[queue];
    wire logic [$clog2(QUEUE_DEPTH):0] waiting = mac_core.u_descriptor_queue.write_q[queue] - read;

    always_comb if (!rst) begin
      i_queue_holds_no_more : assert (int'(waiting) <= int'(QUEUE_DEPTH));
      for (int entry = 0; entry < int'(QUEUE_DEPTH); entry++) begin
        if ($clog2(QUEUE_DEPTH)'(entry - int'(read)) < waiting) begin
          assert (mac_core.u_descriptor_queue.airtime_us_q[queue * QUEUE_DEPTH + entry] != '0);
        end
      end
      if (mac_core.g_queue[queue].u_transmit_queue.in_contention || mac_core.in_exchange[queue]) begin
        i_frame_takes_time : assert (mac_core.g_queue[queue].u_transmit_queue.frame.data_airtime_us != '0);
      end
    end
  end

endmodule

bind mac_core settle_rules #(.QUEUE_DEPTH(QUEUE_DEPTH), .QUEUES(QUEUES)) u_settle_rules (.*);

`default_nettype wire
