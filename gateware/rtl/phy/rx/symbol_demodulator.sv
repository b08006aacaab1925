// SPDX-License-Identifier: GPL-2.0-or-later
// Differential demodulation with an averaged rotation: d is the turn from one symbol to the next, e the part of it that the
// carrier's offset makes, and the nearest quarter of d e* is the data (IEEE 802.11-2012, 16.4.6.5). In SYNC, where the data
// are not trusted yet, e averages d folded into the right half plane. One multiplier.
//
// Timing: the first bit comes 14 clocks after `symbol`, the second with the clock after it, `symbol_done` two clocks later,
// whether there were bits or not.

`default_nettype none

module symbol_demodulator (
  input  wire logic               clk,
  input  wire logic               rst,

  // symbol_timing. The correlations stand until symbol_done.
  input  wire logic               symbol,
  input  wire logic               symbol_first,   // of a frame: no bits
  input  wire logic signed [10:0] now_i,
  input  wire logic signed [10:0] now_q,
  input  wire logic signed [10:0] before_i,
  input  wire logic signed [10:0] before_q,

  // plcp_parser.
  input  wire logic               in_sync,
  input  wire logic               two_bits,       // DQPSK
  output wire logic               bit_valid,
  output wire logic               bit_data,       // still scrambled
  output wire logic               symbol_done,

  // For estimates and tests: valid with symbol_done.
  output wire logic signed [14:0] turn_i,         // d
  output wire logic signed [14:0] turn_q,
  output wire logic signed [19:0] rotation_i,     // e, five bits of it fraction
  output wire logic signed [19:0] rotation_q,
  output wire logic               error_valid,    // one clock for I, one for Q
  output wire logic [15:0]        error_size      // of d, turned back, against e
);

  localparam int unsigned PRODUCT_SHIFT  = 6;
  localparam int unsigned FRACTION_BITS  = 5;
  localparam int unsigned SYNC_SHIFT     = 3;
  localparam int unsigned DATA_SHIFT     = 5;
  localparam logic [4:0]  STEP_DONE      = 5'd17;

  logic [4:0]         step_q;                     // 0: idle
  logic signed [14:0] a, b;
  logic signed [29:0] product_q;
  logic signed [30:0] sum_q, y_i_q;
  logic signed [14:0] turn_i_q, turn_q_q;
  logic signed [19:0] rotation_i_q, rotation_q_q;
  logic [1:0]         quarters_q;                 // of the data
  logic               first_q, valid_q, data_q, done_q;

  wire logic signed [14:0] e_i = rotation_i_q[19:FRACTION_BITS];
  wire logic signed [14:0] e_q = rotation_q_q[19:FRACTION_BITS];

  // The multiplier's inputs; their product is there in the next step.
  always_comb begin
    case (step_q)
      5'd1:    {a, b} = {15'(now_i), 15'(before_i)};
      5'd2:    {a, b} = {15'(now_q), 15'(before_q)};
      5'd3:    {a, b} = {15'(now_q), 15'(before_i)};
      5'd4:    {a, b} = {15'(now_i), 15'(before_q)};
      5'd7:    {a, b} = {turn_i_q, e_i};
      5'd8:    {a, b} = {turn_q_q, e_q};
      5'd9:    {a, b} = {turn_q_q, e_i};
      default: {a, b} = {turn_i_q, e_q};
    endcase
  end

  // The sum's next value: steps with a second product add or subtract it.
  logic signed [30:0] sum_d;
  always_comb begin
    case (step_q)
      5'd3, 5'd9:  sum_d = sum_q + 31'(product_q);
      5'd5, 5'd11: sum_d = sum_q - 31'(product_q);
      default:     sum_d = 31'(product_q);
    endcase
  end

  // y_i and y_q decide: the nearest quarter lies between the diagonals.
  wire logic signed [31:0] diagonal_sum  = 32'(y_i_q) + 32'(sum_q);
  wire logic signed [31:0] diagonal_less = 32'(y_i_q) - 32'(sum_q);

  // d turned back by what is taken for the data.
  wire logic [1:0] back = in_sync ? {turn_i_q[14], 1'b0} : quarters_q;
  logic signed [15:0] turned_back;
  logic signed [19:0] rotation;
  always_comb begin
    rotation = step_q == 5'd13 ? rotation_i_q : rotation_q_q;
    case ({step_q == 5'd13, back})
      3'b1_00: turned_back = 16'(turn_i_q);
      3'b1_01: turned_back = 16'(turn_q_q);
      3'b1_10: turned_back = -16'(turn_i_q);
      3'b1_11: turned_back = -16'(turn_q_q);
      3'b0_00: turned_back = 16'(turn_q_q);
      3'b0_01: turned_back = -16'(turn_i_q);
      3'b0_10: turned_back = -16'(turn_q_q);
      default: turned_back = 16'(turn_i_q);
    endcase
  end
  wire logic signed [20:0] change  = {turned_back, FRACTION_BITS'(0)} - 21'(rotation);
  wire logic signed [19:0] rotated = rotation + 20'(in_sync ? change >>> SYNC_SHIFT : change >>> DATA_SHIFT);

  always_ff @(posedge clk) begin
    product_q <= a * b;
    sum_q     <= sum_d;
    valid_q   <= 1'b0;
    done_q    <= 1'b0;
    if (rst) begin
      step_q <= '0;
    end else if (symbol) begin
      step_q  <= 5'd1;
      first_q <= symbol_first;
    end else if (step_q != '0) begin
      step_q <= step_q == STEP_DONE ? '0 : step_q + 1'b1;
    end
    case (step_q)
      5'd4:  turn_i_q <= sum_q[PRODUCT_SHIFT +: 15];
      5'd6:  turn_q_q <= sum_q[PRODUCT_SHIFT +: 15];
      5'd10: y_i_q    <= sum_q;
      5'd12: begin
        if (two_bits) quarters_q <= diagonal_sum >= 0 ? {1'b0, diagonal_less < 0} : {1'b1, diagonal_less >= 0};
        else          quarters_q <= {y_i_q[30], 1'b0};
      end
      5'd13: rotation_i_q <= first_q ? '0 : rotated;
      5'd14: begin
        rotation_q_q <= first_q ? '0 : rotated;
        valid_q      <= !first_q;
        data_q       <= quarters_q[1];
      end
      5'd15: begin
        valid_q <= !first_q && two_bits;
        data_q  <= quarters_q[1] ^ quarters_q[0];
      end
      STEP_DONE: done_q <= 1'b1;
      default: ;
    endcase
  end

  assign error_valid = !first_q && (step_q == 5'd13 || step_q == 5'd14);
  assign error_size  = change[20] ? ~change[20:FRACTION_BITS] : change[20:FRACTION_BITS];
  assign bit_valid   = valid_q;
  assign bit_data    = data_q;
  assign symbol_done = done_q;
  assign turn_i      = turn_i_q;
  assign turn_q      = turn_q_q;
  assign rotation_i  = rotation_i_q;
  assign rotation_q  = rotation_q_q;

endmodule

`default_nettype wire
