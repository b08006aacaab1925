# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs an example headless until it is done, and prints what it did as one line of JSON.

`--picture` renders the windows of a Qt example without a screen, `--window` shows them. SIGINT and SIGTERM end it as
if it were done. The exit status is 0, or EXIT_RADIO when a radio is missing, cannot do what is asked, or loses samples:
then the last lines say what happened and what to do.
"""

import argparse
import faulthandler
import importlib
import json
import os
import signal
import statistics
import sys
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
EXIT_RADIO = 3
SWITCH_S = 1e-4
"""Blocks in Python hand samples on from thread to thread; Python's own 5 ms between them cost half of the speed."""
STATUS_S = 1.0
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


def of_host_phy_transceiver(graph: Any) -> dict[str, Any]:
    """What a node did: its frames, and the completion records of its packets."""
    mac, probe = graph.mac, graph.probe
    return {
        "node": graph.node,
        "kinds": mac.kinds,
        "received_frames": mac.received_frames,
        "bad_frames": mac.bad_frames,
        "arrived": len(probe.arrivals_us),
        "complete": len(probe.complete()),
        "given_up": probe.given_up,
        "captured": graph.recorder.frames,
        "delays_ms": {number: probe.delays_ms(number)[0] for number in probe.complete()},
        "records": {number: next(iter(probe.records[number].values())) for number in probe.complete()},
    }


def of_receive_usrp(graph: Any) -> dict[str, Any]:
    """Frames on the air."""
    return of_receive_file(graph)


def of_recorded_exchange(graph: Any) -> dict[str, Any]:
    """What is in the picture."""
    return {
        "frames": graph.demodulator.frames,
        "good_frames": graph.demodulator.good_frames,
        "samples": graph.demodulator.receiver.samples,
    }


def of_ofdm_exchange(graph: Any) -> dict[str, Any]:
    """Exchanges, and the frames of both nodes."""
    probe, macs, phys = graph.probe, (graph.mac_0, graph.mac_1), (graph.phy_0, graph.phy_1)
    return {
        "packets": graph.packets,
        "arrived": len(probe.arrivals_us),
        "complete": len(probe.complete()),
        "given_up": probe.given_up,
        "kinds": [mac.kinds for mac in macs],
        "sent": [phy.ways.sent for phy in phys],
        "received": [phy.ways.received for phy in phys],
        "bad_frames": sum(mac.bad_frames for mac in macs),
        "captured": graph.recorder.frames,
        "delays_ms": {number: probe.delays_ms(number)[0] for number in probe.complete()},
    }


NEVER = threading.Event()

EXAMPLES: dict[str, tuple[Callable[[Any], Any], Callable[[Any], dict[str, Any]]]] = {
    "dsss_loopback": (lambda graph: graph.demodulator.finished, of_dsss_loopback),
    "receive_file": (lambda graph: graph.demodulator.finished, of_receive_file),
    "three_node_chain": (lambda graph: graph.all_arrived.done, of_three_node_chain),
    "recorded_exchange": (lambda graph: graph.demodulator.finished, of_recorded_exchange),
    "ofdm_exchange": (lambda graph: graph.all_done.done, of_ofdm_exchange),
    "ofdm_transceiver": (lambda graph: graph.all_done.done if graph.packets else NEVER, of_host_phy_transceiver),
    # Without packets of its own a node is there for others.
    "host_phy_transceiver": (lambda graph: graph.all_done.done if graph.packets else NEVER, of_host_phy_transceiver),
    "receive_usrp": (lambda graph: NEVER, of_receive_usrp),
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


class _stop:
    """SIGINT and SIGTERM end a run as if it were done."""

    def __init__(self) -> None:
        self.asked = threading.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: self.asked.set())


def faults_of(graph: Any) -> Any:
    """Faults of the flowgraph's radio; None where it has none."""
    return getattr(getattr(graph, "radio", None), "faults", None)


def status_of(result: dict[str, Any]) -> str:
    """A line for people: the numbers of a result."""
    return ", ".join(
        f"{name} {value}" for name, value in result.items() if isinstance(value, int | dict) and name != "records"
    )


