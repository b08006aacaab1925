# SPDX-License-Identifier: GPL-2.0-or-later
"""Shows that frames start at the same times with the core alone and with all its bytes, and that the bytes are right.

Every case is run twice, at fidelity core and at fidelity bytes. The two traces, which hold every transmission and every
completion record, must be the same to the byte, and so must the captures: at fidelity bytes the gateware's framer made
the frames, at fidelity core a second implementation in C++ did. tshark dissects every frame of the framer, and
capture_check.py computes anew what it must say.

Then faults are planted, in a capture and in copies of framer and deframer, and each has to be found.
"""

import argparse
import json
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import capture_check
from rich.console import Console
from rich.progress import Progress
from verification import BUILD, ROOT, RtlFault, build_with_fault, first_difference, run_of, simulate

FAULTY_BUILD = ROOT / "out/build-planted-fault-bytes"
OUT = ROOT / "out/verify-bytes"

FIDELITIES = ("core", "bytes")
# What the runs without and with the quirks of ns-2 have in common.
PROFILES = ("dsss_long", "dsss_short", "ofdm_20mhz")
COMPATS = ("standard", "ns2")
LOADS = ("saturated", "tcp")
DATA_RATE_INDEX = {"dsss_long": 1, "dsss_short": 3, "ofdm_20mhz": 4}
# Simulated seconds: so that a case has a few thousand frames at most.
DURATION_S = {"dsss_long": 2.0, "dsss_short": 1.0, "ofdm_20mhz": 0.4}


RTL_FAULTS = (
    RtlFault("framer: wrong Duration", "framer.sv", "header = duration_us[7:0];", "header = duration_us[7:0] ^ 8'h01;"),
    RtlFault(
        *("framer: wrong byte under a good FCS", "framer.sv", "octet_now = s_axis_tdata;"),
        "octet_now = s_axis_tdata ^ 8'h01;",
    ),
    RtlFault("framer: wrong FCS", "framer.sv", "octet_now = fcs[", "octet_now = ~fcs["),
    RtlFault(
        *("deframer: wrong byte for the host", "deframer.sv", "cfg_whole ? rx_data : last_q[31:24];"),
        "cfg_whole ? rx_data : ~last_q[31:24];",
    ),
)


@dataclass(frozen=True)
class Case:
    """One run: who is where, what they send, and how."""

    topology: str  # chain, hidden_pair or mesh
    size: int  # hops of a chain, nodes of the others
    profile: str
    load: str
    compat: str = "standard"
    four_address: bool = False
    rts_threshold_bytes: int = 0
    reception: str = "ns2"
    routing: str = "static"
    policy: str = "none"

    @property
    def name(self) -> str:
        more = [
            *(["four_address"] if self.four_address else []),
            *([f"rts_above_{self.rts_threshold_bytes}"] if self.rts_threshold_bytes else []),
            *([self.reception] if self.reception != "ns2" else []),
            *([self.routing] if self.routing != "static" else []),
            *([self.policy] if self.policy != "none" else []),
        ]
        return "-".join([self.topology, str(self.size), self.profile, self.load, self.compat, *more])


