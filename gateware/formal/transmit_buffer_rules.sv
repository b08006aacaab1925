// SPDX-License-Identifier: GPL-2.0-or-later
// A packet of the host is told to the MAC whole, or refused whole and counted: one of the two for each
// descriptor. What is told stands until it is taken. What is read of a packet are its own bytes, however
// often it is read and whatever comes in meanwhile. One packet and one of its bytes are followed.
//
// Bound into tx_packet_buffer.

`default_nettype none

module transmit_buffer_rules #(
  parameter int unsigned QUEUE_W = 1,
  parameter int unsigned DESC_W  = 1
) (
  input wire logic               clk,
  input wire logic               rst,
  input wire logic               s_desc_valid,
  input wire logic               s_desc_ready,
  input wire logic [QUEUE_W-1:0] s_desc_queue,
  input wire logic [11:0]        s_desc_bytes,
  input wire logic [DESC_W-1:0]  s_desc_data,
  input wire logic [7:0]         s_axis_tdata,
  input wire logic               s_axis_tkeep,
  input wire logic               s_axis_tvalid,
  input wire logic               s_axis_tready,
  input wire logic               s_axis_tlast,
  input wire logic               stat_refused,
  input wire logic               m_desc_valid,
  input wire logic               m_desc_ready,
  input wire logic [QUEUE_W-1:0] m_desc_queue,
  input wire logic [11:0]        m_desc_bytes,
  input wire logic [DESC_W-1:0]  m_desc_data,
  input wire logic               read_start,
  input wire logic [QUEUE_W-1:0] read_queue,
  input wire logic               complete,
  input wire logic [QUEUE_W-1:0] complete_queue,
  input wire logic [7:0]         m_axis_tdata,
  input wire logic               m_axis_tvalid,
  input wire logic               m_axis_tready,
  input wire logic               m_axis_tlast
);

  // A queue, one of its packets (counted among those that were told), and one byte of it.
  logic [QUEUE_W-1:0] queue;
  logic [1:0]         followed;
  logic [2:0]         place;
  always_ff @(posedge clk) begin
    queue    <= queue;
    followed <= followed;
    place    <= place;
  end

  logic                 begun_q = 1'b0, open_q = 1'b0, told_q = 1'b0, known_q = 1'b0, reading_q = 1'b0;
  logic [QUEUE_W-1:0]   open_queue_q, read_queue_q;
  logic [11:0]          open_bytes_q;
  logic [DESC_W-1:0]    open_data_q;
  logic [1:0]           in_q = '0, done_q = '0;     // packets told and completed, of the queue that is followed
  logic [2:0]           in_place_q = '0, out_place_q = '0;
  logic [7:0]           candidate_q, byte_q;
  logic [11:0]          bytes_q;
  logic                 waiting_q = 1'b0;
  logic [QUEUE_W+11+DESC_W:0] offered_q;
  logic [1:0]           owed_q = '0;   // descriptors taken, neither told nor refused

  wire logic opened = s_desc_valid && s_desc_ready;
  wire logic took   = s_axis_tvalid && s_axis_tready;
  wire logic told   = m_desc_valid && !told_q;
  wire logic sent   = m_axis_tvalid && m_axis_tready;
  wire logic [QUEUE_W+11+DESC_W:0] offered = {m_desc_queue, m_desc_bytes, m_desc_data};

  always_ff @(posedge clk) begin
    begun_q   <= 1'b1;
    told_q    <= !rst && m_desc_valid && !m_desc_ready;
    waiting_q <= !rst && m_desc_valid && !m_desc_ready;
    offered_q <= offered;
    if (rst) begin
      in_q        <= '0;
      done_q      <= '0;
      known_q     <= 1'b0;
      reading_q   <= 1'b0;
      in_place_q  <= '0;
      owed_q      <= '0;
    end else begin
      owed_q <= owed_q + 2'(opened) - 2'(stat_refused) - 2'(told);
      if (opened) begin
        open_queue_q <= s_desc_queue;
        open_bytes_q <= s_desc_bytes;
        open_data_q  <= s_desc_data;
        in_place_q   <= '0;
      end else if (took && s_axis_tkeep) begin
        if (in_place_q != '1) in_place_q <= in_place_q + 1'b1;
        if (in_place_q == place) candidate_q <= s_axis_tdata;
      end
      if (told && m_desc_queue == queue) begin
        in_q <= in_q + 1'b1;
        if (in_q == followed && !known_q) begin
          known_q <= 1'b1;
          byte_q  <= candidate_q;
          bytes_q <= open_bytes_q;
        end
      end
      if (complete && complete_queue == queue) done_q <= done_q + 1'b1;
      if (complete && complete_queue == read_queue_q) reading_q <= 1'b0;
      if (read_start) begin
        reading_q    <= 1'b1;
        read_queue_q <= read_queue;
        out_place_q  <= '0;
      end else if (sent) begin
        out_place_q <= out_place_q + 1'b1;
        if (m_axis_tlast) reading_q <= 1'b0;
      end
    end
  end

  always_comb begin
    if (!begun_q) assume (rst);
    // The MAC completes only what it was told of, and no packet while it sends it.
    if (complete) assume (waiting_packets(complete_queue) && (!reading_q || read_queue_q != complete_queue));
  end

  function automatic logic waiting_packets(logic [QUEUE_W-1:0] of_queue);
    return tx_packet_buffer.tail_q[of_queue] != tx_packet_buffer.head_q[of_queue];
  endfunction

  always_comb if (begun_q && !rst) begin
    if (waiting_q) a_told_stands : assert (m_desc_valid && offered == offered_q);
    if (told) a_told_what_came : assert (m_desc_queue == open_queue_q && m_desc_bytes == open_bytes_q &&
                                         m_desc_data == open_data_q && 12'(in_place_q) == open_bytes_q);
    a_one_of_the_two : assert (owed_q <= 2'd1 && (owed_q != '0 || !told));
    if (m_axis_tvalid && reading_q && read_queue_q == queue && known_q && done_q == followed) begin
      a_length : assert (m_axis_tlast == (12'(out_place_q) + 12'd1 == bytes_q));
      if (out_place_q == place) a_byte : assert (m_axis_tdata == byte_q);
    end
    a_sends_when_asked : assert (!m_axis_tvalid || reading_q);
  end

endmodule

bind tx_packet_buffer transmit_buffer_rules #(.QUEUE_W(QUEUE_W), .DESC_W(DESC_W)) u_transmit_buffer_rules (.*);

`default_nettype wire
