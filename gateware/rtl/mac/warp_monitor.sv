// SPDX-License-Identifier: GPL-2.0-or-later
// Tells the outside how far time may run: `quiescent`, nothing is left to do at this
// tick; `next_timer`, ticks until this station acts by itself. Whoever drives `tick_n`
// (the simulator, or the tick strobe of the hardware) keeps two rules, asserted here:
// time passes only when quiescent, and never beyond next_timer. Of what a medium_summary_s tells of, only a timer that no
// carrier stops would end within it.

`default_nettype none

module warp_monitor #(
  parameter bit UNIT_TICKS = 1'b0   // a clock carries one tick or none (hardware); next_timer then means nothing
) (
  input  wire logic        clk,
  input  wire logic        rst,
  input  wire logic [23:0] tick_n,
  input  wire logic [23:0] summary_us,        // of these ticks were not told of at their time; 0 in hardware

  input  wire logic        rx_pending,        // an indication of the PHY not acted on yet
  input  wire logic        sequence_pending,
  input  wire logic        sequence_wait_valid,
  input  wire logic [31:0] sequence_wait_us,
  input  wire logic        responder_busy,
  input  wire logic [12:0] responder_wait_us,

  output wire logic        quiescent,
  output wire logic [31:0] next_timer
);

  localparam logic [31:0] NONE = '1;

  wire logic [31:0] sequence_us  = sequence_wait_valid ? sequence_wait_us : NONE;
  wire logic [31:0] responder_us = responder_busy ? 32'(responder_wait_us) : NONE;

  assign quiescent  = !rx_pending && !sequence_pending && !(responder_busy && responder_wait_us == '0);
  assign next_timer = UNIT_TICKS ? NONE : sequence_us < responder_us ? sequence_us : responder_us;

`ifndef SYNTHESIS
  always_ff @(posedge clk) begin
    if (!rst && tick_n != '0) a_time_passes_when_quiescent : assert (quiescent);
  end
  if (UNIT_TICKS) begin : g_unit
    always_ff @(posedge clk) begin
      if (!rst) a_one_tick_a_clock : assert (tick_n <= 24'd1 && summary_us == '0);
    end
  end else begin : g_any
    always_ff @(posedge clk) begin
      if (!rst && tick_n != '0) begin
        a_time_stops_at_next_timer : assert (32'(tick_n - summary_us) <= next_timer && 32'(tick_n) <= responder_us);
      end
    end
  end
`else
  wire logic unused = &{1'b0, clk, rst, tick_n, summary_us};
`endif

endmodule

`default_nettype wire
