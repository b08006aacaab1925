# SPDX-License-Identifier: GPL-2.0-or-later
"""Policies in a user's own file: how they are named, what a run has of them, and that they do what they are to do."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import perhop as library
import pytest
from perhop import paths
from perhop.errors import ExperimentError, PerhopError
from perhop.experiment import load, resolve
from perhop.experiment.policies import Policy, parse_policy
from perhop.own.build import build
from perhop.study import run_folder
from typer.testing import CliRunner

OWN = paths.experiments() / "own_policy"
TWO = """
class Two:
    def limit_packets(self):
        return 2

class Nothing:
    pass
"""


@pytest.fixture
def mine(tmp_path):
    """Makes an experiment file with some policies beside mine.py, and gives its path."""

    def make(*policies, source=TWO, **fields):
        (tmp_path / "mine.py").write_text(source)
        experiment = library.Experiment(
            **{
                "name": "mine",
                "topology": library.Chain(hops=3),
                "flows": [library.TcpFlow()],
                "policies": list(policies),
                "duration_s": 4,
                "warmup_s": 1,
                **fields,
            }
        )
        (tmp_path / "mine.yaml").write_text(experiment.to_yaml())
        return tmp_path / "mine.yaml"

    return make


def runs_of(file, *overrides):
    return resolve.resolve(load.load(file, list(overrides)))


def test_a_policy_in_a_file_is_named_by_it_and_may_stand_beside_others():
    (policy,) = parse_policy("../some where/mine.py:Mine + dca 3")
    assert policy == Policy(own="../some where/mine.py:Mine", tcp_ack="dca", tcp_ack_window=3)
    assert policy.label == "dca 3 + mine.py:Mine"
    assert parse_policy(policy.words) == [policy]
    assert [each.own for each in parse_policy("mine.so:mine + dca 1..2")] == ["mine.so:mine"] * 2


@pytest.mark.parametrize(
    ("words", "remedy"),
    [
        ("mine.py:A + mine.py:B", "keep one"),
        ("mine.cpp:mine", "perhop policy build mine.cpp"),
        ("mine.py", "use one of"),
        ("FILE:NAME", "use one of"),
    ],
)
def test_other_words_are_refused_with_a_remedy(mine, words, remedy):
    with pytest.raises(ExperimentError) as caught:
        mine(words)
    assert remedy in caught.value.remedy


def test_a_run_is_named_by_what_the_file_holds_and_has_a_copy_of_it(mine, tmp_path):
    (run,) = runs_of(mine("mine.py:Two"))
    own = run.config["flows"][0]["policy"]["own"]
    assert run.policy == "mine.py:Two" and run.config["flows"][0]["policy"]["cwl"] == "own"
    assert own["file"] == str(tmp_path / "mine.py") and own["name"] == "Two"
    work = run_folder.prepare(tmp_path / "out", run)
    copy = json.loads((work / "run.json").read_text())["flows"][0]["policy"]["own"]["file"]
    assert copy.startswith(str(work)) and Path(copy).read_text() == TWO
    (changed,) = runs_of(mine("mine.py:Two", source=TWO + "# thought of again\n"))
    assert changed.id != run.id
    with pytest.raises(PerhopError, match="is another one"):
        run_folder.prepare(tmp_path / "out", run)


def test_where_the_file_lies_makes_no_other_run(mine, tmp_path):
    file = mine("mine.py:Two")
    experiment = library.Experiment.from_file(file)
    assert experiment.policies == [f"{tmp_path / 'mine.py'}:Two"]
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    shutil.copy(tmp_path / "mine.py", elsewhere)
    shutil.copy(file, elsewhere)
    assert [run.id for run in runs_of(elsewhere / "mine.yaml")] == [run.id for run in runs_of(file)]


@pytest.mark.parametrize(
    ("words", "source", "problem", "remedy"),
    [
        ("absent.py:Two", TWO, "no such file", "name a file"),
        ("mine.py:Tow", TWO, "no class Tow in it; it has Two, Nothing", "mend"),
        ("mine.py:Nothing", TWO, "decides nothing", "limit_packets, tcp_ack_packets or pacing_interval_us"),
        ("mine.py:Two", "class Two:\n  def limit_packets(self)\n", "line 2", "mend"),
        (
            "mine.py:Two",
            TWO + "Two.limits_packet = Two.limit_packets\n",
            "limits_packet",
            "",
        ),
        ("mine.py:Two", "raise SystemExit(0)\n", "SystemExit", "mend"),
        ("mine.py:Two + fixed 3", TWO, "is a window limit itself", "keep one"),
    ],
)
def test_what_cannot_be_used_is_told_before_anything_runs(mine, words, source, problem, remedy):
    with pytest.raises(ExperimentError) as caught:
        runs_of(mine(words, source=source))
    assert problem in str(caught.value) and remedy in caught.value.remedy
    assert caught.value.field.startswith("policies")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root refuses what others can write")
def test_root_refuses_a_file_that_others_can_write(mine, tmp_path):
    file = mine("mine.py:Two")
    (tmp_path / "mine.py").chmod(0o666)
    with pytest.raises(ExperimentError, match="would run as root, and others can write it") as caught:
        runs_of(file)
    assert "chmod go-w" in caught.value.remedy
    (tmp_path / "mine.py").chmod(0o644)
    tmp_path.chmod(0o777)
    with pytest.raises(ExperimentError, match="others can write"):
        runs_of(mine("mine.py:Two", source=TWO + "\n"))


def test_the_fields_in_python_are_those_of_the_interface():
    header = (paths.policy_headers()[0] / "perhop_policy.h").read_text()
    library_text = (paths.repository() / "host" / "own" / "python_policy.cpp").read_text()
    structs = re.findall(r"typedef struct perhop_(\w+) \{(.*?)\} perhop_\1;", header, re.DOTALL)
    told = {name: re.findall(r"uint(?:32|64)_t (\w+);", body) for name, body in structs if name != "host"}
    assert set(told) == {"path", "sent", "release", "arrival", "tcp_ack_wait", "completion"}
    for name, fields in told.items():
        (listed,) = re.findall(
            rf"PyStructSequence_Field {name.removeprefix('tcp_ack_')}_fields\[\] = (.*?);", library_text, re.DOTALL
        )
        assert re.findall(r'"(\w+)"', listed) == fields


def hashes(results):
    return {row["policy"]: row["trace_hash"] for row in results.using("arrow").runs.to_pylist()}


# What perhop's own policies do, each in a line or two.
COPIES = """
class ByHops:
    limit = None

    def on_path(self, now_us, path):
        hops = path.forward_hops + path.return_hops
        if path.forward_hops and path.return_hops:
            self.limit = 2 if hops <= 4 else 1 if hops <= 8 else 2

    def limit_packets(self):
        return self.limit


