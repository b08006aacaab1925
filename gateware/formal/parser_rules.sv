// SPDX-License-Identifier: GPL-2.0-or-later
// The PLCP parser comes back, whatever bits it is given: a search for the SFD lasts less than 170 symbols with bits; a header at
// most 48 of them, or until its carrier is lost, which is one error; a frame as many symbols as its LENGTH says, or until its carrier
// is lost, and then it tells how many of them are to come. Behind each it is done until tracking ends, and then searches.
//
// Bound into plcp_parser, with sfd_search, plcp_header and length_counter below it.

`default_nettype none

module parser_rules (
  input wire logic        clk,
  input wire logic        clear,
  input wire logic        bit_valid,
  input wire logic        symbol_done,
  input wire logic        in_sync,
  input wire logic        finish,
  input wire logic        frame_start,
  input wire logic        frame_running,
  input wire logic        carrier_lost,
  input wire logic        frame_end,
  input wire logic        frame_lost,
  input wire logic [15:0] frame_left_us,
  input wire logic [15:0] length_us,
  input wire logic        evt_header_error,
  input wire logic [1:0]  state_q
);

  localparam logic [1:0] ST_SYNC = 2'd0, ST_HEADER = 2'd1, ST_FRAME = 2'd2, ST_DONE = 2'd3;

  logic        begun_q = 1'b0, bit_q, header_bit_q, was_error_q;
  logic [7:0]  searched_q;               // symbols with bits in this search
  logic [5:0]  header_symbols_q;         // symbols with bits since the SFD
  logic [15:0] length_q, since_q;        // of the frame that runs

  always_ff @(posedge clk) begin
    if (clear) begin
      begun_q    <= 1'b1;
      searched_q <= '0;
      bit_q      <= 1'b0;
    end else if (state_q == ST_SYNC) begin
      if (bit_valid)        bit_q <= 1'b1;
      else if (symbol_done) bit_q <= 1'b0;
      if (symbol_done) searched_q <= searched_q + 8'(bit_q);
    end
    if (state_q != ST_HEADER) begin
      header_symbols_q <= '0;
      header_bit_q     <= 1'b0;
    end else begin
      if (bit_valid)        header_bit_q <= 1'b1;
      else if (symbol_done) header_bit_q <= 1'b0;
      if (symbol_done) header_symbols_q <= header_symbols_q + 6'(header_bit_q);
    end
    was_error_q <= evt_header_error && !clear;
    if (frame_start) begin
      length_q <= length_us;
      since_q  <= '0;
    end else if (symbol_done) begin
      since_q <= since_q + 1'b1;
    end
  end

  always_comb if (begun_q && !clear) begin
    a_search_ends : assert (state_q != ST_SYNC || searched_q < 8'd170);
    a_header_ends : assert (state_q != ST_HEADER || header_symbols_q <= 6'd48);
    a_header_ends_with_its_carrier : assert (state_q != ST_HEADER || !symbol_done || !carrier_lost || evt_header_error || frame_start);
    if (evt_header_error) a_error_of_a_header : assert (state_q == ST_HEADER && !frame_start);
    if (was_error_q) a_header_error_ends_it : assert (finish);
    a_frame_is_as_long_as_it_says : assert (state_q != ST_FRAME || (since_q < length_q && frame_running));
    if (state_q == ST_FRAME) begin
      a_ends_with_its_last_symbol : assert (!(symbol_done && since_q + 1'b1 == length_q) || (frame_end && !frame_lost));
      a_or_with_its_carrier : assert (frame_end == (symbol_done && (since_q + 1'b1 == length_q || carrier_lost)));
    end
    if (frame_end && frame_lost) begin
      a_lost_within_it : assert (state_q == ST_FRAME && carrier_lost);
      a_tells_what_is_left : assert (frame_left_us == length_q - since_q - 16'd1 && frame_left_us != '0);
    end
    a_told : assert (in_sync == (state_q == ST_SYNC) && finish == (state_q == ST_DONE));
    a_nothing_runs_else : assert (state_q == ST_FRAME || !frame_running);
    i_searched : assert (state_q != ST_SYNC
                         || (plcp_parser.u_sfd_search.symbols_q == searched_q && plcp_parser.u_sfd_search.bit_q == bit_q));
    i_header : assert (state_q != ST_HEADER
                       || plcp_parser.u_plcp_header.bits_q >= header_symbols_q + 6'(header_bit_q));
    i_header_bits : assert (state_q != ST_HEADER || plcp_parser.u_plcp_header.bits_q <= 6'd48);
    // The symbol of the last bit is not over yet.
    i_last_bit : assert (state_q != ST_HEADER || plcp_parser.u_plcp_header.bits_q != 6'd48 || header_bit_q);
    i_left : assert (state_q != ST_FRAME || plcp_parser.u_length_counter.left_q == length_q - since_q);
  end

endmodule

bind plcp_parser parser_rules u_parser_rules (.state_q(2'(state_q)), .*);

`default_nettype wire
