# SPDX-License-Identifier: GPL-2.0-or-later
"""Wireshark's extcap: a running simulation and each live network as interfaces from which Wireshark captures.

    --extcap-interfaces                                  what there is
    --extcap-interface NAME --extcap-dlts                which kind of frames
    --extcap-interface NAME --extcap-config              what can be chosen
    --extcap-interface NAME --capture --fifo PIPE        pcapng into the pipe, until there is no more or nobody reads

A simulation's packets are what is on the air, with an interface a node, in simulated time. A live network's are what
passes between each daemon and its MAC, in the host's time; it must be up with `--capture`, and whoever captures must
be allowed to read its state (root).

Wireshark starts this at each look at its interfaces: it is light, and uses the standard library alone.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

from perhop import pcapng
from perhop.errors import PerhopError
from perhop.live import state_files

SIMULATION = "perhop-sim"
LIVE = "perhop-live-"
PACKETS = "packets.pcapng"
SIMULATORS = ("perhop-sim", "perhop-air", "perhop-kernel")
POLL_S = 0.1
VERSION = "1.0"
PROC = Path("/proc")


def main(arguments: list[str] | None = None) -> int:
    """What Wireshark calls. Errors go to standard error, which it shows."""
    asked = _parser().parse_args(arguments)
    try:
        if asked.extcap_interfaces:
            print("\n".join(_interfaces()))
        elif asked.extcap_dlts:
            print(f"dlt {{number={pcapng.LINKTYPE_RADIOTAP}}}{{name=IEEE802_11_RADIO}}{{display=802.11 plus radiotap}}")
        elif asked.extcap_config:
            print("\n".join(_config(asked.extcap_interface)))
        elif asked.capture:
            _capture(asked)
        else:
            raise PerhopError("is a program that Wireshark calls", "`perhop wireshark --install` puts it in its place")
    except PerhopError as error:
        print(f"perhop-extcap: {error}", file=sys.stderr)
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="perhop-extcap", description=__doc__.splitlines()[0] if __doc__ else None)
    for flag in ("--extcap-interfaces", "--extcap-dlts", "--extcap-config", "--capture"):
        parser.add_argument(flag, action="store_true")
    for option in ("--extcap-interface", "--fifo", "--extcap-version", "--extcap-capture-filter"):
        parser.add_argument(option, default="")
    parser.add_argument("--folder", default="", help="a run's or an output folder of `perhop run`")
    parser.add_argument("--history", action="store_true", help="also what a live network has captured before")
    return parser


def _interfaces() -> list[str]:
    live = [name for name in state_files.names() if (state_files.state_folder() / name / "state.json").exists()]
    return [
        f"extcap {{version={VERSION}}}{{display=perhop}}",
        f"interface {{value={SIMULATION}}}{{display=perhop: the running simulation}}",
        *(f"interface {{value={LIVE}{name}}}{{display=perhop: live network {name}}}" for name in live),
    ]


def _config(interface: str) -> list[str]:
    if interface == SIMULATION:
        return [
            "arg {number=0}{call=--folder}{display=Folder}{type=string}"
            "{tooltip=An output folder of perhop run, or a run in it. Empty: the newest simulation that runs}"
        ]
    return [
        "arg {number=0}{call=--history}{display=From the beginning}{type=boolflag}{default=false}"
        "{tooltip=Also what was captured before}"
    ]


def _capture(asked: argparse.Namespace) -> None:
    if not asked.fifo:
        raise PerhopError("--capture needs a pipe", "give --fifo PIPE")
    # Wireshark ends a capture so; what is in the pipe is whole blocks.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    with contextlib.suppress(BrokenPipeError, KeyboardInterrupt), Path(asked.fifo).open("wb") as sink:
        if asked.extcap_interface == SIMULATION:
            _simulation(Path(asked.folder) if asked.folder else None, sink)
        elif asked.extcap_interface.startswith(LIVE):
            _live(asked.extcap_interface.removeprefix(LIVE), asked.history, sink)
        else:
            raise PerhopError(
                f"there is no interface {asked.extcap_interface!r}", f"use {SIMULATION} or {LIVE}NAME of a live network"
            )


# --- simulations ----------------------------------------------------------------------------------------------------


def _simulation(folder: Path | None, sink: BinaryIO) -> None:
    """Packets as the simulator writes them, to the run's end."""
    file = _packets_of(folder) if folder is not None else _wait_for(_newest)
    try:
        follower = pcapng.Follower(file)
    except OSError as error:
        raise PerhopError(
            f"{file} cannot be read: {error.strerror}", "let the experiment record it: outputs.pcapng all or longest"
        ) from error
    running = True
    while running and not follower.damaged:
        # Asked before the last look: what was written until the end is still seen.
        running = _is_written(file)
        told = b"".join(pcapng.block(kind, body) for kind, body in follower.blocks())
        if told:
            sink.write(told)
            sink.flush()
        elif running:
            time.sleep(POLL_S)


