# SPDX-License-Identifier: GPL-2.0-or-later
"""The registers of MAC and radio by name, in their units, over any bus that reads and writes 32-bit words.

    mac = MacRegisters(bus)
    mac.load_profile("ofdm_20mhz")
    mac.write("address", low=0x0000_0001, high=0x0200)
    mac.write("control", enable=1)
    mac.read("retry_limits")["short_retry_limit"]

    radio = RadioRegisters(bus)             # of a radio_top; perhop.radio_registers
    radio.write("tx_gain", value_256=128)

A value that the hardware would refuse is refused here first, with a sentence that says what is wrong. The rules are
those of gateware/spec/registers.rdl and radio_registers.rdl, which the gateware's guards are generated from too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

from perhop.errors import PerhopError, choose_from
from perhop.spec_generated import (
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
    RegisterField,
    TimingProfile,
    TxResult,
    airtime_coefficients,
    airtime_us,
)

WORD = 0xFFFF_FFFF
HISTOGRAM_BINS = 16
SERIES_RATES = 4
# What the PHY's delays must fit, and the clocks of them that the MAC needs itself.
DELAYED = ("phy_delay", "response_timeout", "sifs")
SPARE_CLOCKS = 4
DEFAULT_CLOCK = {"per_us": 64, "delay_per_us": 48}
ERROR_MEANINGS = {
    "not_writable": "nothing can be written there",
    "partial_write": "only whole words can be written",
    "not_idle": "it is a setting, and the MAC runs",
    "illegal_value": "the value is against a rule of the register",
}


class Bus(Protocol):
    """What carries accesses to the registers: a driver, a simulation, a model."""

    def read32(self, address: int) -> int:
        """The word at a byte address."""

    def write32(self, address: int, word: int) -> None:
        """Writes the word at a byte address."""


class RegisterError(PerhopError):
    """A register cannot have that value, now or ever, or the hardware refused it."""


@dataclass(frozen=True)
class Broken:
    """A rule of a field that a value breaks."""

    field: str  # register.field
    problem: str
    remedy: str

    def error(self) -> RegisterError:
        return RegisterError(f"{self.field}: {self.problem}", self.remedy)


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


def entry_address(register: Register, index: int = 0) -> int:
    """Byte address of a register, or of an entry of an array of them."""
    if not 0 <= index < register.count:
        raise RegisterError(f"{register.name}[{index}] does not exist", f"use an index from 0 to {register.count - 1}")
    return register.address + index * register.stride_bytes


def find_register(name: str, registers: Mapping[str, Register] = REGISTERS) -> Register:
    """The register of that name; RegisterError with near misses if there is none."""
    if name not in registers:
        raise RegisterError(f"there is no register {name!r}", choose_from(name, registers))
    return registers[name]


def find_field(register: Register, name: str) -> RegisterField:
    """The field of that name; RegisterError with near misses if there is none."""
    if name not in register.fields:
        raise RegisterError(f"register {register.name} has no field {name!r}", choose_from(name, register.fields))
    return register.fields[name]


def split(register: Register, value: int) -> dict[str, int]:
    """A register's value as fields."""
    return {name: field.get(value) for name, field in register.fields.items()}


def reset_value(register: Register) -> int:
    """What the register holds after reset; 0 where it follows the hardware."""
    return sum((field.reset or 0) << field.low_bit for field in register.fields.values())


def _told(value: int, field: RegisterField) -> str:
    return f"{value} {field.unit}".rstrip()


def _broken_alone(register: Register, field: RegisterField, value: int) -> Broken | None:
    name = f"{register.name}.{field.name}"
    least = -(1 << field.width_bits - 1) if field.signed else 0
    if not least <= value < least + (1 << field.width_bits):
        problem = f"{_told(value, field)} does not fit the field's {field.width_bits} bits"
        return Broken(name, problem, f"use {field.min} to {field.max}")
    if field.enum is not None and value not in list(field.enum):
        members = ", ".join(f"{member.value} {member.name.lower()}" for member in field.enum)
        return Broken(name, f"{value} is no {field.enum.__name__}", f"use one of: {members}")
    if value < field.min:
        return Broken(name, f"{_told(value, field)} is too small", f"use at least {_told(field.min, field)}")
    if value > field.max:
        return Broken(name, f"{_told(value, field)} is too large", f"use at most {_told(field.max, field)}")
    if field.all_ones and value & (value + 1):
        below = (1 << (value.bit_length() - 1)) - 1
        remedy = f"use a power of two less one, such as {max(below, field.min)} or {2 * below + 1}"
        return Broken(name, f"{_told(value, field)} is not a power of two less one", remedy)
    return None