TOPOLOGIES = (("chain", 1), ("chain", 3), ("chain", 8), ("hidden_pair", 3), ("mesh", 5))
CASES = [
    *(
        Case(*topology, p, load, compat)
        for topology in TOPOLOGIES
        for p in PROFILES
        for load in LOADS
        for compat in COMPATS
    ),
    *(
        Case(*topology, p, load, four_address=True)
        for topology in (("chain", 3), ("mesh", 5))
        for p in PROFILES
        for load in LOADS
    ),
    *(Case("chain", 3, p, "tcp", compat, rts_threshold_bytes=500) for p in PROFILES for compat in COMPATS),
    *(Case("hidden_pair", 3, p, "saturated", rts_threshold_bytes=4095) for p in PROFILES),
    *(Case("chain", 3, p, "saturated", reception="sinr") for p in PROFILES),
    Case("chain", 3, "dsss_long", "tcp", routing="aodv"),
    Case("chain", 8, "dsss_short", "tcp", policy="delay"),
]
QUICK_CASES = [
    Case("chain", 3, "dsss_long", "tcp"),
    Case("hidden_pair", 3, "dsss_short", "saturated", "ns2"),
    Case("mesh", 5, "ofdm_20mhz", "saturated", four_address=True),
    Case("chain", 3, "dsss_short", "tcp", rts_threshold_bytes=500),
]
FAULT_CASE = Case("chain", 3, "dsss_short", "saturated")
SPEED_CASE = Case("chain", 3, "dsss_long", "saturated")
SPEED_DURATION_S = {"core": 120.0, "bytes": 4.0}


def positions(case: Case) -> list[tuple[float, float]]:
    """Metres. Ranges are 250 m to receive and, in a hidden pair, 250 m to sense."""
    if case.topology == "chain":
        return [(200.0 * i, 0.0) for i in range(case.size + 1)]
    if case.topology == "mesh":
        return [(10.0 * i, 5.0 * (i % 3)) for i in range(case.size)]
    return [(0.0, 0.0), (-200.0, 0.0), (200.0, 0.0)]


def routes(case: Case, count: int) -> list[list[int]]:
    """[node, destination, next hop]."""
    pairs = [(a, b) for a in range(count) for b in range(count) if a != b]
    if case.topology == "chain":
        return [[a, b, a + 1 if b > a else a - 1] for a, b in pairs]
    return [[a, b, b if 0 in (a, b) or case.topology == "mesh" else 0] for a, b in pairs]


def flows(case: Case, count: int) -> list[dict[str, Any]]:
    if case.topology == "hidden_pair":
        pairs = [(1, 0), (2, 0)]
    elif case.topology == "mesh":
        pairs = [(i, (i + 1) % count) for i in range(count)]
    elif case.load == "tcp":
        pairs = [(0, count - 1)]
    else:
        pairs = [(i, i + 1) for i in range(count - 1)] + [(count - 1, count - 2)]
    if case.load == "saturated":
        return [{"kind": "mac_saturated", "src": a, "dst": b, "ip_bytes": 1000, "path_header": True} for a, b in pairs]
    common = {"variant": "newreno", "sack": False, "segment_bytes": 1460, "start_s": 0.01, "tcp_ack_every": 1}
    policy = {"cwl": case.policy} | ({"round": "half_up"} if case.policy == "delay" else {})
    return [{"kind": "tcp", "src": a, "dst": b, **common, "max_window_packets": 44, "policy": policy} for a, b in pairs]


def run_json(case: Case, fidelity: str, duration_s: float, seed: int, directory: Path) -> dict[str, Any]:
    where = positions(case)
    return run_of(
        f"{case.name} {fidelity}",
        directory,
        seed=seed,
        duration_s=duration_s,
        mac={
            "profile": case.profile,
            "fidelity": fidelity,
            "compat": case.compat,
            "four_address": case.four_address,
            "data_rate_index": DATA_RATE_INDEX[case.profile],
            "rts_threshold_bytes": case.rts_threshold_bytes,
        },
        medium={"reception": case.reception, "cs_range_m": 250 if case.topology == "hidden_pair" else 550},
        nodes=[{"x_m": x, "y_m": y} for x, y in where],
        routes=routes(case, len(where)),
        **({"routing": case.routing} if case.routing != "static" else {}),
        flows=flows(case, len(where)),
        # The framer alone makes frames with four addresses.
        outputs={"pcapng": fidelity == "bytes" or not case.four_address, "completions": True},
    )


def program(build: Path, case: Case) -> Path:
    return build / ("sim/ns3/perhop-sim" if case.load == "tcp" else "sim/run/perhop-air")


