// SPDX-License-Identifier: GPL-2.0-or-later
// Example of a port: perhop at an AD936x, without a vendor's cell. For a Zynq, an ECP5 or any other FPGA that a board joins to the
// chip's CMOS port.
//
// The chip runs in single-port-per-direction, full duplex, CMOS, single data rate, one channel: every edge of DATA_CLK carries 12 bits
// each way, I with FRAME high and then Q, so that DATA_CLK is twice the sample rate: 44 MHz for 22 million samples a second. It is
// the MAC's clock too; the host may have another. Only instances and wires here, but for the port's registers in ad936x_port.
//
// Host: 32-bit registers over a request and an answer (a UART, SPI or AXI4-Lite bridge drives it), packets over AXI4-Stream. What the
// packets hold stands in gateware/spec/frames.yaml, the registers in gateware/spec/reference.md.
//
// Timing: 44 clocks a microsecond; a response leaves LOOP_SAMPLES and the time of the modem after a frame's end.

`default_nettype none

module ad936x_top #(
  parameter int unsigned CLOCKS_PER_US = 44,     // of data_clk
  parameter int unsigned LOOP_SAMPLES  = 16,
  parameter int unsigned TX_RING_BYTES = 4096,
  parameter int unsigned RX_RING_BYTES = 4096
) (
  // The chip.
  input  wire logic        data_clk,
  input  wire logic        rx_frame,
  input  wire logic [11:0] rx_data,              // two's complement
  output wire logic        tx_frame,
  output wire logic [11:0] tx_data,
  output wire logic        enable,               // the chip's ENABLE and TXNRX, where the board has them
  output wire logic        txnrx,
  output wire logic        ctrl_in0,             // more gain, and less
  output wire logic        ctrl_in1,

  // The host.
  input  wire logic        host_clk,
  input  wire logic        host_rst,
  input  wire logic        s_access_wr,          // one clock
  input  wire logic        s_access_rd,
  input  wire logic [19:0] s_access_address,
  input  wire logic [31:0] s_access_word,
  output wire logic        m_answer_valid,       // one clock
  output wire logic        m_answer_refused,
  output wire logic [31:0] m_answer_word,
  input  wire logic [31:0] s_axis_tdata,
  input  wire logic        s_axis_tlast,
  input  wire logic        s_axis_tvalid,
  output wire logic        s_axis_tready,
  input  wire logic [15:0] s_axis_tbytes,        // of the packet; stands with its first word
  output wire logic [31:0] m_axis_tdata,
  output wire logic        m_axis_tlast,
  output wire logic        m_axis_tvalid,
  input  wire logic        m_axis_tready
);

  logic        stb, rx_running, tx_running, data_rst, unused_owned;
  logic [31:0] rx_sample, tx_sample;
  logic [1:0]  status;
  logic [6:0]  rx_gain_below_db;
  logic        unused_has_time, unused_ends;
  logic [63:0] unused_time;

  cdc_reset u_data_reset (.clk(data_clk), .foreign_rst(host_rst), .rst(data_rst));

  ad936x_port u_port (
    .clk(data_clk), .rst(data_rst), .rx_frame, .rx_data, .tx_frame, .tx_data, .stb, .rx_sample, .tx_sample
  );

  ad936x_gain u_gain (.clk(data_clk), .rst(data_rst), .below_db(rx_gain_below_db), .more(ctrl_in0), .less(ctrl_in1));

  shell_top #(
    .CLOCKS_PER_US(CLOCKS_PER_US), .SAMPLES_PER_CHIP(2), .LOOP_SAMPLES(LOOP_SAMPLES), .TX_RING_BYTES(TX_RING_BYTES),
    .RX_RING_BYTES(RX_RING_BYTES), .PACKET_WORDS(0)
  ) u_shell (
    .host_clk, .host_rst, .s_ctrlport_req_wr(s_access_wr), .s_ctrlport_req_rd(s_access_rd),
    .s_ctrlport_req_addr(s_access_address), .s_ctrlport_req_data(s_access_word), .s_ctrlport_resp_ack(m_answer_valid),
    .s_ctrlport_resp_status(status), .s_ctrlport_resp_data(m_answer_word),
    .s_packet_tdata(s_axis_tdata), .s_packet_tlast(s_axis_tlast), .s_packet_tends(1'b1), .s_packet_tvalid(s_axis_tvalid),
    .s_packet_tready(s_axis_tready), .s_packet_tlength(s_axis_tbytes),
    .m_packet_tdata(m_axis_tdata), .m_packet_tlast(m_axis_tlast), .m_packet_tends(unused_ends), .m_packet_tvalid(m_axis_tvalid),
    .m_packet_tready(m_axis_tready), .m_packet_thas_time(unused_has_time), .m_packet_ttimestamp(unused_time),
    .mac_clk(data_clk), .mac_clk_stands(1'b0), .rx_gain_below_db,
    .radio_clk(data_clk), .radio_rx_stb(stb), .radio_rx_data(rx_sample), .radio_rx_running(rx_running), .radio_tx_stb(stb),
    .radio_tx_data(tx_sample), .radio_tx_running(tx_running), .radio_time('0),
    .other_rx_running(1'b1), .other_tx_data('0), .other_tx_running(1'b0), .owned(unused_owned)
  );

  assign m_answer_refused = status != '0;
  assign enable           = 1'b1;                // full duplex: both chains run, the switch turns
  assign txnrx            = tx_running;

  wire logic unused = &{1'b0, rx_running, unused_owned, unused_has_time, unused_ends, unused_time};

endmodule

`default_nettype wire
