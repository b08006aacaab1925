# SPDX-License-Identifier: GPL-2.0-or-later
"""What stands on each side of a comparison: an experiment whose runs are to be made, or results that there are.

Nothing is run or written here. Both kinds say the same of themselves: the values of every field at every point of the
sweep, the policies, the seeds, the backend, and which program makes the runs or made them.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from ruamel.yaml.error import YAMLError

from perhop import paths
from perhop.compare import versions
from perhop.compare.fields import Point, fields_of, flat, is_at, motion_of, word
from perhop.compare.versions import Version
from perhop.errors import PerhopError, choose_from
from perhop.experiment import yaml_text
from perhop.experiment.load import load, parse_path
from perhop.experiment.policies import parse_policy
from perhop.experiment.resolve import Run
from perhop.experiment.schema import Experiment
from perhop.kernel.image import PROGRAM as KERNEL_PROGRAM
from perhop.study import runner, state
from perhop.study.outcomes import Outcome, Study
from perhop.study.plan import Plan, make_plan
from perhop.study.results import Results, Row, collect, read

# No side of a comparison records packets for a person to look at.
NO_PACKETS = "outputs.pcapng=off"


@dataclass(frozen=True)
class Asked:
    """What the command line says of a side. `letter` is A or B."""

    letter: str
    source: Path
    overrides: tuple[str, ...] = ()
    backend: str | None = None
    version: Version | None = None
    inventory: Path | None = None
    quick: bool = False


@dataclass(frozen=True)
class Side:
    """One side. `plan` is of an experiment whose runs are to be made; else there are `results`.

    `programs` has the hash of each program by its name, `None` where it is not known before the runs.
    """

    asked: Asked
    name: str
    description: str
    points: list[Point]
    policies: list[str]
    seeds: list[int]
    backend: str
    version: str
    programs: dict[str, str] | None
    command: list[str]
    warmup_s: float
    interval_s: float
    plan: Plan | None = None
    results: Results | None = None
    settings: dict[str, Any] = field(default_factory=dict)  # of the first point, defaults spelt out

    @property
    def letter(self) -> str:
        return self.asked.letter

    @property
    def where(self) -> str:
        """The side in an error."""
        return f"{self.letter} ({paths.shown(self.asked.source)})"


def look(asked: Asked) -> Side:
    """What a side is. Raises PerhopError."""
    asked = replace(asked, source=paths.experiment(asked.source))
    source = asked.source
    if source.is_dir():
        if (source / "run.json").is_file():
            return _of_run(asked)
        if (source / "provenance.json").is_file():
            return _of_results(asked)
        if state.state_exists(source):
            raise PerhopError(
                f"{asked.letter}: {paths.shown(source)} holds runs without tables: the call that made them did not end",
                "end it (the same `perhop run` continues), or give the experiment file",
            )
        if not (source / paths.EXPERIMENT_FILE).is_file():
            raise PerhopError(
                f"{asked.letter}: {paths.shown(source)} is no experiment, no output folder of perhop run and no run",
                f"give an experiment file, a folder with {paths.EXPERIMENT_FILE}, an output folder, "
                "or one of its runs/ID",
            )
    return _of_experiment(asked)


# --- an experiment --------------------------------------------------------------------------------------------------


def _of_experiment(asked: Asked) -> Side:
    overrides = [*asked.overrides, NO_PACKETS]
    backend, inventory = asked.backend, None
    if asked.inventory is not None:
        backend = backend or load(paths.experiment_file(asked.source), overrides, asked.quick)[0].experiment.backend
        inventory = asked.inventory if backend == "radio" else None
    plan = make_plan(asked.source, overrides, asked.quick, None, backend, inventory, {})
    if asked.version is not None and plan.backend.name != "sim":
        raise PerhopError(
            f"--git-{asked.letter.lower()} builds the simulators of another version, and {asked.letter} is made by the "
            f"backend {plan.backend.name}",
            f"leave --git-{asked.letter.lower()} out, or use the backend sim",
        )
    experiment = plan.points[0].experiment
    described = paths.version()
    programs = None
    if asked.version is None and plan.backend.name == "sim":
        programs = {name: program.sha256 for name, program in runner.simulators(plan.runs).items()}
    return Side(
        asked,
        plan.name,
        experiment.description,
        [
            Point(
                point.swept,
                fields_of(point.experiment.model_dump(mode="json")) | motion_of(_config_at(plan, point.swept)),
            )
            for point in plan.points
        ],
        list(dict.fromkeys(run.policy for run in plan.runs)),
        list(experiment.seeds),
        plan.backend.name,
        str(asked.version) if asked.version is not None else described["git"] or described["perhop"] or "",
        programs,
        _run_command(asked),
        float(experiment.warmup_s),
        float(experiment.outputs.interval_s),
        plan=plan,
        settings=experiment.model_dump(mode="json"),
    )


def _config_at(plan: Plan, swept: dict[str, Any]) -> dict[str, Any]:
    """run.json of the first run of a point."""
    return next(run.config for run in plan.runs if run.swept == swept)


def _run_command(asked: Asked) -> list[str]:
    """What makes the runs of this side alone."""
    build = [] if asked.version is None else [f"PERHOP_BUILD={paths.shown(versions.build(asked.version))}"]
    command = [*build, "perhop", "run", paths.shown(asked.source)]
    for override in asked.overrides:
        command += ["--set", override]
    command += ["--backend", asked.backend] if asked.backend else []
    command += ["--inventory", paths.shown(asked.inventory)] if asked.inventory else []
    return command + (["--quick"] if asked.quick else [])


# --- results that there are -----------------------------------------------------------------------------------------


def _of_results(asked: Asked) -> Side:
    """The output folder of a call of `perhop run`; overrides choose among what it swept."""
    _refuse_making(asked, "an output folder: its runs are made")
    folder = asked.source
    try:
        told = json.loads((folder / "provenance.json").read_text(encoding="utf-8"))
        results = read(folder, intervals=True)
        experiment, swept = told["experiment"], told["points"]
        programs, version = told["programs_sha256"], told["version"]
        command = told["command"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise PerhopError(
            f"{asked.letter}: the results in {paths.shown(folder)} cannot be read: {error}",
            "make them again: `perhop run ...`",
        ) from None
    chosen = _chosen(asked, experiment, swept, results)
    results = Results(
        *(
            [row for row in rows if _belongs(row, chosen)]
            for rows in (results.flows, results.hops, results.intervals, results.runs)
        )
    )
    whole = [_validated(_at_point(experiment, point)) for point in chosen.points]
    return Side(
        asked,
        experiment["name"],
        experiment.get("description", ""),
        [
            Point(point, fields_of(fields) | motion_of(_config_of(folder, results, point)))
            for point, fields in zip(chosen.points, whole, strict=True)
        ],
        list(dict.fromkeys(row["policy"] for row in results.runs)),
        list(dict.fromkeys(row["seed"] for row in results.runs)),
        told.get("backend", "sim"),
        version.get("git") or version.get("perhop") or "",
        programs,
        command,
        float(whole[0]["warmup_s"]),
        float(whole[0].get("outputs", {}).get("interval_s", 1.0)),
        results=results,
        settings=whole[0],
    )


@dataclass(frozen=True)
class _Choice:
    """What of an output folder stands on a side; None is all."""

    points: list[dict[str, Any]]
    policies: list[str] | None
    seeds: list[int] | None


def _belongs(row: Row, choice: _Choice) -> bool:
    return (
        (choice.policies is None or row["policy"] in choice.policies)
        and (choice.seeds is None or row["seed"] in choice.seeds)
        and any(is_at(row, point) for point in choice.points)
    )


def _chosen(asked: Asked, experiment: dict[str, Any], points: list[dict[str, Any]], results: Results) -> _Choice:
    policies, seeds = None, None
    for text in asked.overrides:
        name, values = _assignment(asked, text)
        if name == "policies":
            there: list[Any] = list(dict.fromkeys(row["policy"] for row in results.runs))
            policies = [policy.label for value in values for policy in parse_policy(str(value))]
            absent = [policy for policy in policies if policy not in there]
        elif name == "seeds":
            there = list(dict.fromkeys(row["seed"] for row in results.runs))
            seeds = values
            absent = [seed for seed in values if seed not in there]
        elif any(name in point for point in points):
            there = [point[name] for point in points]
            points = [point for point in points if point[name] in values]
            absent = [value for value in values if value not in there]
        else:
            there = [_field(experiment, name)]
            absent = [value for value in values if value not in there]
        if absent or not points:
            known = ", ".join(dict.fromkeys(word(value) for value in there))
            raise PerhopError(
                f"{asked.letter}: {paths.shown(asked.source)} holds no results with {name} = "
                f"{word(absent[0] if absent else values)}; it has {known or 'none'}",
                "choose among these, or give the experiment file, whose runs are made as asked",
            )
    return _Choice(points, policies, seeds)


def _assignment(asked: Asked, text: str) -> tuple[str, list[Any]]:
    name, equals, value_text = text.partition("=")
    if not equals or not name:
        raise PerhopError(f"--set {text} is no assignment", "write field=value, such as --set topology.hops=3")
    try:
        value = yaml_text.load(value_text)
    except (YAMLError, ValueError):
        raise PerhopError(f"--set {text} has a value that is not YAML", "quote the value") from None
    return name.strip().removeprefix("sweep."), list(value) if isinstance(value, list) else [value]


def _field(experiment: dict[str, Any], name: str) -> Any:
    value: Any = experiment
    for key in parse_path(name):
        try:
            value = value[key]
        except (KeyError, IndexError, TypeError):
            raise PerhopError(f"there is no field {name!r}", choose_from(name, flat(experiment))) from None
    return value


def _at_point(experiment: dict[str, Any], swept: dict[str, Any]) -> dict[str, Any]:
    """The experiment of one point, from that of the first."""
    whole = copy.deepcopy(experiment)
    for name, value in swept.items():
        *way, last = parse_path(name)
        target: Any = whole
        for key in way:
            target = target[key] if isinstance(target, list) else target.setdefault(str(key), {})
        target[last] = copy.deepcopy(value)
    return whole


def _config_of(folder: Path, results: Results, swept: dict[str, Any]) -> dict[str, Any]:
    """run.json of the first run of a point that has one."""
    for row in results.runs:
        file = folder / "runs" / str(row["run"]) / "run.json"
        if is_at(row, swept) and file.is_file():
            return json.loads(file.read_text(encoding="utf-8"))
    return {}


def _validated(experiment: dict[str, Any]) -> dict[str, Any]:
    """With the defaults of fields that came since; as it is where today's perhop cannot read it."""
    try:
        return Experiment.model_validate(experiment).model_dump(mode="json")
    except ValidationError:
        return experiment


