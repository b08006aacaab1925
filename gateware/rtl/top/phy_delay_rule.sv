// SPDX-License-Identifier: GPL-2.0-or-later
// The rule that joins three registers: what the PHY delays, in both directions together, must leave the MAC time to respond
// after SIFS (tick_generator says how much), and a response to come before its time-out.
//
//   tx + rx + 4 clocks <= SIFS * DELAY_CLOCKS_PER_US
//   tx + rx            <  (response timeout - SIFS) * CLOCKS_PER_US
//
// Timing: `broken` is about the word that has been offered since the clock before, at that address; it means nothing
// where a rule of one register is broken by itself.

`default_nettype none

module phy_delay_rule
  import perhop_register_words_pkg::*;
#(
  parameter int unsigned CLOCKS_PER_US       = 64,
  parameter int unsigned DELAY_CLOCKS_PER_US = 48
) (
  input  wire logic        clk,

  // What is to be written.
  input  wire logic [REGISTER_SPACE_W-1:0] address,
  input  wire logic [31:0] word,

  // What the registers hold.
  input  wire logic [12:0] sifs_us,
  input  wire logic [15:0] response_timeout_us,
  input  wire logic [15:0] tx_clocks,
  input  wire logic [15:0] rx_clocks,

  output wire logic        broken
);

  localparam int unsigned SPARE_CLOCKS = 4;   // of the MAC's own
  localparam int unsigned WIDTH        = 16 + $clog2(CLOCKS_PER_US + 1);

  wire logic is_sifs    = address == ADDRESS_SIFS;
  wire logic is_timeout = address == ADDRESS_RESPONSE_TIMEOUT;
  wire logic is_delay   = address == ADDRESS_PHY_DELAY;

  // As they would be.
  wire logic [15:0] next_sifs_us    = is_sifs ? word[15:0] : 16'(sifs_us);
  wire logic [15:0] next_timeout_us = is_timeout ? word[15:0] : response_timeout_us;
  wire logic [31:0] next_delays     = is_delay ? word : {rx_clocks, tx_clocks};

  logic             concerned_q;
  logic [16:0]      delay_clocks_q;
  logic [15:0]      margin_us_q;
  logic [WIDTH-1:0] room_clocks_q;

  always_ff @(posedge clk) begin
    concerned_q    <= is_sifs || is_timeout || is_delay;
    delay_clocks_q <= 17'(next_delays[15:0]) + 17'(next_delays[31:16]);
    margin_us_q    <= next_timeout_us - next_sifs_us;
    room_clocks_q  <= WIDTH'(next_sifs_us) * WIDTH'(DELAY_CLOCKS_PER_US);
  end

  wire logic too_long = (WIDTH+1)'(delay_clocks_q) + (WIDTH+1)'(SPARE_CLOCKS) > (WIDTH+1)'(room_clocks_q);
  wire logic too_late = WIDTH'(delay_clocks_q) >= WIDTH'(margin_us_q) * WIDTH'(CLOCKS_PER_US);

  assign broken = concerned_q && (too_long || too_late);

endmodule

`default_nettype wire
