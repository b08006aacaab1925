// SPDX-License-Identifier: GPL-2.0-or-later
// neighbour_table for hardware: the same entries and the same arithmetic, a word a clock, in one block RAM and with
// one adder. What is an array there is a word here; see there what the entries mean.
//
// Timing: `update` takes at most 34 clocks (`busy`), at whose end `updated` tells that the averages of `peer` are
// out; what belongs to the packet must stand until then. The counts follow in 15 clocks, and the next `update` after
// them. A snapshot stands when nbr_busy has fallen, 10 clocks after nbr_take or after the update under way. After a
// reset the memory is cleared, a word a clock.

`default_nettype none

module neighbour_table_serial #(
  parameter int unsigned PEERS = 16
) (
  input  wire logic        clk,
  input  wire logic        rst,
  input  wire logic [2:0]  cfg_average_shift,
  output wire logic        busy,
  output wire logic        updated,                 // one clock

  // From frame_sequence and service_time.
  input  wire logic        update,
  input  wire logic        dropped,
  input  wire logic [3:0]  peer,
  input  wire logic [4:0]  data_attempts,
  input  wire logic [31:0] control_us,
  input  wire logic [31:0] data_us,
  input  wire logic [31:0] response_us,
  input  wire logic [31:0] t_head_us,               // the service begins
  input  wire logic [31:0] t_done_us,               // ... and ends

  // The averages of the last update.
  output wire logic [27:0] avg_contention_us16,
  output wire logic [27:0] avg_overhead_us16,
  output wire logic [15:0] avg_data_attempts_256,

  // A coherent snapshot of one neighbour's entries.
  input  wire logic        nbr_take,
  input  wire logic [3:0]  nbr_index,
  input  wire logic [3:0]  nbr_bin,
  output wire logic        nbr_busy,
  output wire logic [27:0] nbr_avg_contention_us16,
  output wire logic [27:0] nbr_avg_overhead_us16,
  output wire logic [15:0] nbr_avg_data_attempts_256,
  output wire logic [31:0] nbr_packets,
  output wire logic [31:0] nbr_drops,
  output wire logic [47:0] nbr_service_us,
  output wire logic [15:0] nbr_histogram
);

  // Words of a neighbour; the histogram's bins are the upper half. A neighbour that is not known has zeros.
  typedef enum logic [2:0] {
    EN_CONTENTION,
    EN_OVERHEAD,
    EN_ATTEMPTS,      // KNOWN_BIT: the neighbour has entries
    EN_PACKETS,
    EN_DROPS,
    EN_SERVICE_LOW,
    EN_SERVICE_HIGH,
    EN_HISTOGRAM
  } entry_e;
  localparam int unsigned KNOWN_BIT = 31;

  typedef enum logic [3:0] {
    ST_CLEAR,
    ST_IDLE,
    ST_LOOK,         // is the neighbour known?
    ST_SAMPLE,       // what is to be averaged or added: its terms, one a clock
    ST_SCALE,        // ... in 1/16 us
    ST_DIFFERENCE,   // ... less the average
    ST_SHIFT,        // ... by up to two places a clock
    ST_ADD,          // to the average or the count
    ST_STORE,
    ST_SNAPSHOT
  } state_e;

  localparam int unsigned WORDS  = 32 * PEERS;
  localparam int unsigned WORD_W = $clog2(WORDS);

  state_e            state_q;
  entry_e            entry_q;
  logic [2:0]        term_q;
  // Of the packet, for the counts.
  logic [31:0]       service_us_q;
  logic [3:0]        bin_q, peer_q;
  logic              dropped_q, busy_q, updated_q;
  logic [32:0]       sum_q;              // signed while it is a difference
  logic              first_q, round_q;   // round_q: the last place shifted out
  logic [2:0]        left_q;             // places to shift
  logic [WORD_W-1:0] clear_q;
  logic              take_q;             // a snapshot is wanted
  logic              take_valid_q;       // the memory gives take_entry_q's word
  entry_e            take_entry_q;

  logic [27:0] contention_q, overhead_q, snap_contention_q, snap_overhead_q;
  logic [15:0] attempts_q, snap_attempts_q, snap_histogram_q;
  logic [31:0] snap_packets_q, snap_drops_q;
  logic [47:0] snap_service_us_q;

  // ---- Memory ----

  logic [31:0] word;
  logic [3:0]  bin;
  always_comb begin
    bin = '0;
    for (int k = 1; k < 15; k++) if (sum_q[k + 6]) bin = 4'(k);
    if (sum_q[31:21] != '0) bin = 4'd15;
  end

  wire logic       snapshot = state_q == ST_SNAPSHOT;
  wire entry_e     entry    = state_q == ST_LOOK ? EN_ATTEMPTS : entry_q;
  wire logic [4:0] place    = entry == EN_HISTOGRAM ? {1'b1, snapshot ? nbr_bin : bin_q} : {2'd0, entry};
  wire logic [8:0] address  = {snapshot ? nbr_index : state_q == ST_LOOK ? peer : peer_q, place};
  wire logic       full     = entry_q == EN_HISTOGRAM && sum_q[16];   // a bin stays at its end
  wire logic       store    = state_q == ST_STORE && !full;

  block_ram #(.WIDTH(32), .DEPTH(WORDS)) u_entries (
    .clk, .write(store || state_q == ST_CLEAR), .write_address(state_q == ST_CLEAR ? clear_q : WORD_W'(address)),
    .write_data(state_q == ST_CLEAR ? '0 : {sum_q[31] || entry_q == EN_ATTEMPTS, sum_q[30:0]}),
    .read_address(WORD_W'(address)), .read_data(word)
  );

  // ---- One adder ----

  wire logic averages  = entry_q inside {EN_CONTENTION, EN_OVERHEAD, EN_ATTEMPTS};
  wire logic last_term = entry_q == EN_CONTENTION ? term_q == 3'd4 : entry_q == EN_OVERHEAD ? term_q == 3'd1 : 1'b1;

  logic [31:0] term;
  always_comb begin
    case (entry_q)
      EN_CONTENTION:
        case (term_q)
          3'd0:    term = t_done_us;
          3'd1:    term = t_head_us;
          3'd2:    term = control_us;
          3'd3:    term = data_us;
          default: term = response_us;
        endcase
      EN_OVERHEAD:     term = term_q == '0 ? control_us : response_us;
      EN_ATTEMPTS:     term = {19'd0, data_attempts, 8'd0};
      EN_DROPS:        term = 32'(dropped_q);
      EN_SERVICE_LOW:  term = service_us_q;
      EN_SERVICE_HIGH: term = 32'(sum_q[32]);   // the carry
      default:         term = 32'd1;
    endcase
  end

  // Of the word of the attempts only the average counts.
  wire logic [31:0] old = entry_q == EN_ATTEMPTS ? {16'd0, word[15:0]} : word;

  wire logic        subtract = state_q == ST_DIFFERENCE || (entry_q == EN_CONTENTION && state_q == ST_SAMPLE && term_q != '0);
  wire logic        from_0   = state_q == ST_SAMPLE && term_q == '0;
  wire logic [32:0] operand  = {1'b0, state_q == ST_SAMPLE ? term : old} ^ {33{subtract}};
  wire logic        carry    = subtract || (state_q == ST_ADD && round_q);
  wire logic [32:0] sum      = (from_0 ? '0 : sum_q) + operand + 33'(carry);

  always_ff @(posedge clk) begin
    case (state_q)
      ST_SCALE:                      sum_q <= sum_q[31:24] != '0 ? 33'h0fff_ffff : {5'd0, sum_q[23:0], 4'd0};
      ST_SHIFT:                      sum_q <= left_q == 3'd1 ? 33'(signed'(sum_q) >>> 1) : 33'(signed'(sum_q) >>> 2);
      ST_SAMPLE:                     sum_q <= {1'b0, sum[31:0]};   // times wrap
      ST_DIFFERENCE, ST_ADD:         sum_q <= sum;
      default: ;
    endcase
    case (state_q)
      ST_SAMPLE: begin
        term_q  <= last_term ? '0 : term_q + 1'b1;
        round_q <= 1'b0;
        left_q  <= cfg_average_shift;
      end
      ST_SHIFT: begin
        round_q <= left_q == 3'd1 ? sum_q[0] : sum_q[1];
        left_q  <= left_q - 3'd2;
      end
      ST_LOOK: term_q <= '0;
      default: ;
    endcase
    if (state_q == ST_STORE) begin
      if (entry_q == EN_CONTENTION) contention_q <= sum_q[27:0];
      if (entry_q == EN_OVERHEAD)   overhead_q   <= sum_q[27:0];
      if (entry_q == EN_ATTEMPTS)   attempts_q   <= sum_q[15:0];
    end
    if (state_q == ST_SAMPLE && entry_q == EN_CONTENTION) begin
      if (term_q == '0) first_q <= !word[KNOWN_BIT];
      if (term_q == 3'd2) begin
        service_us_q <= sum_q[31:0];
        bin_q        <= bin;
      end
    end
    if (state_q == ST_LOOK) begin
      peer_q    <= peer;
      dropped_q <= dropped;
    end
  end

  always_ff @(posedge clk) begin
    if (rst) begin
      state_q   <= ST_CLEAR;
      clear_q   <= '0;
      entry_q   <= EN_CONTENTION;
      take_q    <= 1'b0;
      busy_q    <= 1'b0;
      updated_q <= 1'b0;
    end else begin
      if (nbr_take) take_q <= 1'b1;
      updated_q <= state_q == ST_STORE && entry_q == EN_ATTEMPTS;
      if (update) busy_q <= 1'b1;
      else if (updated_q) busy_q <= 1'b0;
      case (state_q)
        ST_CLEAR: begin
          clear_q <= clear_q + 1'b1;
          if (clear_q == '1) state_q <= ST_IDLE;
        end
        // A snapshot under way begins anew after an update, and so does one that is asked for again.
        ST_IDLE, ST_SNAPSHOT: begin
          entry_q <= EN_CONTENTION;
          if (update) begin
            state_q <= ST_LOOK;
          end else if (take_q || nbr_take) begin
            state_q <= ST_SNAPSHOT;
            if (snapshot && !nbr_take) begin
              entry_q <= entry_e'(entry_q + 1'b1);
              if (take_valid_q && take_entry_q == EN_HISTOGRAM) begin
                state_q <= ST_IDLE;
                take_q  <= 1'b0;
                entry_q <= EN_CONTENTION;
              end
            end
          end
        end
        ST_LOOK:       state_q <= ST_SAMPLE;
        ST_SAMPLE:     if (last_term) state_q <= !averages ? ST_ADD : entry_q != EN_ATTEMPTS ? ST_SCALE : first_q ? ST_STORE : ST_DIFFERENCE;
        ST_SCALE:      state_q <= first_q ? ST_STORE : ST_DIFFERENCE;
        ST_DIFFERENCE: state_q <= left_q == '0 ? ST_ADD : ST_SHIFT;
        ST_SHIFT:      if (left_q <= 3'd2) state_q <= ST_ADD;
        ST_ADD:        state_q <= ST_STORE;
        ST_STORE: begin
          state_q <= entry_q == EN_HISTOGRAM ? ST_IDLE : ST_SAMPLE;
          entry_q <= entry_e'(entry_q + 1'b1);
        end
        default:       state_q <= ST_IDLE;
      endcase
    end
  end

  // ---- Snapshot: a word a clock after its address ----

  always_ff @(posedge clk) begin
    take_valid_q <= snapshot && !nbr_take && !rst;
    take_entry_q <= entry_q;
    if (take_valid_q) begin
      case (take_entry_q)
        EN_CONTENTION:   snap_contention_q        <= word[27:0];
        EN_OVERHEAD:     snap_overhead_q          <= word[27:0];
        EN_ATTEMPTS:     snap_attempts_q          <= word[15:0];
        EN_PACKETS:      snap_packets_q           <= word;
        EN_DROPS:        snap_drops_q             <= word;
        EN_SERVICE_LOW:  snap_service_us_q[31:0]  <= word;
        EN_SERVICE_HIGH: snap_service_us_q[47:32] <= word[15:0];
        default:         snap_histogram_q         <= word[15:0];   // EN_HISTOGRAM
      endcase
    end
  end

  assign busy     = state_q == ST_CLEAR || busy_q;
  assign updated  = updated_q;
  assign nbr_busy = take_q;

  assign avg_contention_us16   = contention_q;
  assign avg_overhead_us16     = overhead_q;
  assign avg_data_attempts_256 = attempts_q;

  assign nbr_avg_contention_us16   = snap_contention_q;
  assign nbr_avg_overhead_us16     = snap_overhead_q;
  assign nbr_avg_data_attempts_256 = snap_attempts_q;
  assign nbr_packets               = snap_packets_q;
  assign nbr_drops                 = snap_drops_q;
  assign nbr_service_us            = snap_service_us_q;
  assign nbr_histogram             = snap_histogram_q;

`ifndef SYNTHESIS
  always_ff @(posedge clk) begin
    if (!rst && update) a_counts_are_in_before_the_next_update : assert (state_q inside {ST_IDLE, ST_SNAPSHOT});
  end
`endif

endmodule

`default_nettype wire
