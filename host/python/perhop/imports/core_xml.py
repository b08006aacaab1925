# SPDX-License-Identifier: GPL-2.0-or-later
"""CORE's scenarios, which its `File > Save` writes as XML: the nodes of one wireless network become a topology.

    <scenario>
      <networks><network id="3" name="wlan3" type="WIRELESS_LAN">...</network></networks>
      <devices><device id="1" name="n1"><position x="208.0" y="211.0" .../></device></devices>
      <links><link node1="1" node2="3">...</link></links>
      <mobility_configurations>
        <mobility_configuration node="3" model="basic_range"><configuration name="range" value="275"/>...
      <session_origin lat="47.57" lon="-122.13" alt="2.0" scale="150.0"/>
    </scenario>

CORE places and measures in pixels, of which 100 are `scale` metres; y grows to the south.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from perhop.errors import choose_from
from perhop.mobility import trace_file
from perhop.mobility.trace import Place
from perhop.mobility.trace_file import MOST_M, MOST_NODES
from perhop.xml_events import XmlReader

WHAT = "a scenario of CORE, saved as XML"
ROOT = "scenario"
WIRELESS = ("WIRELESS_LAN", "EMANE", "WIRELESS")
PIXELS_A_SCALE = 100.0
# Of basic_range, where a scenario does not say.
DEFAULT_RANGE_PIXELS = 275.0
MOST_SCALE_M = 1e6


@dataclass
class _Item:
    """A network or device."""

    name: str
    type: str
    line: int
    place: tuple[float, float] | None = None  # pixels
    services: int = 0


@dataclass(frozen=True)
class Scenario:
    """What of a scenario an experiment can say."""

    network: str
    names: tuple[str, ...]
    places_m: tuple[Place, ...]
    range_m: float
    frame_error_rate: float
    left_out: tuple[str, ...]


def load(file: Path, network: str | None = None) -> Scenario:
    """The scenario in a file; `network` names a wireless one where there are several. Raises ExperimentError."""
    return parse(trace_file.read_bytes(file, WHAT), str(file), network)


def parse(content: bytes, name: str, network: str | None = None) -> Scenario:
    """The scenario that an XML document says; messages call it `name`. Raises ExperimentError."""
    reader = _Reader(name)
    reader.feed(content)
    return reader.scenario(network)


class _Reader(XmlReader):
    def __init__(self, name: str) -> None:
        super().__init__(name, ROOT, WHAT)
        self._networks: dict[str, _Item] = {}
        self._devices: dict[str, _Item] = {}
        self._links: list[tuple[str, str, int]] = []
        self._settings: dict[tuple[str, str], dict[str, tuple[str, int]]] = {}  # of a network's model
        self._scale_m: float | None = None
        self._item: _Item | None = None
        self._model: dict[str, tuple[str, int]] | None = None
        self._others: Counter[str] = Counter()

    def start(self, tag: str, fields: dict[str, str]) -> None:
        match tag:
            case "network" | "device":
                self._begin_item(tag, fields)
            case "position" if self._item is not None:
                x, y = (self._number(self.field(tag, fields, axis), axis, -MOST_M, MOST_M) for axis in "xy")
                self._item.place = (x, y)
            case "service" if self._item is not None:
                self._item.services += 1
            case "link":
                self._links.append((self.field(tag, fields, "node1"), self.field(tag, fields, "node2"), self.line))
            case "mobility_configuration" | "emane_configuration":
                key = (self.field(tag, fields, "node"), self.field(tag, fields, "model"))
                self._model = self._settings.setdefault(key, {})
            case "configuration" if self._model is not None:
                self._model[self.field(tag, fields, "name")] = (self.field(tag, fields, "value"), self.line)
            case "session_origin":
                self._scale_m = self._number(self.field(tag, fields, "scale"), "scale", 1e-6, MOST_SCALE_M)
            case "hook":
                self._others["hooks"] += 1

    def end(self, tag: str) -> None:
        if tag in ("network", "device"):
            self._item = None
        elif tag in ("mobility_configuration", "emane_configuration"):
            self._model = None

    def scenario(self, wanted: str | None) -> Scenario:
        """What has been read, of one wireless network. Raises ExperimentError."""
        if self._scale_m is None:
            raise self.error("has no <session_origin>, whose scale makes pixels metres", "save it with CORE", line=1)
        number, network = self._wireless(wanted)
        members = sorted(self._members(number), key=int)
        if len(members) < 2:
            raise self.error(
                f"links {len(members)} devices to {network.name}, and a network needs two", "link more", network.line
            )
        if len(members) > MOST_NODES:
            raise self.error(f"has more than {MOST_NODES} nodes", "give fewer", network.line)
        metres = self._scale_m / PIXELS_A_SCALE
        range_pixels, error_percent = self._basic_range(number)
        return Scenario(
            network.name,
            tuple(self._devices[each].name for each in members),
            tuple(self._place_m(self._devices[each], metres) for each in members),
            range_pixels * metres,
            error_percent / 100,
            self._left_out(number, members),
        )

    def _begin_item(self, tag: str, fields: dict[str, str]) -> None:
        number = self.field(tag, fields, "id")
        # Not isdigit() alone, which takes digits that int() does not.
        if not (number.isascii() and number.isdigit() and len(number) < 10):
            raise self.error(f"<{tag}> has the id {number[:20]!r}", "give a whole number")
        if number in self._networks or number in self._devices:
            raise self.error(f"has the id {number} a second time", "give each its own")
        self._item = _Item(fields.get("name", number)[:60], fields.get("type", ""), self.line)
        (self._networks if tag == "network" else self._devices)[number] = self._item

    def _wireless(self, wanted: str | None) -> tuple[str, _Item]:
        found = {number: each for number, each in self._networks.items() if each.type in WIRELESS}
        names = [each.name for each in found.values()]
        if not found:
            raise self.error("has no wireless network", f"add one of type {', '.join(WIRELESS)}", line=1)
        if wanted is not None:
            found = {number: each for number, each in found.items() if each.name == wanted}
            if not found:
                raise self.error(f"has no wireless network {wanted!r}", choose_from(wanted, names), line=1)
        if len(found) > 1:
            raise self.error(
                f"has {len(found)} wireless networks: {', '.join(names)}", "choose one with --network", line=1
            )
        return next(iter(found.items()))

    def _members(self, network: str) -> set[str]:
        members = set()
        for one, other, line in self._links:
            for here, there in ((one, other), (other, one)):
                if here not in self._networks and here not in self._devices:
                    raise self.error(f"links node {here[:20]}, which is not there", "add it, or remove the link", line)
                if there == network and here in self._devices:
                    members.add(here)
        return members

    def _place_m(self, device: _Item, metres: float) -> Place:
        if device.place is None:
            raise self.error(f"does not place device {device.name}", 'add <position x="..." y="..."/>', device.line)
        x, y = device.place
        return (x * metres + 0.0, -y * metres + 0.0)

    def _basic_range(self, network: str) -> tuple[float, float]:
        said = self._settings.get((network, "basic_range"), {})
        range_text, range_line = said.get("range", (str(DEFAULT_RANGE_PIXELS), 1))
        error_text, error_line = said.get("error", ("0", 1))

        def at(line: int) -> trace_file.Refusal:
            return lambda problem, remedy: self.error(problem, remedy, line)

        return (
            trace_file.number(range_text, "range", 1e-3, MOST_M, at(range_line)),
            trace_file.number(error_text or "0", "error", 0, 99.999, at(error_line)),
        )

    def _left_out(self, network: str, members: list[str]) -> tuple[str, ...]:
        out = ["where energy is sensed: 2.2 times as far as frames are read"]
        models = [model for number, model in self._settings if number == network]
        if "basic_range" in models:
            out.append("bandwidth, delay and jitter of basic_range: the MAC makes them")
        else:
            out.append(f"a range: links reach {DEFAULT_RANGE_PIXELS:g} pixels, CORE's default")
        for model in models:
            if model == "ns2script":
                file, _ = self._settings[network, model].get("file", ("", 1))
                out.append(f"the movements of {file[:100] or 'ns2script'}, which are in pixels: nodes stand")
            elif model != "basic_range":
                out.append(f"the model {model[:40]}")
        inside = {network, *members}
        wired = [link for link in self._links if not {link[0], link[1]} <= inside]
        apart = [each.name for number, each in self._devices.items() if number not in members]
        apart += [each.name for number, each in self._networks.items() if number != network]
        if wired:
            out.append(f"{len(wired)} links that are not of this network, and their rates and delays")
        if apart:
            out.append(f"nodes that are not on it: {', '.join(apart[:8])}" + (" ..." if len(apart) > 8 else ""))
        if services := sum(self._devices[each].services for each in members):
            out.append(f"{services} services (routing is perhop's), and addresses")
        out += [f"{count} {what}" for what, count in self._others.items()]
        return tuple(out)

    def _number(self, text: str, what: str, least: float, most: float) -> float:
        return trace_file.number(text, what, least, most, self.refused)
