// SPDX-License-Identifier: GPL-2.0-or-later
// The event log keeps entries in order, whole, or loses the newest and counts it; one can be read two clocks after it
// was made. Any one entry is followed: the solver picks it. Bound into event_log.

`default_nettype none

module log_rules
  import perhop_pkg::*;
#(
  parameter int unsigned ENTRIES = 4,
  localparam int unsigned INDEX_W = $clog2(ENTRIES)
) (
  input wire logic               clk,
  input wire logic               rst,
  input wire logic [31:0]        tsf_us,
  input wire logic [INDEX_W:0]   entries,
  input wire logic [15:0]        overruns,
  input wire logic [31:0]        entry_tsf_us,
  input wire logic [EVENT_KINDS-1:0] entry_kinds,
  input wire logic               pop
);

  localparam int unsigned COUNT_W = 8;
  localparam int unsigned ENTRY_W = 32 + 10 + 1 + 2 + 3 + 3 + EVENT_KINDS;

  wire logic [EVENT_KINDS-1:0] kinds = event_log.kinds;   // what is to be logged now

  logic [COUNT_W-1:0] followed;                            // counted from 0; begins with any value and keeps it
  always_ff @(posedge clk) followed <= followed;

  logic [COUNT_W-1:0] in_q = '0, out_q = '0;
  logic [ENTRY_W-1:0] entry_q;
  logic [15:0]        lost_q = '0;
  logic               begun_q = 1'b0, known_q = 1'b0, stood_q = 1'b0;

  wire logic [COUNT_W-1:0] held = in_q - out_q;
  wire logic comes  = kinds != '0 && held < COUNT_W'(ENTRIES);
  wire logic leaves = pop && held != '0;

  always_ff @(posedge clk) begin
    begun_q <= 1'b1;
    if (rst) begin
      in_q    <= '0;
      out_q   <= '0;
      lost_q  <= '0;
      known_q <= 1'b0;
      stood_q <= 1'b0;
    end else begin
      if (comes) in_q <= in_q + 1'b1;
      if (leaves) out_q <= out_q + 1'b1;
      if (kinds != '0 && !comes && lost_q != '1) lost_q <= lost_q + 1'b1;
      if (comes && in_q == followed) begin
        known_q <= 1'b1;
        entry_q <= event_log.entry;
      end
      stood_q <= known_q && out_q == followed && !leaves;   // it was the oldest for a clock
    end
  end

  wire logic [INDEX_W-1:0] place = INDEX_W'(followed);

  always_comb begin
    if (!begun_q) assume (rst);
    assume (in_q != '1);   // counts do not come round again
  end

  always_comb if (begun_q && !rst) begin
    a_counts_entries : assert (COUNT_W'(entries) == held && held <= COUNT_W'(ENTRIES));
    a_counts_losses  : assert (overruns == lost_q);
    if (stood_q) a_in_order : assert (out_q == followed && event_log.oldest == entry_q);
    if (stood_q) a_time     : assert (entry_tsf_us == event_log.oldest.tsf_us && entry_kinds == event_log.oldest.kinds);
    // For the induction: where the followed one lies.
    i_pointers : assert (event_log.write_q == (INDEX_W + 1)'(in_q) && event_log.read_q == (INDEX_W + 1)'(out_q));
    i_known    : assert (known_q == (in_q > followed) && in_q >= out_q);
    if (known_q && out_q <= followed) i_lies_there : assert (event_log.u_entries.memory_q[place] == entry_q);
  end

  // What an entry says is of the clock in which it was made.
  always_comb if (begun_q) a_stamped : assert (event_log.entry.tsf_us == tsf_us && event_log.entry.kinds == kinds);

endmodule

bind event_log log_rules #(.ENTRIES(ENTRIES)) u_log_rules (.*);

`default_nettype wire
