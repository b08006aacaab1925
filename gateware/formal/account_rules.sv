// SPDX-License-Identifier: GPL-2.0-or-later
// In hardware the account of a packet goes from its queue through record_collector into neighbour_table_serial, and the
// MAC waits for them: what the proofs of the pairs take for granted of that (service_time_inputs, neighbour_table_inputs)
// holds, and of two queues it is the one that has reported whose account is collected.
//
// Beyond mac_environment a clock carries one tick or none. Bound into mac_core with UNIT_TICKS.

`default_nettype none
`define SEQUENCE mac_core.g_queue[queue].u_transmit_queue.u_frame_sequence

module account_rules
  import perhop_pkg::*;
#(
  parameter int unsigned QUEUES = 1
) (
  input wire logic              clk,
  input wire logic              rst,
  input wire logic [23:0]       tick_n,
  input wire logic [15:0]       own_left_us,
  input wire logic [QUEUES-1:0] report,
  input wire logic [QUEUES-1:0] outcome,
  input wire logic [QUEUES-1:0] in_exchange,
  input wire logic              table_busy,
  input wire logic              reporter
);

  always_comb assume (tick_n <= 24'd1);

  // States of record_collector and of neighbour_table_serial, and the word that comes first of the counts.
  localparam logic [1:0] AT_REST = 2'd0, COLLECTS = 2'd1, UPDATES = 2'd2, TELLS = 2'd3;
  localparam logic [3:0] ST_CLEAR = 4'd0, ST_IDLE = 4'd1, ST_SAMPLE = 4'd3, ST_ADD = 4'd7, ST_STORE = 4'd8, ST_SNAPSHOT = 4'd9;
  localparam logic [2:0] EN_PACKETS = 3'd3;

  wire logic [1:0] collector = mac_core.g_serial.u_record_collector.state_q;
  wire logic [4:0] word      = mac_core.g_serial.u_record_collector.index_q;
  wire logic       pending   = mac_core.g_serial.u_record_collector.pending_q;
  wire logic       asked     = mac_core.g_serial.collector_busy;
  wire logic       collected = mac_core.g_serial.collected;
  wire logic       updated   = mac_core.done_valid;
  wire logic [3:0] state     = 4'(mac_core.g_serial.u_neighbour_table.state_q);
  wire logic [2:0] entry     = mac_core.g_serial.u_neighbour_table.entry_q;
  wire logic       at_rest   = state inside {ST_CLEAR, ST_IDLE, ST_SNAPSHOT};

  // Clocks for which the table has been at the counts, three a word.
  wire logic       counts    = !at_rest && entry >= EN_PACKETS;
  wire logic [4:0] since     = 5'd3 * 5'(entry - EN_PACKETS) + (state == ST_ADD ? 5'd1 : state == ST_STORE ? 5'd2 : 5'd0);

  logic begun_q = 1'b0, reporter_q;
  always_ff @(posedge clk) begin
    begun_q    <= 1'b1;
    reporter_q <= reporter;
  end

  always_comb if (begun_q && !rst) begin
    a_one_reports        : assert ($onehot0(report));
    a_none_over_another  : assert (report == '0 || !asked);
    if (asked) begin
      a_reporter_stands  : assert (outcome == '0 && reporter == reporter_q);
    end

    // The collector is ahead of the table: its record has more words than the table has clocks of counts.
    if (counts) begin
      i_counts : assert (state inside {ST_SAMPLE, ST_ADD, ST_STORE});
      i_in_step: assert ((updated && collector == UPDATES && since == '0) || (collector == TELLS && word + 5'd1 == since));
    end
    if (!at_rest && !counts) i_takes_in : assert (collector == UPDATES && !collected && !updated && mac_core.g_serial.neighbours_busy);
    if (collector == UPDATES) i_waits_for_it : assert (collected ? at_rest && state != ST_CLEAR : updated ? counts : !at_rest && !counts);
    i_takes_it_in : assert (mac_core.g_serial.u_neighbour_table.u_neighbour_table_inputs.working_q == (collector == UPDATES && !collected));
    if (collected || updated) i_only_then    : assert (collector == UPDATES);
    if (collected) i_one_of_them             : assert (!updated);
    if (updated) i_done                      : assert (mac_core.g_serial.neighbours_busy);
    if (mac_core.g_serial.u_neighbour_table.busy_q) i_busy : assert (collector == UPDATES);
    if (state == ST_CLEAR) i_clears          : assert (collector == AT_REST && !pending);
    if (report != '0) i_reports_alone        : assert (in_exchange == '0);
    if (asked) i_no_time_passes              : assert (in_exchange == '0 || own_left_us != '0);
    if (collector != AT_REST) i_word         : assert (word < 5'(collector == COLLECTS ? 14 : collector == TELLS ? COMPLETION_RECORD_WORDS : 1));
  end

  for (genvar queue = 0; queue < QUEUES; queue++) begin : g_queue
    wire logic [2:0] sequence_state = `SEQUENCE.state_q;
    always_comb if (begun_q && !rst) begin
      if (report[queue]) a_its_account : assert (reporter == 1'(queue));
      if (state == ST_CLEAR) i_no_packet : assert (sequence_state == '0);
      // An exchange of the other queue has just begun, and stays there.
      if (asked && in_exchange[queue]) begin
        i_still_sends : assert (!`SEQUENCE.response_began_q && !`SEQUENCE.timer_over && sequence_state != 3'd3);   // ST_GAP
      end
      if (asked && reporter == 1'(queue)) i_its_packet_is_over : assert (sequence_state == '0);
    end
  end

endmodule

bind mac_core account_rules #(.QUEUES(QUEUES)) u_account_rules (.*);

`undef SEQUENCE
`default_nettype wire
