// SPDX-License-Identifier: GPL-2.0-or-later
// What frame_sequence and the rest of the MAC tell the account of a packet's life. service_time_pair takes it for
// granted; the job account_inputs shows it of mac_core with UNIT_TICKS, for which it is bound into transmit_queue.

`default_nettype none

module service_time_inputs (
  input wire logic clk,
  input wire logic rst,
  input wire logic tick,
  input wire logic head_taken,
  input wire logic in_contention,
  input wire logic in_rts,
  input wire logic in_data,
  input wire logic in_gap,
  input wire logic responded,
  input wire logic timed_out,
  input wire logic report,
  input wire logic busy          // an account is collected, or taken into the table
);

  // From the clock in which a packet's service has begun to that of its report.
  logic open_q;
  always_ff @(posedge clk) begin
    if (rst) open_q <= 1'b0;
    else if (head_taken) open_q <= 1'b1;
    else if (report) open_q <= 1'b0;
  end

  logic begun_q = 1'b0;
  always_ff @(posedge clk) begun_q <= 1'b1;

  wire logic [4:0] states = {in_contention, in_rts, in_data, in_gap, report};

  always_comb if (begun_q && !rst) begin
    a_one_state_at_most     : assert ((states & (states - 1'b1)) == '0);
    a_always_in_one         : assert ((states != '0) == open_q);
    a_one_packet_at_a_time  : assert (!head_taken || !open_q);
    a_one_outcome           : assert (!responded || !timed_out);
    a_outcome_of_a_packet   : assert ((!responded && !timed_out) || (open_q && !report));
    a_no_packet_meanwhile   : assert (!head_taken || !busy);
    a_no_tick_with_an_event : assert (!tick || (!head_taken && !report));
    a_no_tick_meanwhile     : assert (!tick || !busy);
  end

endmodule

bind transmit_queue service_time_inputs u_service_time_inputs (.tick(tick_n != '0), .busy(mac_core.table_busy), .*);

`default_nettype wire
