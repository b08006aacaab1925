// SPDX-License-Identifier: GPL-2.0-or-later
// A radio's MAC and modem: samples of a converter on one side, host streams and registers on the other. Only instances and wires
// here.
//
//   host -> mac_top -> dsss_phy -> samples
//   samples -> dsss_phy -> mac_top -> host
//   host -> axil_split -> registers of mac_top, radio_registers -> settings of dsss_phy
//
// Until the host enables the MAC, and when it disables it, the PHY is in reset too: nothing is sent, and nothing heard.
//
// Timing: samples come and go with their strobes, at most every second clock with two samples a chip, at most every clock with
// four, with RATE_IN and RATE_22 as dsss_phy says; the clock need not be a multiple of their rate.

`default_nettype none

module radio_top
  import perhop_pkg::*;
  import perhop_register_words_pkg::*;
#(
  localparam int unsigned RADIO_SPACE_W   = $clog2(RADIO_SPACE_BYTES),
  parameter int unsigned CLOCKS_PER_US    = 44,
  parameter int unsigned SETTLE_CLOCKS    = 16,    // see tick_generator
  parameter int unsigned SAMPLES_PER_CHIP = 2,     // 2 or 4
  parameter int unsigned RATE_IN          = 0,     // these as dsss_phy has them
  parameter int unsigned RATE_22          = 0,
  parameter int unsigned QUEUES           = 2,     // these as mac_top has them
  parameter int unsigned RATE_SERIES      = 4,
  parameter int unsigned PACKETS          = 8,
  parameter int unsigned TX_RING_BYTES    = 8192,
  parameter int unsigned RX_RING_BYTES    = 4096,
  parameter int unsigned RX_FRAMES        = 16
) (
  input  wire logic        clk,
  input  wire logic        rst,                 // synchronous, active high

  // Registers: those of mac_top in the lower half, the radio's own in the upper one.
  input  wire logic        s_axil_awvalid,
  output wire logic        s_axil_awready,
  input  wire logic [RADIO_SPACE_W-1:0] s_axil_awaddr,
  input  wire logic [2:0]  s_axil_awprot,
  input  wire logic        s_axil_wvalid,
  output wire logic        s_axil_wready,
  input  wire logic [31:0] s_axil_wdata,
  input  wire logic [3:0]  s_axil_wstrb,
  output wire logic        s_axil_bvalid,
  input  wire logic        s_axil_bready,
  output wire logic [1:0]  s_axil_bresp,
  input  wire logic        s_axil_arvalid,
  output wire logic        s_axil_arready,
  input  wire logic [RADIO_SPACE_W-1:0] s_axil_araddr,
  input  wire logic [2:0]  s_axil_arprot,
  output wire logic        s_axil_rvalid,
  input  wire logic        s_axil_rready,
  output wire logic [31:0] s_axil_rdata,
  output wire logic [1:0]  s_axil_rresp,
  output wire logic        irq,                 // level

  // The radio's samples.
  input  wire logic        rx_sample_valid,
  input  wire logic signed [15:0] rx_i,
  input  wire logic signed [15:0] rx_q,
  input  wire logic        tx_sample_take,      // tx_i and tx_q have been used
  output wire logic signed [11:0] tx_i,
  output wire logic signed [11:0] tx_q,
  output wire logic        tx_active,           // for the antenna's switch

  // Packets from the host: a descriptor, then the MSDU.
  input  wire logic        s_desc_valid,
  output wire logic        s_desc_ready,        // the queue has room for it
  input  wire logic        s_desc_queue,
  input  wire logic [47:0] s_desc_ra,
  input  wire logic        s_desc_four_address,
  input  wire logic [47:0] s_desc_a3,           // with four addresses: destination
  input  wire logic [47:0] s_desc_a4,           // and source
  input  wire logic [3:0]  s_desc_peer,
  input  wire logic [11:0] s_desc_bytes,        // of the MSDU
  input  wire logic [2:0]  s_desc_rate,
  input  wire logic [19:0] s_desc_series_attempts,   // at s_desc_rate, then at three more rates, low bits first; 0 ends the series,
  input  wire logic [8:0]  s_desc_series_rate,       // whose last rate is for all attempts that remain
  input  wire logic        s_desc_peer_series,  // instead, the rate series that the registers hold for the peer
  input  wire logic        s_desc_force_rts,    // an RTS whatever the length
  input  wire logic [15:0] s_desc_tag,
  input  wire logic [7:0]  s_axis_tx_tdata,
  input  wire logic        s_axis_tx_tkeep,
  input  wire logic        s_axis_tx_tvalid,
  output wire logic        s_axis_tx_tready,
  input  wire logic        s_axis_tx_tlast,

  // Received frames to the host. The status stands with every byte of its frame.
  output wire rx_status_s  m_rx_status,
  output wire logic [7:0]  m_axis_rx_tdata,
  output wire logic        m_axis_rx_tkeep,
  output wire logic        m_axis_rx_tvalid,
  input  wire logic        m_axis_rx_tready,
  output wire logic        m_axis_rx_tlast,

  // Completion records to the host.
  output wire logic [31:0] m_done_tdata,
  output wire logic [3:0]  m_done_tkeep,
  output wire logic        m_done_tvalid,
  input  wire logic        m_done_tready,
  output wire logic        m_done_tlast
);

  // Registers, by slave: the MAC's, the radio's.
  logic [1:0]  awvalid, awready, wvalid, wready, bvalid, bready, arvalid, arready, rvalid, rready;
  logic [1:0]  bresp [2], rresp [2];
  logic [31:0] rdata [2];

  // Between MAC and PHY.
  logic        phy_cca_busy, phy_rx_start, phy_rx_valid, phy_rx_end, phy_rx_error;
  logic [2:0]  phy_rx_rate, phy_tx_rate;
  logic [11:0] phy_rx_bytes, phy_tx_bytes;
  logic [7:0]  phy_rx_data, phy_rx_rssi_dbm, phy_tx_data;
  logic        phy_tx_start, phy_tx_valid, phy_tx_ready, phy_tx_last;
  logic [15:0] unused_airtime_us;
  logic        enabled, rx_frame_ended;

  // Between PHY and registers.
  logic        cfg_short_preamble, cfg_energy_detect, cfg_carrier_sense;
  logic [8:0]  cfg_tx_gain;
  logic signed [8:0] cfg_rssi_base_dbm;
  logic signed [7:0] cfg_energy_threshold_dbm, level_dbm, rx_tangent_128;
  logic signed [6:0] rx_snr_db;
  logic        stat_header_error, stat_no_sfd, stat_rx_unsupported, stat_tx_unsupported, stat_tx_underrun;

  axil_split #(.ADDRESS_W(RADIO_SPACE_W)) u_axil_split (
    .clk, .rst,
    .s_axil_awvalid, .s_axil_awready, .s_axil_awaddr, .s_axil_wvalid, .s_axil_wready, .s_axil_bvalid, .s_axil_bready,
    .s_axil_bresp, .s_axil_arvalid, .s_axil_arready, .s_axil_araddr, .s_axil_rvalid, .s_axil_rready, .s_axil_rdata,
    .s_axil_rresp,
    .m_axil_awvalid(awvalid), .m_axil_awready(awready), .m_axil_wvalid(wvalid), .m_axil_bvalid(bvalid),
    .m_axil_bready(bready), .m_axil_bresp(bresp), .m_axil_arvalid(arvalid), .m_axil_arready(arready),
    .m_axil_rvalid(rvalid), .m_axil_rready(rready), .m_axil_rdata(rdata), .m_axil_rresp(rresp)
  );

  radio_registers #(
    .SAMPLES_PER_CHIP(SAMPLES_PER_CHIP), .RATE_IN(RATE_IN), .RATE_22(RATE_22)
  ) u_radio_registers (
    .clk, .rst,
    .s_axil_awvalid(awvalid[1]), .s_axil_awready(awready[1]), .s_axil_awaddr(s_axil_awaddr[REGISTER_SPACE_W-1:0]),
    .s_axil_wvalid(wvalid[1]), .s_axil_wready(wready[1]), .s_axil_wdata, .s_axil_wstrb, .s_axil_bvalid(bvalid[1]),
    .s_axil_bready(bready[1]), .s_axil_bresp(bresp[1]), .s_axil_arvalid(arvalid[1]), .s_axil_arready(arready[1]),
    .s_axil_araddr(s_axil_araddr[REGISTER_SPACE_W-1:0]), .s_axil_rvalid(rvalid[1]), .s_axil_rready(rready[1]),
    .s_axil_rdata(rdata[1]), .s_axil_rresp(rresp[1]), .enabled,
    .cfg_short_preamble, .cfg_tx_gain, .cfg_rssi_base_dbm, .cfg_energy_threshold_dbm, .cfg_energy_detect,
    .cfg_carrier_sense,
    .level_dbm, .phy_cca_busy, .tx_active, .phy_rx_start, .phy_rx_rate, .phy_rx_end(rx_frame_ended), .phy_rx_error,
    .phy_rx_rssi_dbm, .rx_snr_db, .rx_tangent_128, .stat_header_error, .stat_no_sfd, .stat_rx_unsupported, .stat_tx_unsupported,
    .stat_tx_underrun
  );

  mac_top #(
    .CLOCKS_PER_US(CLOCKS_PER_US), .SETTLE_CLOCKS(SETTLE_CLOCKS), .QUEUES(QUEUES), .RATE_SERIES(RATE_SERIES),
    .PACKETS(PACKETS), .TX_RING_BYTES(TX_RING_BYTES), .RX_RING_BYTES(RX_RING_BYTES), .RX_FRAMES(RX_FRAMES)
  ) u_mac_top (
    .clk, .rst,
    .s_axil_awvalid(awvalid[0]), .s_axil_awready(awready[0]), .s_axil_awaddr(s_axil_awaddr[REGISTER_SPACE_W-1:0]),
    .s_axil_awprot, .s_axil_wvalid(wvalid[0]), .s_axil_wready(wready[0]), .s_axil_wdata, .s_axil_wstrb,
    .s_axil_bvalid(bvalid[0]), .s_axil_bready(bready[0]), .s_axil_bresp(bresp[0]), .s_axil_arvalid(arvalid[0]),
    .s_axil_arready(arready[0]), .s_axil_araddr(s_axil_araddr[REGISTER_SPACE_W-1:0]), .s_axil_arprot,
    .s_axil_rvalid(rvalid[0]), .s_axil_rready(rready[0]), .s_axil_rdata(rdata[0]), .s_axil_rresp(rresp[0]),
    .irq, .enabled,
    .phy_cca_busy, .phy_rx_start, .phy_rx_rate, .phy_rx_bytes, .phy_rx_data, .phy_rx_valid, .phy_rx_end, .phy_rx_error,
    .phy_rx_rssi_dbm,
    .phy_tx_start, .phy_tx_rate, .phy_tx_bytes, .phy_tx_airtime_us(unused_airtime_us), .phy_tx_data, .phy_tx_valid,
    .phy_tx_ready, .phy_tx_last,
    .s_desc_valid, .s_desc_ready, .s_desc_queue, .s_desc_ra, .s_desc_four_address, .s_desc_a3, .s_desc_a4, .s_desc_peer,
    .s_desc_bytes, .s_desc_rate, .s_desc_series_attempts, .s_desc_series_rate, .s_desc_peer_series, .s_desc_force_rts,
    .s_desc_tag, .s_axis_tx_tdata, .s_axis_tx_tkeep, .s_axis_tx_tvalid, .s_axis_tx_tready, .s_axis_tx_tlast,
    .m_rx_status, .m_axis_rx_tdata, .m_axis_rx_tkeep, .m_axis_rx_tvalid, .m_axis_rx_tready, .m_axis_rx_tlast,
    .m_done_tdata, .m_done_tkeep, .m_done_tvalid, .m_done_tready, .m_done_tlast
  );

  dsss_phy #(.SAMPLES_PER_CHIP(SAMPLES_PER_CHIP), .RATE_IN(RATE_IN), .RATE_22(RATE_22)) u_dsss_phy (
    .clk, .rst(rst || !enabled), .cfg_short_preamble, .cfg_tx_gain, .cfg_rssi_base_dbm, .cfg_energy_threshold_dbm,
    .cfg_energy_detect, .cfg_carrier_sense,
    .rx_sample_valid, .rx_i, .rx_q, .tx_sample_take, .tx_i, .tx_q, .tx_active, .level_dbm,
    .phy_cca_busy, .phy_rx_start, .phy_rx_rate, .phy_rx_bytes, .phy_rx_data, .phy_rx_valid, .phy_rx_end, .phy_rx_error,
    .phy_rx_rssi_dbm, .rx_frame_ended, .rx_snr_db, .rx_tangent_128,
    .phy_tx_start, .phy_tx_rate, .phy_tx_bytes, .phy_tx_data, .phy_tx_valid, .phy_tx_ready, .phy_tx_last,
    .stat_header_error, .stat_no_sfd, .stat_rx_unsupported, .stat_tx_unsupported, .stat_tx_underrun
  );

  wire logic unused = &{1'b0, unused_airtime_us, wready};

endmodule

`default_nettype wire
