# SPDX-License-Identifier: GPL-2.0-or-later
"""For each proof a break of the RTL that it must find: a proof that nothing can fail proves nothing.

`gateware/formal/prove.py --planted` makes each break in a copy of its file and expects the proof to fail.
exchanges_happen claims nothing for ever: what it covers it shows.
"""

from dataclasses import dataclass

MAC = "gateware/rtl/mac"
DATAPATH = "gateware/rtl/datapath"
TOP = "gateware/rtl/top"
PHY = "gateware/rtl/phy"


@dataclass(frozen=True)
class Break:
    """Text that stands once in a file of the RTL, and what takes its place."""

    file: str
    original: str
    replacement: str
    about: str


BREAKS = {
    "transmission_rules": Break(
        f"{MAC}/responder.sv",
        "accept_rts = rx_rts_for_us && may_answer && !busy_q && nav_left_us == '0;",
        "accept_rts = rx_rts_for_us && may_answer && !busy_q;",
        "a CTS under NAV",
    ),
    "transmission_rules_two_queues": Break(
        f"{MAC}/queue_arbiter.sv",
        "held[queue]    = in_exchange[1-queue] || (",
        "held[queue]    = (",
        "both queues in an exchange",
    ),
    "retry_rules_two_queues": Break(
        f"{MAC}/frame_sequence.sv",
        "if (limit_reached) state_q <= ST_REPORT;",
        "if (limit_reached && tried_q) state_q <= ST_REPORT;",
        "the first collision within the station is one too many and yet not the last",
    ),
    "service_time_sums_two_queues": Break(
        f"{MAC}/service_time.sv",
        "responder_us_q <= responder_us_q + 32'(tick_n);",
        "responder_us_q <= responder_us_q + 32'(n_own);",
        "the other queue's wait for an answer is in no part",
    ),
    "quiescent_is_stable_two_queues": Break(
        f"{MAC}/interframe_space.sv",
        "extra_us_q <= extra_product_us;",
        "extra_us_q <= extra_us_q + extra_product_us;",
        "the lower queue's wait grows with every clock",
    ),
    "settles_two_queues": Break(
        f"{MAC}/queue_arbiter.sv",
        "if (decide) sender_q <= winner;",
        "if (decide) sender_q <= !winner;",
        "the loser is chosen, and nobody goes",
    ),
    "one_queue_at_a_time": Break(
        f"{MAC}/queue_arbiter.sv",
        "held[queue]    = in_exchange[1-queue] || (",
        "held[queue]    = (",
        "both queues in an exchange",
    ),
    "nav_rules": Break(
        f"{MAC}/nav_counter.sv",
        "if (rx_overheard && 16'(rx_duration_us) > nav_left_us_q) begin\n        nav_left_us_q ",
        "if (rx_overheard) begin\n        nav_left_us_q ",
        "a shorter Duration shortens the NAV",
    ),
    "unreachable_bins": Break(
        f"{MAC}/nav_counter.sv",
        "if (rx_start) reset_armed_q <= 1'b0;",
        "if (rx_start && nav_left_us_q == '0) reset_armed_q <= 1'b0;",
        "a frame that begins does not call the NAV reset off",
    ),
    "retry_rules": Break(
        f"{MAC}/retry_counters.sv",
        "ssrc_more == 6'(cfg_short_retry_limit)",
        "ssrc_more == 6'(cfg_short_retry_limit) + 6'd1",
        "one retry too many",
    ),
    "service_time_sums": Break(
        f"{MAC}/service_time.sv",
        "if (in_gap) response_us_q <= response_us_q + 32'(tick_n);",
        "if (in_gap && cca_busy) response_us_q <= response_us_q + 32'(tick_n);",
        "the SIFS before DATA is in no part",
    ),
    "quiescent_is_stable": Break(
        f"{MAC}/random_draw.sv",
        "end else if (step) begin",
        "end else begin",
        "a generator that runs freely",
    ),
    "backoff_rules": Break(
        f"{MAC}/backoff_counter.sv",
        "phase_us = in_slots ? phase_us_q : '0;",
        "phase_us = phase_us_q;",
        "a slot that was broken off counts in part",
    ),
    "unit_ticks": Break(
        f"{MAC}/tick_shares_pkg.sv",
        "return unit ? left[23:1] == '0 : n >= left;",
        "return unit ? left == '0 : n >= left;",
        "with UNIT_TICKS a timer ends a microsecond late",
    ),
    "jumps_split": Break(
        f"{MAC}/own_transmission.sv",
        "left_us_q - 16'(step(tick_n, UNIT_TICKS));",
        "left_us_q - 16'(left_us_q[0]) - 16'(step(tick_n, UNIT_TICKS));",
        "an odd rest loses a microsecond with each jump",
    ),
    "summaries_account": Break(
        f"{MAC}/service_time.sv",
        "+ 32'(summary_cca_us);",
        "+ 32'(summary_nav_us);",
        "a carrier that is told of late counts as a reservation",
    ),
    "summaries_state": Break(
        f"{MAC}/backoff_counter.sv",
        "slots_left_q <= summary_slots < left ? left - summary_slots : '0;",
        "slots_left_q <= summary_slots < left ? left - summary_slots - 10'(summary_phase_us != '0) : '0;",
        "the slot that is under way when a summary ends counts as a whole one",
    ),
    "service_time_pair": Break(
        f"{MAC}/service_time_serial.sv",
        "if (held || own)              part = PART_RESPONDER;",
        "if (held)                     part = PART_RESPONDER;",
        "in hardware the time of own answers is taken for the NAV",
    ),
    "neighbour_table_pair": Break(
        f"{MAC}/neighbour_table_serial.sv",
        "round_q <= left_q == 3'd1 ? sum_q[0] : sum_q[1];",
        "round_q <= sum_q[0];",
        "in hardware an average is rounded by the wrong bit where the last two places go at once",
    ),
    "account_inputs": Break(
        f"{MAC}/record_collector.sv",
        "pending_q || state_q inside {ST_COLLECT, ST_UPDATE} ||",
        "pending_q || state_q == ST_COLLECT ||",
        "time passes while the table takes an account in",
    ),
    "account_inputs_two_queues": Break(
        f"{MAC}/queue_arbiter.sv",
        "if (outcome != '0) reporter_q <= outcome[1];",
        "if (outcome[1]) reporter_q <= 1'b1;",
        "the account of one queue is collected for the other",
    ),
    "block_ram": Break(
        "gateware/rtl/common/block_ram.sv",
        "if (write) memory_q",
        "if (write && write_address != read_address) memory_q",
        "what is written while its address is read is lost",
    ),
    "tick_rules": Break(
        f"{MAC}/channel_access.sv",
        "32'(reserved_us) + 32'(ifs_left_us) + 32'(slots_left_us);",
        "32'(reserved_us) + 32'(ifs_left_us) + 32'(slots_left_us) + 32'(reserved_us != '0);",
        "a wait that is told a microsecond too long",
    ),
    "settles": Break(
        f"{MAC}/frame_sequence.sv",
        "if (draw_wanted) draw_pending_q <= draw_again;",
        "if (draw_wanted) draw_pending_q <= 1'b1;",
        "a draw that never ends",
    ),
    "framer_rules": Break(
        f"{DATAPATH}/framer.sv",
        "ST_BODY: if (body_left_q == 12'd1) begin",
        "ST_BODY: if (body_left_q <= 12'd2) begin",
        "a frame that ends a byte early",
    ),
    "rx_buffer_rules": Break(
        f"{DATAPATH}/rx_packet_buffer.sv",
        "fill_q    <= kept ? fill_q : write_q;",
        "fill_q    <= fill_q;",
        "the bytes of a dropped frame stay",
    ),
    "tx_buffer_stream": Break(
        f"{DATAPATH}/tx_packet_buffer.sv",
        "if (complete_queue == read_queue_q) read_state_q <= RD_IDLE;",
        "read_state_q <= RD_IDLE;",
        "the other queue's completion breaks a packet off",
    ),
    "completion_stream": Break(
        f"{DATAPATH}/completion_stream.sv",
        "valid_q <= read_next != write_q;",
        "valid_q <= read_next != write_q && !record_valid;",
        "a word that was offered is taken back",
    ),
    "descriptor_order": Break(
        f"{MAC}/descriptor_queue.sv",
        "if (head_taken[queue]) read_q[queue] <= read_q[queue] + 1'b1;",
        "if (head_taken[queue] && !desc_valid) read_q[queue] <= read_q[queue] + 1'b1;",
        "a packet is served twice when another comes",
    ),
    "contention_window": Break(
        f"{MAC}/contention_window.sv",
        "doubled = {held[8:0], 1'b1} & cfg_cw_max;",
        "doubled = {held[8:0], 1'b1};",
        "a window beyond CWmax",
    ),
    "queue_arbiter": Break(
        f"{MAC}/queue_arbiter.sv",
        "assign draw_again = redraw | {1'b0, draw_wanted[1]};",
        "assign draw_again = redraw;",
        "two queues draw one number",
    ),
    "random_state": Break(
        f"{MAC}/random_draw.sv",
        "s1_q <= cfg_seed == '0 ? GOLDEN : cfg_seed[63:32];",
        "s1_q <= cfg_seed[63:32];",
        "a seed of 0",
    ),
    "responses": Break(
        f"{MAC}/responder.sv",
        "rate_q         <= cfg_response_rate[rx_rate];",
        "rate_q         <= cfg_response_rate[0];",
        "answers at one rate",
    ),
    "duplicates": Break(
        f"{MAC}/duplicate_cache.sv",
        "seen    = rx_retry && known[queue]",
        "seen    = known[queue]",
        "a new frame with an old number is held back",
    ),
    "address_filter": Break(
        f"{DATAPATH}/address_filter.sv",
        "own_now   = ra == cfg_address && !is_group;",
        "own_now   = ra[46:0] == cfg_address[46:0] && !is_group;",
        "an address is compared but for one bit",
    ),
    "airtime": Break(
        f"{DATAPATH}/airtime_calculator.sv",
        "dividend_q <= quotient + DIVIDEND_W'(remainder != '0);",
        "dividend_q <= quotient + DIVIDEND_W'(remainder > 9'd1);",
        "a unit of which half a bit is used is not counted",
    ),
    "completion_records": Break(
        f"{DATAPATH}/completion_stream.sv",
        "taken     = record_valid && !busy_q && room;",
        "taken     = record_valid && room;",
        "a record that comes too early tears the one before",
    ),
    "tx_buffer_rules": Break(
        f"{DATAPATH}/tx_packet_buffer.sv",
        "complete_packet = come_q + 12'(s_axis_tkeep) == packet_bytes_q;",
        "complete_packet = come_q + 12'd1 == packet_bytes_q;",
        "a last beat without a byte counts as one",
    ),
    "deframer_rules": Break(
        f"{DATAPATH}/deframer.sv",
        "&& index_q == told_bytes_q &&",
        "&&",
        "a frame shorter than told is good",
    ),
    "axil_slave": Break(
        f"{TOP}/axil_slave.sv",
        "ST_ANSWER: if (write_q ? s_axil.bready : s_axil.rready) state_q <= ST_IDLE;",
        "ST_ANSWER: state_q <= ST_IDLE;",
        "an answer is taken back before the master has taken it",
    ),
    "record_collector": Break(
        f"{MAC}/record_collector.sv",
        "ring_q <= {collecting ? next : ring_q[0], ring_q[RING-1:1]};",
        "ring_q <= {next, ring_q[RING-1:1]};",
        "words go from the ring for good, so that it does not end as it was",
    ),
    "series_airtimes": Break(
        f"{DATAPATH}/series_airtimes.sv",
        "if (rst || taken) later_us_q <= '0;",
        "if (rst) later_us_q <= '0;",
        "a packet has airtimes of the one before it",
    ),
    "descriptor_rates": Break(
        f"{TOP}/descriptor_rates.sv",
        "read_q <= !rst && s_desc_valid && !s_desc_ready;",
        "read_q <= !rst && s_desc_valid;",
        "the next descriptor passes with the series of the one before",
    ),
    "event_log": Break(
        f"{TOP}/event_log.sv",
        ".write(push && !full)",
        ".write(push)",
        "a new entry takes the place of the oldest",
    ),
    "statistics": Break(
        f"{TOP}/statistics.sv",
        "first_waiting_q <= (take && first_turn ? '0 : first_waiting_q) + FIRST_W'(strobes[0]);",
        "first_waiting_q <= take && first_turn ? '0 : first_waiting_q + FIRST_W'(strobes[0]);",
        "a strobe in the clock of its counter's turn is lost",
    ),
    "legal_settings": Break(
        f"{TOP}/register_guard.sv",
        "assign refused_illegal_value = idle && (broken || (bus_word & ~allowed) != '0);",
        "assign refused_illegal_value = idle && (bus_word & ~allowed) != '0;",
        "the rules of fields are not asked",
    ),
    "tsf_rules": Break(
        f"{TOP}/tick_generator.sv",
        "&& in_bounds;",
        "&& 1'b1;",
        "the edges of a PHY that never raises its carrier run the clock away",
    ),
    "punctual_rules": Break(
        f"{TOP}/tick_generator.sv",
        "assign hold_strobe  = left == clocks_t'(2) || left == clocks_t'(3) || left == clocks_t'(4);",
        "assign hold_strobe  = left == clocks_t'(2) || left == clocks_t'(3);",
        "a strobe four clocks before a tick holds it up",
    ),
    "length_counter": Break(
        f"{PHY}/rx/length_counter.sv",
        "symbol_done && left_q == 16'd1;",
        "symbol_done && left_q <= 16'd1;",
        "symbols after a frame's end end it again",
    ),
    "plcp_crc": Break(
        f"{PHY}/plcp/plcp_crc.sv",
        "remainder_q[15] != data ?",
        "remainder_q[15] == data ?",
        "the register's feedback is the wrong way round",
    ),
    "gain_control": Break(
        f"{PHY}/rx/gain_control.sv",
        "sample_valid && !hold && settle_q == '0",
        "sample_valid && settle_q == '0",
        "the gain moves while a signal is received",
    ),
    "plcp_header": Break(
        f"{PHY}/rx/plcp_header.sv",
        "wire logic take = valid && !complete;",
        "wire logic take = valid;",
        "a header goes on behind its last bit",
    ),
    "plcp_parser": Break(
        f"{PHY}/rx/plcp_parser.sv",
        "else if (given_up) state_d = ST_DONE;",
        "else if (given_up && carrier_lost) state_d = ST_DONE;",
        "a signal without an SFD is searched for ever",
    ),
    "receive_sap": Break(
        f"{PHY}/sap/receive_sap.sv",
        "unread   = header_error || (frame_end && !open_q);",
        "unread   = frame_end && !open_q;",
        "no EIFS after a bad header",
    ),
    "clear_channel": Break(
        f"{PHY}/rx/clear_channel.sv",
        "frame_end && frame_lost && frame_left_us >= reserved_us_q;",
        "frame_end && frame_lost;",
        "a frame of a short LENGTH that is lost ends the reservation of a longer one",
    ),
}
