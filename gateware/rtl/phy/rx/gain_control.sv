// SPDX-License-Identifier: GPL-2.0-or-later
// Gain of the radio's front end, by what its converter says (AGC): how far below the most it is to be, in steps of 12 dB. None while nothing
// is heard, a step more as soon as two samples of a look are at the converter's end, and a step less after a look in which no sample came
// near it. While a signal is being received it stands still.
//
// A step down leaves a signal 5 dB above what counts as quiet, so that the gain does not swing.
//
// Timing: a step is out a clock after the sample that asked for it. Of the cfg_settle_looks looks that come then no sample counts: so long
// the front end, the converter and what stands behind it may take.

`default_nettype none

module gain_control #(
  parameter int unsigned LOOK_SAMPLES = 16           // a power of two
) (
  input  wire logic               clk,
  input  wire logic               rst,               // the gain is the most

  // Settings, which change only in reset.
  input  wire logic [2:0]         cfg_range_steps,   // how far below the most it may be; 0: it stands
  input  wire logic [1:0]         cfg_settle_looks,  // at least 1

  input  wire logic               sample_valid,      // the converter's
  input  wire logic signed [15:0] in_i,
  input  wire logic signed [15:0] in_q,
  input  wire logic               hold,              // a signal is being received

  output wire logic [6:0]         below_db,
  output wire logic               settling,          // level: of samples nobody knows the gain
  output wire logic               rose               // one clock
);

  localparam int unsigned LOOK_W = $clog2(LOOK_SAMPLES);
  // Of a sample's size, in eighths of the converter's range.
  localparam logic [2:0] LOUD = 3'd7, QUIET = 3'd0;

  logic [2:0]        below_q;                        // steps
  logic [1:0]        settle_q;                       // looks
  logic [LOOK_W-1:0] look_q;
  logic              loud_q, heard_q, rose_q;

  function automatic logic [2:0] size(logic [3:0] upper);
    size = upper[2:0] ^ {3{upper[3]}};
  endfunction

  wire logic last   = look_q == '1;
  wire logic counts = sample_valid && !hold && settle_q == '0;
  wire logic over   = sample_valid && settle_q != '0 && last;
  wire logic loud   = size(in_i[15:12]) == LOUD || size(in_q[15:12]) == LOUD;
  wire logic heard  = heard_q || size(in_i[15:12]) != QUIET || size(in_q[15:12]) != QUIET;
  wire logic falls  = counts && loud && loud_q && below_q < cfg_range_steps;
  wire logic rises  = counts && last && !heard && below_q != '0;

  always_ff @(posedge clk) begin
    if (rst) begin
      below_q  <= '0;
      settle_q <= '0;
      rose_q   <= 1'b0;
    end else begin
      rose_q <= rises;
      if (falls)      below_q <= below_q + 1'b1;
      else if (rises) below_q <= below_q - 1'b1;
      if (falls || rises) settle_q <= cfg_settle_looks;
      else if (over)      settle_q <= settle_q - 1'b1;
    end
    if (rst || falls || rises || (hold && settle_q == '0)) begin
      look_q  <= '0;
      loud_q  <= 1'b0;
      heard_q <= 1'b0;
    end else if (sample_valid) begin
      // A look has as many samples as this counter has numbers.
      look_q  <= look_q + 1'b1;
      loud_q  <= counts && !last && (loud_q || loud);
      heard_q <= counts && !last && heard;
    end
  end

  // Twelve of each.
  assign below_db = {1'b0, below_q, 3'b000} + {2'b00, below_q, 2'b00};
  assign settling = settle_q != '0;
  assign rose     = rose_q;

  wire logic unused = &{1'b0, in_i[11:0], in_q[11:0]};

endmodule

`default_nettype wire
