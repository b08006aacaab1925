# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes the reference pages that come out of the program: fields of an experiment file, commands, the Python API.

Called by the Python of .venv, which knows perhop: `references.py FOLDER`.
"""

import json
import re
import sys
from pathlib import Path
from typing import Any

import click
from perhop.api import names
from perhop.cli import app
from perhop.experiment.json_schema import json_schema
from typer.main import get_command

# What the last word of a field's name counts it in.
UNITS = {
    "m": "m", "km": "km", "s": "s", "ms": "ms", "us": "us", "ns": "ns", "bps": "bit/s", "mbps": "Mbit/s", "hz": "Hz",
    "db": "dB", "dbm": "dBm", "ppm": "ppm", "bytes": "bytes", "packets": "packets", "mps": "m/s", "deg": "degrees",
    "share": "share", "rate": "share", "per_s": "packets/s",
}  # fmt: skip
KINDS = {
    "integer": "whole number",
    "number": "number",
    "string": "text",
    "boolean": "true or false",
    "null": "null",
    "object": "section",
}
# What an option of a kind wants.
WORDS = {Path: "PATH", str: "TEXT", int: "NUMBER", float: "NUMBER"}
# In what order a reader of an experiment file meets them.
PARTS = {
    "Where the nodes are: `topology`": ("topology",),
    "Servers and wires": ("wires",),
    "The air: `medium`": ("medium",),
    "Radio and MAC: `mac`, `links`": ("mac", "links"),
    "Routing: `routing`": ("routing",),
    "What happens during a run: `events`": ("events",),
    "Who sends what: `flows`": ("flows",),
    "Programs in Linux kernels: `programs`": ("programs",),
    "What nodes share: `exact`, `swan`": ("exact", "swan"),
    "What the runs record: `outputs`": ("outputs",),
}


def cell(text: object) -> str:
    return str(text).replace("|", "\\|").replace("\n", " ").replace("<", "&lt;")


def code(value: object) -> str:
    return f"`{str(value).lower() if isinstance(value, bool) else 'null' if value is None else value}`"


def own(model: dict[str, Any]) -> list[str]:
    """Models that a property names, however deep."""
    if isinstance(model, dict):
        found = [model["$ref"].rsplit("/", 1)[1]] if "$ref" in model else []
        return found + [name for key, value in model.items() if key != "discriminator" for name in own(value)]
    return [name for value in model for name in own(value)] if isinstance(model, list) else []


def kind(field: dict[str, Any]) -> str:
    """What may be written, in words."""
    if "$ref" in field:
        return section_link(field["$ref"].rsplit("/", 1)[1])
    if "const" in field:
        return code(field["const"])
    if "enum" in field:
        return ", ".join(map(code, field["enum"]))
    for either in ("anyOf", "oneOf"):
        if either in field:
            return " or ".join(dict.fromkeys(kind(one) for one in field[either]))
    if field.get("type") == "array":
        return f"list of {kind(field.get('items', {})) or 'values'}"
    return KINDS.get(field.get("type", ""), "any value")


def bounds(field: dict[str, Any]) -> str:
    """The range, which may stand in one of several kinds."""
    for either in ("anyOf", "oneOf"):
        if either in field:
            return "; ".join(filter(None, map(bounds, field[either])))
    if field.get("type") == "array":
        least = field.get("minItems")
        told = [f"at least {least}"] if least else []
        told += [f"at most {field['maxItems']}"] if "maxItems" in field else []
        inner = bounds(field.get("items", {}))
        return "; ".join([*told, *([f"each {inner}"] if inner else [])])
    low = next(
        (f"{sign} {short(field[key])}" for key, sign in (("minimum", ">="), ("exclusiveMinimum", ">")) if key in field),
        "",
    )
    high = next(
        (f"{sign} {short(field[key])}" for key, sign in (("maximum", "<="), ("exclusiveMaximum", "<")) if key in field),
        "",
    )
    if "minimum" in field and "maximum" in field:
        return f"{short(field['minimum'])} to {short(field['maximum'])}"
    step = [f"a multiple of {field['multipleOf']}"] if "multipleOf" in field else []
    return ", ".join([*filter(None, (low, high)), *step])


def short(number: float) -> str:
    return f"{number:g}" if abs(number) >= 1e9 else f"{number:,.10g}"


def unit(name: str) -> str:
    if name.endswith("per_s"):
        return UNITS["per_s"]
    last = name.rsplit("_", 1)[-1]
    return UNITS.get(last, "") if "_" in name else ""


def default(field: dict[str, Any], required: bool) -> str:
    if required:
        return "must be given"
    value = field.get("default")
    if isinstance(value, dict) or "default" not in field:
        return "its defaults" if own(field) else "none"
    return code({"": '""'}.get(value, value) if isinstance(value, str) else value)


def section_link(name: str) -> str:
    return f"[{name}](#{name.lower()})"


def table(model: dict[str, Any], sections: dict[str, Any]) -> list[str]:
    lines = ["| field | may be | unit | range | default | meaning |", "|---|---|---|---|---|---|"]
    for name, field in model.get("properties", {}).items():
        required = name in model.get("required", [])
        meaning = field.get("description") or " ".join(sections[one].get("description", "") for one in own(field)[:1])
        row = (f"`{name}`", kind(field), unit(name), bounds(field), default(field, required), meaning)
        lines.append("| " + " | ".join(map(cell, row)) + " |")
    return lines


def undescribed(schema: dict[str, Any]) -> list[str]:
    """Fields without a word on what they mean; a section says it itself."""
    models = {"": schema, **schema["$defs"]}
    return [
        f"{name}.{field}"
        for name, model in models.items()
        for field, value in model.get("properties", {}).items()
        if not value.get("description") and not own(value) and field not in ("kind", "x_m", "y_m")
    ]


def experiment_file(schema: dict[str, Any]) -> str:
    lines = [
        "# Fields of an experiment file",
        "",
        "Every field, out of the models that check a file; `perhop run --schema` prints the same as JSON Schema for "
        "editors. "
        "[Experiments](../../sim/experiments/README.md#an-experiment-of-your-own) explains them with examples, and "
        "[Policies](../policies.md) has the words of `policies`. The same names are classes of the "
        "[Python API](python_api.md).",
        "",
        "## The whole file",
        "",
        *table(schema, schema["$defs"]),
    ]
    written: set[str] = set()
    for title, fields in PARTS.items():
        lines += ["", f"## {title}"]
        waiting = [name for field in fields for name in own(schema["properties"][field])]
        while waiting:
            name = waiting.pop(0)
            if name in written:
                continue
            written.add(name)
            model = schema["$defs"][name]
            lines += ["", f"### {name}", "", cell(model.get("description", "")), "", *table(model, schema["$defs"])]
            waiting = own(model.get("properties", {})) + waiting
    if missing := set(schema["$defs"]) - written:
        raise SystemExit(f"references.py: no part of the page has {sorted(missing)}")
    return "\n".join(lines) + "\n"


def commands() -> str:
    lines = [
        "# Every option of `perhop`",
        "",
        "Out of the program itself. [All commands](../commands.md) says what each is for.",
        "",
    ]
    root = get_command(app)
    lines += ["## perhop", "", *command_text(root, "perhop")]
    for name, command in every(root, "perhop"):
        lines += ["", f"## {name}", "", *command_text(command, name)]
    return "\n".join(lines) + "\n"


def every(group: Any, before: str) -> Any:
    for name, command in group.commands.items():
        yield f"{before} {name}", command
        if hasattr(command, "commands"):
            yield from every(command, f"{before} {name}")


def command_text(command: Any, name: str) -> list[str]:
    context = click.Context(command, info_name=name)
    usage = " ".join([name, *command.collect_usage_pieces(context)])
    told = re.sub(r"\[/?(?:bold|dim|italic)\]", "", command.help or "")
    lines = ["```text", usage, "```", "", told.strip().replace("\f", ""), ""]
    rows = []
    for parameter in command.params:
        if parameter.hidden:
            continue
        if parameter.param_type_name == "argument":
            shown = code(parameter.metavar or parameter.name.upper())
        else:
            value = (
                ""
                if parameter.is_flag
                else f" {parameter.metavar or WORDS.get(parameter.type_descriptor.annotation, 'VALUE')}"
            )
            shown = ", ".join(code(option + value) for option in [*parameter.opts, *parameter.secondary_opts])
        value = parameter.default
        shown_value = "" if value in (None, False, (), []) or callable(value) else code(value)
        told = "must be given" if parameter.required else shown_value
        rows.append(f"| {cell(shown)} | {cell(told)} | {cell(parameter.help or '')} |")
    if rows:
        lines += ["| argument or option | default | meaning |", "|---|---|---|", *rows]
    if hasattr(command, "commands"):
        lines += [
            "",
            "Commands: " + ", ".join(f"[`{sub}`](#{name.replace(' ', '-')}-{sub})" for sub in command.commands) + ".",
        ]
    return lines


def options() -> dict[str, list[str]]:
    """Each command and the options it knows, for whoever looks at what pages show."""
    known = {"perhop": get_command(app), **dict(every(get_command(app), "perhop"))}
    return {
        name: sorted(
            option
            for parameter in command.params
            for option in [*parameter.opts, *parameter.secondary_opts]
            if option[0] == "-"
        )
        for name, command in known.items()
    }


def first_line(model: dict[str, Any]) -> str:
    return model.get("description", "").split("\n")[0]


def python_api(schema: dict[str, Any]) -> str:
    sections = [name for name in names.__all__ if name in schema["$defs"]]
    # Objects that are no section of a file, and the modules they are in.
    places = {name: getattr(names, name).__module__ for name in names.__all__ if name not in sections}
    lines = [
        "# The Python API",
        "",
        "What `import perhop` gives. [Run experiments from Python](../how-to/python_api.md) shows how it is used, the "
        "[notebooks](../notebooks/README.md) what comes out.",
        "",
        "## Experiments and results",
    ]
    for name in sorted(places, key=lambda name: (name != "run", name)):
        lines += ["", f"::: {places[name]}.{name}"]
    lines += [
        "",
        "## Sections of an experiment",
        "",
        "Each is a class with the fields of the section of that name in a file:",
        "",
    ]
    lines += [
        f"- [`perhop.{name}`](experiment_file.md#{name.lower()}): {first_line(schema['$defs'][name])}"
        for name in sections
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    schema = json_schema()
    if silent := undescribed(schema):
        raise SystemExit(f"references.py: these fields say nothing of what they mean: {silent}")
    pages = {
        "experiment_file.md": experiment_file(schema),
        "perhop.md": commands(),
        "python_api.md": python_api(schema),
    }
    for name, text in pages.items():
        (folder / name).write_text(text)
    (folder / "options.json").write_text(json.dumps(options()))


if __name__ == "__main__":
    main()
