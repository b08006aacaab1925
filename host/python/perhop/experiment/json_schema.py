# SPDX-License-Identifier: GPL-2.0-or-later
"""The JSON Schema of experiment files, by which editors complete and check them while they are written."""

from __future__ import annotations

from typing import Any

from perhop.experiment.schema import Experiment

DRAFT = "https://json-schema.org/draft/2020-12/schema"
SWEEP = {
    "description": "dotted field -> its values; every combination is run, in the order written",
    "type": "object",
    "additionalProperties": {"type": "array", "minItems": 1},
}
QUICK = {"description": "dotted field -> value, laid over the rest by --quick", "type": "object"}


def json_schema() -> dict[str, Any]:
    """What a file may say, as far as JSON Schema can say it: rules of several fields are not in it."""
    schema = Experiment.model_json_schema()
    schema["properties"] |= {"sweep": SWEEP, "quick": QUICK}
    for section in schema["$defs"].values():
        # Objects in Python know their kind; a file must tell it.
        if "kind" in section.get("properties", {}):
            section["required"] = ["kind", *(name for name in section.get("required", []) if name != "kind")]
    return {"$schema": DRAFT, **schema, "title": "perhop experiment"}
