# SPDX-License-Identifier: GPL-2.0-or-later
"""The claims that `make prove` shows, and how: one Job a claim (prove.py runs them).

It is one file because it is one list: what a proof takes for granted is shown by another that stands beside it.
"""

from dataclasses import dataclass, replace

from breaks import Break

PACKAGES = (
    "gateware/rtl/common/perhop_pkg.sv",
    "gateware/rtl/common/perhop_phy_pkg.sv",
    "gateware/rtl/mac/tick_shares_pkg.sv",
)
RTL = "gateware/rtl"
REGISTERS = f"{RTL}/common/registers/perhop_register"
REGISTER_PACKAGES = (
    *(f"{REGISTERS}_words_pkg.sv", f"{REGISTERS}s_pkg.sv"),
    f"{RTL}/common/registers/perhop_radio_register_words_pkg.sv",
)
# What the modules say that unit_ticks leaves out because they have no ticks.
WITHOUT_TICKS = ("head_valid", "head", "random")
# Registers that only a core with UNIT_TICKS has, and what they are in terms of their module {0}. While an own frame is
# on the air nobody looks at the comparison of the inter-frame space.
OWN_FRAME = "g_copy[1].u_mac_core.own_left_us != '0"
UNIT_REGISTERS = {
    "waits_q": "17'({0}.ifs_us) > 17'({0}.idle_us)",
    "waits_on_q": "17'({0}.ifs_us) > 17'({0}.idle_us) + 17'd1",
    "holds_q": "{0}.left_us_q != '0",
    "reserved_q": "{0}.nav_left_us_q != '0",
    "reset_over_q": "{0}.reset_left_us_q == '0",
    "timer_over_q": "{0}.timer_us_q == '0",
}
# Registers that are high for one clock and may fall while nothing happens.
STROBES = (
    "u_duplicate_cache.deliver_q",
    "u_duplicate_cache.duplicate_q",
    "u_transmit_port.start_q",
    r"g_queue\[\d\].u_transmit_queue.u_frame_sequence.done_valid_q",
)
# The product of two settings, which stand, and so does it: no solver has to multiply to know that.
SETTINGS_PRODUCT = "g_queue[{}].u_transmit_queue.u_interframe_space.g_aifs.extra_product_us"
# Registers of what only settings say, which stand; they follow them within two clocks of reset.
OF_SETTINGS = (r"g_queue\[\d\].u_transmit_queue.u_interframe_space.g_aifs.(extra|difs|eifs)_us_q",)

# What the proofs of the two accounts and of the two neighbour tables take for granted, and who shows it.
ACCOUNT_RULES = ("mac_environment", "service_time_inputs", "neighbour_table_inputs", "account_rules")
NEIGHBOUR_TABLE_PAIR = ("block_ram_any", "block_ram_rules", "neighbour_table_inputs", "neighbour_table_pair")


@dataclass(frozen=True)
class Job:
    """One claim and how to show it.

    `checkers` are files of gateware/formal; those in `given` are shown by another job and assumed here. `free` names
    modules whose outputs, and `free_wires` wires which, may take any value: the less is known of the MAC, the more
    is shown. `folder` of gateware/rtl is read, or `modules` of it. `watch_registers` adds stability_rules.sv,
    `pair_registers` unit_ticks_top.sv, which are written from the list of registers of the RTL. With `arrays` memories
    stay arrays for the solver, and a word at any address costs no multiplexer.
    """

    name: str
    claim: str
    checkers: tuple[str, ...]
    mode: str = "induction"
    depth: int = 3
    top: str = "mac_core"
    given: tuple[str, ...] = ()
    free: tuple[str, ...] = ("random_draw", "neighbour_table")
    free_wires: tuple[str, ...] = ("*.u_backoff_counter.slots_left_us",)
    solver: str = "yices"
    parameters: tuple[str, ...] = ()
    folder: str = "mac"
    modules: tuple[str, ...] = ()
    arrays: bool = False
    long: bool = False
    watch_registers: bool = False
    pair_registers: bool = False
    planted: Break | None = None


