// SPDX-License-Identifier: GPL-2.0-or-later
// What the bits of a frame mean: descrambler, SFD, header, octets, and when it is over: with LENGTH, or when its carrier is gone.
// Then nothing more of it can be read, and another frame may be on its way; for how long the medium is busy with what was
// promised, clear_channel counts (IEEE 802.11-2012, 17.2.6).
//
// Timing: everything follows within two clocks of its bit or symbol_done. Octets come as they are complete, the last
// one before `frame_end`. After `finish` nothing happens until tracking has ended.

`default_nettype none

module plcp_parser
  import perhop_phy_pkg::*;
(
  input  wire logic        clk,
  input  wire logic        rst,
  input  wire logic        tracking,        // symbol_timing: a signal is there

  // symbol_demodulator.
  input  wire logic        bit_valid,
  input  wire logic        bit_data,        // scrambled
  input  wire logic        symbol_done,
  input  wire logic        carrier_lost,
  output wire logic        in_sync,
  output wire logic        two_bits,

  // A frame: from a good header on, whatever its rate.
  output wire logic        frame_start,     // one clock, with
  output wire logic [7:0]  signal,
  output wire logic [7:0]  service,
  output wire logic [15:0] length_us,
  output wire logic        short_preamble,
  output wire logic [7:0]  octet,
  output wire logic        octet_valid,     // one clock
  output wire logic        frame_running,   // level
  output wire logic        frame_end,       // one clock, with
  output wire logic        frame_lost,      // the carrier was lost, before LENGTH was over
  output wire logic [15:0] frame_left_us,   // if so, what of LENGTH is still to come

  output wire logic        evt_header_error,
  output wire logic        evt_given_up,    // no SFD came
  output wire logic        finish           // level: back to the search
);

  typedef enum logic [1:0] {
    ST_SYNC,     // until the SFD
    ST_HEADER,
    ST_FRAME,    // until LENGTH is over
    ST_DONE      // until tracking ends
  } state_e;

  state_e      state_d, state_q;
  logic        short_q, qpsk_q;
  logic [7:0]  octet_q;
  logic [2:0]  bits_q;
  logic        octet_valid_q;
  logic        plain, found, found_short, given_up, complete, good, over;

  wire logic clear       = rst || !tracking;
  wire logic judge       = state_q == ST_HEADER && complete && symbol_done;
  wire logic frame_begin = judge && good;
  wire logic no_header   = state_q == ST_HEADER && symbol_done && (complete ? !good : carrier_lost);
  wire logic lose        = state_q == ST_FRAME && symbol_done && carrier_lost && !over;

  descrambler u_descrambler (.clk, .clear, .valid(bit_valid), .in_bit(bit_data), .out_bit(plain));

  sfd_search u_sfd_search (
    .clk, .clear(clear || state_q != ST_SYNC), .valid(bit_valid), .data(plain), .symbol_done, .carrier_lost,
    .found, .found_short, .given_up
  );

  plcp_header u_plcp_header (
    .clk, .clear(state_q == ST_SYNC), .valid(bit_valid && state_q == ST_HEADER), .data(plain),
    .complete, .good, .signal, .service, .length_us
  );

  length_counter u_length_counter (
    .clk, .rst(clear || lose), .load(frame_begin), .load_length_us(length_us), .symbol_done, .running(frame_running),
    .left_us(frame_left_us), .over
  );

  always_comb begin
    state_d = state_q;
    case (state_q)
      ST_SYNC: begin
        if (found)         state_d = ST_HEADER;
        else if (given_up) state_d = ST_DONE;
      end
      ST_HEADER: begin
        if (frame_begin && !over)          state_d = ST_FRAME;
        else if (frame_begin || no_header) state_d = ST_DONE;
      end
      ST_FRAME:  if (frame_end) state_d = ST_DONE;
      default: ;
    endcase
  end

  always_ff @(posedge clk) begin
    if (clear) state_q <= ST_SYNC;
    else       state_q <= state_d;
    if (state_q == ST_SYNC) begin
      short_q <= found_short;
      qpsk_q  <= found && found_short;
    end else if (frame_begin) begin
      qpsk_q <= signal == PLCP_SIGNAL_2MBPS;
    end
    octet_valid_q <= 1'b0;
    if (state_q != ST_FRAME) begin
      bits_q <= '0;
    end else if (bit_valid) begin
      bits_q        <= bits_q + 1'b1;
      octet_q       <= {plain, octet_q[7:1]};
      octet_valid_q <= bits_q == 3'd7;
    end
  end

  assign in_sync          = state_q == ST_SYNC;
  assign two_bits         = qpsk_q;
  assign frame_start      = frame_begin;
  assign short_preamble   = short_q;
  assign octet            = octet_q;
  assign octet_valid      = octet_valid_q;
  assign frame_end        = over || lose;
  assign frame_lost       = lose;
  assign evt_header_error = no_header;
  assign evt_given_up     = state_q == ST_SYNC && given_up && !found && !clear;
  assign finish           = state_q == ST_DONE;

endmodule

`default_nettype wire
