// SPDX-License-Identifier: GPL-2.0-or-later
// Whether the host is still there. It writes a register again and again (a beat), and is taken to be gone when it has not done so for
// cfg_limit_ms milliseconds: then the modem loses the converter, and nothing is sent or answered until a host gives it back.
//
// Timing: `gone` stands cfg_limit_ms * 1000 * CLOCKS_PER_US clocks behind the later of the last `beat` and the rise of `watches`, until
// `watches` falls.

`default_nettype none

module heartbeat_watch #(
  parameter int unsigned CLOCKS_PER_US = 60
) (
  input  wire logic        clk,
  input  wire logic        rst,
  input  wire logic        watches,        // the modem has the converter
  input  wire logic [15:0] cfg_limit_ms,   // 0: the host is never gone
  input  wire logic        beat,           // one clock
  output wire logic        gone
);

  localparam int unsigned CLOCKS_PER_MS = 1000 * CLOCKS_PER_US;
  localparam int unsigned CLOCK_W       = $clog2(CLOCKS_PER_MS);

  logic [CLOCK_W-1:0] clock_q;
  logic [15:0]        passed_ms_q;

  wire logic last_clock = clock_q == CLOCK_W'(CLOCKS_PER_MS - 1);

  always_ff @(posedge clk) begin
    if (rst || beat || !watches) begin
      clock_q     <= '0;
      passed_ms_q <= '0;
    end else if (!gone) begin
      clock_q <= last_clock ? '0 : clock_q + 1'b1;
      if (last_clock) passed_ms_q <= passed_ms_q + 1'b1;
    end
  end

  assign gone = watches && cfg_limit_ms != '0 && passed_ms_q >= cfg_limit_ms;

endmodule

`default_nettype wire
