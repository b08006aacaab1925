// SPDX-License-Identifier: GPL-2.0-or-later
// Where symbols begin: counts the samples of a symbol, takes the timing from acquisition, and while a frame is received
// keeps its prompt sample at the peak by symbols of 21, 22 or 23 samples. Says too whether the carrier is still there.
//
// Timing: while tracking, the samples of places 0, 1 and 2 are early, prompt and late; `symbol` comes with the clock after the
// late one's sample_valid, `slip` is that of this symbol from place 5 on. `finish` counts with the last sample of a symbol.

`default_nettype none

module symbol_timing #(
  parameter int unsigned SYMBOL_SAMPLES = 22
) (
  input  wire logic               clk,
  input  wire logic               rst,
  input  wire logic               sample_valid,
  input  wire logic signed [10:0] in_i,
  input  wire logic signed [10:0] in_q,
  input  wire logic [10:0]        level,

  // acquisition.
  output wire logic               searching,
  output wire logic [4:0]         place,
  input  wire logic               lock,
  input  wire logic [4:0]         lock_place,

  // symbol_demodulator.
  output wire logic               symbol,          // one clock, with
  output wire logic               symbol_first,    // the first one of a frame: nothing came before
  output wire logic signed [10:0] now_i,           // its prompt correlation
  output wire logic signed [10:0] now_q,
  output wire logic signed [10:0] before_i,        // that of the symbol before, at the same distance of 22 samples
  output wire logic signed [10:0] before_q,

  // plcp_parser.
  output wire logic               carrier_lost,    // level
  input  wire logic               finish,          // nothing more is wanted of this frame

  output wire logic               tracking
);

  localparam int unsigned FRACTION_BITS    = 5;
  localparam int unsigned EARLY_LATE_SHIFT = 4;
  localparam int unsigned LEVEL_SHIFT      = 3;
  localparam int unsigned AVERAGE_W        = 11 + FRACTION_BITS;
  localparam int unsigned SUM_W            = AVERAGE_W + 5;

  typedef enum logic [1:0] {
    ST_SEARCH,   // symbols of 22 samples, begun anywhere
    ST_ALIGN,    // until the first symbol at the timing of the lock begins
    ST_TRACK     // symbols of a frame
  } state_e;

  typedef logic [AVERAGE_W-1:0] average_t;

  state_e      state_d, state_q;
  logic [4:0]  place_d, place_q;
  logic        first_q, lost_q, symbol_q, symbol_first_q;
  logic signed [1:0] slip_q;
  average_t    early_q, prompt_q, late_q, level_q;
  logic        later_q, earlier_q;                 // the late, the early average is the largest
  logic [15:0] total_q;
  logic [SUM_W-1:0] sum_q;
  logic signed [10:0] one_i_q, one_q_q, two_i_q, two_q_q;   // one and two samples ago
  logic signed [10:0] early_i_q, early_q_q, now_i_q, now_q_q, late_i_q, late_q_q, before_i_q, before_q_q;

  function automatic average_t averaged(average_t average, logic [10:0] fresh, int unsigned shift);
    logic signed [AVERAGE_W:0] change;
    change   = $signed({1'b0, fresh, FRACTION_BITS'(0)}) - $signed({1'b0, average});
    averaged = average + AVERAGE_W'(change >>> shift);
  endfunction

  wire logic track = sample_valid && state_q == ST_TRACK;
  wire logic last  = place_q == 5'(SYMBOL_SAMPLES - 1) + 5'(slip_q);
  wire logic signed [SUM_W:0] sum_change = $signed({1'b0, total_q, FRACTION_BITS'(0)}) - $signed({1'b0, sum_q});
  // The carrier is lost where 15 of the peak do not exceed the sum of a symbol. An adder: a multiplier is dearer.
  wire logic [SUM_W-1:0] level_times = (SUM_W'(level_q) << 4) - SUM_W'(level_q);

  always_comb begin
    state_d = state_q;
    place_d = last ? '0 : place_q + 1'b1;
    case (state_q)
      ST_SEARCH: if (lock) begin
        // The sample at lock_place shall be at place 1; this one is at place 0 of the search.
        place_d = lock_place <= 5'd2 ? 5'd2 - lock_place : 5'(SYMBOL_SAMPLES + 2) - lock_place;
        state_d = place_d == '0 ? ST_TRACK : ST_ALIGN;
      end
      ST_ALIGN: if (last) state_d = ST_TRACK;
      ST_TRACK: if (last && finish) state_d = ST_SEARCH;
      default: state_d = ST_SEARCH;
    endcase
  end

  always_ff @(posedge clk) begin
    if (rst) begin
      state_q  <= ST_SEARCH;
      place_q  <= '0;
      slip_q   <= '0;
      symbol_q <= 1'b0;
    end else begin
      symbol_q <= track && place_q == 5'd2;
      if (sample_valid) begin
        state_q <= state_d;
        place_q <= place_d;
        if (last || state_q != ST_TRACK)     slip_q <= '0;
        else if (place_q == 5'd4 && !lost_q) slip_q <= later_q ? 2'sd1 : earlier_q ? -2'sd1 : '0;
      end
    end

    if (sample_valid) begin
      {one_i_q, one_q_q} <= {in_i, in_q};
      {two_i_q, two_q_q} <= {one_i_q, one_q_q};
      total_q <= place_q == '0 ? 16'(level) : total_q + 16'(level);
    end

    if (sample_valid && state_q != ST_TRACK) begin
      first_q  <= 1'b1;
      lost_q   <= 1'b0;
      early_q  <= '0;
      prompt_q <= '0;
      late_q   <= '0;
      level_q  <= '0;
      sum_q    <= '0;
    end else if (track) begin
      if (last) first_q <= 1'b0;
      case (place_q)
        5'd0: begin
          early_q <= averaged(early_q, level, EARLY_LATE_SHIFT);
          if (!first_q) sum_q <= sum_q + SUM_W'(sum_change >>> LEVEL_SHIFT);
        end
        5'd1: begin
          prompt_q <= averaged(prompt_q, level, EARLY_LATE_SHIFT);
          level_q  <= averaged(level_q, level, LEVEL_SHIFT);
          if (!first_q) lost_q <= level_times <= sum_q;
        end
        5'd2: begin
          late_q <= averaged(late_q, level, EARLY_LATE_SHIFT);
          {early_i_q, early_q_q} <= {two_i_q, two_q_q};
          {now_i_q, now_q_q}     <= {one_i_q, one_q_q};
          {late_i_q, late_q_q}   <= {in_i, in_q};
          symbol_first_q <= first_q;
        end
        5'd3: begin
          later_q   <= late_q > prompt_q && late_q >= early_q;
          earlier_q <= early_q > prompt_q && early_q > late_q;
        end
        5'd4: if (!lost_q && (later_q || earlier_q)) begin
          // The sample beyond the new prompt one is not known yet: as far below as the other.
          early_q  <= prompt_q;
          prompt_q <= later_q ? late_q : early_q;
          late_q   <= prompt_q;
        end
        5'd20: begin
          case (slip_q)
            2'sd1:   {before_i_q, before_q_q} <= {late_i_q, late_q_q};
            -2'sd1:  {before_i_q, before_q_q} <= {early_i_q, early_q_q};
            default: {before_i_q, before_q_q} <= {now_i_q, now_q_q};
          endcase
        end
        default: ;
      endcase
    end
  end

  assign searching    = state_q == ST_SEARCH;
  assign tracking     = state_q != ST_SEARCH;
  assign place        = place_q;
  assign symbol       = symbol_q;
  assign symbol_first = symbol_first_q;
  assign now_i        = now_i_q;
  assign now_q        = now_q_q;
  assign before_i     = before_i_q;
  assign before_q     = before_q_q;
  assign carrier_lost = lost_q;

endmodule

`default_nettype wire
