// SPDX-License-Identifier: GPL-2.0-or-later
// SSRC and SLRC (station short and long retry counts): failures of frames up to and
// beyond the RTS threshold, counted apart, each with its limit
// (IEEE 802.11-2012, 9.3.3).
//
// Timing: `limit_reached` tells at any time whether a failure now
// is the last one allowed; the counts change with the next clock. The counts stand
// until `clear`, so that the packet's record can tell them.

`default_nettype none

module retry_counters
  import perhop_pkg::*;
(
  input  wire logic       clk,
  input  wire logic       rst,
  input  wire mac_settings_s settings,

  // From frame_sequence, one clock each.
  input  wire logic       short_failure,   // no CTS, or no MAC ACK to a frame sent without RTS
  input  wire logic       long_failure,    // no MAC ACK to a frame sent under RTS/CTS
  input  wire logic       long_next,       // a failure now would be a long one
  input  wire logic       short_success,   // a CTS: the short count starts anew
  input  wire logic       clear,           // the next packet

  output wire logic       limit_reached,
  output wire logic [4:0] ssrc,
  output wire logic [4:0] slrc
);

  wire logic [4:0] cfg_short_retry_limit = settings.short_retry_limit;
  wire logic [4:0] cfg_long_retry_limit = settings.long_retry_limit;

  logic [4:0] ssrc_q, slrc_q;

  // The counts never pass their limits: the packet ends with the last failure.
  wire logic [5:0] ssrc_more  = 6'(ssrc_q) + 6'd1;
  wire logic [5:0] slrc_more  = 6'(slrc_q) + 6'd1;
  wire logic       short_last = ssrc_more == 6'(cfg_short_retry_limit);
  wire logic       long_last  = slrc_more == 6'(cfg_long_retry_limit);

  always_ff @(posedge clk) begin
    if (rst || clear) begin
      ssrc_q <= '0;
      slrc_q <= '0;
    end else begin
      if (short_failure) ssrc_q <= ssrc_more[4:0];
      else if (short_success) ssrc_q <= '0;
      if (long_failure) slrc_q <= slrc_more[4:0];
    end
  end

  // Does not wait for the failure.
  assign limit_reached = long_next ? long_last : short_last;
  assign ssrc = ssrc_q;
  assign slrc = slrc_q;

endmodule

`default_nettype wire
