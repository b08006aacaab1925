// SPDX-License-Identifier: GPL-2.0-or-later
// From four samples a chip to two, behind a half-band low-pass: what the next channel, 25 MHz away, has beyond 11 MHz would fold
// onto the signal. 23 taps, symmetric, every second one 0 but for the middle:
//
//   2048 h = -3 0 12 0 -34 0 80 0 -183 0 640 1024 640 0 -183 0 80 0 -34 0 12 0 -3
//
// 59 dB from 14.5 MHz on at 44 Msps, within 0.01 dB up to 7.5 MHz. The taps are chosen for few adders, no multiplier: 640 and 80, 12
// and 3 share one each. I and Q take the same way, one after the other. What does not fit into 16 bits is limited.
//
// Timing: a sample at most every clock; out_valid comes six clocks after a pair's second sample, and the filter's middle is ten
// samples before the pair's first one.

`default_nettype none

module rx_half_band (
  input  wire logic               clk,
  input  wire logic               rst,
  input  wire logic               in_valid,
  input  wire logic signed [15:0] in_i,
  input  wire logic signed [15:0] in_q,
  output wire logic               out_valid,   // one clock
  output wire logic signed [15:0] out_i,
  output wire logic signed [15:0] out_q
);

  localparam int unsigned TAPS   = 6;          // different ones, without the middle
  localparam int unsigned MIDDLE = 5;          // pairs back
  localparam int unsigned SHIFT  = 11;
  localparam int unsigned STAGES = 5;          // from the lines to the outputs

  typedef logic signed [27:0] sum_t;           // holds the largest sum, which is 1.43 times full scale

  // First and second samples of pairs; I and Q of each stand side by side, so that two places are one pair.
  logic signed [15:0] first_line_q [2*MIDDLE+1];
  logic signed [15:0] second_line_q [4*TAPS-1];
  logic signed [15:0] first_i_q, first_q_q, q_q;
  logic               second_q, push_q_q;      // the next sample is a pair's second; Q comes with this clock
  logic [STAGES-1:0]  ready_q;

  wire logic push_i = in_valid && second_q;

  always_ff @(posedge clk) begin
    if (rst) begin
      second_q      <= 1'b0;
      push_q_q      <= 1'b0;
      ready_q       <= '0;
      first_line_q  <= '{default: '0};
      second_line_q <= '{default: '0};
    end else begin
      if (in_valid) second_q <= !second_q;
      push_q_q <= push_i;
      ready_q  <= {ready_q[STAGES-2:0], push_q_q};
      if (push_i || push_q_q) begin
        first_line_q[0]  <= push_i ? first_i_q : first_q_q;
        second_line_q[0] <= push_i ? in_i : q_q;
        for (int unsigned place = 1; place < 2*MIDDLE+1; ++place) first_line_q[place] <= first_line_q[place-1];
        for (int unsigned place = 1; place < 4*TAPS-1; ++place)   second_line_q[place] <= second_line_q[place-1];
      end
    end
    if (in_valid && !second_q) {first_i_q, first_q_q} <= {in_i, in_q};
    if (push_i) q_q <= in_q;
  end

  // Each stage has I in one clock, and Q in the next.
  logic signed [16:0] pair_q [TAPS];           // sums of the samples that have one tap, from the middle outwards
  logic signed [15:0] middle_q, middle_2_q;
  sum_t               by_80_q, by_183_high_q, by_183_low_q, by_34_q, by_3_q, positive_q, rest_q;
  logic signed [15:0] limited_q, before_q;

  wire sum_t total = (positive_q + rest_q) >>> SHIFT;
  wire logic fits  = total[27:15] == {13{total[27]}};

  always_ff @(posedge clk) begin
    for (int unsigned tap = 0; tap < TAPS; ++tap) begin
      pair_q[tap] <= 17'(second_line_q[2*(TAPS-1-tap)]) + 17'(second_line_q[2*(TAPS+tap)]);
    end
    middle_q      <= first_line_q[2*MIDDLE];

    by_80_q       <= (sum_t'(pair_q[0]) <<< 3) + sum_t'(pair_q[2]);
    by_183_high_q <= (sum_t'(pair_q[1]) <<< 1) + sum_t'(pair_q[1]);    // 183 = 64*3 - 9
    by_183_low_q  <= (sum_t'(pair_q[1]) <<< 3) + sum_t'(pair_q[1]);
    by_34_q       <= (sum_t'(pair_q[3]) <<< 4) + sum_t'(pair_q[3]);    // half of it
    by_3_q        <= (sum_t'(pair_q[4]) <<< 2) - sum_t'(pair_q[5]);
    middle_2_q    <= middle_q;

    positive_q    <= ((by_80_q <<< 6) + (by_80_q <<< 4)) + ((by_3_q <<< 1) + by_3_q);
    rest_q        <= ((sum_t'(middle_2_q) <<< 10) - (by_34_q <<< 1)) - ((by_183_high_q <<< 6) - by_183_low_q);

    limited_q     <= fits ? total[15:0] : {total[27], {15{!total[27]}}};
    before_q      <= limited_q;
  end

  assign out_valid = ready_q[STAGES-1];
  assign out_i     = before_q;
  assign out_q     = limited_q;

endmodule

`default_nettype wire
