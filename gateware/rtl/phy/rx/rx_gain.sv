// SPDX-License-Identifier: GPL-2.0-or-later
// Digital gain of the receiver: the converter's 16 bits go on, without their DC, as 6. The shift follows from the sum of the absolute values of
// SYMBOL samples, and takes effect a few samples into the next ones; while a frame is being received it stands still.
//
// Timing: samples come at most every second clock, for I and Q take the same way one after the other; a sample leaves one
// sample_valid after it came. `block_sum` is that of the last whole block; while DC is learnt after a reset it is told of no block, and of
// none in which the front end's gain was `settling`. A front end that has more gain has another DC: it is learnt anew.

`default_nettype none

module rx_gain #(
  parameter int unsigned BLOCK_SAMPLES = 22
) (
  input  wire logic               clk,
  input  wire logic               rst,
  input  wire logic               sample_valid,
  input  wire logic signed [15:0] in_i,
  input  wire logic signed [15:0] in_q,

  input  wire logic               hold,            // a frame is being received
  input  wire logic               settling,        // gain_control: level
  input  wire logic               rose,            // one clock

  output wire logic signed [5:0]  out_i,
  output wire logic signed [5:0]  out_q,
  output wire logic [20:0]        block_sum,       // of |I| + |Q|
  output wire logic               block_done       // one sample_valid: block_sum is new
);

  localparam int unsigned APPLY      = 4;          // sample of a block that is the first with a new shift
  localparam int unsigned TARGET_BIT = 8;          // highest bit of a block's sum, shifted
  localparam int unsigned MAX_SHIFT  = 10;

  localparam int unsigned FAST_BIT   = 2;          // highest bit of the blocks in which DC is learnt
  localparam int unsigned FALL_BITS  = 2;          // a signal has ended where a block's sum is that much less than the one before

  logic [4:0]  place_q;
  logic        second_q;                           // Q comes with this clock
  logic signed [15:0] q_q, part;
  logic [20:0] sum_q, block_sum_q;
  logic [FAST_BIT:0] blocks_q;                     // summed so far, no more than are fast
  logic        fell_q;                             // it is so
  logic [FAST_BIT:0] again_q;                      // blocks in which DC is learnt anew
  logic        spoilt_q, block_spoilt_q;           // the gain was settling in this block, in the last whole one
  logic        rose_q;                             // since DC was last learnt
  logic        hold_q;
  logic [3:0]  shift_d, shift_q;
  logic [15:0] above_q;                            // bits that must equal the sign
  logic signed [5:0] out_i_q, out_q_q;

  function automatic logic [14:0] size(logic signed [15:0] value);
    size = value[15] ? ~value[14:0] : value[14:0];
  endfunction

  function automatic logic signed [5:0] limited(logic signed [15:0] value, logic [3:0] shift, logic [15:0] above);
    logic [15:0] differs;
    differs = (value ^ {16{value[15]}}) & above;
    limited = differs == '0 ? value[shift +: 6] : {value[15], {5{!value[15]}}};
  endfunction

  always_comb begin
    shift_d = '0;
    for (int unsigned bit_index = TARGET_BIT + 1; bit_index < 21; bit_index++) begin
      if (block_sum_q[bit_index]) begin
        shift_d = bit_index - TARGET_BIT > MAX_SHIFT ? 4'(MAX_SHIFT) : 4'(bit_index - TARGET_BIT);
      end
    end
  end

  rx_dc_removal u_rx_dc_removal (
    .clk, .rst, .valid(sample_valid || second_q), .fast(!blocks_q[FAST_BIT] || again_q != '0),
    .in(second_q ? q_q : in_i), .out(part)
  );

  wire logic signed [5:0] part_limited = limited(part, shift_q, above_q);
  wire logic              last = place_q == 5'(BLOCK_SAMPLES - 1);

  always_ff @(posedge clk) begin
    if (rst) begin
      place_q  <= '0;
      second_q <= 1'b0;
      blocks_q <= '0;
      again_q  <= '0;
      fell_q   <= 1'b0;
      shift_q  <= '0;
      above_q  <= 16'hffe0;
      out_i_q  <= '0;
      out_q_q  <= '0;
      spoilt_q <= 1'b0;
      block_spoilt_q <= 1'b0;
      rose_q   <= 1'b0;
    end else begin
      second_q <= sample_valid;
      if (sample_valid) begin
        place_q  <= last ? '0 : place_q + 1'b1;
        out_i_q  <= part_limited;
        spoilt_q <= settling || (spoilt_q && place_q != '0);
        // What a signal has left in the averages would be energy when it is over.
        if (place_q == '0) begin
          fell_q <= blocks_q[FAST_BIT] && !spoilt_q && !block_spoilt_q &&
                    {sum_q, FALL_BITS'(0)} < {FALL_BITS'(0), block_sum_q};
          block_spoilt_q <= spoilt_q;
        end
      end
      rose_q <= rose || (rose_q && !(second_q && place_q == 5'd1));
      if (second_q) begin
        out_q_q <= part_limited;
        if (place_q == '0 && !blocks_q[FAST_BIT]) blocks_q <= blocks_q + 1'b1;
        if (place_q == 5'd1) begin
          if (fell_q || rose_q)    again_q <= (FAST_BIT + 1)'(1) << FAST_BIT;
          else if (again_q != '0)  again_q <= again_q - 1'b1;
        end
        if (place_q == 5'(APPLY) && blocks_q != '0 && !hold_q) begin
          shift_q <= shift_d;
          above_q <= 16'hffe0 << shift_d;
        end
      end
    end
    if (sample_valid) begin
      q_q    <= in_q;
      hold_q <= hold;
      if (place_q == '0) block_sum_q <= sum_q;
    end
    if (sample_valid || second_q) sum_q <= (place_q == '0 && sample_valid ? '0 : sum_q) + 21'(size(part));
  end

  assign out_i      = out_i_q;
  assign out_q      = out_q_q;
  assign block_sum  = block_sum_q;
  assign block_done = sample_valid && place_q == 5'd1 && blocks_q[FAST_BIT] && !block_spoilt_q;

endmodule

`default_nettype wire
