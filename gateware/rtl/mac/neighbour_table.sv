// SPDX-License-Identifier: GPL-2.0-or-later
// What packets to each neighbour cost: running averages, totals, losses, a histogram.
//
// The averages keep what depends on a packet's size apart from what does not, so that
// the delay of any packet can be told:
//
//   delay(bytes, rate) = contention + overhead + data attempts * airtime(bytes, rate)
//
// contention: IFS, back-off, frozen, time-outs, own responses; overhead: RTS, CTS, MAC
// ACK, SIFS. The size normalisation follows S. Shah, K. Chen, K. Nahrstedt ("Dynamic
// bandwidth management for single-hop ad hoc wireless networks", PerCom 2003), in time
// instead of throughput. A packet that was given up counts its time.
//
// An average moves by 2**-cfg_average_shift of the difference; the first packet sets it.
// The entries are memories that no reset clears: bits beside them say which are valid.
//
// Timing: `update` takes one clock; the new averages are out at the next.

`default_nettype none

module neighbour_table #(
  parameter int unsigned PEERS = 16
) (
  input  wire logic        clk,
  input  wire logic        rst,
  input  wire logic [2:0]  cfg_average_shift,

  // From frame_sequence and service_time.
  input  wire logic        update,
  input  wire logic        dropped,
  input  wire logic [3:0]  peer,
  input  wire logic [4:0]  data_attempts,
  input  wire logic [31:0] contention_us,
  input  wire logic [31:0] overhead_us,
  input  wire logic [31:0] service_us,

  // The averages of `peer`.
  output wire logic [27:0] avg_contention_us16,     // 1/16 us
  output wire logic [27:0] avg_overhead_us16,       // 1/16 us
  output wire logic [15:0] avg_data_attempts_256,   // 1/256

  // A coherent snapshot: nbr_take copies one neighbour's entries in one clock.
  input  wire logic        nbr_take,
  input  wire logic [3:0]  nbr_index,
  input  wire logic [3:0]  nbr_bin,
  output wire logic [27:0] nbr_avg_contention_us16,
  output wire logic [27:0] nbr_avg_overhead_us16,
  output wire logic [15:0] nbr_avg_data_attempts_256,
  output wire logic [31:0] nbr_packets,
  output wire logic [31:0] nbr_drops,
  output wire logic [47:0] nbr_service_us,          // sum over packets
  output wire logic [15:0] nbr_histogram            // packets whose service time is in bin nbr_bin
);

  localparam int unsigned BINS = 16;
  localparam int unsigned FIRST_BIN_LOG2 = 7;   // bin 0: below 128 us; bin k: from 2**(k+6) us; the last is open

  logic [27:0] avg_contention_q   [PEERS];
  logic [27:0] avg_overhead_q     [PEERS];
  logic [15:0] avg_data_attempts_q[PEERS];
  logic [31:0] packets_q          [PEERS];
  logic [31:0] drops_q            [PEERS];
  logic [47:0] service_us_q       [PEERS];
  logic [15:0] histogram_q        [PEERS * BINS];

  logic [27:0] snap_contention_q, snap_overhead_q;
  logic [15:0] snap_data_attempts_q, snap_histogram_q;
  logic [31:0] snap_packets_q, snap_drops_q;
  logic [47:0] snap_service_us_q;

  function automatic logic [27:0] us16(logic [31:0] us);
    return us > 32'h00ff_ffff ? 28'hfff_ffff : {us[23:0], 4'd0};
  endfunction

  function automatic logic [27:0] moved(logic [27:0] average, logic [27:0] sample, logic [2:0] shift);
    // To the nearest: always downwards would keep an average below what it averages. The difference has 29 bits, and one
    // more with what rounds it.
    logic signed [29:0] half = shift == '0 ? 30'sd0 : 30'sd1 <<< (shift - 1'b1);
    logic signed [29:0] step = (signed'({2'b0, sample}) - signed'({2'b0, average}) + half) >>> shift;
    return 28'(signed'({2'b0, average}) + step);
  endfunction

  function automatic logic [3:0] bin_of(logic [31:0] us);
    logic [3:0] bin = '0;
    for (int k = 1; k < int'(BINS); k++) begin
      if (us >= (32'd1 << (k + int'(FIRST_BIN_LOG2) - 1))) bin = 4'(k);
    end
    return bin;
  endfunction

  logic [PEERS-1:0] known_q;               // the neighbour has entries
  logic [BINS-1:0]  bins_known_q [PEERS];  // ... and these bins of its histogram

  wire logic first = !known_q[peer];

  always_ff @(posedge clk) begin
    automatic logic [3:0] bin = '0;
    if (update) bin = bin_of(service_us);
    if (rst) begin
      known_q <= '0;
      for (int i = 0; i < int'(PEERS); i++) bins_known_q[i] <= '0;
    end else if (update) begin
      known_q[peer]           <= 1'b1;
      bins_known_q[peer][bin] <= 1'b1;
    end
    if (update) begin
      avg_contention_q[peer] <= first ? us16(contention_us)
                                      : moved(avg_contention_q[peer], us16(contention_us), cfg_average_shift);
      avg_overhead_q[peer]   <= first ? us16(overhead_us)
                                      : moved(avg_overhead_q[peer], us16(overhead_us), cfg_average_shift);
      avg_data_attempts_q[peer] <= first ? {3'd0, data_attempts, 8'd0}
          : 16'(moved(28'(avg_data_attempts_q[peer]), {15'd0, data_attempts, 8'd0}, cfg_average_shift));
      packets_q[peer]    <= first ? 32'd1 : packets_q[peer] + 1'b1;
      drops_q[peer]      <= first ? 32'(dropped) : drops_q[peer] + 32'(dropped);
      service_us_q[peer] <= first ? 48'(service_us) : service_us_q[peer] + 48'(service_us);
      if (!bins_known_q[peer][bin]) histogram_q[{peer, bin}] <= 16'd1;
      else if (histogram_q[{peer, bin}] != '1) histogram_q[{peer, bin}] <= histogram_q[{peer, bin}] + 1'b1;
    end
    if (nbr_take) begin
      snap_contention_q    <= known_q[nbr_index] ? avg_contention_q[nbr_index] : '0;
      snap_overhead_q      <= known_q[nbr_index] ? avg_overhead_q[nbr_index] : '0;
      snap_data_attempts_q <= known_q[nbr_index] ? avg_data_attempts_q[nbr_index] : '0;
      snap_packets_q       <= known_q[nbr_index] ? packets_q[nbr_index] : '0;
      snap_drops_q         <= known_q[nbr_index] ? drops_q[nbr_index] : '0;
      snap_service_us_q    <= known_q[nbr_index] ? service_us_q[nbr_index] : '0;
      snap_histogram_q     <= bins_known_q[nbr_index][nbr_bin] ? histogram_q[{nbr_index, nbr_bin}] : '0;
    end
  end

  assign avg_contention_us16   = avg_contention_q[peer];
  assign avg_overhead_us16     = avg_overhead_q[peer];
  assign avg_data_attempts_256 = avg_data_attempts_q[peer];

  assign nbr_avg_contention_us16   = snap_contention_q;
  assign nbr_avg_overhead_us16     = snap_overhead_q;
  assign nbr_avg_data_attempts_256 = snap_data_attempts_q;
  assign nbr_packets               = snap_packets_q;
  assign nbr_drops                 = snap_drops_q;
  assign nbr_service_us            = snap_service_us_q;
  assign nbr_histogram             = snap_histogram_q;

endmodule

`default_nettype wire
