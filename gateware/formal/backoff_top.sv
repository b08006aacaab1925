// SPDX-License-Identifier: GPL-2.0-or-later
// backoff_counter alone with one slot time, which spares the solver a multiplication;
// its neighbours do what backoff_interface says.

`default_nettype none

module backoff_top #(
  parameter int unsigned SLOT_US = 20
) (
  input  wire logic        clk,
  input  wire logic [23:0] tick_n,
  input  wire logic        draw,
  input  wire logic [9:0]  draw_slots,
  input  wire logic        packet_waiting,
  input  wire logic        access_taken,
  input  wire logic        cca_busy,
  input  wire logic [15:0] reserved_us,
  input  wire logic [15:0] ifs_left_us
);

  logic rst = 1'b1;
  always_ff @(posedge clk) rst <= 1'b0;

  logic        running;
  logic [9:0]  slots_left;
  logic [23:0] slots_left_us;

  backoff_counter u_backoff_counter (.*, .cfg_slot_us(13'(SLOT_US)), .summary('0));

endmodule

`default_nettype wire
