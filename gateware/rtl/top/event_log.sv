// SPDX-License-Identifier: GPL-2.0-or-later
// Log of what the MAC did and heard: a ring in block RAM with an entry for every clock in which something
// happened, all of that clock's events together, stamped with the TSF. Bit k of `events` is the event_kind k of
// gateware/spec; `cfg_kinds` chooses which are logged. When the ring is full, new entries are lost and counted.
//
// Timing: an event of `tx_start` and the like is logged in the clock of its strobe; one that is the change of a
// level in the first clock of the new level. An entry can be read two clocks later.

`default_nettype none

module event_log
  import perhop_pkg::*;
#(
  parameter int unsigned QUEUES  = 2,
  parameter int unsigned ENTRIES = EVENT_LOG_ENTRIES,   // a power of two
  localparam int unsigned INDEX_W = $clog2(ENTRIES)
) (
  input  wire logic        clk,
  input  wire logic        rst,

  input  wire logic [EVENT_KINDS-1:0] cfg_kinds,

  // From the MAC and the PHY.
  input  wire logic [31:0] tsf_us,
  input  wire logic        cca_busy,
  input  wire logic [15:0] nav_left_us,
  input  wire mac_events_s evt,

  // To the registers. The oldest entry stands until `pop`.
  output wire logic [INDEX_W:0] entries,
  output wire logic [15:0] overruns,
  output wire logic [31:0] entry_tsf_us,
  output wire logic [9:0]  entry_slots,
  output wire logic [EVENT_KINDS-1:0] entry_kinds,
  output wire logic [2:0]  entry_tx_kind,
  output wire logic [2:0]  entry_rx_kind,
  output wire logic [1:0]  entry_result,
  output wire logic        entry_queue,
  input  wire logic        pop
);

  if (ENTRIES != 1 << INDEX_W) begin : g_bad_entries
    $fatal(1, "%m: ENTRIES must be a power of two");
  end
  if (QUEUES < 1 || QUEUES > 2) begin : g_bad_queues
    $fatal(1, "%m: QUEUES must be 1 or 2");
  end

  typedef struct packed {
    logic [31:0]            tsf_us;
    logic [9:0]             slots;
    logic                   of_queue;
    logic [1:0]             result;
    logic [2:0]             rx_kind;
    logic [2:0]             tx_kind;
    logic [EVENT_KINDS-1:0] kinds;
  } entry_s;

  // What was a clock ago.
  logic        cca_busy_q, blocked_q;
  logic [15:0] nav_left_us_q;
  logic [1:0]  running_q;

  wire logic [1:0] running = evt.backoff_running;
  wire logic [9:0] slots_1 = evt.backoff_slots[QUEUES-1];

  wire logic blocked = cca_busy || nav_left_us != '0;      // the medium is busy, or reserved

  logic [EVENT_KINDS-1:0] kinds;
  entry_s                 entry, oldest;

  always_comb begin
    kinds = '0;
    kinds[EVENT_TX_START]        = evt.tx_start;
    kinds[EVENT_RX_START]        = evt.rx_start;
    kinds[EVENT_RX_GOOD]         = evt.rx_end && evt.rx_ok;
    kinds[EVENT_RX_BAD]          = evt.rx_end && !evt.rx_ok;
    kinds[EVENT_CCA_BUSY]        = cca_busy && !cca_busy_q;
    kinds[EVENT_CCA_IDLE]        = !cca_busy && cca_busy_q;
    kinds[EVENT_BACKOFF_START_0] = running[0] && !running_q[0];
    kinds[EVENT_BACKOFF_START_1] = running[1] && !running_q[1];
    kinds[EVENT_BACKOFF_END_0]   = !running[0] && running_q[0];
    kinds[EVENT_BACKOFF_END_1]   = !running[1] && running_q[1];
    kinds[EVENT_BACKOFF_FREEZE]  = blocked && !blocked_q && (running & running_q) != '0;
    kinds[EVENT_BACKOFF_RESUME]  = !blocked && blocked_q && (running & running_q) != '0;
    kinds[EVENT_NAV_SET]         = nav_left_us > nav_left_us_q;
    kinds[EVENT_NAV_END]         = nav_left_us == '0 && nav_left_us_q != '0;
    kinds[EVENT_RESPONSE]        = evt.response;
    kinds[EVENT_TIMEOUT]         = evt.timeout;
    kinds[EVENT_PACKET_TAKEN_0]  = evt.packet_taken[0];
    kinds[EVENT_PACKET_TAKEN_1]  = evt.packet_taken[1];
    kinds[EVENT_PACKET_DONE]     = evt.done;
    kinds &= cfg_kinds;
  end

  assign entry = '{
    tsf_us: tsf_us,
    slots: kinds[EVENT_BACKOFF_START_1] || !running[0] ? slots_1 : evt.backoff_slots[0],
    of_queue: evt.queue_number, result: evt.done_result, rx_kind: evt.rx_kind, tx_kind: evt.tx_kind, kinds: kinds
  };

  // One bit more than an index: full and empty differ.
  logic [INDEX_W:0] write_q, read_q;
  logic [15:0]      overruns_q;

  wire logic [INDEX_W:0] used = write_q - read_q;
  wire logic             full = used[INDEX_W];
  wire logic             push = kinds != '0;

  always_ff @(posedge clk) begin
    if (rst) begin
      write_q    <= '0;
      read_q     <= '0;
      overruns_q <= '0;
    end else begin
      if (push && !full) write_q <= write_q + 1'b1;
      if (push && full && overruns_q != '1) overruns_q <= overruns_q + 1'b1;
      if (pop && used != '0) read_q <= read_q + 1'b1;
    end
    cca_busy_q    <= !rst && cca_busy;
    blocked_q     <= !rst && blocked;
    running_q     <= rst ? '0 : running;
    nav_left_us_q <= rst ? '0 : nav_left_us;
  end

  block_ram #(.WIDTH($bits(entry_s)), .DEPTH(ENTRIES)) u_entries (
    .clk, .write(push && !full), .write_address(write_q[INDEX_W-1:0]), .write_data(entry),
    .read_address(read_q[INDEX_W-1:0]), .read_data(oldest)
  );

  assign entries       = used;
  assign overruns      = overruns_q;
  assign entry_tsf_us  = oldest.tsf_us;
  assign entry_slots   = oldest.slots;
  assign entry_kinds   = oldest.kinds;
  assign entry_tx_kind = oldest.tx_kind;
  assign entry_rx_kind = oldest.rx_kind;
  assign entry_result  = oldest.result;
  assign entry_queue   = oldest.of_queue;

endmodule

`default_nettype wire
