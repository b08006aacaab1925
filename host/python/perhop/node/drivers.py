# SPDX-License-Identifier: GPL-2.0-or-later
"""The section `driver` of a node's file: a model a driver of host/drivers, from what the daemon says of them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, Union

from pydantic import AfterValidator, BeforeValidator, Field, create_model

from perhop.experiment.schema import Section
from perhop.refusal import refused

MOST_SOCKET_BYTES = 107
# Written by host/drivers/describe.py from `perhop-node --drivers`.
LIST = Path(__file__).with_name("drivers.json")


def _mac(value: Any) -> Any:
    octets = str(value).lower().split(":")
    if len(octets) != 6 or not all(len(octet) == 2 and set(octet) <= set("0123456789abcdef") for octet in octets):
        raise refused(f"is {value!r}, which is no MAC address", "write 02:00:00:00:00:02")
    return ":".join(octets)


def _short(path: str) -> str:
    if len(path.encode()) > MOST_SOCKET_BYTES:
        raise refused(f"has {len(path.encode())} bytes", f"choose a path of at most {MOST_SOCKET_BYTES} bytes")
    return path


Mac = Annotated[str, BeforeValidator(_mac)]
Socket = Annotated[str, Field(min_length=1), AfterValidator(_short)]
Share = Annotated[float, Field(ge=0, le=1)]


class Faults(Section):
    """What is done to received packets, each with its own probability, all from one seed. For tests."""

    seed: int = Field(default=1, ge=0, lt=2**63)
    drop: Share = 0.0
    duplicate: Share = 0.0
    corrupt: Share = Field(default=0.0, description="one to four bytes get other values")
    delayed: Share = 0.0
    delay_us: int = Field(default=10_000, ge=1, le=60_000_000, description="of the packets that are delayed")
    reorder: Share = Field(default=0.0, description="the next packet passes first")


class Capture(Section):
    """All packets between the daemon and its MAC, as 802.11 frames in a pcapng file."""

    file: str = Field(min_length=1)
    most_bytes: int = Field(default=1_000_000_000, ge=1, description="the file does not grow beyond")


class AnyDriver(Section):
    faults: Faults | None = None
    capture: Capture | None = None


@dataclass(frozen=True)
class Entry:
    """What people are told of a driver whose MAC does not come up."""

    kind: str
    if_away: str  # what to do
    place: tuple[str, ...]  # fields that say which device it is, or where

    def said(self, driver: dict[str, Any]) -> str:
        """Which MAC the section `driver` means."""
        return ", ".join(f"{name} {driver[name]}" for name in self.place if name in driver)


def _field(entry: dict[str, Any]) -> tuple[Any, Any]:
    told: dict[str, Any] = {"description": entry["meaning"]}
    for bound, name in (("ge", "from"), ("le", "to"), ("gt", "above")):
        if name in entry:
            told[bound] = entry[name]
    types = {"socket": Socket, "mac": Mac, "count": int, "integer": int, "quantity": float}
    kind: Any = types.get(entry["is"], str)
    if entry["is"] == "word":
        kind = Literal[tuple(entry["words"])]
    if entry["is"] == "text":
        told["min_length"] = 1
    if entry.get("optional"):
        return kind | None, Field(default=None, **told)
    return kind, Field(default=entry.get("otherwise", ...), **told)


def _model(entry: dict[str, Any]) -> Any:
    fields: dict[str, Any] = {field["name"]: _field(field) for field in entry["fields"]}
    return create_model(
        entry["kind"].capitalize(),
        __base__=AnyDriver,
        __doc__=entry["meaning"],
        kind=(Literal[entry["kind"]], ...),
        **fields,
    )


_listed = json.loads(LIST.read_text())["drivers"]
ENTRIES = {
    entry["kind"]: Entry(
        entry["kind"],
        entry["if_away"],
        tuple(field["name"] for field in entry["fields"] if field.get("says_where")),
    )
    for entry in _listed
}
Driver = Annotated[Union[tuple(_model(entry) for entry in _listed)], Field(discriminator="kind")]  # noqa: UP007
