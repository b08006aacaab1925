# SPDX-License-Identifier: GPL-2.0-or-later
"""The words for policies in an experiment file: what limits the window, when TCP ACKs are sent, when data is released.

A policy is one or more parts joined by `+`, at most one of each group of the table, in any order; a range gives several
policies, two ranges every pair. The table is host/core/policy/policies.yaml; docs/policies.md shows it. One part may be
a policy of one's own, FILE.py:CLASS or FILE.so:NAME (perhop.own), which takes the groups that it decides something of.
"""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from perhop.errors import PerhopError, choose_from
from perhop.experiment.policy_parts import Group, Kind, Number
from perhop.experiment.policy_table import ALWAYS, GROUPS, WHOLE, PolicyFields
from perhop.own import files, words
from perhop.refusal import refused

# The kind, in each group, of what a policy of one's own takes.
OWN = "own"


def _forms() -> str:
    """All that may be written, in a sentence."""
    groups = [", ".join(form for kind in _kinds(group) for form in kind.forms()) for group in GROUPS]
    return f"{'; '.join(groups)}; {words.FORM}; parts joined by ` + `; or {' or '.join(WHOLE)}"


def _kinds(group: Group) -> list[Kind]:
    """Those that have words of their own."""
    return [kind for kind in group.written_kinds if kind.name != OWN]


FORMS = _forms()


@dataclass(frozen=True)
class Policy(PolicyFields):
    """What one flow runs with, named as in run.json."""

    name: str = ""  # of a policy that has one of its own; not a part of what it does
    own: str = ""  # FILE:NAME, of a policy of one's own; which parts it takes is known when it is `found`
    own_sha256: str = ""

    @property
    def label(self) -> str:
        if self.name:
            return self.name
        return self._joined(written=False)

    @property
    def words(self) -> str:
        """What an experiment file says for it: `parse_policy` gives the policy back."""
        if self.name:
            return self.name
        return self._joined(written=True)

    @property
    def paced_by_exact(self) -> bool:
        """The sender's TCP is told the rate that EXACT allows: all nodes need EXACT."""
        return self.pacing == "exact"

    def _joined(self, written: bool) -> str:
        parts = [
            self._written(group, written) for group in GROUPS if getattr(self, group.key) not in (group.otherwise, OWN)
        ]
        if self.own:
            parts.append(self.own if written else words.label(self.own))
        return " + ".join(parts or [self._written(GROUPS[0], written)])

    def _written(self, group: Group, written: bool) -> str:
        kind = next(kind for kind in group.kinds if kind.name == getattr(self, group.key))
        told = [parameter.written(getattr(self, parameter.key)) for parameter in kind.parameters]
        return " ".join(word for word in (kind.written if written else kind.label, *told) if word)

    def run_json(self) -> dict[str, Any]:
        """The object `policy` of run.json. What is at its default is left out, but for what was there before anything
        else was: a run keeps its identity."""
        values = {field.name: (getattr(self, field.name), field.default) for field in fields(PolicyFields)}
        told = {name: value for name, (value, default) in values.items() if name in ALWAYS or value != default}
        if self.own:
            assert self.own_sha256, "found() comes before"
            file, name = words.parted(self.own)
            told["own"] = {"file": file, "name": name, "sha256": self.own_sha256}
        return told

    def found(self, folder: Path) -> Policy:
        """The same with the parts that its own policy takes, whose file lies in `folder`; it runs the file.

        Raises PerhopError.
        """
        if not self.own:
            return self
        named, parts = files.look(self.own, folder)
        for group in GROUPS:
            if group.key in parts and getattr(self, group.key) not in (group.otherwise, OWN):
                beside = self._written(group, written=True)
                raise PerhopError(
                    f"{words.label(self.own)} is a {group.title} itself, and stands beside {beside!r}",
                    "keep one of the two",
                )
        own = {group.key: OWN for group in GROUPS if group.key in parts}
        return replace(self, own=f"{named['file']}:{named['name']}", own_sha256=named["sha256"], **own)


def parse_policy(text: str) -> list[Policy]:
    """Read a policy; a range gives several. Raises PydanticCustomError with a remedy."""
    if (name := text.strip()) in WHOLE:
        return [replace(policy, name=name) for policy in parse_policy(WHOLE[name])]
    choices: dict[str, list[dict[str, Any]]] = {}
    for part in text.split("+"):
        if words.WORDS.fullmatch(part.strip()):
            key, title, values = OWN, "policy of one's own", [{OWN: part.strip()}]
        else:
            group, values = _part(" ".join(part.split()), text)
            key, title = group.key, group.title
        if key in choices:
            raise refused(f"is {text!r}, which names the {title} twice", "keep one of the two")
        choices[key] = values
    return [
        Policy(**{name: value for part in parts for name, value in part.items()})
        for parts in itertools.product(*choices.values())
    ]


def _part(part: str, text: str) -> tuple[Group, list[dict[str, Any]]]:
    """Its group, and the fields it sets: one dict for each policy it stands for."""
    for group in GROUPS:
        for kind in _kinds(group):
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
    if (source := Path(part.rpartition(":")[0])).suffix in words.SOURCES:
        return (
            f"build it, `perhop policy build {source}`, and write {source.with_suffix('.so')}:{words.parted(part)[1]}"
        )
    kinds = [kind for group in GROUPS for kind in _kinds(group)]
    forms = [form for kind in kinds if kind.written.split()[0] == word for form in kind.forms()]
    if forms:
        return "write " + " or ".join(f"`{form}`" for form in forms)
    return choose_from(word, [*dict.fromkeys(kind.written.split()[0] for kind in kinds), *WHOLE])
