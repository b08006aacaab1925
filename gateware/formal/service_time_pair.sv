// SPDX-License-Identifier: GPL-2.0-or-later
// The two accounts of a packet's life give the same figures: service_time, which the simulator runs, and in hardware
// service_time_serial with record_collector, which reads it part by part. Both get the same life of a packet, a tick a
// clock at most, and the carrier sense of their own clocking. For every such life
//
//   - a part that is read while nothing is being added is the part of service_time,
//   - the account, from `collected` until the neighbour table has taken it in, is the account of service_time, and the
//     time from head to end that the table takes from it is service_us.
//
// It holds for ever, by induction: beside its claims stands the relation of the registers of both.
//
// Taken for granted is service_time_inputs.sv, which the job account_inputs shows of mac_core. Left free: what is heard
// and sent, when, and how long the neighbour table takes (`updated`).

`default_nettype none

module service_time_pair (
  input wire logic        clk,
  input wire logic        rst,
  input wire logic        tick,

  // From frame_sequence, descriptor_queue, queue_arbiter.
  input wire logic        head_taken,
  input wire logic [31:0] head_t_enqueue_us,
  input wire logic        in_contention,
  input wire logic        in_rts,
  input wire logic        in_data,
  input wire logic        in_gap,
  input wire logic        responded,
  input wire logic        timed_out,
  input wire logic        report,
  input wire logic        held,

  // What virtual_carrier_sense is told.
  input wire logic        cca_busy,
  input wire logic [15:0] own_left_us,
  input wire logic [15:0] nav_until_us,
  input wire logic [15:0] idle_us,
  input wire logic [15:0] ifs_us,

  input wire logic [9:0]  slots_left,
  input wire logic        draw,
  input wire logic [9:0]  draw_slots,

  // From neighbour_table_serial, which has taken the account in; and a part that anybody may read.
  input wire logic        updated,
  input wire logic [3:0]  read_index
);
  import perhop_pkg::*;

  localparam int unsigned PARTS = 9;
  localparam int unsigned TIMES = 5;
  localparam int unsigned RING  = TIMES + PARTS;

  logic begun_q = 1'b0;
  always_ff @(posedge clk) begun_q <= 1'b1;
  always_comb if (!begun_q) assume (rst);

  logic [63:0] tsf_us;
  tsf_timer u_tsf_timer (.clk, .rst, .tick_n(24'(tick)), .tsf_us);

  // As in frame_sequence.
  logic [31:0] t_head_us_q;
  always_ff @(posedge clk) if (head_taken && !tick) t_head_us_q <= tsf_us[31:0];

  // Each account has the carrier sense of its clocking; unit_ticks shows what `waits` and `waits_on` are.
  logic [1:0][15:0] reserved_us, ifs_left_us;
  for (genvar unit = 0; unit < 2; unit++) begin : g_sense
    virtual_carrier_sense #(.UNIT_TICKS(unit)) u_virtual_carrier_sense (
      .own_left_us, .nav_until_us, .idle_us, .ifs_us, .spaced(ifs_us != '0), .waits(ifs_us > idle_us),
      .waits_on(17'(ifs_us) > 17'(idle_us) + 17'd1), .reserved_us(reserved_us[unit]), .ifs_left_us(ifs_left_us[unit])
    );
  end

  // ---- The pair

  logic [31:0] t_enqueue_us, t_done_us, queue_us, service_us;
  logic [31:0] parts_us [16];
  logic [15:0] slots_drawn;
  for (genvar part = PARTS; part < 16; part++) begin : g_none
    assign parts_us[part] = '0;
  end

  service_time u_parallel (
    .clk, .rst, .tick_n(24'(tick)), .tsf_us(tsf_us[31:0]), .head_taken, .head_t_enqueue_us, .in_contention, .in_rts, .in_data,
    .in_gap, .responded, .timed_out, .report, .cca_busy, .held, .own_left_us, .reserved_us(reserved_us[0]),
    .ifs_left_us(ifs_left_us[0]), .summary('0), .slots_left, .draw, .draw_slots, .t_enqueue_us, .t_done_us, .slots_drawn,
    .queue_us, .ifs_us(parts_us[0]), .backoff_us(parts_us[1]), .frozen_cca_us(parts_us[2]), .frozen_nav_us(parts_us[3]),
    .control_us(parts_us[4]), .data_us(parts_us[5]), .response_us(parts_us[6]), .timeout_us(parts_us[7]),
    .responder_us(parts_us[8]), .service_us
  );

  logic [31:0] serial_t_enqueue_us, part_us;
  logic [15:0] serial_slots_drawn;
  logic [3:0]  collector_index;
  logic        busy, collected;
  logic [RING-1:0][31:0] account;

  wire logic       collects   = u_record_collector.state_q == 2'd1;   // ST_COLLECT
  wire logic       waits_for  = u_record_collector.state_q == 2'd2;   // ST_UPDATE
  wire logic [3:0] part_index = collects ? collector_index : read_index;

  service_time_serial u_serial (
    .clk, .rst, .tick, .head_taken, .head_t_enqueue_us, .in_contention, .in_rts, .in_data, .in_gap, .responded, .timed_out,
    .cca_busy, .held, .own_left_us, .reserved_us(reserved_us[1]), .ifs_left_us(ifs_left_us[1]), .slots_left, .draw,
    .draw_slots, .t_enqueue_us(serial_t_enqueue_us), .slots_drawn(serial_slots_drawn), .part_index, .part_us
  );

  logic [31:0] unused_word;
  record_collector u_record_collector (
    .clk, .rst, .tsf_us(tsf_us[31:0]), .busy, .report, .t_enqueue_us(serial_t_enqueue_us), .t_head_us(t_head_us_q),
    .t_first_tx_us('0), .part_index(collector_index), .part_us, .collected, .updated,
    .done_t_enqueue_us(account[0]), .done_t_head_us(account[1]), .done_t_first_tx_us(account[2]),
    .done_t_done_us(account[3]), .done_queue_us(account[4]), .done_ifs_us(account[5]), .done_backoff_us(account[6]),
    .done_frozen_cca_us(account[7]), .done_frozen_nav_us(account[8]), .done_control_us(account[9]),
    .done_data_us(account[10]), .done_response_us(account[11]), .done_timeout_us(account[12]),
    .done_responder_us(account[13]), .record('0), .word(unused_word)
  );

  service_time_inputs u_service_time_inputs (
    .clk, .rst, .tick, .head_taken, .in_contention, .in_rts, .in_data, .in_gap, .responded, .timed_out, .report, .busy
  );

  // ---- The claims

  // The account as service_time has it, in the order in which it is collected.
  logic [RING-1:0][31:0] wanted;
  always_comb begin
    wanted    = '0;
    wanted[0] = t_enqueue_us;
    wanted[1] = t_head_us_q;
    wanted[3] = t_done_us;
    wanted[4] = queue_us;
    for (int part = 0; part < int'(PARTS); part++) wanted[TIMES+part] = parts_us[part];
  end

  // From the clock of `collected` on, until the table has it.
  logic whole_q, taken_q;
  wire logic whole = collected || whole_q;
  always_ff @(posedge clk) begin
    whole_q <= !rst && whole && !updated;
    if (rst) taken_q <= 1'b0;   // there was a packet
    else if (head_taken) taken_q <= 1'b1;
  end

  always_comb if (begun_q && !rst) begin
    if (!u_serial.adding) a_part_is_the_same : assert (part_us == parts_us[part_index]);
    if (taken_q) begin
      a_came_at_the_same_time : assert (serial_t_enqueue_us == t_enqueue_us);
      a_slots_are_the_same    : assert (serial_slots_drawn == slots_drawn);
    end
    if (whole) begin
      a_account_is_the_same   : assert (account == wanted);
      a_service_is_head_to_end: assert (account[3] - account[1] == service_us);
    end
  end

  // ---- The relation, for the induction

  wire logic open = u_service_time_inputs.open_q;
  wire logic told = u_record_collector.pending_q || collects || waits_for;   // reported, not taken in yet

  always_comb if (begun_q && !rst) begin
    i_waited      : assert (u_parallel.waited_us_q == u_serial.waited_us_q);
    i_adds_to_one : assert (!u_serial.adding || u_serial.index_q < 4'(PARTS));
    i_adds_once   : assert (!u_serial.counts_q || !u_serial.resolved_q);

    if (open || told) begin
      i_packet  : assert (taken_q);
      i_queue   : assert (queue_us == t_head_us_q - t_enqueue_us);
      i_service : assert (service_us == tsf_us[31:0] - t_head_us_q);
    end
    if (told) begin
      i_between : assert (!open && busy && t_done_us == tsf_us[31:0]);
      i_settled : assert (!u_serial.adding);
    end

    // The ring is turned as far as it has been filled.
    if (collects) begin
      i_place : assert (u_record_collector.index_q < 5'(RING));
      i_asks  : assert (u_record_collector.index_q == '0 || collector_index == 4'(u_record_collector.index_q - 5'(TIMES)));
    end
    if (waits_for) i_full : assert (u_record_collector.ring_q == wanted);
    if (whole) i_whole : assert (waits_for);
  end

  // What service_time has, the memory has, but for what is added in this clock.
  for (genvar part = 0; part < PARTS; part++) begin : g_part
    wire logic        added   = u_serial.index_q == 4'(part);
    wire logic [31:0] held_us = u_serial.begun_q[part] ? u_serial.parts_q[part] : '0;
    wire logic [31:0] more_us = u_serial.counts_q ? 32'd1 : u_serial.resolved_q ? u_serial.added_us_q : '0;
    always_comb if (begun_q && !rst) i_part : assert (parts_us[part] == held_us + (added ? more_us : '0));
  end

  // What has been collected lies at the end of the ring.
  for (genvar slot = 0; slot < RING; slot++) begin : g_slot
    wire logic [4:0] place = 5'(slot) + u_record_collector.index_q - 5'(RING);
    always_comb if (begun_q && !rst && collects && place < 5'(RING)) begin
      i_ring : assert (u_record_collector.ring_q[slot] == wanted[place[3:0]]);
    end
  end

  // ---- It can happen: a packet with time in its parts is collected, and another after it.
  logic second_q;
  always_ff @(posedge clk) second_q <= !rst && (second_q || (collected && parts_us[0] != '0 && parts_us[6] != '0));
  always_comb if (begun_q && !rst) begin
    c_account      : cover (collected && service_us != '0 && parts_us[5] != '0 && parts_us[6] != '0);
    c_after_another: cover (collected && second_q && parts_us[7] != '0 && parts_us[8] != '0);
  end

endmodule

`default_nettype wire
