// SPDX-License-Identifier: GPL-2.0-or-later
// Samples of a stream as a converter would have them: one that is taken goes to the shell with a strobe, and what the shell
// has to send then goes out as one sample of packets of a fixed length. So both streams have the same rate, whatever it is, and
// either may wait.
//
// Timing: at most one sample in SPACING_CLOCKS, which the modem's clock must be able to take.

`default_nettype none

module sample_stream #(
  parameter int unsigned SAMPLES_PER_PACKET = 64,
  parameter int unsigned SPACING_CLOCKS     = 8
) (
  input  wire logic        clk,
  input  wire logic        rst,

  // Received samples.
  input  wire logic [31:0] s_tdata,
  input  wire logic        s_tvalid,
  output wire logic        s_tready,

  // Samples to send.
  output wire logic [31:0] m_tdata,
  output wire logic        m_tlast,
  output wire logic        m_tvalid,
  input  wire logic        m_tready,

  // The shell.
  output wire logic        rx_stb,         // of both directions
  output wire logic [31:0] rx_data,
  input  wire logic [31:0] tx_data
);

  localparam int unsigned WAIT_W  = $clog2(SPACING_CLOCKS + 1);
  localparam int unsigned COUNT_W = $clog2(SAMPLES_PER_PACKET + 1);

  logic [WAIT_W-1:0]  wait_q;
  logic [COUNT_W-1:0] count_q;
  logic               out_valid_q;
  logic [31:0]        out_data_q;

  wire logic take = s_tvalid && wait_q == '0 && (!out_valid_q || m_tready);
  wire logic last = count_q == COUNT_W'(SAMPLES_PER_PACKET - 1);

  always_ff @(posedge clk) begin
    if (rst) begin
      wait_q      <= '0;
      count_q     <= '0;
      out_valid_q <= 1'b0;
    end else begin
      if (take)              wait_q <= WAIT_W'(SPACING_CLOCKS - 1);
      else if (wait_q != '0) wait_q <= wait_q - 1'b1;
      if (take)              out_valid_q <= 1'b1;
      else if (m_tready)     out_valid_q <= 1'b0;
      if (out_valid_q && m_tready) count_q <= last ? '0 : count_q + 1'b1;
    end
    if (take) out_data_q <= tx_data;
  end

  assign s_tready = take;
  assign m_tdata  = out_data_q;
  assign m_tlast  = last;
  assign m_tvalid = out_valid_q;
  assign rx_stb   = take;
  assign rx_data  = s_tdata;

endmodule

`default_nettype wire
