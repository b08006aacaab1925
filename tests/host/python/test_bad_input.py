# SPDX-License-Identifier: GPL-2.0-or-later
"""Bad input ends in one message that names file, line, field and remedy; nothing is run and nothing is written."""

import json
from pathlib import Path

import pytest

# What is wrong: (the text to replace, what stands there instead, line, field, and words of the problem and the remedy)
FILES = {
    "unknown field": ("    src: first", "    scr: first", 14, "flows.0.scr", "unknown field", "did you mean 'src'"),
    "unknown section": ("medium:", "radio:", 6, "radio", "unknown field", "use one of"),
    "unknown top field with a near miss": ("seeds:", "seed:", 19, "seed", "unknown field", "did you mean 'seeds'"),
    "missing field": ("duration_s: 10\n", "", 1, "duration_s", "is missing", "add `duration_s"),
    "unknown profile": ("dsss_long", "dss_long", 10, "mac.profile", "unknown profile", "did you mean 'dsss_long'"),
    "rate of another profile": (
        "_mbps: 2",
        "_mbps: 6",
        11,
        "mac.data_rate_mbps",
        "no rate of dsss_long",
        "1, 2, 5.5, 11",
    ),
    "unknown topology": ("kind: chain", "kind: chian", 3, "topology.kind", "'chian'", "did you mean 'chain'"),
    "topology without kind": ("  kind: chain\n", "", 2, "topology.kind", "is missing", "one of: chain"),
    "no hops": ("  topology.hops: [1, 3]", "  topology.hops: [1, 0]", 18, "topology.hops", "at least 1", "at least 1"),
    "spacing out of range": ("_m: 250\nmed", "_m: 300\nmed", 5, "topology.spacing_m", "cannot hear", "at most 250"),
    "unreachable node": ("dst: last", "dst: 9", 15, "flows.0.dst", "the topology has 2 nodes", "index from 0 to 1"),
    "node by an unknown name": ("dst: last", "dst: lst", 15, "flows.0.dst", "names no node", "first or last"),
    "a TCP that nobody has": (
        "dst: last",
        "dst: last\n    variant: cubik",
        16,
        "flows.0.variant",
        "'cubik'",
        "did you mean 'cubic'",
    ),
    "a flow to itself": ("dst: last", "dst: 0", 15, "flows.0.dst", "would send to itself", "two different nodes"),
    "a MAC-level flow over hops": (
        "kind: tcp",
        "kind: mac_saturated",
        15,
        "flows.0.dst",
        "a single hop",
        "name a neighbour",
    ),
    "TCP beside MAC-level traffic": (
        "    dst: last\n",
        "    dst: last\n  - {kind: mac_saturated, dst: 1}\n",
        16,
        "flows.1.kind",
        "beside flows over IP",
        "kind tcp, cbr, exact and tfrc only",
    ),
    "text for a number": ("duration_s: 10", "duration_s: long", 20, "duration_s", "must be a number", "write a number"),
    "a negative number": ("warmup_s: 2", "warmup_s: -1", 21, "warmup_s", "at least 0", "at least 0"),
    "nothing left to measure": ("warmup_s: 2", "warmup_s: 10", 21, "warmup_s", "leaves nothing", "below duration_s"),
    "unknown fidelity": (
        "_mbps: 2",
        "_mbps: 2\n  fidelity: waves",
        12,
        "mac.fidelity",
        "'waves'",
        "use one of: core, bytes, samples",
    ),
    "TCP over samples": (
        "_mbps: 2",
        "_mbps: 2\n  fidelity: samples",
        12,
        "mac.fidelity",
        "TCP and UDP",
        "flows of kind mac_saturated",
    ),
    "unknown reception": ("reception: ns2", "reception: ns3", 7, "medium.reception", "'ns3'", "did you mean 'ns2'"),
    "sensing less than reading": (
        "_range_m: 250\nmac",
        "_range_m: 250\n  cs_range_m: 200\nmac",
        9,
        "medium.cs_range_m",
        "unsensed",
        "at least tx_range_m",
    ),
    "unknown policy": ("fixed 8", "fixt 8", 16, "policies.1", "no policy", "did you mean 'fixed'"),
    "policy without a number": ("fixed 8", "fixed", 16, "policies.1", "no policy", "write `fixed 8`"),
    "backwards range": ("fixed 8", "fixed 8..2", 16, "policies.1", "no range", "fixed 1..6"),
    "unknown part of a policy": ("fixed 8", "fixed 8 + dka 3", 16, "policies.1", "no policy", "did you mean 'dca'"),
    "a kind of policy twice": ("fixed 8", "dca 3 + daa", 16, "policies.1", "TCP ACK policy twice", "keep one"),
    "delayed TCP ACKs beside a policy for them": (
        "    dst: last\npolicies: [none, fixed 8]",
        "    dst: last\n    tcp_ack_every: 2\npolicies: [none, dca]",
        16,
        "flows.0.tcp_ack_every",
        "decides when TCP ACKs are sent",
        "leave it at 1",
    ),
    "FreeBSD's TCP with another timeout": (
        "    dst: last\npolicies",
        "    dst: last\n    variant: bsd\npolicies",
        13,
        "flows.0.min_rto_ms",
        "ticks of 500 ms",
        "set it to 1000",
    ),
    "FreeBSD's TCP with a largest timeout": (
        "    dst: last\npolicies",
        "    dst: last\n    variant: bsd\n    min_rto_ms: 1000\n    max_rto_ms: 2000\npolicies",
        18,
        "flows.0.max_rto_ms",
        "has its own",
        "leave it out",
    ),
    "a largest timeout below the least": (
        "    dst: last\npolicies",
        "    dst: last\n    max_rto_ms: 100\npolicies",
        16,
        "flows.0.max_rto_ms",
        "below min_rto_ms = 200",
        "raise it",
    ),
    "FreeBSD's TCP with SACK": (
        "    dst: last\npolicies",
        "    dst: last\n    variant: bsd\n    sack: true\npolicies",
        17,
        "flows.0.sack",
        "has no SACK",
        "leave it out",
    ),
    "a policy twice": ("fixed 8", "none", 16, "policies.1", "twice", "remove one"),
    "a policy twice, in a range": ("none, fixed 8", "fixed 2, fixed 1..3", 16, "policies.1", "'cwl 2' twice", "remove"),
    "a seed twice": ("seeds: [1, 2]", "seeds: [1, 1]", 19, "seeds.1", "lists 1 twice", "remove one"),
    "a swept value twice": ("[1, 3]", "[2, 3, 2]", 18, "sweep.topology.hops.2", "lists 2 twice", "remove one"),
    "no seeds": ("seeds: [1, 2]", "seeds: []", 19, "seeds", "too few", "at least 1"),
    "sweep of an unknown field": (
        "topology.hops:",
        "topology.hop:",
        18,
        "topology.hop",
        "unknown field",
        "did you mean 'hops'",
    ),
    "sweep without a list": ("[1, 3]", "3", 18, "sweep.topology.hops", "must be a list", "[1, 2, 3]"),
    "sweep of seeds": (
        "topology.hops: [1, 3]",
        "seeds: [1, 3]",
        18,
        "sweep.seeds",
        "cannot be swept",
        "under `seeds:`",
    ),
    "a backend that is not there": (
        "seeds: [1, 2]",
        "backend: wire",
        19,
        "backend",
        "'wire'",
        "sim, kernel, live, radio",
    ),
    "not YAML": ("  hops: 2", "  hops: [2", 5, "", "not valid YAML", "mend"),
    "a key twice": ("  spacing_m: 250", "  hops: 2", 5, "", "not valid YAML", "mend"),
    "no mapping": (None, "- a\n- b\n", 1, "", "holds no fields", "start from"),
    "empty file": (None, "", 1, "", "holds no fields", "start from"),
}


