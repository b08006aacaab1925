// SPDX-License-Identifier: GPL-2.0-or-later
// A sensor with a radio: gathers SAMPLES samples of 16 bits and gives them to perhop's MAC as one packet to the sink.
//
//   sensor -> buffer -> descriptor and bytes -> mac_top -> PHY
//
// The packet's bytes are the samples in their order, each with its low byte first. Samples that come while the buffer
// is being given away are lost and counted. The MAC's registers, completion records and received packets are a host's;
// the sink's address and the rate are settings.
//
// Timing: with the last sample of a packet its descriptor is offered one clock later; a byte then goes in every clock in
// which the MAC takes one.

`default_nettype none

module telemetry_node
  import perhop_pkg::*;
#(
  parameter int unsigned CLOCKS_PER_US = 64,
  parameter int unsigned SAMPLES       = 16,
  // Planted faults, to see that the tests find them. 0 none; 1 the last sample is lost; 2 a response comes a quarter of
  // a microsecond late.
  parameter int unsigned FAULT         = 0
) (
  input  wire logic        clk,
  input  wire logic        rst,

  // Sensor.
  input  wire logic        sample_valid,
  input  wire logic [15:0] sample,
  output wire logic [15:0] lost_samples,

  // Settings of the node.
  input  wire logic [47:0] cfg_sink,
  input  wire logic [2:0]  cfg_rate,

  // Registers of the MAC: AXI4-Lite.
  input  wire logic        s_axil_awvalid,
  output wire logic        s_axil_awready,
  input  wire logic [AXIL_ADDRESS_W-1:0] s_axil_awaddr,
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
  input  wire logic [AXIL_ADDRESS_W-1:0] s_axil_araddr,
  input  wire logic [2:0]  s_axil_arprot,
  output wire logic        s_axil_rvalid,
  input  wire logic        s_axil_rready,
  output wire logic [31:0] s_axil_rdata,
  output wire logic [1:0]  s_axil_rresp,
  output wire logic        irq,

  // Received packets and completion records: AXI4-Stream.
  output wire logic [7:0]  m_axis_rx_tdata,
  output wire logic        m_axis_rx_tkeep,
  output wire logic        m_axis_rx_tvalid,
  input  wire logic        m_axis_rx_tready,
  output wire logic        m_axis_rx_tlast,
  output wire logic [31:0] m_done_tdata,
  output wire logic [3:0]  m_done_tkeep,
  output wire logic        m_done_tvalid,
  input  wire logic        m_done_tready,
  output wire logic        m_done_tlast,

  // PHY.
  input  wire logic        phy_cca_busy,
  input  wire logic        phy_rx_start,
  input  wire logic [2:0]  phy_rx_rate,
  input  wire logic [11:0] phy_rx_bytes,
  input  wire logic [7:0]  phy_rx_data,
  input  wire logic        phy_rx_valid,
  input  wire logic        phy_rx_end,
  input  wire logic        phy_rx_error,
  input  wire logic [7:0]  phy_rx_rssi_dbm,
  output wire logic        phy_tx_start,
  output wire logic [2:0]  phy_tx_rate,
  output wire logic [11:0] phy_tx_bytes,
  output wire logic [15:0] phy_tx_airtime_us,
  output wire logic [7:0]  phy_tx_data,
  output wire logic        phy_tx_valid,
  output wire logic        phy_tx_last,
  input  wire logic        phy_tx_ready
);

  localparam int unsigned BYTES   = 2 * SAMPLES;
  localparam int unsigned INDEX_W = $clog2(BYTES);

  typedef enum logic [1:0] {
    ST_GATHER,     // samples go into the buffer
    ST_DESCRIBE,   // the MAC is offered a descriptor
    ST_SEND        // and the bytes
  } state_e;

  state_e             state_q;
  logic [15:0]        buffer_q [SAMPLES];
  logic [INDEX_W-1:0] index_q;      // gathering: of samples; sending: of bytes
  logic [15:0]        lost_q, tag_q;

  logic               desc_ready, axis_ready;

  wire logic last_sample = index_q == INDEX_W'(SAMPLES - 1);
  wire logic last_byte   = index_q == INDEX_W'(BYTES - 1);

  always_ff @(posedge clk) begin
    if (sample_valid && state_q == ST_GATHER && !(FAULT == 1 && last_sample)) begin
      buffer_q[index_q[INDEX_W-2:0]] <= sample;
    end
    if (rst) begin
      state_q <= ST_GATHER;
      index_q <= '0;
      lost_q  <= '0;
      tag_q   <= '0;
    end else begin
      if (sample_valid && state_q != ST_GATHER) lost_q <= lost_q + 1'b1;
      case (state_q)
        ST_GATHER: if (sample_valid) begin
          index_q <= last_sample ? '0 : index_q + 1'b1;
          if (last_sample) state_q <= ST_DESCRIBE;
        end
        ST_DESCRIBE: if (desc_ready) begin
          state_q <= ST_SEND;
          tag_q   <= tag_q + 1'b1;
        end
        default: if (axis_ready) begin
          index_q <= last_byte ? '0 : index_q + 1'b1;
          if (last_byte) state_q <= ST_GATHER;
        end
      endcase
    end
  end

  assign lost_samples = lost_q;

  wire logic [15:0] shown = buffer_q[index_q[INDEX_W-1:1]];

  packet_descriptor_s desc;
  byte_stream_s       axis_tx, axis_rx;
  word_stream_s       done;
  always_comb begin
    desc         = '0;
    desc.ra      = cfg_sink;
    desc.bytes   = 12'(BYTES);
    desc.rate    = cfg_rate;
    desc.tag     = tag_q;
    axis_tx      = '{tdata: index_q[0] ? shown[15:8] : shown[7:0], tkeep: 1'b1, tvalid: state_q == ST_SEND, tlast: last_byte};
  end

  axil_response_s response;
  phy_requests_s  to_phy;
  rx_status_s     unused_status;
  logic           unused_enabled, unused_rx_kept;
  logic [63:0]    unused_tsf_us;

  mac_top #(.CLOCKS_PER_US(CLOCKS_PER_US), .QUEUES(1), .RATE_SERIES(1)) u_mac_top (
    .clk, .rst,
    .s_axil('{
      awvalid: s_axil_awvalid, awaddr: s_axil_awaddr, awprot: s_axil_awprot,
      wvalid: s_axil_wvalid, wdata: s_axil_wdata, wstrb: s_axil_wstrb, bready: s_axil_bready,
      arvalid: s_axil_arvalid, araddr: s_axil_araddr, arprot: s_axil_arprot, rready: s_axil_rready
    }),
    .s_axil_response(response), .irq, .enabled(unused_enabled),
    .from_phy('{
      cca_busy: phy_cca_busy, rx_start: phy_rx_start, rx_rate: phy_rx_rate, rx_bytes: phy_rx_bytes,
      rx_data: phy_rx_data, rx_valid: phy_rx_valid, rx_end: phy_rx_end, rx_error: phy_rx_error, rx_rssi_dbm: phy_rx_rssi_dbm
    }),
    .to_phy(to_phy), .phy_tx_ready,
    .s_desc_valid(state_q == ST_DESCRIBE), .s_desc_ready(desc_ready), .s_desc(desc),
    .s_axis_tx(axis_tx), .s_axis_tx_tready(axis_ready),
    .m_rx_status(unused_status), .m_axis_rx(axis_rx), .m_axis_rx_tready, .m_done(done), .m_done_tready,
    .tsf_us(unused_tsf_us), .rx_kept(unused_rx_kept)
  );

  assign {s_axil_awready, s_axil_wready, s_axil_arready} = {response.awready, response.wready, response.arready};
  assign {s_axil_bvalid, s_axil_bresp} = {response.bvalid, response.bresp};
  assign {s_axil_rvalid, s_axil_rdata, s_axil_rresp} = {response.rvalid, response.rdata, response.rresp};
  assign {m_axis_rx_tdata, m_axis_rx_tkeep, m_axis_rx_tvalid, m_axis_rx_tlast} = axis_rx;
  assign {m_done_tdata, m_done_tkeep, m_done_tvalid, m_done_tlast} = done;

  // ---- To the PHY

  if (FAULT == 2) begin : g_late
    // Behind the MAC, so that its own rules see nothing of it.
    phy_requests_s late_q [CLOCKS_PER_US / 4];
    always_ff @(posedge clk) begin
      late_q[0] <= rst ? '0 : to_phy;
      for (int unsigned stage = 1; stage < CLOCKS_PER_US / 4; stage++) late_q[stage] <= rst ? '0 : late_q[stage-1];
    end
    assign {phy_tx_start, phy_tx_rate, phy_tx_bytes, phy_tx_airtime_us, phy_tx_data, phy_tx_valid, phy_tx_last}
      = late_q[CLOCKS_PER_US / 4 - 1];
  end else begin : g_to_phy
    assign {phy_tx_start, phy_tx_rate, phy_tx_bytes, phy_tx_airtime_us, phy_tx_data, phy_tx_valid, phy_tx_last} = to_phy;
  end

  wire logic unused = &{1'b0, unused_status, unused_enabled};

endmodule

`default_nettype wire
