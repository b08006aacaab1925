# SPDX-License-Identifier: GPL-2.0-or-later
"""What differs between two sides, and whether that is what is compared: anything more is refused, by its name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from perhop.compare.fields import Point, cell, word
from perhop.compare.sides import Side
from perhop.errors import PerhopError, choose_from

POLICIES, BACKEND, VERSION = "policies", "backend", "version"
ABSENT = "absent"

# Where the nodes are, who sends to whom and for how long: two networks are not two ways to run one. These differ only
# where --about names them; to set them on one side is not enough.
CONDITIONS = re.compile(
    r"(topology|servers|wires|links|events|duration_s|warmup_s|outputs\.interval_s)(\.|$)"
    r"|flows\.\d+(\.(kind|src|dst|start_s|stop_s|stagger_s))?$"
)
# What a field's first word is called in a sentence.
SECTIONS = {"policies": "policy", "version": "program", "flows": "traffic", "mac": "MAC", "exact": "setting of EXACT"}
DIFFERENCES_SHOWN = 6
VALUE_CHARACTERS = 60


@dataclass(frozen=True)
class Differing:
    """A field that differs, with its value on each side, in words."""

    field: str
    a: str
    b: str

    @property
    def section(self) -> str:
        first = self.field.split(".", 1)[0]
        return SECTIONS.get(first, first.replace("_", " "))

    @property
    def values(self) -> str:
        name = "" if self.field in (POLICIES, BACKEND, VERSION) else f"{self.field} "
        return f"{name}{_short(self.a)} against {_short(self.b)}"

    def is_about(self, names: Iterable[str]) -> bool:
        return any(self.field == name or self.field.startswith(f"{name}.") for name in names)


def _short(value: str) -> str:
    return value if len(value) <= VALUE_CHARACTERS else value[: VALUE_CHARACTERS - 3] + "..."


@dataclass(frozen=True)
class Matched:
    """A point that both sides have: its place among the points of each, and what tells it from the others, by field."""

    a: int
    b: int
    told_by: dict[str, str]


@dataclass(frozen=True)
class Comparison:
    """What is compared, the points that both sides have, and the seeds."""

    compared: list[Differing]
    points: list[Matched]
    seeds: list[int]
    seeds_of_a: list[int]  # seeds that the other side lacks
    seeds_of_b: list[int]

    @property
    def pairs_policies(self) -> bool:
        """Whether each side has one policy, another one: they are paired whatever their names."""
        return any(differing.field == POLICIES for differing in self.compared)


def demand(a: Side, b: Side, set_on_a_side: Sequence[str] = (), about: Sequence[str] = ()) -> Comparison:
    """What is compared. Raises PerhopError where more differs than that.

    `set_on_a_side` are the fields that the command line set on one side only, `about` those that it says may differ.
    """
    points, differing = _match(a, b)
    differing += _around(a, b)
    _check_about(about, differing)
    conditions = [each for each in differing if CONDITIONS.match(each.field) and not each.is_about(about)]
    rest = [each for each in differing if each not in conditions and not each.is_about(about)]
    # What was set on one side is one thing, however many fields it takes; each other field is one by itself.
    declared = [each for each in rest if each.is_about(set_on_a_side)]
    others = [each for each in rest if each not in declared]
    more = (len(others) if declared or about else max(len(others) - 1, 0)) > 0
    if conditions or more:
        refused = conditions + (others if more else []) + (declared if more and not about else [])
        raise PerhopError(_told(refused), _remedy(conditions, bool(conditions) and not more))
    seeds = [seed for seed in a.seeds if seed in b.seeds]
    if not seeds:
        raise PerhopError(
            f"no seed is on both sides: {a.letter} has {_list(a.seeds)}, {b.letter} has {_list(b.seeds)}",
            "runs are paired by seed: give both sides the same, such as --set seeds=[1,2,3,4,5]",
        )
    return Comparison(
        differing,
        points,
        seeds,
        [seed for seed in a.seeds if seed not in b.seeds],
        [seed for seed in b.seeds if seed not in a.seeds],
    )


def _told(differing: Sequence[Differing]) -> str:
    by_section: dict[str, list[Differing]] = {}
    for each in sorted(differing, key=lambda each: not CONDITIONS.match(each.field)):
        by_section.setdefault(each.section, []).append(each)
    told = []
    for section, fields in by_section.items():
        shown = ", ".join(each.values for each in fields[:DIFFERENCES_SHOWN])
        more = f" and {len(fields) - DIFFERENCES_SHOWN} more" if len(fields) > DIFFERENCES_SHOWN else ""
        told.append(f"the {section} differs: {shown}{more}")
    return "; ".join(told)


def _remedy(conditions: Sequence[Differing], alone: bool) -> str:
    if alone:
        first = conditions[0].field
        return (
            "make it the same on both sides, such as by --set; if this is what you compare, say so: "
            f"--about {first if first.count('.') < 2 else first.rsplit('.', 1)[0]}"
        )
    return (
        "make all but what you compare the same on both sides; or name what may differ, each by --about FIELD "
        "(policies, backend, version or a field of the experiment)"
    )


def _check_about(about: Sequence[str], differing: Sequence[Differing]) -> None:
    for name in about:
        if not any(each.is_about([name]) for each in differing):
            fields = [each.field for each in differing]
            raise PerhopError(
                f"--about {name}: this does not differ" + (f"; what does is {', '.join(fields)}" if fields else ""),
                choose_from(name, fields) if fields else "leave it out",
            )


def _around(a: Side, b: Side) -> list[Differing]:
    """What differs apart from the fields of the experiment."""
    found = []
    if set(a.policies) != set(b.policies):
        if len(a.policies) != 1 or len(b.policies) != 1:
            raise PerhopError(
                f"the policies differ: {_list(a.policies)} on side {a.letter} against {_list(b.policies)} on side "
                f"{b.letter}; which is compared with which cannot be told",
                "give one on each side (--set-a 'policies=[none]' --set-b 'policies=[delay]'), or the same on both",
            )
        found.append(Differing(POLICIES, a.policies[0], b.policies[0]))
    if a.backend != b.backend:
        found.append(Differing(BACKEND, a.backend, b.backend))
    elif (versions := _versions(a, b)) is not None:
        found.append(versions)
    return found


def _versions(a: Side, b: Side) -> Differing | None:
    """Another program on each side. Where a side's is not known yet, its version has to tell."""
    if a.programs is None or b.programs is None:
        commits = [side.asked.version.commit if side.asked.version else "" for side in (a, b)]
        return Differing(VERSION, a.version, b.version) if commits[0] != commits[1] else None
    other = [name for name, sha256 in a.programs.items() if name in b.programs and b.programs[name] != sha256]
    if not other:
        return None
    name = other[0]
    words = [f"{side.version} ({name} {side.programs[name][:12]})".strip() for side in (a, b) if side.programs]
    return Differing(VERSION, *words)


