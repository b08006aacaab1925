// SPDX-License-Identifier: GPL-2.0-or-later
// A descriptor passes once, with its own rates or with its peer's series, which had been asked for a clock before; it is
// offered by the rules of streams. Bound into descriptor_rates, whose host keeps them too; a peer's series stands.

`default_nettype none

module rates_rules
  import perhop_pkg::*;
(
  input wire logic        clk,
  input wire logic        rst,
  input wire logic        s_desc_valid,
  input wire logic        s_desc_ready,
  input wire packet_descriptor_s s_desc,
  input wire logic [2:0]  series_first_rate,
  input wire logic [19:0] series_attempts,
  input wire logic [8:0]  series_rate,
  input wire logic        desc_valid,
  input wire logic        desc_ready,
  input wire packet_descriptor_s desc
);

  wire logic [31:0] series = {series_first_rate, series_attempts, series_rate};

  packet_descriptor_s passes;   // what is to pass
  always_comb begin
    passes = s_desc;
    if (s_desc.peer_series) {passes.rate, passes.series_attempts, passes.series_rate} = series;
  end

  logic               running_q = 1'b0, waits_q = 1'b0, offered_q = 1'b0;
  packet_descriptor_s s_desc_q, desc_q;
  logic [31:0]        series_q;
  logic               asked_q = 1'b0;   // this descriptor's peer was asked for a clock ago

  always_ff @(posedge clk) begin
    running_q <= 1'b1;
    waits_q   <= !rst && s_desc_valid && !s_desc_ready;
    offered_q <= !rst && desc_valid && !desc_ready;
    asked_q   <= !rst && s_desc_valid && !(desc_valid && desc_ready);
    s_desc_q  <= s_desc;
    series_q  <= series;
    desc_q    <= desc;
  end

  always_comb begin
    if (!running_q) assume (rst);
    if (waits_q) assume (s_desc_valid && s_desc == s_desc_q);
    if (offered_q) assume (series == series_q);
  end

  always_comb if (running_q && !rst) begin
    a_passes_as_it_is_taken : assert ((s_desc_valid && s_desc_ready) == (desc_valid && desc_ready));
    a_no_clock_is_lost      : assert (desc_valid == asked_q);
    a_whose_rates           : assert (desc == passes);
    if (offered_q) a_stays_offered : assert (desc_valid && desc == desc_q);
  end

endmodule

bind descriptor_rates rates_rules u_rates_rules (.*);

`default_nettype wire
