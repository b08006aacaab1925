// SPDX-License-Identifier: GPL-2.0-or-later
// A radio_top between three clocks: the host's (control port and packet streams), the converter's (samples), and its own.
// Knows no vendor and no board. Only instances and wires here.
//
//   host clock       |  mac clock                                     |  converter clock
//   control port ----|-> register_bus -> radio_top, shell_registers   |
//   burst_join ------|-> packet_input -> radio_top <-> sample_pacer <-|-> sample_port <-> converter, other user
//   burst_split <----|-- frame_output <- radio_top                    |
//   their time      <|-- device_time <-------------------------------|-- timekeeper, with each sample
//
// Timing: a response leaves after the time that the modem takes and LOOP_SAMPLES, which do not depend on the clocks.

`default_nettype none

module shell_top
  import perhop_pkg::*;
#(
  parameter int unsigned CLOCKS_PER_US    = 60,    // of mac_clk
  parameter int unsigned SETTLE_CLOCKS    = 16,
  parameter int unsigned SAMPLES_PER_CHIP = 2,
  parameter int unsigned RATE_IN          = 0,     // these as dsss_phy has them
  parameter int unsigned RATE_22          = 0,
  parameter int unsigned LOOP_SAMPLES     = 16,
  parameter int unsigned DECIMATION       = 1,     // told to the host; done in front of this
  parameter int unsigned CHANNEL          = 0,     // told to the host
  parameter bit          STREAMED         = 1'b0,  // told to the host
  parameter bit          TIMED            = 1'b0,  // radio_time is the device's time; told to the host
  parameter int unsigned QUEUES           = 2,
  parameter int unsigned RATE_SERIES      = 4,
  parameter int unsigned PACKETS          = 8,
  parameter int unsigned TX_RING_BYTES    = 8192,
  parameter int unsigned RX_RING_BYTES    = 4096,
  parameter int unsigned RX_FRAMES        = 16,
  // Of a packet of the host's stream: 1500 bytes of Ethernet less 28 of IP and UDP, 8 of CHDR and 8 of its time. 0: of any length.
  parameter int unsigned PACKET_WORDS     = 364
) (
  // The host.
  input  wire logic        host_clk,
  input  wire logic        host_rst,
  input  wire logic        s_ctrlport_req_wr,
  input  wire logic        s_ctrlport_req_rd,
  input  wire logic [19:0] s_ctrlport_req_addr,
  input  wire logic [31:0] s_ctrlport_req_data,
  output wire logic        s_ctrlport_resp_ack,
  output wire logic [1:0]  s_ctrlport_resp_status,
  output wire logic [31:0] s_ctrlport_resp_data,
  input  wire logic [31:0] s_packet_tdata,
  input  wire logic        s_packet_tlast,
  input  wire logic        s_packet_tends,         // the MAC's packet ends with this one of the stream; stands with the last word
  input  wire logic        s_packet_tvalid,
  output wire logic        s_packet_tready,
  input  wire logic [15:0] s_packet_tlength,       // bytes of the packet; stands with its first word
  output wire logic [31:0] m_packet_tdata,
  output wire logic        m_packet_tlast,
  output wire logic        m_packet_tends,         // as s_packet_tends
  output wire logic        m_packet_tvalid,
  input  wire logic        m_packet_tready,
  output wire logic        m_packet_thas_time,     // a received frame ends, and the device has a time; stands with the last word
  output wire logic [63:0] m_packet_ttimestamp,    // of its end, as the modem heard it; stands with the last word

  // MAC and modem.
  input  wire logic        mac_clk,
  input  wire logic        mac_clk_stands,         // of any clock: mac_clk is not to be trusted yet
  output wire logic [6:0]  rx_gain_below_db,       // of mac_clk, for a front end that takes it

  // The converter.
  input  wire logic        radio_clk,
  input  wire logic        radio_rx_stb,
  input  wire logic [31:0] radio_rx_data,          // I in the upper half
  output wire logic        radio_rx_running,
  input  wire logic        radio_tx_stb,
  output wire logic [31:0] radio_tx_data,
  output wire logic        radio_tx_running,
  input  wire logic [63:0] radio_time,             // of the sample that comes with radio_rx_stb
  // Its other user.
  input  wire logic        other_rx_running,
  input  wire logic [31:0] other_tx_data,
  input  wire logic        other_tx_running,
  output wire logic        owned                   // of radio_clk: the modem has the converter
);

  localparam int unsigned NUMBER_W = 6;
  localparam int unsigned TIME_W   = TIMED ? 64 : 1;

  // ---- Resets ----

  logic host_side_rst, mac_rst, radio_rst;

  cdc_reset u_host_reset  (.clk(host_clk),  .foreign_rst(host_rst || mac_clk_stands), .rst(host_side_rst));
  cdc_reset u_mac_reset   (.clk(mac_clk),   .foreign_rst(host_rst || mac_clk_stands), .rst(mac_rst));
  cdc_reset u_radio_reset (.clk(radio_clk), .foreign_rst(host_rst || mac_clk_stands), .rst(radio_rst));

  // ---- Registers ----

  logic        access_valid, access_ready, access_write, answer_valid, answer_refused;
  logic [19:0] access_address;
  logic [31:0] access_word, answer_word;
  axil_request_s  axil;
  axil_response_s axil_response;
  logic        shell_access, shell_write, unused_irq;
  logic [9:0]  shell_address;
  logic [31:0] shell_word, shell_read_word;
  logic        cfg_own_converter;
  logic        stat_packet, stat_packet_refused, stat_frame, stat_record, stat_rx_sample_lost, stat_tx_sample_late, stat_sample;
  logic        mac_enabled, rx_end, rx_kept;
  logic [63:0] tsf_us, now_ticks, frame_ticks;

  ctrlport_crossing u_ctrlport_crossing (
    .s_clk(host_clk), .s_rst(host_side_rst), .s_ctrlport_req_wr, .s_ctrlport_req_rd, .s_ctrlport_req_addr,
    .s_ctrlport_req_data, .s_ctrlport_resp_ack, .s_ctrlport_resp_status, .s_ctrlport_resp_data,
    .m_clk(mac_clk), .m_rst(mac_rst), .access_valid, .access_ready, .access_write, .access_address, .access_word,
    .answer_valid, .answer_refused, .answer_word
  );

  register_bus u_register_bus (
    .clk(mac_clk), .rst(mac_rst), .access_valid, .access_ready, .access_write, .access_address, .access_word,
    .answer_valid, .answer_refused, .answer_word,
    .m_axil(axil), .m_axil_response(axil_response),
    .shell_access, .shell_write, .shell_address, .shell_word, .shell_read_word
  );

  shell_registers #(
    .CLOCKS_PER_US(CLOCKS_PER_US), .LOOP_SAMPLES(LOOP_SAMPLES), .DECIMATION(DECIMATION), .CHANNEL(CHANNEL), .STREAMED(STREAMED),
    .TIMED(TIMED)
  ) u_shell_registers (
    .clk(mac_clk), .rst(mac_rst), .shell_access, .shell_write, .shell_address, .shell_word, .shell_read_word,
    .cfg_own_converter, .stat_packet, .stat_packet_refused, .stat_frame, .stat_record, .stat_rx_sample_lost,
    .stat_tx_sample_late, .stat_sample, .now_ticks, .tsf_us
  );

  // ---- Packets ----

  logic        packet_valid, packet_ready, packet_last, frame_valid, frame_ready, frame_last, frame_is_record;
  logic [TIME_W-1:0] packet_time;
  logic        given_valid, given_ready, given_last, told_last, told_has_time;
  logic [31:0] packet_word, frame_word, given_word;
  logic [15:0] packet_bytes, given_bytes;
  logic               desc_valid, desc_ready, tx_ready, rx_ready, done_ready;
  packet_descriptor_s desc;
  byte_stream_s       tx_bytes, rx_bytes;
  rx_status_s         rx_status;
  word_stream_s       done;

  burst_join u_burst_join (
    .clk(host_clk), .rst(host_side_rst), .s_valid(s_packet_tvalid), .s_ready(s_packet_tready), .s_word(s_packet_tdata),
    .s_last(s_packet_tlast), .s_burst_ends(s_packet_tends), .s_packet_bytes(s_packet_tlength),
    .m_valid(given_valid), .m_ready(given_ready), .m_word(given_word), .m_last(given_last), .m_packet_bytes(given_bytes)
  );

  cdc_fifo #(.WIDTH(49), .DEPTH_LOG2(5)) u_packets (
    .s_clk(host_clk), .s_rst(host_side_rst), .s_valid(given_valid), .s_ready(given_ready),
    .s_data({given_bytes, given_last, given_word}),
    .m_clk(mac_clk), .m_rst(mac_rst), .m_valid(packet_valid), .m_ready(packet_ready),
    .m_data({packet_bytes, packet_last, packet_word})
  );

  packet_input u_packet_input (
    .clk(mac_clk), .rst(mac_rst), .s_valid(packet_valid), .s_ready(packet_ready), .s_word(packet_word),
    .s_last(packet_last), .s_packet_bytes(packet_bytes),
    .m_desc_valid(desc_valid), .m_desc_ready(desc_ready), .m_desc(desc), .m_axis(tx_bytes), .m_axis_tready(tx_ready),
    .stat_packet, .stat_packet_refused
  );

  frame_output u_frame_output (
    .clk(mac_clk), .rst(mac_rst), .s_rx_status(rx_status), .s_axis_rx(rx_bytes), .s_axis_rx_tready(rx_ready), .s_done(done),
    .s_done_tready(done_ready),
    .m_word(frame_word), .m_last(frame_last), .m_is_record(frame_is_record), .m_valid(frame_valid), .m_ready(frame_ready),
    .stat_frame, .stat_record
  );

  cdc_fifo #(.WIDTH(TIME_W + 34), .DEPTH_LOG2(5)) u_frames (
    .s_clk(mac_clk), .s_rst(mac_rst), .s_valid(frame_valid), .s_ready(frame_ready),
    .s_data({TIME_W'(frame_ticks), TIMED && !frame_is_record, frame_last, frame_word}),
    .m_clk(host_clk), .m_rst(host_side_rst), .m_valid(m_packet_tvalid), .m_ready(m_packet_tready),
    .m_data({packet_time, told_has_time, told_last, m_packet_tdata})
  );

  burst_split #(.WORDS(PACKET_WORDS)) u_burst_split (
    .clk(host_clk), .rst(host_side_rst), .s_valid(m_packet_tvalid), .s_last(told_last), .m_ready(m_packet_tready),
    .m_last(m_packet_tlast), .m_burst_ends(m_packet_tends)
  );

  // The time of a frame's end stands with its last word alone.
  assign m_packet_thas_time  = told_has_time && told_last;
  assign m_packet_ttimestamp = 64'(packet_time);

  // ---- MAC and modem ----

  logic               rx_sample_valid, tx_sample_take, tx_active;
  logic signed [15:0] rx_i, rx_q;
  logic signed [11:0] tx_i, tx_q;

  radio_top #(
    .CLOCKS_PER_US(CLOCKS_PER_US), .SETTLE_CLOCKS(SETTLE_CLOCKS), .SAMPLES_PER_CHIP(SAMPLES_PER_CHIP), .RATE_IN(RATE_IN),
    .RATE_22(RATE_22), .QUEUES(QUEUES), .RATE_SERIES(RATE_SERIES), .PACKETS(PACKETS), .TX_RING_BYTES(TX_RING_BYTES),
    .RX_RING_BYTES(RX_RING_BYTES), .RX_FRAMES(RX_FRAMES)
  ) u_radio_top (
    .clk(mac_clk), .rst(mac_rst), .s_axil(axil), .s_axil_response(axil_response), .irq(unused_irq),
    .rx_sample_valid, .rx_i, .rx_q, .tx_sample_take, .tx_i, .tx_q, .tx_active, .rx_gain_below_db,
    .s_desc_valid(desc_valid), .s_desc_ready(desc_ready), .s_desc(desc), .s_axis_tx(tx_bytes), .s_axis_tx_tready(tx_ready),
    .m_rx_status(rx_status), .m_axis_rx(rx_bytes), .m_axis_rx_tready(rx_ready), .m_done(done), .m_done_tready(done_ready),
    .enabled(mac_enabled), .tsf_us, .rx_end, .rx_kept
  );

  // ---- Samples ----

  logic                 heard_valid, heard_ready, heard_mac_valid, heard_mac_ready;
  logic                 sent_valid, sent_ready, sent_mac_valid, sent_mac_ready;
  logic [NUMBER_W+33:0] heard, heard_mac;
  logic [NUMBER_W+24:0] sent, sent_mac;
  logic [TIME_W-1:0]    heard_time;

  cdc_bit u_own (.clk(radio_clk), .rst(radio_rst), .foreign(cfg_own_converter), .settled(owned));

  sample_port #(.LOOP_SAMPLES(LOOP_SAMPLES), .HANG_SAMPLES(DECIMATION > 1 ? 10 : 2)) u_sample_port (
    .clk(radio_clk), .rst(radio_rst), .own(owned), .rx_stb(radio_rx_stb), .rx_data(radio_rx_data), .tx_stb(radio_tx_stb),
    .tx_data(radio_tx_data), .tx_running(radio_tx_running), .rx_running(radio_rx_running),
    .other_tx_data, .other_tx_running, .other_rx_running,
    .m_valid(heard_valid), .m_ready(heard_ready), .m_data(heard), .s_valid(sent_valid), .s_ready(sent_ready), .s_data(sent)
  );

  cdc_fifo #(.WIDTH(TIME_W + NUMBER_W + 34), .DEPTH_LOG2(4)) u_heard (
    .s_clk(radio_clk), .s_rst(radio_rst), .s_valid(heard_valid), .s_ready(heard_ready), .s_data({TIME_W'(radio_time), heard}),
    .m_clk(mac_clk), .m_rst(mac_rst), .m_valid(heard_mac_valid), .m_ready(heard_mac_ready), .m_data({heard_time, heard_mac})
  );

  device_time #(.FRAMES(RX_FRAMES)) u_device_time (
    .clk(mac_clk), .rst(mac_rst), .sample_taken(heard_mac_valid && heard_mac_ready), .sample_ticks(64'(heard_time)),
    .enabled(mac_enabled), .rx_end, .rx_kept, .rx_last(rx_bytes.tvalid && rx_ready && rx_bytes.tlast), .now_ticks, .frame_ticks
  );

  // What dsss_phy can take: one at four samples a chip, three where its resampler gives more than it gets, else two.
  localparam int unsigned SPACING_CLOCKS = RATE_IN == 0 ? (SAMPLES_PER_CHIP == 4 ? 1 : 2) : (RATE_IN < RATE_22 ? 3 : 2);

  sample_pacer #(.SPACING_CLOCKS(SPACING_CLOCKS)) u_sample_pacer (
    .clk(mac_clk), .rst(mac_rst), .s_valid(heard_mac_valid), .s_ready(heard_mac_ready), .s_data(heard_mac),
    .m_valid(sent_mac_valid), .m_ready(sent_mac_ready), .m_data(sent_mac),
    .rx_sample_valid, .rx_i, .rx_q, .tx_sample_take, .tx_i, .tx_q, .tx_active,
    .stat_rx_sample_lost, .stat_tx_sample_late, .stat_sample
  );

  cdc_fifo #(.WIDTH(NUMBER_W + 25), .DEPTH_LOG2(5)) u_sent (
    .s_clk(mac_clk), .s_rst(mac_rst), .s_valid(sent_mac_valid), .s_ready(sent_mac_ready), .s_data(sent_mac),
    .m_clk(radio_clk), .m_rst(radio_rst), .m_valid(sent_valid), .m_ready(sent_ready), .m_data(sent)
  );

  if (!TIMED) begin : gen_no_time
    wire logic unused = &{1'b0, radio_time[63:1], frame_ticks[63:1]};
  end

  wire logic unused = &{1'b0, unused_irq};

endmodule

`default_nettype wire
