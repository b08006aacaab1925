// SPDX-License-Identifier: GPL-2.0-or-later
// The own frame that is next, as transmit_port takes it: an RTS, or the packet's DATA; with its Duration
// (IEEE 802.11-2012, 8.2.5), and how long its sender waits for what follows.
//
// Combinational. There is one, whatever the number of queues.

`default_nettype none

module next_frame
  import perhop_pkg::*;
(
  input  wire mac_settings_s settings,

  // From frame_sequence.
  input  wire logic        rts_next,
  input  wire logic        unanswered,      // nobody answers the DATA
  input  wire logic [2:0]  data_rate,
  input  wire logic [15:0] data_airtime_us,
  input  wire logic [11:0] data_bytes,

  // To transmit_port.
  output wire logic [2:0]  kind,
  output wire logic [2:0]  rate,
  output wire logic [11:0] bytes,
  output wire logic [15:0] airtime_us,
  output wire logic [17:0] until_data_us,   // of its Duration: SIFS, CTS, SIFS and DATA behind an RTS,
  output wire logic [16:0] after_data_us,   // and SIFS and the MAC ACK behind the DATA

  // To frame_sequence.
  output wire logic [16:0] response_deadline_us  // from its start to the time-out, or, where nobody answers, to its end
);

  wire logic [12:0] cfg_sifs_us = settings.sifs_us;
  wire logic [15:0] cfg_response_timeout_us = settings.response_timeout_us;
  wire logic [2:0] cfg_rts_rate = settings.rts_rate;
  wire logic [15:0] cfg_rts_airtime_us = settings.rts_airtime_us;
  logic [15:0] cfg_response_airtime_us [8];
  for (genvar entry = 0; entry < 8; entry++) begin : g_response_airtime_us
    assign cfg_response_airtime_us[entry] = settings.response_airtime_us[entry];
  end
  wire logic cfg_quirk_fixed_timeout = settings.quirk_fixed_timeout;

  wire logic [15:0] cts_us      = cfg_response_airtime_us[cfg_rts_rate];
  wire logic [15:0] mac_ack_us  = cfg_response_airtime_us[data_rate];
  wire logic [15:0] on_air_us   = rts_next ? cfg_rts_airtime_us : data_airtime_us;
  wire logic [15:0] response_us = rts_next ? cts_us : mac_ack_us;

  wire logic        answered    = rts_next || !unanswered;

  assign kind          = rts_next ? FRAME_RTS : FRAME_DATA;
  assign rate          = rts_next ? cfg_rts_rate : data_rate;
  assign bytes         = rts_next ? 12'(RTS_BYTES) : data_bytes;
  assign airtime_us    = on_air_us;
  assign until_data_us = rts_next ? 18'(cfg_sifs_us) * 18'd2 + 18'(cts_us) + 18'(data_airtime_us) : '0;
  assign after_data_us = unanswered ? '0 : 17'(cfg_sifs_us) + 17'(mac_ack_us);

  // The response is known last, and is added last.
  assign response_deadline_us = (17'(on_air_us) + (answered ? 17'(cfg_response_timeout_us) : 17'd0)) +
                                (answered && cfg_quirk_fixed_timeout ? 17'(response_us) : 17'd0);

endmodule

`default_nettype wire
