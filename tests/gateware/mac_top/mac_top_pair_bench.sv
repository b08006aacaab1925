// SPDX-License-Identifier: GPL-2.0-or-later
// Two mac_tops, a and b, and between them two PHYs that move bytes: what one sends the other receives, at the times of
// a real modem, with a test's delays. Clocks from each phy_rx_end to the next phy_tx_start of the same MAC are counted.
// With SAMPLES_PER_CHIP the PHYs are dsss_phy, and samples go from one to the other; counted are the clocks from the end of
// one's frame on the air to the begin of the other's.

`default_nettype none

module mac_top_pair_bench
  import perhop_pkg::*;
  import perhop_register_words_pkg::*;
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

`define MAC_PORTS(X) \
  input  wire logic        X``_s_axil_awvalid, output wire logic X``_s_axil_awready, \
  input  wire logic [REGISTER_SPACE_W-1:0] X``_s_axil_awaddr, input wire logic [2:0] X``_s_axil_awprot, \
  input  wire logic        X``_s_axil_wvalid, output wire logic X``_s_axil_wready, \
  input  wire logic [31:0] X``_s_axil_wdata, input wire logic [3:0] X``_s_axil_wstrb, \
  output wire logic        X``_s_axil_bvalid, input wire logic X``_s_axil_bready, output wire logic [1:0] X``_s_axil_bresp, \
  input  wire logic        X``_s_axil_arvalid, output wire logic X``_s_axil_arready, \
  input  wire logic [REGISTER_SPACE_W-1:0] X``_s_axil_araddr, input wire logic [2:0] X``_s_axil_arprot, \
  output wire logic        X``_s_axil_rvalid, input wire logic X``_s_axil_rready, \
  output wire logic [31:0] X``_s_axil_rdata, output wire logic [1:0] X``_s_axil_rresp, output wire logic X``_irq, \
  input  wire logic        X``_s_desc_valid, output wire logic X``_s_desc_ready, input wire logic X``_s_desc_queue, \
  input  wire logic [47:0] X``_s_desc_ra, input wire logic [11:0] X``_s_desc_bytes, input wire logic [2:0] X``_s_desc_rate, \
  input  wire logic        X``_s_desc_force_rts, input wire logic [15:0] X``_s_desc_tag, input wire logic [3:0] X``_s_desc_peer, \
  input  wire logic        X``_s_desc_peer_series, \
  input  wire logic [7:0]  X``_s_axis_tx_tdata, input wire logic X``_s_axis_tx_tkeep, input wire logic X``_s_axis_tx_tvalid, \
  output wire logic        X``_s_axis_tx_tready, input wire logic X``_s_axis_tx_tlast, \
  output wire rx_status_s  X``_m_rx_status, output wire logic [7:0] X``_m_axis_rx_tdata, output wire logic X``_m_axis_rx_tkeep, \
  output wire logic        X``_m_axis_rx_tvalid, input wire logic X``_m_axis_rx_tready, output wire logic X``_m_axis_rx_tlast, \
  output wire logic [31:0] X``_m_done_tdata, output wire logic [3:0] X``_m_done_tkeep, output wire logic X``_m_done_tvalid, \
  input  wire logic        X``_m_done_tready, output wire logic X``_m_done_tlast

  `MAC_PORTS(a),
  `MAC_PORTS(b)
);

  // What each MAC's PHY tells it (index: 0 a, 1 b), and what each MAC tells its PHY.
  logic        cca_busy [2], rx_start [2], rx_valid [2], rx_end [2], tx_start [2], tx_valid [2], tx_last [2];
  logic        rx_error [2], tx_ready [2];
  logic [2:0]  rx_rate [2], tx_rate [2];
  logic [11:0] rx_bytes [2], tx_bytes [2];
  logic [7:0]  rx_data [2], tx_data [2], rx_rssi_dbm [2];
  logic [15:0] tx_airtime_us [2];
  logic        unused_enabled [2];

