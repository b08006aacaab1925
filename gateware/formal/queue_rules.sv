// SPDX-License-Identifier: GPL-2.0-or-later
// Descriptors come to the head in the order in which they were taken in, each once, with what they
// were given and the time at which they came. Any one of them is followed: the solver picks it.
//
// Bound into descriptor_queue.

`default_nettype none

module queue_rules #(
  parameter int unsigned DEPTH = 4
) (
  input wire logic        clk,
  input wire logic        rst,
  input wire logic [23:0] tick_n,
  input wire logic [63:0] tsf_us,
  input wire logic        desc_valid,
  input wire logic        desc_ready,
  input wire logic [47:0] desc_ra,
  input wire logic [15:0] desc_airtime_us,
  input wire logic [15:0] desc_tag,
  input wire logic        head_valid,
  input wire logic [47:0] head_ra,
  input wire logic [15:0] head_airtime_us,
  input wire logic [15:0] head_tag,
  input wire logic [31:0] head_t_enqueue_us,
  input wire logic        head_taken
);

  localparam int unsigned COUNT_W = 16;

  // Which one is followed, counted from 0; it begins with any value and keeps it.
  logic [COUNT_W-1:0] followed;
  always_ff @(posedge clk) followed <= followed;

  logic [COUNT_W-1:0] in_q = '0, out_q = '0;
  logic               known_q = 1'b0, begun_q = 1'b0;
  logic [79:0]        fields_q;
  logic [31:0]        came_us_q;

  wire logic taken_in = desc_valid && desc_ready;

  always_ff @(posedge clk) begin
    begun_q <= 1'b1;
    if (rst) begin
      in_q    <= '0;
      out_q   <= '0;
      known_q <= 1'b0;
    end else begin
      if (taken_in) in_q <= in_q + 1'b1;
      if (head_taken) out_q <= out_q + 1'b1;
      if (taken_in && in_q == followed && !known_q) begin
        known_q   <= 1'b1;
        fields_q  <= {desc_ra, desc_airtime_us, desc_tag};
        came_us_q <= tsf_us[31:0] + 32'(tick_n);
      end
    end
  end

  wire logic [COUNT_W-1:0] held = in_q - out_q;
  wire logic [$clog2(DEPTH)-1:0] place = $clog2(DEPTH)'(descriptor_queue.read_q) + $clog2(DEPTH)'(followed - out_q);

  wire logic [$clog2(DEPTH):0] waiting = descriptor_queue.write_q - descriptor_queue.read_q;

  always_comb begin
    if (!begun_q) assume (rst);
    if (head_taken) assume (head_valid);
    // Counts do not come round again.
    assume (in_q != '1);
  end

  always_comb if (!rst && begun_q) begin
    a_holds_no_more   : assert (held <= COUNT_W'(DEPTH));
    a_ready_with_room : assert (desc_ready == (held < COUNT_W'(DEPTH)));
    a_head_if_any     : assert (head_valid == (held != '0));
    if (head_valid && out_q == followed) begin
      a_in_order : assert (known_q && {head_ra, head_airtime_us, head_tag} == fields_q);
      a_time     : assert (head_t_enqueue_us == came_us_q);
    end
    // For the induction: where the one that is followed lies.
    i_count : assert (held == COUNT_W'(waiting) && in_q >= out_q);
    i_known : assert (known_q == (in_q > followed));
    if (known_q && out_q <= followed) begin
      i_lies_there : assert ({descriptor_queue.ra_q[place], descriptor_queue.airtime_us_q[place],
                              descriptor_queue.tag_q[place]} == fields_q &&
                             descriptor_queue.t_enqueue_us_q[place] == came_us_q);
    end
  end

endmodule

bind descriptor_queue queue_rules #(.DEPTH(DEPTH)) u_queue_rules (.*);

`default_nettype wire
