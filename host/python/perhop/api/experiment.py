# SPDX-License-Identifier: GPL-2.0-or-later
"""A whole experiment as an object: what an experiment file says, with its sweep."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import Field, PrivateAttr, ValidationError
from ruamel.yaml import YAML

from perhop import paths
from perhop.errors import ExperimentError
from perhop.experiment import load, schema
from perhop.experiment.load import Document
from perhop.experiment.policies import Policy, parse_policy
from perhop.experiment.section import Section
from perhop.own import words as own_words


class Experiment(schema.Experiment):
    """What is simulated: topology, medium, MAC, flows, policies, seeds, and what is swept over.

        perhop.Experiment(
            name="mine",
            topology=perhop.Chain(hops=4),
            flows=[perhop.TcpFlow()],
            policies=["none", "delay"],
            sweep={"topology.hops": [1, 2, 4]},
            seeds=[1, 2, 3],
            duration_s=30,
        )

    An experiment does not change; `but` gives another one. Its fields are those of an experiment file, and
    `to_yaml` writes one.
    """

    sweep: dict[str, list[Any]] = Field(
        default={}, description="dotted field -> its values; every combination is run, in the order written"
    )
    quick: dict[str, Any] = Field(default={}, description="dotted field -> value, laid over the rest by quick=True")

    _file: Path | None = PrivateAttr(default=None)

    def __eq__(self, other: object) -> bool:
        # Not by the file that said it.
        return isinstance(other, Experiment) and self.__dict__ == other.__dict__

    @staticmethod
    def from_file(target: str | Path) -> Experiment:
        """The experiment of a file, of its folder, or by its name one that perhop brings: `from_file("chain")`.

        Raises ExperimentError.
        """
        file = paths.experiment_file(Path(target)).resolve()
        said = _experiment_of(load.read(file))
        experiment = _found_from_anywhere(said, file.parent)
        if experiment is said:
            experiment._file = file
        return experiment

    @staticmethod
    def from_yaml(text: str) -> Experiment:
        """The experiment that the text of an experiment file says. Raises ExperimentError."""
        return _experiment_of(load.parse(text, "YAML"))

    def to_yaml(self) -> str:
        """The text of an experiment file that says this: the fields that were given, and no defaults."""
        written = io.StringIO()
        yaml = YAML()
        yaml.default_flow_style = None
        yaml.width = 110
        yaml.dump(_said(self), written)
        return written.getvalue()

    def but(self, **fields: Any) -> Experiment:
        """The same experiment with other values of some fields: `experiment.but(seeds=[1, 2])`.

        Raises ExperimentError.
        """
        return Experiment(**{**{name: getattr(self, name) for name in self.model_fields_set}, **fields})

    @property
    def file(self) -> Path | None:
        """The file that says exactly this, where there is one."""
        return self._file if self._file is not None and _is_said_by(self, self._file) else None


def _found_from_anywhere(experiment: Experiment, folder: Path) -> Experiment:
    """The files that it names are looked for from its own folder on; what is written elsewhere names them in full."""
    named: dict[str, Any] = {}
    topology = experiment.topology
    if isinstance(topology, schema.TraceBase):
        named["topology"] = topology.model_copy(update={"file": str(folder / topology.file)})
    if experiment.programs:
        named["programs"] = [
            program.model_copy(update={"initramfs": str(folder / program.initramfs)}) for program in experiment.programs
        ]
    if any(map(_has_own, experiment.policies)):
        named["policies"] = [each for text in experiment.policies for each in _own_found_from(text, folder)]
    if any(_has_own(getattr(flow, "policy", None)) for flow in experiment.flows):
        named["flows"] = [
            flow.model_copy(update={"policy": _own_found_from(flow.policy, folder)[0]})
            if isinstance(flow, schema.TcpFlow) and _has_own(flow.policy)
            else flow
            for flow in experiment.flows
        ]
    return experiment.model_copy(update=named) if named else experiment


def _has_own(text: str | None) -> bool:
    return text is not None and any(policy.own for policy in parse_policy(text))


def _own_found_from(text: str, folder: Path) -> list[str]:
    return [
        replace(policy, own=own_words.found_from(policy.own, folder)).words if policy.own else policy.words
        for policy in parse_policy(text)
    ]


def _is_said_by(experiment: Experiment, file: Path) -> bool:
    try:
        return Experiment.from_file(file) == experiment
    except ExperimentError:
        return False


def _experiment_of(document: Document) -> Experiment:
    extra = {name: load.section(document, name) for name in load.EXTRA_SECTIONS}
    try:
        load.validate(document)
    except ExperimentError:
        # A field that is swept over need not have a value of its own.
        for name, values in extra["sweep"].items():
            place = document.place(("sweep", name))
            document.override(
                load.parse_path(name), values[0] if isinstance(values, list) and values else values, place
            )
        load.validate(document)
    try:
        return Experiment.model_validate({**document.values, **extra})
    except ValidationError as error:
        raise load.explained(document, error, Experiment) from None


def _said(section: Section) -> dict[str, Any]:
    """What was said of a section, and of which kind it is.

    A default that was said is written, too: to the identity of a run 250.0, which was read, is not the default 250.
    """
    said = {"kind": section.kind} if hasattr(section, "kind") else {}
    fields = [name for name in type(section).model_fields if name in section.model_fields_set and name != "kind"]
    return said | {name: plain(getattr(section, name)) for name in fields}


def plain(value: Any) -> Any:
    """As YAML and JSON have it."""
    if isinstance(value, Policy):
        return value.words
    if isinstance(value, Section):
        return _said(value)
    if isinstance(value, list):
        return [plain(element) for element in value]
    if isinstance(value, dict):
        return {name: plain(element) for name, element in value.items()}
    return value