JOBS = (
    Job(
        "transmission_rules",
        "frames start only after DIFS of idle medium with NAV zero, or SIFS after what they answer; no CTS under NAV",
        ("mac_environment", "transmission_rules"),
    ),
    Job(
        "nav_rules",
        "only time and the reset after an unanswered RTS shorten the NAV",
        ("mac_environment", "nav_rules"),
    ),
    Job(
        "retry_rules",
        "the retry counters never pass their limits; reaching one ends the packet",
        ("mac_environment", "retry_rules"),
    ),
    Job(
        "service_time_sums",
        "the parts of a packet's life sum to the whole",
        ("mac_environment", "transmission_rules", "service_rules"),
        given=("transmission_rules",),
    ),
    Job(
        "unreachable_bins",
        "why bins of the frame exchange cannot be met, as far as the MAC's own rules forbid it (exchange_bins.py)",
        ("mac_environment", "transmission_rules", "bin_rules"),
        given=("transmission_rules",),
    ),
    Job(
        "quiescent_is_stable",
        "while quiescent, without ticks and strobes, no register of the MAC changes",
        ("mac_environment", "transmission_rules"),
        given=("transmission_rules",),
        free=("neighbour_table",),
        watch_registers=True,
    ),
    *(
        Job(
            "backoff_rules" if slot_us == 20 else f"backoff_rules_{slot_us}us",
            f"the back-off counts every slot's time once, in whatever jumps it comes (slots of {slot_us} us)",
            ("backoff_top", "backoff_interface", "backoff_rules"),
            top="backoff_top",
            given=("backoff_interface",),
            free=(),
            free_wires=(),
            parameters=(f"SLOT_US={slot_us}",),
            long=slot_us != 20,
        )
        # DSSS in every run, 20 MHz OFDM with --long: the solver needs minutes for a slot that has fewer factors of two.
        for slot_us in (20, 9)
    ),
    Job(
        "jumps_split",
        "NAV, own frames, idle time and the parts of a packet's life are the same after n + 1 ticks as after n and one",
        ("jump_top",),
        mode="bounded",
        depth=4,
        top="jump_top",
        free=(),
        free_wires=(),
    ),
    *(
        Job(
            f"summaries_{what}",
            f"told a summary of what it heard, a station is where it would be had it been told at the time: {about}",
            ("summary_top",),
            mode="bounded",
            depth=3,
            top="summary_top",
            free=(),
            free_wires=(),
            parameters=(f"PARTS={parts}", *most),
        )
        # Of sums of more bits the solver knows no end.
        for what, about, parts, most in (
            ("state", "its timers", 0, ()),
            ("account", "the parts of a packet's life", 1, ("MOST_US=4096",)),
        )
    ),
    Job(
        "unit_ticks",
        "with UNIT_TICKS a core of two queues is in the same state and says the same, a tick a clock at most",
        (),
        mode="bounded",
        depth=2,
        top="unit_ticks_top",
        # Other modules in hardware; and those that have no ticks, whose outputs are taken to be the same.
        free=(
            *("service_time", "service_time_serial", "neighbour_table", "neighbour_table_serial", "record_collector"),
            *("descriptor_queue", "random_draw", "duplicate_cache", "transmit_port"),
        ),
        free_wires=("*defer_product_us", "*slots_left_us"),
        parameters=("QUEUES=2",),
        pair_registers=True,
    ),
    Job(
        "service_time_pair",
        "the account of a packet's life is the same in hardware (service_time_serial, record_collector), part by part",
        ("service_time_inputs", "service_time_pair"),
        given=("service_time_inputs",),
        top="service_time_pair",
        free=(),
        free_wires=(),
    ),
    Job(
        "service_time_pair_happens",
        "accounts with time in their parts are collected, one after another",
        ("service_time_inputs", "service_time_pair"),
        mode="cover",
        depth=60,
        given=("service_time_inputs",),
        top="service_time_pair",
        free=(),
        free_wires=(),
    ),
    Job(
        "neighbour_table_pair",
        "neighbour_table_serial, in hardware, holds entry by entry what neighbour_table does, for any neighbour",
        NEIGHBOUR_TABLE_PAIR,
        given=("block_ram_rules", "neighbour_table_inputs"),
        top="neighbour_table_pair",
        free=(),
        free_wires=(),
        modules=("mac/neighbour_table", "mac/neighbour_table_serial"),
        arrays=True,
    ),
    Job(
        "neighbour_table_pair_happens",
        "a neighbour's second packet moves its averages, and a snapshot shows it (of one neighbour)",
        NEIGHBOUR_TABLE_PAIR,
        mode="cover",
        depth=124,
        given=("block_ram_rules", "neighbour_table_inputs"),
        top="neighbour_table_pair",
        free=(),
        free_wires=(),
        parameters=("PEERS=1", "ONE_STORY=1"),
        modules=("mac/neighbour_table", "mac/neighbour_table_serial"),
    ),
    Job(
        "block_ram",
        "of a block RAM any word is read as it was last written (512 words of 32 bits)",
        ("block_ram_rules", "block_ram_any_word"),
        top="block_ram",
        free=(),
        free_wires=(),
        parameters=("WIDTH=32", "DEPTH=512"),
        modules=("common/block_ram",),
    ),
    *(
        Job(
            f"account_inputs{'_two_queues' if queues == 2 else ''}",
            f"with UNIT_TICKS the MAC gives account and neighbour table what their pairs assume ({queues} queues)",
            (*ACCOUNT_RULES, *(["one_queue_rules"] if queues == 2 else [])),
            free=("random_draw", "service_time_serial", "block_ram"),
            parameters=("UNIT_TICKS=1", f"QUEUES={queues}"),
        )
        for queues in (1, 2)
    ),
    Job(
        "tick_rules",
        "a quiescent MAC's next_timer is exact",
        ("mac_environment", "transmission_rules", "backoff_interface", "backoff_rules", "tick_rules"),
        given=("transmission_rules", "backoff_rules"),
    ),
    Job(
        "settles",
        "what there is to do at a tick is done within 8 clocks (if no draw of ns-2 mode has to be repeated)",
        ("mac_environment", "transmission_rules", "settle_rules"),
        given=("transmission_rules",),
        depth=10,
    ),
    Job(
        "exchanges_happen",
        "RTS/CTS/DATA/MAC ACK, answers, retries, limits and the NAV reset can happen within the environment assumed",
        ("mac_environment", "exchange_covers"),
        mode="cover",
        depth=30,
        free=("neighbour_table",),
        free_wires=(),
    ),
    Job(
        "tsf_rules",
        "whatever the PHY does, ticks keep to the clock within microseconds, 16 clocks apart, the MAC quiescent",
        ("timing_top", "tsf_rules"),
        top="timing_top",
        folder="top",
        modules=("top/phy_inputs", "top/tick_generator"),
        free=(),
        free_wires=(),
    ),
    Job(
        "punctual_rules",
        "no tick of SIFS, an own frame or an idle medium is held up, whatever the PHY says and the host gives",
        ("timing_top", "punctual_rules"),
        top="timing_top",
        folder="top",
        modules=("top/phy_inputs", "top/tick_generator"),
        free=(),
        free_wires=(),
        depth=14,
    ),
    Job(
        "framer_rules",
        "a frame has exactly the bytes that were told, offered by the rules of AXI4-Stream, whatever PHY and MSDU do",
        ("stream_rules", "framer_rules"),
        top="framer",
        folder="datapath",
        free=(),
        free_wires=(),
    ),
    Job(
        "rx_buffer_rules",
        "received frames come out whole and right or are lost whole and counted (a ring of 4 bytes and 2 frames)",
        ("stream_rules", "buffer_rules"),
        mode="bounded",
        depth=12,
        top="rx_packet_buffer",
        folder="datapath",
        free=(),
        free_wires=(),
        parameters=("RING_BYTES=4", "FRAMES=2", "STATUS_W=1"),
    ),
    Job(
        "tx_buffer_stream",
        "a packet that is sent is offered by the rules of AXI4-Stream while others come in (two rings of 4 bytes)",
        ("transmit_environment", "stream_rules"),
        mode="bounded",
        depth=16,
        top="tx_packet_buffer",
        folder="datapath",
        free=(),
        free_wires=(),
        parameters=("RING_BYTES=4", "PACKETS=2", "FRAME_W=2", "DESC_W=1"),
    ),
    Job(
        "completion_stream",
        "words of completion records are offered by the rules of AXI4-Stream (a memory of one record)",
        ("stream_rules",),
        mode="bounded",
        depth=26,
        top="completion_stream",
        folder="datapath",
        free=(),
        free_wires=(),
        parameters=("MEMORY_WORDS=32",),
    ),
    Job(
        "one_queue_at_a_time",
        "of two queues at most one is in an exchange, sends, draws; the lower one collides, the higher goes",
        ("mac_environment", "one_queue_rules"),
        parameters=("QUEUES=2",),
        free=("random_draw", "neighbour_table", "service_time"),
    ),
    Job(
        "descriptor_order",
        "descriptors come to the head in order, each once, unchanged, with the time they came",
        ("queue_rules",),
        top="descriptor_queue",
        free=(),
        free_wires=(),
    ),
    Job(
        "contention_window",
        "CW is a power of two less one within its limits, and changes as clause 9.3.3 says",
        ("window_rules",),
        top="contention_window",
        free=(),
        free_wires=(),
    ),
    Job(
        "random_state",
        "the random generator never falls into the state it could not leave, and moves only when told",
        ("draw_rules",),
        top="random_draw",
        free=(),
        free_wires=(),
    ),
    Job(
        "responses",
        "what is accepted is answered once, SIFS later; a CTS is withheld under NAV, a MAC ACK is not",
        ("response_rules",),
        top="responder",
        free=(),
        free_wires=(),
    ),
    Job(
        "duplicates",
        "a repetition of the last frame accepted is known again, and nothing else is held back",
        ("duplicate_rules",),
        top="duplicate_cache",
        free=(),
        free_wires=(),
    ),
    Job(
        "address_filter",
        "the host gets what is for it, and in monitor mode everything",
        ("filter_rules",),
        top="address_filter",
        folder="datapath",
        free=(),
        free_wires=(),
    ),
    Job(
        "airtime",
        "the airtime calculator is exact, and in time, for every length (5.5 Mb/s)",
        ("airtime_rules",),
        top="airtime_calculator",
        folder="datapath",
        free=(),
        free_wires=(),
    ),
    Job(
        "completion_records",
        "completion records come out whole and unchanged, or are lost whole and counted (a memory of 32 words)",
        ("record_rules",),
        top="completion_stream",
        folder="datapath",
        free=(),
        free_wires=(),
        parameters=("MEMORY_WORDS=32",),
    ),
    Job(
        "tx_buffer_rules",
        "a packet is told whole or refused and counted; its own bytes are sent, however often (rings of 4 bytes)",
        ("transmit_environment", "transmit_buffer_rules"),
        mode="bounded",
        depth=12,
        top="tx_packet_buffer",
        folder="datapath",
        free=(),
        free_wires=(),
        parameters=("RING_BYTES=4", "PACKETS=2", "FRAME_W=2", "DESC_W=1"),
    ),
    Job(
        "deframer_rules",
        "a frame is good only at the length told; of DATA exactly the MSDU comes out",
        ("deframer_rules",),
        top="deframer",
        folder="datapath",
        free=("crc32",),
        free_wires=(),
    ),
    Job(
        "axil_slave",
        "the registers' slave keeps the handshake rules of AXI4-Lite, answers each access once and starves nobody",
        ("axil_rules",),
        top="axil_slave",
        free=(),
        free_wires=(),
        modules=("top/axil_slave",),
    ),
    Job(
        "record_collector",
        "the account of a packet is collected whole and goes word by word, as the record's layout says",
        ("collector_rules",),
        top="record_collector",
        free=(),
        free_wires=(),
    ),
    Job(
        "series_airtimes",
        "of each entry of a rate series one airtime, at its rate, which stands until the packet is taken",
        ("series_rules",),
        top="series_airtimes",
        folder="datapath",
        free=("airtime_calculator",),
        free_wires=(),
        parameters=("RATE_SERIES=4",),
    ),
    Job(
        "descriptor_rates",
        "a descriptor passes once, with its own rates or with its peer's series, by the rules of streams",
        ("rates_rules",),
        top="descriptor_rates",
        free=(),
        free_wires=(),
        modules=("top/descriptor_rates",),
    ),
    Job(
        "event_log",
        "events come out in order, whole, or the newest is lost and counted (a ring of 4)",
        ("log_rules",),
        top="event_log",
        free=(),
        free_wires=(),
        parameters=("ENTRIES=4",),
        modules=("common/block_ram", "top/event_log"),
    ),
    Job(
        "statistics",
        "no strobe of a counter is lost, as close as they may come (3 counters)",
        ("count_rules",),
        mode="bounded",
        depth=40,
        top="statistics",
        free=(),
        free_wires=(),
        parameters=("COUNTERS=3",),
        modules=("common/block_ram", "top/statistics"),
    ),
    Job(
        "legal_settings",
        "whatever is written to the registers, the MAC sees legal settings only, and none changes while it runs",
        ("axil_rules", "settings_rules"),
        depth=8,
        top="mac_registers",
        given=("axil_rules",),
        free=("statistics", "event_log", "block_ram"),
        free_wires=("u_register_guard.memory_data_q",),
        modules=(
            "common/registers/perhop_registers",
            "common/registers/perhop_register_rules",
            "common/registers/perhop_register_settings",
            "top/axil_slave",
            "common/block_ram",
            "top/statistics",
            "top/event_log",
            "top/register_guard",
            "top/phy_delay_rule",
            "top/mac_registers",
        ),
    ),
    Job(
        "service_time_sums_two_queues",
        "two queues: the parts of a packet's life sum to the whole, whatever the other queue does",
        ("queue_environment", "service_rules"),
        top="transmit_queue",
        parameters=("QUEUES=2",),
        free=(),
        free_wires=("u_backoff_counter.slots_left_us",),
    ),
    Job(
        "queue_arbiter",
        "of two queues one goes, the higher of two at once; the other has collided once; each draw is one queue's",
        ("arbiter_rules",),
        top="queue_arbiter",
        free=(),
        free_wires=(),
        parameters=("QUEUES=2",),
    ),
    Job(
        "length_counter",
        "a frame is over once, with as many symbols after its header as LENGTH says",
        ("length_rules",),
        top="length_counter",
        free=(),
        free_wires=(),
        modules=("phy/rx/length_counter",),
    ),
    Job(
        "plcp_crc",
        "the CRC-16 of a PLCP header is the polynomial's, and after any header exactly one is good",
        ("plcp_crc_rules",),
        top="plcp_crc",
        free=(),
        free_wires=(),
        modules=("phy/plcp/plcp_crc",),
    ),
    Job(
        "plcp_header",
        "a PLCP header is complete with its 48th bit, its fields are its bits in order, its CRC has had each once",
        ("header_rules",),
        top="plcp_header",
        free=("plcp_crc",),
        free_wires=(),
        modules=("phy/plcp/plcp_crc", "phy/rx/plcp_header"),
    ),
    Job(
        "plcp_parser",
        "whatever the bits: a search ends within 170 symbols, a header within 48, a frame with its LENGTH",
        ("parser_rules",),
        top="plcp_parser",
        free=("plcp_crc", "descrambler"),
        free_wires=(),
        modules=(
            *("phy/plcp/plcp_crc", "phy/rx/descrambler", "phy/rx/sfd_search", "phy/rx/plcp_header"),
            *("phy/rx/length_counter", "phy/rx/plcp_parser"),
        ),
    ),
    Job(
        "gain_control",
        "the front end's gain keeps its range, stands in frames and after steps, and moves for what is said alone",
        ("gain_rules",),
        top="gain_control",
        free=(),
        free_wires=(),
        modules=("phy/rx/gain_control",),
    ),
    Job(
        "receive_sap",
        "what starts for the MAC ends once; a bad header or a foreign frame with one error as the medium becomes idle",
        ("sap_rules",),
        top="receive_sap",
        free=(),
        free_wires=(),
        modules=("phy/sap/receive_sap",),
    ),
    Job(
        "clear_channel",
        "the medium is busy with a frame, and for the LENGTH of each whose carrier was lost; its fall is told before",
        ("clear_rules",),
        top="clear_channel",
        free=(),
        free_wires=(),
        modules=("phy/rx/clear_channel",),
    ),
)


# The claims about the whole MAC, and about what serves both queues, of one with two. The solver does not finish the
# inductions of some of them: those hold from a reset on, for as many clocks as are said.
BOUNDED = {"transmission_rules": 10, "settles": 14}
JOBS += tuple(
    replace(
        job,
        name=f"{job.name}_two_queues",
        claim=f"two queues: {job.claim}",
        parameters=("QUEUES=2",),
        mode="bounded" if job.name in BOUNDED else job.mode,
        depth=BOUNDED.get(job.name, job.depth),
        free_wires=(*job.free_wires, *(["*extra_product_us"] if job.watch_registers else [])),
    )
    for job in JOBS
    if job.name in (*BOUNDED, "retry_rules", "quiescent_is_stable", "descriptor_order", "duplicates")
)