# Applications and flowgraphs, up to os._exit(): a function that returns takes its own down, the application before the
# windows in it at times, and the process with them.
KEPT: list[Any] = []


def run(
    name: str, settings: dict[str, Any], most_s: float, picture: Path | None, window: bool = False, status: bool = False
) -> dict[str, Any]:
    """Runs the flowgraph for at most `most_s` of wall time. RadioError: its radio cannot be used."""
    done_of, result_of = EXAMPLES[name]
    sys.setswitchinterval(SWITCH_S)
    stop = _stop()
    module = importlib.import_module(name)
    kind = getattr(module, name)
    is_qt = hasattr(module, "Qt")
    if is_qt:
        if not window:
            os.environ["QT_QPA_PLATFORM"] = "offscreen"
        application = module.Qt.QApplication(sys.argv[:1])
        KEPT.append(application)
    graph = kind(**settings)
    KEPT.append(graph)
    if picture is not None and is_qt:
        graph.resize(1400, 1000)
    begin_s, begin_cpu_s = time.monotonic(), time.process_time()
    graph.start()
    if is_qt:
        graph.show()
    done, faults = done_of(graph), faults_of(graph)
    told_s = begin_s
    while not (done.is_set() or stop.asked.is_set() or (faults is not None and faults.stopped.is_set())):
        now_s = time.monotonic()
        if now_s - begin_s >= most_s or (window and is_qt and not graph.isVisible()):
            break
        if status and now_s - told_s >= STATUS_S:
            told_s = now_s
            print(f"{now_s - begin_s:.0f} s: {status_of(result_of(graph))}", file=sys.stderr, flush=True)
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
    result = {"finished": finished, "wall_s": wall_s, "cpu_s": cpu_s} | result_of(graph)
    if faults is not None:
        result |= {"faults": faults.counts, "fault": str(faults.first) if faults.first else None}
        result["most_lag_us"] = graph.radio.time.most_lag_us
    return result


def compiled_folder(name: str, folder: Path) -> Path:
    """Where the compiled example is; it is compiled where it is missing or older than its .grc."""
    grc, made = HERE / f"{name}.grc", folder / f"{name}.py"
    if not made.exists() or made.stat().st_mtime < grc.stat().st_mtime:
        sys.path.insert(0, str(HERE))
        from compile import compiled

        folder.mkdir(parents=True, exist_ok=True)
        compiled(grc, folder)
    return folder


def main() -> int:
    """One example."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("example", choices=sorted(EXAMPLES))
    parser.add_argument("settings", nargs="*", metavar="name=value", help="parameters of the flowgraph")
    parser.add_argument("--compiled", type=Path, required=True, help="folder with the compiled examples")
    parser.add_argument("--seconds", type=float, default=300, help="longest run")
    parser.add_argument("--picture", type=Path, help="PNG of the windows")
    parser.add_argument("--window", action="store_true", help="show the windows")
    parser.add_argument("--status", action="store_true", help="a line a second, to standard error")
    arguments = parser.parse_args()
    faulthandler.enable()
    sys.path.insert(0, str(HERE.parent / "blocks"))
    from perhop_gr.faults import RadioError

    settings = settings_of(arguments.settings)
    status = 0
    try:
        sys.path.insert(0, str(compiled_folder(arguments.example, arguments.compiled)))
        result = run(
            arguments.example, settings, arguments.seconds, arguments.picture, arguments.window, arguments.status
        )
        print(json.dumps(result), flush=True)
        if result.get("fault"):
            print(f"error: {result['fault']}", file=sys.stderr, flush=True)
            status = EXIT_RADIO
    except RadioError as error:
        print(f"error: {error}", file=sys.stderr, flush=True)
        status = EXIT_RADIO
    except Exception:
        traceback.print_exc()
        status = 1
    # GNU Radio's blocks and Qt's windows need not be taken down in an order that suits both.
    os._exit(status)


if __name__ == "__main__":
    main()
