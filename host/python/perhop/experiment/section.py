# SPDX-License-Identifier: GPL-2.0-or-later
"""What a section of an experiment file is, and the section of a link with a data rate of its own."""

from __future__ import annotations

from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from perhop.experiment.document import Document, Place
from perhop.experiment.explain import explained


class _Explained(type(BaseModel)):
    """Makes a section that a program writes wrongly, `Chain(hops=0)`, an error as of a file: with field and remedy."""

    def __call__(cls, *positional: Any, **values: Any) -> Any:
        try:
            return super().__call__(*positional, **values)
        except ValidationError as error:
            document = Document(cls.__name__, values, {(): Place(cls.__name__, None)})
            raise explained(document, error, cls) from None


class Section(BaseModel, metaclass=_Explained):
    """Base of every section: unknown fields, quoted numbers, infinities and NaN are refused."""

    # What a file may say in its place and is no field of it.
    beside_fields: ClassVar[tuple[str, ...]] = ()

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


class Link(Section):
    """A link whose DATA frames have a rate of their own."""

    a: int = Field(ge=0, description="a node")
    b: int = Field(ge=0, description="another, which node a sends to over this link")
    data_rate_mbps: float = Field(gt=0, description="rate of DATA frames over this link, one of the profile's")
    both_ways: bool = Field(default=True, description="false: from a to b only")
