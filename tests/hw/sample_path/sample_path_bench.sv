// SPDX-License-Identifier: GPL-2.0-or-later
// sample_port and sample_pacer with the FIFOs between them, and for a modem one that sends back what it hears.

`default_nettype none

module sample_path_bench #(
  parameter int unsigned LOOP_SAMPLES   = 16,
  parameter int unsigned SPACING_CLOCKS = 2
) (
  input  wire logic        radio_clk,
  input  wire logic        mac_clk,
  input  wire logic        rst,
  input  wire logic        own,
  input  wire logic        rx_stb,
  input  wire logic [31:0] rx_data,
  input  wire logic        tx_stb,
  output wire logic [31:0] tx_data,
  output wire logic        tx_running,
  output wire logic        stat_rx_sample_lost,
  output wire logic        stat_tx_sample_late,
  output wire logic        stat_sample
);

  logic               radio_rst, mac_rst, unused_rx_running, tx_sample_take, rx_sample_valid;
  logic               heard_valid, heard_ready, mac_heard_valid, mac_heard_ready;
  logic               sent_valid, sent_ready, mac_sent_valid, mac_sent_ready;
  logic [39:0]        heard, mac_heard;
  logic [30:0]        sent, mac_sent;
  logic signed [15:0] rx_i, rx_q;

  cdc_reset u_radio_reset (.clk(radio_clk), .foreign_rst(rst), .rst(radio_rst));
  cdc_reset u_mac_reset   (.clk(mac_clk),   .foreign_rst(rst), .rst(mac_rst));

  sample_port #(.LOOP_SAMPLES(LOOP_SAMPLES)) u_sample_port (
    .clk(radio_clk), .rst(radio_rst), .own, .rx_stb, .rx_data, .tx_stb, .tx_data, .tx_running,
    .rx_running(unused_rx_running), .other_tx_data('0), .other_tx_running(1'b0), .other_rx_running(1'b0),
    .m_valid(heard_valid), .m_ready(heard_ready), .m_data(heard), .s_valid(sent_valid), .s_ready(sent_ready), .s_data(sent)
  );

  cdc_fifo #(.WIDTH(40), .DEPTH_LOG2(4)) u_heard (
    .s_clk(radio_clk), .s_rst(radio_rst), .s_valid(heard_valid), .s_ready(heard_ready), .s_data(heard),
    .m_clk(mac_clk), .m_rst(mac_rst), .m_valid(mac_heard_valid), .m_ready(mac_heard_ready), .m_data(mac_heard)
  );

  sample_pacer #(.SPACING_CLOCKS(SPACING_CLOCKS)) u_sample_pacer (
    .clk(mac_clk), .rst(mac_rst), .s_valid(mac_heard_valid), .s_ready(mac_heard_ready), .s_data(mac_heard),
    .m_valid(mac_sent_valid), .m_ready(mac_sent_ready), .m_data(mac_sent),
    .rx_sample_valid, .rx_i, .rx_q, .tx_sample_take, .tx_i(rx_i[11:0]), .tx_q(rx_q[11:0]), .tx_active(1'b1),
    .stat_rx_sample_lost, .stat_tx_sample_late, .stat_sample
  );

  cdc_fifo #(.WIDTH(31), .DEPTH_LOG2(5)) u_sent (
    .s_clk(mac_clk), .s_rst(mac_rst), .s_valid(mac_sent_valid), .s_ready(mac_sent_ready), .s_data(mac_sent),
    .m_clk(radio_clk), .m_rst(radio_rst), .m_valid(sent_valid), .m_ready(sent_ready), .m_data(sent)
  );

  wire logic unused = &{1'b0, unused_rx_running, tx_sample_take, rx_sample_valid, rx_i[15:12], rx_q[15:12]};

endmodule

`default_nettype wire
