// SPDX-License-Identifier: GPL-2.0-or-later
// Clear channel assessment (IEEE 802.11-2012, 17.4.8.5): the medium is busy while there is energy above the threshold, while a DSSS
// signal is being received, and from its SFD on, whatever the settings, for as long as LENGTH says.
//
// A frame whose carrier is lost reserves the medium for what its LENGTH still had to come, counted here in samples, while the
// receiver searches on. Of several such reservations, and of a frame that is received meanwhile, the medium is busy until the last
// one is over. An own frame does not shorten them.
//
// Where a signal's header was missed or bad its carrier is likely to be there still: the medium stays busy while it is looked for
// again, the shorter the longer it has not been seen, so that 15 us after the signal's end it is free, and on while it has peaks.
// Energy needs two blocks above the threshold, and after a frame's end, or a reservation's, the blocks that it may be in do not
// count: the medium is free when the frame is over.
//
// Timing: `busy` falls two clocks after frame_end; a reservation's end is exact to a sample. `ends` comes a clock before `busy` falls.

`default_nettype none

module clear_channel (
  input  wire logic              clk,
  input  wire logic              rst,
  input  wire logic              deaf,            // the station sends: nothing is heard

  input  wire logic signed [7:0] cfg_energy_threshold_dbm,
  input  wire logic              cfg_energy_detect,
  input  wire logic              cfg_carrier_sense,

  // rx_gain, signal_estimates.
  input  wire logic              sample_valid,
  input  wire logic              block_done,
  input  wire logic signed [7:0] energy_dbm,

  // The receiver's state.
  input  wire logic              tracking,
  input  wire logic              framing,         // its SFD was found
  input  wire logic              finish,          // nothing more is wanted of what is tracked
  input  wire logic              frame_end,       // one clock, with
  input  wire logic              frame_lost,      // its carrier was lost, and
  input  wire logic [15:0]       frame_left_us,   // so much of its LENGTH is still to come
  input  wire logic              search_again,    // one clock: a signal without a good header
  input  wire logic [2:0]        carrier,         // symbol_timing's trust that it is there; 0: it is gone
  input  wire logic              peaks,           // level: the search has seen its last symbol's peak

  output wire logic              busy,            // level
  output wire logic              ends             // one clock
);

  localparam int unsigned IGNORE_BLOCKS  = 2;     // one that the frame ended in, and its log
  localparam int unsigned SYMBOL_SAMPLES = 22;

  logic [3:0]  hold_q;
  logic [1:0]  ignore_q;
  logic        above_q, energy_q, busy_q;
  logic [15:0] reserved_us_q;
  logic [4:0]  reserved_samples_q;                // of the first of these microseconds

  wire logic above     = energy_dbm >= cfg_energy_threshold_dbm;
  wire logic reserved  = reserved_us_q != '0;
  wire logic reserves  = frame_end && frame_lost && frame_left_us >= reserved_us_q;
  wire logic us_over   = reserved && sample_valid && reserved_samples_q == 5'(SYMBOL_SAMPLES - 1);
  wire logic over      = frame_end || (us_over && reserved_us_q == 16'd1);
  wire logic busy_next = (cfg_energy_detect && energy_q && !frame_end) || ((cfg_carrier_sense || framing) && tracking && !finish)
                         || (cfg_carrier_sense && hold_q != '0) || reserved;

  always_ff @(posedge clk) begin
    if (rst) begin
      reserved_us_q      <= '0;
      reserved_samples_q <= '0;
    end else if (reserves) begin
      reserved_us_q      <= frame_left_us;
      reserved_samples_q <= '0;
    end else if (reserved && sample_valid) begin
      reserved_us_q      <= reserved_us_q - 16'(us_over);
      reserved_samples_q <= us_over ? '0 : reserved_samples_q + 1'b1;
    end
    if (rst || deaf) begin
      hold_q   <= '0;
      ignore_q <= '0;
      above_q  <= 1'b0;
      energy_q <= 1'b0;
      busy_q   <= 1'b0;
    end else begin
      // As long as most searches take, 10 blocks, where the carrier was there to the end; its last block until there is no peak.
      if (search_again && carrier > 3'd1)     hold_q <= {carrier - 3'd2, 1'b0};
      else if (tracking && !finish)           hold_q <= '0;
      else if (block_done && (hold_q > 4'd1 || (hold_q == 4'd1 && !peaks))) hold_q <= hold_q - 1'b1;
      if (over)                               ignore_q <= 2'(IGNORE_BLOCKS);
      else if (block_done && ignore_q != '0)  ignore_q <= ignore_q - 1'b1;
      // energy_dbm is that of the block before: the log of this one is not there yet.
      if (over || ignore_q != '0) begin
        above_q  <= 1'b0;
        energy_q <= 1'b0;
      end else if (block_done) begin
        above_q  <= above;
        energy_q <= above && above_q;
      end
      busy_q <= busy_next;
    end
  end

  assign busy = busy_q;
  assign ends = busy_q && !busy_next;

endmodule

`default_nettype wire
