# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes the runs of a condition, or what is left of them, and has them judged."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from perhop.bound import runs
from perhop.errors import PerhopError
from perhop.experiment.policies import parse_policy
from perhop.study import studies
from perhop.study.plan import make_plan
from perhop.study.progress import ProgressView
from perhop.study.results import Row
from rich.console import Console

from robust import judgement
from robust.conditions import Condition
from robust.judged import Grade, Judged
from robust.judgement import Sample
from robust.rivals import COMBINED, RIVALS, Rival

HOME = Path(__file__).with_name("home.yaml")


@dataclass
class Runner:
    """Makes the runs of one condition after another.

    `rivals_build` is an older build whose runs of rivals are kept, since a change of the combined policy does not touch
    them. One seed of each rival is repeated with this build in the first condition of each family, and must be equal.
    """

    grade: Grade
    out: Path
    jobs: int | None = None
    fresh: bool = False
    settings: list[str] = field(default_factory=list)
    console: Console = field(default_factory=lambda: Console(stderr=True))
    rivals: tuple[Rival, ...] = RIVALS
    rivals_build: Path | None = None
    repeated: int = 0  # runs of rivals that this build gave again
    _families: set[str] = field(default_factory=set)

    def judged(self, condition: Condition) -> Judged:
        tuned = self._tuned(condition)
        groups = _by_flow_fields(self.rivals)
        # Folder, policies, fields of their flows.
        contenders: dict[str, tuple[dict[str, str], dict[str, int]]] = {COMBINED: ({COMBINED: COMBINED}, {})}
        samples: dict[str, dict[int, Sample]] = {}
        above: list[dict[str, Any]] = []
        known = 0
        for number, (fields, group) in enumerate(groups):
            words = {rival.name: tuned.get(rival.name, rival.candidates[0]) for rival in group}
            contenders[f"rivals-{number}" if fields else "rivals"] = (words, fields)
        for folder, (words, fields) in contenders.items():
            build = None if folder == COMBINED else self.rivals_build
            done = self._run(condition, folder, words, self.grade.seeds_of(condition), fields, build)
            found = _samples(done.results.flows)
            if build is not None and condition.family not in self._families:
                self._repeat(condition, folder, words, fields, found)
            samples |= {name: found[_label(text)] for name, text in words.items()}
            for name, text in words.items():
                over, counted = _above_bound(condition, name, _label(text), done)
                above += over
                known += counted
        self._families.add(condition.family)
        ours = samples.pop(COMBINED)
        verdict = judgement.judge(ours, samples, condition.least_lead)
        return Judged(condition, verdict, tuned, above, known)

    def _tuned(self, condition: Condition) -> dict[str, str]:
        """The best candidate of each rival that has several."""
        found = {}
        for fields, group in _by_flow_fields(rival for rival in self.rivals if len(rival.candidates) > 1):
            words = {text: text for rival in group for text in rival.candidates}
            if not words:
                continue
            folder = "-".join(["tuning", *fields])
            done = self._run(condition, folder, words, self.grade.tuning_seeds, fields, self.rivals_build)
            samples = _samples(done.results.flows)
            goodput_bps = {text: judgement.Means.of(samples[_label(text)].values()).goodput_bps.value for text in words}
            found |= {rival.name: max(rival.candidates, key=lambda text: goodput_bps[text]) for rival in group}
        return found

    def _repeat(
        self,
        condition: Condition,
        folder: str,
        words: Mapping[str, str],
        fields: Mapping[str, int],
        found: Mapping[str, Mapping[int, Sample]],
    ) -> None:
        """Raises PerhopError when this build gives a rival another result than the build that made its runs."""
        seed = self.grade.verdict_seeds[0]
        again = _samples(self._run(condition, f"{folder}-again", words, (seed,), fields).results.flows)
        for label in {_label(text) for text in words.values()}:
            if again[label][seed] != found[label][seed]:
                raise PerhopError(
                    f"{condition.name}: {label}, seed {seed}, is another run with this build",
                    "leave out --rivals-build",
                )
            self.repeated += 1

    def _run(
        self,
        condition: Condition,
        folder: str,
        words: Mapping[str, str],
        seeds: tuple[int, ...],
        flow_fields: Mapping[str, int],
        build: Path | None = None,
    ) -> studies.Finished:
        """The runs of these policies, or what is left of them, by the programs of `build`."""
        policies = list({_label(text): text for text in words.values()}.values())
        settings = list(condition.settings) if "topology=" in "".join(condition.settings) else _chain(condition)
        settings += [
            f"policies=[{', '.join(policies)}]",
            f"seeds={list(seeds)}",
            f"duration_s={self.grade.duration_s}",
            *self.settings,
        ]
        out = self.out / condition.name / folder
        if flow_fields:
            flows = len(make_plan(HOME, settings).points[0].experiment.flows)
            settings += [f"flows.{i}.{name}={value}" for i in range(flows) for name, value in flow_fields.items()]
        planned = make_plan(HOME, settings, out=out)
        if self.console.is_terminal:
            with ProgressView(self.console) as view, _programs_of(build):
                view.note(f"{condition.name}, {folder}")
                done = studies.run(planned, self.jobs, self.fresh, on_change=view.update, check=False)
        else:
            with _programs_of(build):
                done = studies.run(planned, self.jobs, self.fresh, check=False)
        if not done.study.complete:
            failed = [outcome for outcome in done.study.outcomes if outcome.status == "failed"]
            why = f": {failed[0].run.label}: {failed[0].message}" if failed else "; start it again to go on"
            raise SystemExit(f"bench-robust: not all runs of {condition.name} finished{why}")
        return done


