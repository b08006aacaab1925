// SPDX-License-Identifier: GPL-2.0-or-later
// Clear channel assessment (IEEE 802.11-2012, 17.4.8.5): the medium is busy while there is energy above the threshold, while a DSSS
// signal is being received, and from its SFD on, whatever the settings, to the end of the frame, or for as long as LENGTH says.
//
// Where a signal's header was missed or bad its carrier is likely to be there still: the medium stays busy while it is looked for
// again. Energy needs two blocks above the threshold, and after a frame's end the blocks that its end may be in do not count: the medium is
// free when the frame is over.
//
// Timing: `busy` falls two clocks after frame_end.

`default_nettype none

module clear_channel (
  input  wire logic              clk,
  input  wire logic              rst,

  input  wire logic signed [7:0] cfg_energy_threshold_dbm,
  input  wire logic              cfg_energy_detect,
  input  wire logic              cfg_carrier_sense,

  // rx_gain, signal_estimates.
  input  wire logic              block_done,
  input  wire logic signed [7:0] energy_dbm,

  // The receiver's state.
  input  wire logic              tracking,
  input  wire logic              framing,         // its SFD was found
  input  wire logic              finish,          // nothing more is wanted of what is tracked
  input  wire logic              frame_end,
  input  wire logic              search_again,    // one clock: a signal without a good header

  output wire logic              busy             // level
);

  localparam int unsigned HOLD_BLOCKS   = 16;     // as long as a search takes
  localparam int unsigned IGNORE_BLOCKS = 2;      // one that the frame ended in, and its log

  logic [4:0] hold_q;
  logic [1:0] ignore_q;
  logic       above_q, energy_q, busy_q;

  wire logic above = energy_dbm >= cfg_energy_threshold_dbm;

  always_ff @(posedge clk) begin
    if (rst) begin
      hold_q   <= '0;
      ignore_q <= '0;
      above_q  <= 1'b0;
      energy_q <= 1'b0;
      busy_q   <= 1'b0;
    end else begin
      if (search_again)                       hold_q <= 5'(HOLD_BLOCKS);
      else if (block_done && hold_q != '0)    hold_q <= hold_q - 1'b1;
      if (frame_end)                          ignore_q <= 2'(IGNORE_BLOCKS);
      else if (block_done && ignore_q != '0)  ignore_q <= ignore_q - 1'b1;
      // energy_dbm is that of the block before: the log of this one is not there yet.
      if (frame_end || ignore_q != '0) begin
        above_q  <= 1'b0;
        energy_q <= 1'b0;
      end else if (block_done) begin
        above_q  <= above;
        energy_q <= above && above_q;
      end
      busy_q <= (cfg_energy_detect && energy_q && !frame_end)
                || ((cfg_carrier_sense || framing) && tracking && !finish) || (cfg_carrier_sense && hold_q != '0);
    end
  end

  assign busy = busy_q;

endmodule

`default_nettype wire
