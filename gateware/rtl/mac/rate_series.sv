// SPDX-License-Identifier: GPL-2.0-or-later
// The rate of a packet's next DATA frame: up to four rates, each for so many attempts, as the descriptor lists them
// (frames.yaml, rate series). An attempt whose MAC ACK did not come counts; one that the retry limit ends does not go on.
//
// Timing: head_taken loads the series. The rate is out at the next clock, after data_failed two clocks later; with two
// queues a clock later still, which the arbiter takes before a packet goes.

`default_nettype none

module rate_series
  import perhop_pkg::*;
#(
  parameter int unsigned RATE_SERIES = 1,  // entries: 1 or 4
  parameter int unsigned QUEUES      = 1
) (
  input  wire logic        clk,
  input  wire logic        rst,

  // From descriptor_queue; the first entry is head_rate.
  input  wire logic        head_taken,
  input  wire descriptor_s head,

  input  wire logic        data_failed,   // DATA had no MAC ACK, and goes again

  output wire logic [2:0]  rate,
  output wire logic [15:0] airtime_us
);

  wire logic [2:0] head_rate = head.rate;
  wire logic [15:0] head_airtime_us = head.airtime_us;
  wire logic [19:0] head_series_attempts = head.series_attempts;   // of all entries; 0: no limit
  wire logic [8:0] head_series_rate = head.series_rate;   // of entries 1 to 3
  wire logic [47:0] head_series_airtime_us = head.series_airtime_us;   // 0: there is no such entry

  if (RATE_SERIES > 1) begin : g_series
    if (RATE_SERIES != 4) begin : g_bad_series
      $fatal(1, "%m: RATE_SERIES must be 1 or 4");
    end
    logic [RATE_SERIES-1:0][4:0]  attempts_q;      // 0: no limit
    logic [RATE_SERIES-1:0][2:0]  rates_q;
    logic [RATE_SERIES-1:0][15:0] airtimes_us_q;
    logic [RATE_SERIES-1:0]       last_q;          // behind it there is no entry, which would have an airtime
    logic [1:0]                   entry_q;         // in use
    logic [4:0]                   failed_q;        // attempts at its rate
    logic                         data_failed_q;   // the packet goes again, two clocks later or more

    wire logic [5:0] failed    = 6'(failed_q) + 6'd1;
    wire logic       next_rate = failed == 6'(attempts_q[entry_q]) && !last_q[entry_q];

    always_ff @(posedge clk) begin
      data_failed_q <= !rst && data_failed;
      if (head_taken) begin
        attempts_q    <= head_series_attempts;
        rates_q       <= {head_series_rate, head_rate};
        airtimes_us_q <= {head_series_airtime_us, head_airtime_us};
        last_q        <= {1'b1, head_series_airtime_us[47:32] == '0, head_series_airtime_us[31:16] == '0, head_series_airtime_us[15:0] == '0};
        entry_q       <= '0;
        failed_q      <= '0;
      end else if (data_failed_q) begin
        if (next_rate) entry_q <= entry_q + 1'b1;
        failed_q <= next_rate ? '0 : failed[4:0];
      end
    end
    if (QUEUES > 1) begin : g_registered
      // The arbiter takes a clock before a packet goes.
      logic [2:0]  rate_q;
      logic [15:0] airtime_us_q;
      always_ff @(posedge clk) begin
        rate_q       <= rates_q[entry_q];
        airtime_us_q <= airtimes_us_q[entry_q];
      end
      assign rate       = rate_q;
      assign airtime_us = airtime_us_q;
    end else begin : g_at_once
      assign rate       = rates_q[entry_q];
      assign airtime_us = airtimes_us_q[entry_q];
    end
  end else begin : g_one_rate
    logic [2:0]  rate_q;
    logic [15:0] airtime_us_q;
    always_ff @(posedge clk) begin
      if (head_taken) begin
        rate_q       <= head_rate;
        airtime_us_q <= head_airtime_us;
      end
    end
    assign rate       = rate_q;
    assign airtime_us = airtime_us_q;
    wire logic unused = &{1'b0, rst, data_failed, head_series_attempts, head_series_rate, head_series_airtime_us};
  end

endmodule

`default_nettype wire
