// SPDX-License-Identifier: GPL-2.0-or-later
// IFS (inter-frame space): how long the medium has been idle, and how long it must
// have been before this station may count slots: DIFS, or EIFS after a frame that
// was not understood. A good frame, or an own one, puts DIFS back
// (IEEE 802.11-2012, 9.3.2.3.7).
//
// With two queues, each has its own, with slots added to it: AIFS (arbitration inter-frame space, 9.19.2.3).
//
// The access modes csma and fama have no inter-frame space.
//
// Idle means: no carrier, NAV over, no own transmission.
//
// Timing: the idle time is that at the last tick; a carrier that appears in this
// tick resets it with the next one, so a slot that ends in the very tick in which
// another station starts ends in a transmission (and a collision), as on the air,
// where CCA cannot know yet. With two queues the settings stand two clocks before the first tick.

`default_nettype none

module interframe_space
  import tick_shares_pkg::*;
  import perhop_pkg::*;
#(
  parameter bit          UNIT_TICKS = 1'b0,   // a clock carries one tick or none (hardware)
  parameter int unsigned QUEUES     = 1,
  parameter int unsigned QUEUE      = 0
) (
  input  wire logic        clk,
  input  wire logic        rst,
  input  wire logic [23:0] tick_n,
  input  wire mac_settings_s settings,

  input  wire logic        cca_busy,
  input  wire logic        rx_end,
  input  wire logic        rx_bad,
  input  wire logic        tx_go,            // an own frame starts
  input  wire logic        waive,            // one clock: the idle medium needs no inter-frame space now

  // From virtual_carrier_sense.
  input  wire logic [15:0] reserved_us,

  // 0 in hardware.
  input  wire medium_summary_s summary,

  output wire logic [15:0] idle_us,
  output wire logic [15:0] ifs_us,
  output wire logic        spaced,           // with UNIT_TICKS: ifs_us is not 0
  output wire logic        waits,            // with UNIT_TICKS: ifs_us is more than idle_us,
  output wire logic        waits_on          // by more than 1
);

  wire logic [1:0] cfg_access_mode = settings.access_mode;
  wire logic [12:0] cfg_slot_us = settings.slot_us;
  wire logic [14:0] cfg_difs_us = settings.difs_us;
  wire logic [15:0] cfg_eifs_us = settings.eifs_us;
  wire logic [3:0] cfg_aifs_extra_slots = settings.aifs_extra_slots[QUEUE];   // unused with one queue
  wire logic cfg_quirk_eifs_as_nav = settings.quirk_eifs_as_nav;   // ns-2: EIFS is in the NAV instead
  wire logic [23:0] summary_us = summary.us;
  wire logic [15:0] summary_idle_us = summary.idle_us;
  wire logic summary_heard = summary.heard;
  wire logic summary_bad = summary.bad;

  logic [15:0] idle_us_q;
  logic        extended_q;   // the last busy period was a frame not understood

  // Where idle time starts to count in this jump.
  wire logic [15:0] idle_base_us = reserved_us != '0 ? '0 : idle_us_q;

  function automatic logic [15:0] saturated(logic [24:0] us);
    return us[24:16] != '0 ? 16'hffff : us[15:0];
  endfunction

  logic [15:0] difs_us, eifs_us;   // of this queue
  if (QUEUES > 1) begin : g_aifs
    // Of settings alone: from registers, so that no product lies in the way of a start.
    wire logic [24:0] extra_product_us = 25'(cfg_aifs_extra_slots) * 25'(cfg_slot_us);
    logic [24:0] extra_us_q;
    logic [15:0] difs_us_q, eifs_us_q;
    always_ff @(posedge clk) begin
      extra_us_q <= extra_product_us;
      difs_us_q  <= saturated(25'(cfg_difs_us) + extra_us_q);
      eifs_us_q  <= saturated(25'(cfg_eifs_us) + extra_us_q);
    end
    assign difs_us = difs_us_q;
    assign eifs_us = eifs_us_q;
  end else begin : g_difs
    assign difs_us = 16'(cfg_difs_us);
    assign eifs_us = cfg_eifs_us;
    wire logic unused = &{1'b0, cfg_slot_us, cfg_aifs_extra_slots};
  end

  function automatic logic [15:0] space(logic extended);
    return cfg_access_mode != ACCESS_DCF ? '0 : extended ? eifs_us : difs_us;
  endfunction

  always_ff @(posedge clk) begin
    // If no carrier was there.
    automatic logic [15:0] idle_on_us = saturated(25'(idle_base_us) + 25'(free_share(tick_n, reserved_us, UNIT_TICKS)));
    if (rst) begin
      idle_us_q  <= '0;
      extended_q <= 1'b0;
    end else begin
      if (tick_n != '0) begin
        if (!UNIT_TICKS && summary_us != '0) idle_us_q <= idle_on_us < summary_idle_us ? idle_on_us : summary_idle_us;
        else idle_us_q <= cca_busy ? '0 : idle_on_us;
        if (!UNIT_TICKS && summary_heard) extended_q <= summary_bad;
      end
      if (waive) idle_us_q <= '1;
      if (tx_go) extended_q <= 1'b0;
      else if (rx_end) extended_q <= rx_bad && !cfg_quirk_eifs_as_nav;
    end
  end

  assign idle_us = idle_us_q;
  assign ifs_us  = space(extended_q);
  wire logic unused_summary = &{1'b0, summary};

  if (UNIT_TICKS) begin : g_unit
    // Compared as the registers change, so that a start does not wait for it. In the clock after tx_go it may be the
    // comparison before: the own frame holds the medium then, and nobody looks.
    logic waits_q, waits_on_q;

    always_ff @(posedge clk) begin
      automatic logic [15:0] next_us = tick_n == '0 ? idle_us_q :
                                       cca_busy || reserved_us != '0 ? '0 : saturated(25'(idle_us_q) + 25'd1);
      automatic logic [16:0] beyond_us =
          17'(next_us) - 17'(space(rx_end ? rx_bad && !cfg_quirk_eifs_as_nav : extended_q));
      waits_q    <= rst || (!waive && beyond_us[16]);
      waits_on_q <= rst || (!waive && beyond_us[16] && beyond_us[15:0] != '1);
    end
    assign spaced   = cfg_access_mode == ACCESS_DCF;
    assign waits    = waits_q;
    assign waits_on = waits_on_q;
  end else begin : g_any
    assign spaced   = 1'b0;
    assign waits    = 1'b0;
    assign waits_on = 1'b0;
  end

endmodule

`default_nettype wire
