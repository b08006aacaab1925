# SPDX-License-Identifier: GPL-2.0-or-later
"""What a section of an experiment file is, and the section of a link with a data rate of its own."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class Section(BaseModel):
    """Base of every section: unknown fields, quoted numbers, infinities and NaN are refused."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


class Link(Section):
    """A link whose DATA frames have a rate of their own."""

    a: int = Field(ge=0, description="a node")
    b: int = Field(ge=0, description="another, which node a sends to over this link")
    data_rate_mbps: float = Field(gt=0, description="rate of DATA frames over this link, one of the profile's")
    both_ways: bool = Field(default=True, description="false: from a to b only")
