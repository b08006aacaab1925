# SPDX-License-Identifier: GPL-2.0-or-later
"""The timeline of the air: every frame of the recorded run, packed for the script that draws any stretch of it."""

from __future__ import annotations

import base64
import json
import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np

from perhop.experiment import profiles
from perhop.report import air, capture
from perhop.report.capture import Frames
from perhop.report.events import Mark
from perhop.report.focus import Focus

# What a page takes of a run: about 800 kB for the frames.
FRAMES_MAX = 100_000
# Nodes that have a lane: those with the most air time.
LANES_MAX = 32
# Where a capture has more, it is shown from so long before the first event on.
BEFORE_EVENT_S = 1.0


@dataclass(frozen=True)
class Timeline:
    """`data` is what the script unpacks: columns of little-endian numbers, compressed by zlib, in base64."""

    data: str
    about: str  # JSON
    frames: int
    left_out: int
    from_s: float
    to_s: float
    lanes: int
    nodes: int
    unknown: str  # why NAV and waits are not shown; empty where they are
    lost: dict[str, int]
    title: str


def make(focus: Focus, marks: list[Mark]) -> Timeline | None:
    """None where no packets of a simulated run were recorded."""
    outcome = focus.outcome
    file = outcome.folder / "packets.pcapng" if outcome.folder is not None else None
    if not focus.recorded or file is None or not file.is_file() or "realtime" in outcome.run.config:
        return None
    run = outcome.run.config
    profile = profiles.find(run["mac"]["profile"])
    try:
        frames = capture.read(file, profile, FRAMES_MAX)
        if frames is not None and frames.left_out and marks:
            from_us = int(1e6 * max(0.0, marks[0].at_s - BEFORE_EVENT_S))
            if from_us > frames.start_us[-1]:
                frames = capture.read(file, profile, FRAMES_MAX, from_us) or frames
    except ValueError:
        # A run that was killed leaves half a capture, which its message tells.
        return None
    if frames is None:
        return None
    lanes = _lanes(frames)
    unknown = _unknown(run)
    reserved, waits = (None, None) if unknown else air.reconstruct(frames, run, profile, lanes)
    columns = _columns(frames, reserved, waits)
    about = {
        "columns": [[name, kind, len(values)] for name, kind, values in columns],
        "lanes": lanes,
        "kinds": capture.KINDS,
        "fates": capture.FATES,
        "nobody": capture.NOBODY,
        "marks": [[mark.at_s, mark.words] for mark in marks],
        "start_us": int(_first_sight_us(frames)),
    }
    packed = b"".join(values.tobytes() for _, _, values in columns)
    lost = {words: int((frames.fate == index).sum()) for index, words in enumerate(capture.FATES) if index}
    return Timeline(
        base64.b64encode(zlib.compress(packed, 9)).decode(),
        json.dumps(about).replace("<", "\\u003c"),
        len(frames.start_us),
        frames.left_out,
        float(frames.start_us[0]) / 1e6,
        float(frames.end_us[-1]) / 1e6,
        len(lanes),
        frames.nodes,
        unknown,
        {words: count for words, count in lost.items() if count},
        outcome.run.label,
    )


def _unknown(run: dict[str, Any]) -> str:
    """Why the frames do not tell what their senders waited for."""
    if any(event["kind"] == "move" for event in run.get("events", [])):
        return "nodes move"
    if run["mac"].get("access_mode", "dcf") != "dcf":
        return f"channel access is that of {run['mac']['access_mode']}"
    if run["outputs"].get("pcapng_nodes"):
        return "the capture has the frames of chosen nodes only"
    return ""


def _lanes(frames: Frames) -> list[int]:
    air_us = np.bincount(frames.node, weights=frames.air_us, minlength=1)
    busiest = [int(node) for node in np.argsort(-air_us, kind="stable")[:LANES_MAX] if air_us[node] > 0]
    return sorted(busiest)


def _first_sight_us(frames: Frames) -> int:
    """Where the page opens: at a frame that collided, a little before; at the beginning where none did."""
    lost = np.flatnonzero(frames.fate == 1)
    at = lost[len(lost) // 2] if len(lost) else 0
    return max(0, int(frames.start_us[at]) - 4000)


def _columns(
    frames: Frames, reserved: air.Reservations | None, waits: air.Waits | None
) -> list[tuple[str, str, np.ndarray]]:
    """Differences of times where these compress better, in the order of their size in bytes, largest first."""
    columns: list[tuple[str, str, np.ndarray]] = [
        ("start", "u4", np.diff(frames.start_us, prepend=0).astype("<u4")),
    ]
    if reserved is not None and waits is not None:
        order = np.argsort(reserved.start_us, kind="stable")
        start_us = reserved.start_us[order]
        access = waits.idle_from_us != air.NO_ACCESS
        idle_us = np.where(access, np.clip(frames.start_us - waits.idle_from_us, 0, 2**32 - 2), 2**32 - 1)
        columns += [
            ("idle", "u4", idle_us.astype("<u4")),
            ("nav_start", "u4", np.diff(start_us, prepend=0).astype("<u4")),
            ("nav_length", "u2", np.clip((reserved.end_us - reserved.start_us)[order], 0, 2**16 - 1).astype("<u2")),
            ("nav_node", "u2", reserved.node[order].astype("<u2")),
            ("ifs", "u2", np.where(access, waits.ifs_us, 0).astype("<u2")),
        ]
    columns += [
        ("air", "u2", np.clip(frames.air_us, 0, 2**16 - 1).astype("<u2")),
        ("node", "u2", frames.node.astype("<u2")),
        ("receiver", "u2", frames.receiver.astype("<u2")),
        ("duration", "u2", frames.duration_us.astype("<u2")),
        ("bytes", "u2", frames.psdu_bytes.astype("<u2")),
        ("kind", "u1", (frames.kind | frames.retry << 2 | frames.fate << 3).astype("u1")),
    ]
    return columns
