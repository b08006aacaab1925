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
  parameter int unsigned RX_FRAMES     = 16,
  parameter int unsigned GROUPS        = 4
) (
  input  wire logic        clk,
  input  wire logic        rst,                 // synchronous, active high

  // Time.
  input  wire logic [23:0] tick_n,              // microseconds that pass with this clock
  output wire logic        quiescent,
  output wire logic        core_quiescent,      // time may pass, bytes may still be moving
  output wire logic [31:0] next_timer,          // all ones: none
  output wire logic        want_rx_start,
  output wire logic        contending,
  output wire logic        sending,             // an own frame is on the air, or SIFS before it runs
  output wire logic [15:0] nav_left_us,
  output wire logic [63:0] tsf_us,

  // Settings; they change only while the MAC is idle.
  input  wire logic [47:0] cfg_address,
  input  wire logic [63:0] cfg_seed,
  input  wire logic        cfg_seed_load,
  input  wire logic [12:0] cfg_slot_us,
  input  wire logic [12:0] cfg_sifs_us,
  input  wire logic [14:0] cfg_difs_us,
  input  wire logic [15:0] cfg_eifs_us,
  input  wire logic [15:0] cfg_response_timeout_us,
  input  wire logic [15:0] cfg_nav_reset_us,
  input  wire logic [9:0]  cfg_cw_min           [QUEUES],   // a power of two less one, as is cfg_cw_max
  input  wire logic [9:0]  cfg_cw_max           [QUEUES],
  input  wire logic [3:0]  cfg_aifs_extra_slots [QUEUES],   // added to DIFS and EIFS; ignored with one queue
  input  wire logic [4:0]  cfg_short_retry_limit,
  input  wire logic [4:0]  cfg_long_retry_limit,
  input  wire logic [2:0]  cfg_average_shift,
  input  wire logic [2:0]  cfg_rts_rate,
  input  wire logic [15:0] cfg_rts_airtime_us,
  input  wire logic [2:0]  cfg_response_rate       [8],
  input  wire logic [15:0] cfg_response_airtime_us [8],
  input  wire logic        cfg_quirk_eifs_as_nav,
  input  wire logic        cfg_quirk_no_nav_reset,
  input  wire logic        cfg_quirk_fixed_timeout,
  input  wire logic        cfg_quirk_draw_below_cw,
  input  wire logic        cfg_quirk_backoff_at_once,   // ns-2: a back-off that begins on an idle medium skips the IFS
  input  wire logic [1:0]  cfg_access_mode,
  input  wire logic        cfg_no_mac_ack,      // DATA to one station is done when sent, and is not answered
  input  wire logic [15:0] cfg_vacation_us,     // csma, fama: rest after a packet

  input  wire logic [47:0] cfg_bssid,           // address 3 of frames with three addresses
  input  wire logic [11:0] cfg_rts_threshold_bytes,   // a longer MPDU is preceded by an RTS
  input  wire logic [15:0] cfg_phy_rx_start_delay_us, // from a frame's first bit to phy_rx_start
  input  wire logic [47:0] cfg_group_address [GROUPS],
  input  wire logic [GROUPS-1:0] cfg_group_joined,
  input  wire logic        cfg_all_groups,
  input  wire logic        cfg_monitor,
  input  wire logic [9:0]  cfg_airtime_base_us            [8],   // coefficients of the rates, see airtime_calculator
  input  wire logic [8:0]  cfg_airtime_half_bits_per_unit [8],
  input  wire logic [2:0]  cfg_airtime_unit_shift         [8],
  input  wire logic [5:0]  cfg_airtime_overhead_half_bits [8],

  // From the PHY.
  input  wire logic        phy_cca_busy,        // level
  input  wire logic        phy_rx_start,        // one clock: a PLCP header was good, with
  input  wire logic [2:0]  phy_rx_rate,
  input  wire logic [11:0] phy_rx_bytes,        // and the length that it tells
  input  wire logic [7:0]  phy_rx_data,
  input  wire logic        phy_rx_valid,
  input  wire logic        phy_rx_end,          // one clock, after the last byte, with
  input  wire logic        phy_rx_error,        // the carrier was lost, or the modulation violated
  input  wire logic [7:0]  phy_rx_rssi_dbm,     // two's complement

  // To the PHY.
  output wire logic        phy_tx_start,        // one clock, with
  output wire logic [2:0]  phy_tx_rate,
  output wire logic [11:0] phy_tx_bytes,
  output wire logic [15:0] phy_tx_airtime_us,
  output wire logic [7:0]  phy_tx_data,
  output wire logic        phy_tx_valid,
  input  wire logic        phy_tx_ready,
  output wire logic        phy_tx_last,

  // Packets from the host: a descriptor, then the MSDU.
  input  wire logic        desc_window,         // mac_core may be told of one in this clock; 1: in any
  input  wire logic        s_desc_valid,
  output wire logic        s_desc_ready,        // the queue has room for it
  input  wire logic        s_desc_queue,
  input  wire logic [47:0] s_desc_ra,
  input  wire logic        s_desc_four_address,
  input  wire logic [47:0] s_desc_a3,           // with four addresses: destination
  input  wire logic [47:0] s_desc_a4,           // and source
  input  wire logic [3:0]  s_desc_peer,
  input  wire logic [11:0] s_desc_bytes,        // of the MSDU
  input  wire logic [2:0]  s_desc_rate,
  input  wire logic [19:0] s_desc_series_attempts,   // at s_desc_rate, then at three more rates, low bits first; 0 ends the series,
  input  wire logic [8:0]  s_desc_series_rate,       // whose last rate is for all attempts that remain
  input  wire logic        s_desc_force_rts,    // an RTS whatever the length
  input  wire logic [15:0] s_desc_tag,
  input  wire logic [7:0]  s_axis_tx_tdata,
  input  wire logic        s_axis_tx_tkeep,
  input  wire logic        s_axis_tx_tvalid,
  output wire logic        s_axis_tx_tready,
  input  wire logic        s_axis_tx_tlast,

  // Received frames to the host. The status stands with every byte of its frame.
  output wire rx_status_s  m_rx_status,
  output wire logic [7:0]  m_axis_rx_tdata,
  output wire logic        m_axis_rx_tkeep,
  output wire logic        m_axis_rx_tvalid,
  input  wire logic        m_axis_rx_tready,
  output wire logic        m_axis_rx_tlast,

  // Completion records to the host.
  output wire logic [31:0] m_done_tdata,
  output wire logic [3:0]  m_done_tkeep,
  output wire logic        m_done_tvalid,
  input  wire logic        m_done_tready,
  output wire logic        m_done_tlast,

  // One clock each.
  output wire logic        stat_tx_refused,     // a packet of the host that cannot be sent
  output wire logic        stat_rx_kept,
  output wire logic        stat_rx_overflow,    // a frame that the host was too slow for
  output wire logic        stat_rx_duplicate,
  output wire logic        stat_done_overflow,  // a completion record that the host was too slow for

  // What happens, for counters and an event log: a clock each, but for the back-off's levels.
  output wire logic [2:0]  evt_tx_kind,         // with phy_tx_start
  output wire logic        evt_tx_retry,
  output wire logic        evt_rx_ok,           // with phy_rx_end
  output wire logic [2:0]  evt_rx_kind,
  output wire logic        evt_response,        // the CTS or MAC ACK that was waited for came
  output wire logic        evt_timeout,         // or did not
  output wire logic        evt_done,
  output wire logic [1:0]  evt_done_result,
  output wire logic        evt_queue,           // of the exchange
  output wire logic        evt_packet_taken    [QUEUES],
  output wire logic        evt_backoff_running [QUEUES],
  output wire logic [9:0]  evt_backoff_slots   [QUEUES],

  // Snapshot of a neighbour's entries: out one clock after nbr_take; with UNIT_TICKS when nbr_busy has fallen, and
  // nbr_index and nbr_bin stand until then.
  input  wire logic        nbr_take,
  output wire logic        nbr_busy,
  input  wire logic [3:0]  nbr_index,
  input  wire logic [3:0]  nbr_bin,
  output wire logic [27:0] nbr_avg_contention_us16,
  output wire logic [27:0] nbr_avg_overhead_us16,
  output wire logic [15:0] nbr_avg_data_attempts_256,
  output wire logic [31:0] nbr_packets,
  output wire logic [31:0] nbr_drops,
  output wire logic [47:0] nbr_service_us,
  output wire logic [15:0] nbr_histogram
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
  logic        done_valid, tx_start, tx_retry, tx_queue;
  logic [2:0]  tx_kind;
  logic [14:0] tx_duration_us;
  logic [47:0] tx_ra;
  logic [11:0] tx_sequence;
  logic [15:0] unused_tx_tag;

  // With one queue all packets go to that one.
  wire logic given_queue = QUEUES > 1 && s_desc_queue;
  assign given = '{
    ra: s_desc_ra, four_address: s_desc_four_address, peer: s_desc_peer, rate: s_desc_rate,
    force_rts: s_desc_force_rts, series_attempts: s_desc_series_attempts, series_rate: s_desc_series_rate, tag: s_desc_tag
  };
  assign given_addresses = '{four_address: s_desc_four_address, a3: s_desc_a3, a4: s_desc_a4};

  tx_packet_buffer #(
    .QUEUES(QUEUES), .RING_BYTES(TX_RING_BYTES), .PACKETS(PACKETS), .EARLY_ROOM(!UNIT_TICKS), .DESC_W($bits(packet_s)), .FRAME_W($bits(addresses_s))
  ) u_tx_packet_buffer (
    .clk, .rst,
    .s_desc_valid, .s_desc_ready, .s_desc_queue(given_queue), .s_desc_bytes, .s_desc_data(given), .s_desc_frame(given_addresses),
    .s_axis_tdata(s_axis_tx_tdata), .s_axis_tkeep(s_axis_tx_tkeep), .s_axis_tvalid(s_axis_tx_tvalid),
    .s_axis_tready(s_axis_tx_tready), .s_axis_tlast(s_axis_tx_tlast), .room_bytes(unused_room_bytes),
    .stat_refused(stat_tx_refused),
    .m_desc_valid(packet_valid), .m_desc_ready(packet_taken), .m_desc_queue(packet_queue), .m_desc_bytes(msdu_bytes),
    .m_desc_data(packet),
    .read_start(tx_start && tx_kind == FRAME_DATA), .read_queue(tx_queue), .complete(done_valid),
    .complete_queue(record.done_queue),
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
    .clk, .rst, .cfg_airtime_base_us, .cfg_airtime_half_bits_per_unit, .cfg_airtime_unit_shift,
    .cfg_airtime_overhead_half_bits,
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
  logic [1:0]  done_result;
  logic [31:0] done_word;

  mac_core #(
    .UNIT_TICKS(UNIT_TICKS), .QUEUE_DEPTH(PACKETS), .PEERS(PEERS), .QUEUES(QUEUES), .RATE_SERIES(RATE_SERIES)
  ) u_mac_core (
    .clk, .rst, .tick_n, .quiescent(core_quiescent), .next_timer, .want_rx_start, .contending, .sending, .nav_left_us,
    .tsf_us,
    .cfg_address, .cfg_seed, .cfg_seed_load, .cfg_slot_us, .cfg_sifs_us, .cfg_difs_us, .cfg_eifs_us,
    .cfg_response_timeout_us, .cfg_nav_reset_us, .cfg_cw_min, .cfg_cw_max, .cfg_aifs_extra_slots, .cfg_short_retry_limit,
    .cfg_long_retry_limit, .cfg_average_shift, .cfg_rts_rate, .cfg_rts_airtime_us, .cfg_response_rate,
    .cfg_response_airtime_us, .cfg_quirk_eifs_as_nav, .cfg_quirk_no_nav_reset, .cfg_quirk_fixed_timeout,
    .cfg_quirk_draw_below_cw, .cfg_quirk_backoff_at_once, .cfg_access_mode, .cfg_no_mac_ack, .cfg_vacation_us,
    .phy_cca_busy, .phy_rx_start, .phy_rx_end, .phy_rx_ok(rx_ok), .phy_rx_kind(rx_kind), .phy_rx_rate(rx_rate_q),
    .phy_rx_duration_us(rx_duration_us), .phy_rx_ra(rx_ra), .phy_rx_ta(rx_ta), .phy_rx_sequence(rx_sequence),
    .phy_rx_retry(rx_retry),
    .phy_tx_start(tx_start), .phy_tx_kind(tx_kind), .phy_tx_rate, .phy_tx_bytes, .phy_tx_airtime_us,
    .phy_tx_duration_us(tx_duration_us), .phy_tx_ra(tx_ra), .phy_tx_sequence(tx_sequence), .phy_tx_retry(tx_retry),
    .phy_tx_tag(unused_tx_tag), .phy_tx_queue(tx_queue),
    .desc_valid(described && desc_window), .desc_ready, .desc_queue(packet_queue), .desc_ra(packet.ra), .desc_peer(packet.peer),
    .desc_bytes(mpdu_bytes), .desc_rate(packet.rate), .desc_airtime_us(airtime_us),
    .desc_use_rts(packet.force_rts || mpdu_bytes > cfg_rts_threshold_bytes), .desc_tag(packet.tag),
    .desc_series_attempts(packet.series_attempts), .desc_series_rate(packet.series_rate),
    .desc_series_airtime_us(series_airtime_us),
    .rx_deliver, .rx_duplicate(stat_rx_duplicate),
    .done_valid, .done_queue(record.done_queue),
    .done_tag(record.done_tag), .done_peer(record.done_peer), .done_sequence(record.done_sequence),
    .done_bytes(record.done_bytes), .done_rate(record.done_rate), .done_result,
    .done_rts_attempts(record.done_rts_attempts), .done_data_attempts(record.done_data_attempts),
    .done_ssrc(record.done_ssrc), .done_slrc(record.done_slrc), .done_cw(record.done_cw),
    .done_slots_drawn(record.done_slots_drawn), .done_t_enqueue_us(record.done_t_enqueue_us),
    .done_t_head_us(record.done_t_head_us), .done_t_first_tx_us(record.done_t_first_tx_us),
    .done_t_done_us(record.done_t_done_us), .done_queue_us(record.done_queue_us), .done_ifs_us(record.done_ifs_us),
    .done_backoff_us(record.done_backoff_us), .done_frozen_cca_us(record.done_frozen_cca_us),
    .done_frozen_nav_us(record.done_frozen_nav_us), .done_control_us(record.done_control_us),
    .done_data_us(record.done_data_us), .done_response_us(record.done_response_us),
    .done_timeout_us(record.done_timeout_us), .done_responder_us(record.done_responder_us),
    .done_avg_contention_us16(record.done_avg_contention_us16),
    .done_avg_overhead_us16(record.done_avg_overhead_us16),
    .done_avg_data_attempts_256(record.done_avg_data_attempts_256), .done_word,
    .evt_response, .evt_timeout, .evt_queue, .evt_packet_taken, .evt_backoff_running, .evt_backoff_slots,
    .nbr_take, .nbr_busy, .nbr_index, .nbr_bin, .nbr_avg_contention_us16, .nbr_avg_overhead_us16,
    .nbr_avg_data_attempts_256, .nbr_packets, .nbr_drops, .nbr_service_us, .nbr_histogram
  );

  assign record.done_result = tx_result_e'(done_result);
  assign evt_done           = done_valid;
  assign evt_done_result    = done_result;

  // ---- Frames to the PHY ----

  // The addresses of the packet stand a clock after its frame is begun; the framer looks at them a clock later. So it does
  // at the Duration, which has just been added up.
  logic        begin_q, unused_framer_busy;
  addresses_s  addresses_q;
  logic [14:0] duration_us_q;
  always_ff @(posedge clk) begin
    begin_q       <= !rst && tx_start;
    addresses_q   <= addresses;
    duration_us_q <= tx_duration_us;
  end

  framer u_framer (
    .clk, .rst, .cfg_address, .cfg_bssid,
    .start(begin_q), .kind(tx_kind), .bytes(phy_tx_bytes), .duration_us(duration_us_q), .ra(tx_ra),
    .sequence_number(tx_sequence), .retry(tx_retry), .four_address(addresses_q.four_address), .a3(addresses_q.a3),
    .a4(addresses_q.a4), .busy(unused_framer_busy),
    .s_axis_tdata(body_data), .s_axis_tvalid(body_valid), .s_axis_tready(body_ready),
    .m_axis_tdata(phy_tx_data), .m_axis_tvalid(phy_tx_valid), .m_axis_tready(phy_tx_ready), .m_axis_tlast(phy_tx_last)
  );

  assign phy_tx_start = tx_start;
  assign evt_tx_kind  = tx_kind;
  assign evt_tx_retry = tx_retry;

  // ---- Frames from the PHY ----

  logic        rx_byte_valid, unused_to_ds, unused_from_ds, unused_own, unused_group, wanted;
  logic [7:0]  rx_byte;
  logic [5:0]  unused_header_bytes;
  logic        ended_q, judge_q;                 // one and two clocks after phy_rx_end
  rx_status_s  status, status_q;
  logic [63:0] rx_tsf_us_q;

  deframer u_deframer (
    .clk, .rst, .cfg_whole(cfg_monitor),
    .rx_start(phy_rx_start), .rx_bytes(phy_rx_bytes), .rx_valid(phy_rx_valid), .rx_data(phy_rx_data),
    .rx_end(phy_rx_end), .rx_error(phy_rx_error),
    .ok(rx_ok), .kind(rx_kind), .bytes(rx_bytes), .header_bytes(unused_header_bytes), .duration_us(rx_duration_us),
    .ra(rx_ra), .ta(rx_ta), .a3(rx_a3), .a4(rx_a4), .sequence_number(rx_sequence), .retry(rx_retry),
    .to_ds(unused_to_ds), .from_ds(unused_from_ds), .m_valid(rx_byte_valid), .m_data(rx_byte)
  );

  address_filter #(.GROUPS(GROUPS)) u_address_filter (
    .clk, .rst, .cfg_address, .cfg_group_address, .cfg_group_joined, .cfg_all_groups, .cfg_monitor,
    .check(phy_rx_end), .ra(rx_ra), .own(unused_own), .group(unused_group), .wanted
  );

  assign status = '{
    rx_status_tsf_us: rx_tsf_us_q, rx_status_bytes: rx_bytes, rx_status_rate: rx_rate_q,
    rx_status_rssi_dbm: phy_rx_rssi_dbm, rx_status_fcs_ok: rx_ok, rx_status_kind: rx_kind, rx_status_ra: rx_ra,
    rx_status_ta: rx_ta, rx_status_a3: rx_a3, rx_status_a4: rx_a4, rx_status_sequence: rx_sequence,
    rx_status_retry: rx_retry
  };

  always_ff @(posedge clk) begin
    // A frame that begins before the verdict about the last one takes its place; no PHY is so quick.
    ended_q <= !rst && phy_rx_end && !phy_rx_start;
    judge_q <= !rst && ended_q && !phy_rx_start;
    if (phy_rx_start) begin
      rx_rate_q   <= phy_rx_rate;
      rx_tsf_us_q <= tsf_us + 64'(tick_n) - 64'(cfg_phy_rx_start_delay_us);
    end
    if (phy_rx_end) status_q <= status;
  end

  assign evt_rx_ok   = rx_ok;
  assign evt_rx_kind = rx_kind;

  wire logic keep = judge_q && (cfg_monitor || (rx_deliver && wanted));

  rx_packet_buffer #(.RING_BYTES(RX_RING_BYTES), .FRAMES(RX_FRAMES), .STATUS_W($bits(rx_status_s))) u_rx_packet_buffer (
    .clk, .rst, .start(phy_rx_start), .valid(rx_byte_valid), .data(rx_byte), .keep, .status(status_q),
    .drop(judge_q && !keep), .stat_overflow(stat_rx_overflow), .stat_kept(stat_rx_kept),
    .m_status(m_rx_status), .m_axis_tdata(m_axis_rx_tdata), .m_axis_tkeep(m_axis_rx_tkeep),
    .m_axis_tvalid(m_axis_rx_tvalid), .m_axis_tready(m_axis_rx_tready), .m_axis_tlast(m_axis_rx_tlast)
  );

  // ---- Completion records ----

  logic record_busy;
  completion_stream #(.SERIAL(UNIT_TICKS)) u_completion_stream (
    .clk, .rst, .record_valid(done_valid), .record, .record_word(done_word), .busy(record_busy), .stat_overflow(stat_done_overflow),
    .m_axis_tdata(m_done_tdata), .m_axis_tkeep(m_done_tkeep), .m_axis_tvalid(m_done_tvalid),
    .m_axis_tready(m_done_tready), .m_axis_tlast(m_done_tlast)
  );

  wire logic unused = &{1'b0, s_desc_queue};

  // What the datapath still has to do at this microsecond.
  assign quiescent = core_quiescent && !packet_valid && !ended_q && !judge_q && !tx_start && !begin_q &&
                     (UNIT_TICKS || !record_busy) && !done_valid;

endmodule

`default_nettype wire
