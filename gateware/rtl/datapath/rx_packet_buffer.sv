// SPDX-License-Identifier: GPL-2.0-or-later
// Received frames on their way to the host: stored in a block RAM as they come, forwarded
// when they are known to be good. The bytes cannot be held up; a frame for which there is no
// room is lost as a whole and counted, as is one that is dropped or never ends: what the host
// sees are whole frames only.
//
// m_status stands with every byte of its frame. A frame without bytes is one beat with
// tkeep 0.
//
// Timing: `keep` or `drop` may come any number of clocks after the last byte, before the next
// `start`. The first byte is offered two clocks after `keep`.

`default_nettype none

module rx_packet_buffer #(
  parameter int unsigned RING_BYTES = 8192,   // a power of two
  parameter int unsigned FRAMES     = 16,     // a power of two
  parameter int unsigned STATUS_W   = 8,
  localparam int unsigned RING_W  = $clog2(RING_BYTES),
  localparam int unsigned INDEX_W = $clog2(FRAMES)
) (
  input  wire logic                clk,
  input  wire logic                rst,

  // From the deframer: no back-pressure.
  input  wire logic                start,           // one clock: a frame begins; one without verdict is dropped
  input  wire logic                valid,
  input  wire logic [7:0]          data,
  input  wire logic                keep,            // one clock: it was good, with
  input  wire logic [STATUS_W-1:0] status,
  input  wire logic                drop,            // one clock: it was not
  output wire logic                stat_overflow,   // a good frame was lost
  output wire logic                stat_kept,

  // To the host.
  output wire logic [STATUS_W-1:0] m_status,
  output wire logic [7:0]          m_axis_tdata,
  output wire logic                m_axis_tkeep,
  output wire logic                m_axis_tvalid,
  input  wire logic                m_axis_tready,
  output wire logic                m_axis_tlast
);

  if (RING_BYTES != 1 << RING_W || RING_W > 16) begin : g_bad_ring
    $fatal(1, "%m: RING_BYTES must be a power of two of at most 65536");
  end
  if (FRAMES < 2 || FRAMES != 1 << INDEX_W) begin : g_bad_frames
    $fatal(1, "%m: FRAMES must be a power of two of at least 2");
  end

  logic [RING_W:0]     end_q    [FRAMES];

  // One bit more than an address or index: full and empty differ.
  logic [RING_W:0]  fill_q, write_q, read_q;
  logic [INDEX_W:0] tail_q, head_q;
  logic             open_q, no_room_q, overflow_q, kept_q;

  wire logic full      = fill_q - read_q == (RING_W + 1)'(RING_BYTES);
  wire logic no_entry  = tail_q - head_q == (INDEX_W + 1)'(FRAMES);
  wire logic store     = open_q && valid && !start && !keep && !drop && !full && !no_room_q;
  wire logic kept      = open_q && keep && !no_room_q && !no_entry;

  always_ff @(posedge clk) begin
    if (rst) begin
      fill_q     <= '0;
      write_q    <= '0;
      tail_q     <= '0;
      open_q     <= 1'b0;
      no_room_q  <= 1'b0;
      overflow_q <= 1'b0;
      kept_q     <= 1'b0;
    end else begin
      overflow_q <= open_q && keep && !kept;
      kept_q     <= kept;
      if (kept) begin
        write_q <= fill_q;
        tail_q  <= tail_q + 1'b1;
      end
      if (store) fill_q <= fill_q + 1'b1;
      if (open_q && valid && full) no_room_q <= 1'b1;
      if (keep || drop) open_q <= 1'b0;
      if (start) open_q <= 1'b1;
      if (start || drop || (keep && !kept)) begin
        no_room_q <= 1'b0;
        fill_q    <= kept ? fill_q : write_q;
      end
    end
    if (kept) begin
      end_q[tail_q[INDEX_W-1:0]]    <= fill_q;
    end
  end

  assign stat_overflow = overflow_q;
  assign stat_kept     = kept_q;

  logic reading_q;

  wire logic [RING_W:0] frame_end = end_q[head_q[INDEX_W-1:0]];
  wire logic sent  = m_axis_tvalid && m_axis_tready;
  wire logic empty = read_q == frame_end;
  wire logic [RING_W:0] read_next = read_q + (RING_W + 1)'(sent && !empty);

  always_ff @(posedge clk) begin
    if (rst) begin
      reading_q <= 1'b0;
      read_q    <= '0;
      head_q    <= '0;
    end else begin
      read_q <= read_next;
      // Its first byte was read from the memory in the clock before, as always.
      if (!reading_q) reading_q <= tail_q != head_q;
      if (sent && m_axis_tlast) begin
        reading_q <= 1'b0;
        head_q    <= head_q + 1'b1;
      end
    end
  end

  block_ram #(.WIDTH(8), .DEPTH(RING_BYTES)) u_bytes (
    .clk,
    .write(store), .write_address(fill_q[RING_W-1:0]), .write_data(data),
    .read_address(read_next[RING_W-1:0]), .read_data(m_axis_tdata)
  );

  // Read in the clock before the frame's first byte is offered, and again in every clock of it.
  // A block RAM is up to 36 bits wide; what the last one would hold of few bits is made of LUTs.
  localparam int unsigned REST_W = STATUS_W % 36 <= 8 ? STATUS_W % 36 : 0;
  localparam int unsigned WIDE_W = STATUS_W > 36 ? STATUS_W - REST_W : STATUS_W;

  block_ram #(.WIDTH(WIDE_W), .DEPTH(FRAMES)) u_status (
    .clk,
    .write(kept), .write_address(tail_q[INDEX_W-1:0]), .write_data(status[WIDE_W-1:0]),
    .read_address(head_q[INDEX_W-1:0]), .read_data(m_status[WIDE_W-1:0])
  );
  if (WIDE_W < STATUS_W) begin : g_rest
    (* no_rw_check, ram_style = "distributed" *)
    logic [REST_W-1:0] rest_q [FRAMES];
    logic [REST_W-1:0] rest_data_q;

    always_ff @(posedge clk) begin
      if (kept) rest_q[tail_q[INDEX_W-1:0]] <= status[STATUS_W-1:WIDE_W];
      rest_data_q <= rest_q[head_q[INDEX_W-1:0]];
    end
    assign m_status[STATUS_W-1:WIDE_W] = rest_data_q;
  end

  assign m_axis_tvalid = reading_q;
  assign m_axis_tkeep  = !empty;
  assign m_axis_tlast  = empty || read_q + 1'b1 == frame_end;

endmodule

`default_nettype wire
