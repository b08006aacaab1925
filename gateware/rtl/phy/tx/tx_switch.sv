// SPDX-License-Identifier: GPL-2.0-or-later
// Time for what turns with a transmission outside of the modem: the antenna's switch, a power amplifier. `active` rises so many of
// the transmitter's samples before its frame begins, and falls so many after it has ended. The transmitter is started later by that.
//
// Timing: with lead 0 `go` is `start`, in the same clock; else it comes with the last of so many sample_take after `start`.

`default_nettype none

module tx_switch (
  input  wire logic        clk,
  input  wire logic        rst,

  input  wire logic [6:0]  cfg_lead_samples,
  input  wire logic [6:0]  cfg_hold_samples,

  // transmit_sap.
  input  wire logic        start,           // one clock, while not sending, with
  input  wire logic        start_2mbps,
  input  wire logic        start_short,
  input  wire logic [11:0] start_bytes,

  // dsss_transmitter.
  input  wire logic        sample_take,
  output wire logic        go,              // one clock, with
  output wire logic        go_2mbps,
  output wire logic        go_short,
  output wire logic [11:0] go_bytes,
  input  wire logic        sending,         // from the clock after `go` until its last sample has left

  output wire logic        active           // level
);

  logic [6:0]  lead_q, hold_q;
  logic [13:0] frame_q;

  wire logic [13:0] frame = {start_2mbps, start_short, start_bytes};
  wire logic        now   = start && cfg_lead_samples == '0;

  always_ff @(posedge clk) begin
    if (rst) begin
      lead_q <= '0;
      hold_q <= '0;
    end else begin
      if (start)                             lead_q <= cfg_lead_samples;
      else if (sample_take && lead_q != '0)  lead_q <= lead_q - 1'b1;

      if (sending || lead_q != '0)           hold_q <= cfg_hold_samples;
      else if (sample_take && hold_q != '0)  hold_q <= hold_q - 1'b1;
    end
    if (start) frame_q <= frame;
  end

  assign go = now || (sample_take && lead_q == 7'd1);
  assign {go_2mbps, go_short, go_bytes} = now ? frame : frame_q;
  assign active = sending || lead_q != '0 || hold_q != '0;

endmodule

`default_nettype wire
