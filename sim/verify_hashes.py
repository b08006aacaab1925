# SPDX-License-Identifier: GPL-2.0-or-later
"""Shows that a change of the program changes no transmission: the hash of each run beside the recorded one.

Experiments run at quick grade; `verify-warp`, `verify-bytes` and `verify-samples` run whole. `--record` writes
sim/experiments/hashes.json anew: do so only in the commit that explains why transmissions are others.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
OUT = ROOT / "out/verify-hashes"
RECORDED = ROOT / "sim/experiments/hashes.json"

EXPERIMENTS = ("chain", "cwl_table", "dca_chain", "dca_rivals", "exact_chain", "exact_reroute", "glomosim_ring")
PROGRAMS = ("verify-warp", "verify-bytes", "verify-samples")


def of_experiment(name: str, jobs: int) -> list[tuple[str, str]]:
    """(parameters and seed, hash) of each run; a run's folder would change with the form of run.json."""
    out = OUT / name
    perhop = [Path(sys.executable).with_name("perhop"), "run", ROOT / "sim/experiments" / name, "--quick", "--fresh"]
    run([*perhop, "--jobs", str(jobs), "--out", out])
    results = [json.loads(path.read_text()) for path in out.glob("runs/*/result.json")]
    return [(f"{result['label']} flows={len(result['flows'])}", result["trace_hash"]) for result in results]


def of_program(name: str) -> list[tuple[str, str]]:
    """(case and its duration, hashes of its runs at each fidelity) of each case."""
    run([sys.executable, ROOT / "sim" / f"{name.replace('-', '_')}.py"])
    cases = json.loads((ROOT / "out" / name / "result.json").read_text())["cases"]
    return [(f"{case['case']} {case.get('simulated_s', '')}".strip(), " ".join(case["trace_hashes"])) for case in cases]


def run(command: list[str | Path]) -> None:
    done = subprocess.run(command, stdout=subprocess.DEVNULL)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, command))} ended with {done.returncode}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", nargs="+", choices=EXPERIMENTS + PROGRAMS, default=EXPERIMENTS + PROGRAMS)
    parser.add_argument("--record", action="store_true", help="write what is found in the place of what was recorded")
    arguments = parser.parse_args()
    recorded = json.loads(RECORDED.read_text()) if RECORDED.exists() else {}
    rows = {}
    for name in arguments.only:
        pairs = of_experiment(name, arguments.jobs) if name in EXPERIMENTS else of_program(name)
        found = dict(pairs)
        if len(found) != len(pairs) or not found:
            raise SystemExit(f"{name}: {len(pairs)} runs have {len(found)} names")
        if arguments.record:
            recorded[name] = found
            RECORDED.write_text(json.dumps(recorded, indent=0, sort_keys=True) + "\n")
        known = recorded.get(name, {})
        others = [run for run in sorted(known.keys() | found.keys()) if known.get(run) != found.get(run)]
        for run in others:
            print(f"{name}: {run}: recorded {known.get(run)}, found {found.get(run)}")
        print(f"{name:<16}{len(found):>4} runs, {len(others)} others than recorded", flush=True)
        rows[name] = {"runs": len(found), "others": len(others)}
    equal = all(row["others"] == 0 for row in rows.values())
    result = {"hashes": rows, "equal": equal}
    OUT.mkdir(parents=True, exist_ok=True)
    (OUT / "result.json").write_text(json.dumps(result))
    print("RESULT " + json.dumps(result))
    raise SystemExit(0 if equal else 1)


if __name__ == "__main__":
    main()
