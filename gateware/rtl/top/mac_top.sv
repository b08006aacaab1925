// SPDX-License-Identifier: GPL-2.0-or-later
// The MAC as a radio takes it: AXI4-Lite and AXI4-Stream to the host, bytes to the PHY, one clock. Only instances and
// wires here.
//
//   host -> mac_registers -> settings
//   host -> descriptor_rates -> mac_bytes -> PHY
//   PHY -> phy_inputs -> mac_bytes -> host
//   PHY -> tick_generator -> mac_bytes: time, in step with the medium
//
// Until the host enables the MAC, and when it disables it, everything but the registers is in reset: what was queued,
// or half given or taken, is lost, and the streams begin anew.
//
// Timing: the PHY's indications come when they like, within the contract that stands in phy_inputs. Its phy_tx_start
// comes SIFS less the programmed delays of the PHY after phy_rx_end, to the clock (tick_generator).

`default_nettype none

module mac_top
  import perhop_pkg::*;
  import perhop_register_words_pkg::*;
#(
  parameter int unsigned CLOCKS_PER_US = 64,
  parameter int unsigned SETTLE_CLOCKS = 16,     // see tick_generator
  parameter int unsigned QUEUES        = 2,      // queue 0 best effort, queue 1 of high priority
  parameter int unsigned RATE_SERIES   = 4,      // rates that a packet's retries may step through
  parameter int unsigned PACKETS       = 8,      // waiting in each queue; a power of two
  parameter int unsigned TX_RING_BYTES = 8192,   // of each queue
  parameter int unsigned RX_RING_BYTES = 4096,
  parameter int unsigned RX_FRAMES     = 16
) (
  input  wire logic        clk,
  input  wire logic        rst,                 // synchronous, active high

  // Registers.
  input  wire logic        s_axil_awvalid,
  output wire logic        s_axil_awready,
  input  wire logic [REGISTER_SPACE_W-1:0] s_axil_awaddr,
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
  input  wire logic [REGISTER_SPACE_W-1:0] s_axil_araddr,
  input  wire logic [2:0]  s_axil_arprot,
  output wire logic        s_axil_rvalid,
  input  wire logic        s_axil_rready,
  output wire logic [31:0] s_axil_rdata,
  output wire logic [1:0]  s_axil_rresp,
  output wire logic        irq,                 // level
  output wire logic        enabled,             // level: the host lets the MAC run

  // From the PHY.
  input  wire logic        phy_cca_busy,        // level
  input  wire logic        phy_rx_start,        // one clock: a PLCP header was good, with
  input  wire logic [2:0]  phy_rx_rate,
  input  wire logic [11:0] phy_rx_bytes,        // and the length that it tells
  input  wire logic [7:0]  phy_rx_data,
  input  wire logic        phy_rx_valid,
  input  wire logic        phy_rx_end,          // one clock, after the last byte, with
  input  wire logic        phy_rx_error,        // the carrier was lost, or the modulation violated
  input  wire logic [7:0]  phy_rx_rssi_dbm,     // two's complement

  // To the PHY.
  output wire logic        phy_tx_start,        // one clock, with
  output wire logic [2:0]  phy_tx_rate,
  output wire logic [11:0] phy_tx_bytes,
  output wire logic [15:0] phy_tx_airtime_us,
  output wire logic [7:0]  phy_tx_data,
  output wire logic        phy_tx_valid,
  input  wire logic        phy_tx_ready,
  output wire logic        phy_tx_last,

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

  // Settings.
  logic        mac_enable;
  logic [47:0] cfg_address, cfg_bssid;
  logic [63:0] cfg_seed;
  logic        cfg_seed_load;
  logic [12:0] cfg_slot_us, cfg_sifs_us;
  logic [14:0] cfg_difs_us;
  logic [15:0] cfg_eifs_us, cfg_response_timeout_us, cfg_nav_reset_us, cfg_rts_airtime_us, cfg_vacation_us;
  logic [15:0] cfg_phy_rx_start_delay_us, cfg_phy_tx_delay_clocks, cfg_phy_rx_delay_clocks;
  logic [9:0]  cfg_cw_min [QUEUES], cfg_cw_max [QUEUES];
  logic [3:0]  cfg_aifs_extra_slots [QUEUES];
  logic [4:0]  cfg_short_retry_limit, cfg_long_retry_limit;
  logic [2:0]  cfg_average_shift, cfg_rts_rate;
  logic [2:0]  cfg_response_rate [8];
  logic [15:0] cfg_response_airtime_us [8];
  logic        cfg_quirk_eifs_as_nav, cfg_quirk_no_nav_reset, cfg_quirk_fixed_timeout, cfg_quirk_draw_below_cw;
  logic        cfg_quirk_backoff_at_once, cfg_no_mac_ack, cfg_all_groups, cfg_monitor;
  logic [1:0]  cfg_access_mode;
  logic [11:0] cfg_rts_threshold_bytes;
  logic [47:0] cfg_group_address [GROUP_SLOTS];
  logic [GROUP_SLOTS-1:0] cfg_group_joined;
  logic [9:0]  cfg_airtime_base_us [8];
  logic [8:0]  cfg_airtime_half_bits_per_unit [8];
  logic [2:0]  cfg_airtime_unit_shift [8];
  logic [5:0]  cfg_airtime_overhead_half_bits [8];

  // Time, and what the MAC says of itself.
  logic        tick, desc_window, core_quiescent, sending, contending, hold_strobe, hold_carrier, news;
  logic [15:0] nav_left_us;
  logic [63:0] tsf_us;
  logic        unused_quiescent, unused_want_rx_start;
  logic [31:0] unused_next_timer;

  // Descriptors with their rates.
  logic        desc_valid, desc_ready;
  logic [2:0]  desc_rate, series_first_rate;
  logic [19:0] desc_series_attempts, series_attempts;
  logic [8:0]  desc_series_rate, series_rate;

  // The PHY's indications as the MAC gets them.
  logic        cca_busy, rx_start, rx_valid, rx_end, rx_error;
  logic [2:0]  rx_rate;
  logic [11:0] rx_bytes;
  logic [7:0]  rx_data, rx_rssi_dbm;

  // For counters, log and snapshots.
  logic        evt_tx_retry, evt_rx_ok, evt_response, evt_timeout, evt_done, evt_queue;
  logic        evt_packet_taken [QUEUES], evt_backoff_running [QUEUES];
  logic [9:0]  evt_backoff_slots [QUEUES];
  logic [2:0]  evt_tx_kind, evt_rx_kind;
  logic [1:0]  evt_done_result;
  logic        stat_tx_refused, stat_rx_kept, stat_rx_overflow, stat_rx_duplicate, stat_done_overflow;
  logic        nbr_take, nbr_busy;
  logic [3:0]  nbr_index, nbr_bin;
  logic [27:0] nbr_avg_contention_us16, nbr_avg_overhead_us16;
  logic [15:0] nbr_avg_data_attempts_256, nbr_histogram;
  logic [31:0] nbr_packets, nbr_drops;
  logic [47:0] nbr_service_us;

  wire logic mac_rst = rst || !mac_enable;
  assign enabled = mac_enable;

  mac_registers #(
    .QUEUES(QUEUES), .CLOCKS_PER_US(CLOCKS_PER_US), .DELAY_CLOCKS_PER_US(CLOCKS_PER_US - SETTLE_CLOCKS)
  ) u_mac_registers (
    .clk, .rst,
    .s_axil_awvalid, .s_axil_awready, .s_axil_awaddr, .s_axil_awprot, .s_axil_wvalid, .s_axil_wready, .s_axil_wdata,
    .s_axil_wstrb, .s_axil_bvalid, .s_axil_bready, .s_axil_bresp, .s_axil_arvalid, .s_axil_arready, .s_axil_araddr,
    .s_axil_arprot, .s_axil_rvalid, .s_axil_rready, .s_axil_rdata, .s_axil_rresp, .irq,
    .mac_enable, .cfg_address, .cfg_seed, .cfg_seed_load, .cfg_slot_us, .cfg_sifs_us, .cfg_difs_us, .cfg_eifs_us,
    .cfg_response_timeout_us, .cfg_nav_reset_us, .cfg_cw_min, .cfg_cw_max, .cfg_aifs_extra_slots,
    .cfg_short_retry_limit, .cfg_long_retry_limit, .cfg_average_shift, .cfg_rts_rate, .cfg_rts_airtime_us,
    .cfg_response_rate, .cfg_response_airtime_us, .cfg_quirk_eifs_as_nav, .cfg_quirk_no_nav_reset,
    .cfg_quirk_fixed_timeout, .cfg_quirk_draw_below_cw, .cfg_quirk_backoff_at_once, .cfg_access_mode, .cfg_no_mac_ack,
    .cfg_vacation_us, .cfg_bssid, .cfg_rts_threshold_bytes, .cfg_phy_rx_start_delay_us, .cfg_group_address,
    .cfg_group_joined, .cfg_all_groups, .cfg_monitor, .cfg_airtime_base_us, .cfg_airtime_half_bits_per_unit,
    .cfg_airtime_unit_shift, .cfg_airtime_overhead_half_bits, .cfg_phy_tx_delay_clocks, .cfg_phy_rx_delay_clocks,
    .series_peer(s_desc_peer), .series_first_rate, .series_attempts, .series_rate,
    .tsf_us, .nav_left_us, .contending, .desc_ready, .cca_busy, .done_waits(m_done_tvalid),
    .rx_waits(m_axis_rx_tvalid),
    .evt_tx_start(phy_tx_start), .evt_tx_kind, .evt_tx_retry, .evt_rx_start(rx_start), .evt_rx_end(rx_end), .evt_rx_ok,
    .evt_rx_kind, .evt_response, .evt_timeout, .evt_done, .evt_done_result, .evt_queue, .evt_packet_taken,
    .evt_backoff_running, .evt_backoff_slots,
    .stat_tx_refused, .stat_rx_kept, .stat_rx_overflow, .stat_rx_duplicate, .stat_done_overflow,
    .nbr_take, .nbr_busy, .nbr_index, .nbr_bin, .nbr_avg_contention_us16, .nbr_avg_overhead_us16,
    .nbr_avg_data_attempts_256, .nbr_packets, .nbr_drops, .nbr_service_us, .nbr_histogram
  );

  descriptor_rates u_descriptor_rates (
    .clk, .rst(mac_rst), .s_desc_valid, .s_desc_ready, .s_desc_peer_series, .s_desc_rate, .s_desc_series_attempts,
    .s_desc_series_rate, .series_first_rate, .series_attempts, .series_rate,
    .desc_valid, .desc_ready, .desc_rate, .desc_series_attempts, .desc_series_rate
  );

  phy_inputs u_phy_inputs (
    .clk, .rst(mac_rst),
    .phy_cca_busy, .phy_rx_start, .phy_rx_rate, .phy_rx_bytes, .phy_rx_data, .phy_rx_valid, .phy_rx_end, .phy_rx_error,
    .phy_rx_rssi_dbm, .hold_strobe, .hold_carrier, .news,
    .cca_busy, .rx_start, .rx_rate, .rx_bytes, .rx_data, .rx_valid, .rx_end, .rx_error, .rx_rssi_dbm
  );

  tick_generator #(
    .CLOCKS_PER_US(CLOCKS_PER_US), .SETTLE_CLOCKS(SETTLE_CLOCKS), .CONTENTION_CLOCKS(QUEUES > 1 ? 1 : 0)
  ) u_tick_generator (
    .clk, .rst(mac_rst), .cfg_phy_tx_delay_clocks, .cfg_phy_rx_delay_clocks,
    .phy_cca_busy, .phy_rx_end, .cca_busy, .news, .hold_strobe, .hold_carrier,
    .tick, .desc_window, .quiescent(core_quiescent), .sending, .tx_start(phy_tx_start), .nav_left_us
  );

  mac_bytes #(
    .UNIT_TICKS(1'b1), .QUEUES(QUEUES), .RATE_SERIES(RATE_SERIES), .PACKETS(PACKETS), .TX_RING_BYTES(TX_RING_BYTES),
    .RX_RING_BYTES(RX_RING_BYTES), .RX_FRAMES(RX_FRAMES), .GROUPS(GROUP_SLOTS)
  ) u_mac_bytes (
    .clk, .rst(mac_rst),
    .tick_n(24'(tick)), .quiescent(unused_quiescent), .core_quiescent, .next_timer(unused_next_timer),
    .want_rx_start(unused_want_rx_start), .contending, .sending, .nav_left_us, .tsf_us,
    .cfg_address, .cfg_seed, .cfg_seed_load, .cfg_slot_us, .cfg_sifs_us, .cfg_difs_us, .cfg_eifs_us,
    .cfg_response_timeout_us, .cfg_nav_reset_us, .cfg_cw_min, .cfg_cw_max, .cfg_aifs_extra_slots,
    .cfg_short_retry_limit, .cfg_long_retry_limit, .cfg_average_shift, .cfg_rts_rate, .cfg_rts_airtime_us,
    .cfg_response_rate, .cfg_response_airtime_us, .cfg_quirk_eifs_as_nav, .cfg_quirk_no_nav_reset,
    .cfg_quirk_fixed_timeout, .cfg_quirk_draw_below_cw, .cfg_quirk_backoff_at_once, .cfg_access_mode, .cfg_no_mac_ack,
    .cfg_vacation_us, .cfg_bssid, .cfg_rts_threshold_bytes, .cfg_phy_rx_start_delay_us, .cfg_group_address,
    .cfg_group_joined, .cfg_all_groups, .cfg_monitor, .cfg_airtime_base_us, .cfg_airtime_half_bits_per_unit,
    .cfg_airtime_unit_shift, .cfg_airtime_overhead_half_bits,
    .phy_cca_busy(cca_busy), .phy_rx_start(rx_start), .phy_rx_rate(rx_rate), .phy_rx_bytes(rx_bytes),
    .phy_rx_data(rx_data), .phy_rx_valid(rx_valid), .phy_rx_end(rx_end), .phy_rx_error(rx_error),
    .phy_rx_rssi_dbm(rx_rssi_dbm),
    .phy_tx_start, .phy_tx_rate, .phy_tx_bytes, .phy_tx_airtime_us, .phy_tx_data, .phy_tx_valid, .phy_tx_ready,
    .phy_tx_last,
    .desc_window, .s_desc_valid(desc_valid), .s_desc_ready(desc_ready), .s_desc_queue, .s_desc_ra, .s_desc_four_address, .s_desc_a3, .s_desc_a4,
    .s_desc_peer, .s_desc_bytes, .s_desc_rate(desc_rate), .s_desc_series_attempts(desc_series_attempts),
    .s_desc_series_rate(desc_series_rate), .s_desc_force_rts, .s_desc_tag,
    .s_axis_tx_tdata, .s_axis_tx_tkeep, .s_axis_tx_tvalid, .s_axis_tx_tready, .s_axis_tx_tlast,
    .m_rx_status, .m_axis_rx_tdata, .m_axis_rx_tkeep, .m_axis_rx_tvalid, .m_axis_rx_tready, .m_axis_rx_tlast,
    .m_done_tdata, .m_done_tkeep, .m_done_tvalid, .m_done_tready, .m_done_tlast,
    .stat_tx_refused, .stat_rx_kept, .stat_rx_overflow, .stat_rx_duplicate, .stat_done_overflow,
    .evt_tx_kind, .evt_tx_retry, .evt_rx_ok, .evt_rx_kind, .evt_response, .evt_timeout, .evt_done, .evt_done_result,
    .evt_queue, .evt_packet_taken, .evt_backoff_running, .evt_backoff_slots,
    .nbr_take, .nbr_busy, .nbr_index, .nbr_bin, .nbr_avg_contention_us16, .nbr_avg_overhead_us16,
    .nbr_avg_data_attempts_256, .nbr_packets, .nbr_drops, .nbr_service_us, .nbr_histogram
  );

  wire logic unused = &{1'b0, unused_quiescent, unused_want_rx_start, unused_next_timer};

endmodule

`default_nettype wire
