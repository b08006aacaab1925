// SPDX-License-Identifier: GPL-2.0-or-later
// The rates of a packet: those of its descriptor, or, if it asks, the series that the registers hold for its peer.
//
// Timing: a descriptor passes one clock after it came, when its peer's series has been read.

`default_nettype none

module descriptor_rates
  import perhop_pkg::*;
(
  input  wire logic        clk,
  input  wire logic        rst,

  // From the host.
  input  wire logic        s_desc_valid,
  output wire logic        s_desc_ready,
  input  wire packet_descriptor_s s_desc,

  // From mac_registers, one clock after its peer was told.
  input  wire logic [2:0]  series_first_rate,
  input  wire logic [19:0] series_attempts,
  input  wire logic [8:0]  series_rate,

  // To mac_bytes.
  output wire logic        desc_valid,
  input  wire logic        desc_ready,
  output wire packet_descriptor_s desc
);

  logic               read_q;   // the series is that of this descriptor
  packet_descriptor_s given;

  always_ff @(posedge clk) read_q <= !rst && s_desc_valid && !s_desc_ready;

  assign desc_valid   = s_desc_valid && read_q;
  assign s_desc_ready = desc_ready && read_q;

  always_comb begin
    given = s_desc;
    if (s_desc.peer_series) begin
      given.rate            = series_first_rate;
      given.series_attempts = series_attempts;
      given.series_rate     = series_rate;
    end
  end
  assign desc = given;

endmodule

`default_nettype wire
