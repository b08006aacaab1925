// SPDX-License-Identifier: GPL-2.0-or-later
// Back-off: a number of slots drawn from 0..CW, counted down one by one while the
// medium is idle past the inter-frame space; a busy medium freezes the count, and the
// slot that it breaks into does not count (IEEE 802.11-2012, 9.3.4.3).
//
// A back-off runs on without a packet (post-back-off), so a station that has just
// sent waits its turn even if its next packet comes later.
//
// A jump of many ticks is divided into slots by a chain of RADIX_STAGES
// compare-and-subtract stages, largest first. Hardware, where a tick is one
// microsecond, needs one stage.

`default_nettype none

module backoff_counter
  import tick_shares_pkg::*;
  import perhop_pkg::*;
#(
  parameter int unsigned RADIX_STAGES = 11,  // a jump holds fewer than 2**RADIX_STAGES slots
  parameter bit          UNIT_TICKS   = 1'b0 // a clock carries one tick or none (hardware); one stage will do
) (
  input  wire logic        clk,
  input  wire logic        rst,
  input  wire logic [23:0] tick_n,
  input  wire logic [12:0] cfg_slot_us,

  // From frame_sequence.
  input  wire logic        draw,             // one clock: begin a back-off of draw_slots
  input  wire logic [9:0]  draw_slots,
  input  wire logic        packet_waiting,
  input  wire logic        access_taken,     // one clock: the packet starts

  // From phy_events and virtual_carrier_sense.
  input  wire logic        cca_busy,
  input  wire logic [15:0] reserved_us,
  input  wire logic [15:0] ifs_left_us,

  // 0 in hardware.
  input  wire medium_summary_s summary,

  output wire logic        running,          // a back-off is in progress
  output wire logic [9:0]  slots_left,
  output wire logic [23:0] slots_left_us     // ... as time, the part of a slot already past taken off
);

  logic        running_q;
  logic [9:0]  slots_left_q;
  logic [12:0] phase_us_q;    // of the current slot, how much has passed

  wire logic        in_slots = reserved_us == '0 && ifs_left_us == '0;
  wire logic [12:0] phase_us = in_slots ? phase_us_q : '0;

  wire logic [23:0] summary_us = summary.us;
  wire logic [9:0] summary_slots = summary.slots;
  wire logic [12:0] summary_phase_us = summary.phase_us;
  wire logic summary_spaced = summary.spaced;
  wire logic unused_summary = &{1'b0, summary};

  // {slots left, microseconds into the next one} after `over_us` of idle time: one bit more than a jump, for
  // the part of a slot before it.
  function automatic logic [22:0] count_down(logic [9:0] slots, logic [24:0] over_us, logic [12:0] slot_us);
    logic [9:0]  left = slots;
    logic [24:0] rest_us = over_us;
    for (int stage = int'(RADIX_STAGES) - 1; stage >= 0; stage--) begin
      if (rest_us >= (25'(slot_us) << stage)) begin
        rest_us = rest_us - (25'(slot_us) << stage);
        left    = 11'(left) > (11'd1 << stage) ? left - 10'(11'd1 << stage) : '0;
      end
    end
    return {left, left == '0 ? 13'd0 : rest_us[12:0]};
  endfunction

  always_ff @(posedge clk) begin
    automatic ticks_t      n_told  = UNIT_TICKS ? tick_n : tick_n - summary_us;
    automatic ticks_t      n_free  = free_share(n_told, reserved_us, UNIT_TICKS);
    automatic ticks_t      n_slots = slots_share(n_free, cca_busy, ifs_left_us, UNIT_TICKS);
    automatic logic        ifs_over = n_free >= 24'(ifs_left_us);
    automatic logic [13:0] next_phase_us = 14'(phase_us_q) + 14'd1;
    automatic logic        slot_ends = next_phase_us == 14'(cfg_slot_us);
    automatic logic [22:0] counted = '0;
    automatic logic [9:0]  left;   // before what the summary says
    if (UNIT_TICKS) ifs_over = ifs_left_us == '0 || (ifs_left_us == 16'd1 && n_free != '0);
    // With UNIT_TICKS the sum does not wait for what decides whether the tick was a slot's. A phase is shorter than a slot.
    if (UNIT_TICKS) counted = {slot_ends ? slots_left_q - 10'd1 : slots_left_q, slot_ends ? 13'd0 : 13'(next_phase_us)};
    else if (running_q && n_slots != '0) counted = count_down(slots_left_q, 25'(phase_us) + 25'(n_slots), cfg_slot_us);
    left = n_slots == '0 ? slots_left_q : counted[22:13];
    if (rst) begin
      running_q    <= 1'b0;
      slots_left_q <= '0;
      phase_us_q   <= '0;
    end else if (tick_n != '0) begin
      if (running_q) begin
        if (slots_left_q == '0) begin
          // Over, with the inter-frame space, and no packet to send: the next one may go at once.
          if (!packet_waiting && !cca_busy && ends(n_told, 24'(reserved_us), UNIT_TICKS) && ifs_over) begin
            running_q <= 1'b0;
          end
          if (!UNIT_TICKS && !packet_waiting && summary_us != '0 && summary_spaced) running_q <= 1'b0;
        end else if (n_slots == '0) begin
          phase_us_q <= '0;
        end else begin
          {slots_left_q, phase_us_q} <= counted;
          if (counted[22:13] == '0 && !packet_waiting) running_q <= 1'b0;
        end
        if (!UNIT_TICKS && summary_us != '0 && left != '0) begin
          slots_left_q <= summary_slots < left ? left - summary_slots : '0;
          phase_us_q   <= summary_phase_us;
          if (summary_slots >= left && !packet_waiting) running_q <= 1'b0;
        end
      end
    end else if (draw) begin
      running_q    <= 1'b1;
      slots_left_q <= draw_slots;
      phase_us_q   <= '0;
    end else if (access_taken) begin
      running_q <= 1'b0;
    end
  end

  assign running       = running_q;
  assign slots_left    = slots_left_q;
  if (UNIT_TICKS) begin : g_unit   // nobody looks ahead
    assign slots_left_us = '0;
    wire logic unused = &{1'b0, phase_us};
  end else begin : g_any
    assign slots_left_us = slots_left_q == '0 ? '0 : 24'(slots_left_q) * 24'(cfg_slot_us) - 24'(phase_us);
  end

endmodule

`default_nettype wire
