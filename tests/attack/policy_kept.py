# SPDX-License-Identifier: GPL-2.0-or-later
"""`live policy` outlives a daemon, and `live status` exits with 1 whenever something is down, and only then."""

from __future__ import annotations

import os
import signal

from bench import NAME, Bench, NotSo, Outcome, wait_until
from perhop.live import network, state_files
from perhop.live.plan import one_policy

POLICY = "fixed 4 + dca 3"


def run(bench: Bench, outcome: Outcome) -> None:
    bench.up(hops=1)
    _status(bench, outcome, 0, "all is up")
    done = bench.perhop("live", "policy", POLICY, "--name", NAME)
    outcome.check(done.returncode == 0, f"live policy says {done.stderr.strip()}")
    before = _limit(bench)
    bench.restart(0)
    after = _limit(bench)
    outcome.figures |= {"limit before": before or 0, "limit after": after or 0}
    outcome.check(before == 4, f"a new connection has the limit {before} by {POLICY!r}")
    outcome.check(after == 4, f"after its daemon was started again a new connection has the limit {after}")
    told = network.status(NAME)["policy"]
    outcome.check(told == one_policy(POLICY).label, f"live status tells the policy {told!r}")

    for process, what in (("node-1", "a daemon is down"), ("air", "the medium is down")):
        state_files.hold(bench.folder, process, True)
        wait_until(lambda process=process: _is_gone(bench, process), 5, f"{process} is gone")
        _status(bench, outcome, 1, what)
        state_files.hold(bench.folder, process, False)
        wait_until(lambda: bench.is_up(0) and bench.is_up(1), 15, "all is up again")
        _status(bench, outcome, 0, "all is up again")
    # Daemons that answer and have no MAC.
    medium = bench.pid("air")
    os.kill(network.status(NAME)["supervisor"], signal.SIGSTOP)
    os.kill(medium, signal.SIGSTOP)
    try:
        _status(bench, outcome, 1, "the medium hangs")
    finally:
        os.kill(medium, signal.SIGCONT)
        os.kill(network.status(NAME)["supervisor"], signal.SIGCONT)
    wait_until(lambda: bench.is_up(0) and bench.is_up(1), 15, "all is up again")
    path = bench.folder / "node-0.json"
    text = path.read_text()
    path.write_text(text.replace("air.sock", "nobody.sock"))
    os.kill(bench.pid("node-0"), signal.SIGKILL)
    wait_until(lambda: _answers_without_mac(bench), 10, "node 0 answers without a MAC")
    _status(bench, outcome, 1, "a node has no MAC")
    path.write_text(text)
    os.kill(bench.pid("node-0"), signal.SIGKILL)
    wait_until(lambda: bench.is_up(0), 15, "all is up again")
    os.kill(network.status(NAME)["supervisor"], signal.SIGKILL)
    wait_until(lambda: network.status(NAME)["supervisor"] is None, 5, "the supervisor is gone")
    _status(bench, outcome, 1, "the supervisor is gone")
    outcome.figures["wrong exit codes"] = sum("exits with" in line for line in outcome.wrong)


def _status(bench: Bench, outcome: Outcome, wanted: int, what: str) -> None:
    code = bench.perhop("live", "status", NAME).returncode
    if code == 2:
        code = bench.perhop("live", "status", "--name", NAME).returncode
    outcome.check(code == wanted, f"{what}: live status exits with {code}")


def _is_gone(bench: Bench, process: str) -> bool:
    status = network.status(NAME)
    return status["medium"] is None if process == "air" else status["nodes"][1]["daemon"] is None


def _answers_without_mac(bench: Bench) -> bool:
    daemon = network.status(NAME)["nodes"][0]["daemon"]
    return daemon is not None and not daemon["mac_up"]


def _limit(bench: Bench) -> int | None:
    """The window limit that a new connection of node 0 gets, as its daemon tells it."""
    bench.start(bench.inside(1, "iperf3", "-s", "-1"), stdout=-3, stderr=-3)
    wait_until(lambda: "5201" in bench.run(1, "ss", "-Hltn").stdout, 5, "iperf3 listens")
    sending = bench.start(bench.inside(0, "iperf3", "-c", bench.address(1), "-t", "3"), stdout=-3, stderr=-3)
    found: list[int] = []

    def told() -> bool:
        flows = [flow for flow in bench.daemon(0)["flows"] if flow["source"] == bench.address(0)]
        found.extend(flow["cwl_packets"] for flow in flows if "cwl_packets" in flow)
        return bool(found) or sending.poll() is not None

    try:
        wait_until(told, 6, "a flow")
    except NotSo:
        return None
    sending.wait(20)
    return max(found, default=None)
