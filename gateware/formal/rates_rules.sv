// SPDX-License-Identifier: GPL-2.0-or-later
// A descriptor passes once, with its own rates or with its peer's series, which had been asked for a clock before; it is
// offered by the rules of streams. Bound into descriptor_rates, whose host keeps them too; a peer's series stands.

`default_nettype none

module rates_rules (
  input wire logic        clk,
  input wire logic        rst,
  input wire logic        s_desc_valid,
  input wire logic        s_desc_ready,
  input wire logic        s_desc_peer_series,
  input wire logic [2:0]  s_desc_rate,
  input wire logic [19:0] s_desc_series_attempts,
  input wire logic [8:0]  s_desc_series_rate,
  input wire logic [2:0]  series_first_rate,
  input wire logic [19:0] series_attempts,
  input wire logic [8:0]  series_rate,
  input wire logic        desc_valid,
  input wire logic        desc_ready,
  input wire logic [2:0]  desc_rate,
  input wire logic [19:0] desc_series_attempts,
  input wire logic [8:0]  desc_series_rate
);

  wire logic [31:0] own    = {s_desc_rate, s_desc_series_attempts, s_desc_series_rate};
  wire logic [31:0] peers  = {series_first_rate, series_attempts, series_rate};
  wire logic [31:0] passes = {desc_rate, desc_series_attempts, desc_series_rate};

  logic        running_q = 1'b0, waits_q = 1'b0, offered_q = 1'b0, peer_series_q;
  logic [31:0] own_q, peers_q, passes_q;
  logic        asked_q = 1'b0;   // this descriptor's peer was asked for a clock ago

  always_ff @(posedge clk) begin
    running_q     <= 1'b1;
    waits_q       <= !rst && s_desc_valid && !s_desc_ready;
    offered_q     <= !rst && desc_valid && !desc_ready;
    asked_q       <= !rst && s_desc_valid && !(desc_valid && desc_ready);
    peer_series_q <= s_desc_peer_series;
    own_q         <= own;
    peers_q       <= peers;
    passes_q      <= passes;
  end

  always_comb begin
    if (!running_q) assume (rst);
    if (waits_q) assume (s_desc_valid && own == own_q && s_desc_peer_series == peer_series_q);
    if (offered_q) assume (peers == peers_q);
  end

  always_comb if (running_q && !rst) begin
    a_passes_as_it_is_taken : assert ((s_desc_valid && s_desc_ready) == (desc_valid && desc_ready));
    a_no_clock_is_lost      : assert (desc_valid == asked_q);
    a_whose_rates           : assert (passes == (s_desc_peer_series ? peers : own));
    if (offered_q) a_stays_offered : assert (desc_valid && passes == passes_q);
  end

endmodule

bind descriptor_rates rates_rules u_rates_rules (.*);

`default_nettype wire
