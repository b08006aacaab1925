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
  parameter int unsigned CLOCKS_PER_US = 64,
  parameter int unsigned DELAY_CLOCKS_PER_US = 48   // of the PHY's delays, for each microsecond of SIFS; see tick_generator
) (
  input  wire logic        clk,
  input  wire logic        rst,                 // synchronous, active high

  // From and to the host.
  input  wire axil_request_s  s_axil,
  output wire axil_response_s s_axil_response,
  output wire logic        irq,                 // level

  // Settings, to mac_bytes and tick_generator.
  output wire logic        mac_enable,          // low: the MAC is held in reset
  output wire mac_settings_s settings,
  output wire logic        cfg_seed_load,

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

  // What happens: for counters and log.
  input  wire mac_events_s evt,
  input  wire mac_statistics_s stat,

  // Snapshot of a neighbour.
  output wire logic        nbr_take,
  input  wire logic        nbr_busy,            // from the clock after nbr_take until the values stand
  output wire logic [3:0]  nbr_index,
  output wire logic [3:0]  nbr_bin,
  input  wire neighbour_entry_s nbr
);

  if (QUEUES < 1 || QUEUES > 2) begin : g_bad_queues
    $fatal(1, "%m: QUEUES must be 1 or 2");
  end

  perhop_registers_pkg::perhop_registers__in_t  told;
  perhop_registers_pkg::perhop_registers__out_t registers;

  // ---- Accesses ----

  logic        bus_valid, bus_write, bus_done;
  logic [REGISTER_SPACE_W-1:0] bus_address;
  logic [31:0] bus_word, bus_read_word, memory_word, memory_write_word, block_word, count;
  logic [3:0]  bus_strobes, kind;
  logic        broken, delays_broken, write, filling, memory_write, unused_read_done, unused_error, unused_write_stall;
  logic [6:0]  memory_write_index;
  logic        refused_not_writable, refused_partial_write, refused_not_idle, refused_illegal_value, refused;
  logic        unused_write_done, unused_write_error, unused_read_stall;

  axil_slave u_axil_slave (
    .clk, .rst, .s_axil, .s_axil_response,
    .bus_valid, .bus_write, .bus_address, .bus_word, .bus_strobes, .bus_done, .bus_read_word
  );

  register_guard u_register_guard (
    .clk, .rst, .bus_valid, .bus_write, .bus_address, .bus_word, .bus_strobes, .bus_done, .hold(nbr_busy),
    .kind, .broken(broken || delays_broken), .enabled(mac_enable),
    .write, .refused_not_writable, .refused_partial_write, .refused_not_idle, .refused_illegal_value, .refused,
    .filling, .memory_word, .memory_write, .memory_write_index, .memory_write_word
  );

  perhop_register_rules u_register_rules (.kind, .word(bus_word), .settings(registers), .broken);

  phy_delay_rule #(.CLOCKS_PER_US(CLOCKS_PER_US), .DELAY_CLOCKS_PER_US(DELAY_CLOCKS_PER_US)) u_phy_delay_rule (
    .clk, .address(bus_address), .word(bus_word), .sifs_us(settings.sifs_us), .response_timeout_us(settings.response_timeout_us),
    .tx_clocks(settings.phy_tx_delay_clocks), .rx_clocks(settings.phy_rx_delay_clocks), .broken(delays_broken)
  );

  // Whole words only: the guard refuses all others.
  perhop_registers u_registers (
    .clk, .rst,
    .s_cpuif_req(write || (bus_done && !bus_write)), .s_cpuif_req_is_wr(bus_write), .s_cpuif_addr(bus_address),
    .s_cpuif_wr_data(bus_word), .s_cpuif_wr_biten('1), .s_cpuif_req_stall_wr(unused_write_stall),
    .s_cpuif_req_stall_rd(unused_read_stall), .s_cpuif_rd_ack(unused_read_done), .s_cpuif_rd_err(unused_error),
    .s_cpuif_rd_data(block_word), .s_cpuif_wr_ack(unused_write_done), .s_cpuif_wr_err(unused_write_error),
    .hwif_in(told), .hwif_out(registers)
  );

  assign bus_read_word = !bus_address[9] ? memory_word : bus_address[8:7] == '0 ? count : block_word;

  // ---- Settings ----

  assign mac_enable = registers.control.enable.value;

  perhop_register_settings u_register_settings (.registers, .settings);

  assign nbr_take  = registers.neighbour_select.take.value;
  assign nbr_index = registers.neighbour_select.index.value;
  assign nbr_bin   = registers.neighbour_select.histogram_bin.value;
  assign irq       = registers.interrupt_status.intr;

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
    strobes[STAT_TX_REFUSED]        = stat.tx_refused;
    strobes[STAT_DONE_OVERFLOW]     = stat.done_overflow;
    strobes[STAT_RTS_SENT]          = evt.tx_start && evt.tx_kind == FRAME_RTS;
    strobes[STAT_CTS_SENT]          = evt.tx_start && evt.tx_kind == FRAME_CTS;
    strobes[STAT_DATA_SENT]         = evt.tx_start && evt.tx_kind == FRAME_DATA;
    strobes[STAT_DATA_RETRIES_SENT] = evt.tx_start && evt.tx_kind == FRAME_DATA && evt.tx_retry;
    strobes[STAT_MAC_ACK_SENT]      = evt.tx_start && evt.tx_kind == FRAME_MAC_ACK;
    strobes[STAT_TIMEOUTS]          = evt.timeout;
    strobes[STAT_DELIVERED]         = evt.done && evt.done_result == RESULT_DELIVERED;
    strobes[STAT_GROUP_SENT]        = evt.done && evt.done_result == RESULT_GROUP_SENT;
    strobes[STAT_SHORT_RETRY_LIMIT] = evt.done && evt.done_result == RESULT_SHORT_RETRY_LIMIT;
    strobes[STAT_LONG_RETRY_LIMIT]  = evt.done && evt.done_result == RESULT_LONG_RETRY_LIMIT;
    strobes[STAT_RX_OK]             = evt.rx_end && evt.rx_ok;
    strobes[STAT_RX_BAD_FCS]        = evt.rx_end && !evt.rx_ok;
    strobes[STAT_RX_DELIVERED]      = stat.rx_kept;
    strobes[STAT_RX_DUPLICATE]      = stat.rx_duplicate;
    strobes[STAT_RX_OVERFLOW]       = stat.rx_overflow;
  end

  // The counters are cleared while the guard copies the reset values.
  statistics #(.COUNTERS(STATISTICS)) u_statistics (
    .clk, .rst, .strobes, .clear(filling), .clear_index(memory_write_index[4:0]),
    .hold(bus_valid), .read_index(bus_address[6:2]), .count
  );

  // ---- Event log ----

  logic [9:0] log_entries;

  event_log #(.QUEUES(QUEUES)) u_event_log (
    .clk, .rst, .cfg_kinds(registers.event_log_kinds.kinds.value),
    .tsf_us(tsf_us[31:0]), .cca_busy, .nav_left_us, .evt,
    .entries(log_entries), .overruns(told.event_log_status.overruns.next),
    .entry_tsf_us(told.event_log_time.tsf_us.next), .entry_slots(told.event_log_slots.left.next),
    .entry_kinds(told.event_log_events.kinds.next), .entry_tx_kind(told.event_log_events.tx_kind.next),
    .entry_rx_kind(told.event_log_events.rx_kind.next), .entry_result(told.event_log_events.result.next),
    .entry_queue(told.event_log_events.queue.next), .pop(registers.event_log_events.kinds.swacc)
  );

  // ---- What the hardware says ----

  assign told.status.nav_left_us.next      = nav_left_us;
  assign told.status.cca_busy.next         = cca_busy;
  assign told.status.contending.next       = contending;
  assign told.status.descriptor_ready.next = desc_ready;
  assign told.tsf.value_us.next            = tsf_us;
  assign told.clock.per_us.next            = 16'(CLOCKS_PER_US);
  assign told.clock.delay_per_us.next      = 16'(DELAY_CLOCKS_PER_US);

  wire logic error_stands = registers.error.not_writable.value || registers.error.partial_write.value ||
                            registers.error.not_idle.value || registers.error.illegal_value.value;
  assign told.event_log_status.entries.next = log_entries;

  assign told.error.not_writable.hwset  = refused_not_writable;
  assign told.error.partial_write.hwset = refused_partial_write;
  assign told.error.not_idle.hwset      = refused_not_idle;
  assign told.error.illegal_value.hwset = refused_illegal_value;
  assign told.error.at_address.next     = {bus_address[9:2], 2'b00};
  assign told.error.at_address.we       = refused && !error_stands;

  assign told.interrupt_status.completion.next    = done_waits;
  assign told.interrupt_status.reception.next     = rx_waits;
  assign told.interrupt_status.event_log.next     = log_entries >= registers.event_log_settings.fill.value;
  assign told.interrupt_status.write_refused.next = refused;

  assign told.neighbour_contention.average_us16.next          = nbr.avg_contention_us16;
  assign told.neighbour_overhead.average_us16.next            = nbr.avg_overhead_us16;
  assign told.neighbour_data_attempts.average_256.next        = nbr.avg_data_attempts_256;
  assign told.neighbour_data_attempts.histogram_packets.next  = nbr.histogram;
  assign told.neighbour_packets.value.next                    = nbr.packets;
  assign told.neighbour_drops.value.next                      = nbr.drops;
  assign told.neighbour_service.sum_low_us.next               = nbr.service_us[31:0];
  assign told.neighbour_service.sum_high_us.next              = nbr.service_us[47:32];

  wire logic unused = &{1'b0, unused_read_done, unused_error, unused_write_stall, unused_read_stall,
                        unused_write_done, unused_write_error};

endmodule

`default_nettype wire