def _packets_of(folder: Path) -> Path:
    """The packets of a run, or of the run of an output folder that records them. Raises PerhopError."""
    if (folder / PACKETS).is_file() and not (folder / "runs").is_dir():
        return folder / PACKETS
    runs = sorted((folder / "runs").glob(f"*/{PACKETS}"), key=lambda file: file.stat().st_mtime)
    for file in reversed(runs):
        if _is_written(file):
            return file
    if (folder / PACKETS).is_file():
        return folder / PACKETS
    if runs:
        return runs[-1]
    raise PerhopError(f"{folder} has no {PACKETS}", "give an output folder of `perhop run`, or a run's folder in it")


def _newest() -> Path | None:
    """The packets of the simulator that was started last."""
    found = [(file.stat().st_mtime, file) for file in _written() if file.exists()]
    return max(found)[1] if found else None


def _is_written(file: Path) -> bool:
    return any(each == file.absolute() for each in _written())


def _written() -> Iterator[Path]:
    """Captures of simulators that run: each is told its run.json, which tells the folder."""
    for process in PROC.iterdir():
        if not process.name.isdigit():
            continue
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError, AttributeError):
            words = (process / "cmdline").read_bytes().split(b"\0")[:-1]
            if not any(Path(os.fsdecode(word)).name in SIMULATORS for word in words[:2]):
                continue
            run_file = (process / "cwd").readlink() / os.fsdecode(words[-1])
            outputs = json.loads(run_file.read_bytes())["outputs"]
            if outputs["pcapng"]:
                yield Path(os.path.normpath(run_file.parent / outputs["directory"])) / PACKETS


def _wait_for(look: Callable[[], Path | None]) -> Path:
    while (found := look()) is None:
        time.sleep(POLL_S)
    return found


# --- live networks --------------------------------------------------------------------------------------------------


def _live(name: str, history: bool, sink: BinaryIO) -> None:
    """Packets of all nodes in one section, an interface a node, until the network is down."""
    folder = state_files.state_folder() / name
    if not name or Path(name).name != name:
        raise PerhopError(f"{name!r} is no name of a live network", "see `perhop live status`")
    try:
        nodes = [int(node["index"]) for node in json.loads((folder / "state.json").read_bytes())["nodes"]]
        followers = [pcapng.Follower(state_files.capture_file(folder, node)) for node in nodes]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise PerhopError(
            f"the live network {name} has no captures that can be read: {error}",
            "bring it up with `perhop live up FILE --capture`, and capture as root",
        ) from error
    if not history:
        for follower in followers:
            for _ in follower.blocks():
                pass
    sink.write(pcapng.section() + b"".join(pcapng.interface(f"n{node}") for node in nodes))
    while True:
        up = (folder / "state.json").exists()
        packets = [
            (pcapng.time_us(body), number, body)
            for number, follower in enumerate(followers)
            for kind, body in follower.blocks()
            if kind == pcapng.PACKET
        ]
        for _, number, body in sorted(packets):
            sink.write(pcapng.moved(body, number))
        sink.flush()
        if not up:
            return
        if not packets:
            time.sleep(POLL_S)


if __name__ == "__main__":
    sys.exit(main())
