# SPDX-License-Identifier: GPL-2.0-or-later
"""The registers of a MAC: profiles, addresses, neighbours, counters, the event log."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from perhop.errors import choose_from
from perhop.registers.lookup import RegisterError, find_register
from perhop.registers.mapped import WORD, Bus, MappedRegisters
from perhop.registers.rules import DEFAULT_CLOCK, DELAYED, ORDERED, Rules, planned
from perhop.registers.spec_generated import (
    CORE_ID,
    CORE_VERSION_MAJOR,
    CTS_BYTES,
    NEIGHBOUR_SLOTS,
    PROFILES,
    RATE_SLOTS,
    REGISTERS,
    RTS_BYTES,
    EventKind,
    FrameKind,
    Register,
    TimingProfile,
    TxResult,
    airtime_coefficients,
    airtime_us,
)

HISTOGRAM_BINS = 16
SERIES_RATES = 4
QUEUE_OF = {
    EventKind.BACKOFF_START_0: 0,
    EventKind.BACKOFF_START_1: 1,
    EventKind.BACKOFF_END_0: 0,
    EventKind.BACKOFF_END_1: 1,
    EventKind.PACKET_TAKEN_0: 0,
    EventKind.PACKET_TAKEN_1: 1,
}


@dataclass(frozen=True)
class NeighbourSnapshot:
    """What packets to one neighbour cost, at one moment; the histogram alone is read bin by bin."""

    slot: int
    contention_us: float
    overhead_us: float
    data_attempts: float
    packets: int
    drops: int
    service_us: int  # sum over packets
    histogram: tuple[int, ...]  # packets by service time: below 128 us, below 256 us, ...

    def delay_us(self, data_airtime_us: int) -> float:
        """Expected service time of a packet with that airtime."""
        return self.contention_us + self.overhead_us + self.data_attempts * data_airtime_us


@dataclass(frozen=True)
class Event:
    """Something that the MAC did or heard. `argument` is what the kind tells of: see read_events."""

    tsf_us: int
    kind: EventKind
    argument: FrameKind | TxResult | int | None
    queue: int | None


@dataclass(frozen=True)
class EventLog:
    """Entries taken out of the event log, and how many were lost since reset."""

    events: tuple[Event, ...]
    overruns: int


def profile_values(profile: TimingProfile) -> dict[tuple[str, int], dict[str, int]]:
    """What the registers hold for a timing profile: (register, index) to fields.

    Rate indices that the profile does not have behave as its last one. Queue 1 gets the contention windows of
    IEEE 802.11-2012's voice category (8.4.2.31, table 8-105): a quarter and a half of CWmin.
    """
    used = len(profile.rates)
    rates = [min(rate, used - 1) for rate in range(RATE_SLOTS)]
    values: dict[tuple[str, int], dict[str, int]] = {
        (name, 0): {"value_us": getattr(profile, f"{name}_us")}
        for name in ("slot", "sifs", "difs", "eifs", "response_timeout", "nav_reset", "phy_rx_start_delay")
    }
    rts_rate = profile.control_rate_index
    values["rts", 0] = {"rate": rts_rate, "airtime_us": airtime_us(profile, rts_rate, RTS_BYTES)}
    for index, rate in enumerate(rates):
        answer = profile.rates[rate].control_rate_index
        values["response", index] = {"rate": answer, "airtime_us": airtime_us(profile, answer, CTS_BYTES)}
        coefficients = airtime_coefficients(profile, rate)
        values["airtime", index] = {name: getattr(coefficients, name) for name in REGISTERS["airtime"].fields}
    windows = [(profile.cw_min, profile.cw_max), (max((profile.cw_min + 1) // 4 - 1, 1), (profile.cw_min + 1) // 2 - 1)]
    for queue, (cw_min, cw_max) in enumerate(windows):
        values["contention_window", queue] = {
            "cw_min": cw_min,
            "aifs_extra_slots": 0,
            "cw_max": max(cw_max, cw_min),
        }
    return values


def mixed_seed(number: int) -> int:
    """64 well mixed bits from any number (splitmix64, G. Steele et al., OOPSLA 2014): a seed for the back-off draws."""
    mask = (1 << 64) - 1
    z = (number + 0x9E37_79B9_7F4A_7C15) & mask
    z = ((z ^ z >> 30) * 0xBF58_476D_1CE4_E5B9) & mask
    z = ((z ^ z >> 27) * 0x94D0_49BB_1331_11EB) & mask
    return z ^ z >> 31


class MacRegisters(MappedRegisters):
    """The registers of one MAC."""

    def __init__(self, bus: Bus, registers: Mapping[str, Register] = REGISTERS) -> None:
        super().__init__(bus, registers, "MAC", CORE_ID, CORE_VERSION_MAJOR)

    def load_profile(self, name: str, tx_delay_clocks: int | None = None, rx_delay_clocks: int | None = None) -> None:
        """Writes a timing profile of protocol.yaml, and what the PHY delays; the MAC must not run.

        Delays that are not given stay as they are. A response is heard that much later, so the response timeout is the
        profile's and the delays. The words go in an order in which every single one is legal.
        """
        if name not in PROFILES:
            raise RegisterError(f"there is no timing profile {name!r}", choose_from(name, PROFILES))
        values = profile_values(PROFILES[name])
        delays = self.read("phy_delay")
        if tx_delay_clocks is not None:
            delays["tx_clocks"] = tx_delay_clocks
        if rx_delay_clocks is not None:
            delays["rx_clocks"] = rx_delay_clocks
        values["phy_delay", 0] = delays
        values["response_timeout", 0]["value_us"] += -(-sum(delays.values()) // self.read("clock")["per_us"])
        self.write_all(values)

    def write_all(self, values: Mapping[tuple[str, int], Mapping[str, int]]) -> None:
        """Writes whole registers, (register, index) to fields, one after another so that each is legal when it comes.

        RegisterError before the first write if they cannot be.
        """
        for name, _ in values:
            self._may_be_written(find_register(name), {})
        held = {(name, 0): self.read(name) for name in ORDERED}
        for name, index in planned(held, values, self.read("clock")):
            self._write(REGISTERS[name], index, values[name, index])
        self.raise_if_refused()

    def enable(self) -> None:
        """Lets the MAC run."""
        self.write("control", enable=1)

    def disable(self) -> None:
        """Holds the MAC in reset: settings may then be changed."""
        self.write("control", enable=0)

    def set_station(self, address: int, seed: int) -> None:
        """The station's 48-bit address, and any number that no other station has for its back-off draws."""
        self.set_address("address", address)
        mixed = mixed_seed(seed)
        self.write("seed", low=mixed & WORD, high=mixed >> 32)

    def set_address(self, name: str, address: int, index: int = 0) -> None:
        """A 48-bit address into address, bssid or group."""
        if not 0 <= address < 1 << 48:
            raise RegisterError(f"{name}: {address:#x} is no 48-bit address", "use six bytes")
        self.write(name, index, low=address & WORD, high=address >> 32)

    def set_rate_series(self, peer: int, *entries: tuple[int, int]) -> None:
        """Up to four (rate index, DATA attempts) for packets to a peer.

        The last one is for all attempts that the retry limits allow; 0 attempts say so.
        """
        if not 1 <= len(entries) <= SERIES_RATES:
            raise RegisterError(f"rate_series[{peer}]: {len(entries)} entries", f"give 1 to {SERIES_RATES}")
        # For the hardware a later entry of 0 attempts is none.
        if len(entries) > 1 and entries[-1][1] == 0:
            most = REGISTERS["rate_series"].fields["attempts_1"].max
            entries = (*entries[:-1], (entries[-1][0], most))
        padded = [*entries, *[(0, 0)] * (SERIES_RATES - len(entries))]
        rates = {f"rate_{place}": rate for place, (rate, _) in enumerate(padded)}
        attempts = {f"attempts_{place}": count for place, (_, count) in enumerate(padded)}
        self.write("rate_series", peer, **rates, **attempts)

    def read_tsf_us(self) -> int:
        """The 64-bit TSF timer, never torn: reading its low word holds the high one."""
        return self.read("tsf")["value_us"]

    def snapshot_neighbour(self, slot: int) -> NeighbourSnapshot:
        """A neighbour's averages, totals and histogram; all but the histogram are those of one moment."""
        if not 0 <= slot < NEIGHBOUR_SLOTS:
            raise RegisterError(f"the neighbour table has no slot {slot}", f"use 0 to {NEIGHBOUR_SLOTS - 1}")
        histogram = []
        for histogram_bin in range(HISTOGRAM_BINS):
            self.write("neighbour_select", index=slot, histogram_bin=histogram_bin, take=1)
            histogram.append(self.read("neighbour_data_attempts")["histogram_packets"])
        service = self.read("neighbour_service")
        return NeighbourSnapshot(
            slot=slot,
            contention_us=self.read("neighbour_contention")["average_us16"] / 16,
            overhead_us=self.read("neighbour_overhead")["average_us16"] / 16,
            data_attempts=self.read("neighbour_data_attempts")["average_256"] / 256,
            packets=self.read("neighbour_packets")["value"],
            drops=self.read("neighbour_drops")["value"],
            service_us=service["sum_low_us"] | service["sum_high_us"] << 32,
            histogram=tuple(histogram),
        )

    def log_events(self, *kinds: EventKind, fill: int = 1) -> None:
        """Chooses what the event log takes, and from how many entries on it interrupts."""
        self.write("event_log_settings", fill=fill)
        self.write("event_log_kinds", kinds=sum(1 << kind for kind in kinds))

    def read_events(self, limit: int | None = None) -> EventLog:
        """Takes up to `limit` entries out of the event log, all that it held at first if None.

        Arguments: tx_start and rx_good have the frame's kind, packet_done its result, backoff_start the slots drawn,
        backoff_freeze and backoff_resume the slots left. What the exchange did has its queue. A time is that of the
        last 71 minutes.
        """
        status = self.read("event_log_status")
        count = status["entries"] if limit is None else min(limit, status["entries"])
        events = [event for _ in range(count) for event in self._take_entry()]
        return EventLog(tuple(events), status["overruns"])

    def _take_entry(self) -> Iterator[Event]:
        time_us = self.read("event_log_time")["tsf_us"]
        slots = self.read("event_log_slots")["left"]
        entry = self.read("event_log_events")
        now_us = self.read_tsf_us()
        tsf_us = now_us - (now_us - time_us & WORD)
        arguments = {
            EventKind.TX_START: FrameKind(entry["tx_kind"]) if entry["kinds"] & 1 << EventKind.TX_START else None,
            EventKind.RX_GOOD: FrameKind(entry["rx_kind"]) if entry["kinds"] & 1 << EventKind.RX_GOOD else None,
            EventKind.PACKET_DONE: TxResult(entry["result"]),
            EventKind.BACKOFF_START_0: slots,
            EventKind.BACKOFF_START_1: slots,
            EventKind.BACKOFF_FREEZE: slots,
            EventKind.BACKOFF_RESUME: slots,
        }
        of_exchange = (EventKind.TX_START, EventKind.RESPONSE, EventKind.TIMEOUT, EventKind.PACKET_DONE)
        for kind in EventKind:
            if entry["kinds"] >> kind & 1:
                queue = entry["queue"] if kind in of_exchange else QUEUE_OF.get(kind)
                yield Event(tsf_us, kind, arguments.get(kind), queue)

    def _rules(self, register: Register) -> Rules:
        held = {(name, 0): self.read(name) for name in ORDERED} if register.name in ORDERED else {}
        return Rules(held, self.read("clock") if register.name in DELAYED else DEFAULT_CLOCK)
