// SPDX-License-Identifier: GPL-2.0-or-later
// SSRC and SLRC never pass their limits, and reaching one ends the packet, with the
// result that says so (IEEE 802.11-2012, 9.3.3). Bound into each transmit_queue.

`default_nettype none

module retry_rules
  import perhop_pkg::*;
(
  input wire logic       clk,
  input wire logic       rst,
  input wire mac_settings_s settings,
  input wire attempt_outcome_s counted,
  input wire logic       in_contention,
  input wire logic       in_rts,
  input wire logic       in_data,
  input wire logic       in_gap,
  input wire logic       report,
  input wire logic [4:0] ssrc,
  input wire logic [4:0] slrc,
  input wire completion_record_s record
);

  wire logic in_service = in_contention || in_rts || in_data || in_gap;

  logic running_q = 1'b0, short_failure_q, long_failure_q;
  always_ff @(posedge clk) begin
    running_q       <= !rst;
    short_failure_q <= counted.short_failure;
    long_failure_q  <= counted.long_failure;
  end

  always_comb if (running_q) begin
    a_short_within_limit : assert (ssrc <= settings.short_retry_limit);
    a_long_within_limit  : assert (slrc <= settings.long_retry_limit);
    if (in_service) begin
      a_below_limits_in_service : assert (ssrc < settings.short_retry_limit && slrc < settings.long_retry_limit);
    end
    if (short_failure_q) begin
      a_short_limit_ends_it : assert (report == (ssrc == settings.short_retry_limit) && report == !in_contention);
      if (report) a_short_result : assert (record.result == RESULT_SHORT_RETRY_LIMIT);
    end
    if (long_failure_q) begin
      a_long_limit_ends_it : assert (report == (slrc == settings.long_retry_limit) && report == !in_contention);
      if (report) a_long_result : assert (record.result == RESULT_LONG_RETRY_LIMIT);
    end
    if (report && !short_failure_q && !long_failure_q) begin
      a_other_results : assert (record.result == RESULT_DELIVERED || record.result == RESULT_GROUP_SENT);
    end
  end

endmodule

bind transmit_queue retry_rules u_retry_rules (.*);

`default_nettype wire
