// SPDX-License-Identifier: GPL-2.0-or-later
// A tick that is due comes: neither while SIFS or an own frame runs nor while the medium is idle is it held up, whatever
// the PHY says and the host gives in the clocks before, unless it comes too soon after the last (catching up) or after an
// edge of the medium. So a response leaves in its clock, and a back-off ends in its. Bound into timing_top.

`default_nettype none

module punctual_rules (
  input wire logic               clk,
  input wire logic               rst,
  input wire logic               phy_cca_busy,
  input wire logic               cca_busy,
  input wire logic               sending,
  input wire logic               tx_start,
  input wire logic               ticks,
  input wire logic               forward,
  input wire logic [3:0]         unsettled_q,
  input wire logic signed [13:0] left,
  input wire logic signed [13:0] rest
);

  localparam int unsigned CLOCKS = 12;

  logic [3:0] sending_for_q = '0, quiet_for_q = '0, steady_for_q = '0;   // clocks, up to CLOCKS

  function automatic logic [3:0] counted(logic [3:0] clocks, logic again);
    return again ? '0 : clocks == 4'(CLOCKS) ? 4'(CLOCKS) : clocks + 1'b1;
  endfunction

  wire logic edge_now = timing_top.u_tick_generator.medium_edge || tx_start || timing_top.u_tick_generator.put_back ||
                        timing_top.u_tick_generator.respond;

  always_ff @(posedge clk) begin
    sending_for_q <= counted(sending_for_q, rst || !sending);
    quiet_for_q   <= counted(quiet_for_q, rst || phy_cca_busy || cca_busy);
    steady_for_q  <= counted(steady_for_q, rst || edge_now);
  end

  always_comb if (!rst) begin
    i_unsettled : assert (unsettled_q <= 4'd8);
    if (forward && left == 14'sd1 && rest == '0 && !tx_start && steady_for_q == 4'(CLOCKS) &&
        ((sending && sending_for_q == 4'(CLOCKS)) || quiet_for_q == 4'(CLOCKS))) begin
      a_ticks_are_in_time : assert (ticks);
    end
  end

endmodule

bind timing_top punctual_rules u_punctual_rules (.*);

`default_nettype wire
