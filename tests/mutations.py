# SPDX-License-Identifier: GPL-2.0-or-later
"""Defects of existing open MACs, as small patches to ours: each must fail a test. tests/mutate.py plants them.

DEFECTS lists what this MAC must never have; at least one mutation stands for each.

It is one file: it is a table.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Edit:
    """Text of a file that stands there once, and what takes its place."""

    file: str
    original: str
    replacement: str


@dataclass(frozen=True)
class Mutation:
    """One defect, planted. `tests` are arguments of pytest: the fewest that should fail."""

    defect: int
    name: str
    about: str
    edits: tuple[Edit, ...]
    tests: tuple[str, ...]
    generate: bool = False  # gateware/spec/generate.py runs on what the edits leave


MAC = "gateware/rtl/mac"
PHY = "gateware/rtl/phy"
GATEWARE = "tests/gateware"
# In transmit_queue: the other queue's.
OTHER = "mac_core.g_queue[QUEUES-1-QUEUE].u_transmit_queue"

DEFECTS = {
    1: "a frozen back-off resumes without waiting DIFS or EIFS again",
    2: "microseconds are counted instead of whole slots",
    3: "the medium is not looked at again when the back-off ends",
    4: "no post-back-off after a success: a saturated sender is greedy",
    5: "a MAC ACK with a bad FCS is taken for success",
    6: "a CTS is sent while the NAV is busy",
    7: "EIFS is a constant, a good frame does not cancel it, or what cannot be read does not call for it",
    8: "one retry counter for short and long",
    9: "random draws from a fixed seed, or correlated between stations",
    10: "the MAC ACK time-out assumes one rate",
    11: "the 64-bit TSF is not read in one piece",
    12: "queues share contention window, retry counters or back-off",
    13: "a busy medium draws the back-off anew instead of freezing it",
    14: "registers are mirrored by hand in software",
}

MUTATIONS = (
    Mutation(
        1,
        "resumes_without_ifs",
        "slots count down from the end of the carrier on, while the inter-frame space still runs",
        (
            Edit(
                f"{MAC}/backoff_counter.sv",
                "n_slots = slots_share(n_free, cca_busy, ifs_left_us, UNIT_TICKS);",
                "n_slots = slots_share(n_free, cca_busy, '0, UNIT_TICKS);",
            ),
        ),
        (f"{GATEWARE}/backoff_counter",),
    ),
    Mutation(
        1,
        "idle_time_goes_on_through_a_carrier",
        "a carrier does not end the idle time, so that the inter-frame space is over when it ends",
        (
            Edit(
                f"{MAC}/interframe_space.sv",
                "else idle_us_q <= cca_busy ? '0 : idle_on_us;",
                "else idle_us_q <= cca_busy ? idle_us_q : idle_on_us;",
            ),
        ),
        (f"{GATEWARE}/interframe_space",),
    ),
    Mutation(
        2,
        "a_broken_slot_counts",
        "the part of a slot that was over when the medium turned busy is not counted again",
        (
            Edit(
                f"{MAC}/backoff_counter.sv",
                "phase_us = in_slots ? phase_us_q : '0;",
                "phase_us = phase_us_q;",
            ),
            Edit(
                f"{MAC}/backoff_counter.sv",
                "end else if (n_slots == '0) begin\n          phase_us_q <= '0;",
                "end else if (n_slots == '0) begin\n          phase_us_q <= phase_us_q;",
            ),
        ),
        (f"{GATEWARE}/backoff_counter",),
    ),
    Mutation(
        3,
        "sends_when_the_slots_are_over",
        "no look at the idle time when no slot is left",
        (
            Edit(
                f"{MAC}/channel_access.sv",
                "dcf ? slots_left == '0 && reserved_us == '0 && ifs_over : !medium_busy;",
                "dcf ? slots_left == '0 && reserved_us == '0 : !medium_busy;",
            ),
        ),
        (f"{GATEWARE}/frame_sequence", "-k", "nothing_is_sent_before"),
    ),
    Mutation(
        3,
        "sends_under_nav",
        "no look at the NAV when no slot is left",
        (
            Edit(
                f"{MAC}/channel_access.sv",
                "dcf ? slots_left == '0 && reserved_us == '0 && ifs_over : !medium_busy;",
                "dcf ? slots_left == '0 && ifs_over : !medium_busy;",
            ),
        ),
        (f"{GATEWARE}/frame_sequence", "-k", "nothing_is_sent_before"),
    ),
    Mutation(
        4,
        "no_post_backoff",
        "a delivered packet calls for no back-off",
        (
            Edit(
                f"{MAC}/frame_sequence.sv",
                "if ((delivered || sent) && dcf) draw_pending_q <= 1'b1;",
                "if (sent && dcf) draw_pending_q <= 1'b1;",
            ),
        ),
        (f"{GATEWARE}/mac_core/test_mac_core.py", "-k", "exchange"),
    ),
    Mutation(
        4,
        "no_post_backoff_after_a_group_frame",
        "a frame to a group calls for no back-off",
        (
            Edit(
                f"{MAC}/frame_sequence.sv",
                "if ((delivered || sent) && dcf) draw_pending_q <= 1'b1;",
                "if (delivered && dcf) draw_pending_q <= 1'b1;",
            ),
        ),
        (f"{GATEWARE}/frame_sequence", "-k", "a_group_frame_needs_no_answer"),
    ),
    Mutation(
        5,
        "bad_mac_ack_is_success",
        "the FCS of a MAC ACK is not looked at",
        (
            Edit(
                f"{MAC}/phy_events.sv",
                "rx_mac_ack_for_us: good && for_us_q",
                "rx_mac_ack_for_us: end_q && for_us_q",
            ),
        ),
        (f"{GATEWARE}/phy_events",),
    ),
    Mutation(
        6,
        "cts_under_nav",
        "an RTS is answered whatever the NAV says",
        (
            Edit(
                f"{MAC}/responder.sv",
                "accept_rts = rx_rts_for_us && may_answer && !busy_q && nav_left_us == '0;",
                "accept_rts = rx_rts_for_us && may_answer && !busy_q;",
            ),
        ),
        (f"{GATEWARE}/responder",),
    ),
    Mutation(
        7,
        "eifs_is_not_cancelled",
        "a good frame after a bad one leaves EIFS in force",
        (
            Edit(
                f"{MAC}/interframe_space.sv",
                "else if (rx_end) extended_q <= rx_bad && !cfg_quirk_eifs_as_nav;",
                "else if (rx_bad) extended_q <= !cfg_quirk_eifs_as_nav;",
            ),
        ),
        (f"{GATEWARE}/interframe_space",),
    ),
    Mutation(
        7,
        "eifs_is_364_in_the_gateware",
        "DSSS's EIFS whatever the register says",
        (Edit(f"{MAC}/interframe_space.sv", "assign eifs_us = cfg_eifs_us;", "assign eifs_us = 16'd364;"),),
        (f"{GATEWARE}/interframe_space",),
    ),
    Mutation(
        7,
        "eifs_is_364_in_every_profile",
        "EIFS is not computed from SIFS, DIFS and the slowest MAC ACK of the profile",
        (
            Edit(
                "gateware/spec/model.py",
                "eifs_us=source.sifs_us + slowest_mac_ack_us + difs_us,",
                "eifs_us=364,",
            ),
        ),
        (f"{GATEWARE}/spec/test_profiles.py",),
        generate=True,
    ),
    Mutation(
        7,
        "no_eifs_after_a_header_error",
        "the modem ends a PLCP header whose CRC is bad without an error",
        (
            Edit(
                f"{PHY}/sap/receive_sap.sv",
                "unread   = header_error || (frame_end && !open_q);",
                "unread   = frame_end && !open_q;",
            ),
        ),
        (f"{GATEWARE}/dsss_phy/test_dsss_phy.py", "-k", "bad_header"),
    ),
    Mutation(
        7,
        "no_eifs_after_a_frame_at_another_rate",
        "the modem waits for a frame at 11 Mb/s and ends it without an error",
        (
            Edit(
                f"{PHY}/sap/receive_sap.sv",
                "unread   = header_error || (frame_end && !open_q);",
                "unread   = header_error;",
            ),
        ),
        (f"{GATEWARE}/dsss_phy/test_dsss_phy.py", "-k", "another_rate"),
    ),
    Mutation(
        8,
        "one_retry_counter",
        "both kinds of failure are counted in one place",
        (
            Edit(
                f"{MAC}/retry_counters.sv",
                "if (short_failure) ssrc_q <= ssrc_more[4:0];",
                "if (short_failure || long_failure) ssrc_q <= ssrc_more[4:0];",
            ),
            Edit(
                f"{MAC}/retry_counters.sv",
                "wire logic       long_last  = slrc_more",
                "wire logic       long_last  = ssrc_more",
            ),
        ),
        (f"{GATEWARE}/retry_counters",),
    ),
    Mutation(
        9,
        "fixed_seed",
        "the seed is not loaded",
        (
            Edit(f"{MAC}/random_draw.sv", "s0_q <= cfg_seed[31:0];", "s0_q <= GOLDEN;"),
            Edit(f"{MAC}/random_draw.sv", "cfg_seed == '0 ? GOLDEN : cfg_seed[63:32];", "32'd1;"),
        ),
        (f"{GATEWARE}/random_draw",),
    ),
    Mutation(
        9,
        "correlated_draws",
        "half of the seed is not used, and draws are a linear function of the rest",
        (
            Edit(f"{MAC}/random_draw.sv", "cfg_seed == '0 ? GOLDEN : cfg_seed[63:32];", "GOLDEN;"),
            Edit(f"{MAC}/random_draw.sv", "sum = s0_q + s1_q;", "sum = s0_q;"),
        ),
        (f"{GATEWARE}/random_draw",),
    ),
    Mutation(
        10,
        "responses_at_one_rate",
        "the MAC ACK, and how long it is waited for, are those of the control rate",
        (
            Edit(
                f"{MAC}/next_frame.sv",
                "mac_ack_us  = cfg_response_airtime_us[data_rate];",
                "mac_ack_us  = cfg_response_airtime_us[cfg_rts_rate];",
            ),
        ),
        (f"{GATEWARE}/frame_sequence", "-k", "ns2_waits_for_the_mac_ack"),
    ),
    Mutation(
        10,
        "time_out_of_one_rate",
        "DATA at any rate is given the airtime of the first rate's MAC ACK to be answered in",
        (
            Edit(
                f"{MAC}/next_frame.sv",
                "(answered && cfg_quirk_fixed_timeout ? 17'(response_us) : 17'd0);",
                "(answered && cfg_quirk_fixed_timeout ? 17'(cfg_response_airtime_us[0]) : 17'd0);",
            ),
        ),
        (f"{GATEWARE}/frame_sequence", "-k", "ns2_waits_for_the_mac_ack"),
    ),
    Mutation(
        10,
        "answers_at_one_rate",
        "DATA is answered at the first rate's response rate",
        (
            Edit(f"{MAC}/responder.sv", "<= cfg_response_rate[rx_rate];", "<= cfg_response_rate[0];"),
            Edit(
                f"{MAC}/responder.sv",
                "airtime_us = cfg_response_airtime_us[rx_rate];",
                "airtime_us = cfg_response_airtime_us[0];",
            ),
        ),
        (f"{GATEWARE}/responder",),
    ),
    Mutation(
        11,
        "tsf_carries_late",
        "the TSF's upper half follows the lower one a clock later",
        (
            Edit(f"{MAC}/tsf_timer.sv", "logic [63:0] tsf_us_q;", "logic [63:0] tsf_us_q;\n  logic carry_q;"),
            Edit(
                f"{MAC}/tsf_timer.sv",
                "    if (rst) tsf_us_q <= '0;\n    else if (tick_n != '0) tsf_us_q <= tsf_us_q + 64'(tick_n);",
                "    if (rst) {carry_q, tsf_us_q} <= '0;\n    else begin\n"
                "      {carry_q, tsf_us_q[31:0]} <= 33'(tsf_us_q[31:0]) + 33'(tick_n);\n"
                "      tsf_us_q[63:32] <= tsf_us_q[63:32] + 32'(carry_q);\n    end",
            ),
        ),
        (f"{GATEWARE}/tsf_timer",),
    ),
    Mutation(
        12,
        "queues_share_the_window",
        "a queue's contention window doubles and returns with the other queue's outcomes too",
        (
            Edit(
                f"{MAC}/transmit_queue.sv",
                ".reset_window, .double_window, .random,",
                f".reset_window(reset_window || {OTHER}.reset_window), "
                f".double_window(double_window || {OTHER}.double_window), .random,",
            ),
        ),
        (f"{GATEWARE}/mac_core/test_mac_core_random.py", "-k", "two_queues_do"),
    ),
    Mutation(
        12,
        "queues_share_the_retry_counters",
        "a queue counts the failures of the other one too",
        (
            Edit(
                f"{MAC}/transmit_queue.sv",
                ".short_failure(counted.short_failure),\n    .long_failure(counted.long_failure),",
                f".short_failure(counted.short_failure || {OTHER}.counted.short_failure), "
                f".long_failure(counted.long_failure || {OTHER}.counted.long_failure),",
            ),
        ),
        (f"{GATEWARE}/mac_core/test_mac_core_random.py", "-k", "two_queues_do"),
    ),
    Mutation(
        12,
        "queues_share_the_back_off",
        "the frame of one queue ends the back-off of the other",
        (
            Edit(
                f"{MAC}/transmit_queue.sv",
                ".access_taken, .cca_busy(busy), .reserved_us, .ifs_left_us,",
                f".access_taken(access_taken || {OTHER}.access_taken), .cca_busy(busy), .reserved_us, .ifs_left_us,",
            ),
        ),
        (f"{GATEWARE}/mac_core/test_mac_core_random.py", "-k", "two_queues_do"),
    ),
    Mutation(
        13,
        "busy_medium_draws_anew",
        "a carrier that appears while a back-off runs has another number drawn",
        (
            Edit(
                f"{MAC}/transmit_queue.sv",
                ".settings, .contending(contends)",
                ".clk, .settings, .contending(contends)",
            ),
            Edit(
                f"{MAC}/channel_access.sv",
                "  input  wire mac_settings_s settings,",
                "  input  wire logic clk,\n  input  wire mac_settings_s settings,",
            ),
            Edit(
                f"{MAC}/channel_access.sv",
                "  // Contention. ",
                "  logic was_busy_q;\n  always_ff @(posedge clk) was_busy_q <= cca_busy;\n  // Contention. ",
            ),
            Edit(
                f"{MAC}/channel_access.sv",
                "!backoff_running && medium_busy && !wants;",
                "(!backoff_running ? medium_busy : cca_busy && !was_busy_q) && !wants;",
            ),
        ),
        (f"{GATEWARE}/mac_core/test_mac_core.py", "-k", "access"),
    ),
    Mutation(
        11,
        "tsf_register_is_not_buffered",
        "reading the low word of the TSF register does not capture the high one",
        (
            Edit(
                "gateware/spec/registers.rdl",
                'name = "TSF timer";\n    regwidth = 64;\n    buffer_reads;',
                'name = "TSF timer";\n    regwidth = 64;',
            ),
        ),
        (f"{GATEWARE}/mac_registers", "-k", "torn"),
        generate=True,
    ),
    Mutation(
        14,
        "field_moved_in_the_specification_alone",
        "a field of the register map moves by a bit, and nothing is generated from it",
        (
            Edit(
                "gateware/spec/registers.rdl",
                'at_least = "cw_min"; } cw_max[25:16]',
                'at_least = "cw_min"; } cw_max[26:17]',
            ),
        ),
        (f"{GATEWARE}/spec/test_spec_is_current.py",),
    ),
    Mutation(
        14,
        "field_moved_by_hand",
        "the host's copy of the register map is edited by hand",
        (
            Edit(
                "host/core/wire/generated/registers.hpp",
                'cw_max{"cw_max", 16, 10, registers::access::read_write, 0x3FF,',
                'cw_max{"cw_max", 17, 10, registers::access::read_write, 0x3FF,',
            ),
        ),
        (f"{GATEWARE}/spec/test_spec_is_current.py",),
    ),
    Mutation(
        14,
        "port_narrower_than_its_register",
        "the gateware takes a bit less than the register has",
        (
            Edit(
                f"{MAC}/nav_counter.sv",
                "wire logic [15:0] cfg_eifs_us = settings.eifs_us;",
                "wire logic [14:0] cfg_eifs_us = settings.eifs_us;",
            ),
        ),
        (f"{GATEWARE}/spec/test_gateware_fits.py",),
    ),
)
