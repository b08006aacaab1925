// SPDX-License-Identifier: GPL-2.0-or-later
// The converter's side of the samples. What is received gets a number and goes to the modem; what the modem made of sample
// n comes back with n, and goes out LOOP_SAMPLES behind it, always: clocks and FIFOs between here and the modem have no part in the
// time from antenna to antenna. What comes too late for that is dropped, and zeros go out.
//
// Without `own` the converter is the other user's (UHD's radio block): the modem hears, and is not heard.
//
// Timing: LOOP_SAMPLES strobes from the one with a received sample to the one with which the converter takes the answer; they must
// hold what crossing there and back takes.

`default_nettype none

module sample_port #(
  parameter int unsigned LOOP_SAMPLES = 16,
  parameter int unsigned HANG_SAMPLES = 2,       // that the front end goes on sending behind a frame: 15 at most
  localparam int unsigned NUMBER_W    = 6
) (
  input  wire logic        clk,                  // the converter's
  input  wire logic        rst,
  input  wire logic        own,

  // The converter, or what changes its rate.
  input  wire logic        rx_stb,
  input  wire logic [31:0] rx_data,              // I in the upper half
  input  wire logic        tx_stb,
  output wire logic [31:0] tx_data,
  output wire logic        tx_running,           // the front end sends
  output wire logic        rx_running,

  // The other user of the converter.
  input  wire logic [31:0] other_tx_data,
  input  wire logic        other_tx_running,
  input  wire logic        other_rx_running,

  // To and from sample_pacer, over FIFOs.
  output wire logic        m_valid,
  input  wire logic        m_ready,
  output wire logic [NUMBER_W+33:0] m_data,      // late, lost, number, I and Q
  input  wire logic        s_valid,
  output wire logic        s_ready,
  input  wire logic [NUMBER_W+24:0] s_data       // number, active, I and Q
);

  if (LOOP_SAMPLES < 4 || LOOP_SAMPLES >= 2**(NUMBER_W-1)) begin : gen_illegal
    $fatal(1, "%m: LOOP_SAMPLES must be 4 to 31");
  end

  typedef logic [NUMBER_W-1:0] number_t;

  number_t     number_q;
  logic        lost_q, late_q, started_q, active_q;
  logic [31:0] sample_q;
  logic [3:0]  hang_q;

  assign m_valid = rx_stb;
  assign m_data  = {late_q, lost_q, number_q, rx_data};

  wire number_t     ahead   = s_data[NUMBER_W+24:25] - (number_q - number_t'(LOOP_SAMPLES - 1));
  wire logic        in_time = s_valid && ahead == '0;
  wire logic        behind  = s_valid && ahead[NUMBER_W-1];
  wire logic        sends   = s_data[24];

  assign s_ready = (tx_stb && in_time) || behind;

  always_ff @(posedge clk) begin
    if (rst) begin
      number_q  <= '0;
      lost_q    <= 1'b0;
      late_q    <= 1'b0;
      started_q <= 1'b0;
      active_q  <= 1'b0;
      hang_q    <= '0;
      sample_q  <= '0;
    end else begin
      if (rx_stb) begin
        number_q <= number_q + 1'b1;
        lost_q   <= !m_ready;
        if (m_ready) late_q <= 1'b0;
      end
      if (tx_stb) begin
        started_q <= in_time;
        if (started_q && !in_time) late_q <= 1'b1;
        active_q  <= in_time && sends;
        sample_q  <= in_time && sends ? {s_data[23:12], 4'd0, s_data[11:0], 4'd0} : '0;
        if (in_time && sends)   hang_q <= 4'(HANG_SAMPLES);
        else if (hang_q != '0)  hang_q <= hang_q - 1'b1;
      end
    end
  end

  wire logic running = active_q || hang_q != '0;

  assign tx_data    = own ? sample_q : other_tx_data;
  assign tx_running = own ? running : other_tx_running;
  assign rx_running = own ? !running : other_rx_running;

endmodule

`default_nettype wire
