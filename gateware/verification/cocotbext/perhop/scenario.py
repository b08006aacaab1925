# SPDX-License-Identifier: GPL-2.0-or-later
"""Timelines as data: what reaches one station and what it must do. tests/scenarios/README.md has the format."""

from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from perhop.registers.spec_generated import PROFILES, FrameKind, TxResult, airtime_us

from .exchange import Completion, Delivery, Output, Packet, ReceivedFrame, TickInputs, Transmission
from .settings import CTS_BYTES, RTS_BYTES, MacSettings, profile_settings, station_address
from .xoroshiro import draws_of

# How long a timeline goes on after its last entry, so that what must not happen has time to happen.
QUIET_US = 1000

SCENARIO_KEYS = {"name", "drawing", "profile", "ns2", "settings", "seed", "draws", "events", "expect", "until_us"}
FRAME_KEYS = {
    "kind", "from", "to", "rate", "bytes", "airtime_us", "duration_us", "sequence", "retry", "fcs", "rx_start_at_us"
}  # fmt: skip
SUBMIT_KEYS = {"to", "peer", "bytes", "rate", "rts", "tag"}
TRANSMISSION_KEYS = {"to": "ra"} | {name: name for name in ("rate", "bytes", "airtime_us", "duration_us", "sequence",
                                                            "retry", "tag")}  # fmt: skip
COMPLETION_KEYS = {field.name for field in fields(Completion)} - {"at_us", "result"}


class ScenarioError(Exception):
    """A scenario file is wrong; the message names file, scenario and entry."""


@dataclass(frozen=True)
class Expected:
    """One output that must come: its type, its time, and the fields that matter."""

    kind: type
    at_us: int
    values: dict[str, object]

    def differences(self, output: Output) -> list[str]:
        """What is wrong with an output; empty when nothing is."""
        if type(output) is not self.kind:
            return [f"a {type(output).__name__} instead of a {self.kind.__name__}"]
        found = {"at_us": output.at_us} | {name: getattr(output, name) for name in self.values}
        wanted = {"at_us": self.at_us} | self.values
        return [f"{name} {found[name]} instead of {wanted[name]}" for name in wanted if found[name] != wanted[name]]


@dataclass(frozen=True)
class Scenario:
    """One timeline; its name is the sentence it proves."""

    name: str
    drawing: str
    settings: MacSettings
    inputs: tuple[TickInputs, ...]
    expected: tuple[Expected, ...]
    until_us: int

    def check(self, outputs: list[Output]) -> None:
        """Compares everything that the station did with everything that it must do; raises AssertionError."""
        wrong = []
        for number, expected in enumerate(self.expected):
            if number >= len(outputs):
                wrong.append(f"at {expected.at_us} us nothing instead of {expected.kind.__name__} {expected.values}")
            elif differences := expected.differences(outputs[number]):
                wrong.append(f"at {outputs[number].at_us} us: {', '.join(differences)}\n    {outputs[number]}")
        wrong += [f"unexpected: {output}" for output in outputs[len(self.expected) :]]
        assert not wrong, f"{self.name}\n{self.drawing}\n" + "\n".join(wrong)


def _known(entry: dict, keys: set[str], where: str) -> None:
    if unknown := set(entry) - keys:
        raise ScenarioError(f"{where}: unknown {', '.join(sorted(unknown))}; known are {', '.join(sorted(keys))}")


def frame_airtime_us(settings: MacSettings, kind: FrameKind, rate: int, mpdu_bytes: int | None) -> int:
    """Airtime of a received frame of a known kind."""
    sizes = {FrameKind.RTS: RTS_BYTES, FrameKind.CTS: CTS_BYTES, FrameKind.MAC_ACK: CTS_BYTES}
    size_bytes = mpdu_bytes if mpdu_bytes is not None else sizes[kind]
    return airtime_us(PROFILES[settings.profile], rate, size_bytes)


class Timeline:
    """Puts frames and energy on the air around a station and turns them into what its PHY tells it."""

    def __init__(self, settings: MacSettings) -> None:
        self.settings = settings
        self._ticks: dict[int, TickInputs] = {}
        self._busy: list[tuple[int, int]] = []

    def _tick(self, at_us: int) -> TickInputs:
        return self._ticks.setdefault(at_us, TickInputs(at_us))

    def submit(self, at_us: int, packet: Packet) -> None:
        """The host gives a packet to the MAC."""
        self._tick(at_us).packets.append(packet)

    def energy(self, at_us: int, until_us: int) -> None:
        """Carrier without a frame."""
        self._busy.append((at_us, until_us))

    def frame(self, at_us: int, until_us: int, frame: ReceivedFrame, rx_start_at_us: int | None) -> None:
        """A frame on the air; the PHY indicates its start at rx_start_at_us, or not at all."""
        self.energy(at_us, until_us)
        if rx_start_at_us is not None:
            tick = self._tick(rx_start_at_us)
            if tick.rx_start:
                raise ValueError(f"two frames start at {rx_start_at_us} us")
            tick.rx_start = True
        tick = self._tick(until_us)
        if tick.rx_end:
            raise ValueError(f"two frames end at {until_us} us")
        tick.rx_end = frame

    def inputs(self) -> list[TickInputs]:
        """In order of time, with the carrier's level at its edges: frames that overlap are one busy period."""
        levels: dict[int, bool] = {}
        end_us = -1
        for begin, until in sorted(self._busy):
            if begin > end_us:
                levels[begin] = True
                if end_us >= 0:
                    levels[end_us] = False
            end_us = max(end_us, until)
        if self._busy:
            levels[end_us] = False
        for at_us, level in levels.items():
            self._tick(at_us).cca_busy = level
        return [self._ticks[at_us] for at_us in sorted(self._ticks)]


