# SPDX-License-Identifier: GPL-2.0-or-later
"""bench-robust: each of its judgements can fail, its table can be run, and its page says first what does not hold."""

import argparse
import json
import sys
from dataclasses import replace

import pytest
from perhop import paths
from perhop.errors import PerhopError
from perhop.study.plan import make_plan

BENCH = paths.repository() / "sim/bench"
sys.path.insert(0, str(BENCH))
try:
    import bench_robust
    from robust import document, judgement
    from robust import runner as runners
    from robust.conditions import HOME_LEAD, HOME_SLACK, Condition, all_conditions, chosen
    from robust.judged import FULL, QUICK, Grade, Judged
    from robust.judgement import Sample
    from robust.rivals import COMBINED, RIVALS, Rival
finally:
    sys.path.remove(str(BENCH))

ROOT = paths.repository()
SIMULATOR = ROOT / "out/build/sim/ns3/perhop-sim"


def runs(goodput_kbps: float, rtt_ms: float, jain: float = 1.0, spread: float = 0.01) -> dict[int, Sample]:
    """Three runs around these values."""
    return {
        seed: Sample(1e3 * goodput_kbps * (1 + away), rtt_ms * (1 - away), jain)
        for seed, away in zip((101, 102, 103), (-spread, 0, spread), strict=True)
    }


RIVALS_RUNS = {"dca": runs(300, 400), "delay": runs(250, 90), "none": runs(240, 700, 0.8)}


def test_the_best_rival_is_the_one_with_most_goodput_and_all_holds():
    verdict = judgement.judge(runs(330, 250), RIVALS_RUNS, least_lead=0.09)
    assert verdict.holds and verdict.best == "dca" and verdict.better_in_both == []
    assert verdict.goodput_ratio.value == pytest.approx(1.1) and verdict.goodput_ratio.half < 1e-9  # paired by seed
    assert verdict.rtt_ratio.value == pytest.approx(0.625)


@pytest.mark.parametrize(
    ("combined", "rivals", "failed"),
    [
        (runs(293, 250), RIVALS_RUNS, [judgement.GOODPUT]),
        (runs(330, 401), RIVALS_RUNS, [judgement.ROUND_TRIP]),
        (runs(330, 250, 0.96), RIVALS_RUNS, [judgement.FAIRNESS]),
        # Beaten by less than 2 % in goodput, and in round trip by one that is not the best.
        (runs(296, 250), {**RIVALS_RUNS, "daa": runs(297, 240)}, [judgement.BETTER_IN_BOTH]),
    ],
)
def test_each_judgement_of_a_condition_fails_alone(combined, rivals, failed):
    assert judgement.judge(combined, rivals).failed == failed


def test_a_hair_on_the_right_side_of_each_limit_holds():
    assert judgement.judge(runs(294.1, 399, 0.971), RIVALS_RUNS).holds


def test_at_home_the_lead_is_judged_too():
    assert judgement.judge(runs(330, 250), RIVALS_RUNS, least_lead=0.11).failed == [judgement.HOME_LEAD]
    home = {condition.size: condition.least_lead for condition in all_conditions(False) if condition.family == "250m"}
    assert home == {hops: pytest.approx(lead - HOME_SLACK) for hops, lead in HOME_LEAD.items()}


def test_contenders_with_other_seeds_are_not_compared():
    with pytest.raises(ValueError, match="same seeds"):
        judgement.judge(runs(330, 250), {"dca": {1: Sample(1, 1, 1)}})


def test_a_run_is_all_its_flows_and_a_starved_one_has_no_round_trip():
    flows = [
        {"goodput_bps": 300e3, "rtt_ms": 100.0, "delivered_packets": 300.0},
        {"goodput_bps": 100e3, "rtt_ms": 500.0, "delivered_packets": 100.0},
        {"goodput_bps": 0.0, "rtt_ms": None, "delivered_packets": 0.0},
    ]
    found = judgement.sample(flows)
    assert (found.goodput_bps, found.rtt_ms) == (400e3, 200)  # the mean over packets
    assert found.jain == pytest.approx(16 / 30)
    starved = judgement.sample(flows[2:])
    row = judgement.as_row(judgement.judge({1: found}, {"dca": {1: found}, "none": {1: starved}}))
    assert row["rivals"]["none"]["rtt_ms"] is None
    json.dumps(row, allow_nan=False)


# ---- Over all conditions


def judged(name: str = "errors5-4", combined: dict | None = None, above=(), **more) -> Judged:
    condition = next(each for each in all_conditions(True) if each.name == name)
    verdict = judgement.judge(combined or runs(330, 250), RIVALS_RUNS)
    return Judged(condition, verdict, {"fixed": "fixed 3"}, list(above), 30, **more)


