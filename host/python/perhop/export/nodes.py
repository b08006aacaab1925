# SPDX-License-Identifier: GPL-2.0-or-later
"""Which daemons there are, and the registers of their MACs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from perhop.live import messages, network
from perhop.registers import HISTOGRAM_BINS, NeighbourSnapshot, RegisterError, entry_address, find_register, split
from perhop.registers import spec_generated as spec

SNAPSHOT_REGISTERS = (
    "neighbour_contention",
    "neighbour_overhead",
    "neighbour_data_attempts",
    "neighbour_packets",
    "neighbour_drops",
    "neighbour_service",
)


@dataclass(frozen=True)
class NodeSocket:
    """A daemon's control socket, and what to call the node."""

    label: str
    path: Path
    network: str | None = None

    def status(self, timeout_s: float = 2) -> dict[str, Any]:
        """What the daemon says of itself. Raises NoAnswer, PerhopError."""
        return messages.ask_node(self.path, {"command": "status"}, timeout_s)

    def access(self, accesses: Sequence[Sequence[int]], timeout_s: float = 2) -> list[int | None]:
        """Accesses to the MAC's registers in one moment: [address] reads, [address, word] writes.

        None for what this MAC does not do. Raises NoAnswer, PerhopError.
        """
        if len(accesses) > spec.AIR_MOST_REGISTER_ACCESSES:
            raise RegisterError(
                f"{len(accesses)} accesses at once", f"make at most {spec.AIR_MOST_REGISTER_ACCESSES} in one call"
            )
        command = {"command": "registers", "accesses": [list(access) for access in accesses]}
        values: list[int | None] = messages.ask_node(self.path, command, timeout_s)["values"]
        return values


def find_nodes(word: str | None = None, name: str | None = None, path: Path | None = None) -> list[NodeSocket]:
    """The daemon at `path`; or one node of a live network, or all. Raises PerhopError."""
    if path is not None:
        return [NodeSocket(path.stem, path)]
    chosen = network.only_name(name)
    state = network.read_state(chosen)
    nodes = state["nodes"] if word is None else [network.node_of(state, word)]
    folder = network.state_folder() / chosen
    return [NodeSocket(str(node["index"]), folder / f"node-{node['index']}.sock", chosen) for node in nodes]


def register_accesses(names: Iterable[tuple[str, int]]) -> list[list[int]]:
    """What reads these registers, (name, index)."""
    accesses = []
    for name, index in names:
        register = find_register(name)
        first = entry_address(register, index)
        accesses += [[first + 4 * word] for word in range(register.words)]
    return accesses


def register_fields(
    names: Iterable[tuple[str, int]], values: Sequence[int | None]
) -> dict[tuple[str, int], dict[str, int]]:
    """The fields of those registers from the answers; without those that this MAC does not have."""
    found = {}
    at = 0
    for name, index in names:
        register = find_register(name)
        words = values[at : at + register.words]
        at += register.words
        if all(word is not None for word in words):
            whole = sum((word or 0) << 32 * place for place, word in enumerate(words))
            found[name, index] = split(register, whole)
    return found


def snapshot_accesses(slots: Iterable[int]) -> list[list[int]]:
    """What copies neighbours out of the MAC's table, histograms included."""
    select, attempts = find_register("neighbour_select"), find_register("neighbour_data_attempts")
    accesses = []
    for slot in slots:
        for histogram_bin in range(HISTOGRAM_BINS):
            word = 0
            for field, value in (("index", slot), ("histogram_bin", histogram_bin), ("take", 1)):
                word = select.fields[field].put(word, value)
            accesses += [[select.address, word], [attempts.address]]
        accesses += register_accesses((name, 0) for name in SNAPSHOT_REGISTERS)
    return accesses


def snapshots(slots: Iterable[int], values: Sequence[int | None]) -> dict[int, NeighbourSnapshot]:
    """The neighbours from the answers to snapshot_accesses(); all of one moment."""
    attempts = find_register("neighbour_data_attempts")
    names = [(name, 0) for name in SNAPSHOT_REGISTERS]
    size = 2 * HISTOGRAM_BINS + len(register_accesses(names))
    found = {}
    for place, slot in enumerate(slots):
        mine = values[place * size : (place + 1) * size]
        fields = register_fields(names, mine[2 * HISTOGRAM_BINS :])
        bins = [value for value in mine[1 : 2 * HISTOGRAM_BINS : 2] if value is not None]
        if len(fields) < len(names) or len(bins) < HISTOGRAM_BINS:
            continue
        service = fields["neighbour_service", 0]
        found[slot] = NeighbourSnapshot(
            slot=slot,
            contention_us=fields["neighbour_contention", 0]["average_us16"] / spec.NEIGHBOUR_AVERAGE_STEPS_PER_US,
            overhead_us=fields["neighbour_overhead", 0]["average_us16"] / spec.NEIGHBOUR_AVERAGE_STEPS_PER_US,
            data_attempts=fields["neighbour_data_attempts", 0]["average_256"] / spec.NEIGHBOUR_ATTEMPT_STEPS,
            packets=fields["neighbour_packets", 0]["value"],
            drops=fields["neighbour_drops", 0]["value"],
            service_us=service["sum_low_us"] | service["sum_high_us"] << 32,
            histogram=tuple(split(attempts, value)["histogram_packets"] for value in bins),
        )
    return found


@dataclass(frozen=True)
class RegisterBus:
    """The registers behind a daemon as `perhop.registers.MacRegisters` wants them, a word at a time.

    Who reads the neighbour table this way must be alone; probe and the others copy it out in one moment.
    """

    node: NodeSocket

    def read32(self, address: int) -> int:
        (word,) = self.node.access([[address]])
        if word is None:
            raise RegisterError(f"this MAC has no register at {address:#05x}", "see `perhop probe`")
        return word

    def write32(self, address: int, word: int) -> None:
        (done,) = self.node.access([[address, word]])
        if done is None:
            raise RegisterError(f"the register at {address:#05x} of this MAC cannot be written", "leave it as it is")