class Rules:
    """Which values registers may have, given those that they hold.

    `values` maps (register, index) to what it holds, in fields; `clock` is what that register says; `registers` is the
    map.
    """

    def __init__(
        self,
        values: Mapping[tuple[str, int], Mapping[str, int]],
        clock: Mapping[str, int] = DEFAULT_CLOCK,
        registers: Mapping[str, Register] = REGISTERS,
    ) -> None:
        self._values = values
        self._clock = clock
        self._registers = registers

    def broken_by(self, register: Register, index: int, written: Mapping[str, int]) -> Broken | None:
        """The first rule that is broken if these fields, which are all of it that can be written, are written."""
        for name, value in written.items():
            if (broken := _broken_alone(register, register.fields[name], value)) is not None:
                return broken
        for owner in self._registers.values():
            for field in owner.fields.values():
                for reference, strict in ((field.at_least, False), (field.above, True)):
                    if reference:
                        broken = self._out_of_order(register, index, written, owner, field, reference, strict)
                        if broken is not None:
                            return broken
        if register.name in DELAYED and (broken := self._delays_that_do_not_fit(register, written)) is not None:
            return broken
        for name, value in written.items():
            needs = register.fields[name].needs.partition(".")[2]
            if needs and value != 0 and written[needs] == 0:
                problem = f"is {_told(value, register.fields[name])}, but {needs} is 0 and the series ends there"
                return Broken(f"{register.name}.{name}", problem, f"set {needs} too, or make this 0")
        return None

    def _out_of_order(
        self,
        register: Register,
        index: int,
        written: Mapping[str, int],
        owner: Register,
        field: RegisterField,
        reference: str,
        strict: bool,
    ) -> Broken | None:
        other_name, _, other_field = reference.partition(".")
        if register.name not in (owner.name, other_name):
            return None
        upper_index = index if owner is register else 0
        lower_index = index if other_name == register.name else 0
        upper = written if owner is register else self._values[owner.name, upper_index]
        lower = written if other_name == register.name else self._values[other_name, lower_index]
        high, low = upper[field.name], lower[other_field]
        if high > low or (high == low and not strict):
            return None
        what = "above" if strict else "at least"
        high_name = f"{owner.name}.{field.name}"
        if owner is register:
            problem = f"{_told(high, field)} is too small: it must be {what} {reference}, which is {_told(low, field)}"
            return Broken(high_name, problem, f"raise it, or lower {reference} first")
        problem = f"{_told(low, field)} is too large: {high_name} must be {what} it and is {_told(high, field)}"
        return Broken(reference, problem, f"lower it, or raise {high_name} first")

    def _delays_that_do_not_fit(self, register: Register, written: Mapping[str, int]) -> Broken | None:
        """What the PHY delays must leave time to respond, and for a response (phy_delay_rule.sv)."""
        now = {name: written if name == register.name else self._values[name, 0] for name in DELAYED}
        delay_clocks = now["phy_delay"]["tx_clocks"] + now["phy_delay"]["rx_clocks"]
        sifs_us, timeout_us = now["sifs"]["value_us"], now["response_timeout"]["value_us"]
        room_clocks = sifs_us * self._clock["delay_per_us"] - SPARE_CLOCKS
        if delay_clocks > room_clocks:
            problem = (
                f"the PHY's delays are {delay_clocks} clocks together; SIFS of {sifs_us} us has room for {room_clocks}"
            )
            return Broken(register.name, problem, "give it shorter delays or a longer SIFS, the longer SIFS first")
        if delay_clocks >= (timeout_us - sifs_us) * self._clock["per_us"]:
            problem = (
                f"response_timeout of {timeout_us} us is not above SIFS of {sifs_us} us "
                f"and the PHY's delays of {delay_clocks} clocks"
            )
            return Broken(register.name, problem, "raise response_timeout by the delays first")
        return None


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


