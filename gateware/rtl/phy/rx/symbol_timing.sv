// SPDX-License-Identifier: GPL-2.0-or-later
// Where symbols begin: counts the samples of a symbol, takes the timing from acquisition, and while a frame is received
// keeps its prompt sample at the peak by symbols of 21, 22 or 23 samples. Says too whether the carrier is still there: each symbol's
// peak is judged against its own sum alone, so that the end of a signal is seen as soon however strong it was.
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
  output wire logic [2:0]         carrier,         // clear_channel: trust that it is there, 0 to 7
  input  wire logic               finish,          // nothing more is wanted of this frame

  output wire logic               tracking
);

  localparam int unsigned FRACTION_BITS    = 5;
  localparam int unsigned EARLY_LATE_SHIFT = 4;
  localparam int unsigned AVERAGE_W        = 11 + FRACTION_BITS;
  localparam logic [2:0]  CARRIER_FULL     = 3'd7;

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
  average_t    early_q, prompt_q, late_q;
  logic        later_q, earlier_q;                 // the late, the early average is the largest
  logic [15:0] total_q;                            // of a symbol's levels
  logic [10:0] peak_q;                             // its prompt level
  logic [2:0]  carrier_d, carrier_q;               // trust in the carrier
  logic signed [10:0] one_i_q, one_q_q, two_i_q, two_q_q;   // one and two samples ago
  logic signed [10:0] early_i_q, early_q_q, now_i_q, now_q_q, late_i_q, late_q_q, before_i_q, before_q_q;

  function automatic average_t averaged(average_t average, logic [10:0] fresh);
    logic signed [AVERAGE_W:0] change;
    change   = $signed({1'b0, fresh, FRACTION_BITS'(0)}) - $signed({1'b0, average});
    averaged = average + AVERAGE_W'(change >>> EARLY_LATE_SHIFT);
  endfunction

  wire logic track = sample_valid && state_q == ST_TRACK;
  wire logic last  = place_q == 5'(SYMBOL_SAMPLES - 1) + 5'(slip_q);
  // A peak is clear where 8 of it exceed its symbol's sum, 2.75 times the mean, and doubtful where 12 or 16 do.
  wire logic clear    = {2'b00, peak_q, 3'b000} > total_q;
  wire logic doubtful = 16'({peak_q, 3'b000}) + 16'({peak_q, 2'b00}) > total_q;
  wire logic faint    = {1'b0, peak_q, 4'b0000} > total_q;

  always_comb begin
    carrier_d = carrier_q;
    if (clear) begin
      if (carrier_q != CARRIER_FULL) carrier_d = carrier_q + 1'b1;
    end else if (!doubtful) begin
      carrier_d = carrier_q == '0 || (carrier_q == 3'd1 && !faint) ? '0 : carrier_q - (faint ? 3'd1 : 3'd2);
    end
  end

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
      first_q   <= 1'b1;
      lost_q    <= 1'b0;
      carrier_q <= CARRIER_FULL;
      early_q   <= '0;
      prompt_q  <= '0;
      late_q    <= '0;
    end else if (track) begin
      if (last) first_q <= 1'b0;
      case (place_q)
        5'd0: begin
          early_q <= averaged(early_q, level);
          if (!first_q) begin
            carrier_q <= carrier_d;
            lost_q    <= carrier_d == '0 || (lost_q && carrier_d != CARRIER_FULL);
          end
        end
        5'd1: begin
          prompt_q <= averaged(prompt_q, level);
          peak_q   <= level;
        end
        5'd2: begin
          late_q <= averaged(late_q, level);
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
  assign carrier      = carrier_q;

endmodule

`default_nettype wire
