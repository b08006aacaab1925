// SPDX-License-Identifier: GPL-2.0-or-later
// service_time and service_time_serial side by side, with the same inputs.

`default_nettype none

module service_times_bench (
  input  wire logic        clk,
  input  wire logic        rst,
  input  wire logic        tick,
  input  wire logic [31:0] tsf_us,
  input  wire logic        head_taken,
  input  wire logic [31:0] head_t_enqueue_us,
  input  wire logic        in_contention,
  input  wire logic        in_rts,
  input  wire logic        in_data,
  input  wire logic        in_gap,
  input  wire logic        responded,
  input  wire logic        timed_out,
  input  wire logic        cca_busy,
  input  wire logic        held,
  input  wire logic [15:0] own_left_us,
  input  wire logic [15:0] reserved_us,
  input  wire logic [15:0] ifs_left_us,
  input  wire logic [9:0]  slots_left,
  input  wire logic        draw,
  input  wire logic [9:0]  draw_slots,
  input  wire logic [3:0]  part_index,

  output wire logic [31:0] wanted_us,       // the part that service_time has
  output wire logic [31:0] part_us,
  output wire logic [31:0] wanted_t_enqueue_us,
  output wire logic [31:0] t_enqueue_us,
  output wire logic [15:0] wanted_slots,
  output wire logic [15:0] slots_drawn
);

  logic [31:0] parts_us [16];
  logic [31:0] unused_t_done_us, unused_queue_us, unused_service_us;
  for (genvar part = 9; part < 16; part++) begin : g_none
    assign parts_us[part] = '0;
  end

  service_time u_wanted (
    .clk, .rst, .tick_n(24'(tick)), .tsf_us, .head_taken, .head_t_enqueue_us, .in_contention, .in_rts, .in_data, .in_gap,
    .responded, .timed_out, .report(1'b0), .cca_busy, .held, .own_left_us, .reserved_us, .ifs_left_us, .summary('0), .slots_left,
    .draw, .draw_slots, .t_enqueue_us(wanted_t_enqueue_us), .t_done_us(unused_t_done_us), .slots_drawn(wanted_slots),
    .queue_us(unused_queue_us), .ifs_us(parts_us[0]), .backoff_us(parts_us[1]), .frozen_cca_us(parts_us[2]),
    .frozen_nav_us(parts_us[3]), .control_us(parts_us[4]), .data_us(parts_us[5]), .response_us(parts_us[6]),
    .timeout_us(parts_us[7]), .responder_us(parts_us[8]), .service_us(unused_service_us)
  );
  assign wanted_us = parts_us[part_index];

  service_time_serial u_serial (
    .clk, .rst, .tick, .head_taken, .head_t_enqueue_us, .in_contention, .in_rts, .in_data, .in_gap, .responded, .timed_out,
    .cca_busy, .held, .own_left_us, .reserved_us, .ifs_left_us, .slots_left, .draw, .draw_slots, .t_enqueue_us, .slots_drawn,
    .part_index, .part_us
  );

endmodule

`default_nettype wire