class MappedRegisters:
    """The registers of one map.

    Everything is read from the hardware: two programs may use one map as long as they do not write at once.
    """

    def __init__(
        self, bus: Bus, registers: Mapping[str, Register], what: str, core_id: int, version_major: int
    ) -> None:
        self._bus = bus
        self._registers = registers
        if (found := bus.read32(registers["id"].address)) != core_id:
            raise RegisterError(f"the registers say {found:#010x}; a {what} says {core_id:#010x}", "check the address")
        major = self.read("version")["version_major"]
        if major != version_major:
            raise RegisterError(
                f"the gateware's registers have version {major}; this software knows {version_major}",
                "use the software that came with the gateware",
            )

    def read(self, name: str, index: int = 0, /) -> dict[str, int]:
        """A register's fields, in the units of the reference."""
        register = find_register(name, self._registers)
        address = entry_address(register, index)
        value = sum(self._bus.read32(address + 4 * word) << 32 * word for word in range(register.words))
        return split(register, value)

    def write(self, name: str, index: int = 0, /, **fields: int) -> None:
        """Writes fields of a register; those not named keep their values. RegisterError if they are not legal."""
        register = find_register(name, self._registers)
        self._may_be_written(register, fields)
        self._write(register, index, fields)
        self.raise_if_refused()

    def raise_if_refused(self) -> None:
        """RegisterError if the hardware refused a write since the last call, with the reason and the address."""
        error = self.read("error")
        reasons = [name for name in ERROR_MEANINGS if error[name]]
        if not reasons:
            return
        register = self._registers["error"]
        self._bus.write32(register.address, sum(register.fields[name].mask for name in reasons))
        told = "; ".join(ERROR_MEANINGS[name] for name in reasons)
        # It counts from the first register of the map, which is its id.
        place = register_at(self._registers["id"].address + error["at_address"], self._registers)
        raise RegisterError(
            f"a write to {place} was refused: {told}",
            "see the register in gateware/spec/reference.md",
        )

    def read_statistics(self) -> dict[str, int]:
        """Every counter by name, without stat_; they wrap at 2^32, so differences are modulo that."""
        names = [name for name in self._registers if name.startswith("stat_")]
        return {name.removeprefix("stat_"): self.read(name)["count"] for name in names}

    def _may_be_written(self, register: Register, fields: Mapping[str, int]) -> None:
        for name in fields:
            if find_field(register, name).access == "r":
                raise RegisterError(f"{register.name}.{name} can only be read", "leave it out")
        if not register.writable:
            raise RegisterError(f"register {register.name} can only be read", "leave it out")
        if not register.live and self._running():
            problem = f"register {register.name} changes only while the MAC does not run"
            raise RegisterError(problem, "write control.enable = 0 first")

    def _write(self, register: Register, index: int, fields: Mapping[str, int]) -> None:
        """Writes one register, in words, none of which need be legal without the others but for its own fields."""
        address = entry_address(register, index)
        whole = {name for name, field in register.fields.items() if field.access == "rw"} <= set(fields)
        now = {} if whole else self.read(register.name, index)
        written = {
            name: int(fields.get(name, now.get(name, 0) if field.access == "rw" else 0))
            for name, field in register.fields.items()
            if field.access != "r"
        }
        if (broken := self._rules(register).broken_by(register, index, written)) is not None:
            raise broken.error()
        value = 0
        for name, content in written.items():
            value = register.fields[name].put(value, content)
        for word in range(register.words):
            self._bus.write32(address + 4 * word, value >> 32 * word & WORD)

    def _running(self) -> bool:
        """Whether the MAC runs, so that settings stand."""
        return bool(self._bus.read32(REGISTERS["control"].address) & REGISTERS["control"].fields["enable"].mask)

    def _rules(self, register: Register) -> Rules:
        """What a write to the register is held against."""
        return Rules({}, registers=self._registers)


class MacRegisters(MappedRegisters):
    """The registers of one MAC."""

    def __init__(self, bus: Bus) -> None:
        super().__init__(bus, REGISTERS, "MAC", CORE_ID, CORE_VERSION_MAJOR)

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


QUEUE_OF = {
    EventKind.BACKOFF_START_0: 0,
    EventKind.BACKOFF_START_1: 1,
    EventKind.BACKOFF_END_0: 0,
    EventKind.BACKOFF_END_1: 1,
    EventKind.PACKET_TAKEN_0: 0,
    EventKind.PACKET_TAKEN_1: 1,
}

# Registers whose values bound each other's.
ORDERED = tuple(
    sorted(
        {
            name
            for register in REGISTERS.values()
            for field in register.fields.values()
            for reference in (field.at_least, field.above)
            if reference and not reference.startswith(f"{register.name}.")
            for name in (register.name, reference.partition(".")[0])
        }
        | set(DELAYED)
    )
)


def planned(
    held: Mapping[tuple[str, int], Mapping[str, int]],
    values: Mapping[tuple[str, int], Mapping[str, int]],
    clock: Mapping[str, int] = DEFAULT_CLOCK,
) -> list[tuple[str, int]]:
    """An order of writing `values` in which each is legal when it comes; RegisterError if there is none.

    `held` has what the registers of ORDERED hold now.
    """
    now = dict(held)
    order: list[tuple[str, int]] = []
    left = list(values)
    while left:
        broken = None
        for key in left:
            name, index = key
            broken = Rules(now, clock).broken_by(find_register(name), index, values[key])
            if broken is None:
                break
        else:
            assert broken is not None
            raise broken.error()
        now[key] = values[key]
        order.append(key)
        left.remove(key)
    return order


def register_at(address: int, registers: Mapping[str, Register] = REGISTERS) -> str:
    """What stands at a byte address, to be told to a user."""
    for register in registers.values():
        for index in range(register.count):
            if 0 <= address - entry_address(register, index) < 4 * register.words:
                place = f"[{index}]" if register.is_array else ""
                return f"{register.name}{place} ({address:#05x})"
    return f"{address:#05x}, where no register is"
