// SPDX-License-Identifier: GPL-2.0-or-later
// Chips of symbols (IEEE 802.11-2012, 16.4.6.4), each SAMPLES_PER_CHIP samples long, as the signs of I and Q of the last
// PULSE_CHIPS of them; and the amplitude's rise and fall. After the last symbol its chips go on, until the pulse of the
// last chip of the frame has passed and the amplitude has fallen.
//
// Timing: everything moves with sample_take. The first sample of a frame comes with the first sample_take at which its
// first symbol is there.

`default_nettype none

module barker_spreader
  import perhop_phy_pkg::*;
#(
  parameter int unsigned SAMPLES_PER_CHIP = 2,
  parameter int unsigned RAMP_LOG2_MAX    = 5
) (
  input  wire logic       clk,
  input  wire logic       rst,
  input  wire logic       sample_take,

  input  wire logic [2:0] cfg_ramp_log2_samples,      // of rise and fall; 1 to RAMP_LOG2_MAX; stands while something is sent

  // symbol_mapper.
  input  wire logic       symbol_valid,
  input  wire logic [1:0] symbol_quadrant,
  output wire logic       symbol_take,

  // pulse_shaper.
  output wire logic [PULSE_CHIPS-1:0] plus_i,         // sign of each chip, the newest in the low bit; 1 is plus
  output wire logic [PULSE_CHIPS-1:0] plus_q,
  output wire logic [$clog2(SAMPLES_PER_CHIP)-1:0] place,   // of the sample in the newest chip

  // tx_ramp.
  output wire logic       rise,                       // the amplitude after this sample is one step higher
  output wire logic       fall,                       // or one lower, from this sample on
  output wire logic       sending
);

  localparam int unsigned FALLS_AFTER  = (PULSE_CHIPS / 2 + 1) * SAMPLES_PER_CHIP;   // samples after the last symbol
  localparam int unsigned RAMP_MAX     = 1 << RAMP_LOG2_MAX;
  localparam int unsigned TAIL_W       = $clog2(FALLS_AFTER + RAMP_MAX);

  if (FALLS_AFTER < 1 || RAMP_LOG2_MAX < 1 || RAMP_LOG2_MAX > 7) begin : illegal_parameters
    $fatal(1, "%m: no ramp");
  end

  typedef enum logic [1:0] {
    ST_IDLE,     // nothing is sent
    ST_FRAME,    // symbols of a frame
    ST_TAIL      // the last symbol goes on
  } state_e;

  state_e      state_d, state_q;
  logic [3:0]  chip_q;
  logic [$clog2(SAMPLES_PER_CHIP)-1:0] place_q;
  logic [1:0]  quadrant_d, quadrant_q;
  logic [TAIL_W-1:0] tail_q;
  logic [RAMP_LOG2_MAX:0] risen_q;
  logic [PULSE_CHIPS-1:0] plus_i_q, plus_q_q;

  wire logic last_sample  = int'(place_q) == SAMPLES_PER_CHIP - 1 && chip_q == 4'(BARKER_CHIPS - 1);
  wire logic begins       = sample_take && symbol_valid && (state_q == ST_IDLE || (state_q == ST_FRAME && last_sample));
  wire logic [RAMP_LOG2_MAX:0] ramp_samples = (RAMP_LOG2_MAX + 1)'(1) << cfg_ramp_log2_samples;
  wire logic risen        = risen_q == ramp_samples;
  wire logic tail_ends    = state_q == ST_TAIL && tail_q == TAIL_W'(FALLS_AFTER - 1) + TAIL_W'(ramp_samples);

  // place_q, chip_q and the state are those of the sample that the outputs show; this is about the next one.
  wire logic next_is_chip = begins || (state_q != ST_IDLE && int'(place_q) == SAMPLES_PER_CHIP - 1);
  wire logic [3:0] next_chip = (state_q == ST_IDLE || chip_q == 4'(BARKER_CHIPS - 1)) ? '0 : chip_q + 1'b1;

  always_comb begin
    state_d    = state_q;
    quadrant_d = quadrant_q;
    if (begins) begin
      state_d    = ST_FRAME;
      quadrant_d = symbol_quadrant;
    end else if (state_q == ST_FRAME && last_sample) begin
      state_d = ST_TAIL;
    end else if (tail_ends) begin
      state_d = ST_IDLE;
    end
  end

  // Quadrants stand for the diagonals: 0 is ++, 1 -+, 2 --, 3 +-. A minus of the code turns by two.
  wire logic [1:0] turned = quadrant_d + {!BARKER_CODE[next_chip], 1'b0};

  always_ff @(posedge clk) begin
    if (rst) begin
      state_q <= ST_IDLE;
      risen_q <= '0;
    end else if (sample_take) begin
      state_q <= state_d;
      if (state_d == ST_IDLE)                     risen_q <= '0;
      else if (state_q != ST_IDLE && !risen)      risen_q <= risen_q + 1'b1;
    end
    if (sample_take) begin
      quadrant_q <= quadrant_d;
      tail_q     <= state_q == ST_TAIL ? tail_q + 1'b1 : '0;
      place_q    <= (begins || int'(place_q) == SAMPLES_PER_CHIP - 1) ? '0 : place_q + 1'b1;
      if (state_d == ST_IDLE) begin
        plus_i_q <= '1;
        plus_q_q <= '1;
      end else if (next_is_chip) begin
        chip_q   <= next_chip;
        plus_i_q <= {plus_i_q[PULSE_CHIPS-2:0], turned[1] == turned[0]};
        plus_q_q <= {plus_q_q[PULSE_CHIPS-2:0], !turned[1]};
      end
    end
  end

  assign symbol_take = begins;
  assign plus_i      = plus_i_q;
  assign plus_q      = plus_q_q;
  assign place       = place_q;
  assign sending     = state_q != ST_IDLE;
  assign rise        = state_q != ST_IDLE && !risen;
  assign fall        = state_q == ST_TAIL && tail_q >= TAIL_W'(FALLS_AFTER);

endmodule

`default_nettype wire
