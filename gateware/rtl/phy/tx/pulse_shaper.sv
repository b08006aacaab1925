// SPDX-License-Identifier: GPL-2.0-or-later
// Pulse shaping of one of I and Q: the sum of the last chips' pulses, each with its sign. Rectangular chips would break the
// transmit mask (IEEE 802.11-2012, 16.4.7.5). Chips are signs, so the sum is two table entries of half the chips each.
//
// Timing: `shaped` belongs to the inputs of the sample_take before.

`default_nettype none

module pulse_shaper
  import perhop_phy_pkg::*;
#(
  parameter int unsigned SAMPLES_PER_CHIP = 2
) (
  input  wire logic               clk,
  input  wire logic               sample_take,
  input  wire logic [PULSE_CHIPS-1:0] plus,        // sign of each chip, the newest in the low bit; 1 is plus
  input  wire logic [$clog2(SAMPLES_PER_CHIP)-1:0] place,
  output wire logic signed [11:0] shaped
);

  localparam int unsigned HALF    = PULSE_CHIPS / 2;
  localparam int unsigned ENTRIES = SAMPLES_PER_CHIP << HALF;

  if (2 * HALF != PULSE_CHIPS || (SAMPLES_PER_CHIP != 2 && SAMPLES_PER_CHIP != 4)) begin : illegal_parameters
    $fatal(1, "%m: no pulse for this");
  end

  // By place and signs: the sum of the chips from `first` on. No coverage: it is evaluated when the module is elaborated.
  // verilator coverage_off
  function automatic logic [ENTRIES-1:0][11:0] table_of(int unsigned first);
    for (int unsigned entry = 0; entry < ENTRIES; entry++) begin
      int sum;
      sum = 0;
      for (int unsigned chip = 0; chip < HALF; chip++) begin
        int tap;
        tap = pulse_tap(SAMPLES_PER_CHIP, SAMPLES_PER_CHIP * (first + chip) + (entry >> HALF));
        if (((entry >> chip) & 1) != 0) sum = sum + tap;
        else                            sum = sum - tap;
      end
      table_of[entry] = 12'(sum);
    end
  endfunction
  // verilator coverage_on

  localparam logic [ENTRIES-1:0][11:0] NEWER = table_of(0);
  localparam logic [ENTRIES-1:0][11:0] OLDER = table_of(HALF);

  logic signed [11:0] shaped_q;

  always_ff @(posedge clk) begin
    if (sample_take) shaped_q <= NEWER[{place, plus[HALF-1:0]}] + OLDER[{place, plus[PULSE_CHIPS-1:HALF]}];
  end

  assign shaped = shaped_q;

endmodule

`default_nettype wire
