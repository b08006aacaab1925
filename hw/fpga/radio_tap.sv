// SPDX-License-Identifier: GPL-2.0-or-later
// One channel of a radio port of several: it goes through a shell, the others from the device to the other user of the radio. Received
// samples reach the other user in any case. Where the converter is faster than the modem, its rate is changed here.
//
// Timing: nothing but wires between device and other user; see sample_decimator and sample_interpolator for the rest.

`default_nettype none

module radio_tap #(
  parameter int unsigned CHANNELS   = 2,
  parameter int unsigned CHANNEL    = 0,
  parameter int unsigned DECIMATION = 1
) (
  input  wire logic                   clk,
  input  wire logic                   rst,

  // The device.
  input  wire logic [32*CHANNELS-1:0] device_rx_data,
  input  wire logic [CHANNELS-1:0]    device_rx_stb,
  output wire logic [CHANNELS-1:0]    device_rx_running,
  output wire logic [32*CHANNELS-1:0] device_tx_data,
  input  wire logic [CHANNELS-1:0]    device_tx_stb,
  output wire logic [CHANNELS-1:0]    device_tx_running,

  // The other user.
  output wire logic [32*CHANNELS-1:0] other_rx_data,
  output wire logic [CHANNELS-1:0]    other_rx_stb,
  input  wire logic [CHANNELS-1:0]    other_rx_running,
  input  wire logic [32*CHANNELS-1:0] other_tx_data,
  output wire logic [CHANNELS-1:0]    other_tx_stb,
  input  wire logic [CHANNELS-1:0]    other_tx_running,

  // The shell.
  output wire logic                   rx_stb,
  output wire logic [31:0]            rx_data,
  input  wire logic                   rx_running,
  output wire logic                   tx_stb,
  input  wire logic [31:0]            tx_data,        // the other user's where the shell does not own the converter
  input  wire logic                   tx_running,
  output wire logic [31:0]            channel_tx_data, // the other user's, for the shell
  output wire logic                   channel_tx_running,
  output wire logic                   channel_rx_running,
  input  wire logic                   owned
);

  if (CHANNEL >= CHANNELS) begin : gen_illegal
    $fatal(1, "%m: there is no such channel");
  end

  assign other_rx_data      = device_rx_data;
  assign other_rx_stb       = device_rx_stb;
  assign other_tx_stb       = device_tx_stb;
  assign channel_tx_data    = other_tx_data[32*CHANNEL +: 32];
  assign channel_tx_running = other_tx_running[CHANNEL];
  assign channel_rx_running = other_rx_running[CHANNEL];

  logic [31:0] ours;

  if (DECIMATION == 1) begin : gen_same_rate
    assign rx_stb  = device_rx_stb[CHANNEL];
    assign rx_data = device_rx_data[32*CHANNEL +: 32];
    assign tx_stb  = device_tx_stb[CHANNEL];
    assign ours    = tx_data;
    wire logic unused = &{1'b0, clk, rst, owned};
  end else begin : gen_other_rate
    logic [31:0] interpolated;
    sample_decimator #(.FACTOR(DECIMATION)) u_sample_decimator (
      .clk, .rst, .s_stb(device_rx_stb[CHANNEL]), .s_data(device_rx_data[32*CHANNEL +: 32]), .m_stb(rx_stb), .m_data(rx_data)
    );
    sample_interpolator #(.FACTOR(DECIMATION)) u_sample_interpolator (
      .clk, .rst, .s_stb(tx_stb), .s_data(tx_data), .m_stb(device_tx_stb[CHANNEL]), .m_data(interpolated)
    );
    // The other user's samples are at the converter's rate already.
    assign ours = owned ? interpolated : channel_tx_data;
  end

  for (genvar channel = 0; channel < CHANNELS; ++channel) begin : gen_channel
    if (channel == CHANNEL) begin : gen_ours
      assign device_tx_data[32*channel +: 32] = ours;
      assign device_tx_running[channel]       = tx_running;
      assign device_rx_running[channel]       = rx_running;
    end else begin : gen_others
      assign device_tx_data[32*channel +: 32] = other_tx_data[32*channel +: 32];
      assign device_tx_running[channel]       = other_tx_running[channel];
      assign device_rx_running[channel]       = other_rx_running[channel];
    end
  end

endmodule

`default_nettype wire
