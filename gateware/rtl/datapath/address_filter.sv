// SPDX-License-Identifier: GPL-2.0-or-later
// Which received frames the host wants: its own, broadcasts, the groups it has joined,
// or, in monitor mode, everything. The MAC ACK is not the filter's business: a frame to this
// station is answered, and a frame to a group never, whatever the host wants.
//
// Timing: the verdict comes one clock after `check` and stands until the next.

`default_nettype none

module address_filter
  import perhop_pkg::*;
(
  input  wire logic              clk,
  input  wire logic              rst,
  input  wire mac_settings_s settings,

  input  wire logic              check,                 // one clock, with
  input  wire logic [47:0]       ra,

  output wire logic              own,
  output wire logic              group,                 // one of ours, or all stations
  output wire logic              wanted
);

  wire logic [47:0] cfg_address = settings.address;
  logic [47:0] cfg_group_address [GROUP_SLOTS];
  for (genvar entry = 0; entry < GROUP_SLOTS; entry++) begin : g_group_address
    assign cfg_group_address[entry] = settings.group_address[entry];
  end
  wire logic [GROUP_SLOTS-1:0] cfg_group_joined = settings.group_joined;   // entry in use
  wire logic cfg_all_groups = settings.all_groups;
  wire logic cfg_monitor = settings.monitor;

  logic [GROUP_SLOTS-1:0] joined;
  for (genvar entry = 0; entry < GROUP_SLOTS; entry++) begin : g_entry
    assign joined[entry] = cfg_group_joined[entry] && ra == cfg_group_address[entry];
  end

  wire logic is_group = ra[GROUP_ADDRESS_BIT];

  logic own_q, group_q, wanted_q;

  wire logic own_now   = ra == cfg_address && !is_group;
  wire logic group_now = is_group && (ra == BROADCAST_ADDRESS || cfg_all_groups || joined != '0);

  always_ff @(posedge clk) begin
    if (rst) begin
      own_q    <= 1'b0;
      group_q  <= 1'b0;
      wanted_q <= 1'b0;
    end else if (check) begin
      own_q    <= own_now;
      group_q  <= group_now;
      wanted_q <= own_now || group_now || cfg_monitor;
    end
  end

  assign own    = own_q;
  assign group  = group_q;
  assign wanted = wanted_q;

endmodule

`default_nettype wire
