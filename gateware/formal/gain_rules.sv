// SPDX-License-Identifier: GPL-2.0-or-later
// The front end's gain, whatever is heard: never farther below its most than the range; it stands while a signal is received, and for
// cfg_settle_looks looks after a step; it goes down only at a loud sample, and up only behind a whole look of samples that are none of them
// near the converter's range.
//
// Bound into gain_control. The settings stand.

`default_nettype none

module gain_rules (
  input wire logic               clk,
  input wire logic               rst,
  input wire logic [2:0]         cfg_range_steps,
  input wire logic [1:0]         cfg_settle_looks,
  input wire logic               sample_valid,
  input wire logic signed [15:0] in_i,
  input wire logic signed [15:0] in_q,
  input wire logic               hold,
  input wire logic [2:0]         below_q,
  input wire logic [6:0]         below_db,
  input wire logic               rose,
  input wire logic [3:0]         look_q,
  input wire logic               heard_q,
  input wire logic [1:0]         settle_q
);

  function automatic logic inside_of(logic signed [15:0] value, int limit);
    inside_of = int'(value) < limit && int'(value) >= -limit;
  endfunction

  logic       begun_q = 1'b0, rst_q = 1'b1, held_q, sampled_q, loud_q, near_q;
  logic [6:0] below_db_q;
  logic [1:0] settle_looks_q;
  logic [2:0] range_q;
  logic [7:0] since_q = 8'd200, stood_q;             // samples since a step, up to 200; and before this clock's
  logic [4:0] quiet_q = '0, look_quiet_q;            // samples since one near the range, a step or a signal, up to 16

  wire logic near    = !inside_of(in_i, 4096) || !inside_of(in_q, 4096);
  wire logic stepped = begun_q && !rst_q && below_db != below_db_q;
  wire logic [7:0] since_now = stepped ? '0 : since_q;
  wire logic [4:0] quiet_now = stepped ? '0 : quiet_q;
  wire logic [7:0] settle_samples = {2'b00, cfg_settle_looks, 4'd0};
  wire logic counts  = sample_valid && since_now >= settle_samples;

  always_ff @(posedge clk) begin
    begun_q          <= 1'b1;
    rst_q            <= rst;
    below_db_q       <= below_db;
    range_q          <= cfg_range_steps;
    settle_looks_q   <= cfg_settle_looks;
    held_q           <= hold;
    sampled_q        <= sample_valid;
    loud_q           <= !inside_of(in_i, 28672) || !inside_of(in_q, 28672);
    near_q           <= near;
    stood_q          <= since_now;
    look_quiet_q     <= quiet_now + 5'd1;
    since_q          <= rst ? 8'd200 : since_now + 8'(sample_valid && since_now != 8'd200);
    quiet_q          <= rst || hold || (counts && near) ? '0 : quiet_now + 5'(counts && quiet_now != 5'd16);
  end

  always_comb begin
    m_settles : assume (cfg_settle_looks != '0);
    if (!begun_q) m_reset_first : assume (rst);
    if (begun_q && rst_q) begin
      i_reset : assert (below_db == '0 && settle_q == '0 && look_q == '0 && !heard_q && since_q == 8'd200 && quiet_q == '0);
    end
    if (begun_q) begin
      m_range_stands  : assume (cfg_range_steps == range_q);
      m_settle_stands : assume (cfg_settle_looks == settle_looks_q);
    end
    if (begun_q) i_counts : assert (since_q <= 8'd200 && quiet_q <= 5'd16);
    if (begun_q && !rst_q) begin
      a_within_its_range : assert (below_q <= cfg_range_steps && int'(below_db) == 12 * int'(below_q));
      if (since_now < settle_samples) i_settles : assert ({2'b00, settle_q, 4'd0} - 8'(look_q) == settle_samples - since_now && !heard_q);
      else                            i_settled : assert (settle_q == '0);
      i_looks            : assert (heard_q || quiet_now >= 5'(look_q) || settle_q != '0);
    end
    if (stepped) begin
      a_stands_in_a_frame : assert (!held_q && sampled_q);
      a_has_settled       : assert (stood_q >= settle_samples);
      if (below_db > below_db_q) a_down_when_loud : assert (loud_q && !rose);
      else                    a_up_when_quiet  : assert (!near_q && rose && look_quiet_q >= 5'd16 && below_db_q - below_db == 7'd12);
    end
  end

endmodule

bind gain_control gain_rules u_gain_rules (.*);

`default_nettype wire
