# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs a compiled example headless until it is done, and prints what it did as one line of JSON.

`--picture` renders the windows of a Qt example without a screen.
"""

import argparse
import importlib
import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

LINGER_S = 1.0
"""What is on its way when the last sample is out needs a moment, and the pictures a last update."""


def of_dsss_loopback(graph: Any) -> dict[str, Any]:
    """Frames lost, and what the receiver said of them."""
    check, samples = graph.check, graph.demodulator.receiver.samples
    return check.counts() | {
        "refused": graph.modulator.refused,
        "samples": samples,
        "air_s": samples / graph.samp_rate,
        "snr_db": statistics.fmean(check.snr_db) if check.snr_db else None,
        "carrier_hz": statistics.fmean(check.carrier_hz) if check.carrier_hz else None,
    }


def of_receive_file(graph: Any) -> dict[str, Any]:
    """Frames in the recording."""
    return {
        "frames": graph.demodulator.frames,
        "good_frames": graph.demodulator.good_frames,
        "captured": graph.recorder.frames,
        "samples": graph.demodulator.receiver.samples,
    }


def of_three_node_chain(graph: Any) -> dict[str, Any]:
    """Exchanges, and the completion records of every packet on every hop."""
    probe, macs = graph.probe, (graph.mac_0, graph.mac_1, graph.mac_2)
    return {
        "packets": graph.packets,
        "arrived": len(probe.arrivals_us),
        "complete": len(probe.complete()),
        "given_up": probe.given_up,
        "kinds": [mac.kinds for mac in macs],
        "bad_frames": sum(mac.bad_frames for mac in macs),
        "late": graph.medium.late,
        "collisions": graph.medium.collisions,
        "captured": graph.recorder.frames,
        "air_s": graph.medium.nitems_written(0) / graph.samp_rate,
        "delays_ms": {number: probe.delays_ms(number) for number in probe.complete()},
        "records": {
            number: [probe.records[number][node] for node in sorted(probe.records[number])]
            for number in probe.complete()
        },
        "arrivals_us": probe.arrivals_us,
    }


EXAMPLES: dict[str, tuple[Callable[[Any], Any], Callable[[Any], dict[str, Any]]]] = {
    "dsss_loopback": (lambda graph: graph.demodulator.finished, of_dsss_loopback),
    "receive_file": (lambda graph: graph.demodulator.finished, of_receive_file),
    "three_node_chain": (lambda graph: graph.all_arrived.done, of_three_node_chain),
}
"""For each: the event that it is done, and what it did."""


def settings_of(words: list[str]) -> dict[str, Any]:
    """name=value of the flowgraph's parameters; numbers where they are some."""
    settings: dict[str, Any] = {}
    for word in words:
        name, _, value = word.partition("=")
        try:
            settings[name] = json.loads(value)
        except ValueError:
            settings[name] = value
    return settings


def run(name: str, settings: dict[str, Any], most_s: float, picture: Path | None) -> dict[str, Any]:
    """Runs the flowgraph for at most `most_s` of wall time."""
    done_of, result_of = EXAMPLES[name]
    module = importlib.import_module(name)
    kind = getattr(module, name)
    is_qt = hasattr(module, "Qt")
    if is_qt:
        os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
        application = module.Qt.QApplication(sys.argv[:1])
    graph = kind(**settings)
    if picture is not None and is_qt:
        graph.resize(1400, 900)
    begin_s, begin_cpu_s = time.monotonic(), time.process_time()
    graph.start()
    if is_qt:
        graph.show()
    done = done_of(graph)
    while not done.is_set() and time.monotonic() - begin_s < most_s:
        if is_qt:
            application.processEvents()
        time.sleep(0.01)
    finished, wall_s, cpu_s = done.is_set(), time.monotonic() - begin_s, time.process_time() - begin_cpu_s
    end_s = time.monotonic() + LINGER_S
    while time.monotonic() < end_s:
        if is_qt:
            application.processEvents()
        time.sleep(0.02)
    graph.stop()
    graph.wait()
    if picture is not None and is_qt:
        graph.grab().save(str(picture))
    return {"finished": finished, "wall_s": wall_s, "cpu_s": cpu_s} | result_of(graph)


def main() -> int:
    """One example."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("example", choices=sorted(EXAMPLES))
    parser.add_argument("settings", nargs="*", metavar="name=value", help="parameters of the flowgraph")
    parser.add_argument("--compiled", type=Path, required=True, help="folder with the compiled examples")
    parser.add_argument("--seconds", type=float, default=300, help="longest run")
    parser.add_argument("--picture", type=Path, help="PNG of the windows")
    arguments = parser.parse_args()
    sys.path.insert(0, str(arguments.compiled))
    settings = settings_of(arguments.settings)
    print(json.dumps(run(arguments.example, settings, arguments.seconds, arguments.picture)), flush=True)
    # GNU Radio's blocks and Qt's windows need not be taken down in an order that suits both.
    os._exit(0)


if __name__ == "__main__":
    main()
