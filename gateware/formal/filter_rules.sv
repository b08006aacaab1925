// SPDX-License-Identifier: GPL-2.0-or-later
// The host gets frames to its own address, to all, and to the groups it has joined; nobody else's, but
// in monitor mode everything. The verdict stands until the next frame.
//
// Bound into address_filter.

`default_nettype none

module filter_rules
  import perhop_pkg::*;
(
  input wire logic              clk,
  input wire logic              rst,
  input wire logic [47:0]       cfg_address,
  input wire logic [47:0]       cfg_group_address [GROUP_SLOTS],
  input wire logic [GROUP_SLOTS-1:0] cfg_group_joined,
  input wire logic              cfg_all_groups,
  input wire logic              cfg_monitor,
  input wire logic              check,
  input wire logic [47:0]       ra,
  input wire logic              own,
  input wire logic              group,
  input wire logic              wanted
);

  logic begun_q = 1'b0, checked_q = 1'b0, joined_q, monitor_q, is_own_q, is_group_q, is_all_q, all_groups_q, rst_q;
  logic was_own_q, was_group_q, was_wanted_q;

  logic joined;
  always_comb begin
    joined = 1'b0;
    for (int entry = 0; entry < int'(GROUP_SLOTS); entry++) begin
      if (cfg_group_joined[entry] && cfg_group_address[entry] == ra) joined = 1'b1;
    end
  end

  always_ff @(posedge clk) begin
    begun_q      <= 1'b1;
    rst_q        <= rst;
    checked_q    <= check;
    joined_q     <= joined;
    monitor_q    <= cfg_monitor;
    all_groups_q <= cfg_all_groups;
    is_own_q     <= ra == cfg_address;
    is_group_q   <= ra[40];   // the first bit on the air
    is_all_q     <= ra == '1;
    was_own_q    <= own;
    was_group_q  <= group;
    was_wanted_q <= wanted;
  end

  always_comb if (!begun_q) assume (rst);

  always_comb if (begun_q && !rst) begin
    if (rst_q) a_nothing_after_reset : assert (!own && !group && !wanted);
    else if (!checked_q) a_stands : assert (own == was_own_q && group == was_group_q && wanted == was_wanted_q);
    else begin
      a_own    : assert (own == (is_own_q && !is_group_q));
      a_group  : assert (group == (is_group_q && (is_all_q || joined_q || all_groups_q)));
      a_wanted : assert (wanted == (own || group || monitor_q));
    end
  end

endmodule

bind address_filter filter_rules u_filter_rules (.*);

`default_nettype wire
