// SPDX-License-Identifier: GPL-2.0-or-later
// The DSSS PHY: samples on the radio's side, the PHY-SAP of mac_top on the other. Only instances and wires here. While the station
// sends the receiver is in reset.
//
// A converter whose rate is neither has RATE_IN and RATE_22: its rate and 22 Msps in a common unit (25 Msps: 25 and 22; 20.48 Msps:
// 256 and 275). Then samples are resampled both ways, and SAMPLES_PER_CHIP says nothing.
//
// Timing: at two samples a chip they come and go at most every second clock, at four at most every clock, at RATE_IN as rx_resampler and
// tx_resampler say. phy_tx_start to the first
// chip's peak: three or four samples and PULSE_CHIPS/2 chips. The last chip's peak to phy_rx_end: see dsss_receiver, and one clock. phy_cca_busy falls one
// clock after phy_rx_end.

`default_nettype none

module dsss_phy #(
  parameter int unsigned SAMPLES_PER_CHIP = 2,         // 2 or 4
  parameter int unsigned RATE_IN          = 0,         // 0: the converter has that many
  parameter int unsigned RATE_22          = 0
) (
  input  wire logic               clk,
  input  wire logic               rst,

  // Settings.
  input  wire logic               cfg_short_preamble,  // for what is sent at 2 Mb/s
  input  wire logic [8:0]         cfg_tx_gain,         // 256 is one
  input  wire logic [2:0]         cfg_ramp_log2_samples,
  input  wire logic [6:0]         cfg_lead_samples,    // of tx_active before a frame, and after it
  input  wire logic [6:0]         cfg_hold_samples,
  input  wire logic signed [7:0]  cfg_transmit_power_dbm,
  input  wire logic               cfg_limit_threshold,
  input  wire logic signed [8:0]  cfg_rssi_base_dbm,   // level of a sum of 1 over 22 samples
  input  wire logic signed [7:0]  cfg_energy_threshold_dbm,
  input  wire logic               cfg_energy_detect,
  input  wire logic               cfg_carrier_sense,
  input  wire logic [2:0]         cfg_gain_range_steps, // these as gain_control has them
  input  wire logic [1:0]         cfg_gain_settle_looks,

  // The radio.
  input  wire logic               rx_sample_valid,
  input  wire logic signed [15:0] rx_i,
  input  wire logic signed [15:0] rx_q,
  input  wire logic               tx_sample_take,
  output wire logic signed [11:0] tx_i,
  output wire logic signed [11:0] tx_q,
  output wire logic               tx_active,           // for the antenna's switch
  output wire logic [6:0]         rx_gain_below_db,    // what the front end's gain is to be below its most
  output wire logic signed [7:0]  level_dbm,           // what is received now, averaged over some blocks
  output wire logic signed [7:0]  energy_limit_dbm,    // of the energy threshold

  // To the MAC.
  output wire logic               phy_cca_busy,
  output wire logic               phy_rx_start,
  output wire logic [2:0]         phy_rx_rate,
  output wire logic [11:0]        phy_rx_bytes,
  output wire logic [7:0]         phy_rx_data,
  output wire logic               phy_rx_valid,
  output wire logic               phy_rx_end,
  output wire logic               phy_rx_error,
  output wire logic [7:0]         phy_rx_rssi_dbm,
  output wire logic               rx_frame_ended,      // with phy_rx_end: of a frame that phy_rx_start had told of
  output wire logic signed [6:0]  rx_snr_db,           // with phy_rx_end, as the RSSI
  output wire logic signed [7:0]  rx_tangent_128,      // of the carrier's turn in a symbol

  // From the MAC.
  input  wire logic               phy_tx_start,
  input  wire logic [2:0]         phy_tx_rate,
  input  wire logic [11:0]        phy_tx_bytes,
  input  wire logic [7:0]         phy_tx_data,
  input  wire logic               phy_tx_valid,
  output wire logic               phy_tx_ready,
  input  wire logic               phy_tx_last,

  // For counters.
  output wire logic               stat_header_error,
  output wire logic               stat_no_sfd,         // there was a signal, but no SFD
  output wire logic               stat_rx_unsupported,
  output wire logic               stat_tx_unsupported,
  output wire logic               stat_tx_underrun
);

  logic        start, start_2mbps, start_short, go, go_2mbps, go_short, data_valid, data_ready;
  logic [11:0] start_bytes, go_bytes;
  logic [7:0]  data;
  logic        sample_valid;
  logic signed [15:0] sample_i, sample_q;
  logic        source_take;                            // of the transmitter's samples
  logic signed [11:0] source_i, source_q;
  logic        gain_settling, gain_rose;
  logic        transmitting, sending;                  // a frame; or what stands around it, too
  logic        tracking, framing, finish, frame_start, octet_valid, frame_end, frame_lost, block_done, symbol_done, error_valid;
  logic        peaks, idle_next, unused_short, unused_running;
  logic [2:0]  carrier;
  logic [7:0]  signal, unused_service, octet;
  logic [15:0] length_us, frame_left_us, error_size;
  logic [20:0] block_sum;
  logic signed [14:0] unused_turn_i, unused_turn_q;
  logic signed [19:0] rotation_i, rotation_q;
  logic signed [7:0]  rssi_dbm, energy_dbm, threshold_dbm, tangent_128;
  logic signed [6:0]  snr_db;

  wire logic rx_rst = rst || tx_active;

  transmit_sap u_transmit_sap (
    .clk, .rst, .cfg_short_preamble,
    .phy_tx_start, .phy_tx_rate, .phy_tx_bytes, .phy_tx_data, .phy_tx_valid, .phy_tx_ready, .phy_tx_last,
    .start, .start_2mbps, .start_short, .start_bytes, .data, .data_valid, .data_ready,
    .evt_unsupported(stat_tx_unsupported)
  );

  tx_switch u_tx_switch (
    .clk, .rst, .cfg_lead_samples, .cfg_hold_samples, .start, .start_2mbps, .start_short, .start_bytes,
    .sample_take(source_take), .go, .go_2mbps, .go_short, .go_bytes, .sending(transmitting), .active(sending)
  );

  dsss_transmitter #(.SAMPLES_PER_CHIP(RATE_IN != 0 ? 4 : SAMPLES_PER_CHIP)) u_dsss_transmitter (
    .clk, .rst, .cfg_gain(cfg_tx_gain), .cfg_ramp_log2_samples, .sample_take(source_take), .start(go), .start_2mbps(go_2mbps),
    .start_short(go_short), .start_bytes(go_bytes), .s_data(data), .s_valid(data_valid), .s_ready(data_ready),
    .active(transmitting), .evt_underrun(stat_tx_underrun), .out_i(source_i), .out_q(source_q)
  );

  if (RATE_IN != 0) begin : g_resamplers
    // Outputs from the transmitter's last sample on that are still of it.
    localparam int unsigned BEHIND = 3;

    logic [1:0] behind_q;

    rx_resampler #(.IN_RATE(RATE_IN), .OUT_RATE(RATE_22)) u_rx_resampler (
      .clk, .rst, .in_valid(rx_sample_valid), .in_i(rx_i), .in_q(rx_q),
      .out_valid(sample_valid), .out_i(sample_i), .out_q(sample_q)
    );

    tx_resampler #(.SOURCE_RATE(2 * RATE_22), .OUT_RATE(RATE_IN)) u_tx_resampler (
      .clk, .rst, .source_take, .source_i, .source_q, .sample_take(tx_sample_take), .out_i(tx_i), .out_q(tx_q)
    );

    always_ff @(posedge clk) begin
      if (rst)                                    behind_q <= '0;
      else if (sending)                           behind_q <= 2'(BEHIND);
      else if (tx_sample_take && behind_q != '0)  behind_q <= behind_q - 1'b1;
    end

    assign tx_active = sending || behind_q != '0;
  end else begin : g_as_they_are
    assign source_take = tx_sample_take;
    assign tx_i        = source_i;
    assign tx_q        = source_q;
    assign tx_active   = sending;

    if (SAMPLES_PER_CHIP == 4) begin : g_half_band
      rx_half_band u_rx_half_band (
        .clk, .rst, .in_valid(rx_sample_valid), .in_i(rx_i), .in_q(rx_q),
        .out_valid(sample_valid), .out_i(sample_i), .out_q(sample_q)
      );
    end else begin : g_direct
      assign sample_valid = rx_sample_valid;
      assign sample_i     = rx_i;
      assign sample_q     = rx_q;
    end
  end

  gain_control u_gain_control (
    .clk, .rst(rx_rst), .cfg_range_steps(cfg_gain_range_steps), .cfg_settle_looks(cfg_gain_settle_looks),
    .sample_valid(rx_sample_valid), .in_i(rx_i), .in_q(rx_q), .hold(tracking),
    .below_db(rx_gain_below_db), .settling(gain_settling), .rose(gain_rose)
  );

  dsss_receiver u_dsss_receiver (
    .clk, .rst(rx_rst), .sample_valid, .in_i(sample_i), .in_q(sample_q), .gain_settling, .gain_rose, .tracking, .framing, .finish,
    .frame_start, .signal, .service(unused_service), .length_us, .short_preamble(unused_short), .octet, .octet_valid,
    .frame_running(unused_running), .frame_end, .frame_lost, .frame_left_us,
    .evt_header_error(stat_header_error), .evt_given_up(stat_no_sfd), .carrier, .peaks,
    .block_sum, .block_done, .symbol_done, .turn_i(unused_turn_i), .turn_q(unused_turn_q), .rotation_i, .rotation_q,
    .error_valid, .error_size
  );

  signal_estimates u_signal_estimates (
    .clk, .rst(rx_rst), .cfg_rssi_base_dbm, .below_db(rx_gain_below_db), .settling(gain_settling), .block_sum, .block_done, .tracking, .symbol_done, .error_valid, .error_size,
    .rotation_i(rotation_i[19:5]), .rotation_q(rotation_q[19:5]), .rssi_dbm, .energy_dbm, .snr_db, .tangent_128
  );

  energy_threshold u_energy_threshold (
    .cfg_energy_threshold_dbm, .cfg_transmit_power_dbm, .cfg_limit_threshold, .limit_dbm(energy_limit_dbm), .threshold_dbm
  );

  clear_channel u_clear_channel (
    .clk, .rst, .deaf(tx_active), .cfg_energy_threshold_dbm(threshold_dbm), .cfg_energy_detect, .cfg_carrier_sense, .sample_valid, .block_done, .energy_dbm,
    .tracking, .framing, .finish, .frame_end, .frame_lost, .frame_left_us,
    .search_again(stat_header_error || stat_no_sfd), .carrier, .peaks, .busy(phy_cca_busy), .ends(idle_next)
  );

  receive_sap u_receive_sap (
    .clk, .rst, .stopped(tx_active), .frame_start, .signal, .length_us, .octet, .octet_valid, .frame_end, .frame_lost,
    .header_error(stat_header_error), .idle_next, .rssi_dbm, .snr_db, .tangent_128,
    .phy_rx_start, .phy_rx_rate, .phy_rx_bytes, .phy_rx_data, .phy_rx_valid, .phy_rx_end, .phy_rx_error,
    .phy_rx_rssi_dbm, .rx_snr_db, .rx_tangent_128, .frame_ended(rx_frame_ended), .evt_unsupported(stat_rx_unsupported)
  );

  assign level_dbm = rssi_dbm;

  wire logic unused = &{1'b0, unused_short, unused_running, unused_service, unused_turn_i, unused_turn_q,
                        rotation_i[4:0], rotation_q[4:0]};

endmodule

`default_nettype wire
