// SPDX-License-Identifier: GPL-2.0-or-later
// Clear channel assessment, with any receiver and any settings: the medium is busy while a frame is being received, and, as it was
// promised, for all samples of the LENGTH of each frame whose carrier was lost, less what passes in two clocks; that it falls is told a
// clock before.
//
// Bound into clear_channel.

`default_nettype none

module clear_rules (
  input wire logic        clk,
  input wire logic        rst,
  input wire logic        deaf,
  input wire logic        sample_valid,
  input wire logic        tracking,
  input wire logic        framing,
  input wire logic        finish,
  input wire logic        frame_end,
  input wire logic        frame_lost,
  input wire logic [15:0] frame_left_us,
  input wire logic        busy,
  input wire logic        ends,
  input wire logic [15:0] reserved_us_q,
  input wire logic [4:0]  reserved_samples_q
);

  // Of one lost frame, any: the samples of its LENGTH that are still to come. The solver chooses which.
  (* anyseq *) logic chosen;
  logic        was_reset_q = 1'b0, was_promised_q, was_received_q, was_ending_q, was_busy_q, was_deaf_q;
  logic [20:0] promised_q;

  wire logic promised = promised_q != '0;

  always_ff @(posedge clk) begin
    if (rst) begin
      was_reset_q <= 1'b1;
      promised_q  <= '0;
      {was_promised_q, was_received_q, was_ending_q, was_busy_q, was_deaf_q} <= '0;
    end else begin
      if (chosen && frame_end && frame_lost) promised_q <= 21'd22 * 21'(frame_left_us);
      else if (promised && sample_valid)     promised_q <= promised_q - 1'b1;
      was_promised_q <= promised && !deaf;
      was_received_q <= framing && tracking && !finish && !deaf;
      was_ending_q   <= ends;
      was_busy_q     <= busy;
      was_deaf_q     <= deaf;
    end
  end

  always_comb begin
    assume (!frame_lost || !frame_end || frame_left_us != '0);
    if (was_reset_q && !rst) begin
      if (was_promised_q) a_busy_as_promised : assert (busy);
      if (was_received_q) a_busy_with_a_frame : assert (busy);
      if (!was_deaf_q) a_its_fall_is_told : assert (was_ending_q == (was_busy_q && !busy));
      i_reserved : assert (promised_q <= 21'd22 * 21'(reserved_us_q) - 21'(reserved_samples_q));
      i_samples  : assert (reserved_samples_q < 5'd22 && (reserved_us_q != '0 || reserved_samples_q == '0));
    end
  end

endmodule

bind clear_channel clear_rules u_clear_rules (.*);

`default_nettype wire
