// SPDX-License-Identifier: GPL-2.0-or-later
// Two mac_tops, a and b, and between them two PHYs that move bytes: what one sends the other receives, at the times of
// a real modem, with a test's delays. Clocks from each phy_rx_end to the next phy_tx_start of the same MAC are counted.
// With SAMPLES_PER_CHIP the PHYs are dsss_phy, and samples go from one to the other; counted are the clocks from the end of
// one's frame on the air to the begin of the other's.

`default_nettype none

module mac_top_pair_bench
  import perhop_pkg::*;
#(
  parameter int unsigned CLOCKS_PER_US    = 64,
  parameter int unsigned SAMPLES_PER_CHIP = 0
) (
  input  wire logic        clk,
  input  wire logic        rst,

  input  wire logic [15:0] tx_delay_clocks,    // of both PHYs
  input  wire logic [15:0] rx_delay_clocks,
  input  wire logic [9:0]  preamble_us,
  input  wire logic [1:0]  damage,             // bit 0: of frames that b receives, bit 1: that a does
  output wire logic [31:0] response_clocks [2],

  input  wire axil_request_s a_s_axil,
  output wire axil_response_s a_s_axil_response,
  output wire logic        a_irq,
  input  wire logic        a_s_desc_valid,
  output wire logic        a_s_desc_ready,
  input  wire packet_descriptor_s a_s_desc,
  input  wire byte_stream_s a_s_axis_tx,
  output wire logic        a_s_axis_tx_tready,
  output wire rx_status_s  a_m_rx_status,
  output wire byte_stream_s a_m_axis_rx,
  input  wire logic        a_m_axis_rx_tready,
  output wire word_stream_s a_m_done,
  input  wire logic        a_m_done_tready,

  input  wire axil_request_s b_s_axil,
  output wire axil_response_s b_s_axil_response,
  output wire logic        b_irq,
  input  wire logic        b_s_desc_valid,
  output wire logic        b_s_desc_ready,
  input  wire packet_descriptor_s b_s_desc,
  input  wire byte_stream_s b_s_axis_tx,
  output wire logic        b_s_axis_tx_tready,
  output wire rx_status_s  b_m_rx_status,
  output wire byte_stream_s b_m_axis_rx,
  input  wire logic        b_m_axis_rx_tready,
  output wire word_stream_s b_m_done,
  input  wire logic        b_m_done_tready
);

  // What each MAC's PHY tells it (index: 0 a, 1 b), and what each MAC tells its PHY.
  phy_indications_s from_phy [2];
  phy_requests_s    to_phy [2];
  logic             tx_ready [2], unused_enabled [2], unused_rx_kept [2];
  logic [63:0]      unused_tsf_us [2];

`define MAC(X, I) \
  mac_top #(.CLOCKS_PER_US(CLOCKS_PER_US)) u_mac_``X ( \
    .clk, .rst, .s_axil(X``_s_axil), .s_axil_response(X``_s_axil_response), .irq(X``_irq), .enabled(unused_enabled[I]), \
    .from_phy(from_phy[I]), .to_phy(to_phy[I]), .phy_tx_ready(tx_ready[I]), \
    .s_desc_valid(X``_s_desc_valid), .s_desc_ready(X``_s_desc_ready), .s_desc(X``_s_desc), \
    .s_axis_tx(X``_s_axis_tx), .s_axis_tx_tready(X``_s_axis_tx_tready), \
    .m_rx_status(X``_m_rx_status), .m_axis_rx(X``_m_axis_rx), .m_axis_rx_tready(X``_m_axis_rx_tready), \
    .m_done(X``_m_done), .m_done_tready(X``_m_done_tready), .tsf_us(unused_tsf_us[I]), .rx_kept(unused_rx_kept[I]) \
  );

  `MAC(a, 0)
  `MAC(b, 1)

  // ---- From MAC `from` to the other one

  localparam int unsigned BYTE_CLOCKS = 8;   // bytes come so far apart, sooner than any rate needs

  if (SAMPLES_PER_CHIP == 0) begin : g_bytes
    for (genvar from = 0; from < 2; from++) begin : g_phy
      localparam int unsigned TO = 1 - from;

      assign tx_ready[TO] = 1'b1;

      logic        sending_q;
      logic [31:0] clocks_q, begin_q, head_q, end_q;   // since phy_tx_start; when the carrier, phy_rx_start, phy_rx_end come
      logic [11:0] written_q, read_q;
      logic [7:0]  bytes_q [4096];

      // Half duplex: a PHY that sends hears nothing.
      wire logic heard = sending_q && clocks_q >= begin_q && !g_phy[TO].sending_q;

      always_ff @(posedge clk) begin
        from_phy[TO].rx_error    <= 1'b0;
        from_phy[TO].rx_rssi_dbm <= 8'hc4;
        from_phy[TO].rx_start    <= heard && clocks_q == head_q;
        from_phy[TO].rx_valid    <= 1'b0;
        from_phy[TO].rx_end      <= heard && clocks_q == end_q;
        from_phy[TO].cca_busy    <= sending_q && clocks_q >= begin_q && clocks_q < end_q;
        from_phy[TO].rx_rate     <= to_phy[from].tx_rate;
        from_phy[TO].rx_bytes    <= to_phy[from].tx_bytes;
        if (to_phy[from].tx_valid) begin
          bytes_q[written_q] <= to_phy[from].tx_data;
          written_q          <= written_q + 1'b1;
        end
        if (rst) begin
          sending_q <= 1'b0;
        end else if (to_phy[from].tx_start) begin
          sending_q <= 1'b1;
          clocks_q  <= 1;
          written_q <= '0;
          read_q    <= '0;
          // Its outputs are a clock later than its counter.
          begin_q   <= 32'(tx_delay_clocks) + 32'(rx_delay_clocks) - 1;
          head_q    <= 32'(tx_delay_clocks) + 32'(rx_delay_clocks) - 1 + 32'(preamble_us) * CLOCKS_PER_US;
          end_q     <= 32'(tx_delay_clocks) + 32'(rx_delay_clocks) - 1 + 32'(to_phy[from].tx_airtime_us) * CLOCKS_PER_US;
        end else if (sending_q) begin
          clocks_q <= clocks_q + 1;
          if (clocks_q >= head_q + BYTE_CLOCKS * (32'(read_q) + 1) && read_q != to_phy[from].tx_bytes) begin
            read_q       <= read_q + 1'b1;
            from_phy[TO].rx_valid <= heard;
            from_phy[TO].rx_data  <= bytes_q[read_q] ^ (damage[from] && read_q == 12'd12 ? 8'h20 : 8'h00);
          end
          if (clocks_q == end_q) sending_q <= 1'b0;
        end
      end

      logic [31:0] since_end_q, response_clocks_q;
      always_ff @(posedge clk) begin
        since_end_q <= from_phy[from].rx_end ? 1 : since_end_q == '1 ? '1 : since_end_q + 1;
        if (to_phy[from].tx_start) response_clocks_q <= since_end_q;
      end
      assign response_clocks[from] = response_clocks_q;

      wire logic unused = &{1'b0, to_phy[from].tx_last};
    end
  end

  // ---- Or from antenna to antenna

  if (SAMPLES_PER_CHIP != 0) begin : g_air
    // As many samples in a microsecond as the chips need, at clocks as even as there are.
    localparam int unsigned SAMPLES_PER_US = 11 * SAMPLES_PER_CHIP;

    logic [9:0] phase_q;
    logic       sample_q;

    always_ff @(posedge clk) begin
      sample_q <= 32'(phase_q) + SAMPLES_PER_US >= CLOCKS_PER_US;
      if (rst) phase_q <= '0;
      else     phase_q <= 10'((32'(phase_q) + SAMPLES_PER_US) % CLOCKS_PER_US);
    end

    logic signed [11:0] air_i [2], air_q [2];
    logic               frame [2], sending [2];

    for (genvar at = 0; at < 2; at++) begin : g_phy
      localparam int unsigned OTHER = 1 - at;

      logic signed [6:0] unused_snr_db;
      logic signed [7:0] unused_tangent_128, unused_level_dbm, unused_limit_dbm;
      logic [6:0]        unused_gain_db;
      logic              unused_active, unused_frame_ended;
      logic              unused_stat [5];

      dsss_phy #(.SAMPLES_PER_CHIP(SAMPLES_PER_CHIP)) u_dsss_phy (
        .clk, .rst, .cfg_short_preamble(preamble_us == 10'd96), .cfg_tx_gain(9'd256), .cfg_rssi_base_dbm(-9'sd120),
        .cfg_energy_threshold_dbm(-8'sd60), .cfg_energy_detect(1'b1), .cfg_carrier_sense(1'b1), .cfg_transmit_power_dbm(8'sd0),
        .cfg_limit_threshold(1'b0), .cfg_ramp_log2_samples(3'd4), .cfg_lead_samples(7'd0), .cfg_hold_samples(7'd0), .cfg_gain_range_steps(3'd0),
        .cfg_gain_settle_looks(2'd1), .rx_gain_below_db(unused_gain_db), .energy_limit_dbm(unused_limit_dbm),
        .rx_sample_valid(sample_q), .rx_i(16'(air_i[OTHER])), .rx_q(16'(air_q[OTHER])),
        .tx_sample_take(sample_q), .tx_i(air_i[at]), .tx_q(air_q[at]), .tx_active(unused_active),
        .phy_cca_busy(from_phy[at].cca_busy), .phy_rx_start(from_phy[at].rx_start), .phy_rx_rate(from_phy[at].rx_rate),
        .phy_rx_bytes(from_phy[at].rx_bytes), .phy_rx_data(from_phy[at].rx_data), .phy_rx_valid(from_phy[at].rx_valid),
        .phy_rx_end(from_phy[at].rx_end), .phy_rx_error(from_phy[at].rx_error),
        .phy_rx_rssi_dbm(from_phy[at].rx_rssi_dbm), .rx_frame_ended(unused_frame_ended), .rx_snr_db(unused_snr_db),
        .rx_tangent_128(unused_tangent_128),
        .level_dbm(unused_level_dbm),
        .phy_tx_start(to_phy[at].tx_start), .phy_tx_rate(to_phy[at].tx_rate), .phy_tx_bytes(to_phy[at].tx_bytes), .phy_tx_data(to_phy[at].tx_data),
        .phy_tx_valid(to_phy[at].tx_valid), .phy_tx_ready(tx_ready[at]), .phy_tx_last(to_phy[at].tx_last),
        .stat_header_error(unused_stat[0]), .stat_no_sfd(unused_stat[1]), .stat_rx_unsupported(unused_stat[2]),
        .stat_tx_unsupported(unused_stat[3]), .stat_tx_underrun(unused_stat[4])
      );

      // Symbols of a frame leave the spreader; from there to the air everything takes as long in both.
      assign frame[at]   = int'(u_dsss_phy.u_dsss_transmitter.u_barker_spreader.state_q) == 1;
      assign sending[at] = u_dsss_phy.u_dsss_transmitter.u_barker_spreader.sending;

      wire logic unused = &{1'b0, unused_snr_db, unused_tangent_128, unused_level_dbm, unused_limit_dbm, unused_gain_db, unused_active, to_phy[at].tx_airtime_us, sending[at]};

      logic [31:0] since_end_q, response_clocks_q;
      logic        other_q, frame_q;
      always_ff @(posedge clk) begin
        other_q     <= frame[OTHER];
        frame_q     <= frame[at];
        since_end_q <= other_q && !frame[OTHER] ? 1 : since_end_q == '1 ? '1 : since_end_q + 1;
        if (frame[at] && !frame_q) response_clocks_q <= since_end_q;
      end
      assign response_clocks[at] = response_clocks_q;
    end

    wire logic unused = &{1'b0, tx_delay_clocks, rx_delay_clocks, damage};
  end

endmodule

`default_nettype wire
