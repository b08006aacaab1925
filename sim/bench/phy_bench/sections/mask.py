# SPDX-License-Identifier: GPL-2.0-or-later
"""How far the transmitter's spectrum is below the mask."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from perhop.report.figures import COLOURS, drawing

from phy_bench import spectrum
from phy_bench.points import Bench
from phy_bench.sections.section import Section

SAMPLES_PER_CHIP = 4


class TransmittedSpectrum(Section):
    """It is below the mask."""

    title = "Spectrum"

    def measure(self, bench: Bench) -> None:
        self._found = spectrum.of_transmitter(SAMPLES_PER_CHIP)
        # At 44 Msps there are frequencies beside the channel.
        assert self._found.side_margin_db is not None
        self.margin_db = self._found.side_margin_db

    def lines(self) -> list[str]:
        return [f"the spectrum is {self.margin_db:.1f} dB below the mask from 11 to 22 MHz"]

    def wrong(self) -> list[str]:
        return ["the spectrum is above the mask"] if self.margin_db < 0 else []

    def page(self, folder: Path) -> str:
        self._draw(folder / "spectrum.svg")
        return f"""From 11 to 22 MHz beside the carrier the transmitter's samples at 44 Msps are
{self.margin_db:.0f} dB below the mask ({spectrum.SIDE_DBR:g} dBr). Beyond 22 MHz they have no power; the images of a
converter there are for the radio's filter.

![Spectrum and mask](spectrum.svg)"""

    def result(self) -> dict[str, Any]:
        return {"mask_margin_db": round(self.margin_db, 1)}

    def _draw(self, file: Path) -> None:
        with drawing(file) as (_, (axis,)):
            axis.plot(self._found.mhz, self._found.dbr, color=COLOURS[0], linewidth=1.2, label="44 Msps, in 0.1 MHz")
            edges = np.linspace(-22, 22, 4401)
            axis.plot(edges, spectrum.mask_dbr(edges), color=COLOURS[1], linewidth=1.8, label="mask")
            axis.set_title(f"The transmitter's spectrum: {self.margin_db:.0f} dB below the mask", loc="left")
            axis.set_xlabel("MHz from the carrier")
            axis.set_ylabel("dB against the strongest")
            axis.set_ylim(-80, 5)
            axis.legend(loc="upper right")
