// SPDX-License-Identifier: GPL-2.0-or-later
// The rules that let time be skipped: a quiescent MAC waits for a time that is not over;
// a jump short of it leaves the MAC waiting for the rest, a jump to it makes the MAC
// act; and what there is to do at a tick is done in a few clocks. Bound into mac_core.

`default_nettype none

module tick_rules (
  input wire logic        clk,
  input wire logic        rst,
  input wire logic [23:0] tick_n,
  input wire logic        quiescent,
  input wire logic [31:0] next_timer,
  input wire logic        phy_cca_busy,
  input wire logic        cca_busy,
  input wire logic        phy_rx_start,
  input wire logic        phy_rx_end,
  input wire logic        desc_valid
);

  localparam logic [31:0] NONE = '1;

  wire logic strobe = phy_rx_start || phy_rx_end || desc_valid;

  // One clock before.
  logic        running_q = 1'b0, undisturbed_q;
  logic [23:0] tick_n_q;
  logic [31:0] next_timer_q;

  always_ff @(posedge clk) begin
    running_q     <= !rst;
    undisturbed_q <= !strobe && phy_cca_busy == cca_busy;
    tick_n_q      <= tick_n;
    next_timer_q  <= next_timer;
  end

  always_comb if (!rst) begin
    if (quiescent) a_quiescent_waits_for_something : assert (next_timer != '0);
    if (running_q && undisturbed_q && tick_n_q != '0) begin
      if (32'(tick_n_q) == next_timer_q) a_acts_in_time : assert (!quiescent);
      else if (next_timer_q == NONE) a_waits_for_nothing_on : assert (quiescent && next_timer == NONE);
      else a_waits_for_the_rest : assert (quiescent && next_timer == next_timer_q - 32'(tick_n_q));
    end
  end

endmodule

bind mac_core tick_rules u_tick_rules (.*);

`default_nettype wire