def check_frames(case: Case, core: Path, whole: Path) -> Counter[str]:
    """Judges the capture of the bytes run; the packets are those that the core run was given."""
    frames = capture_check.dissect(whole / "packets.pcapng")
    found = capture_check.judge(
        frames,
        capture_check.read_trace(whole / "trace.txt"),
        capture_check.read_packets(core / "completions.csv"),
        capture_check.Timing(case.profile),
    )
    found["frames"] = len(frames)
    found["four_address_frames"] = sum(frame.to_from_ds == 3 for frame in frames)
    found["group_frames"] = sum(bool(frame.ra >> 40 & 1) for frame in frames)
    found["retries"] = sum(frame.retry for frame in frames)
    return found


def verify(build: Path, case: Case, duration_s: float, seed: int, keep: Path) -> dict[str, Any]:
    """Runs a case at both fidelities, compares, and judges the frames."""
    folders = {fidelity: keep / f"{case.name}-{fidelity}" for fidelity in FIDELITIES}
    results = {}
    for fidelity, folder in folders.items():
        results[fidelity], complaint = simulate(
            program(build, case), run_json(case, fidelity, duration_s, seed, folder)
        )
        if complaint:
            return {
                "case": case.name,
                "identical": False,
                "frames": 0,
                "error": f"{fidelity}: {complaint}",
                "ok": False,
            }
        assert results[fidelity]["fidelity"] == fidelity
    difference = first_difference(folders["core"] / "trace.txt", folders["bytes"] / "trace.txt")
    same_capture = None
    if not case.four_address:
        same_capture = (folders["core"] / "packets.pcapng").read_bytes() == (
            folders["bytes"] / "packets.pcapng"
        ).read_bytes()
    found = check_frames(case, folders["core"], folders["bytes"])
    wrong = {name: found[name] for name in capture_check.WRONG}
    nodes = len(positions(case))
    return {
        "case": case.name,
        "trace_hashes": [results[fidelity]["trace_hash"] for fidelity in FIDELITIES],
        "simulated_s": duration_s,
        "identical": difference is None,
        **({} if difference is None else {"difference": difference}),
        "capture_identical": same_capture,
        "frames": found["frames"],
        **{name: found[name] for name in ("retries", "group_frames", "four_address_frames", "unchecked")},
        **wrong,
        "ok": difference is None
        and same_capture is not False
        and not any(wrong.values())
        and found["frames"] > 50
        and found["unchecked"] <= 8 * nodes  # the RTS of one packet a node, which the end of the run cut off
        and (found["four_address_frames"] > 0) == case.four_address,
    }


def planted_in_capture(case: Case, keep: Path) -> dict[str, bool]:
    """Whether each fault in a capture is found by the counter that is there for it."""
    core, whole = (keep / f"{case.name}-{fidelity}" for fidelity in FIDELITIES)
    good = whole / "packets.pcapng"
    kept = whole / "good.pcapng"
    good.rename(kept)
    detected = {}
    for change, counter in capture_check.FAULTS.items():
        capture_check.with_fault(kept, good, change)
        detected[change] = check_frames(case, core, whole)[counter] > 0
    kept.replace(good)
    return detected


def planted_in_gateware(seed: int, keep: Path) -> dict[str, str | None]:
    """By fault, what found it; None: nothing did."""
    detected: dict[str, str | None] = {}
    for fault in RTL_FAULTS:
        build_with_fault(fault, ROOT / "gateware/rtl/datapath", "PERHOP_DATAPATH_RTL_DIR", FAULTY_BUILD)
        row = verify(FAULTY_BUILD, FAULT_CASE, 0.3, seed, keep)
        finders = [name for name in capture_check.WRONG if row.get(name)]
        if "error" in row:
            finders.append(row["error"].splitlines()[-1])
        elif not row["identical"]:
            finders.append("trace")
        detected[fault.name] = ", ".join(finders) or None
    return detected


