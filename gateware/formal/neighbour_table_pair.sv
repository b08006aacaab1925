// SPDX-License-Identifier: GPL-2.0-or-later
// The two neighbour tables keep the same entries: neighbour_table, which the simulator runs, and neighbour_table_serial,
// which takes many clocks for what the other does in one. Both get the same updates and the same questions. For every
// sequence of them, 16 neighbours and every average_shift
//
//   - when the serial one says `updated`, and until the next update, its averages of that neighbour are the other's,
//   - when its nbr_busy falls, the snapshot is what the other would have copied a clock before, and it stands,
//   - an update and a snapshot end in the clocks that its head promises.
//
// It holds for ever, by induction. One neighbour and one bin of its histogram are followed, any: the solver picks them, so
// that the claims are made of all of them. Of the memory only the eight words of what is followed are known. While an
// update is under way, `old_q` is what was before it; each word is old until its turn and new behind it, and the register
// of the one adder is, in each state, the low bits of what the other table computes at once.
//
// Taken for granted: neighbour_table_inputs.sv (the job account_inputs shows it of mac_core); block_ram_rules.sv, the
// promise of the memory (the job block_ram). A snapshot is claimed if nbr_index and nbr_bin stand while it is taken, which
// register_guard sees to: no write passes while nbr_busy is high.

