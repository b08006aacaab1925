# SPDX-License-Identifier: GPL-2.0-or-later
"""Explains each packet of http.yaml's run, from the application's write to the last MAC ACK, and writes the page.

python sim/kernel/example/explain_http.py FOLDER            the page on standard output
python sim/kernel/example/explain_http.py FOLDER --document docs/kernel_http.md as well

FOLDER is that of the one run (it holds journeys.csv and kernel-8.log). Every packet's time is split into what the write
waited for in TCP, and for each hop what the packet waited for above the MAC and the ten parts of its service time. That
the parts make up the whole, to the microsecond, is examined for each packet; exits with 1 where they do not.
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
import textwrap
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from perhop import files, paths
from perhop.study.results import PARTS

BEGIN_NS = 1_000_000_000  # the run's time 0 in the kernels' time
DOCUMENT = Path(__file__).resolve().parents[3] / "docs/kernel_http.md"
SYN = 0x02
SENDS = ("write", "writev", "sendto", "sendmsg", "sendfile")


@dataclass(frozen=True)
class Hop:
    """A packet at one node. Times are microseconds of the run."""

    node: int
    here_us: int
    enqueue_us: int
    done_us: int
    delivered: bool
    attempts: int
    parts_us: dict[str, int]

    @property
    def above_mac_us(self) -> int:
        return self.enqueue_us - self.here_us

    @property
    def adds_up(self) -> bool:
        return sum(self.parts_us.values()) == self.done_us - self.enqueue_us


@dataclass
class Packet:
    """One that a server sent with data."""

    connection: tuple[str, int]  # client's address and port
    sequence: int
    payload_bytes: int
    hops: list[Hop] = field(default_factory=list)
    offset: int = 0  # of its first byte in what the server wrote
    written_us: float = 0.0  # when its last byte was

    @property
    def sent_us(self) -> int:
        return self.hops[0].here_us

    @property
    def in_tcp_us(self) -> float:
        return self.sent_us - self.written_us

    @property
    def arrived(self) -> bool:
        return self.hops[-1].delivered

    @property
    def total_us(self) -> float:
        return self.hops[-1].done_us - self.written_us

    @property
    def overlap_us(self) -> int:
        """A node has a packet when its DATA ends; the MAC ACK that ends it for the node before comes after."""
        return sum(here.done_us - there.here_us for here, there in zip(self.hops, self.hops[1:], strict=False))

    @property
    def explained_us(self) -> float:
        on_hops = sum(hop.above_mac_us + sum(hop.parts_us.values()) for hop in self.hops)
        return self.in_tcp_us + on_hops - self.overlap_us


def journeys(file: Path) -> list[dict[str, Any]]:
    """Rows of TCP packets on each hop, in the order in which MACs were done with them."""
    whole = {"source_port", "destination_port", "ip_id", "sequence", "flags", "payload_bytes", "node", "data_attempts"}
    whole |= {"here_us", "enqueue_us", "head_us", "done_us", *(f"{part}_us" for part in PARTS)}
    with file.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    return [{name: int(value) if name in whole else value for name, value in row.items()} for row in rows]


def calls(log: Path) -> list[dict[str, Any]]:
    """What the traced programs of a node did with connections, in order."""
    found = []
    for line in log.read_text(encoding="utf-8", errors="replace").splitlines():
        if line.startswith("{") and '"call"' in line:
            found.append(json.loads(line))
    return found


def packets(folder: Path, server: int, port: int) -> list[Packet]:
    """Each packet with data that the server sent, with its hops and its write."""
    first_byte: dict[tuple[str, int], int] = {}
    found: dict[tuple[Any, ...], Packet] = {}
    for row in journeys(folder / "journeys.csv"):
        if row["source_port"] != port:
            continue
        connection = (row["destination"], row["destination_port"])
        if row["flags"] & SYN:
            first_byte[connection] = row["sequence"] + 1
        if row["payload_bytes"] == 0:
            continue
        key = (connection, row["sequence"], row["ip_id"])
        packet = found.setdefault(key, Packet(connection, row["sequence"], row["payload_bytes"]))
        packet.hops.append(
            Hop(
                row["node"],
                row["here_us"],
                row["enqueue_us"],
                row["done_us"],
                row["result"] == "delivered",
                row["data_attempts"],
                {part: row[f"{part}_us"] for part in PARTS},
            )
        )
    written: dict[tuple[str, int], list[tuple[int, float]]] = defaultdict(list)  # bytes so far, and when
    for call in calls(folder / f"kernel-{server}.log"):
        here, there = call["here"].rsplit(":", 1), call["there"].rsplit(":", 1)
        if call["call"] in SENDS and call["bytes"] > 0 and int(here[1]) == port:
            list_of = written[there[0], int(there[1])]
            list_of.append(((list_of[-1][0] if list_of else 0) + call["bytes"], (call["at_ns"] - BEGIN_NS) / 1000))
    for packet in found.values():
        packet.offset = (packet.sequence - first_byte[packet.connection]) % 2**32
        last = packet.offset + packet.payload_bytes
        packet.written_us = next(at_us for until, at_us in written[packet.connection] if until >= last)
        packet.hops.sort(key=lambda hop: hop.here_us)
    return sorted(found.values(), key=lambda packet: (packet.sent_us, packet.connection))


def wrong(of: list[Packet], hops: int) -> list[str]:
    """What does not add up."""
    found = []
    for packet in of:
        name = f"bytes {packet.offset} to {packet.offset + packet.payload_bytes} of {packet.connection}"
        if not all(hop.adds_up for hop in packet.hops):
            found.append(f"{name}: the ten parts of a hop do not sum")
        if packet.arrived and len(packet.hops) != hops:
            found.append(f"{name}: crossed {len(packet.hops)} of {hops} hops")
        if abs(packet.explained_us - packet.total_us) > 1e-6:
            found.append(f"{name}: {packet.explained_us} us are explained of {packet.total_us}")
        if packet.in_tcp_us < 0:
            found.append(f"{name}: left before it was written")
    return found


GROUPS = {
    "waits above the MAC": (),
    "waits in the MAC's queue": ("queue",),
    "inter-frame spaces, back-off": ("ifs", "backoff"),
    "frozen: others are on the air": ("frozen_cca", "frozen_nav"),
    "answers others": ("responder",),
    "RTS, CTS, MAC ACK": ("control", "response"),
    "DATA": ("data",),
    "no answer came": ("timeout",),
}


def grouped(hop: Hop) -> dict[str, int]:
    found = {name: sum(hop.parts_us[part] for part in parts) for name, parts in GROUPS.items()}
    found["waits above the MAC"] = hop.above_mac_us
    return found


def hop_table(packet: Packet) -> list[str]:
    lines = [f"| hop | {' | '.join(GROUPS)} | sum |", "|---" * (len(GROUPS) + 2) + "|"]
    for number, hop in enumerate(packet.hops, 1):
        parts = grouped(hop)
        lines.append(f"| {number} | {' | '.join(f'{value:,}' for value in parts.values())} | {sum(parts.values()):,} |")
    sums = {name: sum(grouped(hop)[name] for hop in packet.hops) for name in GROUPS}
    lines.append(f"| all | {' | '.join(f'{value:,}' for value in sums.values())} | {sum(sums.values()):,} |")
    return lines


def connections(of: list[Packet], folder: Path, client: int) -> list[str]:
    """One line each."""
    lines = [
        "| client's port | bytes | packets | sent again | first write, ms | last byte read, ms "
        "| in TCP | above the MAC and in its queue | contention | on the air | no answer |",
        "|---" * 11 + "|",
    ]
    reads = calls(folder / f"kernel-{client}.log")
    for connection in sorted({packet.connection for packet in of}):
        mine = [packet for packet in of if packet.connection == connection]
        fresh = {packet.offset for packet in mine}
        end_us = max(
            (call["at_ns"] - BEGIN_NS) / 1000
            for call in reads
            if call["call"] in ("read", "recvfrom") and call["bytes"] > 0 and call["here"].endswith(f":{connection[1]}")
        )
        total = sum(packet.total_us for packet in mine)
        sums = {name: sum(grouped(hop)[name] for packet in mine for hop in packet.hops) for name in GROUPS}
        parts = (
            sum(packet.in_tcp_us for packet in mine),
            sums["waits above the MAC"] + sums["waits in the MAC's queue"],
            sums["inter-frame spaces, back-off"] + sums["frozen: others are on the air"] + sums["answers others"],
            sums["RTS, CTS, MAC ACK"] + sums["DATA"] - sum(packet.overlap_us for packet in mine),
            sums["no answer came"],
        )
        lines.append(
            f"| {connection[1]} | {sum({p.offset: p.payload_bytes for p in mine}.values()):,} | {len(mine)} | "
            f"{len(mine) - len(fresh)} | {min(p.written_us for p in mine) / 1000:.3f} | {end_us / 1000:.3f} | "
            + " | ".join(f"{part / total:.1%}" for part in parts)
            + " |"
        )
    return lines


def named(packet: Packet) -> str:
    last = packet.offset + packet.payload_bytes - 1
    return f"bytes {packet.offset:,} to {last:,} for port {packet.connection[1]}"


def adds_up(packet: Packet) -> str:
    on_hops = sum(sum(grouped(hop).values()) for hop in packet.hops)
    return (
        f"In TCP {packet.in_tcp_us:,.3f} us, on the hops {on_hops:,} us, less {packet.overlap_us:,} us of overlap: "
        f"{packet.total_us:,.3f} us"
    )


def page(folder: Path, of: list[Packet], result: dict[str, Any], server: int, client: int) -> str:
    arrived = [packet for packet in of if packet.arrived]
    slowest = max(arrived, key=lambda packet: packet.total_us - packet.in_tcp_us)
    first = arrived[0]
    on_way_us = [packet.total_us - packet.in_tcp_us for packet in arrived]
    table = "\n".join(connections(of, folder, client))
    kernels = ", ".join(f"`{kernel['packet_hash']}` (node {kernel['node']})" for kernel in result["kernels"])
    lost = len(of) - len(arrived)
    files_served = len({packet.connection for packet in of})
    in_tcp_ms = max(packet.in_tcp_us for packet in arrived) / 1000
    conclusion = (
        f"An unmodified busybox serves {files_served} files to as many unmodified clients at once, 8 hops of 802.11b "
        f"away. Each of the {len(of)} packets with data is accounted for from the application's write to the MAC ACK "
        "of the last hop: the parts make up its time to the microsecond. On their way packets take "
        f"{min(on_way_us) / 1000:.1f} to {max(on_way_us) / 1000:.1f} ms; before that they wait in the server's TCP, "
        f"for up to {in_tcp_ms:.0f} ms."
    )
    return f"""# An HTTP server over 8 hops, packet by packet

