// SPDX-License-Identifier: GPL-2.0-or-later
// Completion records in hardware: collects the account of the queue that reports, a word a clock, has the neighbour
// table take it in, and then gives the record: whole, and word by word to the memory that the host reads. The account
// is a ring of words, so that neither way needs a multiplexer.
//
// Timing: `collected` comes 15 clocks after `report`; the record's first word one clock after `updated`, the others
// behind it, one a clock. `busy` until nothing of the queue is needed any more; a report that comes sooner than the
// last word waits, and its queue with it.

`default_nettype none

module record_collector
  import perhop_pkg::*;
(
  input  wire logic               clk,
  input  wire logic               rst,
  input  wire logic [31:0]        tsf_us,
  output wire logic               busy,

  // From the queue that reports.
  input  wire logic               report,         // one clock
  input  wire logic [31:0]        t_enqueue_us,
  input  wire logic [31:0]        t_head_us,
  input  wire logic [31:0]        t_first_tx_us,
  output wire logic [3:0]         part_index,     // see service_time_serial
  input  wire logic [31:0]        part_us,

  // To and from neighbour_table_serial.
  output wire logic               collected,      // one clock
  input  wire logic               updated,        // one clock

  // The account, whole from `collected` until the first of its words has gone.
  output wire logic [31:0]        done_t_enqueue_us,
  output wire logic [31:0]        done_t_head_us,
  output wire logic [31:0]        done_t_first_tx_us,
  output wire logic [31:0]        done_t_done_us,
  output wire logic [31:0]        done_queue_us,
  output wire logic [31:0]        done_ifs_us,
  output wire logic [31:0]        done_backoff_us,
  output wire logic [31:0]        done_frozen_cca_us,
  output wire logic [31:0]        done_frozen_nav_us,
  output wire logic [31:0]        done_control_us,
  output wire logic [31:0]        done_data_us,
  output wire logic [31:0]        done_response_us,
  output wire logic [31:0]        done_timeout_us,
  output wire logic [31:0]        done_responder_us,

  // The record; of its words those of the account come from here.
  input  wire completion_record_s record,
  output wire logic [31:0]        word
);

  localparam int unsigned TIMES = 5;      // t_enqueue, t_head, t_first_tx, t_done, queue
  localparam int unsigned PARTS = 9;
  localparam int unsigned RING  = TIMES + PARTS;
  localparam int unsigned WORDS = COMPLETION_RECORD_WORDS;

  // Where the account is in a record; it must be in one piece, in the order of the ring.
  // No coverage: it is evaluated when the module is elaborated.
  // verilator coverage_off
  function automatic completion_record_s only_account();
    completion_record_s item = '0;
    item.t_enqueue_us = 32'd1;   item.t_head_us = 32'd2;       item.t_first_tx_us = 32'd3;
    item.t_done_us = 32'd4;      item.queue_us = 32'd5;        item.ifs_us = 32'd6;
    item.backoff_us = 32'd7;     item.frozen_cca_us = 32'd8;   item.frozen_nav_us = 32'd9;
    item.control_us = 32'd10;    item.data_us = 32'd11;        item.response_us = 32'd12;
    item.timeout_us = 32'd13;    item.responder_us = 32'd14;
    return item;
  endfunction
  localparam logic [32*WORDS-1:0] ACCOUNT = completion_record_words(only_account());

  function automatic int unsigned first_word();
    for (int unsigned at = 0; at < WORDS; at++) if (ACCOUNT[32*at +: 32] != '0) return at;
    return WORDS;
  endfunction
  // verilator coverage_on
  localparam int unsigned FIRST = first_word();
  for (genvar at = 0; at < RING; at++) begin : g_layout
    if (ACCOUNT[32*(FIRST+at) +: 32] != 32'(at + 1)) begin : g_bad
      $fatal(1, "%m: the account is not in one piece in the completion record");
    end
  end

  typedef enum logic [1:0] {
    ST_IDLE,
    ST_COLLECT,
    ST_UPDATE,   // the neighbour table takes it in
    ST_WORDS     // the record goes word by word
  } state_e;

  state_e      state_q;
  logic [4:0]  index_q;
  logic [3:0]  part_index_q;
  logic        pending_q, collected_q;
  logic [RING-1:0][31:0] ring_q;   // packed: nothing in it is addressed

  wire logic last_collected = index_q == 5'(RING - 1);
  wire logic last_word      = index_q == 5'(WORDS - 1);
  wire logic own_words      = index_q >= 5'(FIRST) && index_q < 5'(FIRST + RING);
  wire logic collecting     = state_q == ST_COLLECT;

  logic [31:0] next;
  always_comb begin
    case (index_q)
      5'd0:    next = t_enqueue_us;
      5'd1:    next = t_head_us;
      5'd2:    next = t_first_tx_us;
      5'd3:    next = tsf_us;
      5'd4:    next = t_head_us - t_enqueue_us;
      default: next = part_us;
    endcase
  end

  always_ff @(posedge clk) begin
    if (collecting || (state_q == ST_WORDS && own_words)) begin
      ring_q <= {collecting ? next : ring_q[0], ring_q[RING-1:1]};
    end
    index_q     <= state_q inside {ST_COLLECT, ST_WORDS} && !(collecting && last_collected) ? index_q + 1'b1 : '0;
    part_index_q <= 4'(index_q - 5'(TIMES - 1));   // of the next clock
    collected_q <= !rst && collecting && last_collected;
    if (rst) begin
      state_q   <= ST_IDLE;
      pending_q <= 1'b0;
    end else begin
      if (report) pending_q <= 1'b1;
      case (state_q)
        ST_IDLE: if (report || pending_q) begin
          state_q   <= ST_COLLECT;
          pending_q <= 1'b0;
        end
        ST_COLLECT: if (last_collected) state_q <= ST_UPDATE;
        ST_UPDATE:  if (updated) state_q <= ST_WORDS;
        default:    if (last_word) state_q <= ST_IDLE;   // ST_WORDS
      endcase
    end
  end

  // The other words, without the account between them.
  localparam int unsigned OTHERS = WORDS - RING;
  if (OTHERS > 8) begin : g_too_many
    $fatal(1, "%m: more words beside the account than are counted for");
  end
  wire logic [32*WORDS-1:0] words  = completion_record_words(record);
  wire logic [255:0]        others = 256'({words[32*WORDS-1 : 32*(FIRST+RING)], words[32*FIRST-1 : 0]});
  wire logic [2:0]          other  = 3'(index_q < 5'(FIRST) ? index_q : index_q - 5'(RING));
  wire logic [31:0]         fixed  = others[{other, 5'b0} +: 32];
  wire logic                unused = &{1'b0, words};   // those of the account come from the ring

  // What else the record has is needed until its words have gone, and its queue gives it: the first ones, before the account.
  assign busy       = pending_q || state_q inside {ST_COLLECT, ST_UPDATE} || (state_q == ST_WORDS && index_q < 5'(FIRST));
  assign collected  = collected_q;
  assign part_index = part_index_q;
  assign word       = own_words ? ring_q[0] : fixed;

  assign done_t_enqueue_us  = ring_q[0];
  assign done_t_head_us     = ring_q[1];
  assign done_t_first_tx_us = ring_q[2];
  assign done_t_done_us     = ring_q[3];
  assign done_queue_us      = ring_q[4];
  assign done_ifs_us        = ring_q[5];
  assign done_backoff_us    = ring_q[6];
  assign done_frozen_cca_us = ring_q[7];
  assign done_frozen_nav_us = ring_q[8];
  assign done_control_us    = ring_q[9];
  assign done_data_us       = ring_q[10];
  assign done_response_us   = ring_q[11];
  assign done_timeout_us    = ring_q[12];
  assign done_responder_us  = ring_q[13];

endmodule

`default_nettype wire
