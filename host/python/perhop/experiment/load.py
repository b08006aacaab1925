# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads an experiment file into validated points of its sweep; every error names file, line, field and remedy.

Apart from the fields of `Experiment` a file may hold
  sweep:  dotted field -> list of values; the points are the Cartesian product in the order written
  quick:  dotted field -> value, laid over the file by `--quick`
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.error import MarkedYAMLError, YAMLError

from perhop import paths
from perhop.errors import ExperimentError, near_miss
from perhop.experiment import yaml_text
from perhop.experiment.document import Document, KeyPath, Place, dotted, located, parse_path
from perhop.experiment.explain import explained
from perhop.experiment.schema import Experiment

EXTRA_SECTIONS = Experiment.beside_fields


@dataclass(frozen=True)
class Point:
    """One point of the sweep: the values swept, the experiment they give, and where its fields were written."""

    swept: dict[str, Any]
    experiment: Experiment
    document: Document


def load(file: Path, overrides: Iterable[str] = (), quick: bool = False) -> list[Point]:
    """Read `file`, apply `--set` overrides of the form `a.b=value`, and unroll the sweep.

    Returns at least one point. Raises ExperimentError.
    """
    document = read(file)
    sweep = section(document, "sweep")
    if quick:
        _apply_quick(document, sweep)
    for text in overrides:
        _apply_set(document, sweep, text)
    for name, entry in sweep.items():
        _check_sweep(document, name, entry)
    document.swept = sweep
    return list(_points(document, sweep))


def read(file: Path, example: str | None = None) -> Document:
    """Parse the YAML of `file` and remember the line of every value. Raises ExperimentError.

    `example` is a file to start from; by default an experiment.
    """
    source = str(file)
    try:
        text = yaml_text.read_text(file)
    except OSError as error:
        if example is not None:
            remedy = f"give the path of one; {example} is an example"
        else:
            remedy = "give the path of an experiment file or of its folder"
            if meant := near_miss(source, (folder.name for folder in paths.experiments().iterdir())):
                remedy += f"; or the name of one that perhop brings: did you mean {meant}?"
        raise ExperimentError(f"cannot be read: {error.strerror}", remedy, file=source) from error
    except UnicodeDecodeError as error:
        raise ExperimentError("is not a text file in UTF-8", "give an experiment file", file=source) from error
    except yaml_text.Excess as error:
        raise ExperimentError(str(error.problem), error.remedy, file=source) from error
    return parse(text, source, example)


def parse(text: str, source: str, example: str | None = None) -> Document:
    """What `text` says, which is called `source` in errors. Raises ExperimentError."""
    try:
        root = yaml_text.load(text, with_places=True)
    except yaml_text.Excess as error:
        line = error.problem_mark.line + 1
        raise ExperimentError(str(error.problem), error.remedy, file=source, line=line) from error
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else 1
        problem = " ".join(str(error.problem or error.context).split())
        raise ExperimentError(f"is not valid YAML: {problem}", "mend this line", file=source, line=line) from error
    except (YAMLError, ValueError) as error:
        raise ExperimentError(f"is not valid YAML: {error}", "mend the file", file=source, line=1) from error
    if not isinstance(root, CommentedMap):
        raise ExperimentError("holds no fields", f"start from {example or paths.example()}", file=source, line=1)
    document = Document(source, {}, {(): Place(source, 1)})
    document.values = _plain(document, root, ())
    return document


def _plain(document: Document, node: Any, path: KeyPath) -> Any:
    """Built-in types instead of ruamel's, noting each value's line on the way."""
    if isinstance(node, CommentedMap):
        for key in node:
            if not isinstance(key, str):
                raise document.error(path, f"has the key {key!r}", "write keys as plain words")
        for key, (line, *_) in (node.lc.data or {}).items():
            document.places[(*path, key)] = Place(document.source, line + 1)
        return {str(key): _plain(document, value, (*path, key)) for key, value in node.items()}
    if isinstance(node, CommentedSeq):
        for index, (line, *_) in (node.lc.data or {}).items():
            document.places[(*path, index)] = Place(document.source, line + 1)
        return [_plain(document, value, (*path, index)) for index, value in enumerate(node)]
    for kind in (bool, int, float, str):
        if isinstance(node, kind):
            return kind(node)
    return node


def section(document: Document, name: str) -> dict[str, Any]:
    """Take `sweep` or `quick` out of the document. Raises ExperimentError."""
    value = document.values.pop(name, None)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise document.error((name,), "must map fields to values", f"write `{name}:` and below it `duration_s: ..`")
    return value


def _apply_quick(document: Document, sweep: dict[str, Any]) -> None:
    quick = section(document, "quick")
    if not quick:
        seeds = document.values.get("seeds")
        if isinstance(seeds, list):
            document.override(("seeds",), seeds[:1], document.place(("seeds",)))
        return
    for name, value in quick.items():
        place = document.place(("quick", name))
        if name in sweep:
            sweep[name] = value if isinstance(value, list) else [value]
            document.places[("sweep", name)] = place
        else:
            document.override(parse_path(name), value, place)


def _apply_set(document: Document, sweep: dict[str, Any], text: str) -> None:
    place = Place(f"--set {text}", None)
    name, equals, value_text = text.partition("=")
    if not equals or not name:
        raise ExperimentError("is no assignment", "write field=value, such as --set topology.hops=3", file=place.source)
    try:
        value = yaml_text.load(value_text)
    except (YAMLError, ValueError) as error:
        raise ExperimentError("has a value that is not YAML", "quote the value", file=place.source) from error
    name = name.strip().removeprefix("sweep.")
    if name == "sweep":
        raise ExperimentError("sets the whole sweep", "set one field: --set topology.hops=[1,2]", file=place.source)
    # A swept field that is set stays swept, over the values given: `--set topology.hops=3` does what it says.
    if name in sweep or text.startswith("sweep."):
        sweep[name] = value if isinstance(value, list) else [value]
        document.places[("sweep", name)] = place
        for stale in [path for path in document.places if path[:2] == ("sweep", name) and len(path) > 2]:
            del document.places[stale]
    else:
        document.override(parse_path(name), value, place)


def _check_sweep(document: Document, name: str, entry: Any) -> None:
    path = ("sweep", name)
    if not isinstance(entry, list) or not entry:
        raise document.error(path, "must be a list with at least one value", f"write `{name}: [1, 2, 3]`")
    if name in ("name", "policies", "seeds", "backend", *EXTRA_SECTIONS):
        raise document.error(path, f"{name} cannot be swept", f"list its values under `{name}:` itself")


def _points(document: Document, sweep: Mapping[str, list[Any]]) -> Iterator[Point]:
    names = list(sweep)
    for indices in itertools.product(*(range(len(sweep[name])) for name in names)):
        point = document.copy()
        swept = {}
        for name, index in zip(names, indices, strict=True):
            value = sweep[name][index]
            # A copy: what is swept below a section changes that section.
            point.override(parse_path(name), copy.deepcopy(value), document.place(("sweep", name, index)))
            swept[name] = value
        yield Point(swept, validate(point), point)


def validate(document: Document) -> Experiment:
    """The experiment that the document says. Raises ExperimentError for the first thing wrong in it."""
    known = {key: value for key, value in document.values.items() if key != "quick"}
    try:
        return Experiment.model_validate(known)
    except ValidationError as error:
        raise explained(document, error, Experiment) from None


__all__ = [
    "Document",
    "Place",
    "Point",
    "dotted",
    "explained",
    "load",
    "located",
    "near_miss",
    "parse",
    "parse_path",
    "read",
    "section",
    "validate",
]
