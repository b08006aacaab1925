// SPDX-License-Identifier: GPL-2.0-or-later
// The device's time with MAC and modem: what its timekeeper said of the sample that the modem has now, and of the sample with which each
// received frame ended. A time crosses with its sample (shell_top), so no phase of a clock and no fill of a FIFO is in it.
//
// The MAC keeps frames until the host takes them, and knows no device's time: this keeps the times of as many frames in the same order.
//
// Timing: now_ticks is that of the sample which radio_top gets in the same clock; frame_ticks stands from the clock behind the frame's last
// beat until the next frame's.

`default_nettype none

module device_time #(
  parameter int unsigned FRAMES = 16        // that the MAC keeps; a power of two
) (
  input  wire logic        clk,
  input  wire logic        rst,

  // Beside sample_pacer.
  input  wire logic        sample_taken,    // a clock before the modem gets it
  input  wire logic [63:0] sample_ticks,

  // From radio_top.
  input  wire logic        enabled,         // 0: the MAC has forgotten its frames
  input  wire logic        rx_end,
  input  wire logic        rx_kept,         // behind rx_end: the frame is one for the host
  input  wire logic        rx_last,         // the host takes a frame's last beat

  output wire logic [63:0] now_ticks,
  output wire logic [63:0] frame_ticks      // of the end of the frame whose last beat was taken last
);

  localparam int unsigned INDEX_W = $clog2(FRAMES);

  if (FRAMES < 2 || FRAMES != 1 << INDEX_W) begin : gen_illegal
    $fatal(1, "%m: FRAMES must be a power of two of at least 2");
  end

  logic [63:0]        now_q, ended_q, frame_q;
  logic [63:0]        kept_q [FRAMES];
  logic [INDEX_W-1:0] written_q, read_q;

  always_ff @(posedge clk) begin
    if (sample_taken) now_q <= sample_ticks;
    if (rx_end)       ended_q <= now_q;
    if (rx_kept)      kept_q[written_q] <= ended_q;
    if (rx_last)      frame_q <= kept_q[read_q];
    if (rst || !enabled) begin
      written_q <= '0;
      read_q    <= '0;
    end else begin
      written_q <= written_q + INDEX_W'(rx_kept);
      read_q    <= read_q + INDEX_W'(rx_last);
    end
  end

  assign now_ticks   = now_q;
  assign frame_ticks = frame_q;

endmodule

`default_nettype wire