`default_nettype none

module neighbour_table_pair #(
  parameter int unsigned PEERS = 16,
  parameter bit          ONE_STORY = 1'b0   // for covers: one packet, another, a snapshot, so that the solver need not search
) (
  input wire logic        clk,
  input wire logic        rst,
  input wire logic [2:0]  cfg_average_shift,

  // From record_collector and frame_sequence.
  input wire logic        update,
  input wire logic        dropped,
  input wire logic [3:0]  peer,
  input wire logic [4:0]  data_attempts,
  input wire logic [31:0] control_us,
  input wire logic [31:0] data_us,
  input wire logic [31:0] response_us,
  input wire logic [31:0] t_head_us,
  input wire logic [31:0] t_done_us,

  // From mac_registers.
  input wire logic        nbr_take,
  input wire logic [3:0]  nbr_index,
  input wire logic [3:0]  nbr_bin,

  input wire logic [31:0] memory_word   // what the memory gives, see block_ram_any
);

  logic begun_q = 1'b0;
  always_ff @(posedge clk) begun_q <= 1'b1;
  // What is followed begins with any value and keeps it.
  logic [3:0] peer_followed, bin_followed;
  always_ff @(posedge clk) begin
    peer_followed <= peer_followed;
    bin_followed  <= bin_followed;
  end

  always_comb begin
    if (!begun_q) assume (rst);
    assume (int'(peer) < int'(PEERS) && int'(nbr_index) < int'(PEERS) && int'(peer_followed) < int'(PEERS));
  end

  // ---- The pair

  typedef struct packed {
    logic        known;
    logic [27:0] contention;
    logic [27:0] overhead;
    logic [15:0] attempts;
    logic [31:0] packets;
    logic [31:0] drops;
    logic [47:0] service;
    logic [15:0] histogram;
  } entries_s;

  // As mac_core has it for neighbour_table; service_time_pair shows that the time from head to end is service_us.
  wire logic [31:0] service_us    = t_done_us - t_head_us;
  wire logic [31:0] contention_us = service_us - control_us - data_us - response_us;
  wire logic [31:0] overhead_us   = control_us + response_us;

  logic [27:0] unused_contention, unused_overhead;
  logic [15:0] unused_attempts;
  entries_s    copied;     // by neighbour_table, in every clock
  assign copied.known = 1'b0;
  neighbour_table #(.PEERS(PEERS)) u_parallel (
    .clk, .rst, .cfg_average_shift, .update, .dropped, .peer, .data_attempts, .contention_us, .overhead_us, .service_us,
    .avg_contention_us16(unused_contention), .avg_overhead_us16(unused_overhead), .avg_data_attempts_256(unused_attempts),
    .nbr_take(1'b1), .nbr_index, .nbr_bin, .nbr_avg_contention_us16(copied.contention),
    .nbr_avg_overhead_us16(copied.overhead), .nbr_avg_data_attempts_256(copied.attempts), .nbr_packets(copied.packets),
    .nbr_drops(copied.drops), .nbr_service_us(copied.service), .nbr_histogram(copied.histogram)
  );

  logic        busy, updated, nbr_busy;
  logic [27:0] avg_contention_us16, avg_overhead_us16;
  logic [15:0] avg_data_attempts_256;
  entries_s    shown;
  assign shown.known = 1'b0;
  neighbour_table_serial #(.PEERS(PEERS)) u_serial (
    .clk, .rst, .cfg_average_shift, .busy, .updated, .update, .dropped, .peer, .data_attempts, .control_us, .data_us,
    .response_us, .t_head_us, .t_done_us, .avg_contention_us16, .avg_overhead_us16, .avg_data_attempts_256,
    .nbr_take, .nbr_index, .nbr_bin, .nbr_busy, .nbr_avg_contention_us16(shown.contention),
    .nbr_avg_overhead_us16(shown.overhead), .nbr_avg_data_attempts_256(shown.attempts), .nbr_packets(shown.packets),
    .nbr_drops(shown.drops), .nbr_service_us(shown.service), .nbr_histogram(shown.histogram)
  );

  // States and words of neighbour_table_serial.
  localparam logic [3:0] ST_CLEAR = 4'd0, ST_IDLE = 4'd1, ST_LOOK = 4'd2, ST_SAMPLE = 4'd3, ST_SCALE = 4'd4,
                         ST_DIFFERENCE = 4'd5, ST_SHIFT = 4'd6, ST_ADD = 4'd7, ST_STORE = 4'd8, ST_SNAPSHOT = 4'd9;
  localparam logic [2:0] EN_CONTENTION = 3'd0, EN_OVERHEAD = 3'd1, EN_ATTEMPTS = 3'd2, EN_PACKETS = 3'd3, EN_DROPS = 3'd4,
                         EN_SERVICE_LOW = 3'd5, EN_SERVICE_HIGH = 3'd6, EN_HISTOGRAM = 3'd7;

  wire logic [3:0]  state = 4'(u_serial.state_q);
  wire logic [2:0]  entry = 3'(u_serial.entry_q);
  wire logic [2:0]  term  = u_serial.term_q;
  wire logic [2:0]  left  = u_serial.left_q;
  wire logic [32:0] sum   = u_serial.sum_q;
  wire logic [2:0]  took  = 3'(u_serial.take_entry_q);
  wire logic        works = !(state inside {ST_CLEAR, ST_IDLE, ST_SNAPSHOT});   // at an update,
  wire logic        takes_in = u_serial.u_neighbour_table_inputs.working_q;      // ... whose packet still counts

  // ---- The words of what is followed

  logic [7:0][31:0] words;
  localparam int unsigned WORD_W = $clog2(32 * PEERS);
  logic [7:0][WORD_W-1:0] addresses;
  logic [7:0]       written, reads;   // reads: the memory gives that word
  for (genvar at = 0; at < 8; at++) begin : g_word
    assign addresses[at] = WORD_W'({peer_followed, at == 7 ? {1'b1, bin_followed} : 5'(at)});
    block_ram_rules #(.WIDTH(32), .DEPTH(32 * PEERS)) u_block_ram_rules (
      .clk, .write(u_serial.u_entries.write), .write_address(u_serial.u_entries.write_address),
      .write_data(u_serial.u_entries.write_data), .read_address(u_serial.u_entries.read_address),
      .read_data(u_serial.u_entries.read_data), .watched(addresses[at])
    );
    assign words[at]   = u_block_ram_rules.word_q;
    assign written[at] = u_block_ram_rules.written_q;
    assign reads[at]   = u_block_ram_rules.read_q;
  end

  // Of the word of the attempts, and of the upper one of the service time, 16 bits count.
  function automatic logic [7:0][31:0] words_of(entries_s of);
    return {32'(of.histogram), 16'd0, of.service[47:32], of.service[31:0], of.drops, of.packets, of.known, 15'd0, of.attempts,
            4'd0, of.overhead, 4'd0, of.contention};
  endfunction
  function automatic logic [31:0] what_counts(logic [31:0] word, logic [2:0] at);
    return at == EN_ATTEMPTS ? word & 32'h8000_ffff : at == EN_SERVICE_HIGH ? word & 32'h0000_ffff : word;
  endfunction

  // The entries as neighbour_table has them; what is not known is 0.
  entries_s now;
  always_comb begin
    now = '0;
    if (u_parallel.known_q[peer_followed]) begin
      now.known      = 1'b1;
      now.contention = u_parallel.avg_contention_q[peer_followed];
      now.overhead   = u_parallel.avg_overhead_q[peer_followed];
      now.attempts   = u_parallel.avg_data_attempts_q[peer_followed];
      now.packets    = u_parallel.packets_q[peer_followed];
      now.drops      = u_parallel.drops_q[peer_followed];
      now.service    = u_parallel.service_us_q[peer_followed];
    end
    if (u_parallel.bins_known_q[peer_followed][bin_followed]) begin
      now.histogram = u_parallel.histogram_q[{peer_followed, bin_followed}];
    end
  end

  // ---- The update under way

  entries_s    old_q;
  logic        mine_q;            // it is of the neighbour that is followed,
  logic        hit_q;             // ... and of the bin
  logic        dropped_q;
  logic [31:0] service_us_q;

  wire logic above  = bin_followed == '0 || 33'(service_us) >= 33'd64 << bin_followed;
  wire logic below  = bin_followed == '1 || 33'(service_us) < 33'd128 << bin_followed;

  always_ff @(posedge clk) if (update) begin
    old_q        <= now;
    mine_q       <= peer == peer_followed;
    hit_q        <= peer == peer_followed && above && below;
    dropped_q    <= dropped;
    service_us_q <= service_us;
  end

  // Of the three averages, kept as they are at `update` so that the solver need not compute them anew in every clock: what
  // is averaged, what it differs by from the average, that in the places of the average, and what comes of it.
  function automatic logic [32:0] us16(logic [31:0] us);
    return us[31:24] != '0 ? 33'h0fff_ffff : {5'd0, us[23:0], 4'd0};
  endfunction

  logic [2:0][32:0] sample, average, sample_q, difference_q, shifted_q, wanted_q;
  logic [2:0]       rounds_q;
  assign sample  = {20'd0, data_attempts, 8'd0, us16(overhead_us), us16(contention_us)};
  assign average = {33'(now.attempts), 33'(now.overhead), 33'(now.contention)};
  for (genvar of = 0; of < 3; of++) begin : g_average
    wire logic signed [32:0] difference = signed'(sample[of] - average[of]);
    wire logic        [32:0] shifted    = 33'(difference >>> cfg_average_shift);
    wire logic        [7:0]  places     = {difference[6:0], 1'b0};
    wire logic               rounds     = places[cfg_average_shift];
    always_ff @(posedge clk) if (update) begin
      sample_q[of]     <= sample[of];
      difference_q[of] <= 33'(difference);
      shifted_q[of]    <= shifted;
      rounds_q[of]     <= rounds;
      wanted_q[of]     <= now.known ? average[of] + shifted + 33'(rounds) : sample[of];
    end
  end

  wire logic [48:0] service = 49'(old_q.service) + 49'(service_us_q);
  wire logic [32:0] service_low = {1'b0, old_q.service[31:0]} + 33'(service_us_q);

  // ---- The claims

  logic averages_q;      // since `updated`, and no update since
  wire logic averages = (updated && mine_q) || averages_q;
  logic follows_q;       // nbr_index and nbr_bin are those that are followed since the snapshot began
  wire logic follows = nbr_index == peer_followed && nbr_bin == bin_followed;
  logic nbr_busy_q;
  logic stands_q;        // a snapshot was out, of what is followed
  entries_s shown_q;

  always_ff @(posedge clk) begin
    averages_q <= !rst && averages && !update;
    follows_q  <= !rst && follows && (nbr_take || !nbr_busy || state != ST_SNAPSHOT || follows_q);
    nbr_busy_q <= !rst && nbr_busy;
    stands_q   <= !rst && !nbr_busy && (stands_q || (nbr_busy_q && follows_q));
    shown_q    <= shown;
  end

  always_comb if (begun_q && !rst) begin
    if (averages) begin
      a_contention_is_the_same : assert (avg_contention_us16 == now.contention);
      a_overhead_is_the_same   : assert (avg_overhead_us16 == now.overhead);
      a_attempts_are_the_same  : assert (avg_data_attempts_256 == now.attempts);
    end
    if (nbr_busy_q && !nbr_busy && follows_q) a_snapshot_is_the_same : assert (shown == copied);
    if (stands_q && !nbr_busy) a_snapshot_stands : assert (shown == shown_q);
  end

  // An update takes at most 34 clocks, the counts 15 more; a snapshot 10 after it was asked for, or after the update.
  logic [5:0] since_q;     // clocks since `update`
  logic [3:0] waits_q;     // clocks for which a snapshot has not been held up
  always_ff @(posedge clk) begin
    since_q <= rst || update ? 6'd1 : works ? since_q + 1'b1 : '0;
    waits_q <= rst || nbr_take || update || works || state == ST_CLEAR || !nbr_busy ? '0 : waits_q + 1'b1;
  end
  always_comb if (begun_q && !rst) begin
    if (takes_in) a_update_ends   : assert (since_q <= 6'd33);
    if (works) a_counts_end       : assert (since_q <= 6'd48);
    if (nbr_busy) a_snapshot_ends : assert (waits_q <= 4'd9);
  end

  // ---- The relation, for the induction

  always_comb if (begun_q && !rst) begin
    // The states: which words and terms there are in which.
    i_states    : assert (state <= ST_SNAPSHOT);
    i_takes_in  : assert (takes_in == ((works && entry <= EN_ATTEMPTS) || updated));
    i_updated   : assert (!updated || (state == ST_SAMPLE && entry == EN_PACKETS));
    i_busy      : assert (u_serial.busy_q == takes_in);
    if (state inside {ST_LOOK, ST_CLEAR, ST_IDLE}) i_first_word : assert (entry == EN_CONTENTION);
    if (state inside {ST_DIFFERENCE, ST_SHIFT}) i_averages : assert (entry <= EN_ATTEMPTS && !u_serial.first_q);
    if (state == ST_SCALE) i_scales : assert (entry <= EN_OVERHEAD);
    if (state inside {ST_ADD, ST_STORE} && entry <= EN_ATTEMPTS) i_adds : assert (state == ST_STORE || !u_serial.first_q);
    if (state == ST_SAMPLE) i_terms : assert (term <= (entry == EN_CONTENTION ? 3'd4 : entry == EN_OVERHEAD ? 3'd1 : 3'd0));
    if (works && state != ST_SAMPLE && state != ST_LOOK) i_no_term : assert (term == '0);

    // Nothing of a neighbour without entries.
    i_unknown : assert (now.known || now == '0);

    // Words: all are there once the memory has been cleared; while an update is under way they are old until their turn.
    if (state == ST_CLEAR) i_nothing_known : assert (now == '0);
    if (works && mine_q) begin
      i_now_known : assert (now.known && u_parallel.known_q[peer_followed]);
      i_packets   : assert (now.packets == old_q.packets + 1'b1);
      i_drops     : assert (now.drops == old_q.drops + 32'(dropped_q));
      i_service   : assert (now.service == service[47:0]);
      i_histogram : assert (now.histogram == (hit_q && old_q.histogram != '1 ? old_q.histogram + 1'b1 : old_q.histogram));
      i_old       : assert (old_q.known || old_q == '0);
    end
    if (works && !mine_q) i_another : assert (now == old_q);

    if (works) begin
      i_of_the_packet : assert (!takes_in || (mine_q == (peer == peer_followed) && dropped_q == dropped && service_us_q == service_us));
      i_bin_of_packet : assert (!takes_in || hit_q == (mine_q && above && below));
    end
    if (works && state != ST_LOOK) begin
      i_peer : assert ((u_serial.peer_q == peer_followed) == mine_q && u_serial.dropped_q == dropped_q);
      if (mine_q && (entry != EN_CONTENTION || state != ST_SAMPLE || term > 3'd2)) begin
        i_kept : assert (u_serial.service_us_q == service_us_q && (u_serial.bin_q == bin_followed) == hit_q);
      end
      if (mine_q && (entry != EN_CONTENTION || state != ST_SAMPLE || term != '0)) i_first : assert (u_serial.first_q == !old_q.known);
      if (mine_q && entry == EN_CONTENTION && state == ST_SAMPLE && term == '0) i_looked : assert (reads[EN_ATTEMPTS]);
      if (mine_q && state != ST_SAMPLE && (entry != EN_HISTOGRAM || hit_q)) i_reads : assert (reads[entry] || state == ST_STORE);
    end
    if (!mine_q && hit_q) i_hit_of_mine : assert (!works);

    // The averages that are out already.
    if ((works && mine_q) || averages_q) begin
      if (!works || entry > EN_CONTENTION) i_contention_out : assert (u_serial.contention_q == now.contention);
      if (!works || entry > EN_OVERHEAD)   i_overhead_out   : assert (u_serial.overhead_q == now.overhead);
      if (!works || entry > EN_ATTEMPTS)   i_attempts_out   : assert (u_serial.attempts_q == now.attempts);
    end
    if (averages_q) i_averages_of_mine : assert (mine_q && now.known && (!works || entry > EN_ATTEMPTS));
  end

  // The averages become what neighbour_table computed at `update`.
  wire logic [2:0][32:0] average_q = {33'(old_q.attempts), 33'(old_q.overhead), 33'(old_q.contention)};
  wire logic [2:0][27:0] becomes   = {12'd0, now.attempts, now.overhead, now.contention};
  for (genvar of = 0; of < 3; of++) begin : g_becomes
    wire logic [32:0] counted = of == 2 ? 33'(wanted_q[of][15:0]) : wanted_q[of];
    always_comb if (begun_q && !rst && works && mine_q && takes_in) begin
      i_becomes    : assert (counted == 33'(becomes[of]));
      i_wanted     : assert (wanted_q[of] == (old_q.known ? average_q[of] + shifted_q[of] + 33'(rounds_q[of]) : sample_q[of]));
      i_difference : assert (difference_q[of] == sample_q[of] - average_q[of]);
      i_shifted    : assert (shifted_q[of] == 33'(signed'(difference_q[of]) >>> cfg_average_shift));
      i_rounds     : assert (rounds_q[of] == (cfg_average_shift != '0 && difference_q[of][cfg_average_shift - 3'd1]));
    end
  end
  always_comb if (begun_q && !rst && works && mine_q && takes_in) i_samples : assert (sample_q == sample);

  wire logic [1:0] of = entry[1:0];

  // The register of the adder, state by state.
  always_comb if (begun_q && !rst && works && mine_q) begin
    if (state == ST_SAMPLE && entry == EN_CONTENTION) begin
      case (term)
        3'd0:    ;
        3'd1:    i_term_1 : assert (sum == 33'(t_done_us));
        3'd2:    i_term_2 : assert (sum == 33'(service_us));
        3'd3:    i_term_3 : assert (sum == 33'(32'(service_us - control_us)));
        default: i_term_4 : assert (sum == 33'(32'(service_us - control_us - data_us)));
      endcase
    end
    if (state == ST_SAMPLE && entry == EN_OVERHEAD && term != '0) i_overhead_term : assert (sum == 33'(control_us));
    if (state == ST_SAMPLE && entry == EN_SERVICE_HIGH) i_carry : assert (sum[32] == service_low[32]);
    if (state == ST_SCALE) i_scale : assert (sum == 33'(entry == EN_CONTENTION ? contention_us : overhead_us) && left == cfg_average_shift && !u_serial.round_q);
    if (state == ST_DIFFERENCE) i_sample : assert (sum == sample_q[of] && left == cfg_average_shift && !u_serial.round_q);
    if (state == ST_SHIFT) begin
      i_shift  : assert (sum == 33'(signed'(difference_q[of]) >>> (cfg_average_shift - left)));
      i_places : assert (left != '0 && left <= cfg_average_shift && cfg_average_shift[0] == left[0]);
    end
    if (state == ST_ADD && entry <= EN_ATTEMPTS) begin
      i_all_places : assert (sum == shifted_q[of] && u_serial.round_q == rounds_q[of]);
    end
    if (state == ST_STORE && entry <= EN_ATTEMPTS) i_average : assert (sum == wanted_q[of]);

    if (state == ST_ADD && entry > EN_ATTEMPTS) begin
      i_no_rounding : assert (!u_serial.round_q);
      case (entry)
        EN_DROPS:        i_add_drop    : assert (sum == 33'(dropped_q));
        EN_SERVICE_LOW:  i_add_low     : assert (sum == 33'(service_us_q));
        EN_SERVICE_HIGH: i_add_high    : assert (sum == 33'(service_low[32]));
        default:         i_add_one     : assert (sum == 33'd1);
      endcase
    end
    if (state == ST_STORE) begin
      case (entry)
        EN_PACKETS:      i_put_packets : assert (sum[31:0] == now.packets);
        EN_DROPS:        i_put_drops   : assert (sum[31:0] == now.drops);
        EN_SERVICE_LOW:  i_put_low     : assert (sum == service_low);
        EN_SERVICE_HIGH: i_put_high    : assert (sum[15:0] == now.service[47:32]);
        EN_HISTOGRAM:    i_put_bin     : assert (!hit_q || sum == 33'(old_q.histogram) + 1'b1);
        default: ;
      endcase
    end
  end

  for (genvar at = 0; at < 8; at++) begin : g_relation
    wire logic        fresh = !works || entry > 3'(at) || !mine_q;
    wire entries_s    of    = fresh ? now : old_q;
    wire logic [31:0] word  = what_counts(words[at], 3'(at));
    always_comb if (begun_q && !rst) begin
      if (state != ST_CLEAR) i_word : assert (written[at] && word == words_of(of)[at]);
      else if (u_serial.clear_q > addresses[at]) i_cleared : assert (written[at] && words[at] == '0);
    end
  end

  // In which clock of an update each state is at the latest.
  logic [5:0] latest, subtracts;
  always_comb begin
    subtracts = entry == EN_CONTENTION ? 6'd8 : entry == EN_OVERHEAD ? 6'd18 : 6'd26;
    case (state)
      ST_LOOK:       latest = 6'd1;
      ST_SAMPLE:     latest = (entry == EN_CONTENTION ? 6'd2 : entry == EN_OVERHEAD ? 6'd15 : 6'd25) + 6'(term);
      ST_SCALE:      latest = subtracts - 6'd1;
      ST_DIFFERENCE: latest = subtracts;
      ST_SHIFT:      latest = subtracts + 6'd1 + 6'((3'd7 - left) >> 1);
      ST_ADD:        latest = subtracts + 6'd5;
      default:       latest = subtracts + 6'd6;   // ST_STORE
    endcase
    if (entry > EN_ATTEMPTS) begin
      latest = 6'd33 + 6'd3 * 6'(entry - EN_PACKETS) + (state == ST_ADD ? 6'd1 : state == ST_STORE ? 6'd2 : 6'd0);
    end
  end
  always_comb if (begun_q && !rst) begin
    if (works) i_in_time : assert (since_q <= latest);
    if (state == ST_IDLE && nbr_busy) i_asked  : assert (waits_q == '0);
    if (state == ST_SNAPSHOT) i_so_far         : assert (waits_q <= (u_serial.take_valid_q ? 4'(took) + 4'd2 : 4'd1));
    if (works || state == ST_CLEAR) i_held_up  : assert (waits_q == '0);
  end

  // A snapshot: what was read so far is out.
  wire logic [7:0][31:0] shown_words = words_of(shown);

  always_comb if (begun_q && !rst) begin
    if (state == ST_SNAPSHOT) begin
      i_wanted  : assert (nbr_busy);
      i_in_turn : assert (u_serial.take_valid_q ? entry == 3'(took + 1'b1) : entry == '0);
    end
    if (state == ST_CLEAR || state == ST_IDLE) i_takes : assert (!u_serial.take_valid_q || (nbr_busy_q && !nbr_busy && took == '0));
    if (u_serial.take_valid_q && !nbr_busy) i_last_word : assert (state == ST_IDLE && nbr_busy_q);
    if (stands_q) i_stands : assert (!nbr_busy_q);
    if (works) i_broken_off : assert (!u_serial.take_valid_q || state == ST_LOOK);
    if (nbr_busy_q && !nbr_busy) i_fell : assert (state == ST_IDLE);
    if (u_serial.take_valid_q && follows_q && state != ST_LOOK) i_gives : assert (reads[took]);
    if (nbr_busy_q && !nbr_busy && follows_q) i_copied : assert (copied == {1'b0, now[$bits(entries_s)-2:0]});
  end

  for (genvar at = 0; at < 8; at++) begin : g_shown
    wire logic [31:0] kept = 32'h0000_ffff | (at == EN_ATTEMPTS || at == EN_SERVICE_HIGH ? '0 : '1);
    always_comb if (begun_q && !rst && state == ST_SNAPSHOT && u_serial.take_valid_q && follows_q) begin
      if (3'(at) < took) i_shown : assert (shown_words[at] == (words_of(now)[at] & kept));
    end
  end

  // ---- It can happen
  logic [6:0] clock_q = '0;
  always_ff @(posedge clk) clock_q <= clock_q + 1'b1;
  if (ONE_STORY) begin : g_story
    always_comb begin
      assume (rst == !begun_q && cfg_average_shift == 3'd1 && clock_q != '1);
      assume (update == clock_q inside {7'd36, 7'd68} && nbr_take == (clock_q == 7'd110) && dropped == clock_q[6]);
      assume (t_head_us == '0 && t_done_us == (clock_q[6] ? 32'd1000 : 32'd500) && control_us == 32'd100 && data_us == 32'd60);
      assume (response_us == 32'd40 && data_attempts == 5'd1 && {peer, nbr_index, nbr_bin, peer_followed} == '0);
      assume (bin_followed == '0);
    end
  end
  always_comb if (begun_q && !rst) begin
    c_moves : cover (updated && mine_q && old_q.known && avg_contention_us16 > 28'(old_q.contention) && avg_overhead_us16 != '0);
    c_shows : cover (nbr_busy_q && !nbr_busy && follows_q && shown.packets == 32'd2 && shown.drops == 32'd1 && shown.service == 48'd1500);
  end

endmodule

`default_nettype wire
