// SPDX-License-Identifier: GPL-2.0-or-later
// Search for a DSSS signal: the level in each of the 22 places of a symbol is averaged over symbols; a place that stays well
// above the mean is where symbols end. An average that one symbol has filled, the end of a frame for instance, passes for a
// peak while it fades: only a symbol whose own level is there too counts. A single one that is not ends nothing: noise takes
// half of a signal's level now and then.
//
// Timing: `lock` and `lock_place` come with the first sample of the symbol after the one that decided.

`default_nettype none

module acquisition #(
  parameter int unsigned SYMBOL_SAMPLES = 22
) (
  input  wire logic        clk,
  input  wire logic        rst,
  input  wire logic        sample_valid,
  input  wire logic [10:0] level,

  // symbol_timing.
  input  wire logic        searching,
  input  wire logic [4:0]  place,          // of this sample in its symbol
  output wire logic        lock,
  output wire logic [4:0]  lock_place,

  output logic             peaks            // level, clear_channel: the symbol before this one had a peak, which may become a lock
);

  localparam int unsigned FRACTION_BITS = 5;
  localparam int unsigned FIRST_TESTED  = 3;   // symbols of a search that are too few to tell a peak from noise
  localparam int unsigned LOCK_SYMBOLS  = 4;
  localparam int unsigned BIN_W         = 11 + FRACTION_BITS;
  localparam int unsigned SUM_W         = BIN_W + 5;

  logic [BIN_W-1:0] averages [32];
  logic [BIN_W-1:0] bin_d, peak_q;
  logic [SUM_W-1:0] sum_q;
  logic [4:0]       peak_place_q, last_place_q;
  logic [2:0]       symbols_q;             // since the search began, up to FIRST_TESTED + 1
  logic [1:0]       good_q;                // symbols that counted while there was a peak
  logic             fresh_q;               // at the peak this symbol's level is at least half of what the average was

  wire logic [BIN_W-1:0] average = averages[place];
  wire logic signed [BIN_W:0] change = $signed({1'b0, level, FRACTION_BITS'(0)}) - $signed({1'b0, average});

  // The first symbol fills the bins, the second weighs 1/2, then 1/4 each.
  always_comb begin
    case (symbols_q)
      3'd0:    bin_d = {level, FRACTION_BITS'(0)};
      3'd1:    bin_d = average + BIN_W'(change >>> 1);
      default: bin_d = average + BIN_W'(change >>> 2);
    endcase
  end

  wire logic first = place == '0;
  wire logic last  = place == 5'(SYMBOL_SAMPLES - 1);
  wire logic tested = sample_valid && searching && first && symbols_q == 3'(FIRST_TESTED + 1);
  // A peak is one where 11 of it exceed the sum of the bins. Adders: a multiplier is dearer.
  wire logic [SUM_W-1:0] peak_times = (SUM_W'(peak_q) << 3) + (SUM_W'(peak_q) << 1) + SUM_W'(peak_q);
  wire logic is_peak = peak_times > sum_q;
  wire logic signed [5:0] moved = $signed({1'b0, peak_place_q}) - $signed({1'b0, last_place_q});
  wire logic near = moved == 0 || moved == 1 || moved == -1
                    || moved == 6'sd21 || moved == -6'sd21;

  if (SYMBOL_SAMPLES != 22) begin : g_bad_symbol
    $fatal(1, "%m: two samples a chip");
  end

  always_ff @(posedge clk) begin
    if (sample_valid) begin
      averages[place] <= bin_d;
      if (first || bin_d > peak_q) begin
        peak_q       <= bin_d;
        peak_place_q <= place;
        fresh_q      <= {level, (FRACTION_BITS + 1)'(0)} >= {1'b0, average};
      end
      sum_q <= first ? SUM_W'(bin_d) : sum_q + SUM_W'(bin_d);
      if (first) last_place_q <= peak_place_q;
    end
    if (rst || !searching) begin
      symbols_q <= '0;
      good_q    <= '0;
      peaks     <= 1'b0;
    end else if (sample_valid) begin
      if (last && symbols_q != 3'(FIRST_TESTED + 1)) symbols_q <= symbols_q + 1'b1;
      if (tested) begin
        good_q <= (is_peak && near && (fresh_q || peaks) ? good_q : 2'd0) + 2'(is_peak && fresh_q);
        peaks  <= is_peak && fresh_q;
      end
    end
  end

  assign lock       = tested && is_peak && near && fresh_q && good_q == 2'(LOCK_SYMBOLS - 1);
  assign lock_place = peak_place_q;

endmodule

`default_nettype wire
