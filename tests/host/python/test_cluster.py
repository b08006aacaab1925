# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs made by the workers of a Dask scheduler: the bytes of one core's, whatever is lost or stopped meanwhile.

Scheduler and workers are processes on the loopback. The simulators are fakes; what they shall do is in a file that they
read, so that it may change while workers run.
"""

import hashlib
import json
import shutil
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import distributed
import psutil
import pytest
from perhop import paths
from perhop.study import cluster, worker
from perhop.study.parts import Part, parts_of
from waiting import wait_until

BENCH = paths.repository() / "sim/bench"
sys.path.insert(0, str(BENCH))
try:
    from loopback import Network, Process, contents
finally:
    sys.path.remove(str(BENCH))

FAKE = Path(__file__).with_name("fake_simulator.py")


def runs(worker: Process) -> list[psutil.Process]:
    """The simulators that a worker has started and that have not ended."""
    return psutil.Process(worker.popen.pid).children()


@dataclass(frozen=True)
class Fakes:
    """A build folder whose simulators do what `tell` told last, and the labels of the runs that they began."""

    build: Path
    control: Path
    log: Path

    def tell(self, **environment: object) -> None:
        lines = [f"export {name}={value}" for name, value in {"FAKE_LOG": self.log, **environment}.items()]
        self.control.write_text("\n".join(lines) + "\n")

    def begun(self) -> list[str]:
        return self.log.read_text().splitlines() if self.log.exists() else []


@pytest.fixture(scope="module")
def fakes(tmp_path_factory) -> Fakes:
    build = tmp_path_factory.mktemp("build")
    control = build / "control.sh"
    program = build / "sim/ns3/perhop-sim"
    program.parent.mkdir(parents=True)
    program.write_text(f'#!/bin/sh\n. "{control}"\nexec "{sys.executable}" "{FAKE}" "$@"\n')
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return Fakes(build, control, build / "begun.log")


@dataclass(frozen=True)
class Shared:
    """A scheduler with two workers, which no test harms."""

    network: Network
    workers: list[Process]
    build: Path

    @contextmanager
    def more(self, *environments: dict[str, str]) -> Iterator[list[Process]]:
        """Further workers for one test, in environments of their own."""
        workers = [self.network.start_worker(**{"PERHOP_BUILD": str(self.build), **one}) for one in environments]
        try:
            for worker in workers:
                self.network.registered(worker)
            yield workers
        finally:
            for worker in workers:
                worker.end(signal.SIGKILL)


@pytest.fixture(scope="module")
def shared(tmp_path_factory, fakes):
    with Network(tmp_path_factory.mktemp("network")) as network:
        network.scheduler()
        yield Shared(network, network.workers(2, PERHOP_BUILD=str(fakes.build)), fakes.build)


@pytest.fixture(autouse=True)
def of_this_build(fakes, monkeypatch):
    monkeypatch.setenv("PERHOP_BUILD", str(fakes.build))
    fakes.log.unlink(missing_ok=True)
    fakes.tell()


@pytest.fixture
def alone(experiment, perhop, tmp_path, fakes) -> Path:
    """The folder of the same runs, made one after the other on this machine."""
    assert perhop("run", experiment, "--jobs", 1, "--out", tmp_path / "alone").code == 0
    fakes.log.unlink()
    return tmp_path / "alone"


def another_build(build: Path, copy: Path) -> Path:
    """A copy of a build whose simulator differs from it, and from every build of before."""
    shutil.copytree(build, copy, dirs_exist_ok=True)
    with (copy / "sim/ns3/perhop-sim").open("a") as program:
        program.write("# another build\n")
    return copy


def states(folder: Path) -> dict[str, str]:
    return {run["label"]: run["status"] for run in json.loads((folder / "state.json").read_text())["runs"].values()}


def start(experiment: Path, network: Network, out: Path) -> subprocess.Popen:
    """The command in a process of its own, in another folder than the tests'."""
    call = [sys.executable, "-c", "from perhop import cli; cli.main()", "run", experiment, "--out", out]
    return subprocess.Popen(
        [str(word) for word in [*call, "--scheduler", network.address]],
        cwd=out.parent,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_what_workers_make_is_what_one_core_makes_to_the_byte(experiment, perhop, shared, alone, tmp_path, fakes):
    out = tmp_path / "out"
    done = perhop("run", experiment, "--scheduler", shared.network.file, "--out", out)
    assert done.code == 0, done.stderr
    assert len(fakes.begun()) == 8 and all(worker.said().count("look") for worker in shared.workers)
    assert len(contents(alone)) > 20
    assert contents(out) == contents(alone)
    assert not list((out / "runs").glob("*.running"))
    again = perhop("run", experiment, "--scheduler", shared.network.address, "--out", out)
    assert "8 runs reused" in again.stdout and len(fakes.begun()) == 8


def test_workers_make_the_runs_of_both_sides_of_a_comparison(experiment, perhop, shared, tmp_path, fakes):
    arguments = ("compare", experiment, "--scheduler", shared.network.file)
    done = perhop(*arguments, "--set-b", "topology.spacing_m=200", "--about", "topology", "--out", tmp_path / "out")
    assert done.code == 0, done.stderr
    assert len(fakes.begun()) == 16
    refused = perhop(*arguments, "--backend-b", "live", "--out", tmp_path / "live")
    assert refused.code == 2 and "with --backend live" in refused.said and not (tmp_path / "live").exists()


def test_the_environment_names_a_scheduler_for_what_has_no_option(experiment, perhop, shared, tmp_path, monkeypatch):
    monkeypatch.setenv("PERHOP_SCHEDULER", str(tmp_path / "none.json"))
    done = perhop("run", experiment, "--out", tmp_path / "out")
    assert (done.code, (tmp_path / "out").exists()) == (2, False)
    assert f"--scheduler {tmp_path / 'none.json'}: no such file" in done.said
    assert perhop("run", experiment, "--scheduler", shared.network.file, "--out", tmp_path / "out").code == 0
    done = perhop("reproduce", "D-27", "--out", tmp_path / "rows")
    assert (done.code, (tmp_path / "rows").exists()) == (2, False)
    assert f"--scheduler {tmp_path / 'none.json'}: no such file" in done.said


def test_a_crash_on_a_worker_is_told_as_a_crash_here(experiment, perhop, shared, tmp_path, fakes):
    fakes.tell(FAKE_CRASH="'h=3 policy=cwl 8 seed=2'")
    done = perhop("run", experiment, "--scheduler", shared.network.file, "--out", tmp_path / "out")
    assert done.code == 1
    assert "h=3 policy=cwl 8 seed=2: perhop-sim failed (exit 134): mac_core: assertion failed" in done.said
    assert list(states(tmp_path / "out").values()).count("finished") == 7


def test_workers_that_lack_something_are_refused_by_name_and_the_others_make_the_runs(
    experiment, perhop, shared, alone, tmp_path, fakes
):
    empty, shadow = tmp_path / "empty", tmp_path / "shadow"
    other = another_build(fakes.build, tmp_path / "other")
    empty.mkdir()
    (shadow / "perhop").mkdir(parents=True)
    (shadow / "perhop/__init__.py").write_text("raise ModuleNotFoundError(\"No module named 'perhop'\")")
    unfit = ({"PERHOP_BUILD": str(other)}, {"PERHOP_BUILD": str(empty)}, {"PYTHONPATH": str(shadow)}, {})
    with shared.more(*unfit) as workers:
        without_room = workers[-1].place
        shutil.rmtree(without_room)
        fakes.tell(FAKE_WALL_S="0.2")
        done = perhop("run", experiment, "--scheduler", shared.network.file, "--out", tmp_path / "out")
    said = " ".join(done.stdout.split())
    assert done.code == 0, done.stderr
    assert f"has another perhop-sim: {other}/sim/ns3/perhop-sim has SHA-256" in said
    assert f"perhop-sim is not built (looked in {empty})" in said
    assert "cannot load perhop.study.worker: ModuleNotFoundError" in said
    assert f"cannot make a run: [Errno 2] No such file or directory: '{without_room}" in said
    assert said.count("refused: worker tcp://127.0.0.1:") == 4 and said.count("remedy: ") == 4
    assert contents(tmp_path / "out") == contents(alone)


def test_nothing_is_written_where_no_worker_is_fit(experiment, perhop, shared, tmp_path, fakes, monkeypatch):
    monkeypatch.setenv("PERHOP_BUILD", str(another_build(fakes.build, tmp_path / "here")))
    done = perhop("run", experiment, "--scheduler", shared.network.file, "--out", tmp_path / "out")
    assert (done.code, (tmp_path / "out").exists(), fakes.begun()) == (2, False, [])
    assert f"has another perhop-sim: {fakes.build}/sim/ns3/perhop-sim" in done.said
    assert "remedy: give " in done.said


def test_a_program_that_is_replaced_meanwhile_makes_no_more_runs(experiment, shared, alone, tmp_path, fakes):
    same = tmp_path / "same"
    shutil.copytree(fakes.build, same)
    fakes.tell(FAKE_WALL_S="0.5")
    with shared.more({"PERHOP_BUILD": str(same)}) as (worker,):
        process = start(experiment, shared.network, tmp_path / "out")
        wait_until(lambda: runs(worker))
        another_build(fakes.build, same)
        said, errors = process.communicate(timeout=30)
    assert process.returncode == 0, errors
    assert f"has another perhop-sim: {same}/sim/ns3/perhop-sim" in said
    assert contents(tmp_path / "out") == contents(alone)


def test_a_worker_makes_no_run_but_the_one_that_was_sent_by_the_program_that_was_meant(shared, fakes):
    program = fakes.build / "sim/ns3/perhop-sim"
    task = {
        "study": "of this test",
        "run": "one",
        "program": program.name,
        "parts": {name: part.sha256 for name, part in parts_of(program).items()},
        "config": "{}",
        "config_sha256": hashlib.sha256(b"{}").hexdigest(),
    }
    with distributed.Client(shared.network.address, set_as_default=False) as client:

        def answer(**other: object) -> dict:
            return client.submit(worker.make_run, {**task, **other}, pure=False).result()

        assert answer(config="{ }")["unfit"] == "run.json of one came damaged"
        assert answer(parts={program.name: "0" * 64})["unfit"] == worker.OTHER_PROGRAM
        assert answer(parts={})["unfit"] == worker.OTHER_PROGRAM
    assert not fakes.begun()


def test_another_perhop_is_told_whatever_it_answers():
    fitness = cluster.Fitness({})
    said = str(fitness.judge("tcp://there:1", {"perhop": "1" * 64, "host": "node7", "more": 1}))
    assert (
        "worker tcp://there:1 on node7 has another perhop: its perhop/study/worker.py has SHA-256 111111111111" in said
    )
    assert "has another perhop" in str(fitness.judge("tcp://there:1", {}))
    assert fitness.judge("tcp://there:1", {**worker.look([]), "host": "node7"}) == "node7"


def test_what_a_lost_worker_was_making_another_makes(experiment, shared, alone, tmp_path, fakes):
    fakes.tell(FAKE_WALL_S="1")
    with shared.more({}) as (victim,):
        process = start(experiment, shared.network, tmp_path / "out")
        wait_until(lambda: runs(victim))
        (orphan,) = runs(victim)
        victim.end(signal.SIGKILL)
        fakes.tell(FAKE_WALL_S="0")
        said, errors = process.communicate(timeout=30)
    assert process.returncode == 0, errors
    assert "is gone; others make what it was making" in said
    assert len(fakes.begun()) > 8
    assert contents(tmp_path / "out") == contents(alone)
    wait_until(lambda: not orphan.is_running())


def test_a_run_of_which_every_maker_is_lost_has_failed(experiment, shared, tmp_path, fakes):
    with distributed.Client(shared.network.address, set_as_default=False) as client:
        before = client.run_on_scheduler(lambda dask_scheduler: dask_scheduler.allowed_failures)
        fakes.tell(FAKE_WALL_S="1")
        with shared.more({}) as (victim,):
            client.run_on_scheduler(lambda dask_scheduler: setattr(dask_scheduler, "allowed_failures", 0))
            process = start(experiment, shared.network, tmp_path / "out")
            wait_until(lambda: runs(victim))
            victim.end(signal.SIGKILL)
            fakes.tell(FAKE_WALL_S="0")
            _, errors = process.communicate(timeout=30)
        client.run_on_scheduler(lambda dask_scheduler: setattr(dask_scheduler, "allowed_failures", before))
    assert process.returncode == 1
    assert "each worker that made it was lost, 1 of them" in errors
    assert sorted(set(states(tmp_path / "out").values())) == ["failed", "finished"]


def test_a_scheduler_that_comes_back_gets_what_was_lost_with_it(experiment, alone, tmp_path, fakes):
    with Network(tmp_path / "network") as network:
        scheduler = network.scheduler()
        port = network.port
        (worker,) = network.workers()
        fakes.tell(FAKE_WALL_S="0.3")
        process = start(experiment, network, tmp_path / "out")
        wait_until(lambda: len(fakes.begun()) >= 3)
        scheduler.end(signal.SIGKILL)
        # A worker without a scheduler ends; whoever started it starts it again.
        worker.popen.wait(30)
        fakes.tell(FAKE_WALL_S="0")
        network.scheduler(port)
        network.start_worker()
        said, errors = process.communicate(timeout=30)
    assert process.returncode == 0, errors
    assert "the scheduler is gone" in said and "the scheduler is back" in said
    assert contents(tmp_path / "out") == contents(alone)


def test_an_interrupted_study_keeps_what_it_has_and_another_machine_may_resume_it(
    experiment, perhop, shared, alone, tmp_path, fakes
):
    out = tmp_path / "out"
    fakes.tell(FAKE_WALL_S="0.5")
    process = start(experiment, shared.network, out)
    wait_until(lambda: len(fakes.begun()) >= 4)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "The same command continues" in errors
    found = states(out)
    finished = [label for label, status in found.items() if status == "finished"]
    assert 0 < len(finished) < 8 and list(found.values()).count("interrupted") in (1, 2)
    assert not [run for worker in shared.workers for run in runs(worker)]

    fakes.tell()
    fakes.log.unlink()
    assert perhop("run", experiment, "--out", out).code == 0
    assert len(fakes.begun()) == 8 - len(finished)
    assert contents(out) == contents(alone)


def test_simulators_end_when_nobody_waits_for_them(experiment, shared, tmp_path, fakes):
    fakes.tell(FAKE_WALL_S="60")
    process = start(experiment, shared.network, tmp_path / "out")
    wait_until(lambda: all(runs(worker) for worker in shared.workers))
    made = [run for worker in shared.workers for run in runs(worker)]
    process.kill()
    process.communicate()
    wait_until(lambda: not any(run.is_running() for run in made), timeout_s=20)


@pytest.mark.parametrize(
    ("scheduler", "problem"),
    [
        ("tcp://127.0.0.1:1", "no Dask scheduler answers at tcp://127.0.0.1:1"),
        ("tls://127.0.0.1:1", "no Dask scheduler answers at tls://127.0.0.1:1: TLS expects"),
        ("nowhere", "no Dask scheduler answers at nowhere: missing port number"),
        ("{}/none.json", "none.json: no such file or directory"),
        ("{}/words.json", "words.json is no scheduler file: it has no field address"),
    ],
)
def test_a_scheduler_that_cannot_be_used_is_told_before_anything_is_written(
    scheduler, problem, experiment, perhop, tmp_path, monkeypatch
):
    monkeypatch.setattr(cluster, "CONNECT_PATIENCE_S", 0.2)
    (tmp_path / "words.json").write_text('{"place": "here"}')
    done = perhop("run", experiment, "--scheduler", scheduler.format(tmp_path), "--out", tmp_path / "out")
    assert (done.code, (tmp_path / "out").exists()) == (2, False)
    assert problem in done.said and "remedy: " in done.said and "scheduler" in done.said.partition("remedy: ")[2]


def test_a_live_network_is_not_for_other_machines(experiment, perhop, tmp_path):
    arguments = ("--backend", "live", "--scheduler", "tcp://127.0.0.1:1")
    done = perhop("run", experiment, *arguments, "--out", tmp_path / "out")
    assert done.code == 2 and "--scheduler tcp://127.0.0.1:1 with --backend live" in done.said


def test_a_program_has_its_libraries_for_parts(tmp_path):
    parts = parts_of(Path("/bin/ls").resolve())
    assert {"ls", "libc.so.6"} <= parts.keys()
    assert all(len(part.sha256) == 64 for part in parts.values())
    script = tmp_path / "script"
    script.write_text("#!/bin/sh\n")
    (before,) = parts_of(script).values()
    script.write_text("#!/bin/sh\n:\n")
    assert parts_of(script)["script"].sha256 != before.sha256, "a file that is written again is read again"


def test_the_first_part_that_differs_is_told():
    ours = {"sim": Part("/a/sim", "1" * 64), "libx.so": Part("/a/libx.so", "2" * 64)}
    assert cluster.difference("sim", ours, ours) == ""
    lacks = cluster.difference("sim", ours, {**ours, "libx.so": Part("", "")})
    assert lacks == "lacks libx.so, which sim needs (here /a/libx.so)"
    other = cluster.difference("sim", ours, {**ours, "libx.so": Part("/b/libx.so", "3" * 64)})
    assert other == "has another libx.so for sim: /b/libx.so has SHA-256 333333333333, /a/libx.so here 222222222222"
    more = cluster.difference("sim", ours, {**ours, "liby.so": Part("/b/liby.so", "4" * 64)})
    assert more == "has a sim that needs liby.so, and the one here does not"
