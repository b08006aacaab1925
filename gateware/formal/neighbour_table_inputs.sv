// SPDX-License-Identifier: GPL-2.0-or-later
// What record_collector and the MAC tell the neighbour table of the hardware. neighbour_table_pair takes it for granted;
// the job account_inputs shows it of mac_core with UNIT_TICKS. Bound into neighbour_table_serial.

`default_nettype none

module neighbour_table_inputs (
  input wire logic        clk,
  input wire logic        rst,
  input wire logic [2:0]  cfg_average_shift,
  input wire logic        update,
  input wire logic        updated,
  input wire logic        dropped,
  input wire logic [3:0]  peer,
  input wire logic [4:0]  data_attempts,
  input wire logic [31:0] control_us,
  input wire logic [31:0] data_us,
  input wire logic [31:0] response_us,
  input wire logic [31:0] t_head_us,
  input wire logic [31:0] t_done_us,
  input wire logic [3:0]  state
);

  localparam logic [3:0] ST_IDLE = 4'd1, ST_SNAPSHOT = 4'd9;

  wire logic [172:0] packet = {cfg_average_shift, dropped, peer, data_attempts, control_us, data_us, response_us, t_head_us, t_done_us};

  logic         begun_q = 1'b0;
  logic         working_q;   // from the clock after `update` to that of `updated`
  logic [172:0] packet_q;
  always_ff @(posedge clk) begin
    begun_q   <= 1'b1;
    working_q <= !rst && (update || (working_q && !updated));
    packet_q  <= packet;
  end

  always_comb if (begun_q && !rst) begin
    a_after_the_counts_of_the_last : assert (!update || state inside {ST_IDLE, ST_SNAPSHOT});
    a_packet_stands                : assert (!working_q || packet == packet_q);
  end

endmodule

bind neighbour_table_serial neighbour_table_inputs u_neighbour_table_inputs (.state(state_q), .*);

`default_nettype wire
