// SPDX-License-Identifier: GPL-2.0-or-later
// The generator of random numbers never reaches the state that it could not leave, and moves when it
// is told to only. Bound into random_draw.

`default_nettype none

module draw_rules (
  input wire logic        clk,
  input wire logic        rst,
  input wire logic [63:0] cfg_seed,
  input wire logic        cfg_seed_load,
  input wire logic        step,
  input wire logic [9:0]  value,
  input wire logic [31:0] s0_q,
  input wire logic [31:0] s1_q
);

  logic        begun_q = 1'b0, stands_q = 1'b0, loaded_q = 1'b0;
  logic [63:0] was_q, seed_q;
  logic [9:0]  value_q;

  always_ff @(posedge clk) begin
    begun_q  <= 1'b1;
    stands_q <= !rst && !cfg_seed_load && !step;
    loaded_q <= !rst && cfg_seed_load;
    was_q    <= {s1_q, s0_q};
    seed_q   <= cfg_seed;
    value_q  <= value;
  end

  always_comb if (!begun_q) assume (rst);

  always_comb if (begun_q) begin
    a_never_zero       : assert ({s1_q, s0_q} != '0);
    a_moves_when_told  : assert (!stands_q || ({s1_q, s0_q} == was_q && value == value_q));
    a_seed_is_the_state: assert (!loaded_q || seed_q == '0 || {s1_q, s0_q} == seed_q);
  end

endmodule

bind random_draw draw_rules u_draw_rules (.*);

`default_nettype wire
