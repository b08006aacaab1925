// SPDX-License-Identifier: GPL-2.0-or-later
// Registers of the radio over AXI4-Lite: settings and counters of the modem, its last frame. What each register is, and which values
// it may have, stands in gateware/spec. Only instances and wires here.
//
//   host -> axil_slave -> register_guard -> perhop_radio_registers -> settings
//   PHY -> statistics -> host
//
// As in mac_registers a write that is refused changes nothing, and `error` says why and where. They stay when the MAC is disabled.
//
// Timing: a read or write takes six clocks; none is answered in the 256 clocks after reset.

`default_nettype none

module radio_registers
  import perhop_pkg::*;
  import perhop_radio_register_words_pkg::*;
#(
  parameter int unsigned SAMPLES_PER_CHIP = 2,        // these as dsss_phy has them, told to the host
  parameter int unsigned RATE_IN          = 0,
  parameter int unsigned RATE_22          = 0
) (
  input  wire logic              clk,
  input  wire logic              rst,                 // synchronous, active high

  // From and to the host.
  input  wire axil_request_s     s_axil,
  output wire axil_response_s    s_axil_response,

  input  wire logic              enabled,             // the MAC runs

  // Settings, to dsss_phy.
  output wire logic              cfg_short_preamble,
  output wire logic [8:0]        cfg_tx_gain,
  output wire logic signed [8:0] cfg_rssi_base_dbm,
  output wire logic signed [7:0] cfg_energy_threshold_dbm,
  output wire logic              cfg_energy_detect,
  output wire logic              cfg_carrier_sense,
  output wire logic signed [7:0] cfg_transmit_power_dbm,
  output wire logic              cfg_limit_threshold,
  output wire logic [2:0]        cfg_ramp_log2_samples,
  output wire logic [6:0]        cfg_lead_samples,
  output wire logic [6:0]        cfg_hold_samples,
  output wire logic [2:0]        cfg_gain_range_steps,
  output wire logic [1:0]        cfg_gain_settle_looks,

  // What dsss_phy says now.
  input  wire logic signed [7:0] level_dbm,
  input  wire logic signed [7:0] energy_limit_dbm,
  input  wire logic              phy_cca_busy,
  input  wire logic              tx_active,
  input  wire logic [6:0]        rx_gain_below_db,

  // What happens, a clock each.
  input  wire logic              phy_rx_start,        // with
  input  wire logic [2:0]        phy_rx_rate,
  input  wire logic              phy_rx_end,          // with
  input  wire logic              phy_rx_error,
  input  wire logic [7:0]        phy_rx_rssi_dbm,
  input  wire logic signed [6:0] rx_snr_db,
  input  wire logic signed [7:0] rx_tangent_128,
  input  wire logic              stat_header_error,
  input  wire logic              stat_no_sfd,
  input  wire logic              stat_rx_unsupported,
  input  wire logic              stat_tx_unsupported,
  input  wire logic              stat_tx_underrun
);

  perhop_radio_registers_pkg::perhop_radio_registers__in_t  told;
  perhop_radio_registers_pkg::perhop_radio_registers__out_t settings;

  // ---- Accesses ----

  logic        bus_valid, bus_write, bus_done;
  logic [REGISTER_SPACE_W-1:0] bus_address;
  logic [31:0] bus_word, bus_read_word, memory_word, unused_memory_word, block_word, count;
  logic [3:0]  bus_strobes, kind;
  logic        broken, write, filling, unused_memory_write, unused_read_done, unused_error, unused_write_stall;
  logic [6:0]  memory_write_index;
  logic        refused_not_writable, refused_partial_write, refused_not_idle, refused_illegal_value, refused;
  logic        unused_write_done, unused_write_error, unused_read_stall;

  axil_slave u_axil_slave (
    .clk, .rst, .s_axil, .s_axil_response,
    .bus_valid, .bus_write, .bus_address, .bus_word, .bus_strobes, .bus_done, .bus_read_word
  );

  register_guard #(.RADIO(1'b1)) u_register_guard (
    .clk, .rst, .bus_valid, .bus_write, .bus_address, .bus_word, .bus_strobes, .bus_done, .hold(1'b0),
    .kind, .broken, .enabled,
    .write, .refused_not_writable, .refused_partial_write, .refused_not_idle, .refused_illegal_value, .refused,
    .filling, .memory_word, .memory_write(unused_memory_write), .memory_write_index,
    .memory_write_word(unused_memory_word)
  );

  perhop_radio_register_rules u_register_rules (.kind, .word(bus_word), .settings, .broken);

  // Whole words only: the guard refuses all others.
  perhop_radio_registers u_registers (
    .clk, .rst,
    .s_cpuif_req(write || (bus_done && !bus_write)), .s_cpuif_req_is_wr(bus_write), .s_cpuif_addr(bus_address),
    .s_cpuif_wr_data(bus_word), .s_cpuif_wr_biten('1), .s_cpuif_req_stall_wr(unused_write_stall),
    .s_cpuif_req_stall_rd(unused_read_stall), .s_cpuif_rd_ack(unused_read_done), .s_cpuif_rd_err(unused_error),
    .s_cpuif_rd_data(block_word), .s_cpuif_wr_ack(unused_write_done), .s_cpuif_wr_err(unused_write_error),
    .hwif_in(told), .hwif_out(settings)
  );

  assign bus_read_word = !bus_address[9] ? memory_word : bus_address[8:7] == '0 ? count : block_word;

  // ---- Settings ----

  assign cfg_tx_gain              = settings.tx_gain.value_256.value;
  assign cfg_short_preamble       = settings.preamble.short_preamble.value;
  assign cfg_energy_threshold_dbm = settings.clear_channel.energy_threshold_dbm.value;
  assign cfg_energy_detect        = settings.clear_channel.energy_detect.value;
  assign cfg_carrier_sense        = settings.clear_channel.carrier_sense.value;
  assign cfg_rssi_base_dbm        = settings.rssi.base_dbm.value;
  assign cfg_transmit_power_dbm   = settings.transmit_power.dbm.value;
  assign cfg_limit_threshold      = settings.transmit_power.limit_threshold.value;
  assign cfg_ramp_log2_samples    = settings.front_end.ramp_log2_samples.value;
  assign cfg_lead_samples         = settings.front_end.lead_samples.value;
  assign cfg_hold_samples         = settings.front_end.hold_samples.value;
  assign cfg_gain_range_steps     = settings.gain_control.range_steps.value;
  assign cfg_gain_settle_looks  = settings.gain_control.settle_looks.value;

  // ---- Counters ----

  logic [STATISTICS-1:0] strobes;

  always_comb begin
    strobes = '0;
    strobes[STAT_RX_FRAMES]        = phy_rx_start;
    strobes[STAT_RX_CARRIER_LOST]  = phy_rx_end && phy_rx_error;
    strobes[STAT_RX_HEADER_ERRORS] = stat_header_error;
    strobes[STAT_RX_NO_SFD]        = stat_no_sfd;
    strobes[STAT_RX_UNSUPPORTED]   = stat_rx_unsupported;
    strobes[STAT_TX_UNSUPPORTED]   = stat_tx_unsupported;
    strobes[STAT_TX_UNDERRUNS]     = stat_tx_underrun;
  end

  // The counters are cleared while the guard copies the reset values.
  statistics #(.COUNTERS(STATISTICS)) u_statistics (
    .clk, .rst, .strobes, .clear(filling), .clear_index(memory_write_index[4:0]),
    .hold(bus_valid), .read_index(bus_address[6:2]), .count
  );

  // ---- What the hardware says ----

  logic [3:0]        frame_q;
  logic [2:0]        rate_q;
  logic              carrier_lost_q;
  logic signed [7:0] rssi_dbm_q, tangent_128_q;
  logic signed [6:0] snr_db_q;

  always_ff @(posedge clk) begin
    if (rst || !enabled) begin
      frame_q        <= '0;
      rate_q         <= '0;
      carrier_lost_q <= 1'b0;
      rssi_dbm_q     <= '0;
      tangent_128_q  <= '0;
      snr_db_q       <= '0;
    end else if (phy_rx_end) begin
      frame_q        <= frame_q + 1'b1;
      rate_q         <= phy_rx_rate;
      carrier_lost_q <= phy_rx_error;
      rssi_dbm_q     <= phy_rx_rssi_dbm;
      tangent_128_q  <= rx_tangent_128;
      snr_db_q       <= rx_snr_db;
    end
  end

  assign told.last_frame.frame.next        = frame_q;
  assign told.last_frame.rate.next         = rate_q;
  assign told.last_frame.carrier_lost.next = carrier_lost_q;
  assign told.last_frame.rssi_dbm.next     = rssi_dbm_q;
  assign told.last_frame.tangent_128.next  = tangent_128_q;
  assign told.last_frame.snr_db.next       = snr_db_q;

  assign told.status.rssi_dbm.next        = level_dbm;
  assign told.status.busy.next            = phy_cca_busy;
  assign told.status.sending.next         = tx_active;
  assign told.status.energy_limit_dbm.next = energy_limit_dbm;
  assign told.status.gain_below_db.next   = rx_gain_below_db;
  assign told.modem.samples_per_chip.next = 4'(SAMPLES_PER_CHIP);
  assign told.modem.rate_in.next          = 10'(RATE_IN);
  assign told.modem.rate_22.next          = 10'(RATE_22);

  wire logic error_stands = settings.error.not_writable.value || settings.error.partial_write.value ||
                            settings.error.not_idle.value || settings.error.illegal_value.value;

  assign told.error.not_writable.hwset  = refused_not_writable;
  assign told.error.partial_write.hwset = refused_partial_write;
  assign told.error.not_idle.hwset      = refused_not_idle;
  assign told.error.illegal_value.hwset = refused_illegal_value;
  assign told.error.at_address.next     = {bus_address[9:2], 2'b00};
  assign told.error.at_address.we       = refused && !error_stands;

  wire logic unused = &{1'b0, unused_memory_word, unused_memory_write, memory_write_index[6:5], unused_read_done, unused_error,
                        unused_write_stall, unused_read_stall, unused_write_done, unused_write_error};

endmodule

`default_nettype wire
