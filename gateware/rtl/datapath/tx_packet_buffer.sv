// SPDX-License-Identifier: GPL-2.0-or-later
// The bytes of packets that wait to be sent or may have to be sent again: a ring of whole
// packets for each queue, in one block RAM. A packet leaves when its queue's head is completed;
// until then it can be read from its start as often as retries need.
//
// The host gives a descriptor, then the packet's bytes. A descriptor waits (s_desc_ready low) while
// its queue has no room; `room_bytes` tells the host beforehand. A packet that can never be sent
// (no byte, more than MAX_MSDU_BYTES, or than the ring) or whose last byte does not come where the
// descriptor said is refused as a whole and counted; its bytes are taken up to its tlast and forgotten.
//
// A packet that is complete is told to the MAC (m_desc). The MAC keeps PACKETS descriptors a
// queue, so that it never has to wait; queues do not hold each other up here.
//
// Timing: `frame` stands one clock after `read_start`, the first byte is offered three clocks after it.

`default_nettype none

module tx_packet_buffer
  import perhop_pkg::*;
#(
  parameter int unsigned QUEUES         = 2,
  parameter int unsigned RING_BYTES     = 8192,   // of each queue; a power of two
  parameter int unsigned PACKETS        = 8,      // of each queue; a power of two
  parameter int unsigned DESC_W         = 16,     // told to the MAC
  parameter int unsigned FRAME_W        = 97,     // told to the framer
  parameter bit          EARLY_ROOM     = 1'b1,   // room made by a packet that is completed counts in the next clock; 0: a clock later
  parameter int unsigned MAX_MSDU_BYTES = 4061,   // with four addresses and FCS the largest length of an MPDU
  localparam int unsigned QUEUE_W = QUEUES > 1 ? $clog2(QUEUES) : 1,
  localparam int unsigned RING_W  = $clog2(RING_BYTES),
  localparam int unsigned INDEX_W = $clog2(PACKETS)
) (
  input  wire logic               clk,
  input  wire logic               rst,

  // From the host: a descriptor, then its packet.
  input  wire logic               s_desc_valid,
  output wire logic               s_desc_ready,
  input  wire logic [QUEUE_W-1:0] s_desc_queue,
  input  wire logic [11:0]        s_desc_bytes,     // of the MSDU
  input  wire logic [DESC_W-1:0]  s_desc_data,
  input  wire logic [FRAME_W-1:0] s_desc_frame,
  input  wire logic [7:0]         s_axis_tdata,
  input  wire logic               s_axis_tkeep,     // 0: no byte, though it may be the last
  input  wire logic               s_axis_tvalid,
  output wire logic               s_axis_tready,
  input  wire logic               s_axis_tlast,
  output wire logic [RING_W:0]    room_bytes [QUEUES],
  output wire logic               stat_refused,

  // To the MAC: a packet is here.
  output wire logic               m_desc_valid,
  input  wire logic               m_desc_ready,
  output wire logic [QUEUE_W-1:0] m_desc_queue,
  output wire logic [11:0]        m_desc_bytes,
  output wire logic [DESC_W-1:0]  m_desc_data,

  // From the MAC: send the head of a queue; it is done with.
  input  wire logic               read_start,
  input  wire logic [QUEUE_W-1:0] read_queue,
  input  wire logic               complete,
  input  wire logic [QUEUE_W-1:0] complete_queue,

  // To the framer.
  output wire logic [FRAME_W-1:0] frame,
  output wire logic [7:0]         m_axis_tdata,
  output wire logic               m_axis_tvalid,
  input  wire logic               m_axis_tready,
  output wire logic               m_axis_tlast
);

  if (RING_BYTES != 1 << RING_W || RING_W > 16) begin : g_bad_ring
    $fatal(1, "%m: RING_BYTES must be a power of two of at most 65536");
  end
  if (PACKETS < 2 || PACKETS != 1 << INDEX_W) begin : g_bad_packets
    $fatal(1, "%m: PACKETS must be a power of two of at least 2");
  end
  if (MAX_MSDU_BYTES > 4061) begin : g_bad_msdu
    $fatal(1, "%m: MAX_MSDU_BYTES may not be above 4061");
  end

  // Entry {queue, index} is a packet of the queue.
  localparam int unsigned ENTRIES = 1 << (QUEUE_W + INDEX_W);
  logic [11:0]        bytes_q [ENTRIES];
  logic [RING_W-1:0]  begin_q [ENTRIES];

  // One bit more than an index or address: full and empty differ.
  logic [INDEX_W:0] tail_q  [QUEUES], head_q    [QUEUES];
  logic [RING_W:0]  write_q [QUEUES], release_q [QUEUES];

  // ---- In ----

  typedef enum logic [1:0] {
    ST_DESCRIPTOR,   // waiting for one
    ST_BYTES,        // its packet comes
    ST_REFUSED,      // it comes and is forgotten
    ST_TELL          // it has come; the MAC is told
  } state_e;

  state_e             state_q;
  logic [QUEUE_W-1:0] queue_q;
  logic [11:0]        packet_bytes_q, come_q;
  logic [DESC_W-1:0]  desc_q;
  logic [RING_W-1:0]  fill_q;
  logic               refused_q;

  for (genvar queue = 0; queue < QUEUES; queue++) begin : g_room
    wire logic any_entry = tail_q[queue] - head_q[queue] != (INDEX_W + 1)'(PACKETS);
    assign room_bytes[queue] =
        any_entry ? (RING_W + 1)'(RING_BYTES) - (write_q[queue] - release_q[queue]) : '0;
  end

  wire logic impossible = s_desc_bytes == '0 || 32'(s_desc_bytes) > MAX_MSDU_BYTES || 32'(s_desc_bytes) > RING_BYTES;
  logic [RING_W:0] free_bytes;   // for this packet
  if (EARLY_ROOM) begin : g_early
    assign free_bytes = room_bytes[s_desc_queue];
  end else begin : g_later
    // What a packet takes is known in time: the MAC is told of it before the next descriptor is taken.
    logic [RING_W:0] room_bytes_q [QUEUES];
    always_ff @(posedge clk) begin
      for (int queue = 0; queue < QUEUES; queue++) room_bytes_q[queue] <= rst ? '0 : room_bytes[queue];
    end
    assign free_bytes = room_bytes_q[s_desc_queue];
  end

  wire logic room       = 32'(s_desc_bytes) <= 32'(free_bytes);
  wire logic opened     = s_desc_valid && s_desc_ready;
  wire logic took       = s_axis_tvalid && s_axis_tready;
  wire logic too_many   = come_q == packet_bytes_q;
  wire logic store      = took && s_axis_tkeep && state_q == ST_BYTES && !too_many;
  wire logic complete_packet = come_q + 12'(s_axis_tkeep) == packet_bytes_q;

  always_ff @(posedge clk) begin
    refused_q <= 1'b0;
    if (rst) begin
      state_q <= ST_DESCRIPTOR;
      for (int queue = 0; queue < QUEUES; queue++) begin
        tail_q[queue]  <= '0;
        write_q[queue] <= '0;
      end
    end else begin
      case (state_q)
        ST_DESCRIPTOR: if (opened) begin
          queue_q        <= s_desc_queue;
          packet_bytes_q <= s_desc_bytes;
          come_q         <= '0;
          desc_q         <= s_desc_data;
          fill_q         <= write_q[s_desc_queue][RING_W-1:0];
          refused_q      <= impossible;
          // No bytes belong to a packet of none.
          state_q        <= !impossible ? ST_BYTES : s_desc_bytes == '0 ? ST_DESCRIPTOR : ST_REFUSED;
        end
        ST_BYTES: if (took) begin
          if (store) begin
            come_q <= come_q + 1'b1;
            fill_q <= fill_q + 1'b1;
          end
          if (s_axis_tlast && complete_packet) begin
            state_q <= ST_TELL;
            // The packet is in the ring from now on.
            tail_q[queue_q]  <= tail_q[queue_q] + 1'b1;
            write_q[queue_q] <= write_q[queue_q] + (RING_W + 1)'(packet_bytes_q);
          end else if (s_axis_tlast || (s_axis_tkeep && too_many)) begin
            refused_q <= 1'b1;
            state_q   <= s_axis_tlast ? ST_DESCRIPTOR : ST_REFUSED;
          end
        end
        ST_REFUSED: if (took && s_axis_tlast) state_q <= ST_DESCRIPTOR;
        default:    if (m_desc_ready) state_q <= ST_DESCRIPTOR;   // ST_TELL
      endcase
    end
  end

  // The entry stands behind the tail until the packet is complete.
  wire logic [QUEUE_W+INDEX_W-1:0] open_entry = {s_desc_queue, tail_q[s_desc_queue][INDEX_W-1:0]};
  always_ff @(posedge clk) begin
    if (opened && !impossible) begin
      begin_q[open_entry] <= write_q[s_desc_queue][RING_W-1:0];
      bytes_q[open_entry] <= s_desc_bytes;
    end
  end

  assign s_desc_ready  = state_q == ST_DESCRIPTOR && (impossible || room);
  assign s_axis_tready = state_q == ST_BYTES || state_q == ST_REFUSED;
  assign stat_refused  = refused_q;
  assign m_desc_valid  = state_q == ST_TELL;
  assign m_desc_queue  = queue_q;
  assign m_desc_bytes  = packet_bytes_q;
  assign m_desc_data   = desc_q;

  // ---- Out ----

  typedef enum logic [1:0] {
    RD_IDLE,
    RD_LOOK,     // the entry of the packet
    RD_FETCH,    // its first byte
    RD_BYTES
  } read_state_e;

  read_state_e        read_state_q;
  logic [QUEUE_W-1:0] read_queue_q;
  logic [RING_W-1:0]  read_q;
  logic [11:0]        read_left_q;

  wire logic [QUEUE_W+INDEX_W-1:0] read_entry     = {read_queue_q, head_q[read_queue_q][INDEX_W-1:0]};
  wire logic [QUEUE_W+INDEX_W-1:0] complete_entry = {complete_queue, head_q[complete_queue][INDEX_W-1:0]};
  wire logic sent      = m_axis_tvalid && m_axis_tready;
  wire logic completes = complete && tail_q[complete_queue] != head_q[complete_queue];
  wire logic [RING_W-1:0] read_next = read_q + RING_W'(sent);

  always_ff @(posedge clk) begin
    if (rst) begin
      read_state_q <= RD_IDLE;
      read_queue_q <= '0;
      for (int queue = 0; queue < QUEUES; queue++) begin
        head_q[queue]    <= '0;
        release_q[queue] <= '0;
      end
    end else begin
      case (read_state_q)
        RD_LOOK: begin
          read_q       <= begin_q[read_entry];
          read_left_q  <= bytes_q[read_entry];
          read_state_q <= RD_FETCH;
        end
        RD_FETCH: read_state_q <= RD_BYTES;
        RD_BYTES: if (sent) begin
          read_q      <= read_next;
          read_left_q <= read_left_q - 1'b1;
          if (m_axis_tlast) read_state_q <= RD_IDLE;
        end
        default: ;
      endcase
      if (completes) begin
        head_q[complete_queue]    <= head_q[complete_queue] + 1'b1;
        release_q[complete_queue] <= release_q[complete_queue] + (RING_W + 1)'(bytes_q[complete_entry]);
        // Bytes that may be overwritten are not sent under a good FCS.
        if (complete_queue == read_queue_q) read_state_q <= RD_IDLE;
      end
      // A packet that goes in this very clock is not sent any more.
      if (read_start && tail_q[read_queue] != head_q[read_queue] && !(completes && complete_queue == read_queue)) begin
        read_queue_q <= read_queue;
        read_state_q <= RD_LOOK;
      end
    end
  end

  // Read with read_start, and again in every clock after it.
  block_ram #(.WIDTH(FRAME_W), .DEPTH(ENTRIES)) u_frames (
    .clk,
    .write(opened && !impossible), .write_address(open_entry), .write_data(s_desc_frame),
    .read_address(read_start ? {read_queue, head_q[read_queue][INDEX_W-1:0]} : read_entry), .read_data(frame)
  );
  assign m_axis_tvalid = read_state_q == RD_BYTES;
  assign m_axis_tlast  = read_left_q == 12'd1;

  block_ram #(.WIDTH(8), .DEPTH(RING_BYTES << (QUEUES > 1 ? QUEUE_W : 0))) u_bytes (
    .clk,
    .write(store), .write_address(ring_address(queue_q, fill_q)), .write_data(s_axis_tdata),
    .read_address(ring_address(read_queue_q, read_next)), .read_data(m_axis_tdata)
  );

  localparam int unsigned RAM_W = RING_W + (QUEUES > 1 ? QUEUE_W : 0);
  function automatic logic [RAM_W-1:0] ring_address(logic [QUEUE_W-1:0] queue, logic [RING_W-1:0] at);
    ring_address = RAM_W'({queue, at});
  endfunction

`ifndef SYNTHESIS
  always_ff @(posedge clk) begin
    if (!rst && complete) begin
      a_completed_packet_was_here : assert (tail_q[complete_queue] != head_q[complete_queue]);
      a_not_completed_while_sent  : assert (read_state_q == RD_IDLE || complete_queue != read_queue_q);
    end
    if (!rst && read_start) begin
      a_sent_packet_is_here : assert (tail_q[read_queue] != head_q[read_queue]);
    end
  end
`endif

endmodule

`default_nettype wire
