// SPDX-License-Identifier: GPL-2.0-or-later
// Airtimes of a packet at every rate of its series, one after the other in one airtime_calculator: what mac_core must
// know before it is told of the packet.
//
// A series is up to RATE_SERIES entries of attempts and rate. It ends before the first entry, other than the first of
// all, of 0 attempts, and behind the first if that has none; an entry that is not there has airtime 0.
//
// Timing: `ready` comes about 20 clocks an entry after `valid`, and stands until `taken`, as the packet must.

`default_nettype none

module series_airtimes
  import perhop_pkg::*;
#(
  parameter int unsigned RATE_SERIES = 1   // 1 or 4
) (
  input  wire logic        clk,
  input  wire logic        rst,
  input  wire mac_settings_s settings,

  input  wire logic        valid,               // a packet is here
  input  wire logic [11:0] bytes,
  input  wire logic [2:0]  rate,                // of the first entry
  input  wire logic [19:0] series_attempts,     // of four entries, the first in the low bits
  input  wire logic [8:0]  series_rate,         // of the other three

  output wire logic        ready,
  output wire logic [15:0] airtime_us,
  output wire logic [47:0] series_airtime_us,   // of the other three
  input  wire logic        taken                // one clock: the next packet may come
);

  logic        computing_q, done, unused_busy;
  logic [2:0]  index_q;                // of the entry in hand
  logic [15:0] airtime_us_q, found_us;
  logic        last;                   // no entry in hand
  logic [2:0]  entry_rate;

  wire logic start = valid && !computing_q && !ready;

  always_ff @(posedge clk) begin
    if (rst || taken) begin
      computing_q <= 1'b0;
      index_q     <= '0;
    end else if (start) begin
      computing_q <= 1'b1;
    end else if (done && computing_q) begin
      computing_q <= 1'b0;
      index_q     <= index_q + 1'b1;
      if (index_q == '0) airtime_us_q <= found_us;
    end
  end

  if (RATE_SERIES == 4) begin : g_series
    logic [47:0] later_us_q;
    logic [3:0]  any;     // an entry has attempts
    wire logic [3:0] there = {&any, &any[2:0], &any[1:0], any[0]};   // ... as have all before it
    assign any = {series_attempts[15 +: 5] != '0, series_attempts[10 +: 5] != '0, series_attempts[5 +: 5] != '0,
                  series_attempts[0 +: 5] != '0};

    always_ff @(posedge clk) begin
      if (rst || taken) later_us_q <= '0;
      else if (done && computing_q) begin
        for (int entry = 1; entry < 4; entry++) if (index_q == 3'(entry)) later_us_q[16*(entry-1) +: 16] <= found_us;
      end
    end
    assign last       = index_q[2] || (index_q != '0 && !there[index_q[1:0]]);
    always_comb begin
      entry_rate = rate;
      for (int entry = 1; entry < 4; entry++) if (index_q == 3'(entry)) entry_rate = series_rate[3*(entry-1) +: 3];
    end
    assign series_airtime_us = later_us_q;
  end else if (RATE_SERIES == 1) begin : g_one_rate
    assign last              = index_q != '0;
    assign entry_rate        = rate;
    assign series_airtime_us = '0;
    wire logic unused = &{1'b0, series_attempts, series_rate};
  end else begin : g_bad_series
    $fatal(1, "%m: RATE_SERIES must be 1 or 4");
  end

  airtime_calculator u_airtime_calculator (
    .clk, .rst, .start, .bytes, .base_us(settings.airtime_base_us[entry_rate]),
    .half_bits_per_unit(settings.airtime_half_bits_per_unit[entry_rate]), .unit_shift(settings.airtime_unit_shift[entry_rate]),
    .overhead_half_bits(settings.airtime_overhead_half_bits[entry_rate]), .busy(unused_busy), .done, .airtime_us(found_us)
  );

  assign ready      = valid && last;
  assign airtime_us = airtime_us_q;

endmodule

`default_nettype wire
