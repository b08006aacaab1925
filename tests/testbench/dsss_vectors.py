# SPDX-License-Identifier: GPL-2.0-or-later
"""DSSS waveforms of another implementation: ../shared/vectors/dsss, read in place; tests say where they are absent."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

HERE = Path(__file__).resolve()
FOLDER = next(
    (
        parent / "shared" / "vectors" / "dsss"
        for parent in HERE.parents
        if (parent / "shared" / "vectors" / "dsss" / "frame.txt").is_file()
    ),
    None,
)
NAMES = {"1long44": 0, "2long44": 1}
"""Files, and the rate index of each."""

SAMPLES_PER_CHIP = 4
FIRST_CHIP = 27
"""Sample at the middle of the first chip."""


@dataclass(frozen=True)
class Waveform:
    """One of the recordings."""

    rate: int
    psdu: bytes
    samples: NDArray[np.int64]
    """I and Q in two columns, four samples a chip, 8 bits each."""


def folder() -> Path:
    """Where the waveforms are; the test is skipped, loudly, where they are not."""
    if FOLDER is None:
        pytest.skip("NO THIRD-PARTY WAVEFORMS: ../shared/vectors/dsss is absent; only our own were tried")
    return FOLDER


def waveform(name: str) -> Waveform:
    """One of NAMES."""
    psdu = bytes.fromhex((folder() / "frame.txt").read_text())
    data = np.fromfile(folder() / f"{name}.mf.bin", dtype=np.int8)
    samples = data[: len(data) // 2 * 2].reshape(-1, 2).astype(np.int64)
    return Waveform(NAMES[name], psdu, samples)