@pytest.mark.parametrize("case", FILES)
def test_a_bad_file_ends_in_one_message(case, experiment, fake_build, perhop, tmp_path):
    old, new, line, field, problem, remedy = FILES[case]
    text = experiment.read_text()
    if old is None:
        text = new
    else:
        assert text.count(old) == 1, "the case must change one place"
        text = text.replace(old, new)
    experiment.write_text(text)
    before = everything_in(tmp_path)

    done = perhop("run", experiment, "--out", tmp_path / "out")

    assert done.code == 2
    assert done.stdout == ""
    assert done.stderr.count("error:") == 1 and done.stderr.count("remedy:") == 1
    where = f"{experiment}:{line}: " + (f"{field}: " if field else "")
    assert where in done.said
    assert problem in done.said
    assert remedy in done.said.split("remedy:")[1]
    assert everything_in(tmp_path) == before


@pytest.mark.parametrize(
    ("topology", "medium", "field", "problem", "remedy"),
    [
        ("{kind: ring, nodes: 4, spacing_m: 251}", "{}", "spacing_m", "cannot hear", "at most 250"),
        ("{kind: grid, rows: 1, columns: 1}", "{}", "columns", "single node", "at least 2"),
        ("{kind: cross, hops: 3}", "{}", "hops", "multiple of 2", "even number"),
        ("{kind: star, stations: 3, radius_m: 400}", "{}", "radius_m", "out of reach", "at most 250"),
        ("{kind: full_mesh, nodes: 3, radius_m: 200}", "{}", "radius_m", "400 m away", "at most 125"),
        ("{kind: hidden_pair}", "{}", "spacing_m", "not hidden", "cs_range_m below 500"),
        ("{kind: random, nodes: 3, width_m: 1.0e+6, height_m: 1.0e+6}", "{}", "nodes", "no connected", "more nodes"),
        (
            "{kind: explicit, nodes: [{x_m: 0, y_m: 0}, {x_m: 9, y_m: 9}, {x_m: 0, y_m: 0}]}",
            "{}",
            "nodes.2",
            "where node 0 is",
            "move one",
        ),
        ("{kind: explicit, nodes: [{x_m: 0, y_m: 0}, {x_m: 900, y_m: 0}]}", "{}", None, "cannot be reached", "closer"),
    ],
)
def test_an_impossible_topology_ends_in_one_message(
    topology, medium, field, problem, remedy, tmp_path, fake_build, perhop
):
    file = tmp_path / "bad.yaml"
    file.write_text(
        f"name: bad\ntopology: {topology}\nmedium: {medium}\nflows:\n  - {{kind: tcp, src: 0, dst: 1}}\n"
        "duration_s: 10\n"
    )
    done = perhop("run", file, "--out", tmp_path / "out")
    where = f"{file}:2: topology.{field}: " if field else f"{file}:5: flows.0.dst: "
    assert done.code == 2
    assert where in done.said
    assert problem in done.said
    assert remedy in done.said.split("remedy:")[1]
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("setting", "field", "problem", "remedy"),
    [
        ("topology.hop=3", "topology.hop", "unknown field", "did you mean 'hops'"),
        ("topology.hops=0", "topology.hops", "at least 1", "at least 1"),
        ("topology.hops=[2,2]", "sweep.topology.hops", "twice", "remove one"),
        ("seeds=[3,3]", "seeds", "twice", "remove one"),
        ("mac.profile=wifi7", "mac.profile", "unknown profile", "use one of: dsss_long"),
        ("flows.3.dst=1", "flows.3.dst", "no element 3", "from 0 up to 0"),
        ("topology.hops.x=1", "", "is a value, not a section", "set topology.hops itself"),
        ("duration_s", "", "no assignment", "field=value"),
        ("duration_s=[", "", "not YAML", "quote"),
    ],
)
def test_a_bad_override_ends_in_one_message(setting, field, problem, remedy, experiment, fake_build, perhop, tmp_path):
    done = perhop("run", experiment, "--set", setting, "--out", tmp_path / "out")
    assert done.code == 2
    assert f"--set {setting}: {field}" in done.said
    assert problem in done.said
    assert remedy in done.said.split("remedy:")[1]
    assert not (tmp_path / "out").exists()


