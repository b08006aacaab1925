# SPDX-License-Identifier: GPL-2.0-or-later
"""The words for policies in an experiment file: what limits the window, when TCP ACKs are sent, when data is released.

A policy is one or more parts joined by `+`, at most one of each group of the table, in any order; a range gives several
policies, two ranges every pair. The table is host/core/policy/policies.yaml; docs/policies.md shows it.
"""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass, fields, replace
from typing import Any

from perhop.errors import choose_from
from perhop.experiment.policy_parts import Group, Kind, Number
from perhop.experiment.policy_table import ALWAYS, GROUPS, WHOLE, PolicyFields
from perhop.refusal import refused


def _forms() -> str:
    """All that may be written, in a sentence."""
    groups = [", ".join(form for kind in group.written_kinds for form in kind.forms()) for group in GROUPS]
    return f"{'; '.join(groups)}; parts joined by ` + `; or {' or '.join(WHOLE)}"


FORMS = _forms()


@dataclass(frozen=True)
class Policy(PolicyFields):
    """What one flow runs with, named as in run.json."""

    name: str = ""  # of a policy that has one of its own; not a part of what it does

    @property
    def label(self) -> str:
        if self.name:
            return self.name
        words = [self._written(group) for group in GROUPS if getattr(self, group.key) != group.otherwise]
        return " + ".join(words or [self._written(GROUPS[0])])

    @property
    def words(self) -> str:
        """What an experiment file says for it: `parse_policy` gives the policy back."""
        if self.name:
            return self.name
        words = [self._written(group, written=True) for group in GROUPS if getattr(self, group.key) != group.otherwise]
        return " + ".join(words or [self._written(GROUPS[0], written=True)])

    def _written(self, group: Group, written: bool = False) -> str:
        kind = next(kind for kind in group.kinds if kind.name == getattr(self, group.key))
        told = [parameter.written(getattr(self, parameter.key)) for parameter in kind.parameters]
        return " ".join(word for word in (kind.written if written else kind.label, *told) if word)

    def run_json(self) -> dict[str, Any]:
        """The object `policy` of run.json. What is at its default is left out, but for what was there before anything
        else was: a run keeps its identity."""
        values = {field.name: (getattr(self, field.name), field.default) for field in fields(PolicyFields)}
        return {name: value for name, (value, default) in values.items() if name in ALWAYS or value != default}


def parse_policy(text: str) -> list[Policy]:
    """Read a policy; a range gives several. Raises PydanticCustomError with a remedy."""
    if (name := text.strip()) in WHOLE:
        return [replace(policy, name=name) for policy in parse_policy(WHOLE[name])]
    choices: dict[str, list[dict[str, Any]]] = {}
    for part in text.split("+"):
        group, values = _part(" ".join(part.split()), text)
        if group.key in choices:
            raise refused(f"is {text!r}, which names the {group.title} twice", "keep one of the two")
        choices[group.key] = values
    return [
        Policy(**{name: value for part in parts for name, value in part.items()})
        for parts in itertools.product(*choices.values())
    ]


def _part(part: str, text: str) -> tuple[Group, list[dict[str, Any]]]:
    """Its group, and the fields it sets: one dict for each policy it stands for."""
    for group in GROUPS:
        for kind in group.written_kinds:
            if match := re.fullmatch(kind.pattern, part):
                return group, _told(group, kind, match.groups(), text)
    if part in WHOLE:
        raise refused(f"is {text!r}, but `{part}` is a whole policy", f"write `{part}` alone; it is `{WHOLE[part]}`")
    raise refused(f"is {text!r}, which is no policy", f"{_meant(part)} (forms: {FORMS})")


def _told(group: Group, kind: Kind, said: tuple[str | None, ...], text: str) -> list[dict[str, Any]]:
    told = {parameter.key: (parameter, words) for parameter, words in zip(kind.parameters, said, strict=True) if words}
    rivals = [words for key, (_, words) in told.items() if key in kind.at_most_one_of]
    if len(rivals) > 1:
        raise refused(f"is {text!r}, where `{rivals[0]}` and `{rivals[1]}` exclude each other", "keep one of the two")
    values = [_values(kind, parameter, words, text) for parameter, words in told.values()]
    return [{group.key: kind.name, **dict(zip(told, each, strict=True))} for each in itertools.product(*values)]


def _values(kind: Kind, parameter: Any, words: str, text: str) -> list[Any]:
    try:
        return parameter.values(words)
    except ValueError:
        assert isinstance(parameter, Number)
        raise refused(
            f"is {text!r}, which is no range of {parameter.unit}",
            f"count up from {parameter.least} to at most {parameter.most}: `{kind.written} {parameter.examples[-1]}`",
        ) from None


def _meant(part: str) -> str:
    if not part:
        return "put a part on both sides of each `+`"
    word = part.split()[0]
    kinds = [kind for group in GROUPS for kind in group.written_kinds]
    forms = [form for kind in kinds if kind.written.split()[0] == word for form in kind.forms()]
    if forms:
        return "write " + " or ".join(f"`{form}`" for form in forms)
    return choose_from(word, [*dict.fromkeys(kind.written.split()[0] for kind in kinds), *WHOLE])
