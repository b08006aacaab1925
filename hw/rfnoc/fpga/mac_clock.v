// SPDX-License-Identifier: GPL-2.0-or-later
// mac_clk of a Xilinx 7 device: from a clock that always runs, by a clock manager. 60 or 64 MHz where the parameters are those of
// the image cores. Vendor cells stand here alone.

`default_nettype none

module mac_clock #(
  parameter PERIOD_NS = 5.0,     // of clk_in
  parameter DIVIDE    = 1,
  parameter MULTIPLY  = 4.5,     // 600 MHz to 1.2 GHz behind DIVIDE and this
  parameter OUTPUT    = 15
) (
  input  wire clk_in,
  output wire mac_clk,
  output wire stands             // until the clock is stable
);

  wire feedback, made, locked;

  MMCME2_BASE #(
    .CLKIN1_PERIOD(PERIOD_NS), .DIVCLK_DIVIDE(DIVIDE), .CLKFBOUT_MULT_F(MULTIPLY), .CLKOUT0_DIVIDE_F(OUTPUT)
  ) u_manager (
    .CLKIN1(clk_in), .CLKFBIN(feedback), .CLKFBOUT(feedback), .CLKFBOUTB(), .CLKOUT0(made), .CLKOUT0B(), .CLKOUT1(),
    .CLKOUT1B(), .CLKOUT2(), .CLKOUT2B(), .CLKOUT3(), .CLKOUT3B(), .CLKOUT4(), .CLKOUT5(), .CLKOUT6(), .LOCKED(locked),
    .PWRDWN(1'b0), .RST(1'b0)
  );

  BUFG u_buffer (.I(made), .O(mac_clk));

  assign stands = !locked;

endmodule

`default_nettype wire
