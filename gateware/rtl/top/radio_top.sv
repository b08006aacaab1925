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
#(
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
  input  wire axil_request_s  s_axil,
  output wire axil_response_s s_axil_response,
  output wire logic        irq,                 // level

  // The radio's samples.
  input  wire logic        rx_sample_valid,
  input  wire logic signed [15:0] rx_i,
  input  wire logic signed [15:0] rx_q,
  input  wire logic        tx_sample_take,      // tx_i and tx_q have been used
  output wire logic signed [11:0] tx_i,
  output wire logic signed [11:0] tx_q,
  output wire logic        tx_active,           // for the antenna's switch
  output wire logic [6:0]  rx_gain_below_db,    // what the front end's gain is to be below its most

  // Packets from the host: a descriptor, then the MSDU.
  input  wire logic        s_desc_valid,
  output wire logic        s_desc_ready,        // the queue has room for it
  input  wire packet_descriptor_s s_desc,
  input  wire byte_stream_s s_axis_tx,
  output wire logic        s_axis_tx_tready,

  // Received frames to the host. The status stands with every byte of its frame.
  output wire rx_status_s  m_rx_status,
  output wire byte_stream_s m_axis_rx,
  input  wire logic        m_axis_rx_tready,

  // Completion records to the host.
  output wire word_stream_s m_done,
  input  wire logic        m_done_tready,

  // For whoever has a clock of its own beside the MAC's.
  output wire logic        enabled,             // level: the host lets MAC and PHY run
  output wire logic [63:0] tsf_us,
  output wire logic        rx_end,              // one clock: a frame has ended
  output wire logic        rx_kept              // one clock, at most eight behind rx_end: that frame goes to the host
);

  // Registers, by slave: the MAC's, the radio's.
  axil_request_s  axil [2];
  axil_response_s axil_response [2];

  // Between MAC and PHY.
  phy_indications_s from_phy;
  phy_requests_s    to_phy;
  logic             phy_tx_ready, rx_frame_ended;

  // Between PHY and registers.
  logic        cfg_short_preamble, cfg_energy_detect, cfg_carrier_sense;
  logic [8:0]  cfg_tx_gain;
  logic signed [8:0] cfg_rssi_base_dbm;
  logic [2:0]  cfg_ramp_log2_samples;
  logic [6:0]  cfg_lead_samples, cfg_hold_samples;
  logic        cfg_limit_threshold;
  logic [2:0]  cfg_gain_range_steps;
  logic [1:0]  cfg_gain_settle_looks;
  logic signed [7:0] cfg_energy_threshold_dbm, cfg_transmit_power_dbm, energy_limit_dbm, level_dbm, rx_tangent_128;
  logic signed [6:0] rx_snr_db;
  logic        stat_header_error, stat_no_sfd, stat_rx_unsupported, stat_tx_unsupported, stat_tx_underrun;

  axil_split u_axil_split (.clk, .rst, .s_axil, .s_axil_response, .m_axil(axil), .m_axil_response(axil_response));

  radio_registers #(
    .SAMPLES_PER_CHIP(SAMPLES_PER_CHIP), .RATE_IN(RATE_IN), .RATE_22(RATE_22)
  ) u_radio_registers (
    .clk, .rst, .s_axil(axil[1]), .s_axil_response(axil_response[1]), .enabled,
    .cfg_short_preamble, .cfg_tx_gain, .cfg_rssi_base_dbm, .cfg_energy_threshold_dbm, .cfg_energy_detect,
    .cfg_carrier_sense, .cfg_transmit_power_dbm, .cfg_limit_threshold, .cfg_ramp_log2_samples, .cfg_lead_samples,
    .cfg_hold_samples, .cfg_gain_range_steps, .cfg_gain_settle_looks, .rx_gain_below_db,
    .level_dbm, .energy_limit_dbm, .phy_cca_busy(from_phy.cca_busy), .tx_active, .phy_rx_start(from_phy.rx_start), .phy_rx_rate(from_phy.rx_rate),
    .phy_rx_end(rx_frame_ended), .phy_rx_error(from_phy.rx_error), .phy_rx_rssi_dbm(from_phy.rx_rssi_dbm), .rx_snr_db,
    .rx_tangent_128, .stat_header_error, .stat_no_sfd, .stat_rx_unsupported, .stat_tx_unsupported,
    .stat_tx_underrun
  );

  mac_top #(
    .CLOCKS_PER_US(CLOCKS_PER_US), .SETTLE_CLOCKS(SETTLE_CLOCKS), .QUEUES(QUEUES), .RATE_SERIES(RATE_SERIES),
    .PACKETS(PACKETS), .TX_RING_BYTES(TX_RING_BYTES), .RX_RING_BYTES(RX_RING_BYTES), .RX_FRAMES(RX_FRAMES)
  ) u_mac_top (
    .clk, .rst, .s_axil(axil[0]), .s_axil_response(axil_response[0]), .irq, .enabled,
    .from_phy, .to_phy, .phy_tx_ready, .s_desc_valid, .s_desc_ready, .s_desc, .s_axis_tx, .s_axis_tx_tready,
    .m_rx_status, .m_axis_rx, .m_axis_rx_tready, .m_done, .m_done_tready, .tsf_us, .rx_kept
  );

  assign rx_end = from_phy.rx_end;

  dsss_phy #(.SAMPLES_PER_CHIP(SAMPLES_PER_CHIP), .RATE_IN(RATE_IN), .RATE_22(RATE_22)) u_dsss_phy (
    .clk, .rst(rst || !enabled), .cfg_short_preamble, .cfg_tx_gain, .cfg_rssi_base_dbm, .cfg_energy_threshold_dbm,
    .cfg_energy_detect, .cfg_carrier_sense, .cfg_transmit_power_dbm, .cfg_limit_threshold, .cfg_ramp_log2_samples,
    .cfg_lead_samples, .cfg_hold_samples, .cfg_gain_range_steps, .cfg_gain_settle_looks,
    .rx_sample_valid, .rx_i, .rx_q, .tx_sample_take, .tx_i, .tx_q, .tx_active, .rx_gain_below_db, .level_dbm, .energy_limit_dbm,
    .phy_cca_busy(from_phy.cca_busy), .phy_rx_start(from_phy.rx_start), .phy_rx_rate(from_phy.rx_rate),
    .phy_rx_bytes(from_phy.rx_bytes), .phy_rx_data(from_phy.rx_data), .phy_rx_valid(from_phy.rx_valid), .phy_rx_end(from_phy.rx_end),
    .phy_rx_error(from_phy.rx_error), .phy_rx_rssi_dbm(from_phy.rx_rssi_dbm), .rx_frame_ended, .rx_snr_db, .rx_tangent_128,
    .phy_tx_start(to_phy.tx_start), .phy_tx_rate(to_phy.tx_rate), .phy_tx_bytes(to_phy.tx_bytes), .phy_tx_data(to_phy.tx_data),
    .phy_tx_valid(to_phy.tx_valid), .phy_tx_ready, .phy_tx_last(to_phy.tx_last),
    .stat_header_error, .stat_no_sfd, .stat_rx_unsupported, .stat_tx_unsupported, .stat_tx_underrun
  );

  wire logic unused = &{1'b0, to_phy.tx_airtime_us};

endmodule

`default_nettype wire
