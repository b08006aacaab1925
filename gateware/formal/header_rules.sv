// SPDX-License-Identifier: GPL-2.0-or-later
// The PLCP header: complete with its 48th bit and not before, and its fields are the first 32 bits in their order, low bits
// first, until the next header begins. Each bit goes into the
// CRC once; what that says is plcp_crc's (plcp_crc_rules).
//
// Bound into plcp_header.

`default_nettype none

module header_rules (
  input wire logic        clk,
  input wire logic        clear,
  input wire logic        valid,
  input wire logic        data,
  input wire logic        take,             // to plcp_crc
  input wire logic        complete,
  input wire logic [7:0]  signal,
  input wire logic [7:0]  service,
  input wire logic [15:0] length_us,
  input wire logic [5:0]  bits_q,
  input wire logic [31:0] fields_q
);

  logic        begun_q = 1'b0;
  logic [5:0]  count_q;
  logic [31:0] want_q;                   // the first bit lowest

  always_ff @(posedge clk) begin
    if (clear) begin
      begun_q <= 1'b1;
      count_q <= '0;
      want_q  <= '0;
    end else if (valid && count_q != 6'd48) begin
      count_q <= count_q + 1'b1;
      if (count_q < 6'd32) want_q[count_q[4:0]] <= data;
    end
  end

  always_comb if (begun_q) begin
    a_each_bit_once : assert (take == (valid && count_q != 6'd48));
    a_complete : assert (complete == (count_q == 6'd48));
    if (complete) a_fields : assert ({length_us, service, signal} == want_q);
    i_count : assert (bits_q == count_q && count_q <= 6'd48);
    // The bits so far are the upper ones of the register.
    if (count_q >= 6'd32) i_fields : assert (fields_q == want_q);
    else if (count_q != '0) i_some : assert ((fields_q >> (6'd32 - count_q)) == want_q);
    else i_none : assert (want_q == '0);
  end

endmodule

bind plcp_header header_rules u_header_rules (.*);

`default_nettype wire