def _match(a: Side, b: Side) -> tuple[list[Matched], list[Differing]]:
    """The points of both sides that belong together, and the fields in which any two of these differ."""
    swept = list(dict.fromkeys(name for side in (a, b) for point in side.points for name in point.swept))
    keys = {name: [[cell(_value(point, name)) for point in side.points] for side in (a, b)] for name in swept}
    # What has one value on each side tells no points apart: it is the same, or it is what differs.
    varying = [name for name in swept if any(len(set(values)) > 1 for values in keys[name])]
    other = [
        Differing(name, *(_list(dict.fromkeys(values)) for values in keys[name]))
        for name in varying
        if set(keys[name][0]) != set(keys[name][1])
    ]
    if other:
        return [], other
    places = {tuple(keys[name][1][at] for name in varying): at for at in range(len(b.points))}
    matched, differing = [], {}
    for at, point in enumerate(a.points):
        key = tuple(keys[name][0][at] for name in varying)
        if key not in places:
            raise PerhopError(
                f"side {b.letter} has not the point {_list(key)} of side {a.letter}", "give both sides the same sweep"
            )
        matched.append(Matched(at, places[key], {name: word(_value(point, name)) for name in varying}))
        for each in _fields(point, b.points[places[key]]):
            differing.setdefault(each.field, each)
    return matched, list(differing.values())


def _fields(a: Point, b: Point) -> list[Differing]:
    names = dict.fromkeys([*a.fields, *b.fields])
    return [
        Differing(name, *(word(point.fields[name]) if name in point.fields else ABSENT for point in (a, b)))
        for name in names
        if name not in a.fields or name not in b.fields or a.fields[name] != b.fields[name]
    ]


def _value(point: Point, name: str) -> Any:
    """Of a field that one of the sides sweeps."""
    if name in point.swept:
        return point.swept[name]
    below = {field: value for field, value in point.fields.items() if field.startswith(f"{name}.")}
    return point.fields.get(name, below or ABSENT)


def _list(values: Iterable[Any]) -> str:
    return ", ".join(word(value) for value in values)
