// SPDX-License-Identifier: GPL-2.0-or-later
// Accesses of a control port (RFNoC: a request of one clock, later an answer of one clock) into another clock. One is under
// way at a time, as the port's rules have it; a request that comes before the answer to the last one is answered with an
// error, after that one.
//
// Timing: there and back take about five clocks of each.

`default_nettype none

module ctrlport_crossing (
  // The control port.
  input  wire logic        s_clk,
  input  wire logic        s_rst,
  input  wire logic        s_ctrlport_req_wr,
  input  wire logic        s_ctrlport_req_rd,
  input  wire logic [19:0] s_ctrlport_req_addr,
  input  wire logic [31:0] s_ctrlport_req_data,
  output wire logic        s_ctrlport_resp_ack,
  output wire logic [1:0]  s_ctrlport_resp_status,    // 0 done, 1 refused
  output wire logic [31:0] s_ctrlport_resp_data,

  // To register_bus.
  input  wire logic        m_clk,
  input  wire logic        m_rst,
  output wire logic        access_valid,
  input  wire logic        access_ready,
  output wire logic        access_write,
  output wire logic [19:0] access_address,
  output wire logic [31:0] access_word,
  input  wire logic        answer_valid,              // one clock
  input  wire logic        answer_refused,
  input  wire logic [31:0] answer_word
);

  localparam logic [1:0] STATUS_DONE = 2'd0, STATUS_REFUSED = 2'd1;

  wire logic request = s_ctrlport_req_wr || s_ctrlport_req_rd;
  logic      under_way_q, early_q;
  logic      request_ready, answer_come, answer_taken_refused, unused_answer_ready;
  logic [31:0] answer_taken_word;

  always_ff @(posedge s_clk) begin
    if (s_rst) begin
      under_way_q <= 1'b0;
      early_q     <= 1'b0;
    end else begin
      if (answer_come)                under_way_q <= 1'b0;
      else if (request)               under_way_q <= 1'b1;
      if (request && under_way_q)     early_q <= 1'b1;
      else if (early_q && !answer_come) early_q <= 1'b0;
    end
  end

  assign s_ctrlport_resp_ack    = answer_come || early_q;
  assign s_ctrlport_resp_status = answer_come && !answer_taken_refused ? STATUS_DONE : STATUS_REFUSED;
  assign s_ctrlport_resp_data   = answer_taken_word;

  cdc_fifo #(.WIDTH(53), .DEPTH_LOG2(2)) u_requests (
    .s_clk, .s_rst, .s_valid(request && !under_way_q), .s_ready(request_ready),
    .s_data({s_ctrlport_req_wr, s_ctrlport_req_addr, s_ctrlport_req_data}),
    .m_clk, .m_rst, .m_valid(access_valid), .m_ready(access_ready), .m_data({access_write, access_address, access_word})
  );

  cdc_fifo #(.WIDTH(33), .DEPTH_LOG2(2)) u_answers (
    .s_clk(m_clk), .s_rst(m_rst), .s_valid(answer_valid), .s_ready(unused_answer_ready),
    .s_data({answer_refused, answer_word}),
    .m_clk(s_clk), .m_rst(s_rst), .m_valid(answer_come), .m_ready(1'b1),
    .m_data({answer_taken_refused, answer_taken_word})
  );

  wire logic unused = &{1'b0, request_ready, unused_answer_ready};

endmodule

`default_nettype wire
