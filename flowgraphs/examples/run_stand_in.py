# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs the transceiver of every node of a chain in this process, over the stand-in for gr-uhd.

The flowgraphs are those that real USRPs run. Ends with one line of JSON; the exit status is EXIT_RADIO after a fault,
as that of run.py; `--overflow` and `--underflow` bring one about.
"""

from __future__ import annotations

import argparse
import faulthandler
import importlib
import json
import os
import sys
import time
import traceback
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "blocks")]

import run  # noqa: E402
import uhd_stand_in  # noqa: E402

OFFSETS_HZ = (20e3, -15e3, 5e3)
LINGER_S = 1.0
DSSS, OFDM, EAR = "host_phy_transceiver", "ofdm_transceiver", "receive_usrp"
CLOCKS_HZ = {DSSS: 44e6, OFDM: 40e6}
RATES_HZ = {DSSS: 22e6, OFDM: 10e6}


def settings_of(node: int, nodes: int, packets: int, interval_us: int, capture: Path) -> dict[str, Any]:
    """Parameters of the transceiver of one node of a chain 0, 1, ... whose first one sends to the last."""
    return {
        "device": f"serial={node}",
        "node": node,
        "next_hop": 1,
        "forward_to": node + 1 if 0 < node < nodes - 1 else -1,
        "packets": packets if node == 0 else 0,
        "interval_us": interval_us,
        "capture": f"{capture}_{node}.pcapng",
    }


def chain(
    name: str,
    devices: list[uhd_stand_in.Device],
    settings: list[dict[str, Any]],
    listener: dict[str, Any] | None,
    most_s: float,
    picture: Path | None,
) -> dict[str, Any]:
    """Runs the nodes until the last one has as many packets as the first one sends, or a fault, or `most_s`.

    listener: settings of a receive_usrp that hears them, whose window is then the picture.
    """
    air = uhd_stand_in.installed(devices, samp_rate=RATES_HZ[name])
    module = importlib.import_module(name)
    application = module.Qt.QApplication(sys.argv[:1])
    graphs = [getattr(module, name)(**each) for each in settings]
    ear = importlib.import_module(EAR).receive_usrp(**listener) if listener is not None else None
    run.KEPT.extend((application, *graphs, ear))
    # The OFDM PHY's MAC has the computer's clock, and no marks.
    if name == DSSS:
        for graph in graphs:
            air.waits_for(graph.radio)
    every = [*([ear] if ear else []), *graphs]
    begin_s, begin_cpu_s = time.monotonic(), time.process_time()
    for graph in every:
        graph.resize(1400, 1000)
        graph.start()
        graph.show()
    packets = settings[0]["packets"]
    faults = [run.faults_of(graph) for graph in every]

    def finished() -> bool:
        return len(graphs[-1].probe.arrivals_us) >= packets and all(
            len(graph.probe.complete()) >= packets for graph in graphs[:-1]
        )

    while not finished() and not any(each.stopped.is_set() for each in faults) and time.monotonic() - begin_s < most_s:
        application.processEvents()
        time.sleep(0.01)
    result = {"finished": finished(), "wall_s": time.monotonic() - begin_s, "cpu_s": time.process_time() - begin_cpu_s}
    end_s = time.monotonic() + LINGER_S
    while time.monotonic() < end_s:
        application.processEvents()
        time.sleep(0.02)
    air_s = air.furthest / air.samp_rate
    for graph in every:
        graph.stop()
        graph.wait()
    if picture is not None:
        (ear or graphs[-2]).grab().save(str(picture))
    told = [{"faults": each.counts, "fault": str(each.first) if each.first else None} for each in faults]
    nodes = [
        run.EXAMPLES[name][1](graph) | each
        for graph, each in zip(graphs, told[len(every) - len(graphs) :], strict=True)
    ]
    result |= {"air_s": air_s, "sent": air.sent, "late": air.late, "nodes": nodes}
    return result | ({"listener": run.EXAMPLES[EAR][1](ear) | told[0]} if ear else {})


def main() -> None:
    """A chain."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--compiled", type=Path, required=True, help="folder with the compiled examples")
    parser.add_argument("--example", default=DSSS, choices=(DSSS, OFDM))
    parser.add_argument("--time-stretch", type=float, help="with OFDM: seconds for one of the MAC")
    parser.add_argument("--nodes", type=int, default=3, choices=(2, 3))
    parser.add_argument("--packets", type=int, default=10)
    parser.add_argument("--interval-us", type=int, default=150_000)
    parser.add_argument("--seconds", type=float, default=300, help="longest run")
    parser.add_argument("--capture", type=Path, required=True, help="beginning of the captures' names")
    parser.add_argument("--listen", action="store_true", help="with two nodes: a receiver hears them, too")
    parser.add_argument("--picture", type=Path, help="PNG of the window of the last node but one")
    parser.add_argument("--clock-hz", type=float, help="master clock of the devices")
    parser.add_argument("--overflow", type=int, nargs=2, metavar=("SAMPLE", "LOST"), help="of the last node")
    parser.add_argument("--underflow", type=int, metavar="BURST", help="of the first node")
    arguments = parser.parse_args()
    faulthandler.enable()
    from perhop_gr.faults import RadioError

    sys.setswitchinterval(run.SWITCH_S)
    os.environ["QT_QPA_PLATFORM"] = "offscreen"
    clock_hz = arguments.clock_hz or CLOCKS_HZ[arguments.example]
    devices = [
        uhd_stand_in.Device(f"serial={node}", clock_hz=clock_hz, offset_hz=OFFSETS_HZ[node])
        for node in range(arguments.nodes)
    ]
    if arguments.overflow:
        devices[-1].overflows = [tuple(arguments.overflow)]
    if arguments.underflow is not None:
        devices[0].underflow_at = arguments.underflow
    settings = [
        settings_of(node, arguments.nodes, arguments.packets, arguments.interval_us, arguments.capture)
        for node in range(arguments.nodes)
    ]
    if arguments.time_stretch:
        settings = [each | {"time_stretch": arguments.time_stretch} for each in settings]
    listener = None
    if arguments.listen:
        # Between the two others, as the air has it.
        devices.insert(1, uhd_stand_in.Device("serial=listener", clock_hz=clock_hz))
        listener = {"device": "serial=listener", "capture": f"{arguments.capture}_listener.pcapng"}
        devices[0].near = devices[2].near = 2
    for example in (arguments.example, EAR):
        sys.path.insert(0, str(run.compiled_folder(example, arguments.compiled)))
    status = 0
    try:
        result = chain(arguments.example, devices, settings, listener, arguments.seconds, arguments.picture)
        print(json.dumps(result), flush=True)
        for node in [*result["nodes"], *([result["listener"]] if listener else [])]:
            if node["fault"]:
                print(f"error: {node['fault']}", file=sys.stderr, flush=True)
                status = run.EXIT_RADIO
    except RadioError as error:
        print(f"error: {error}", file=sys.stderr, flush=True)
        status = run.EXIT_RADIO
    except Exception:
        traceback.print_exc()
        status = 1
    os._exit(status)


if __name__ == "__main__":
    main()
