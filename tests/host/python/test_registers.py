# SPDX-License-Identifier: GPL-2.0-or-later
"""The register interface over a model of the hardware: what it writes, in which order, and what it says if it will not.

That the hardware does what the model does is the subject of tests/gateware/mac_registers.
"""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from perhop.registers import (
    ERROR_MEANINGS,
    ORDERED,
    MacRegisters,
    RegisterError,
    Rules,
    entry_address,
    mixed_seed,
    planned,
    profile_values,
    register_at,
    reset_value,
    split,
)
from perhop.registers.spec_generated import CORE_ID, PROFILES, REGISTERS, EventKind, FrameKind

WORD = 0xFFFF_FFFF


class Hardware:
    """A bus with registers behind it that refuse what breaks a rule, as the guard does."""

    def __init__(self) -> None:
        self.words: dict[int, int] = {}
        self.at: dict[int, tuple[str, int]] = {}
        self.writes: list[int] = []
        self.entries: list[tuple[int, int, int]] = []  # event log: time, slots, events
        for register in REGISTERS.values():
            for index in range(register.count):
                for word in range(register.words):
                    address = entry_address(register, index) + 4 * word
                    self.words[address] = reset_value(register) >> 32 * word & WORD
                    self.at[address] = (register.name, index)
        clock = REGISTERS["clock"]
        self.words[clock.address] = clock.fields["delay_per_us"].put(clock.fields["per_us"].put(0, 64), 48)

    def _value(self, name: str, index: int) -> int:
        register = REGISTERS[name]
        address = entry_address(register, index)
        return sum(self.words[address + 4 * word] << 32 * word for word in range(register.words))

    def _broken(self, address: int, word: int) -> str | None:
        name, index = self.at.get(address, ("", 0))
        if not name or not REGISTERS[name].writable:
            return "not_writable"
        register = REGISTERS[name]
        if not register.live and self.words[REGISTERS["control"].address]:
            return "not_idle"
        shift = 8 * (address - entry_address(register, index))
        value = self._value(name, index) & ~(WORD << shift) | word << shift
        held = {(other, 0): split(REGISTERS[other], self._value(other, 0)) for other in ORDERED}
        fields = {k: v for k, v in split(register, value).items() if register.fields[k].access != "r"}
        return "illegal_value" if Rules(held).broken_by(register, index, fields) else None

    def read32(self, address: int) -> int:
        log = {name: REGISTERS[f"event_log_{name}"].address for name in ("status", "time", "slots", "events")}
        if address == log["status"]:
            return len(self.entries) | 2 << 16
        if self.entries and address in (log["time"], log["slots"], log["events"]):
            entry = self.entries[0]
            if address == log["events"]:
                self.entries.pop(0)
            return entry[[log["time"], log["slots"], log["events"]].index(address)]
        return self.words.get(address, 0)

    def write32(self, address: int, word: int) -> None:
        self.writes.append(address)
        error = REGISTERS["error"]
        if address == error.address:
            self.words[address] &= ~word
            return
        broken = self._broken(address, word)
        if broken is None:
            self.words[address] = word
        elif not self.words[error.address] & sum(error.fields[name].mask for name in ERROR_MEANINGS):
            self.words[error.address] = error.fields[broken].mask | error.fields["at_address"].put(0, address)
        else:
            self.words[error.address] |= error.fields[broken].mask


@pytest.fixture
def hardware() -> Hardware:
    return Hardware()


@pytest.fixture
def mac(hardware) -> MacRegisters:
    return MacRegisters(hardware)


def test_something_that_is_no_mac_is_refused(hardware):
    hardware.words[REGISTERS["id"].address] = 0x1234
    with pytest.raises(RegisterError, match=f"say 0x00001234; a MAC says {CORE_ID:#010x}"):
        MacRegisters(hardware)


def test_gateware_of_another_major_version_is_refused(hardware):
    hardware.words[REGISTERS["version"].address] = 99 << 16
    with pytest.raises(RegisterError, match="have version 99"):
        MacRegisters(hardware)