@contextmanager
def _programs_of(build: Path | None) -> Iterator[None]:
    """Runs are made by the programs of `build`; None: those of every other command."""
    before = os.environ.get("PERHOP_BUILD")
    if build is not None:
        os.environ["PERHOP_BUILD"] = str(build)
    try:
        yield
    finally:
        if before is not None:
            os.environ["PERHOP_BUILD"] = before
        else:
            os.environ.pop("PERHOP_BUILD", None)


def _chain(condition: Condition) -> list[str]:
    return [f"topology.hops={condition.size}", *condition.settings]


def _by_flow_fields(rivals: Iterable[Rival]) -> list[tuple[dict[str, int], list[Rival]]]:
    """Rivals whose flows have the same fields share an experiment; those of plain flows come first, if only in name."""
    groups: list[tuple[dict[str, int], list[Rival]]] = [({}, [])]
    for rival in rivals:
        fields = dict(rival.flow)
        group = next((listed for known, listed in groups if known == fields), None)
        if group is None:
            groups.append((fields, group := []))
        group.append(rival)
    return groups


def _label(text: str) -> str:
    """What results call a policy."""
    return parse_policy(text)[0].label


def _samples(flows: list[Row]) -> dict[str, dict[int, Sample]]:
    """By policy and seed."""
    rows: dict[tuple[str, int], list[Row]] = {}
    for row in flows:
        rows.setdefault((row["policy"], row["seed"]), []).append(row)
    found: dict[str, dict[int, Sample]] = {}
    for (policy, seed), of_run in rows.items():
        found.setdefault(policy, {})[seed] = judgement.sample(of_run)
    return found


def _above_bound(
    condition: Condition, name: str, label: str, done: studies.Finished
) -> tuple[list[dict[str, Any]], int]:
    """Runs with more goodput than their bound, and how many have one."""
    above = []
    known = 0
    for outcome in done.study.outcomes:
        if outcome.run.policy != label or outcome.result is None:
            continue
        judged = runs.judge(outcome.run.config, outcome.result)
        if judged is None:
            continue
        known += 1
        if judged.exceeds:
            about = {"condition": condition.name, "policy": name, "seed": outcome.run.seed}
            told = {"goodput_bps": round(judged.goodput_bps), "bound_bps": round(judged.bound_bps)}
            above.append(about | told)
    return above, known
