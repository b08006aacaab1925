// SPDX-License-Identifier: GPL-2.0-or-later
// MAC with bytes: mac_core and the datapath around it. Packets and frames as byte streams; the PHY
// gets and gives MPDUs with their FCS. Time comes from outside, as for mac_core: bytes may move
// in clocks without ticks (simulation) or beside them (hardware).
//
//   host -> tx_packet_buffer -> series_airtimes -> mac_core -> framer -> PHY
//   PHY -> deframer -> mac_core, address_filter -> rx_packet_buffer -> host
//   mac_core -> completion_stream -> host
//
// The verdict about a received frame falls two clocks after phy_rx_end. The host gets DATA frames that
// mac_core delivers and address_filter wants, without header and FCS; in monitor mode every
// frame whole, however bad it is.
//
// Timing: phy_tx_start is mac_core's; the frame's first byte is offered two clocks later.

`default_nettype none

module mac_bytes
  import perhop_pkg::*;
#(
  parameter bit          UNIT_TICKS    = 1'b0,   // tick_n is 0 or 1 (hardware); next_timer then means nothing
  parameter int unsigned PEERS         = 16,
  parameter int unsigned QUEUES        = 1,      // 1, or 2: queue 0 best effort, queue 1 of high priority
  parameter int unsigned RATE_SERIES   = 1,      // rates that a packet's retries may step through: 1 or 4
  parameter int unsigned PACKETS       = 8,      // waiting in each queue; a power of two
  parameter int unsigned TX_RING_BYTES = 16384,  // of each queue
  parameter int unsigned RX_RING_BYTES = 8192,
  parameter int unsigned RX_FRAMES     = 16
) (
  input  wire logic        clk,
  input  wire logic        rst,                 // synchronous, active high

  // Time.
  input  wire logic [23:0] tick_n,              // microseconds that pass with this clock
  input  wire medium_summary_s summary,         // ... and what was heard meanwhile but not told; 0 in hardware
  output wire logic        quiescent,
  output wire logic        core_quiescent,      // time may pass, bytes may still be moving
  output wire logic [31:0] next_timer,          // all ones: none
  output wire logic        want_rx_start,
  output wire logic        contending,
  output wire logic        sending,             // an own frame is on the air, or SIFS before it runs
  output wire logic [15:0] nav_left_us,
  output wire logic [63:0] tsf_us,

  // Settings; they change only while the MAC is idle.
  input  wire mac_settings_s settings,
  input  wire logic        cfg_seed_load,

  // From and to the PHY.
  input  wire phy_indications_s from_phy,
  output wire phy_requests_s to_phy,
  input  wire logic        phy_tx_ready,

  // Packets from the host: a descriptor, then the MSDU.
  input  wire logic        desc_window,         // mac_core may be told of one in this clock; 1: in any
  input  wire logic        s_desc_valid,
  output wire logic        s_desc_ready,        // the queue has room for it
  input  wire packet_descriptor_s s_desc,       // with its own rates: see descriptor_rates
  input  wire byte_stream_s s_axis_tx,
  output wire logic        s_axis_tx_tready,

  // Received frames to the host. The status stands with every byte of its frame.
  output wire rx_status_s  m_rx_status,
  output wire byte_stream_s m_axis_rx,
  input  wire logic        m_axis_rx_tready,

  // Completion records to the host.
  output wire word_stream_s m_done,
  input  wire logic        m_done_tready,

  // What happens, for counters and an event log.
  output wire mac_events_s evt,
  output wire mac_statistics_s stat,

  // Snapshot of a neighbour's entries: out one clock after nbr_take; with UNIT_TICKS when nbr_busy has fallen, and
  // nbr_index and nbr_bin stand until then.
  input  wire logic        nbr_take,
  output wire logic        nbr_busy,
  input  wire logic [3:0]  nbr_index,
  input  wire logic [3:0]  nbr_bin,
  output wire neighbour_entry_s nbr
);

  localparam int unsigned RING_W = $clog2(TX_RING_BYTES);

  // What the MAC is told of a packet, and what the framer.
  typedef struct packed {
    logic [47:0] ra;
    logic        four_address;
    logic [3:0]  peer;
    logic [2:0]  rate;
    logic        force_rts;
    logic [19:0] series_attempts;
    logic [8:0]  series_rate;
    logic [15:0] tag;
  } packet_s;

  typedef struct packed {
    logic        four_address;
    logic [47:0] a3;
    logic [47:0] a4;
  } addresses_s;

  // ---- Packets of the host ----

  packet_s     given, packet;
  addresses_s  given_addresses, addresses;
  logic        packet_valid, packet_taken, packet_queue;
  logic [11:0] msdu_bytes;
  logic [7:0]  body_data;
  logic        body_valid, body_ready, unused_body_last;
  logic [RING_W:0] unused_room_bytes [QUEUES];
  completion_record_s record;
  logic        done_valid, tx_start;
  phy_transmission_s transmission;
  wire logic [11:0] tx_sequence = transmission.sequence_number;

  // With one queue all packets go to that one.
  wire logic given_queue = QUEUES > 1 && s_desc.queue_number;
  assign given = '{
    ra: s_desc.ra, four_address: s_desc.four_address, peer: s_desc.peer, rate: s_desc.rate,
    force_rts: s_desc.force_rts, series_attempts: s_desc.series_attempts, series_rate: s_desc.series_rate, tag: s_desc.tag
  };
  assign given_addresses = '{four_address: s_desc.four_address, a3: s_desc.a3, a4: s_desc.a4};

  tx_packet_buffer #(
    .QUEUES(QUEUES), .RING_BYTES(TX_RING_BYTES), .PACKETS(PACKETS), .EARLY_ROOM(!UNIT_TICKS), .DESC_W($bits(packet_s)), .FRAME_W($bits(addresses_s))
  ) u_tx_packet_buffer (
    .clk, .rst,
    .s_desc_valid, .s_desc_ready, .s_desc_queue(given_queue), .s_desc_bytes(s_desc.bytes), .s_desc_data(given), .s_desc_frame(given_addresses),
    .s_axis_tdata(s_axis_tx.tdata), .s_axis_tkeep(s_axis_tx.tkeep), .s_axis_tvalid(s_axis_tx.tvalid),
    .s_axis_tready(s_axis_tx_tready), .s_axis_tlast(s_axis_tx.tlast), .room_bytes(unused_room_bytes),
    .stat_refused(stat.tx_refused),
    .m_desc_valid(packet_valid), .m_desc_ready(packet_taken), .m_desc_queue(packet_queue), .m_desc_bytes(msdu_bytes),
    .m_desc_data(packet),
    .read_start(tx_start && transmission.kind == FRAME_DATA), .read_queue(transmission.queue_number), .complete(done_valid),
    .complete_queue(record.queue_number),
    .frame(addresses), .m_axis_tdata(body_data), .m_axis_tvalid(body_valid), .m_axis_tready(body_ready),
    .m_axis_tlast(unused_body_last)
  );

  // ---- Its airtimes, then the MAC is told ----

  logic        described;
  logic        desc_ready [QUEUES];
  logic [15:0] airtime_us;
  logic [47:0] series_airtime_us;

  wire logic [11:0] mpdu_bytes =
      msdu_bytes + (packet.four_address ? 12'(MAC_HEADER_BYTES + 6 + FCS_BYTES) : 12'(MAC_HEADER_BYTES + FCS_BYTES));

  series_airtimes #(.RATE_SERIES(RATE_SERIES)) u_series_airtimes (
    .clk, .rst, .settings,
    .valid(packet_valid), .bytes(mpdu_bytes), .rate(packet.rate), .series_attempts(packet.series_attempts),
    .series_rate(packet.series_rate), .ready(described), .airtime_us, .series_airtime_us, .taken(packet_taken)
  );

  assign packet_taken = described && desc_ready[packet_queue] && desc_window;

  // ---- The MAC ----

  logic        rx_deliver;
  logic [2:0]  rx_rate_q, rx_kind;
  logic        rx_ok, rx_retry;
  logic [11:0] rx_bytes, rx_sequence;
  logic [14:0] rx_duration_us;
  logic [47:0] rx_ra, rx_ta, rx_a3, rx_a4;
  logic [31:0] done_word;
  mac_events_s core_evt;

  phy_reception_s reception;
  assign reception = '{
    ok: rx_ok, kind: rx_kind, rate: rx_rate_q, duration_us: rx_duration_us, ra: rx_ra, ta: rx_ta, sequence_number: rx_sequence,
    retry: rx_retry
  };

  descriptor_s descriptor;
  assign descriptor = '{
    ra: packet.ra, peer: packet.peer, bytes: mpdu_bytes, rate: packet.rate, airtime_us: airtime_us,
    series_attempts: packet.series_attempts, series_rate: packet.series_rate, series_airtime_us: series_airtime_us,
    use_rts: packet.force_rts || mpdu_bytes > settings.rts_threshold_bytes, queue_number: packet_queue, tag: packet.tag
  };

  mac_core #(
    .UNIT_TICKS(UNIT_TICKS), .QUEUE_DEPTH(PACKETS), .PEERS(PEERS), .QUEUES(QUEUES), .RATE_SERIES(RATE_SERIES)
  ) u_mac_core (
    .clk, .rst, .tick_n, .summary, .quiescent(core_quiescent), .next_timer, .want_rx_start, .contending, .sending, .nav_left_us,
    .tsf_us,
    .settings, .cfg_seed_load,
    .phy_cca_busy(from_phy.cca_busy), .phy_rx_start(from_phy.rx_start), .phy_rx_end(from_phy.rx_end), .phy_rx(reception),
    .phy_tx_start(tx_start), .phy_tx(transmission),
    .desc_valid(described && desc_window), .desc_ready, .desc(descriptor),
    .rx_deliver, .rx_duplicate(stat.rx_duplicate),
    .done_valid, .done(record), .done_word,
    .evt(core_evt),
    .nbr_take, .nbr_busy, .nbr_index, .nbr_bin, .nbr
  );

  mac_events_s events;
  always_comb begin
    events             = core_evt;
    events.tx_start    = tx_start;
    events.tx_kind     = transmission.kind;
    events.tx_retry    = transmission.retry;
    events.rx_start    = from_phy.rx_start;
    events.rx_end      = from_phy.rx_end;
    events.rx_ok       = rx_ok;
    events.rx_kind     = rx_kind;
    events.done        = done_valid;
    events.done_result = record.result;
  end
  assign evt = events;

  // ---- Frames to the PHY ----

  // The addresses of the packet stand a clock after its frame is begun; the framer looks at them a clock later. So it does
  // at the Duration, which has just been added up.
  logic        begin_q, unused_framer_busy, frame_valid, frame_last;
  logic [7:0]  frame_byte;
  addresses_s  addresses_q;
  logic [14:0] duration_us_q;
  always_ff @(posedge clk) begin
    begin_q       <= !rst && tx_start;
    addresses_q   <= addresses;
    duration_us_q <= transmission.duration_us;
  end

  framer u_framer (
    .clk, .rst, .settings,
    .start(begin_q), .kind(transmission.kind), .bytes(transmission.bytes), .duration_us(duration_us_q), .ra(transmission.ra),
    .sequence_number(tx_sequence), .retry(transmission.retry), .four_address(addresses_q.four_address),
    .a3(addresses_q.a3), .a4(addresses_q.a4), .busy(unused_framer_busy),
    .s_axis_tdata(body_data), .s_axis_tvalid(body_valid), .s_axis_tready(body_ready),
    .m_axis_tdata(frame_byte), .m_axis_tvalid(frame_valid), .m_axis_tready(phy_tx_ready), .m_axis_tlast(frame_last)
  );

  assign to_phy = '{
    tx_start: tx_start, tx_rate: transmission.rate, tx_bytes: transmission.bytes, tx_airtime_us: transmission.airtime_us,
    tx_data: frame_byte, tx_valid: frame_valid, tx_last: frame_last
  };

  // ---- Frames from the PHY ----

  logic        rx_byte_valid, unused_to_ds, unused_from_ds, unused_own, unused_group, wanted;
  logic [7:0]  rx_byte;
  logic [5:0]  unused_header_bytes;
  logic        ended_q, judge_q;                 // one and two clocks after phy_rx_end
  rx_status_s  status, status_q;
  logic [63:0] rx_tsf_us_q;

  deframer u_deframer (
    .clk, .rst, .cfg_whole(settings.monitor),
    .rx_start(from_phy.rx_start), .rx_bytes(from_phy.rx_bytes), .rx_valid(from_phy.rx_valid), .rx_data(from_phy.rx_data),
    .rx_end(from_phy.rx_end), .rx_error(from_phy.rx_error),
    .ok(rx_ok), .kind(rx_kind), .bytes(rx_bytes), .header_bytes(unused_header_bytes), .duration_us(rx_duration_us),
    .ra(rx_ra), .ta(rx_ta), .a3(rx_a3), .a4(rx_a4), .sequence_number(rx_sequence), .retry(rx_retry),
    .to_ds(unused_to_ds), .from_ds(unused_from_ds), .m_valid(rx_byte_valid), .m_data(rx_byte)
  );

  address_filter u_address_filter (
    .clk, .rst, .settings,
    .check(from_phy.rx_end), .ra(rx_ra), .own(unused_own), .group(unused_group), .wanted
  );

  assign status = '{
    tsf_us: rx_tsf_us_q, bytes: rx_bytes, rate: rx_rate_q, rssi_dbm: from_phy.rx_rssi_dbm, fcs_ok: rx_ok, kind: rx_kind, ra: rx_ra,
    ta: rx_ta, a3: rx_a3, a4: rx_a4, sequence_number: rx_sequence, retry: rx_retry
  };

  always_ff @(posedge clk) begin
    // A frame that begins before the verdict about the last one takes its place; no PHY is so quick.
    ended_q <= !rst && from_phy.rx_end && !from_phy.rx_start;
    judge_q <= !rst && ended_q && !from_phy.rx_start;
    if (from_phy.rx_start) begin
      rx_rate_q   <= from_phy.rx_rate;
      rx_tsf_us_q <= tsf_us + 64'(tick_n) - 64'(settings.phy_rx_start_delay_us);
    end
    if (from_phy.rx_end) status_q <= status;
  end

  wire logic keep = judge_q && (settings.monitor || (rx_deliver && wanted));

  rx_packet_buffer #(.RING_BYTES(RX_RING_BYTES), .FRAMES(RX_FRAMES), .STATUS_W($bits(rx_status_s))) u_rx_packet_buffer (
    .clk, .rst, .start(from_phy.rx_start), .valid(rx_byte_valid), .data(rx_byte), .keep, .status(status_q),
    .drop(judge_q && !keep), .stat_overflow(stat.rx_overflow), .stat_kept(stat.rx_kept),
    .m_status(m_rx_status), .m_axis_tdata(m_axis_rx.tdata), .m_axis_tkeep(m_axis_rx.tkeep),
    .m_axis_tvalid(m_axis_rx.tvalid), .m_axis_tready(m_axis_rx_tready), .m_axis_tlast(m_axis_rx.tlast)
  );

  // ---- Completion records ----

  logic record_busy;
  completion_stream #(.SERIAL(UNIT_TICKS)) u_completion_stream (
    .clk, .rst, .record_valid(done_valid), .record, .record_word(done_word), .busy(record_busy), .stat_overflow(stat.done_overflow),
    .m_axis_tdata(m_done.tdata), .m_axis_tkeep(m_done.tkeep), .m_axis_tvalid(m_done.tvalid),
    .m_axis_tready(m_done_tready), .m_axis_tlast(m_done.tlast)
  );

  wire logic unused = &{1'b0, s_desc.queue_number, transmission.tag};

  // What the datapath still has to do at this microsecond.
  assign quiescent = core_quiescent && !packet_valid && !ended_q && !judge_q && !tx_start && !begin_q &&
                     (UNIT_TICKS || !record_busy) && !done_valid;

endmodule

`default_nettype wire