def test_the_one_run_whose_packets_are_recorded_is_no_other_seed_than_its_twin(
    experiment, fake_build, perhop, tmp_path
):
    settings = ("--set", "topology.hops=[3]", "--set", "policies=[none]", "--set", "seeds=[1,1]")
    done = perhop("run", experiment, *settings, "--out", tmp_path / "out")
    assert done.code == 2
    assert "--set seeds=[1,1]: seeds.1: lists 1 twice" in done.said
    assert not (tmp_path / "out").exists()


def test_a_backend_that_does_not_exist_is_refused(experiment, fake_build, perhop, tmp_path):
    done = perhop("run", experiment, "--backend", "smi", "--out", tmp_path / "out")
    assert done.code == 2
    assert "smi" in done.said and "sim" in done.said.split("remedy:")[1]
    assert not (tmp_path / "out").exists()


def test_the_radio_backend_wants_an_inventory_and_no_other_takes_one(experiment, fake_build, perhop, tmp_path):
    done = perhop("run", experiment, "--backend", "radio", "--out", tmp_path / "out")
    assert done.code == 2 and "--inventory HOSTS.YML" in done.said.split("remedy:")[1]
    done = perhop("run", experiment, "--inventory", "hosts.yml", "--out", tmp_path / "out")
    assert done.code == 2 and "--backend radio" in done.said.split("remedy:")[1]
    assert not (tmp_path / "out").exists()