def finished(tmp_path, capsys, *all_judged) -> tuple[int, dict]:
    options = argparse.Namespace(document=False, out=tmp_path, set=[])
    status = bench_robust.finish(list(all_judged), QUICK, options, 1.0)
    last = capsys.readouterr().out.splitlines()[-1]
    assert last.startswith("RESULT ")
    return status, json.loads(last.removeprefix("RESULT "))


def test_all_that_holds_exits_with_0_and_gives_the_rows_for_programs(tmp_path, capsys):
    status, result = finished(tmp_path, capsys, judged(), judged("sinr-8"))
    assert status == 0 and result["ok"] and result["bound_violations"] == 0
    row = result["rows"]["sinr-8"]
    assert (row["combined_bps"], row["rival"], row["rival_bps"]) == (330_000, "dca", 300_000)
    names = ("combined_rtt_ms", "combined_jain", "rival_rtt_ms", "rival_jain", "goodput_ratio_95")
    assert all(isinstance(row[name], float) for name in names)


def test_one_condition_that_does_not_hold_exits_with_1(tmp_path, capsys):
    status, result = finished(tmp_path, capsys, judged(), judged("sinr-8", runs(290, 100)))
    assert status == 1 and result["failed"] == ["sinr-8"]


def test_a_median_of_the_round_trips_above_its_limit_exits_with_1(tmp_path, capsys):
    near, far = judged(combined=runs(330, 290)), judged(combined=runs(330, 100))
    status, result = finished(tmp_path, capsys, near, near, far)
    assert status == 1 and result["failed"] == [] and result["median_rtt_ratio"] == pytest.approx(0.725)
    assert finished(tmp_path, capsys, near, far, far)[0] == 0


def test_a_run_above_its_bound_exits_with_1(tmp_path, capsys):
    over = {"condition": "errors5-4", "policy": "dca", "seed": 101, "goodput_bps": 400_000, "bound_bps": 388_000}
    status, result = finished(tmp_path, capsys, judged(above=[over]))
    assert status == 1 and result["bound_violations"] == 1 and result["above_bound"] == [over]


# ---- Conditions and rivals


def test_every_condition_of_the_table_can_be_run():
    found = all_conditions(True)
    assert len({condition.name for condition in found}) == len(found)
    hops = {condition.size for condition in found if condition.family == "sinr"}
    assert hops == {4, 6, 8, 15} and sum(condition.family == "mesh" for condition in found) == 10
    flows = {}
    for condition in found:
        settings = list(condition.settings)
        if not any(setting.startswith("topology=") for setting in settings):
            settings.insert(0, f"topology.hops={condition.size}")
        (run,) = make_plan(runners.HOME, settings).runs
        flows[condition.name] = len(run.config["flows"])
    assert (flows["cross2-4"], flows["cross4-8"], flows["opposite-6"], flows["mesh-10"]) == (2, 4, 2, 3)
    assert all(condition.family in sum(document.GROUPS.values(), ()) for condition in found)


def test_full_grade_has_every_number_of_hops_and_no_seed_of_tuning():
    assert {condition.size for condition in all_conditions(False) if condition.family == "same"} == set(range(1, 16))
    for grade in (QUICK, FULL):
        seeds = {condition.name: grade.seeds_of(condition) for condition in all_conditions(True)}
        assert len(seeds["mesh-1"]) == len(seeds["cross4-8"]) == 2 * len(seeds["opposite-8"])
        for found in seeds.values():
            assert len(set(found)) == len(found) and min(found) > 100 > max(grade.tuning_seeds)


def test_a_condition_is_chosen_by_name_family_or_pattern():
    found = all_conditions(True)
    assert [each.name for each in chosen(found, ["sinr-4", "cross*"])] == [
        "sinr-4", "cross2-4", "cross2-8", "cross4-4", "cross4-8",
    ]  # fmt: skip
    assert len(chosen(found, ["mesh"])) == 10 and len(chosen(found, [])) == len(found)
    with pytest.raises(PerhopError, match="'moon' is no condition"):
        chosen(found, ["moon"])


def test_rivals_have_names_of_their_own_and_at_least_one_candidate():
    names = [rival.name for rival in RIVALS]
    assert len(set(names)) == len(names) and COMBINED not in names
    assert {"none", "fixed", "hop", "delay", "dca", "daa", "paced", "tcp-ap"} <= set(names)
    assert all(rival.candidates for rival in RIVALS)


# ---- The page


@pytest.fixture
def written(tmp_path, monkeypatch):
    def write(*all_judged, tried: str = "{}") -> str:
        notes = tmp_path / "tried.yaml"
        notes.write_text(tried)
        monkeypatch.setattr(document, "TRIED", notes)
        document.write(all_judged, QUICK, 0.65, tmp_path / "robustness.md")
        assert (tmp_path / "robustness.svg").read_text().startswith("<svg")
        return (tmp_path / "robustness.md").read_text()

    return write