# --- one run --------------------------------------------------------------------------------------------------------


def _of_run(asked: Asked) -> Side:
    """runs/ID of an output folder. Its fields are those of run.json."""
    _refuse_making(asked, "a run: it is made")
    if asked.overrides:
        raise PerhopError(
            f"{asked.letter}: {paths.shown(asked.source)} is a single run, of which --set chooses nothing",
            "leave --set out, or give the output folder or the experiment file",
        )
    folder = asked.source
    try:
        config = json.loads((folder / "run.json").read_text(encoding="utf-8"))
        label, seed, outputs = config.pop("label"), config.pop("seed"), config.pop("outputs")
    except (OSError, ValueError, KeyError) as error:
        raise PerhopError(
            f"{asked.letter}: {paths.shown(folder / 'run.json')} cannot be read: {error}", "make the run again"
        ) from None
    result = state.read_result(folder)
    if result is None or result.get("interrupted"):
        raise PerhopError(
            f"{asked.letter}: the run in {paths.shown(folder)} has not finished", "make it again: `perhop run ...`"
        )
    entry = state.entry(folder.parent.parent, folder.name)
    simulated = "kernel" if entry.get("program") == KERNEL_PROGRAM else "sim"
    backend = config.get("realtime", {}).get("backend", simulated)
    policies = [flow.pop("policy", {}) for flow in config["flows"]]
    _, found, policy = label.partition("policy=")
    policy = policy.partition(" seed=")[0] if found else ""
    config["flows"] = [
        # Its own limits follow from the policy.
        {name: value for name, value in flow.items() if name != "max_window_packets"} if any(policies) else flow
        for flow in config["flows"]
    ]
    config.pop("realtime", None)
    fields = {
        **{name: value for name, value in config.items() if name not in ("nodes", "routes")},
        "outputs": outputs,
        "topology": {
            "nodes": f"{len(config['nodes'])} nodes at "
            + _places((node["x_m"], node["y_m"]) for node in config["nodes"]),
            "routes": f"{len(config['routes'])} routes " + _places(config["routes"]),
        },
    }
    run = Run(
        folder.name, label, entry.get("program", ""), _hops(config), policy, seed, {}, {**config, "outputs": outputs}
    )
    study = Study(folder.parent.parent, [Outcome(run, "finished", folder=folder.resolve(), result=result)])
    return Side(
        asked,
        label,
        "",
        [Point({}, fields_of(fields))],
        [policy],
        [seed],
        backend,
        "",
        {entry["program"]: entry["program_sha256"]} if "program_sha256" in entry else None,
        [],
        float(config["warmup_s"]),
        float(outputs["interval_s"]),
        results=collect(study),
        settings=config,
    )


def _hops(config: dict[str, Any]) -> int:
    """Of the first flow's path; 0 where there are no static routes to tell it."""
    flow = config["flows"][0]
    next_hop = {(node, destination): following for node, destination, following in config["routes"]}
    here, hops = flow["src"], 0
    while here != flow["dst"]:
        if (here, flow["dst"]) not in next_hop or hops > len(config["nodes"]):
            return 0
        here, hops = next_hop[here, flow["dst"]], hops + 1
    return hops


def _places(entries: Iterable[Iterable[float]]) -> str:
    return " ".join(f"({' '.join(word(number) for number in numbers)})" for numbers in entries)


def _refuse_making(asked: Asked, what: str) -> None:
    letter = asked.letter.lower()
    for option, value in (("--backend", asked.backend), ("--git", asked.version)):
        if value is not None:
            raise PerhopError(
                f"{option}-{letter} {value} says how runs are made, and {asked.letter} "
                f"({paths.shown(asked.source)}) is {what}",
                "leave it out, or give the experiment file",
            )