# What only a simulator can do: (setting, field, words of the problem, of the remedy)
SIMULATED_ONLY = {
    "FreeBSD's TCP": ("flows.0.variant=bsd", "flows.0.variant", "Linux' TCP", "newreno"),
    "a transfer of a given size": ("flows.0.transfer_bytes=1000", "flows.0.transfer_bytes", "is set", "leave it out"),
    "TCP at a given rate": ("flows.0.rate_bps=1000", "flows.0.rate_bps", "is set", "leave it out"),
    "a largest timeout": ("flows.0.max_rto_ms=2000", "flows.0.max_rto_ms", "is set", "leave it out"),
    "MAC-level traffic": (
        "flows.0.kind=mac_saturated",
        "flows.0.kind",
        "which --backend live has not",
        "tcp, cbr or exact",
    ),
    "TFRC": ("flows=[{kind: tfrc}]", "flows.0.kind", "which --backend live has not", "tcp, cbr or exact"),
    "AODV": ("routing=aodv", "routing", "is not static", "use static"),
    "chosen captures": ("outputs={capture_nodes: [0]}", "outputs.capture_nodes", "all are recorded", "leave it out"),
}


@pytest.mark.parametrize("what", SIMULATED_ONLY)
def test_what_only_a_simulator_can_do_is_refused_in_real_time(what, experiment, fake_build, perhop, tmp_path):
    setting, field, problem, remedy = SIMULATED_ONLY[what]
    more = ["--set", "flows.0.min_rto_ms=1000"] if "bsd" in setting else []
    more = ["--set", "topology.hops=1"] if "mac" in setting else more
    done = perhop("run", experiment, "--backend", "live", "--set", setting, *more, "--out", tmp_path / "out")
    assert done.code == 2, done.stdout
    assert field in done.said and problem in done.said and remedy in done.said.split("remedy:")[1]
    assert not (tmp_path / "out").exists()


def test_a_live_network_says_how_many_nodes_it_may_have(fake_build, perhop, tmp_path):
    file = tmp_path / "large.yaml"
    file.write_text(
        "name: large\ntopology: {kind: grid, rows: 1, columns: 257}\nflows: [{kind: tcp, dst: 3}]\nduration_s: 10\n"
    )
    done = perhop("run", file, "--backend", "live", "--out", tmp_path / "out")
    assert done.code == 2, done.stdout
    assert "large.yaml:2: topology: has 257 nodes, but a live network at most 256" in done.said
    assert "--backend sim" in done.said.split("remedy:")[1]
    assert not (tmp_path / "out").exists()


def test_a_file_that_is_not_there_ends_in_one_message(perhop, tmp_path):
    done = perhop("run", tmp_path / "none.yaml")
    assert done.code == 2
    assert "none.yaml: cannot be read" in done.said and "remedy:" in done.said


def test_a_folder_without_experiment_ends_in_one_message(perhop, tmp_path):
    done = perhop("run", tmp_path)
    assert done.code == 2
    assert "holds no experiment.yaml" in done.said and "remedy:" in done.said


def test_a_missing_program_ends_in_one_message(experiment, perhop, tmp_path, monkeypatch):
    monkeypatch.setenv("PERHOP_BUILD", str(tmp_path / "empty"))
    done = perhop("run", experiment, "--out", tmp_path / "out")
    assert done.code == 2
    assert "perhop-sim is not built" in done.said and "make build" in done.said.split("remedy:")[1]
    assert not (tmp_path / "out").exists()


def test_there_must_be_something_to_resume(experiment, fake_build, perhop, tmp_path):
    done = perhop("run", experiment, "--resume", "--out", tmp_path / "out")
    assert done.code == 2
    assert "nothing to resume" in done.said
    assert not (tmp_path / "out").exists()


def test_an_error_is_json_where_a_program_reads_it(experiment, fake_build, perhop, tmp_path):
    experiment.write_text(experiment.read_text().replace("hops: 2", "hop: 2"))
    done = perhop("run", experiment, "--json", "--out", tmp_path / "out")
    assert done.code == 2
    error = json.loads(done.stdout)["error"]
    assert (error["line"], error["field"]) == (4, "topology.hop")
    assert "hops" in error["remedy"]


def everything_in(folder: Path) -> set[Path]:
    return set(folder.rglob("*"))
