# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads an experiment file into validated points of its sweep; every error names file, line, field and remedy.

Apart from the fields of `Experiment` a file may hold
  sweep:  dotted field -> list of values; the points are the Cartesian product in the order written
  quick:  dotted field -> value, laid over the file by `--quick`
"""

from __future__ import annotations

import copy
import itertools
import types
import typing
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.error import MarkedYAMLError, YAMLError

from perhop.errors import ExperimentError, FieldError, choose_from, near_miss
from perhop.experiment import yaml_text
from perhop.experiment.schema import Experiment

KeyPath = tuple[str | int, ...]

EXTRA_SECTIONS = ("sweep", "quick")


@dataclass(frozen=True)
class Place:
    """Where a value was written. `source` is the file, or the command line with `line` None."""

    source: str
    line: int | None


@dataclass(frozen=True)
class Point:
    """One point of the sweep: the values swept, the experiment they give, and where its fields were written."""

    swept: dict[str, Any]
    experiment: Experiment
    document: Document


@dataclass
class Document:
    """The values of a file with the place of each, open to overrides."""

    source: str
    values: dict[str, Any]
    places: dict[KeyPath, Place] = field(default_factory=dict)
    swept: dict[str, list[Any]] = field(default_factory=dict)  # the sweep, which is not among the values

    def place(self, path: KeyPath) -> Place:
        """Where `path`, or the closest thing around it, was written."""
        for length in range(len(path), -1, -1):
            if path[:length] in self.places:
                return self.places[path[:length]]
        return Place(self.source, 1)

    def error(self, path: KeyPath, problem: str, remedy: str) -> ExperimentError:
        place = self.place(path)
        return ExperimentError(problem, remedy, file=place.source, line=place.line, field=dotted(path))

    def override(self, path: KeyPath, value: Any, place: Place) -> None:
        """Set one field, making the sections on the way. Raises ExperimentError on a path through a value."""
        target: Any = self.values
        for index, key in enumerate(path):
            last = index == len(path) - 1
            if isinstance(target, list):
                if not isinstance(key, int) or key >= len(target):
                    raise ExperimentError(
                        f"there is no element {key!r} in {dotted(path[:index])}",
                        f"count from 0 up to {len(target) - 1}",
                        file=place.source,
                        line=place.line,
                        field=dotted(path),
                    )
            elif isinstance(target, dict):
                key = str(key)
                if not last and key not in target:
                    target[key] = {}
            else:
                raise ExperimentError(
                    f"{dotted(path[:index])} is a value, not a section",
                    f"set {dotted(path[:index])} itself",
                    file=place.source,
                    line=place.line,
                    field=dotted(path),
                )
            if last:
                target[key] = value
            else:
                target = target[key]
        self.places = {known: at for known, at in self.places.items() if known[: len(path)] != path}
        self.places[path] = place

    def copy(self) -> Document:
        return Document(self.source, copy.deepcopy(self.values), dict(self.places), self.swept)


def dotted(path: Iterable[str | int]) -> str:
    return ".".join(str(part) for part in path)


def parse_path(text: str) -> KeyPath:
    return tuple(int(part) if part.isdigit() else part for part in text.split("."))


def load(file: Path, overrides: Iterable[str] = (), quick: bool = False) -> list[Point]:
    """Read `file`, apply `--set` overrides of the form `a.b=value`, and unroll the sweep.

    Returns at least one point. Raises ExperimentError.
    """
    document = read(file)
    sweep = _mapping(document, "sweep")
    if quick:
        _apply_quick(document, sweep)
    for text in overrides:
        _apply_set(document, sweep, text)
    for name, entry in sweep.items():
        _check_sweep(document, name, entry)
    document.swept = sweep
    return list(_points(document, sweep))


def read(file: Path, example: str = "sim/experiments/chain/experiment.yaml") -> Document:
    """Parse the YAML of `file` and remember the line of every value. Raises ExperimentError."""
    source = str(file)
    try:
        text = yaml_text.read_text(file)
    except OSError as error:
        raise ExperimentError(
            f"cannot be read: {error.strerror}", "give the path of an experiment file or of its folder", file=source
        ) from error
    except UnicodeDecodeError as error:
        raise ExperimentError("is not a text file in UTF-8", "give an experiment file", file=source) from error
    except yaml_text.Excess as error:
        raise ExperimentError(str(error.problem), error.remedy, file=source) from error
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
        raise ExperimentError("holds no fields", f"start from {example}", file=source, line=1)
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


def _mapping(document: Document, name: str) -> dict[str, Any]:
    """Take `sweep` or `quick` out of the document."""
    value = document.values.pop(name, None)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise document.error((name,), "must map fields to values", f"write `{name}:` and below it `duration_s: ..`")
    return value


def _apply_quick(document: Document, sweep: dict[str, Any]) -> None:
    quick = _mapping(document, "quick")
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


def explained(document: Document, error: ValidationError, root: type[BaseModel]) -> ExperimentError:
    """The first thing in the document that makes no `root`, in our words and with its line."""
    found = [_explain(document, detail, root) for detail in error.errors(include_url=False)]
    return min(found, key=lambda item: item.line if item.line is not None else 0)


def located(document: Document, error: FieldError) -> ExperimentError:
    """A broken rule that spans fields, with the place of the field at fault."""
    return document.error(error.path, error.problem, error.remedy)


# --- pydantic's errors in our words ---------------------------------------------------------------------------------

_BOUNDS = {
    "greater_than": ("gt", "more than"),
    "greater_than_equal": ("ge", "at least"),
    "less_than": ("lt", "less than"),
    "less_than_equal": ("le", "at most"),
    "multiple_of": ("multiple_of", "a multiple of"),
}

_TYPES = {
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "int_parsing": "a whole number",
    "float_type": "a number",
    "float_parsing": "a number",
    "bool_type": "true or false",
    "string_type": "text",
    "list_type": "a list",
    "model_type": "a section with fields",
    "model_attributes_type": "a section with fields",
    "finite_number": "a finite number",
    "dict_type": "a section with fields",
}


def _explain(document: Document, detail: Any, root: type[BaseModel]) -> ExperimentError:
    loc, kind, ctx = tuple(detail["loc"]), detail["type"], detail.get("ctx", {})
    path, model, description = _walk(document.values, loc, root)
    value = _shown(detail.get("input"))
    say = f" ({description})" if description else ""

    if kind == "extra_forbidden":
        fields = list(model.model_fields) if model else []
        extra = list(EXTRA_SECTIONS) if model is Experiment else []
        return document.error(path, "unknown field", choose_from(path[-1], fields + extra))
    if kind == "missing":
        return document.error(path, "is missing", f"add `{path[-1]}: ..`{say}")
    if kind == "union_tag_not_found":
        choices = ", ".join(_tags(path, root))
        return document.error((*path, "kind"), "is missing", f"add `kind: ..`, one of: {choices}")
    if kind == "union_tag_invalid":
        tags = [tag.strip(" '") for tag in ctx["expected_tags"].split(",")]
        return document.error((*path, "kind"), f"is {_shown(ctx['tag'])}", choose_from(ctx["tag"], tags))
    if kind == "literal_error":
        words = [word.strip(" '") for word in ctx["expected"].replace(" or ", ",").split(",")]
        return document.error(path, f"is {value}", choose_from(detail["input"], words))
    if kind in _BOUNDS:
        key, words = _BOUNDS[kind]
        return document.error(path, f"is {value}, but must be {words} {ctx[key]:g}", f"give {words} {ctx[key]:g}{say}")
    if kind in _TYPES:
        return document.error(path, f"is {value}, but must be {_TYPES[kind]}", f"write {_TYPES[kind]}{say}")
    if kind == "too_short":
        return document.error(path, "has too few elements", f"list at least {ctx['min_length']}{say}")
    if kind == "too_long":
        return document.error(path, "has too many elements", f"list at most {ctx['max_length']}{say}")
    if kind == "string_pattern_mismatch":
        return document.error(path, f"is {value}, which is no name", f"use {description}")
    return document.error(path, detail["msg"], ctx.get("remedy", f"mend this field{say}"))


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return "a section"
    if isinstance(value, list):
        return "a list"
    return "empty" if value is None else repr(value)


def _tags(path: KeyPath, root: type[BaseModel]) -> list[str]:
    annotation = root.model_fields[str(path[0])].annotation
    return [tag for model in _models(annotation) for tag in _kinds(model)]


def _kinds(model: type[BaseModel]) -> tuple[str, ...]:
    """The values of `kind` that pick `model` out of its union."""
    return typing.get_args(model.model_fields["kind"].annotation) if "kind" in model.model_fields else ()


def _models(annotation: Any) -> list[type[BaseModel]]:
    """Every model that an annotation mentions, through lists, unions and Annotated."""
    if isinstance(annotation, type) and not isinstance(annotation, types.GenericAlias):
        return [annotation] if issubclass(annotation, BaseModel) else []
    return [model for inner in typing.get_args(annotation) for model in _models(inner)]


def _walk(values: Any, loc: KeyPath, root: type[BaseModel]) -> tuple[KeyPath, type[BaseModel] | None, str]:
    """Follow pydantic's location: the path in the file, the innermost model, and the description of the last field.

    pydantic puts the tag of a union's member, or the name of a type, into the location; those are no keys of the file.
    """
    path: list[str | int] = []
    model: type[BaseModel] | None = root
    candidates: list[type[BaseModel]] = []
    description = ""
    for part in loc:
        tagged = [member for member in candidates if part in _kinds(member)]
        if isinstance(part, str) and tagged:
            model, candidates = tagged[0], []
            continue
        if isinstance(part, int):
            path.append(part)
            continue
        if len(candidates) == 1:
            model, candidates = candidates[0], []
        if model is not None and part in model.model_fields:
            info = model.model_fields[part]
            path.append(part)
            description = info.description or ""
            candidates = _models(info.annotation)
            values = values.get(part) if isinstance(values, dict) else None
        elif isinstance(values, dict) and part in values:
            # A key that the file chooses, such as a neighbour's address.
            path.append(part)
            values = values[part]
        elif part == loc[-1] and not _is_type_name(part):
            path.append(part)
            description = ""
    if candidates and len(candidates) == 1:
        model = candidates[0]
    return tuple(path), model, description


def _is_type_name(part: str) -> bool:
    """pydantic names members of an untagged union by type, such as `int` or `literal['auto']`."""
    return part.startswith(("literal[", "constrained-", "function-")) or part in ("int", "float", "str", "bool")


__all__ = [
    "Document",
    "Place",
    "Point",
    "dotted",
    "explained",
    "load",
    "located",
    "near_miss",
    "parse_path",
    "read",
    "validate",
]
