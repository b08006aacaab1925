# SPDX-License-Identifier: GPL-2.0-or-later
"""What the configuration file of a DLEP modem may say (`perhop dlep --config FILE`); options go before it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, Field, ValidationError

from perhop.dlep import wire
from perhop.dlep.modem import networks
from perhop.errors import PerhopError
from perhop.experiment.load import explained, read
from perhop.experiment.schema import Section
from perhop.refusal import refused


def _router(text: str) -> str:
    try:
        networks((text,))
    except PerhopError:
        raise refused(
            f"is {text!r}, which is no address or network", "write 192.0.2.2, 192.0.2.0/28 or fe80::2"
        ) from None
    return text


class ModemFile(Section):
    """A modem's configuration file."""

    listen: list[str] = Field(default=["127.0.0.1"], min_length=1, description="addresses where sessions are taken")
    port: int = Field(default=wire.PORT, ge=1, le=65535, description="TCP port of sessions")
    interface: str | None = Field(default=None, description="where routers may discover the modem; null: nowhere")
    routers: list[Annotated[str, AfterValidator(_router)]] = Field(
        default=[], description="addresses and networks of the routers that are answered; none: any"
    )
    one_hop_only: bool = Field(default=True, description="GTSM: what comes from farther than one hop is dropped")
    interval_s: float = Field(default=1.0, ge=0.1, description="between two looks at the node")
    heartbeat_s: float = Field(default=1.0, ge=0.1, le=60, description="between heartbeats")


def load_file(file: Path | None, options: dict[str, Any]) -> ModemFile:
    """The file's settings, and over them the options that are not None. Raises ExperimentError: file, line, field."""
    given = {name: value for name, value in options.items() if value is not None}
    if file is None:
        return ModemFile.model_validate(given)
    document = read(file, "host/node/dlep-example.yaml")
    try:
        return ModemFile.model_validate({**document.values, **given})
    except ValidationError as error:
        raise explained(document, error, ModemFile) from None
