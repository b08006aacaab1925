// SPDX-License-Identifier: GPL-2.0-or-later
// A packet's airtimes stand from `ready` until it is taken: one for each entry of its series, at that entry's rate, and
// none for the entries behind its end. The calculator is left out: it answers each start once, with anything.
//
// Bound into series_airtimes of four entries; the packet stands until it is taken.

`default_nettype none

module series_rules (
  input wire logic        clk,
  input wire logic        rst,
  input wire logic        valid,
  input wire logic [2:0]  rate,
  input wire logic [19:0] series_attempts,
  input wire logic [8:0]  series_rate,
  input wire logic        ready,
  input wire logic [15:0] airtime_us,
  input wire logic [47:0] series_airtime_us,
  input wire logic        taken
);

  // The calculator.
  wire logic        start    = series_airtimes.start;
  wire logic        done     = series_airtimes.done;
  wire logic [15:0] found_us = series_airtimes.found_us;

  logic       begun_q = 1'b0, stands_q = 1'b0, busy_q = 1'b0, ready_q;
  logic [31:0] packet_q;
  logic [63:0] said_q;
  logic [2:0]  asked_q;              // airtimes of this packet that were computed
  logic [3:0][15:0] found_q;         // what they were

  wire logic [31:0] packet = {rate, series_attempts, series_rate};
  wire logic [3:0][4:0] attempts = series_attempts;
  wire logic [3:0][2:0] rates    = {series_rate, rate};

  // Entries before the first without attempts; the first of all counts in any case, and ends it if it has none.
  logic [2:0] entries;
  always_comb begin
    entries = 3'd4;
    for (int k = 3; k >= 0; k--) if (attempts[k] == '0) entries = k == 0 ? 3'd1 : 3'(k);
  end

  always_ff @(posedge clk) begin
    begun_q  <= 1'b1;
    stands_q <= !rst && valid && !taken;
    ready_q  <= ready && !taken && !rst;
    packet_q <= packet;
    said_q   <= {airtime_us, series_airtime_us};
    busy_q   <= !rst && (start || (busy_q && !done));
    if (rst || taken) begin
      asked_q <= '0;
      found_q <= '0;
    end else if (done) begin
      asked_q <= asked_q + 1'b1;
      found_q[asked_q[1:0]] <= found_us;
    end
  end

  always_comb begin
    if (!begun_q) assume (rst);
    if (stands_q) assume (valid && packet == packet_q);
    assume (!taken || ready);
    assume (!done || busy_q);
  end

  always_comb if (begun_q && !rst) begin
    a_no_start_while_busy : assert (!(start && busy_q));
    if (start) a_entrys_rate : assert (series_airtimes.entry_rate == rates[asked_q[1:0]]);
    if (ready) begin
      a_all_of_them : assert (asked_q == entries);
      a_first       : assert (airtime_us == found_q[0]);
      for (int k = 1; k < 4; k++) begin
        assert (series_airtime_us[16*(k-1) +: 16] == (3'(k) < entries ? found_q[k] : '0));
      end
    end
    if (ready_q) a_stands : assert (ready && {airtime_us, series_airtime_us} == said_q);

    i_index     : assert (series_airtimes.index_q == asked_q && asked_q <= entries);
    i_computing : assert (series_airtimes.computing_q == busy_q);
    i_more      : assert (!busy_q || asked_q < entries);
    i_there     : assert (valid || (asked_q == '0 && !busy_q));
    if (asked_q != '0) i_first : assert (series_airtimes.airtime_us_q == found_q[0]);
    for (int k = 1; k < 4; k++) begin
      assert (series_airtime_us[16*(k-1) +: 16] == (3'(k) < asked_q ? found_q[k] : '0));
    end
  end


endmodule

bind series_airtimes series_rules u_series_rules (.*);

`default_nettype wire