class Three:
    inter_arrival = flight = last_flight = 0

    def on_arrival(self, now_us, arrival):
        self.flight = max(self.flight, arrival.packets_in_flight)

    def on_tcp_ack_sent(self, now_us, packets_in_vain):
        self.last_flight = min(self.flight, packets_in_vain) if packets_in_vain else self.flight
        self.flight = 0

    def tcp_ack_packets(self):
        return min(3, max(self.flight, self.last_flight) or 5)

    def tcp_ack_deadline_us(self, wait):
        return wait.oldest_arrival_us + (3 * wait.inter_arrival_us256 * self.tcp_ack_packets() // 2 >> 8)


class PacedPath:
    interval = 0

    def on_path(self, now_us, path):
        h, total = path.forward_hops, path.forward_total_us
        if not h or not total:
            return
        if h <= 3:
            self.interval = 0
            return
        largest = min(path.forward_max_us, total)
        data = total if h <= 4 else largest + 3 * (total - largest) // (h - 1)
        m = path.return_hops
        back = path.return_total_us if m <= 4 else path.return_total_us * 4 // m
        self.interval = data + min(back, data // 3)

    def pacing_interval_us(self, now_us, release):
        return self.interval
"""


@pytest.mark.parametrize(
    ("copy", "copied", "hops"),
    [
        ("mine.py:ByHops", "hop", 3),
        ("mine.py:ByHops", "hop", 6),
        ("mine.py:Three", "dca 3 no resend", 4),
        ("mine.py:PacedPath", "paced path", 6),
        ("delay + mine.py:Three", "delay + dca 3 no resend", 3),
    ],
)
def test_a_copy_in_python_makes_the_transmissions_of_what_it_copies(mine, tmp_path, monkeypatch, copy, copied, hops):
    monkeypatch.chdir(tmp_path)
    found = hashes(library.run(mine("none", copy, copied, source=COPIES, topology=library.Chain(hops=hops)), workers=1))
    assert found.pop("no limit") not in found.values()
    assert len(found) == 2 and len(set(found.values())) == 1


def test_a_copy_in_cpp_makes_the_transmissions_of_what_it_copies(mine, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    built, said = build(OWN / "limits.cpp", tmp_path / "limits.so")
    assert said == ""
    found = hashes(library.run(mine("hop", f"{built}:by_hops", f"{OWN / 'limits.py'}:ByHops", "none"), workers=1))
    assert found["limits.so:by_hops"] == found["limits.py:ByHops"] == found["hop"] != found["no limit"]


def test_a_flow_may_have_one_of_its_own(mine, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    flows = [library.TcpFlow(policy=f"{tmp_path}/mine.py:Two"), library.TcpFlow(src=2, dst=0, policy="fixed 3")]
    flows = library.run(mine("none", flows=flows), workers=1).using("arrow").flows.to_pylist()
    assert [flow["max_packets_in_flight"] for flow in flows] == [2, 3]


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("return 1 / 0", "ZeroDivisionError"),
        ("return 0", "gave 0: give packets"),
        ("return 2.5", "gave 2.5: give packets"),
        ("return True", "gave True: give packets"),
        ("return 2**70", "give packets"),
        ("raise SystemExit(0)", "SystemExit"),
    ],
)
def test_an_error_of_the_class_ends_the_run_and_is_shown(mine, tmp_path, monkeypatch, body, told):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(library.RunsFailed) as caught:
        library.run(mine("mine.py:Two", source=f"class Two:\n  def limit_packets(self):\n    {body}\n"), workers=1)
    assert told in str(caught.value) and "mine.py:Two" in str(caught.value)


def test_it_is_told_all_that_the_page_says_and_what_it_prints_is_no_output(mine, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    log = tmp_path / "told.jsonl"
    source = f"""
import json

class Told:
    def note(self, kind, now_us, told):
        print("a word")
        ends = ("_us", "_hops", "_packets", "_bytes", "flight", "attempts", "delivered")
        names = [name for name in dir(told) if name.endswith(ends)]
        with open({str(log)!r}, "a") as file:
            print(json.dumps([kind, now_us, {{name: getattr(told, name) for name in names}}]), file=file)

    def on_path(self, now_us, path): self.note("path", now_us, path)
    def on_sent(self, now_us, sent): self.note("sent", now_us, sent)
    def on_arrival(self, now_us, arrival): self.note("arrival", now_us, arrival)
    def on_completion(self, now_us, completion): self.note("completion", now_us, completion)
    def limit_packets(self): return 3
    def tcp_ack_packets(self): return 1
"""
    library.run(mine("mine.py:Told", source=source), workers=1)
    told = [json.loads(line) for line in log.read_text().splitlines()]
    assert [line[1] for line in told] == sorted(line[1] for line in told)
    last = {kind: (now_us, what) for kind, now_us, what in told}
    path, sent, arrival, completion = (last[kind][1] for kind in ("path", "sent", "arrival", "completion"))
    assert path["forward_hops"] == path["return_hops"] == arrival["forward_hops"] == 3
    assert (
        0 < path["forward_max_us"] < path["forward_total_us"]
        and 0 < path["least_round_trip_us"] <= path["round_trip_us"]
    )
    assert path["round_trip_us"] < 4_000_000 and path["delivered_bytes"] == arrival["payload_bytes"] == 1460
    assert 1 <= path["packets_in_flight"] <= 3 and 1 <= arrival["packets_in_flight"] <= 3
    assert sent["payload_bytes"] in (0, 1460)
    parts = [name for name in completion if name.endswith("_us")]
    assert len(parts) == 10 and completion["delivered"] == 1 and completion["data_attempts"] >= 1
    assert sum(completion[name] for name in parts) > 1000


def test_the_command_builds_checks_and_leaves_what_was_there(tmp_path):
    from perhop.cli import app

    source = tmp_path / "mine.cpp"
    source.write_text((OWN / "limits.cpp").read_text())
    run = CliRunner().invoke
    assert run(app, ["policy", "build", str(source)]).exit_code == 0
    done = run(app, ["policy", "check", f"{tmp_path}/mine.so:by_hops"])
    assert done.exit_code == 0 and done.stdout == "mine.so:by_hops: window limit\n"
    built = (tmp_path / "mine.so").read_bytes()
    wrong = "struct by_hops { void on_path(int); unsigned limit_packets(); };"
    source.write_text(f"#include <perhop_policy.hpp>\n{wrong}\nPERHOP_POLICY(by_hops)\n")
    failed = run(app, ["policy", "build", str(source)])
    assert failed.exit_code == 2 and "on_path has not the arguments" in failed.output
    assert (tmp_path / "mine.so").read_bytes() == built and {file.name for file in tmp_path.iterdir()} == {
        "mine.cpp",
        "mine.so",
    }
    assert run(app, ["policy", "check", f"{tmp_path}/mine.so:other"]).exit_code == 2


def test_a_policy_of_another_interface_is_refused(tmp_path):
    headers = paths.policy_headers()
    for folder, name in zip(headers, ("perhop_policy.h", "perhop_policy.hpp"), strict=True):
        text = (folder / name).read_text()
        (tmp_path / name).write_text(
            text.replace("#define PERHOP_POLICY_INTERFACE 1", "#define PERHOP_POLICY_INTERFACE 77")
        )
    command = [
        "g++",
        "-std=c++20",
        "-shared",
        "-fPIC",
        "-I",
        str(tmp_path),
        str(OWN / "limits.cpp"),
        "-o",
        str(tmp_path / "old.so"),
    ]
    subprocess.run(command, check=True)
    told = subprocess.run(
        [str(paths.program("perhop-policy")), str(tmp_path / "old.so"), "by_hops"], capture_output=True, text=True
    )
    assert told.returncode == 2 and "version 77" in told.stderr and "perhop policy build" in told.stderr


def test_a_policy_that_has_not_the_part_that_it_is_to_be_is_refused(mine, tmp_path):
    (run,) = runs_of(mine("mine.py:Two"))
    config = run_folder.with_directory(run.config, tmp_path)
    config["flows"][0]["policy"]["pacing"] = "own"
    (tmp_path / "run.json").write_text(json.dumps(config))
    told = subprocess.run(
        [str(paths.program("perhop-sim")), str(tmp_path / "run.json")], capture_output=True, text=True
    )
    assert told.returncode != 0 and "has no pacing_interval_us" in told.stderr