def speed(seed: int, keep: Path) -> dict[str, float]:
    """Simulated seconds for each second of CPU time, without output files."""
    rates = {}
    for fidelity, duration_s in SPEED_DURATION_S.items():
        config = run_json(SPEED_CASE, fidelity, duration_s, seed, keep / f"speed-{fidelity}")
        config["outputs"] |= {"pcapng": False, "trace": False, "completions": False}
        result, complaint = simulate(program(BUILD, SPEED_CASE), config)
        if complaint:
            raise RuntimeError(complaint)
        rates[f"{fidelity}_simulated_s_per_cpu_s"] = round(duration_s / result["cpu_s"]["total"], 2)
    rates["core_over_bytes"] = round(rates["core_simulated_s_per_cpu_s"] / rates["bytes_simulated_s_per_cpu_s"], 1)
    return rates


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--quick", action="store_true", help="four short cases; faults in a capture only")
    parser.add_argument("--case", metavar="TEXT", help="only cases whose name holds this text, no planted faults")
    options = parser.parse_args()

    cases = QUICK_CASES if options.quick else [case for case in CASES if (options.case or "") in case.name]
    console = Console(stderr=True)
    rows: list[dict[str, Any]] = []
    OUT.mkdir(parents=True, exist_ok=True)
    in_capture: dict[str, bool] = {}
    in_gateware: dict[str, str | None] | None = None
    rates: dict[str, float] | None = None
    with tempfile.TemporaryDirectory(dir=OUT) as scratch, Progress(console=console, transient=True) as progress:
        keep = Path(scratch)
        task = progress.add_task("cases", total=len(cases))

        def one(case: Case) -> dict[str, Any]:
            duration_s = DURATION_S[case.profile] * (0.25 if options.quick else 1)
            return verify(BUILD, case, duration_s, options.seed, keep)

        with ThreadPoolExecutor(options.jobs) as pool:
            for case, row in zip(cases, pool.map(one, cases), strict=True):
                rows.append(row)
                progress.advance(task)
                bad = {
                    name: row[name]
                    for name in ("error", "difference", "capture_identical", *capture_check.WRONG)
                    if row.get(name)
                }
                console.print(
                    f"{case.name:<60}{row['frames']:>7} frames  {'same' if row['ok'] else f'WRONG {bad}'}",
                    highlight=False,
                )

        if not options.case:
            fault_case = QUICK_CASES[0] if options.quick else FAULT_CASE
            rows.append(verify(BUILD, fault_case, 0.5, options.seed, keep))
            in_capture = planted_in_capture(fault_case, keep)
            for name, found in in_capture.items():
                console.print(f"planted in a capture: {name:<40}{'found' if found else 'NOT FOUND'}", highlight=False)
        if not options.case and not options.quick:
            progress.add_task("planted faults", total=None)
            in_gateware = planted_in_gateware(options.seed, keep)
            for name, finder in in_gateware.items():
                console.print(f"planted in {name:<50}{f'found: {finder}' if finder else 'NOT FOUND'}", highlight=False)
            rates = speed(options.seed, keep)
            console.print(str(rates), highlight=False)

    total = Counter[str]()
    for row in rows:
        total.update(
            {
                name: row.get(name, 0)
                for name in ("frames", "retries", "group_frames", "four_address_frames", *capture_check.WRONG)
            }
        )
    ok = (
        all(row["ok"] for row in rows)
        and all(in_capture.values())
        and (in_gateware is None or all(in_gateware.values()))
    )
    result = {
        "target": "verify-bytes",
        "seed": options.seed,
        "identical": all(row["identical"] for row in rows),
        **total,
        "cases": rows,
        "planted_in_capture": in_capture,
        "planted_in_gateware": in_gateware,
        "speed": rates,
        "ok": ok,
    }
    if not options.quick and not options.case:  # a part must not pass for the whole
        (OUT / "result.json").write_text(json.dumps(result))
    print("RESULT " + json.dumps(result))
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