def test_the_page_begins_with_the_conclusion_and_names_first_what_does_not_hold(written):
    text = written(judged(), judged("sinr-8", runs(290, 100)), tried="sinr: A faster pace was tried.\n")
    lines = text.splitlines()
    assert lines[2].startswith("The combined policy holds in 1 of 2 conditions")
    assert text.index("## Where it does not hold") < text.index("## What is judged") < text.index("## Every condition")
    assert "sinr reception, 200 m, 8 hops**: 96.7 % (± 0.0) of the goodput of `dca`. A faster pace was tried." in text
    first, last = QUICK.verdict_seeds[0], QUICK.verdict_seeds[-1]
    assert f"seeds {first} to {last}" in text and f"{QUICK.duration_s:g} s" in text and "quick grade" in text
    assert "| 5 % frame errors, 4 hops | dca | 300.0, 400 | 330.0, 250 | 1.100 ± 0.000 | 0.62 ± 0.00 |" in text


def test_a_page_without_a_failure_has_no_such_section(written):
    assert "Where it does not hold" not in written(judged())


def test_a_page_with_runs_of_an_older_build_says_so(tmp_path):
    assert "9 of them, every rival" in " ".join(document.text_of([judged()], QUICK, 0.65, {}, repeated=9).split())
    assert "older" not in document.text_of([judged()], QUICK, 0.65, {})


def test_what_was_tried_for_no_condition_is_refused(written):
    with pytest.raises(PerhopError, match="moon, which is no condition"):
        written(judged(), tried="moon: Nothing.\n")


# ---- Real runs


@pytest.mark.skipif(not SIMULATOR.is_file(), reason="perhop-sim is not built: make programs")
def test_a_condition_is_run_with_rivals_at_their_best_and_not_twice(tmp_path, monkeypatch):
    grade = Grade("test", 12, (101, 102), (21,))
    rivals = (
        Rival("fixed", ("fixed 1", "fixed 4")),
        Rival("dca", ("dca",)),
        Rival("slow", ("none",), {"tcp_ack_every": 2}),
    )
    make = runners.Runner(grade, tmp_path, jobs=2, settings=["warmup_s=2"], rivals=rivals)
    condition: Condition = chosen(all_conditions(True), ["250m-8"])[0]
    found = make.judged(condition)
    assert found.chosen == {"fixed": "fixed 4"}  # one packet on eight hops leaves most of the path empty
    assert set(found.verdict.rivals) == {"fixed", "dca", "slow"}
    assert found.verdict.combined.goodput_bps.count == 2 and found.verdict.combined.goodput_bps.value > 270e3
    assert found.bounds_known == 8 and found.above_bound == []
    seeds = {
        folder.name: {json.loads(file.read_text())["seed"] for file in folder.rglob("run.json")}
        for folder in (tmp_path / "250m-8").iterdir()
    }
    assert seeds == {"tuning": {21}, "combined": {101, 102}, "rivals": {101, 102}, "rivals-1": {101, 102}}
    # The same again makes no run, and a bound that is too low is exceeded.
    monkeypatch.setattr(runners.runs, "answer", lambda question: 100e3)
    before = {file: file.stat().st_mtime_ns for file in tmp_path.rglob("result.json")}
    again = make.judged(condition)
    assert {file: file.stat().st_mtime_ns for file in tmp_path.rglob("result.json")} == before
    assert again.verdict == found.verdict and len(again.above_bound) == 8
    assert bench_robust.line(replace(again, chosen=found.chosen)).startswith("250m-8")


@pytest.mark.skipif(not SIMULATOR.is_file(), reason="perhop-sim is not built: make programs")
def test_rivals_keep_the_runs_of_an_older_build_that_this_one_would_make_again(tmp_path, monkeypatch):
    older = tmp_path / "older/perhop-sim"
    older.parent.mkdir()
    older.write_bytes(SIMULATOR.read_bytes() + b"another program, by its hash")
    older.chmod(0o755)
    rivals = (Rival("dca", ("dca",)), Rival("slow", ("none",), {"tcp_ack_every": 2}))
    make = runners.Runner(Grade("test", 12, (101,), (21,)), tmp_path, jobs=2, settings=["warmup_s=2"], rivals=rivals)
    condition = chosen(all_conditions(True), ["250m-4"])[0]
    with monkeypatch.context() as context:
        context.setenv("PERHOP_BUILD", str(older.parent))
        first = make.judged(condition)
    made = {file: file.stat().st_mtime_ns for file in tmp_path.rglob("result.json")}
    make.rivals_build = older.parent
    make._families.clear()
    assert make.judged(condition).verdict == first.verdict
    again = {file for file, at in made.items() if file.stat().st_mtime_ns != at}
    assert {file.relative_to(tmp_path).parts[1] for file in again} == {"combined"}
    assert make.repeated == 2 and (tmp_path / "250m-4/rivals-again").is_dir()
    with pytest.raises(PerhopError, match="is another run with this build"):
        make._repeat(condition, "rivals", {"dca": "dca"}, {}, {"dca": {101: Sample(1, 1, 1)}})
