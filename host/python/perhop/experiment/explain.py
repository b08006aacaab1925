# SPDX-License-Identifier: GPL-2.0-or-later
"""What pydantic finds wrong with a section, in our words: file, line, field and remedy."""

from __future__ import annotations

import types
import typing
from typing import Any

from pydantic import BaseModel, ValidationError

from perhop.errors import ExperimentError, choose_from
from perhop.experiment.document import Document, KeyPath


def explained(document: Document, error: ValidationError, root: type[BaseModel]) -> ExperimentError:
    """The first thing in the document that makes no `root`, in our words and with its line."""
    found = [_explain(document, detail, root) for detail in error.errors(include_url=False)]
    return min(found, key=lambda item: item.line if item.line is not None else 0)


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
        extra = getattr(model, "beside_fields", ())
        return document.error(path, "unknown field", choose_from(path[-1], [*fields, *extra]))
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