{textwrap.fill(conclusion, 120)}

Written by `sim/kernel/example/explain_http.py`, which examines that sum for each packet. Version
{paths.version()["git"]}. To see it:

```sh
make kernel
.venv/bin/python sim/kernel/example/http_initramfs.py
.venv/bin/perhop run sim/kernel/example/http.yaml --backend kernel --out out/http
.venv/bin/python sim/kernel/example/explain_http.py out/http/runs/*/
```

The run repeats to the byte: its transmissions have the hash `{result["trace_hash"]}`, what passed between the two
kernels and their nodes {kernels}. Programs are traced as by strace. Of a
kernel's time that takes 256 ns for each reading of its clock, some microseconds a call.

## Where the time of each connection went

All times of all packets with data, from the write on. {lost} of them were lost on the way and sent again by TCP.

{table}

## One packet: {named(first)}

The server writes at {first.written_us / 1000:.3f} ms. TCP sends after {first.in_tcp_us:,.0f} us; the last MAC ACK ends
at {first.hops[-1].done_us / 1000:.3f} ms. Microseconds:

{chr(10).join(hop_table(first))}

A node has the packet when its DATA ends, and the node before is done with it a SIFS and a MAC ACK later:
{first.overlap_us:,} us of these sums overlap. {adds_up(first)}.

## The slowest on its way: {named(slowest)}

Written at {slowest.written_us / 1000:.3f} ms, sent {slowest.in_tcp_us:,.0f} us later, done at
{slowest.hops[-1].done_us / 1000:.3f} ms. {adds_up(slowest)}.

{chr(10).join(hop_table(slowest))}
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--server", type=int, default=8)
    parser.add_argument("--client", type=int, default=0)
    parser.add_argument("--port", type=int, default=80)
    parser.add_argument("--document", type=Path, nargs="?", const=DOCUMENT, help="write the page there, too")
    options = parser.parse_args()
    result = json.loads((options.folder / "result.json").read_text(encoding="utf-8"))
    of = packets(options.folder, options.server, options.port)
    text = page(options.folder, of, result, options.server, options.client)
    print(text)
    problems = wrong(of, abs(options.server - options.client))
    for problem in problems:
        print(problem, file=sys.stderr)
    if options.document:
        files.write_text(options.document, text)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