@pytest.mark.parametrize(
    ("action", "problem"),
    [
        (lambda mac: mac.write("slot", value_us=0), "slot.value_us: 0 us is too small"),
        (lambda mac: mac.write("slot", value_us=8192), "8192 us does not fit the field's 13 bits"),
        (lambda mac: mac.write("slot", value_us=-1), "-1 us does not fit"),
        (lambda mac: mac.write("access_mode", mode=3), "access_mode.mode: 3 is no AccessMode"),
        (lambda mac: mac.write("contention_window", 0, cw_min=30), "use a power of two less one, such as 15 or 31"),
        (lambda mac: mac.write("contention_window", 0, cw_max=15), "15 slots is too small: it must be at least"),
        (lambda mac: mac.write("response_timeout", value_us=10), "10 us is too small: it must be above sifs.value_us"),
        (lambda mac: mac.write("sifs", value_us=222), "222 us is too large"),
        (
            lambda mac: mac.write("phy_delay", tx_clocks=400, rx_clocks=77),
            "477 clocks together; SIFS of 10 us has room for 476",
        ),
        (lambda mac: mac.load_profile("ofdm_20mhz", 700, 65), "765 clocks together; SIFS of 16 us has room for 764"),
        (lambda mac: mac.load_profile("ofdm_20mhz", rx_delay_clocks=-1), "phy_delay.rx_clocks: -1 clocks does not fit"),
        (lambda mac: mac.write("retry_limits", short_retry_limit=0), "0 attempts is too small"),
        (lambda mac: mac.write("airtime", 3, half_bits_per_unit=0), "airtime.half_bits_per_unit: 0 half bits"),
        (lambda mac: mac.set_rate_series(2, (1, 0), (0, 4)), "attempts_0 is 0 and the series ends there"),
        (lambda mac: mac.set_rate_series(2, (1, 2), (0, 0), (3, 4)), "attempts_1 is 0 and the series ends there"),
        (lambda mac: mac.set_rate_series(2), "0 entries"),
        (lambda mac: mac.set_address("bssid", 1 << 48), "is no 48-bit address"),
        (lambda mac: mac.write("slots", value_us=1), "did you mean 'slot'"),
        (lambda mac: mac.write("slot", value=1), "did you mean 'value_us'"),
        (lambda mac: mac.write("response", 8, rate=0), r"response\[8\] does not exist"),
        (lambda mac: mac.write("status", cca_busy=1), "can only be read"),
        (lambda mac: mac.load_profile("dsss"), "did you mean 'dsss_long'|Known|use one of"),
        (lambda mac: mac.snapshot_neighbour(16), "no slot 16"),
    ],
)
def test_what_is_illegal_is_refused_with_a_reason_before_it_is_written(hardware, mac, action, problem):
    before = dict(hardware.words)
    with pytest.raises(RegisterError, match=problem):
        action(mac)
    assert hardware.writes == []
    assert hardware.words == before


def test_settings_stand_while_the_mac_runs(hardware, mac):
    mac.enable()
    hardware.writes.clear()
    for action in (lambda: mac.write("slot", value_us=9), lambda: mac.load_profile("ofdm_20mhz")):
        with pytest.raises(RegisterError, match="changes only while the MAC does not run"):
            action()
    assert hardware.writes == []
    mac.write("rts_threshold", value_bytes=500)
    assert mac.read("rts_threshold") == {"value_bytes": 500}
    mac.disable()
    mac.write("slot", value_us=9)


def test_what_the_hardware_refuses_is_told_once(hardware, mac):
    hardware.write32(REGISTERS["retry_limits"].address, 0)
    with pytest.raises(RegisterError, match=r"retry_limits \(0x0a8\) was refused: the value is against a rule"):
        mac.raise_if_refused()
    mac.raise_if_refused()


def test_fields_that_are_not_named_keep_their_values(mac):
    mac.write("access_mode", vacation_us=77)
    mac.write("access_mode", mode=2)
    assert mac.read("access_mode") == {"mode": 2, "no_mac_ack": 0, "vacation_us": 77}


def test_every_profile_loads_over_every_other_with_legal_writes_alone(hardware, mac):
    for first, second in itertools.product(PROFILES, PROFILES):
        mac.load_profile(first)
        mac.load_profile(second)
        for (name, index), fields in profile_values(PROFILES[second]).items():
            assert mac.read(name, index) == fields, (first, second, name)


def test_the_last_rate_of_a_series_is_for_all_the_rest(mac):
    """The hardware takes a later entry of 0 attempts for none: it would never be used."""
    mac.set_rate_series(3, (5, 2), (2, 2), (1, 0))
    series = mac.read("rate_series", 3)
    assert [series[f"rate_{place}"] for place in range(4)] == [5, 2, 1, 0]
    assert [series[f"attempts_{place}"] for place in range(4)] == [2, 2, 31, 0]
    mac.set_rate_series(3, (7, 0))
    assert mac.read("rate_series", 3)["attempts_0"] == 0


def test_a_profile_is_loaded_with_the_delays_of_the_phy_and_waits_longer_for_responses(mac):
    """A response is heard by as much later as the PHY delays it, in whole microseconds up."""
    expected_us = PROFILES["ofdm_20mhz"].response_timeout_us
    for tx, rx, more_us in ((0, 0, 0), (1, 0, 1), (40, 24, 1), (40, 25, 2), (96, 160, 4), (764, 0, 12)):
        mac.load_profile("ofdm_20mhz", tx, rx)
        assert mac.read("response_timeout")["value_us"] == expected_us + more_us
        assert mac.read("phy_delay") == {"tx_clocks": tx, "rx_clocks": rx}
    # Delays that are not given stay, and still count.
    mac.load_profile("ofdm_10mhz", tx_delay_clocks=100)
    mac.load_profile("ofdm_10mhz", rx_delay_clocks=29)
    mac.load_profile("ofdm_10mhz")
    assert mac.read("phy_delay") == {"tx_clocks": 100, "rx_clocks": 29}
    assert mac.read("response_timeout")["value_us"] == PROFILES["ofdm_10mhz"].response_timeout_us + 3


