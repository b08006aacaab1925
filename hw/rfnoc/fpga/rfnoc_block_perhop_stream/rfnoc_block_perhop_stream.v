// SPDX-License-Identifier: GPL-2.0-or-later
// perhop with its samples as packets of a stream: a shell_top between a NoC shell and nothing else. SIFS does not hold.
//
// The NoC shell in it is not ours: UHD's rfnoc_create_verilog.py (4.x) or rfnoc_modtool makes noc_shell_perhop_stream from perhop_stream.yml;
// hw/images/build.sh has it made.

`default_nettype none

module rfnoc_block_perhop_stream #(
  parameter [9:0] THIS_PORTID = 10'd0,
  parameter       CHDR_W      = 64,
  parameter [5:0] MTU         = 10,
  parameter       SAMPLES_PER_CHIP   = 2,
  parameter       RATE_IN            = 0,
  parameter       RATE_22            = 0,
  parameter       SAMPLES_PER_PACKET = 64,
  parameter       LOOP_SAMPLES       = 16,
  parameter       CLOCK_PERIOD_NS    = 5.0,
  parameter       CLOCK_DIVIDE       = 1,
  parameter       CLOCK_MULTIPLY     = 4.5,
  parameter       CLOCK_OUTPUT       = 15.0
) (
  input  wire                rfnoc_chdr_clk,
  input  wire                rfnoc_ctrl_clk,
  input  wire [511:0]        rfnoc_core_config,
  output wire [511:0]        rfnoc_core_status,
  input  wire [2*CHDR_W-1:0] s_rfnoc_chdr_tdata,
  input  wire [2-1:0]        s_rfnoc_chdr_tlast,
  input  wire [2-1:0]        s_rfnoc_chdr_tvalid,
  output wire [2-1:0]        s_rfnoc_chdr_tready,
  output wire [2*CHDR_W-1:0] m_rfnoc_chdr_tdata,
  output wire [2-1:0]        m_rfnoc_chdr_tlast,
  output wire [2-1:0]        m_rfnoc_chdr_tvalid,
  input  wire [2-1:0]        m_rfnoc_chdr_tready,
  input  wire [31:0]         s_rfnoc_ctrl_tdata,
  input  wire                s_rfnoc_ctrl_tlast,
  input  wire                s_rfnoc_ctrl_tvalid,
  output wire                s_rfnoc_ctrl_tready,
  output wire [31:0]         m_rfnoc_ctrl_tdata,
  output wire                m_rfnoc_ctrl_tlast,
  output wire                m_rfnoc_ctrl_tvalid,
  input  wire                m_rfnoc_ctrl_tready
);

  wire        mac_clk, mac_clk_stands;
  wire        ctrlport_clk, ctrlport_rst, axis_data_clk, axis_data_rst;
  wire        ctrlport_req_wr, ctrlport_req_rd, ctrlport_resp_ack;
  wire [19:0] ctrlport_req_addr;
  wire [31:0] ctrlport_req_data, ctrlport_resp_data;
  wire [1:0]  ctrlport_resp_status;
  wire [31:0] packets_tdata, frames_tdata;
  wire [15:0] packets_tlength;
  wire        packets_tlast, packets_teob, packets_tvalid, packets_tready;
  wire        frames_tlast, frames_teob, frames_tvalid, frames_tready;
  wire [31:0] samples_in_tdata, samples_out_tdata, rx_data, tx_data;
  wire        samples_in_tvalid, samples_in_tready, samples_out_tvalid, samples_out_tready, samples_out_tlast;
  wire        rx_stb, unused_rx_running, unused_tx_running, unused_owned;

  mac_clock #(
    .PERIOD_NS(CLOCK_PERIOD_NS), .DIVIDE(CLOCK_DIVIDE), .MULTIPLY(CLOCK_MULTIPLY), .OUTPUT(CLOCK_OUTPUT)
  ) u_mac_clock (.clk_in(rfnoc_chdr_clk), .mac_clk(mac_clk), .stands(mac_clk_stands));

  noc_shell_perhop_stream #(
    .THIS_PORTID(THIS_PORTID), .CHDR_W(CHDR_W), .MTU(MTU),
    .SAMPLES_PER_CHIP(SAMPLES_PER_CHIP), .RATE_IN(RATE_IN), .RATE_22(RATE_22),
    .SAMPLES_PER_PACKET(SAMPLES_PER_PACKET), .LOOP_SAMPLES(LOOP_SAMPLES),
    .CLOCK_PERIOD_NS(CLOCK_PERIOD_NS), .CLOCK_DIVIDE(CLOCK_DIVIDE), .CLOCK_MULTIPLY(CLOCK_MULTIPLY),
    .CLOCK_OUTPUT(CLOCK_OUTPUT)
  ) u_noc_shell (
    .rfnoc_chdr_clk(rfnoc_chdr_clk), .rfnoc_ctrl_clk(rfnoc_ctrl_clk),
    .rfnoc_chdr_rst(), .rfnoc_ctrl_rst(),
    .rfnoc_core_config(rfnoc_core_config), .rfnoc_core_status(rfnoc_core_status),
    .s_rfnoc_chdr_tdata(s_rfnoc_chdr_tdata), .s_rfnoc_chdr_tlast(s_rfnoc_chdr_tlast),
    .s_rfnoc_chdr_tvalid(s_rfnoc_chdr_tvalid), .s_rfnoc_chdr_tready(s_rfnoc_chdr_tready),
    .m_rfnoc_chdr_tdata(m_rfnoc_chdr_tdata), .m_rfnoc_chdr_tlast(m_rfnoc_chdr_tlast),
    .m_rfnoc_chdr_tvalid(m_rfnoc_chdr_tvalid), .m_rfnoc_chdr_tready(m_rfnoc_chdr_tready),
    .s_rfnoc_ctrl_tdata(s_rfnoc_ctrl_tdata), .s_rfnoc_ctrl_tlast(s_rfnoc_ctrl_tlast),
    .s_rfnoc_ctrl_tvalid(s_rfnoc_ctrl_tvalid), .s_rfnoc_ctrl_tready(s_rfnoc_ctrl_tready),
    .m_rfnoc_ctrl_tdata(m_rfnoc_ctrl_tdata), .m_rfnoc_ctrl_tlast(m_rfnoc_ctrl_tlast),
    .m_rfnoc_ctrl_tvalid(m_rfnoc_ctrl_tvalid), .m_rfnoc_ctrl_tready(m_rfnoc_ctrl_tready),
    .ctrlport_clk(ctrlport_clk), .ctrlport_rst(ctrlport_rst),
    .m_ctrlport_req_wr(ctrlport_req_wr), .m_ctrlport_req_rd(ctrlport_req_rd), .m_ctrlport_req_addr(ctrlport_req_addr),
    .m_ctrlport_req_data(ctrlport_req_data), .m_ctrlport_resp_ack(ctrlport_resp_ack),
    .m_ctrlport_resp_status(ctrlport_resp_status), .m_ctrlport_resp_data(ctrlport_resp_data),
    .axis_data_clk(axis_data_clk), .axis_data_rst(axis_data_rst),
    .m_packets_axis_tdata(packets_tdata), .m_packets_axis_tkeep(), .m_packets_axis_tlast(packets_tlast),
    .m_packets_axis_tvalid(packets_tvalid), .m_packets_axis_tready(packets_tready), .m_packets_axis_ttimestamp(),
    .m_packets_axis_thas_time(), .m_packets_axis_tlength(packets_tlength), .m_packets_axis_teov(),
    .m_packets_axis_teob(packets_teob),
    .m_samples_axis_tdata(samples_in_tdata), .m_samples_axis_tkeep(), .m_samples_axis_tlast(),
    .m_samples_axis_tvalid(samples_in_tvalid), .m_samples_axis_tready(samples_in_tready), .m_samples_axis_ttimestamp(),
    .m_samples_axis_thas_time(), .m_samples_axis_tlength(), .m_samples_axis_teov(), .m_samples_axis_teob(),
    .s_samples_axis_tdata(samples_out_tdata), .s_samples_axis_tkeep(1'b1), .s_samples_axis_tlast(samples_out_tlast),
    .s_samples_axis_tvalid(samples_out_tvalid), .s_samples_axis_tready(samples_out_tready),
    .s_samples_axis_ttimestamp(64'd0), .s_samples_axis_thas_time(1'b0), .s_samples_axis_tlength(16'd0),
    .s_samples_axis_teov(1'b0), .s_samples_axis_teob(1'b0),
    .s_frames_axis_tdata(frames_tdata), .s_frames_axis_tkeep(1'b1), .s_frames_axis_tlast(frames_tlast),
    .s_frames_axis_tvalid(frames_tvalid), .s_frames_axis_tready(frames_tready), .s_frames_axis_ttimestamp(64'd0),
    .s_frames_axis_thas_time(1'b0), .s_frames_axis_tlength(16'd0), .s_frames_axis_teov(1'b0),
    .s_frames_axis_teob(frames_teob)
  );

  // 7 clocks of 187.5 or 200 MHz: faster than 25 million samples a second, slower than the 30 that the modem takes at 60 MHz.
  sample_stream #(.SAMPLES_PER_PACKET(SAMPLES_PER_PACKET), .SPACING_CLOCKS(7)) u_sample_stream (
    .clk(rfnoc_chdr_clk), .rst(axis_data_rst), .s_tdata(samples_in_tdata), .s_tvalid(samples_in_tvalid),
    .s_tready(samples_in_tready), .m_tdata(samples_out_tdata), .m_tlast(samples_out_tlast), .m_tvalid(samples_out_tvalid),
    .m_tready(samples_out_tready), .rx_stb(rx_stb), .rx_data(rx_data), .tx_data(tx_data)
  );

  shell_top #(
    .CLOCKS_PER_US(60), .SAMPLES_PER_CHIP(SAMPLES_PER_CHIP), .RATE_IN(RATE_IN), .RATE_22(RATE_22),
    .LOOP_SAMPLES(LOOP_SAMPLES), .STREAMED(1'b1)
  ) u_shell (
    .host_clk(rfnoc_chdr_clk), .host_rst(ctrlport_rst || axis_data_rst),
    .s_ctrlport_req_wr(ctrlport_req_wr), .s_ctrlport_req_rd(ctrlport_req_rd), .s_ctrlport_req_addr(ctrlport_req_addr),
    .s_ctrlport_req_data(ctrlport_req_data), .s_ctrlport_resp_ack(ctrlport_resp_ack),
    .s_ctrlport_resp_status(ctrlport_resp_status), .s_ctrlport_resp_data(ctrlport_resp_data),
    .s_packet_tdata(packets_tdata), .s_packet_tlast(packets_tlast), .s_packet_tends(packets_teob), .s_packet_tvalid(packets_tvalid),
    .s_packet_tready(packets_tready), .s_packet_tlength(packets_tlength),
    .m_packet_tdata(frames_tdata), .m_packet_tlast(frames_tlast), .m_packet_tends(frames_teob), .m_packet_tvalid(frames_tvalid),
    .m_packet_tready(frames_tready), .m_packet_thas_time(), .m_packet_ttimestamp(),
    .mac_clk(mac_clk), .mac_clk_stands(mac_clk_stands), .rx_gain_below_db(),
    .radio_clk(rfnoc_chdr_clk), .radio_rx_stb(rx_stb), .radio_rx_data(rx_data), .radio_rx_running(unused_rx_running),
    .radio_tx_stb(rx_stb), .radio_tx_data(tx_data), .radio_tx_running(unused_tx_running), .radio_time(64'd0),
    .other_rx_running(1'b0), .other_tx_data(32'd0), .other_tx_running(1'b0), .owned(unused_owned)
  );

endmodule

`default_nettype wire
