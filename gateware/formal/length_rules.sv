// SPDX-License-Identifier: GPL-2.0-or-later
// The length counter: each good header's LENGTH is over once, with as many symbols after it as it says, however they
// come; a header of none at once.
//
// Bound into length_counter.

`default_nettype none

module length_rules (
  input wire logic        clk,
  input wire logic        rst,
  input wire logic        load,
  input wire logic [15:0] load_length_us,
  input wire logic        symbol_done,
  input wire logic        running,
  input wire logic        over,
  input wire logic [15:0] left_us,
  input wire logic [15:0] left_q
);

  // The last header's LENGTH, and the symbols since.
  logic        counts_q = 1'b0, was_reset_q = 1'b0;
  logic [15:0] length_q, since_q;

  always_ff @(posedge clk) begin
    if (rst) begin
      counts_q    <= 1'b0;
      was_reset_q <= 1'b1;
    end else if (load) begin
      counts_q <= load_length_us != '0;
      length_q <= load_length_us;
      since_q  <= '0;
    end else if (symbol_done && counts_q) begin
      since_q <= since_q + 1'b1;
      if (since_q + 1'b1 == length_q) counts_q <= 1'b0;
    end
  end

  always_comb if (was_reset_q && !rst) begin
    a_running : assert (running == counts_q);
    if (load) a_none_is_over_at_once : assert (over == (load_length_us == '0));
    else      a_over_with_the_last   : assert (over == (symbol_done && counts_q && 17'(since_q) + 17'd1 == 17'(length_q)));
    if (counts_q && symbol_done) a_left : assert (17'(left_us) + 17'(since_q) + 17'd1 == 17'(length_q));
    if (counts_q) i_left : assert (17'(left_q) + 17'(since_q) == 17'(length_q) && since_q < length_q);
    else          i_none : assert (left_q == '0);
  end

endmodule

bind length_counter length_rules u_length_rules (.*);

`default_nettype wire
