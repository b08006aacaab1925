// SPDX-License-Identifier: GPL-2.0-or-later
// Registers of the MAC over AXI4-Lite: settings, counters, snapshots, event log, interrupt. What each register is,
// and which values it may have, stands in gateware/spec. Only instances and wires here.
//
//   host -> axil_slave -> register_guard -> perhop_registers -> settings
//   MAC -> statistics, event_log -> host
//
// A write that is refused changes nothing; `error` says why and where. A setting changes only while mac_enable is
// low, so the MAC never sees one change. mac_enable holds the MAC in reset, its TSF included; registers, counters and
// log stay. cfg_seed_load comes in the first clock in which the MAC is out of reset.
//
// Timing: a read or write takes six clocks, and waits before that while a snapshot is taken (nbr_busy); none is
// answered in the 256 clocks after reset.

`default_nettype none

module mac_registers
  import perhop_pkg::*;
  import perhop_register_words_pkg::*;
#(
  parameter int unsigned QUEUES        = 2,
  parameter int unsigned GROUPS        = GROUP_SLOTS,
  parameter int unsigned CLOCKS_PER_US = 64,
  parameter int unsigned DELAY_CLOCKS_PER_US = 48   // of the PHY's delays, for each microsecond of SIFS; see tick_generator
) (
  input  wire logic        clk,
  input  wire logic        rst,                 // synchronous, active high

  // From and to the host.
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

  // Settings, to mac_bytes.
  output wire logic        mac_enable,          // low: the MAC is held in reset
  output wire logic [47:0] cfg_address,
  output wire logic [63:0] cfg_seed,
  output wire logic        cfg_seed_load,
  output wire logic [12:0] cfg_slot_us,
  output wire logic [12:0] cfg_sifs_us,
  output wire logic [14:0] cfg_difs_us,
  output wire logic [15:0] cfg_eifs_us,
  output wire logic [15:0] cfg_response_timeout_us,
  output wire logic [15:0] cfg_nav_reset_us,
  output wire logic [9:0]  cfg_cw_min           [QUEUES],
  output wire logic [9:0]  cfg_cw_max           [QUEUES],
  output wire logic [3:0]  cfg_aifs_extra_slots [QUEUES],
  output wire logic [4:0]  cfg_short_retry_limit,
  output wire logic [4:0]  cfg_long_retry_limit,
  output wire logic [2:0]  cfg_average_shift,
  output wire logic [2:0]  cfg_rts_rate,
  output wire logic [15:0] cfg_rts_airtime_us,
  output wire logic [2:0]  cfg_response_rate       [8],
  output wire logic [15:0] cfg_response_airtime_us [8],
  output wire logic        cfg_quirk_eifs_as_nav,
  output wire logic        cfg_quirk_no_nav_reset,
  output wire logic        cfg_quirk_fixed_timeout,
  output wire logic        cfg_quirk_draw_below_cw,
  output wire logic        cfg_quirk_backoff_at_once,
  output wire logic [1:0]  cfg_access_mode,
  output wire logic        cfg_no_mac_ack,
  output wire logic [15:0] cfg_vacation_us,
  output wire logic [47:0] cfg_bssid,
  output wire logic [11:0] cfg_rts_threshold_bytes,
  output wire logic [15:0] cfg_phy_rx_start_delay_us,
  output wire logic [47:0] cfg_group_address [GROUPS],
  output wire logic [GROUPS-1:0] cfg_group_joined,
  output wire logic        cfg_all_groups,
  output wire logic        cfg_monitor,
  output wire logic [9:0]  cfg_airtime_base_us            [8],
  output wire logic [8:0]  cfg_airtime_half_bits_per_unit [8],
  output wire logic [2:0]  cfg_airtime_unit_shift         [8],
  output wire logic [5:0]  cfg_airtime_overhead_half_bits [8],

  // Settings, to tick_generator.
  output wire logic [15:0] cfg_phy_tx_delay_clocks,   // from phy_tx_start to the first bit on the air
  output wire logic [15:0] cfg_phy_rx_delay_clocks,   // from the last bit on the air to phy_rx_end

  // The rate series of a peer, one clock after its number; attempts and later rates as mac_bytes' s_desc has them.
  input  wire logic [3:0]  series_peer,
  output wire logic [2:0]  series_first_rate,
  output wire logic [19:0] series_attempts,
  output wire logic [8:0]  series_rate,

  // What the MAC and the PHY say now.
  input  wire logic [63:0] tsf_us,
  input  wire logic [15:0] nav_left_us,
  input  wire logic        contending,
  input  wire logic        desc_ready,
  input  wire logic        cca_busy,
  input  wire logic        done_waits,          // a completion record
  input  wire logic        rx_waits,            // a received frame

  // What happens, a clock each: for counters and log.
  input  wire logic        evt_tx_start,        // with
  input  wire logic [2:0]  evt_tx_kind,
  input  wire logic        evt_tx_retry,
  input  wire logic        evt_rx_start,
  input  wire logic        evt_rx_end,          // with
  input  wire logic        evt_rx_ok,
  input  wire logic [2:0]  evt_rx_kind,
  input  wire logic        evt_response,        // the CTS or MAC ACK that was waited for came
  input  wire logic        evt_timeout,         // or did not
  input  wire logic        evt_done,            // with
  input  wire logic [1:0]  evt_done_result,
  input  wire logic        evt_queue,           // of the exchange: tx_start, response, timeout, done
  input  wire logic        evt_packet_taken    [QUEUES],   // the core took a descriptor
  input  wire logic        evt_backoff_running [QUEUES],   // level
  input  wire logic [9:0]  evt_backoff_slots   [QUEUES],   // slots left
  input  wire logic        stat_tx_refused,
  input  wire logic        stat_rx_kept,
  input  wire logic        stat_rx_overflow,
  input  wire logic        stat_rx_duplicate,
  input  wire logic        stat_done_overflow,

  // Snapshot of a neighbour.
  output wire logic        nbr_take,
  input  wire logic        nbr_busy,            // from the clock after nbr_take until the values stand
  output wire logic [3:0]  nbr_index,
  output wire logic [3:0]  nbr_bin,
  input  wire logic [27:0] nbr_avg_contention_us16,
  input  wire logic [27:0] nbr_avg_overhead_us16,
  input  wire logic [15:0] nbr_avg_data_attempts_256,
  input  wire logic [31:0] nbr_packets,
  input  wire logic [31:0] nbr_drops,
  input  wire logic [47:0] nbr_service_us,
  input  wire logic [15:0] nbr_histogram
);

  if (QUEUES < 1 || QUEUES > 2) begin : g_bad_queues
    $fatal(1, "%m: QUEUES must be 1 or 2");
  end
  if (GROUPS != GROUP_SLOTS) begin : g_bad_groups
    $fatal(1, "%m: the register map has GROUP_SLOTS groups");
  end

  perhop_registers_pkg::perhop_registers__in_t  told;
  perhop_registers_pkg::perhop_registers__out_t settings;

  // ---- Accesses ----

  logic        bus_valid, bus_write, bus_done;
  logic [REGISTER_SPACE_W-1:0] bus_address;
  logic [31:0] bus_word, bus_read_word, memory_word, memory_write_word, block_word, count;
  logic [3:0]  bus_strobes, kind;
  logic        broken, delays_broken, write, filling, memory_write, unused_read_done, unused_error, unused_write_stall;
  logic [6:0]  memory_write_index;
  logic        refused_not_writable, refused_partial_write, refused_not_idle, refused_illegal_value, refused;
  logic        unused_write_done, unused_write_error, unused_read_stall;

  axil_slave #(.ADDRESS_W(REGISTER_SPACE_W)) u_axil_slave (
    .clk, .rst,
    .s_axil_awvalid, .s_axil_awready, .s_axil_awaddr, .s_axil_wvalid, .s_axil_wready, .s_axil_wdata, .s_axil_wstrb,
    .s_axil_bvalid, .s_axil_bready, .s_axil_bresp, .s_axil_arvalid, .s_axil_arready, .s_axil_araddr,
    .s_axil_rvalid, .s_axil_rready, .s_axil_rdata, .s_axil_rresp,
    .bus_valid, .bus_write, .bus_address, .bus_word, .bus_strobes, .bus_done, .bus_read_word
  );

  register_guard u_register_guard (
    .clk, .rst, .bus_valid, .bus_write, .bus_address, .bus_word, .bus_strobes, .bus_done, .hold(nbr_busy),
    .kind, .broken(broken || delays_broken), .enabled(mac_enable),
    .write, .refused_not_writable, .refused_partial_write, .refused_not_idle, .refused_illegal_value, .refused,
    .filling, .memory_word, .memory_write, .memory_write_index, .memory_write_word
  );

  perhop_register_rules u_register_rules (.kind, .word(bus_word), .settings, .broken);

  phy_delay_rule #(.CLOCKS_PER_US(CLOCKS_PER_US), .DELAY_CLOCKS_PER_US(DELAY_CLOCKS_PER_US)) u_phy_delay_rule (
    .clk, .address(bus_address), .word(bus_word), .sifs_us(cfg_sifs_us), .response_timeout_us(cfg_response_timeout_us),
    .tx_clocks(cfg_phy_tx_delay_clocks), .rx_clocks(cfg_phy_rx_delay_clocks), .broken(delays_broken)
  );

  // Whole words only: the guard refuses all others.
  perhop_registers u_registers (
    .clk, .rst,
    .s_cpuif_req(write || (bus_done && !bus_write)), .s_cpuif_req_is_wr(bus_write), .s_cpuif_addr(bus_address),
    .s_cpuif_wr_data(bus_word), .s_cpuif_wr_biten('1), .s_cpuif_req_stall_wr(unused_write_stall),
    .s_cpuif_req_stall_rd(unused_read_stall), .s_cpuif_rd_ack(unused_read_done), .s_cpuif_rd_err(unused_error),
    .s_cpuif_rd_data(block_word), .s_cpuif_wr_ack(unused_write_done), .s_cpuif_wr_err(unused_write_error),
    .hwif_in(told), .hwif_out(settings)
  );

  assign bus_read_word = !bus_address[9] ? memory_word : bus_address[8:7] == '0 ? count : block_word;

  // ---- Settings ----

  assign mac_enable                = settings.control.enable.value;
  assign cfg_address               = {settings.address.high.value, settings.address.low.value};
  assign cfg_seed                  = {settings.seed.high.value, settings.seed.low.value};
  assign cfg_slot_us               = settings.slot.value_us.value;
  assign cfg_sifs_us               = settings.sifs.value_us.value;
  assign cfg_difs_us               = settings.difs.value_us.value;
  assign cfg_eifs_us               = settings.eifs.value_us.value;
  assign cfg_response_timeout_us   = settings.response_timeout.value_us.value;
  assign cfg_nav_reset_us          = settings.nav_reset.value_us.value;
  assign cfg_phy_rx_start_delay_us = settings.phy_rx_start_delay.value_us.value;
  assign cfg_phy_tx_delay_clocks   = settings.phy_delay.tx_clocks.value;
  assign cfg_phy_rx_delay_clocks   = settings.phy_delay.rx_clocks.value;
  assign cfg_rts_rate              = settings.rts.rate.value;
  assign cfg_rts_airtime_us        = settings.rts.airtime_us.value;
  assign cfg_average_shift         = settings.average.shift.value;
  assign cfg_quirk_eifs_as_nav     = settings.quirks.eifs_as_nav.value;
  assign cfg_quirk_no_nav_reset    = settings.quirks.no_nav_reset.value;
  assign cfg_quirk_fixed_timeout   = settings.quirks.fixed_timeout.value;
  assign cfg_quirk_draw_below_cw   = settings.quirks.draw_below_cw.value;
  assign cfg_quirk_backoff_at_once = settings.quirks.backoff_at_once.value;
  assign cfg_access_mode           = settings.access_mode.mode.value;
  assign cfg_no_mac_ack            = settings.access_mode.no_mac_ack.value;
  assign cfg_vacation_us           = settings.access_mode.vacation_us.value;
  assign cfg_short_retry_limit     = settings.retry_limits.short_retry_limit.value;
  assign cfg_long_retry_limit      = settings.retry_limits.long_retry_limit.value;
  assign cfg_rts_threshold_bytes   = settings.rts_threshold.value_bytes.value;
  assign cfg_bssid                 = {settings.bssid.high.value, settings.bssid.low.value};
  assign cfg_group_joined          = settings.receive_filter.group_joined.value;
  assign cfg_all_groups            = settings.receive_filter.all_groups.value;
  assign cfg_monitor               = settings.receive_filter.monitor.value;

  for (genvar i = 0; i < 8; i++) begin : g_rates
    assign cfg_response_rate[i]              = settings.response[i].rate.value;
    assign cfg_response_airtime_us[i]        = settings.response[i].airtime_us.value;
    assign cfg_airtime_base_us[i]            = settings.airtime[i].base_us.value;
    assign cfg_airtime_half_bits_per_unit[i] = settings.airtime[i].half_bits_per_unit.value;
    assign cfg_airtime_unit_shift[i]         = settings.airtime[i].unit_shift.value;
    assign cfg_airtime_overhead_half_bits[i] = settings.airtime[i].overhead_half_bits.value;
  end
  for (genvar i = 0; i < QUEUES; i++) begin : g_queues
    assign cfg_cw_min[i]           = settings.contention_window[i].cw_min.value;
    assign cfg_cw_max[i]           = settings.contention_window[i].cw_max.value;
    assign cfg_aifs_extra_slots[i] = settings.contention_window[i].aifs_extra_slots.value;
  end
  for (genvar i = 0; i < GROUPS; i++) begin : g_groups
    assign cfg_group_address[i] = {settings.group[i].high.value, settings.group[i].low.value};
  end

  assign nbr_take  = settings.neighbour_select.take.value;
  assign nbr_index = settings.neighbour_select.index.value;
  assign nbr_bin   = settings.neighbour_select.histogram_bin.value;
  assign irq       = settings.interrupt_status.intr;

  logic enabled_q;
  always_ff @(posedge clk) enabled_q <= !rst && mac_enable;
  assign cfg_seed_load = mac_enable && !enabled_q;

  // ---- Rate series: the same words again, for the MAC to read ----

  logic [31:0] series;

  block_ram #(.WIDTH(32), .DEPTH(16)) u_series (
    .clk, .write(memory_write && memory_write_index[6:4] == '1), .write_address(memory_write_index[3:0]),
    .write_data(memory_write_word), .read_address(series_peer), .read_data(series)
  );

  assign series_first_rate = series[2:0];
  assign series_attempts   = {series[31:27], series[23:19], series[15:11], series[7:3]};
  assign series_rate       = {series[26:24], series[18:16], series[10:8]};

  // ---- Counters ----

  logic [STATISTICS-1:0] strobes;

  always_comb begin
    strobes = '0;
    strobes[STAT_TX_REFUSED]        = stat_tx_refused;
    strobes[STAT_DONE_OVERFLOW]     = stat_done_overflow;
    strobes[STAT_RTS_SENT]          = evt_tx_start && evt_tx_kind == FRAME_RTS;
    strobes[STAT_CTS_SENT]          = evt_tx_start && evt_tx_kind == FRAME_CTS;
    strobes[STAT_DATA_SENT]         = evt_tx_start && evt_tx_kind == FRAME_DATA;
    strobes[STAT_DATA_RETRIES_SENT] = evt_tx_start && evt_tx_kind == FRAME_DATA && evt_tx_retry;
    strobes[STAT_MAC_ACK_SENT]      = evt_tx_start && evt_tx_kind == FRAME_MAC_ACK;
    strobes[STAT_TIMEOUTS]          = evt_timeout;
    strobes[STAT_DELIVERED]         = evt_done && evt_done_result == RESULT_DELIVERED;
    strobes[STAT_GROUP_SENT]        = evt_done && evt_done_result == RESULT_GROUP_SENT;
    strobes[STAT_SHORT_RETRY_LIMIT] = evt_done && evt_done_result == RESULT_SHORT_RETRY_LIMIT;
    strobes[STAT_LONG_RETRY_LIMIT]  = evt_done && evt_done_result == RESULT_LONG_RETRY_LIMIT;
    strobes[STAT_RX_OK]             = evt_rx_end && evt_rx_ok;
    strobes[STAT_RX_BAD_FCS]        = evt_rx_end && !evt_rx_ok;
    strobes[STAT_RX_DELIVERED]      = stat_rx_kept;
    strobes[STAT_RX_DUPLICATE]      = stat_rx_duplicate;
    strobes[STAT_RX_OVERFLOW]       = stat_rx_overflow;
  end

  // The counters are cleared while the guard copies the reset values.
  statistics #(.COUNTERS(STATISTICS)) u_statistics (
    .clk, .rst, .strobes, .clear(filling), .clear_index(memory_write_index[4:0]),
    .hold(bus_valid), .read_index(bus_address[6:2]), .count
  );

  // ---- Event log ----

  logic [9:0] log_entries;

  event_log #(.QUEUES(QUEUES)) u_event_log (
    .clk, .rst, .cfg_kinds(settings.event_log_kinds.kinds.value),
    .tsf_us(tsf_us[31:0]), .tx_start(evt_tx_start), .tx_kind(evt_tx_kind), .rx_start(evt_rx_start),
    .rx_end(evt_rx_end), .rx_ok(evt_rx_ok), .rx_kind(evt_rx_kind), .cca_busy, .nav_left_us,
    .backoff_running(evt_backoff_running), .backoff_slots(evt_backoff_slots), .response(evt_response),
    .timeout(evt_timeout), .packet_taken(evt_packet_taken), .packet_done(evt_done), .packet_result(evt_done_result),
    .exchange_queue(evt_queue),
    .entries(log_entries), .overruns(told.event_log_status.overruns.next),
    .entry_tsf_us(told.event_log_time.tsf_us.next), .entry_slots(told.event_log_slots.left.next),
    .entry_kinds(told.event_log_events.kinds.next), .entry_tx_kind(told.event_log_events.tx_kind.next),
    .entry_rx_kind(told.event_log_events.rx_kind.next), .entry_result(told.event_log_events.result.next),
    .entry_queue(told.event_log_events.queue.next), .pop(settings.event_log_events.kinds.swacc)
  );

  // ---- What the hardware says ----

  assign told.status.nav_left_us.next      = nav_left_us;
  assign told.status.cca_busy.next         = cca_busy;
  assign told.status.contending.next       = contending;
  assign told.status.descriptor_ready.next = desc_ready;
  assign told.tsf.value_us.next            = tsf_us;
  assign told.clock.per_us.next            = 16'(CLOCKS_PER_US);
  assign told.clock.delay_per_us.next      = 16'(DELAY_CLOCKS_PER_US);

  wire logic error_stands = settings.error.not_writable.value || settings.error.partial_write.value ||
                            settings.error.not_idle.value || settings.error.illegal_value.value;
  assign told.event_log_status.entries.next = log_entries;

  assign told.error.not_writable.hwset  = refused_not_writable;
  assign told.error.partial_write.hwset = refused_partial_write;
  assign told.error.not_idle.hwset      = refused_not_idle;
  assign told.error.illegal_value.hwset = refused_illegal_value;
  assign told.error.at_address.next     = {bus_address[9:2], 2'b00};
  assign told.error.at_address.we       = refused && !error_stands;

  assign told.interrupt_status.completion.next    = done_waits;
  assign told.interrupt_status.reception.next     = rx_waits;
  assign told.interrupt_status.event_log.next     = log_entries >= settings.event_log_settings.fill.value;
  assign told.interrupt_status.write_refused.next = refused;

  assign told.neighbour_contention.average_us16.next          = nbr_avg_contention_us16;
  assign told.neighbour_overhead.average_us16.next            = nbr_avg_overhead_us16;
  assign told.neighbour_data_attempts.average_256.next        = nbr_avg_data_attempts_256;
  assign told.neighbour_data_attempts.histogram_packets.next  = nbr_histogram;
  assign told.neighbour_packets.value.next                    = nbr_packets;
  assign told.neighbour_drops.value.next                      = nbr_drops;
  assign told.neighbour_service.sum_low_us.next               = nbr_service_us[31:0];
  assign told.neighbour_service.sum_high_us.next              = nbr_service_us[47:32];

  wire logic unused = &{1'b0, s_axil_awprot, s_axil_arprot, unused_read_done, unused_error, unused_write_stall, unused_read_stall,
                        unused_write_done, unused_write_error};

endmodule

`default_nettype wire
