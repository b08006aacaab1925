// SPDX-License-Identifier: GPL-2.0-or-later
// When the packet under service may go on the air (IEEE 802.11-2012, 9.3.4.2 and 9.3.4.3).
//
// A packet that finds the medium idle past the inter-frame space, and no back-off running, goes at once. One that finds
// it busy draws a back-off first. A new back-off is drawn after every outcome, good or bad (frame_sequence asks for it).
//
// Access modes without inter-frame space and slots (M. Gerla et al., "TCP over wireless multi-hop protocols: simulation
// and experiments", 1999, section 2): a packet that finds the medium idle goes at once (csma), or its RTS does (fama).
// One that finds it busy is deferred: frame_sequence looks again after the time drawn, whatever the medium does meanwhile.
//
// Two queues: while another is in an exchange (`held`) the medium is busy to this one.
//
// Timing: combinational.

`default_nettype none

module channel_access
  import perhop_pkg::*;
#(
  parameter int unsigned QUEUES     = 1,
  parameter bit          UNIT_TICKS = 1'b0   // a clock carries one tick or none (hardware); wait_us then means nothing
) (
  input  wire mac_settings_s settings,

  // From and to frame_sequence.
  input  wire logic        contending,      // a packet waits for the medium
  input  wire logic        draw_pending,    // an outcome calls for a back-off
  output wire logic        access_taken,    // the packet goes
  output wire logic        defer,           // it waits for the time that is drawn now
  output wire logic        waits,           // for what no event ends, in
  output wire logic [31:0] wait_us,         // at the soonest

  // From the PHY, interframe_space, virtual_carrier_sense and backoff_counter.
  input  wire logic        cca_busy,
  input  wire logic [15:0] idle_us,
  input  wire logic [15:0] ifs_us,
  input  wire logic [15:0] ifs_left_us,
  input  wire logic [15:0] reserved_us,
  input  wire logic        backoff_running,
  input  wire logic [9:0]  slots_left,
  input  wire logic [23:0] slots_left_us,

  // To and from queue_arbiter.
  output wire logic        wants,           // the packet may go now
  input  wire logic        granted,         // ... and goes, if it still may; with two queues in the clock after `wants`, and in no other
  input  wire logic        held,            // another queue is in an exchange

  // To and from random_draw.
  output wire logic        draw_wanted,     // draw a back-off now
  input  wire logic        draw_again       // the number drawn will not do: once more
);

  wire logic [1:0] cfg_access_mode = settings.access_mode;
  wire logic dcf = cfg_access_mode == ACCESS_DCF;

  // Contention. While nothing is reserved, ifs_left_us is 0 just when the medium has been idle for long enough.
  wire logic ifs_over    = UNIT_TICKS ? ifs_left_us == '0 : idle_us >= ifs_us;
  wire logic medium_busy = cca_busy || reserved_us != '0 || held;
  wire logic may_go      = dcf ? slots_left == '0 && reserved_us == '0 && ifs_over : !medium_busy;
  assign wants           = contending && !draw_pending && may_go && !held;
  // With two queues the arbiter grants a clock later what was wanted: only what may have changed by then counts.
  wire logic still_may   = contending && !draw_pending && reserved_us == '0 && !held && (dcf || !cca_busy);
  assign access_taken    = granted && (QUEUES > 1 ? still_may : wants);
  wire logic found_busy  = contending && !backoff_running && medium_busy && !wants;

  assign draw_wanted = dcf ? draw_pending || found_busy : contending && (draw_pending || found_busy);
  assign defer       = !dcf && contending && draw_wanted && !draw_again;

  // The carrier must end first: its edge wakes us. A back-off due to be drawn is work, not a wait.
  assign waits   = contending && !cca_busy && !held;
  assign wait_us = UNIT_TICKS ? '0 : 32'(reserved_us) + 32'(ifs_left_us) + 32'(slots_left_us);

endmodule

`default_nettype wire
