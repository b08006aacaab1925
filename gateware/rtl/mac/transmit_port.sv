// SPDX-License-Identifier: GPL-2.0-or-later
// The one way out to the PHY: registers the frame that frame_sequence or responder
// starts. They never do so in the same clock (asserted).
//
// Timing: `phy_tx_start` and the frame `phy_tx` come one clock after the decision.

`default_nettype none

module transmit_port
  import perhop_pkg::*;
(
  input  wire logic        clk,
  input  wire logic        rst,

  // From frame_sequence.
  input  wire logic        send,
  input  wire logic [2:0]  send_kind,
  input  wire logic [2:0]  send_rate,
  input  wire logic [11:0] send_bytes,
  input  wire logic [15:0] send_airtime_us,
  input  wire logic [17:0] send_until_data_us,   // Duration: the sum of both, or what the field can hold (8.2.5.1)
  input  wire logic [16:0] send_after_data_us,
  input  wire logic [47:0] send_ra,
  input  wire logic [11:0] send_sequence,
  input  wire logic        send_retry,
  input  wire logic [15:0] send_tag,
  input  wire logic        send_queue,

  // From responder.
  input  wire logic        answer,
  input  wire logic [2:0]  answer_kind,
  input  wire logic [2:0]  answer_rate,
  input  wire logic [15:0] answer_airtime_us,
  input  wire logic [14:0] answer_duration_us,
  input  wire logic [47:0] answer_ra,

  // To the PHY.
  output wire logic        phy_tx_start,
  output wire phy_transmission_s phy_tx
);

  logic        start_q, retry_q, queue_q;
  logic [2:0]  kind_q, rate_q;
  logic [11:0] bytes_q, sequence_q;
  logic [15:0] airtime_us_q, tag_q;
  logic [17:0] until_data_us_q;
  logic [16:0] after_data_us_q;
  logic [47:0] ra_q;

  always_ff @(posedge clk) begin
    start_q <= !rst && (send || answer);
    if (send) begin
      kind_q          <= send_kind;
      rate_q          <= send_rate;
      bytes_q         <= send_bytes;
      airtime_us_q    <= send_airtime_us;
      until_data_us_q <= send_until_data_us;
      after_data_us_q <= send_after_data_us;
      ra_q            <= send_ra;
      sequence_q      <= send_sequence;
      retry_q         <= send_retry;
      tag_q           <= send_tag;
      queue_q         <= send_queue;
    end else if (answer) begin
      kind_q          <= answer_kind;
      rate_q          <= answer_rate;
      bytes_q         <= 12'(CTS_BYTES);   // a CTS and a MAC ACK are of one size
      airtime_us_q    <= answer_airtime_us;
      until_data_us_q <= 18'(answer_duration_us);
      after_data_us_q <= '0;
      ra_q            <= answer_ra;
      sequence_q      <= '0;
      retry_q         <= 1'b0;
      tag_q           <= '0;
      queue_q         <= 1'b0;
    end
  end

  // Added here, so that no decision waits for it.
  wire logic [17:0] duration_us = until_data_us_q + 18'(after_data_us_q);
  if (MAX_DURATION_US != 32767) begin : g_bad_duration
    $fatal(1, "%m: the largest Duration is taken to be 15 ones");
  end

  assign phy_tx_start       = start_q;
  assign phy_tx             = '{
    kind: kind_q, rate: rate_q, bytes: bytes_q, airtime_us: airtime_us_q,
    duration_us: duration_us[17:15] != '0 ? 15'(MAX_DURATION_US) : duration_us[14:0], ra: ra_q, sequence_number: sequence_q,
    retry: retry_q, tag: tag_q, queue_number: queue_q
  };

`ifndef SYNTHESIS
  always_ff @(posedge clk) begin
    if (!rst) a_one_frame_at_a_time : assert (!(send && answer));
  end
`endif

endmodule

`default_nettype wire
