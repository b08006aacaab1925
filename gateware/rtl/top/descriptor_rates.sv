// SPDX-License-Identifier: GPL-2.0-or-later
// The rates of a packet: those of its descriptor, or, if it asks, the series that the registers hold for its peer.
//
// Timing: a descriptor passes one clock after it came, when its peer's series has been read.

`default_nettype none

module descriptor_rates (
  input  wire logic        clk,
  input  wire logic        rst,

  // From the host.
  input  wire logic        s_desc_valid,
  output wire logic        s_desc_ready,
  input  wire logic        s_desc_peer_series,   // use the peer's
  input  wire logic [2:0]  s_desc_rate,
  input  wire logic [19:0] s_desc_series_attempts,
  input  wire logic [8:0]  s_desc_series_rate,

  // From mac_registers, one clock after s_desc_peer.
  input  wire logic [2:0]  series_first_rate,
  input  wire logic [19:0] series_attempts,
  input  wire logic [8:0]  series_rate,

  // To mac_bytes.
  output wire logic        desc_valid,
  input  wire logic        desc_ready,
  output wire logic [2:0]  desc_rate,
  output wire logic [19:0] desc_series_attempts,
  output wire logic [8:0]  desc_series_rate
);

  logic read_q;   // the series is that of this descriptor

  always_ff @(posedge clk) read_q <= !rst && s_desc_valid && !s_desc_ready;

  assign desc_valid   = s_desc_valid && read_q;
  assign s_desc_ready = desc_ready && read_q;

  assign desc_rate            = s_desc_peer_series ? series_first_rate : s_desc_rate;
  assign desc_series_attempts = s_desc_peer_series ? series_attempts : s_desc_series_attempts;
  assign desc_series_rate     = s_desc_peer_series ? series_rate : s_desc_series_rate;

endmodule

`default_nettype wire
