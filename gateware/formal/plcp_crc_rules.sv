// SPDX-License-Identifier: GPL-2.0-or-later
// The CRC-16 of PLCP headers: the register is that of the mirrored polynomial, shifted the other way; and whatever it holds
// after the fields, of all 65,536 ways to go on exactly one is good: its complement, high bit first.
//
// Bound into plcp_crc.

`default_nettype none

module plcp_crc_rules (
  input wire logic        clk,
  input wire logic        clear,
  input wire logic        valid,
  input wire logic        data,
  input wire logic        send,
  input wire logic        next_bit,
  input wire logic        good,
  input wire logic [15:0] remainder_q
);

  logic        begun_q = 1'b0, sending_q;
  logic [15:0] mirrored_q, mirror;
  logic [15:0] any_bits;                   // high bit first; what stands there at the begin is anything

  always_comb for (int unsigned place = 0; place < 16; place++) mirror[15 - place] = mirrored_q[place];

  function automatic logic [15:0] after(logic [15:0] remainder, logic [15:0] bits);
    after = remainder;
    for (int unsigned place = 0; place < 16; place++) begin
      after = {after[14:0], 1'b0} ^ (after[15] != bits[15 - place] ? 16'h1021 : 16'h0);
    end
  endfunction

  always_ff @(posedge clk) any_bits <= {any_bits[14:0], data};

  always_ff @(posedge clk) begin
    if (clear) begin
      begun_q    <= 1'b1;
      sending_q  <= 1'b0;
      mirrored_q <= '1;
    end else if (valid) begin
      mirrored_q <= {1'b0, mirrored_q[15:1]} ^ (mirrored_q[0] != data ? 16'h8408 : 16'h0);
    end else if (send) begin
      sending_q <= 1'b1;
    end
  end

  always_comb begin
    a_one_is_good : assert ((after(remainder_q, any_bits) == 16'h1d0f) == (any_bits == ~remainder_q));
    a_good        : assert (good == (remainder_q == 16'h1d0f));
    a_high_first  : assert (next_bit == !remainder_q[15]);
    if (begun_q && !sending_q) a_mirrored : assert (remainder_q == mirror);
  end

endmodule

bind plcp_crc plcp_crc_rules u_plcp_crc_rules (.*);

`default_nettype wire
