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
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
OUT = ROOT / "out" / "flowgraphs"
sys.path.insert(0, str(HERE))
sys.path.insert(0, str(HERE.parent / "blocks"))

LOOPBACK = {"frames": 1000, "snr_db": 15.0, "offset_hz": 60e3}
CHAIN_PACKETS = 20
RADIO_PACKETS = 6
EXCHANGE_BEFORE = 20_000
EXCHANGE_SAMPLES = 600_000
EXIT_RADIO = 3
OFDM_EXCHANGES = 200
EXCHANGE = ["rts", "cts", "data", "mac_ack"]
SUBTYPES = {"0x001b": "rts", "0x001c": "cts", "0x0020": "data", "0x001d": "mac_ack"}
MAC_ACK_AIRTIME_US, LATENCY_US = 304, 1000
SAME_US = 1
"""Samples and microseconds are whole numbers that round."""
MOST_S = 600


class Failed(Exception):
    """A check that does not hold."""


def require(holds: bool, what: str) -> None:
    """Raises Failed."""
    if not holds:
        raise Failed(what)


def run(example: str, settings: dict[str, Any], picture: bool, seconds: float = MOST_S) -> dict[str, Any]:
    """Runs an example in a process of its own; its output is kept beside its results."""
    words = [f"{name}={value}" for name, value in settings.items()]
    done = called(example, ["run.py", example, *words, "--seconds", str(seconds)], picture)
    return result_of(example, done)


def called(example: str, words: list[str], picture: bool) -> subprocess.CompletedProcess[str]:
    """Runs a program of this folder; what it prints is kept in <example>.log."""
    command = [sys.executable, str(HERE / words[0]), *words[1:], "--compiled", str(OUT)]
    if picture:
        command += ["--picture", str(OUT / f"{example}.png")]
    environment = {name: value for name, value in os.environ.items() if name != "DISPLAY"}
    environment["QT_QPA_PLATFORM"] = "offscreen"
    paths = [str(ROOT / "host/python"), str(HERE.parent / "blocks"), os.environ.get("PYTHONPATH", "")]
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=MOST_S + 120)
    (OUT / f"{example}.log").write_text(done.stdout + done.stderr)
    return done


