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
  input  wire axil_request_s  s_axil,
  output wire axil_response_s s_axil_response,
  output wire logic        irq,                 // level
  output wire logic        enabled,             // level: the host lets the MAC run

  // From and to the PHY.
  input  wire phy_indications_s from_phy,
  output wire phy_requests_s to_phy,
  input  wire logic        phy_tx_ready,

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
  output wire logic [63:0] tsf_us,
  output wire logic        rx_kept              // one clock, at most eight behind phy_rx_end: that frame goes to the host
);

  // Settings.
  logic        mac_enable;
  mac_settings_s settings;
  logic        cfg_seed_load;

  // Time, and what the MAC says of itself.
  logic        tick, desc_window, core_quiescent, sending, contending, hold_strobe, hold_carrier, news;
  logic [15:0] nav_left_us;
  logic        unused_quiescent, unused_want_rx_start;
  logic [31:0] unused_next_timer;

  // Descriptors with their rates.
  logic        desc_valid, desc_ready;
  packet_descriptor_s desc;
  logic [2:0]  series_first_rate;
  logic [19:0] series_attempts;
  logic [8:0]  series_rate;

  phy_indications_s to_mac;   // what the PHY says, as the MAC gets it

  // For counters, log and snapshots.
  mac_events_s evt;
  mac_statistics_s stat;
  logic        nbr_take, nbr_busy;
  logic [3:0]  nbr_index, nbr_bin;
  neighbour_entry_s nbr;

  wire logic mac_rst = rst || !mac_enable;
  assign enabled = mac_enable;
  assign rx_kept = stat.rx_kept;

  mac_registers #(
    .QUEUES(QUEUES), .CLOCKS_PER_US(CLOCKS_PER_US), .DELAY_CLOCKS_PER_US(CLOCKS_PER_US - SETTLE_CLOCKS)
  ) u_mac_registers (
    .clk, .rst,
    .s_axil, .s_axil_response, .irq,
    .mac_enable, .settings, .cfg_seed_load,
    .series_peer(s_desc.peer), .series_first_rate, .series_attempts, .series_rate,
    .tsf_us, .nav_left_us, .contending, .desc_ready, .cca_busy(to_mac.cca_busy), .done_waits(m_done.tvalid),
    .rx_waits(m_axis_rx.tvalid), .evt, .stat,
    .nbr_take, .nbr_busy, .nbr_index, .nbr_bin, .nbr
  );

  descriptor_rates u_descriptor_rates (
    .clk, .rst(mac_rst), .s_desc_valid, .s_desc_ready, .s_desc, .series_first_rate, .series_attempts, .series_rate,
    .desc_valid, .desc_ready, .desc
  );

  phy_inputs u_phy_inputs (.clk, .rst(mac_rst), .from_phy, .hold_strobe, .hold_carrier, .news, .to_mac);

  tick_generator #(
    .CLOCKS_PER_US(CLOCKS_PER_US), .SETTLE_CLOCKS(SETTLE_CLOCKS), .CONTENTION_CLOCKS(QUEUES > 1 ? 1 : 0)
  ) u_tick_generator (
    .clk, .rst(mac_rst), .cfg_phy_tx_delay_clocks(settings.phy_tx_delay_clocks), .cfg_phy_rx_delay_clocks(settings.phy_rx_delay_clocks),
    .phy_cca_busy(from_phy.cca_busy), .phy_rx_end(from_phy.rx_end), .cca_busy(to_mac.cca_busy), .news, .hold_strobe, .hold_carrier,
    .tick, .desc_window, .quiescent(core_quiescent), .sending, .tx_start(to_phy.tx_start), .nav_left_us
  );

  mac_bytes #(
    .UNIT_TICKS(1'b1), .QUEUES(QUEUES), .RATE_SERIES(RATE_SERIES), .PACKETS(PACKETS), .TX_RING_BYTES(TX_RING_BYTES),
    .RX_RING_BYTES(RX_RING_BYTES), .RX_FRAMES(RX_FRAMES)
  ) u_mac_bytes (
    .clk, .rst(mac_rst),
    .tick_n(24'(tick)), .summary('0), .quiescent(unused_quiescent), .core_quiescent, .next_timer(unused_next_timer),
    .want_rx_start(unused_want_rx_start), .contending, .sending, .nav_left_us, .tsf_us,
    .settings, .cfg_seed_load,
    .from_phy(to_mac), .to_phy, .phy_tx_ready,
    .desc_window, .s_desc_valid(desc_valid), .s_desc_ready(desc_ready), .s_desc(desc), .s_axis_tx, .s_axis_tx_tready,
    .m_rx_status, .m_axis_rx, .m_axis_rx_tready, .m_done, .m_done_tready, .evt, .stat,
    .nbr_take, .nbr_busy, .nbr_index, .nbr_bin, .nbr
  );

  wire logic unused = &{1'b0, unused_quiescent, unused_want_rx_start, unused_next_timer};

endmodule

`default_nettype wire
