// SPDX-License-Identifier: GPL-2.0-or-later
// A station that is told late what it heard, by a medium_summary_s, is where it would be had it been told at the time. Two
// copies of the modules that listen start in one and the same state. One is told a summary. The other one is told a
// summary of all but the last moment, and then that moment itself: a tick, or the end of a frame for others. Then
// both are in one and the same state. `grown` says what a moment adds to a summary; sim/air/deferred_indications.hpp adds up
// many at once. As a summary of nothing is a jump like any other, each summary equals all that it is made of.
//
// Before what is told come ticks in which the station knows how the medium stands. They are a jump like any other, too
// (jumps_split, backoff_rules), and so they are few here, and the back-off needs one stage.

`default_nettype none

module summary_top
  import perhop_pkg::*;
#(
  parameter int unsigned SLOT_US = 20,
  parameter bit          PARTS   = 1'b0,   // shown are the parts of a packet's life, or else all the rest
  parameter int unsigned MOST_US = 'hff_0000   // more is not told of at once
) (
  input  wire logic        clk,
  input  wire logic [3:0]  known_us,        // ticks before those that are told
  input  wire medium_summary_s told,        // of all but the last moment
  input  wire logic        carrier_before,  // as the station knows it
  input  wire logic        carrier,         // in the last moment
  input  wire logic        frame_ends,      // it is the end of a frame, or else a tick,
  input  wire logic        bad,
  input  wire logic [14:0] duration_us,
  input  wire logic        knows,           // ... in which the station knows the medium to be reserved
  input  wire logic [14:0] cfg_difs_us,
  input  wire logic [15:0] cfg_eifs_us,
  input  wire logic [1:0]  cfg_access_mode,
  input  wire logic        cfg_quirk_eifs_as_nav,
  input  wire logic        packet_waiting,
  input  wire logic        in_contention,
  input  wire logic        in_rts,
  input  wire logic        in_data,
  input  wire logic        in_gap,

  // How the last moment finds the station.
  input  wire logic [15:0] left_us,
  input  wire logic [15:0] idle_us,
  input  wire logic        extended
);

  mac_settings_s settings;
  always_comb begin
    settings                   = '0;
    settings.difs_us           = cfg_difs_us;
    settings.eifs_us           = cfg_eifs_us;
    settings.access_mode       = cfg_access_mode;
    settings.quirk_eifs_as_nav = cfg_quirk_eifs_as_nav;
    settings.nav_reset_us      = 16'd1;
  end

  // What is told, the moment by itself, then one clock to compare.
  logic [1:0] step_q = 2'd0;
  wire logic [319:0] still = 320'({
    known_us, told, carrier_before, carrier, frame_ends, bad, duration_us, knows, cfg_difs_us, cfg_eifs_us, cfg_access_mode,
    cfg_quirk_eifs_as_nav, packet_waiting, in_contention, in_rts, in_data, in_gap, left_us, idle_us, extended});
  logic [319:0] still_q;
  always_ff @(posedge clk) begin
    if (step_q != 2'd3) step_q <= step_q + 1'b1;
    still_q <= still;
  end
  always_comb if (step_q != 2'd0) assume (still == still_q);

  // ---- What the moment adds
  wire logic [15:0] space_us = cfg_access_mode != ACCESS_DCF ? '0 : extended ? cfg_eifs_us : 16'(cfg_difs_us);
  wire logic        nav_bad  = bad && cfg_quirk_eifs_as_nav;   // ns-2
  wire logic [15:0] nav_us   = nav_bad ? cfg_eifs_us : bad ? '0 : 16'(duration_us);
  wire logic [15:0] idle_on_us = idle_us == '1 ? '1 : idle_us + 1'b1;
  wire logic        in_slot  = told.us != '0 && idle_us >= space_us;
  wire logic [13:0] phase_us = 14'(told.phase_us) + 14'd1;

  medium_summary_s grown;
  always_comb begin
    grown = told;
    if (frame_ends) begin
      grown.heard = 1'b1;
      grown.bad   = bad && !nav_bad;
      if (nav_us > left_us) grown.nav_left_us = nav_us;
    end else begin
      if (told.nav_left_us != '0) grown.nav_left_us = told.nav_left_us - 1'b1;
      if (!knows) begin
        grown.us       = told.us + 1'b1;
        grown.phase_us = '0;
        grown.idle_us  = '0;
        if (left_us != '0) begin
          grown.nav_us = told.nav_us + 1'b1;
        end else if (carrier) begin
          grown.cca_us = told.cca_us + 1'b1;
        end else begin
          grown.idle_us = idle_on_us;
          if (idle_us < space_us) grown.ifs_us = told.ifs_us + 1'b1;
          else if (in_slot && phase_us == 14'(SLOT_US)) grown.slots = told.slots + 1'b1;
          else if (in_slot) grown.phase_us = phase_us[12:0];
          if (idle_on_us >= space_us) grown.spaced = 1'b1;
        end
      end
    end
  end

  // ---- The station, twice
  wire logic [23:0] told_ticks = 24'(known_us) + told.us;
  wire logic [23:0] tick_n [2];
  assign tick_n[0] = step_q == 2'd0 ? told_ticks + 24'(!frame_ends) : '0;
  assign tick_n[1] = step_q == 2'd0 ? told_ticks : step_q == 2'd1 ? 24'(!frame_ends) : '0;
  medium_summary_s summary [2];
  assign summary[0] = step_q == 2'd0 ? grown : '0;
  assign summary[1] = step_q == 2'd0 ? told : '0;
  wire logic cca_busy = step_q == 2'd0 ? carrier_before : carrier;

  for (genvar copy = 0; copy < 2; copy++) begin : g_copy
    wire logic ends = copy == 1 && step_q == 2'd1 && frame_ends;
    logic [15:0] nav_left_us, nav_until_us, own_left_us, idle_now_us, ifs_us, reserved_us, ifs_left_us;
    logic        reset_armed, spaced, waits, waits_on, running;
    logic [9:0]  slots_left;
    logic [23:0] slots_left_us;

    nav_counter u_nav_counter (
      .clk, .rst(1'b0), .tick_n(tick_n[copy]), .settings, .summary_nav_left_us(summary[copy].nav_left_us), .rx_start(1'b0),
      .rx_overheard(ends && !bad), .rx_bad(ends && bad), .rx_is_rts(1'b0), .rx_duration_us(duration_us),
      .nav_left_us, .nav_until_us, .reset_armed
    );
    own_transmission u_own_transmission (
      .clk, .rst(1'b0), .tick_n(tick_n[copy]), .hold(1'b0), .hold_us('0), .own_left_us
    );
    virtual_carrier_sense u_virtual_carrier_sense (.*, .idle_us(idle_now_us));
    interframe_space u_interframe_space (
      .clk, .rst(1'b0), .tick_n(tick_n[copy]), .settings, .cca_busy, .rx_end(ends), .rx_bad(ends && bad), .tx_go(1'b0),
      .waive(1'b0), .reserved_us, .summary(summary[copy]), .idle_us(idle_now_us), .ifs_us, .spaced, .waits, .waits_on
    );
    backoff_counter #(.RADIX_STAGES(1)) u_backoff_counter (
      .clk, .rst(1'b0), .tick_n(tick_n[copy]), .cfg_slot_us(13'(SLOT_US)), .draw(1'b0), .draw_slots('0), .packet_waiting,
      .access_taken(1'b0), .cca_busy, .reserved_us, .ifs_left_us, .summary(summary[copy]), .running, .slots_left, .slots_left_us
    );
    service_time u_service_time (
      .clk, .rst(1'b0), .tick_n(tick_n[copy]), .tsf_us('0), .head_taken(1'b0), .head_t_enqueue_us('0),
      .in_contention, .in_rts, .in_data, .in_gap, .responded(1'b0), .timed_out(1'b0), .report(1'b0),
      .cca_busy, .held(1'b0), .own_left_us, .reserved_us, .ifs_left_us, .summary(summary[copy]), .slots_left('0), .draw(1'b0),
      .draw_slots('0), .t_enqueue_us(), .t_done_us(), .slots_drawn(), .queue_us(), .ifs_us(), .backoff_us(), .frozen_cca_us(),
      .frozen_nav_us(), .control_us(), .data_us(), .response_us(), .timeout_us(), .responder_us(), .service_us()
    );

    // Nobody looks at a NAV that ends within the own transmission, at the time of a reset that is not armed, and at how much
    // of a slot has passed where none is left.
    wire logic [88:0] state = {
      nav_left_us > own_left_us ? nav_left_us : 16'd0, reset_armed ? u_nav_counter.reset_left_us_q : 16'd0, reset_armed, own_left_us, idle_now_us,
      u_interframe_space.extended_q, running, slots_left, running && slots_left != '0 ? u_backoff_counter.phase_us_q[11:0] : 12'd0};
    wire logic [319:0] parts_us = {
      u_service_time.ifs_us_q, u_service_time.backoff_us_q, u_service_time.frozen_cca_us_q,
      u_service_time.frozen_nav_us_q, u_service_time.control_us_q, u_service_time.data_us_q,
      u_service_time.response_us_q, u_service_time.responder_us_q, u_service_time.waited_us_q,
      u_service_time.service_us_q};
  end

  // ---- What is told of, and when
  // A station whose NAV may be reset is told of idle time only, and does not contend.
  wire logic unsure = g_copy[0].reset_armed;

  always_comb begin
    assume (cfg_difs_us != '0 && cfg_eifs_us != '0);
    assume ($onehot0({in_contention, in_rts, in_data, in_gap}));
    assume (packet_waiting == in_contention);
    if (step_q == 2'd0) begin
      assume (g_copy[0].state == g_copy[1].state);
      assume (g_copy[0].u_backoff_counter.phase_us_q == g_copy[1].u_backoff_counter.phase_us_q);
      assume (g_copy[0].u_backoff_counter.phase_us_q < 13'(SLOT_US));
      assume (g_copy[0].nav_left_us == g_copy[1].nav_left_us);
      assume (g_copy[0].u_nav_counter.reset_left_us_q == g_copy[1].u_nav_counter.reset_left_us_q);
      assume (!unsure || (g_copy[0].nav_left_us != '0 && g_copy[0].u_nav_counter.reset_left_us_q != '0));
      assume (g_copy[0].parts_us == '0 && g_copy[1].parts_us == '0);   // they only add
      assume (cfg_access_mode == ACCESS_DCF || !g_copy[0].running);
      // No sum passes what it counts in.
      assume (told.us < 24'(MOST_US) && told.slots < 10'h3ff && told.phase_us < 13'(SLOT_US));
      assume (26'(told.nav_us) + 26'(told.cca_us) + 26'(told.ifs_us) <= 26'(told.us));
      // What is told of came later than the station's last clock.
      assume (known_us != '0);
      // A frame only lengthens what is reserved.
      if (told.nav_left_us != '0) assume (25'(told_ticks) + 25'(told.nav_left_us) > 25'(g_copy[0].reserved_us));
      // It is told from the moment on in which the station no longer knows the medium to be reserved.
      assume (told.us == '0 || !knows);
      if (unsure) begin
        assume (!knows && !frame_ends && !told.heard && told.nav_left_us == '0 && !in_contention && !g_copy[0].running);
      end else if (knows) begin
        assume (24'(known_us) < 24'(g_copy[0].reserved_us));
      end else if (!frame_ends || told.us != '0) begin
        assume (24'(known_us) >= 24'(g_copy[0].reserved_us));
      end
      if (told.us == '0) assume (told.slots == '0);
      if (told.us == '0) assume (told.phase_us == '0 && !told.spaced);
    end
    if (step_q == 2'd1 && !unsure) begin
      assume (g_copy[1].reserved_us == left_us && g_copy[1].idle_now_us == idle_us);
      assume (g_copy[1].u_interframe_space.extended_q == extended);
      if (told.us != '0) assume (told.idle_us == idle_us);
      if (told.nav_left_us != '0) assume (told.nav_left_us == left_us);
      // What is told begins with something that keeps the medium, or with its end.
      if (told.us == '0) assume (carrier || left_us != '0 || idle_us == '0);
    end
    if (step_q == 2'd2) begin
      if (!PARTS) a_state_is_that_of_who_heard : assert (g_copy[0].state == g_copy[1].state);
      if (PARTS) a_parts_are_those_of_who_heard : assert (g_copy[0].parts_us == g_copy[1].parts_us);
    end
  end

endmodule

`default_nettype wire
