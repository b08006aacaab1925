# SPDX-License-Identifier: GPL-2.0-or-later
"""Compiles every example, runs each headless, and checks what it did; `make flowgraphs` calls it.

Ends with a RESULT line, and a status other than 0 when a check fails. Works in out/flowgraphs.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
OUT = ROOT / "out" / "flowgraphs"
sys.path.insert(0, str(HERE))
sys.path.insert(0, str(HERE.parent / "blocks"))

LOOPBACK = {"frames": 1000, "snr_db": 15.0, "offset_hz": 60e3}
CHAIN_PACKETS = 20
MOST_S = 600


class Failed(Exception):
    """A check that does not hold."""


def require(holds: bool, what: str) -> None:
    """Raises Failed."""
    if not holds:
        raise Failed(what)


def run(example: str, settings: dict[str, Any], picture: bool) -> dict[str, Any]:
    """Runs an example in a process of its own; its output is kept beside its results."""
    words = [f"{name}={value}" for name, value in settings.items()]
    command = [sys.executable, str(HERE / "run.py"), example, *words, "--compiled", str(OUT), "--seconds", str(MOST_S)]
    if picture:
        command += ["--picture", str(OUT / f"{example}.png")]
    environment = {name: value for name, value in os.environ.items() if name != "DISPLAY"}
    environment["QT_QPA_PLATFORM"] = "offscreen"
    environment["PYTHONPATH"] = os.pathsep.join([str(ROOT / "host/python"), str(HERE.parent / "blocks")])
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=MOST_S + 120)
    (OUT / f"{example}.log").write_text(done.stdout + done.stderr)
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    require(done.returncode == 0 and bool(lines), f"it died, status {done.returncode}: out/flowgraphs/{example}.log")
    result = json.loads(lines[-1])
    (OUT / f"{example}.json").write_text(json.dumps(result, indent=1) + "\n")
    require(result["finished"], f"it was not done within {MOST_S} s")
    return result


def tshark(capture: Path) -> dict[str, int]:
    """How many frames tshark reads of a capture, how many of them with a bad FCS, and how many malformed."""
    fields = ["frame.number", "wlan.fcs.status", "_ws.malformed"]
    command = ["tshark", "-r", str(capture), "-o", "wlan.check_checksum:TRUE", "-T", "fields"]
    shown = subprocess.run(
        [*command, *(word for field in fields for word in ("-e", field))], capture_output=True, text=True
    )
    require(shown.returncode == 0, f"tshark does not read {capture.name}: {shown.stderr.strip()}")
    rows = [(line + "\t\t").split("\t")[:3] for line in shown.stdout.splitlines()]
    bad = sum(status not in ("1", "Good") for _, status, _ in rows)
    return {"frames": len(rows), "bad_fcs": bad, "malformed": sum(bool(text) for _, _, text in rows)}


def annotations_of(base: Path) -> list[dict[str, Any]]:
    """The annotations of a SigMF recording that the `sigmf` package finds valid."""
    import sigmf

    recording = sigmf.sigmffile.fromfile(str(base.with_suffix(".sigmf-meta")))
    recording.validate()
    return recording.get_annotations()


def check_dsss_loopback(picture: bool) -> dict[str, Any]:
    """No frame of 1,000 is lost."""
    result = run("dsss_loopback", LOOPBACK, picture)
    require(result["sent"] == LOOPBACK["frames"], f"{result['sent']} frames were sent of {LOOPBACK['frames']}")
    require(result["lost"] == 0 and result["strange"] == 0, f"{result['lost']} lost, {result['strange']} strange")
    require(abs(result["carrier_hz"] - LOOPBACK["offset_hz"]) < 5e3, f"carrier offset {result['carrier_hz']:.0f} Hz")
    return {"sent": result["sent"], "lost": result["lost"], "wall_s": result["wall_s"], "air_s": result["air_s"]}


def check_three_node_chain(picture: bool) -> dict[str, Any]:
    """Every packet takes RTS, CTS, DATA, MAC ACK on both hops, and the delays are those of the completion records."""
    settings = {"packets": CHAIN_PACKETS, "recording": OUT / "chain", "capture": OUT / "chain.pcapng"}
    result = run("three_node_chain", settings, picture)
    require(result["complete"] == CHAIN_PACKETS, f"{result['complete']} packets of {CHAIN_PACKETS} arrived")
    require(result["late"] == 0, f"{result['late']} bursts came too late")
    for number, records in result["records"].items():
        for hop, record in enumerate(records):
            whole_us = record["t_done_us"] - record["t_enqueue_us"]
            require(sum(record["parts_us"].values()) == whole_us, f"packet {number}, hop {hop}: parts and whole differ")
            require(result["delays_ms"][number][hop] == whole_us / 1000, f"packet {number}, hop {hop}: other delay")
        # The router's MAC has the packet from the moment its PHY delivered it.
        first, second = records
        require(first["t_first_tx_us"] < second["t_enqueue_us"] < first["t_done_us"], f"packet {number}: hops overlap")
    sent = [sum(kinds.get(kind, 0) for kinds in result["kinds"]) for kind in ("rts", "cts", "data", "mac_ack")]
    require(all(count >= 2 * CHAIN_PACKETS for count in sent), f"rts, cts, data, mac_ack: {sent}")
    read = tshark(OUT / "chain.pcapng")
    require(read == {"frames": result["captured"], "bad_fcs": 0, "malformed": 0}, f"tshark: {read}")
    annotations = annotations_of(OUT / "chain")
    require(
        all(each["perhop:fcs_ok"] and "core:label" in each for each in annotations), "annotations without FCS or label"
    )
    return {"packets": CHAIN_PACKETS, "frames": read["frames"], "annotations": len(annotations)} | {
        name: result[name] for name in ("wall_s", "cpu_s", "air_s", "collisions")
    }


def check_receive_file(picture: bool) -> dict[str, Any]:
    """The chain's recording holds the frames that its annotations tell of."""
    expected = len(annotations_of(OUT / "chain"))
    settings = {"recording": OUT / "chain.sigmf-data", "capture": OUT / "received.pcapng"}
    result = run("receive_file", settings, picture)
    require(0 < expected <= result["good_frames"], f"{result['good_frames']} frames of {expected}")
    read = tshark(OUT / "received.pcapng")
    require(read == {"frames": result["frames"], "bad_fcs": 0, "malformed": 0}, f"tshark: {read}")
    return {"frames": result["frames"], "real_time_factor": round(result["samples"] / 22e6 / result["cpu_s"], 2)}