def result_of(example: str, done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    """What a program has printed of a run that came to its end."""
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


@dataclass(frozen=True)
class OnAir:
    """A frame as tshark reads it. Its start in microseconds; a CTS and a MAC ACK name no transmitter."""

    kind: str
    start_us: int
    transmitter: str
    receiver: str


def air_of(capture: Path) -> list[OnAir]:
    """Every frame, in order."""
    fields = ["wlan.fc.type_subtype", "frame.time_epoch", "wlan.ta", "wlan.ra"]
    command = ["tshark", "-r", str(capture), "-T", "fields", *(word for field in fields for word in ("-e", field))]
    shown = subprocess.run(command, capture_output=True, text=True, check=True)
    rows = [line.split("\t") for line in shown.stdout.splitlines()]
    return [OnAir(SUBTYPES.get(f"{int(row[0], 0):#06x}", row[0]), round(float(row[1]) * 1e6), *row[2:]) for row in rows]


def exchanges_of(air: list[OnAir]) -> list[tuple[int, int]]:
    """Start of the first RTS and end of the MAC ACK of every packet with RTS, CTS, DATA, MAC ACK on the air in order.

    Two nodes that decide to send within the latency of their PHYs both send: an exchange may lie within another one,
    and an RTS may be repeated.
    """
    found: list[tuple[int, int]] = []
    begun: dict[str, tuple[int, list[str]]] = {}  # by the node that sends the data: its first RTS, and what followed
    for frame in air:
        if frame.kind == "rts" and frame.transmitter not in begun:
            begun[frame.transmitter] = (frame.start_us, [])
        start_us, kinds = begun.get(frame.transmitter or frame.receiver, (0, []))
        # A repeated RTS begins anew; another frame counts when it is the next one.
        if frame.kind == "rts":
            kinds.clear()
        if frame.kind == EXCHANGE[len(kinds)]:
            kinds.append(frame.kind)
        if kinds == EXCHANGE:
            found.append((start_us, frame.start_us + MAC_ACK_AIRTIME_US))
            del begun[frame.transmitter or frame.receiver]
    return found


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
    # CPU time of all threads, so as on one core; transmitter, channel, receiver and windows together.
    factor = round(result["air_s"] / result["cpu_s"], 3)
    return {name: result[name] for name in ("sent", "lost", "wall_s", "air_s")} | {"real_time_factor": factor}


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
    # A listener sees the same on the air: each exchange, from where its first RTS begins to where its MAC ACK ends.
    exchanges = exchanges_of(air_of(OUT / "chain.pcapng"))
    require(len(exchanges) == 2 * CHAIN_PACKETS, f"{len(exchanges)} exchanges on the air of {2 * CHAIN_PACKETS}")
    told = sorted(
        (record["t_first_tx_us"], record["t_done_us"]) for hops in result["records"].values() for record in hops
    )
    apart_us = [
        max(abs(begin_us - first_us - LATENCY_US), abs(end_us - done_us))
        for (begin_us, end_us), (first_us, done_us) in zip(sorted(exchanges), told, strict=True)
    ]
    require(max(apart_us) <= SAME_US, f"records and air are {max(apart_us)} us apart")
    read = tshark(OUT / "chain.pcapng")
    require(read == {"frames": result["captured"], "bad_fcs": 0, "malformed": 0}, f"tshark: {read}")
    annotations = annotations_of(OUT / "chain")
    for each in annotations:
        kind = each["perhop:kind"]
        require(kind in EXCHANGE and each["core:label"] == kind and each["perhop:fcs_ok"], f"annotation: {each}")
        require("perhop:receiver" in each and each["perhop:snr_db"] > 10, f"annotation: {each}")
        require(("perhop:transmitter" in each) == (kind in ("rts", "data")), f"annotation: {each}")
    kept_us = (OUT / "chain.sigmf-data").stat().st_size / 4 / 22
    whole = sum(frame.start_us + 2000 < kept_us for frame in air_of(OUT / "chain.pcapng"))
    require(whole <= len(annotations) <= whole + 4, f"{len(annotations)} annotations of {whole} frames")
    return {
        "packets": CHAIN_PACKETS,
        "frames": read["frames"],
        "annotations": len(annotations),
        "apart_us": max(apart_us),
    } | {name: result[name] for name in ("wall_s", "cpu_s", "air_s", "collisions")}


def check_receive_file(picture: bool) -> dict[str, Any]:
    """The chain's recording holds the frames that its annotations tell of."""
    expected = len(annotations_of(OUT / "chain"))
    settings = {"recording": OUT / "chain.sigmf-data", "capture": OUT / "received.pcapng"}
    result = run("receive_file", settings, picture)
    require(0 < expected <= result["good_frames"], f"{result['good_frames']} frames of {expected}")
    read = tshark(OUT / "received.pcapng")
    require(read == {"frames": result["frames"], "bad_fcs": 0, "malformed": 0}, f"tshark: {read}")
    return {"frames": result["frames"], "real_time_factor": round(result["samples"] / 22e6 / result["cpu_s"], 2)}


def ends_clearly(example: str, words: list[str], *said: str) -> str:
    """A run that a radio ends: exit status, message, remedy, no traceback. Returns the message."""
    done = called(f"{example}_fault", words, False)
    (message, *_) = [line for line in done.stderr.splitlines() if line.startswith("error: ")] or ["no message"]
    require(done.returncode == EXIT_RADIO, f"{words}: status {done.returncode}, not {EXIT_RADIO}")
    require(all(each in done.stderr for each in (*said, "remedy: ")), f"{words}: {message}")
    require("Traceback" not in done.stderr, f"{words}: a traceback")
    return message


def check_host_phy_transceiver(picture: bool) -> dict[str, Any]:
    """The chain of three over a stand-in for gr-uhd; and each fault ends with a message. The missing device is real."""
    stand_in = ["run_stand_in.py", "--seconds", str(MOST_S), "--capture", str(OUT / "host_phy")]
    packets = ["--packets", str(RADIO_PACKETS)]
    result = result_of("host_phy_transceiver", called("host_phy_transceiver", [*stand_in, *packets], picture))
    require(result["late"] == 0, f"{result['late']} bursts came too late")
    first, second, last = result["nodes"]
    require(last["arrived"] == RADIO_PACKETS, f"{last['arrived']} packets of {RADIO_PACKETS} arrived")
    for node in (first, second):
        require(node["complete"] == RADIO_PACKETS and not node["faults"], f"node {node['node']}: {node['complete']}")
        for number, record in node["records"].items():
            whole_us = record["t_done_us"] - record["t_enqueue_us"]
            require(sum(record["parts_us"].values()) == whole_us, f"packet {number}: parts and whole differ")
            require(node["delays_ms"][number] == whole_us / 1000, f"packet {number}: other delay")
    for node in result["nodes"]:
        read = tshark(OUT / f"host_phy_{node['node']}.pcapng")
        require(read == {"frames": node["captured"], "bad_fcs": 0, "malformed": 0}, f"tshark: {read}")
    wave = ["run.py", "host_phy_transceiver", "device=serial=NOBODY", f"capture={OUT / 'nobody.pcapng'}"]
    two = [*stand_in, "--nodes", "2", "--packets", "2"]
    said = [
        ends_clearly("missing_device", wave, "no USRP 'serial=NOBODY' is found"),
        ends_clearly("wrong_rate", [*two, "--clock-hz", "200e6"], "makes it 22222222.22", "use 20000000"),
        ends_clearly("overflow", [*two, "--overflow", "2000000", "5000"], "overflow: 5000 samples", "sample_rate_hz"),
        ends_clearly("underflow", [*two, "--underflow", "0"], "underflow: a burst had gaps"),
    ]
    return {"packets": RADIO_PACKETS, "frames": result["sent"], "faults_told": len(said)} | {
        name: result[name] for name in ("wall_s", "air_s")
    }


def check_receive_usrp(picture: bool) -> dict[str, Any]:
    """A third device hears the two of a chain; without one there is a message."""
    words = ["run_stand_in.py", "--seconds", str(MOST_S), "--capture", str(OUT / "receive_usrp"), "--listen"]
    result = result_of("receive_usrp", called("receive_usrp", [*words, "--nodes", "2", "--packets", "3"], picture))
    listener = result["listener"]
    require(listener["good_frames"] == listener["frames"] >= 6, f"{listener['good_frames']} of {listener['frames']}")
    read = tshark(OUT / "receive_usrp_listener.pcapng")
    require(read == {"frames": listener["captured"], "bad_fcs": 0, "malformed": 0}, f"tshark: {read}")
    wave = ["run.py", "receive_usrp", "device=serial=NOBODY", f"capture={OUT / 'nobody.pcapng'}"]
    ends_clearly("receive_usrp", wave, "no USRP 'serial=NOBODY' is found")
    return {"frames": listener["frames"]}


def check_recorded_exchange(picture: bool) -> dict[str, Any]:
    """The first exchange of the chain's recording: RTS, CTS, DATA, MAC ACK, each with what SigMF's annotations say."""
    annotations = annotations_of(OUT / "chain")
    kinds = [each["core:label"] for each in annotations[: len(EXCHANGE)]]
    require(kinds == EXCHANGE, f"the first frames are {kinds}")
    start = annotations[0]["core:sample_start"] - EXCHANGE_BEFORE
    settings = {"recording": OUT / "chain.sigmf-data", "first_sample": start, "samples": EXCHANGE_SAMPLES}
    result = run("recorded_exchange", settings, picture)
    require(result["samples"] == EXCHANGE_SAMPLES, f"{result['samples']} samples of {EXCHANGE_SAMPLES}")
    require(result["good_frames"] == len(EXCHANGE), f"{result['good_frames']} frames of {len(EXCHANGE)}")
    return {"frames": result["good_frames"], "kinds": kinds}


def has_gr_ieee802_11() -> bool:
    """Its modules are here; otherwise says loudly what is not shown."""
    from perhop_gr.faults import RadioError
    from perhop_gr.ofdm_phy import loaded

    try:
        loaded()
    except RadioError as error:
        print(f"GR-IEEE802-11 IS NOT HERE ({error.problem}): ONLY THE MESSAGE IS CHECKED, NOT ITS PHY", flush=True)
        return False
    return True


def check_ofdm_exchange(picture: bool) -> dict[str, Any]:
    """Where gr-ieee802-11 is installed, its PHY carries all exchanges; elsewhere a message says what is missing."""
    settings = {"packets": OFDM_EXCHANGES, "capture": OUT / "ofdm.pcapng"}
    if not has_gr_ieee802_11():
        words = ["run.py", "ofdm_exchange", *(f"{name}={value}" for name, value in settings.items())]
        return {"gr_ieee802_11": False, "message": ends_clearly("ofdm_exchange", words, "gr-ieee802-11")}
    result = run("ofdm_exchange", settings, picture)
    require(result["complete"] == result["arrived"] == OFDM_EXCHANGES, f"{result['complete']} of {OFDM_EXCHANGES}")
    read = tshark(OUT / "ofdm.pcapng")
    require(read == {"frames": result["captured"], "bad_fcs": 0, "malformed": 0}, f"tshark: {read}")
    return {"gr_ieee802_11": True, "exchanges": result["complete"], "rts": result["kinds"][0]["rts"]} | {
        name: result[name] for name in ("wall_s", "cpu_s")
    }


def check_ofdm_transceiver(picture: bool) -> dict[str, Any]:
    """The same over USRPs that are stand-ins; without gr-ieee802-11, or without a device, a message."""
    if not has_gr_ieee802_11():
        words = ["run.py", "ofdm_transceiver", "device=serial=NOBODY", f"capture={OUT / 'nobody.pcapng'}"]
        return {"gr_ieee802_11": False, "message": ends_clearly("ofdm_transceiver", words, "gr-ieee802-11")}
    words = ["run_stand_in.py", "--example", "ofdm_transceiver", "--time-stretch", "30", "--nodes", "2"]
    words += ["--packets", "3", "--capture", str(OUT / "ofdm_transceiver"), "--seconds", str(MOST_S)]
    result = result_of("ofdm_transceiver", called("ofdm_transceiver", words, picture))
    require(result["nodes"][0]["complete"] == 3, f"{result['nodes'][0]['complete']} packets of 3")
    return {"gr_ieee802_11": True, "packets": 3, "frames": result["sent"]}


CHECKS: dict[str, Callable[[bool], dict[str, Any]]] = {
    "dsss_loopback": check_dsss_loopback,
    "three_node_chain": check_three_node_chain,
    "receive_file": check_receive_file,
    "recorded_exchange": check_recorded_exchange,
    "host_phy_transceiver": check_host_phy_transceiver,
    "receive_usrp": check_receive_usrp,
    "ofdm_exchange": check_ofdm_exchange,
    "ofdm_transceiver": check_ofdm_transceiver,
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
