// SPDX-License-Identifier: GPL-2.0-or-later
// Time may come in any portions: two copies of the modules that count it start in one
// and the same state, any that nav_rules allows; one gets a jump of n + 1 ticks, the
// other a jump of n and a single tick. Then they are in one and the same state again.
// As this holds for every n and every state, each jump equals its ticks one by one, and
// so does every way to divide it. (The slots of the back-off are left out here:
// backoff_rules shows them to count time exactly.)

`default_nettype none

module jump_top
  import perhop_pkg::*;
(
  input  wire logic        clk,
  input  wire logic [23:0] jump_us,
  input  wire logic        phy_cca_busy,
  input  wire logic [14:0] cfg_difs_us,
  input  wire logic [15:0] cfg_eifs_us,
  input  wire logic [15:0] cfg_nav_reset_us,
  input  wire logic [1:0]  cfg_access_mode,
  input  wire logic        in_contention,
  input  wire logic        in_rts,
  input  wire logic        in_data,
  input  wire logic        in_gap,
  input  wire logic        held
);

  mac_settings_s settings;
  always_comb begin
    settings              = '0;
    settings.difs_us      = cfg_difs_us;
    settings.eifs_us      = cfg_eifs_us;
    settings.nav_reset_us = cfg_nav_reset_us;
    settings.access_mode  = cfg_access_mode;
  end

  // The jump, the single tick, then one clock to compare.
  logic [1:0]  step_q = 2'd0;
  logic [54:0] still, still_q;   // what stands still while time passes
  assign still = {held, phy_cca_busy, cfg_difs_us, cfg_eifs_us, cfg_nav_reset_us, cfg_access_mode, in_contention, in_rts, in_data, in_gap};

  always_ff @(posedge clk) begin
    if (step_q != 2'd3) step_q <= step_q + 1'b1;
    still_q <= still;
  end

  wire logic [23:0] tick_n [2];
  assign tick_n[0] = step_q == 2'd0 ? jump_us + 1'b1 : '0;
  assign tick_n[1] = step_q == 2'd0 ? jump_us : step_q == 2'd1 ? 24'd1 : '0;

  always_comb begin
    if (step_q == 2'd0) assume (jump_us != '1);
    else assume (still == still_q);
    assume ($onehot0({in_contention, in_rts, in_data, in_gap}));
  end

  for (genvar copy = 0; copy < 2; copy++) begin : g_copy
    logic [15:0] nav_left_us, nav_until_us, own_left_us, idle_us, ifs_us, reserved_us, ifs_left_us;
    logic        reset_armed, spaced, waits, waits_on;

    nav_counter u_nav_counter (
      .clk, .rst(1'b0), .tick_n(tick_n[copy]), .settings, .summary_nav_left_us('0), .rx_start(1'b0), .rx_overheard(1'b0),
      .rx_bad(1'b0), .rx_is_rts(1'b0), .rx_duration_us('0), .nav_left_us, .nav_until_us, .reset_armed
    );
    own_transmission u_own_transmission (
      .clk, .rst(1'b0), .tick_n(tick_n[copy]), .hold(1'b0), .hold_us('0), .own_left_us
    );
    virtual_carrier_sense u_virtual_carrier_sense (.*);
    interframe_space u_interframe_space (
      .clk, .rst(1'b0), .tick_n(tick_n[copy]), .settings, .cca_busy(phy_cca_busy || held), .rx_end(1'b0), .rx_bad(1'b0), .tx_go(1'b0),
      .waive(1'b0), .reserved_us, .summary('0), .idle_us, .ifs_us, .spaced, .waits, .waits_on
    );
    service_time u_service_time (
      .clk, .rst(1'b0), .tick_n(tick_n[copy]), .tsf_us('0), .head_taken(1'b0), .head_t_enqueue_us('0),
      .in_contention, .in_rts, .in_data, .in_gap, .responded(1'b0), .timed_out(1'b0), .report(1'b0),
      .cca_busy(phy_cca_busy), .held, .own_left_us, .reserved_us, .ifs_left_us, .summary('0), .slots_left('0), .draw(1'b0), .draw_slots('0),
      .t_enqueue_us(), .t_done_us(), .slots_drawn(), .queue_us(), .ifs_us(), .backoff_us(), .frozen_cca_us(),
      .frozen_nav_us(), .control_us(), .data_us(), .response_us(), .timeout_us(), .responder_us(), .service_us()
    );

    wire logic [65:0] state = {
      u_nav_counter.nav_left_us_q, u_nav_counter.nav_left_us_q == '0 ? 16'd0 : u_nav_counter.reset_left_us_q,
      u_nav_counter.reset_armed_q, own_left_us, idle_us, u_interframe_space.extended_q};
    wire logic [319:0] parts_us = {
      u_service_time.ifs_us_q, u_service_time.backoff_us_q, u_service_time.frozen_cca_us_q,
      u_service_time.frozen_nav_us_q, u_service_time.control_us_q, u_service_time.data_us_q,
      u_service_time.response_us_q, u_service_time.responder_us_q, u_service_time.waited_us_q,
      u_service_time.service_us_q};
  end

  always_comb begin
    if (step_q == 2'd0) begin
      assume (g_copy[0].state == g_copy[1].state);
      assume (g_copy[0].u_nav_counter.reset_left_us_q == g_copy[1].u_nav_counter.reset_left_us_q);
      assume (!g_copy[0].reset_armed || (g_copy[0].nav_left_us != '0 && g_copy[0].u_nav_counter.reset_left_us_q != '0));
    end
    if (step_q == 2'd0) assume (g_copy[0].parts_us == '0 && g_copy[1].parts_us == '0);   // they only add
    if (step_q == 2'd2) begin
      a_state_does_not_tell_portions : assert (g_copy[0].state == g_copy[1].state);
      a_parts_do_not_tell_portions   : assert (g_copy[0].parts_us == g_copy[1].parts_us);
    end
  end

endmodule

`default_nettype wire
