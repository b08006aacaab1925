// SPDX-License-Identifier: GPL-2.0-or-later
// The collector gives the account that the queue told, part by part, to the neighbour table, and then the record's
// words, each the word of the layout (record_collector checks itself that the account is in one piece there). Any one
// part of the account is followed: the solver picks it. Bound into record_collector.

`default_nettype none

module collector_rules
  import perhop_pkg::*;
(
  input wire logic               clk,
  input wire logic               rst,
  input wire logic [31:0]        tsf_us,
  input wire logic               busy,
  input wire logic               report,
  input wire logic [31:0]        t_enqueue_us,
  input wire logic [31:0]        t_head_us,
  input wire logic [31:0]        t_first_tx_us,
  input wire logic [3:0]         part_index,
  input wire logic [31:0]        part_us,
  input wire logic               collected,
  input wire logic               updated,
  input wire logic [31:0]        done_t_enqueue_us,
  input wire logic [31:0]        done_t_head_us,
  input wire logic [31:0]        done_t_first_tx_us,
  input wire logic [31:0]        done_t_done_us,
  input wire logic [31:0]        done_queue_us,
  input wire logic [31:0]        done_ifs_us,
  input wire logic [31:0]        done_backoff_us,
  input wire logic [31:0]        done_frozen_cca_us,
  input wire logic [31:0]        done_frozen_nav_us,
  input wire logic [31:0]        done_control_us,
  input wire logic [31:0]        done_data_us,
  input wire logic [31:0]        done_response_us,
  input wire logic [31:0]        done_timeout_us,
  input wire logic [31:0]        done_responder_us,
  input wire completion_record_s record,
  input wire logic [31:0]        word
);

  localparam int unsigned TIMES = 5, ACCOUNT = 14, WORDS = COMPLETION_RECORD_WORDS;
  localparam int unsigned FIRST = 3;   // word of the record in which the account begins

  logic [3:0] followed;                // begins with any value and keeps it
  always_ff @(posedge clk) followed <= followed;

  typedef enum logic [1:0] {AT_REST, COLLECTS, TABLE, TELLS} at_e;

  at_e                      at_q;
  logic [4:0]               place_q;      // of the account, or of the record
  logic                     waits_q;      // a report that came too soon
  logic                     begun_q = 1'b0, collected_q;
  logic [31:0]              part_q;       // what was told of the one that is followed

  logic [31:0] told;
  always_comb begin
    case (place_q)
      5'd0:    told = t_enqueue_us;
      5'd1:    told = t_head_us;
      5'd2:    told = t_first_tx_us;
      5'd3:    told = tsf_us;
      5'd4:    told = t_head_us - t_enqueue_us;
      default: told = part_us;
    endcase
  end

  always_ff @(posedge clk) begin
    begun_q     <= 1'b1;
    collected_q <= !rst && at_q == COLLECTS && place_q == 5'(ACCOUNT - 1);
    if (rst) begin
      at_q    <= AT_REST;
      place_q <= '0;
      waits_q <= 1'b0;
    end else begin
      waits_q <= at_q != AT_REST && (waits_q || report);
      case (at_q)
        AT_REST:  if (report || waits_q) at_q <= COLLECTS;
        COLLECTS: begin
          if (place_q == 5'(followed)) part_q <= told;
          place_q <= place_q == 5'(ACCOUNT - 1) ? '0 : place_q + 1'b1;
          if (place_q == 5'(ACCOUNT - 1)) at_q <= TABLE;
        end
        TABLE:    if (updated) at_q <= TELLS;
        default: begin
          place_q <= place_q == 5'(WORDS - 1) ? '0 : place_q + 1'b1;
          if (place_q == 5'(WORDS - 1)) at_q <= AT_REST;
        end
      endcase
    end
  end

  wire logic [32*WORDS-1:0] words = completion_record_words(record);

  wire logic [ACCOUNT-1:0][31:0] given = {
    done_responder_us, done_timeout_us, done_response_us, done_data_us, done_control_us, done_frozen_nav_us,
    done_frozen_cca_us, done_backoff_us, done_ifs_us, done_queue_us, done_t_done_us, done_t_first_tx_us,
    done_t_head_us, done_t_enqueue_us};

  // For the induction: how far the ring has been turned.
  logic [4:0] turned;
  always_comb begin
    turned = '0;
    if (at_q == COLLECTS) turned = place_q;
    if (at_q == TELLS) turned = place_q < 5'(FIRST) ? '0 : place_q > 5'(FIRST + ACCOUNT) ? 5'(ACCOUNT) : place_q - 5'(FIRST);
  end

  wire logic       has_it = at_q inside {TABLE, TELLS} || (at_q == COLLECTS && 5'(followed) < place_q);
  wire logic [4:0] lies   = 5'(followed) >= turned ? 5'(followed) - turned : 5'(followed) + 5'(ACCOUNT) - turned;

  always_comb begin
    if (!begun_q) assume (rst);
    assume (int'(followed) < int'(ACCOUNT));
  end

  always_comb if (begun_q && !rst) begin
    a_collected_once : assert (collected == collected_q);
    if (at_q == COLLECTS && place_q >= 5'(TIMES)) a_asks_in_order : assert (part_index == 4'(place_q - 5'(TIMES)));
    if (at_q == TABLE) a_account_stands : assert (given[followed] == part_q);
    if (at_q == TELLS) begin
      if (place_q == 5'(FIRST) + 5'(followed)) a_its_word : assert (word == part_q);
      if (place_q < 5'(FIRST) || place_q >= 5'(FIRST + ACCOUNT)) a_other_words : assert (word == words[32*place_q +: 32]);
    end
    // The queue waits with its next packet while it is asked, and while words come from it.
    if (at_q == COLLECTS || at_q == TABLE || waits_q) a_busy : assert (busy);
    if (at_q == AT_REST && !waits_q) a_idle : assert (!busy);

    i_at      : assert (at_q == record_collector.state_q && waits_q == record_collector.pending_q);
    i_place   : assert ((at_q == AT_REST || place_q == record_collector.index_q) && place_q < 5'(WORDS));
    i_at_rest : assert (!(at_q inside {AT_REST, TABLE}) || place_q == '0);
    i_collect : assert (at_q != COLLECTS || place_q < 5'(ACCOUNT));
    if (has_it) i_lies_there : assert (record_collector.ring_q[4'(lies)] == part_q);
  end

endmodule

bind record_collector collector_rules u_collector_rules (.*);

`default_nettype wire