def test_a_response_timeout_that_the_delays_use_up_is_refused(hardware, mac):
    mac.load_profile("ofdm_10mhz", 500, 500)
    sifs_us = PROFILES["ofdm_10mhz"].sifs_us
    hardware.writes.clear()
    with pytest.raises(
        RegisterError, match=f"{sifs_us + 15} us is not above SIFS of {sifs_us} us and the PHY's delays of 1000"
    ):
        mac.write("response_timeout", value_us=sifs_us + 15)
    assert hardware.writes == []
    mac.write("response_timeout", value_us=sifs_us + 16)


def test_the_windows_of_the_high_priority_queue_are_those_of_voice():
    """IEEE 802.11-2012, table 8-105, for DSSS and OFDM."""
    dsss, ofdm = (profile_values(PROFILES[name])["contention_window", 1] for name in ("dsss_long", "ofdm_20mhz"))
    assert (dsss["cw_min"], dsss["cw_max"]) == (7, 15)
    assert (ofdm["cw_min"], ofdm["cw_max"]) == (3, 7)


def delays(sifs_us: int, margin_us: int, share: int, tx_share: int) -> dict[str, int]:
    """Delays that fit: the share, in thousandths, of the longest, and tx_clocks' share of that."""
    total = max(min(48 * sifs_us - 4, 64 * margin_us - 1, 0xFFFF) * share // 1000, 0)
    tx_clocks = total * tx_share // 1000
    return {"tx_clocks": tx_clocks, "rx_clocks": total - tx_clocks}


times = st.builds(
    lambda a, b, c, d, e, f, g: {
        ("phy_delay", 0): delays(sorted([a, b, c])[0], d, f, g),
        ("sifs", 0): {"value_us": sorted([a, b, c])[0]},
        ("difs", 0): {"value_us": sorted([a, b, c])[1]},
        ("eifs", 0): {"value_us": sorted([a, b, c])[2]},
        ("response_timeout", 0): {"value_us": sorted([a, b, c])[0] + d},
        ("nav_reset", 0): {"value_us": sorted([a, b, c])[0] + e},
    },
    *[st.integers(1, 8191)] * 3,
    *[st.integers(1, 57000)] * 2,
    *[st.integers(0, 1000)] * 2,
)


@settings(max_examples=200, deadline=None)
@given(times, times)
def test_there_is_an_order_from_any_times_to_any_others(held, wanted):
    now = dict(held)
    for key in planned(held, wanted):
        assert Rules(now).broken_by(REGISTERS[key[0]], key[1], wanted[key]) is None
        now[key] = wanted[key]
    assert now == wanted


def test_values_that_cannot_be_together_are_refused_before_the_first_write(hardware, mac):
    hardware.writes.clear()
    with pytest.raises(RegisterError, match="difs"):
        mac.write_all({("sifs", 0): {"value_us": 100}, ("difs", 0): {"value_us": 60}, ("slot", 0): {"value_us": 5}})
    assert hardware.writes == []


def test_seeds_are_well_mixed():
    """The first two outputs of splitmix64 from state 0 and from one step on, from its reference implementation."""
    assert mixed_seed(0) == 0xE220A8397B1DCDAF
    assert mixed_seed(0x9E37_79B9_7F4A_7C15) == 0x6E789E6AA1B965F4


def test_events_get_64_bit_times_and_their_arguments(hardware, mac):
    tsf = REGISTERS["tsf"].address
    hardware.words[tsf], hardware.words[tsf + 4] = 5, 3
    events = REGISTERS["event_log_events"].fields
    kinds = 1 << EventKind.TX_START | 1 << EventKind.BACKOFF_END_1
    word = events["queue"].put(events["tx_kind"].put(events["kinds"].put(0, kinds), FrameKind.RTS), 1)
    hardware.entries = [(0xFFFF_FFF0, 0, word), (4, 12, events["kinds"].put(0, 1 << EventKind.BACKOFF_FREEZE))]
    log = mac.read_events()
    assert [(e.tsf_us, e.kind, e.argument, e.queue) for e in log.events] == [
        ((2 << 32) + 0xFFFF_FFF0, EventKind.TX_START, FrameKind.RTS, 1),
        ((2 << 32) + 0xFFFF_FFF0, EventKind.BACKOFF_END_1, None, 1),
        ((3 << 32) + 4, EventKind.BACKOFF_FREEZE, 12, None),
    ]
    assert log.overruns == 2


def test_an_address_is_told_by_name():
    assert register_at(REGISTERS["response"].address + 8) == "response[2] (0x068)"
    assert register_at(0x3FC) == "0x3fc, where no register is"


def test_a_snapshot_scales_its_averages(hardware, mac):
    for name, word in (("contention", 160), ("overhead", 32), ("data_attempts", 7 << 16 | 384), ("packets", 9)):
        hardware.words[REGISTERS[f"neighbour_{name}"].address] = word
    snapshot = mac.snapshot_neighbour(3)
    assert (snapshot.contention_us, snapshot.overhead_us, snapshot.data_attempts) == (10, 2, 1.5)
    assert (snapshot.packets, snapshot.histogram) == (9, (7,) * 16)
    assert snapshot.delay_us(100) == 162