`define MAC(X, I) \
  mac_top #(.CLOCKS_PER_US(CLOCKS_PER_US)) u_mac_``X ( \
    .clk, .rst, \
    .s_axil_awvalid(X``_s_axil_awvalid), .s_axil_awready(X``_s_axil_awready), .s_axil_awaddr(X``_s_axil_awaddr), \
    .s_axil_awprot(X``_s_axil_awprot), .s_axil_wvalid(X``_s_axil_wvalid), .s_axil_wready(X``_s_axil_wready), \
    .s_axil_wdata(X``_s_axil_wdata), .s_axil_wstrb(X``_s_axil_wstrb), .s_axil_bvalid(X``_s_axil_bvalid), \
    .s_axil_bready(X``_s_axil_bready), .s_axil_bresp(X``_s_axil_bresp), .s_axil_arvalid(X``_s_axil_arvalid), \
    .s_axil_arready(X``_s_axil_arready), .s_axil_araddr(X``_s_axil_araddr), .s_axil_arprot(X``_s_axil_arprot), \
    .s_axil_rvalid(X``_s_axil_rvalid), .s_axil_rready(X``_s_axil_rready), .s_axil_rdata(X``_s_axil_rdata), \
    .s_axil_rresp(X``_s_axil_rresp), .irq(X``_irq), .enabled(unused_enabled[I]), \
    .phy_cca_busy(cca_busy[I]), .phy_rx_start(rx_start[I]), .phy_rx_rate(rx_rate[I]), .phy_rx_bytes(rx_bytes[I]), \
    .phy_rx_data(rx_data[I]), .phy_rx_valid(rx_valid[I]), .phy_rx_end(rx_end[I]), .phy_rx_error(rx_error[I]), \
    .phy_rx_rssi_dbm(rx_rssi_dbm[I]), \
    .phy_tx_start(tx_start[I]), .phy_tx_rate(tx_rate[I]), .phy_tx_bytes(tx_bytes[I]), \
    .phy_tx_airtime_us(tx_airtime_us[I]), .phy_tx_data(tx_data[I]), .phy_tx_valid(tx_valid[I]), .phy_tx_ready(tx_ready[I]), \
    .phy_tx_last(tx_last[I]), \
    .s_desc_valid(X``_s_desc_valid), .s_desc_ready(X``_s_desc_ready), .s_desc_queue(X``_s_desc_queue), \
    .s_desc_ra(X``_s_desc_ra), .s_desc_four_address(1'b0), .s_desc_a3('0), .s_desc_a4('0), \
    .s_desc_peer(X``_s_desc_peer), .s_desc_bytes(X``_s_desc_bytes), .s_desc_rate(X``_s_desc_rate), \
    .s_desc_series_attempts('0), .s_desc_series_rate('0), .s_desc_peer_series(X``_s_desc_peer_series), \
    .s_desc_force_rts(X``_s_desc_force_rts), \
    .s_desc_tag(X``_s_desc_tag), \
    .s_axis_tx_tdata(X``_s_axis_tx_tdata), .s_axis_tx_tkeep(X``_s_axis_tx_tkeep), .s_axis_tx_tvalid(X``_s_axis_tx_tvalid), \
    .s_axis_tx_tready(X``_s_axis_tx_tready), .s_axis_tx_tlast(X``_s_axis_tx_tlast), \
    .m_rx_status(X``_m_rx_status), .m_axis_rx_tdata(X``_m_axis_rx_tdata), .m_axis_rx_tkeep(X``_m_axis_rx_tkeep), \
    .m_axis_rx_tvalid(X``_m_axis_rx_tvalid), .m_axis_rx_tready(X``_m_axis_rx_tready), .m_axis_rx_tlast(X``_m_axis_rx_tlast), \
    .m_done_tdata(X``_m_done_tdata), .m_done_tkeep(X``_m_done_tkeep), .m_done_tvalid(X``_m_done_tvalid), \
    .m_done_tready(X``_m_done_tready), .m_done_tlast(X``_m_done_tlast) \
  );

  `MAC(a, 0)
  `MAC(b, 1)

  // ---- From MAC `from` to the other one

  localparam int unsigned BYTE_CLOCKS = 8;   // bytes come so far apart, sooner than any rate needs

  if (SAMPLES_PER_CHIP == 0) begin : g_bytes
    for (genvar from = 0; from < 2; from++) begin : g_phy
      localparam int unsigned TO = 1 - from;

      assign rx_error[TO]    = 1'b0;
      assign rx_rssi_dbm[TO] = 8'hc4;
      assign tx_ready[TO]    = 1'b1;

      logic        sending_q;
      logic [31:0] clocks_q, begin_q, head_q, end_q;   // since phy_tx_start; when the carrier, phy_rx_start, phy_rx_end come
      logic [11:0] written_q, read_q;
      logic [7:0]  bytes_q [4096];

      // Half duplex: a PHY that sends hears nothing.
      wire logic heard = sending_q && clocks_q >= begin_q && !g_phy[TO].sending_q;

      always_ff @(posedge clk) begin
        rx_start[TO] <= heard && clocks_q == head_q;
        rx_valid[TO] <= 1'b0;
        rx_end[TO]   <= heard && clocks_q == end_q;
        cca_busy[TO] <= sending_q && clocks_q >= begin_q && clocks_q < end_q;
        rx_rate[TO]  <= tx_rate[from];
        rx_bytes[TO] <= tx_bytes[from];
        if (tx_valid[from]) begin
          bytes_q[written_q] <= tx_data[from];
          written_q          <= written_q + 1'b1;
        end
        if (rst) begin
          sending_q <= 1'b0;
        end else if (tx_start[from]) begin
          sending_q <= 1'b1;
          clocks_q  <= 1;
          written_q <= '0;
          read_q    <= '0;
          // Its outputs are a clock later than its counter.
          begin_q   <= 32'(tx_delay_clocks) + 32'(rx_delay_clocks) - 1;
          head_q    <= 32'(tx_delay_clocks) + 32'(rx_delay_clocks) - 1 + 32'(preamble_us) * CLOCKS_PER_US;
          end_q     <= 32'(tx_delay_clocks) + 32'(rx_delay_clocks) - 1 + 32'(tx_airtime_us[from]) * CLOCKS_PER_US;
        end else if (sending_q) begin
          clocks_q <= clocks_q + 1;
          if (clocks_q >= head_q + BYTE_CLOCKS * (32'(read_q) + 1) && read_q != tx_bytes[from]) begin
            read_q       <= read_q + 1'b1;
            rx_valid[TO] <= heard;
            rx_data[TO]  <= bytes_q[read_q] ^ (damage[from] && read_q == 12'd12 ? 8'h20 : 8'h00);
          end
          if (clocks_q == end_q) sending_q <= 1'b0;
        end
      end

      logic [31:0] since_end_q, response_clocks_q;
      always_ff @(posedge clk) begin
        since_end_q <= rx_end[from] ? 1 : since_end_q == '1 ? '1 : since_end_q + 1;
        if (tx_start[from]) response_clocks_q <= since_end_q;
      end
      assign response_clocks[from] = response_clocks_q;

      wire logic unused = &{1'b0, tx_last[from]};
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
      logic signed [7:0] unused_tangent_128, unused_level_dbm;
      logic              unused_active, unused_frame_ended;
      logic              unused_stat [5];

      dsss_phy #(.SAMPLES_PER_CHIP(SAMPLES_PER_CHIP)) u_dsss_phy (
        .clk, .rst, .cfg_short_preamble(preamble_us == 10'd96), .cfg_tx_gain(9'd256), .cfg_rssi_base_dbm(-9'sd120),
        .cfg_energy_threshold_dbm(-8'sd60), .cfg_energy_detect(1'b1), .cfg_carrier_sense(1'b1),
        .rx_sample_valid(sample_q), .rx_i(16'(air_i[OTHER])), .rx_q(16'(air_q[OTHER])),
        .tx_sample_take(sample_q), .tx_i(air_i[at]), .tx_q(air_q[at]), .tx_active(unused_active),
        .phy_cca_busy(cca_busy[at]), .phy_rx_start(rx_start[at]), .phy_rx_rate(rx_rate[at]), .phy_rx_bytes(rx_bytes[at]),
        .phy_rx_data(rx_data[at]), .phy_rx_valid(rx_valid[at]), .phy_rx_end(rx_end[at]), .phy_rx_error(rx_error[at]),
        .phy_rx_rssi_dbm(rx_rssi_dbm[at]), .rx_frame_ended(unused_frame_ended), .rx_snr_db(unused_snr_db), .rx_tangent_128(unused_tangent_128),
        .level_dbm(unused_level_dbm),
        .phy_tx_start(tx_start[at]), .phy_tx_rate(tx_rate[at]), .phy_tx_bytes(tx_bytes[at]), .phy_tx_data(tx_data[at]),
        .phy_tx_valid(tx_valid[at]), .phy_tx_ready(tx_ready[at]), .phy_tx_last(tx_last[at]),
        .stat_header_error(unused_stat[0]), .stat_no_sfd(unused_stat[1]), .stat_rx_unsupported(unused_stat[2]),
        .stat_tx_unsupported(unused_stat[3]), .stat_tx_underrun(unused_stat[4])
      );

      // Symbols of a frame leave the spreader; from there to the air everything takes as long in both.
      assign frame[at]   = int'(u_dsss_phy.u_dsss_transmitter.u_barker_spreader.state_q) == 1;
      assign sending[at] = u_dsss_phy.u_dsss_transmitter.u_barker_spreader.sending;

      wire logic unused = &{1'b0, unused_snr_db, unused_tangent_128, unused_level_dbm, unused_active, tx_airtime_us[at], sending[at]};

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
