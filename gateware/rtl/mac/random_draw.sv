// SPDX-License-Identifier: GPL-2.0-or-later
// Random numbers for the back-off: xoroshiro64+ (D. Blackman, S. Vigna, "Scrambled
// linear pseudorandom number generators", ACM TOMS 2021). The sum of its two words
// is not linear in the seed, so stations with related seeds draw unrelated slots.
// The top bits are given out; they are its best.
//
// The seed must be well mixed, in all of its bits (splitmix64 of a number of the station, say): with small numbers for
// seeds the first draws of all stations would be 0.
//
// It steps only when told: no free-running state, so the sequence of draws does not
// depend on how time is simulated.

`default_nettype none

module random_draw (
  input  wire logic        clk,
  input  wire logic        rst,
  input  wire logic [63:0] cfg_seed,
  input  wire logic        cfg_seed_load,   // one clock
  input  wire logic        step,
  output wire logic [9:0]  value
);

  // Loaded with the seed; the all-zero state, which the generator cannot leave, is avoided.
  localparam logic [31:0] GOLDEN = 32'h9e37_79b9;

  logic [31:0] s0_q, s1_q;

  wire logic [31:0] mixed = s1_q ^ s0_q;

  always_ff @(posedge clk) begin
    if (rst) begin
      s0_q <= GOLDEN;
      s1_q <= 32'd1;
    end else if (cfg_seed_load) begin
      s0_q <= cfg_seed[31:0];
      s1_q <= cfg_seed == '0 ? GOLDEN : cfg_seed[63:32];
    end else if (step) begin
      s0_q <= {s0_q[5:0], s0_q[31:6]} ^ mixed ^ (mixed << 9);
      s1_q <= {mixed[18:0], mixed[31:19]};
    end
  end

  wire logic [31:0] sum = s0_q + s1_q;
  assign value = sum[31:22];

  wire logic unused = &{1'b0, sum[21:0]};

endmodule

`default_nettype wire