CHECKS: dict[str, Callable[[bool], dict[str, Any]]] = {
    "dsss_loopback": check_dsss_loopback,
    "three_node_chain": check_three_node_chain,
    "receive_file": check_receive_file,
}
"""In the order of running: the receiver reads what the chain recorded."""


def main() -> int:
    """Returns 0 when every example does what it must."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pictures", action="store_true", help="render the windows, into out/flowgraphs")
    arguments = parser.parse_args()
    OUT.mkdir(parents=True, exist_ok=True)
    verdicts: dict[str, str] = {}
    numbers: dict[str, Any] = {}
    from compile import compiled

    for grc in sorted(HERE.glob("*.grc")):
        if grc.stem not in CHECKS:
            verdicts[grc.stem] = "fail"
            print(f"{grc.stem}: FAIL: there is no check for it")
    for name, check in CHECKS.items():
        begin_s = time.monotonic()
        try:
            compiled(HERE / f"{name}.grc", OUT)
            numbers[name] = check(arguments.pictures)
            verdicts[name] = "pass"
            print(f"{name}: pass ({time.monotonic() - begin_s:.0f} s) {json.dumps(numbers[name])}", flush=True)
        except Exception as error:  # whatever it is, the other examples are run too
            verdicts[name] = "fail"
            print(f"{name}: FAIL: {type(error).__name__}: {error}", flush=True)
    loopback, receiver = numbers.get("dsss_loopback"), numbers.get("receive_file")
    result = {
        "examples": verdicts,
        "loss_15db": loopback["lost"] / loopback["sent"] if loopback else None,
        "real_time_factor": receiver["real_time_factor"] if receiver else None,
        "numbers": numbers,
    }
    (OUT / "result.json").write_text(json.dumps(result, indent=1) + "\n")
    print("RESULT " + json.dumps(result))
    return 0 if all(verdict == "pass" for verdict in verdicts.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
