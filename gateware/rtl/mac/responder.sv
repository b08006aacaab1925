// SPDX-License-Identifier: GPL-2.0-or-later
// Answers SIFS after a frame for this station: CTS to an RTS, MAC ACK to data. A CTS
// is withheld while the NAV says that somebody else holds the medium; a MAC ACK is
// sent whatever the medium says (IEEE 802.11-2012, 9.3.2.6, 9.3.2.8). With cfg_no_mac_ack
// data goes to the host unanswered.
//
// Timing: the frame's end is in phy_events at one clock, the SIFS timer is loaded at
// the next, and `answer` comes one clock after the tick in which the timer ends.

`default_nettype none

module responder
  import perhop_pkg::*;
  import tick_shares_pkg::*;
#(
  parameter bit UNIT_TICKS = 1'b0   // a clock carries one tick or none (hardware)
) (
  input  wire logic        clk,
  input  wire logic        rst,
  input  wire logic [23:0] tick_n,
  input  wire mac_settings_s settings,

  // From phy_events and nav_counter.
  input  wire logic        rx_rts_for_us,
  input  wire logic        rx_data_for_us,
  input  wire logic [2:0]  rx_rate,
  input  wire logic [14:0] rx_duration_us,
  input  wire logic [47:0] rx_ta,
  input  wire logic [15:0] nav_left_us,

  // From frame_sequence: it is about to send within an exchange of its own.
  input  wire logic        may_answer,

  // To own_transmission: SIFS and the response hold the medium from now.
  output wire logic        accept,          // one clock
  output wire logic        accept_data,     // one clock: data for the host, accepted or, with cfg_no_mac_ack, just taken
  output wire logic [15:0] hold_us,

  // To transmit_port, in one clock.
  output wire logic        answer,
  output wire logic [2:0]  answer_kind,
  output wire logic [2:0]  answer_rate,
  output wire logic [15:0] answer_airtime_us,
  output wire logic [14:0] answer_duration_us,
  output wire logic [47:0] answer_ra,

  output wire logic        busy,            // SIFS is running
  output wire logic [12:0] sifs_left_us
);

  wire logic [12:0] cfg_sifs_us = settings.sifs_us;
  wire logic cfg_no_mac_ack = settings.no_mac_ack;
  logic [2:0] cfg_response_rate [8];   // by the rate of the frame answered
  for (genvar entry = 0; entry < 8; entry++) begin : g_response_rate
    assign cfg_response_rate[entry] = settings.response_rate[entry];
  end
  logic [15:0] cfg_response_airtime_us [8];
  for (genvar entry = 0; entry < 8; entry++) begin : g_response_airtime_us
    assign cfg_response_airtime_us[entry] = settings.response_airtime_us[entry];
  end

  logic        busy_q;
  logic [12:0] sifs_left_us_q;
  logic        is_cts_q;
  logic [2:0]  rate_q;
  logic [15:0] airtime_us_q;
  logic [14:0] duration_us_q;   // of the response
  logic [47:0] ra_q;

  wire logic accept_rts = rx_rts_for_us && may_answer && !busy_q && nav_left_us == '0;
  wire logic data_taken = rx_data_for_us && may_answer && !busy_q && !cfg_no_mac_ack;

  wire logic [15:0] airtime_us = cfg_response_airtime_us[rx_rate];
  wire logic [16:0] spent_us   = 17'(cfg_sifs_us) + 17'(airtime_us);

  // What the frame's Duration leaves after SIFS and the response, or less than nothing.
  wire logic [17:0] left_us = 18'(rx_duration_us) - 18'(spent_us);

  always_ff @(posedge clk) begin
    if (rst) begin
      busy_q         <= 1'b0;
      sifs_left_us_q <= '0;
    end else if (tick_n != '0) begin
      if (busy_q) begin
        sifs_left_us_q <=
            ends(tick_n, 24'(sifs_left_us_q), UNIT_TICKS) ? '0 : sifs_left_us_q - 13'(step(tick_n, UNIT_TICKS));
      end
    end else if (accept_rts || data_taken) begin
      busy_q         <= 1'b1;
      sifs_left_us_q <= cfg_sifs_us;
      is_cts_q       <= accept_rts;
      rate_q         <= cfg_response_rate[rx_rate];
      airtime_us_q   <= airtime_us;
      duration_us_q  <= left_us[17] ? '0 : left_us[14:0];
      ra_q           <= rx_ta;
    end else if (answer) begin
      busy_q <= 1'b0;
    end
  end

  assign accept      = accept_rts || data_taken;
  assign accept_data = data_taken || (rx_data_for_us && cfg_no_mac_ack);
  assign hold_us     = spent_us[15:0];

  assign answer             = busy_q && sifs_left_us_q == '0;
  assign answer_kind        = is_cts_q ? FRAME_CTS : FRAME_MAC_ACK;
  assign answer_rate        = rate_q;
  assign answer_airtime_us  = airtime_us_q;
  assign answer_duration_us = duration_us_q;
  assign answer_ra          = ra_q;
  wire logic unused = &{1'b0, left_us[16:15]};   // less than a Duration

  assign busy               = busy_q;
  assign sifs_left_us       = sifs_left_us_q;

endmodule

`default_nettype wire