def _add_event(timeline: Timeline, event: dict, where: str) -> None:
    settings = timeline.settings
    at_us = event["at_us"]
    match [key for key in event if key != "at_us"]:
        case ["energy_us"]:
            timeline.energy(at_us, at_us + event["energy_us"])
        case ["submit"]:
            submit = event["submit"]
            _known(submit, SUBMIT_KEYS, where)
            rate, size_bytes = submit.get("rate", 0), submit["bytes"]
            timeline.submit(
                at_us,
                Packet(
                    ra=station_address(submit["to"]),
                    peer=submit.get("peer", 0),
                    bytes=size_bytes,
                    rate=rate,
                    airtime_us=settings.data_airtime_us(rate, size_bytes),
                    use_rts=submit.get("rts", False),
                    tag=submit.get("tag", 0),
                ),
            )
        case ["frame"]:
            frame = event["frame"]
            _known(frame, FRAME_KEYS, where)
            kind = FrameKind[frame["kind"].upper()]
            rate = frame.get("rate", settings.rts_rate)
            length_us = frame.get("airtime_us")
            if length_us is None:
                length_us = frame_airtime_us(settings, kind, rate, frame.get("bytes"))
            start_at_us = frame.get("rx_start_at_us", at_us + settings.phy_rx_start_delay_us)
            timeline.frame(
                at_us,
                at_us + length_us,
                ReceivedFrame(
                    ok={"good": True, "bad": False}[frame.get("fcs", "good")],
                    kind=kind,
                    rate=rate,
                    duration_us=frame.get("duration_us", 0),
                    ra=station_address(frame["to"]),
                    ta=station_address(frame["from"]),
                    sequence=frame.get("sequence", 0),
                    retry=frame.get("retry", False),
                ),
                None if start_at_us == "never" else start_at_us,
            )
        case other:
            raise ScenarioError(f"{where}: an event is one of submit, frame, energy_us, not {' and '.join(other)}")


def _expected(entry: dict, where: str) -> Expected:
    rest = {key: value for key, value in entry.items() if key != "at_us"}
    if "send" in rest:
        kind = FrameKind[rest.pop("send").upper()]
        _known(rest, set(TRANSMISSION_KEYS), where)
        values = {TRANSMISSION_KEYS[key]: value for key, value in rest.items()}
        if "ra" in values:
            values["ra"] = station_address(values["ra"])
        return Expected(Transmission, entry["at_us"], {"kind": int(kind)} | values)
    if "done" in rest:
        result = TxResult[rest.pop("done").upper()]
        _known(rest, COMPLETION_KEYS, where)
        return Expected(Completion, entry["at_us"], {"result": int(result)} | rest)
    if rest.keys() == {"receive"}:
        return Expected(Delivery, entry["at_us"], {"duplicate": {"new": False, "duplicate": True}[rest["receive"]]})
    raise ScenarioError(f"{where}: an expectation is one of send, done, receive")


def _scenario(source: dict[str, Any], where: str) -> Scenario:
    _known(source, SCENARIO_KEYS, where)
    settings = profile_settings(
        source["profile"],
        ns2=source.get("ns2", False),
        **({"seed": source["seed"]} if "seed" in source else {}),
        **source.get("settings", {}),
    )
    # What a seed draws is written beside it, so that the timeline can be read; here it is checked.
    if "draws" in source:
        stated = source["draws"]
        windows = [window for window, _ in stated]
        drawn = draws_of(settings.seed, windows, below_cw=settings.quirk_draw_below_cw)
        if drawn != [slots for _, slots in stated]:
            raise ScenarioError(f"{where}: seed {settings.seed} draws {drawn} from windows {windows}")
    timeline = Timeline(settings)
    for number, event in enumerate(source["events"]):
        _add_event(timeline, event, f"{where}, event {number + 1}")
    expected = tuple(
        _expected(entry, f"{where}, expectation {number + 1}") for number, entry in enumerate(source["expect"])
    )
    inputs = tuple(timeline.inputs())
    last_us = max([tick.at_us for tick in inputs] + [entry.at_us for entry in expected])
    return Scenario(
        source["name"], source["drawing"], settings, inputs, expected, source.get("until_us", last_us + QUIET_US)
    )


def load_scenarios(path: Path) -> Iterator[Scenario]:
    """Reads a file of timelines.

    Raises:
        ScenarioError: something in it is unknown, missing or contradictory.
    """
    document = YAML(typ="safe").load(path)
    common = document.get("common", {})
    names: set[str] = set()
    for source in document["scenarios"]:
        where = f"{path.name}, {source.get('name', 'a scenario without name')}"
        try:
            scenario = _scenario(common | source, where)
        except (KeyError, ValueError, TypeError) as error:
            raise ScenarioError(f"{where}: {error!r}") from error
        if scenario.name in names:
            raise ScenarioError(f"{where}: the name comes twice")
        names.add(scenario.name)
        yield scenario
