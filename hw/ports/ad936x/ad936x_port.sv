// SPDX-License-Identifier: GPL-2.0-or-later
// The CMOS port of an AD936x at single data rate, one channel, full duplex: 12 bits each way with every clock, I while the frame
// signal is high, then Q. 12 bits become the upper ones of 16.
//
// Timing: `stb` every second clock, when a whole received sample is there and the next sample to send is taken.

`default_nettype none

module ad936x_port (
  input  wire logic        clk,           // DATA_CLK
  input  wire logic        rst,

  // The chip.
  input  wire logic        rx_frame,
  input  wire logic [11:0] rx_data,
  output wire logic        tx_frame,
  output wire logic [11:0] tx_data,

  // The shell.
  output wire logic        stb,
  output wire logic [31:0] rx_sample,     // I in the upper half
  input  wire logic [31:0] tx_sample
);

  logic [11:0] rx_q, i_q, q_q, out_q_q, tx_q;
  logic        frame_q, had_i_q, stb_q, tx_frame_q;

  always_ff @(posedge clk) begin
    rx_q <= rx_data;
    if (rst) begin
      frame_q    <= 1'b0;
      had_i_q    <= 1'b0;
      stb_q      <= 1'b0;
      tx_frame_q <= 1'b0;
    end else begin
      frame_q <= rx_frame;
      had_i_q <= frame_q;
      stb_q   <= had_i_q && !frame_q;
      // A sample to send is taken with `stb`: its I goes out then, its Q with the clock behind it.
      tx_frame_q <= stb_q;
    end
    if (frame_q) i_q <= rx_q;
    else         q_q <= rx_q;
    if (stb_q) out_q_q <= tx_sample[15:4];
    tx_q <= stb_q ? tx_sample[31:20] : out_q_q;
  end

  assign stb       = stb_q;
  assign rx_sample = {i_q, 4'd0, q_q, 4'd0};
  assign tx_frame  = tx_frame_q;
  assign tx_data   = tx_q;

  wire logic unused = &{1'b0, tx_sample[19:16], tx_sample[3:0]};

endmodule

`default_nettype wire
