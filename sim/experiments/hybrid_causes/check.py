# SPDX-License-Identifier: GPL-2.0-or-later
"""Row S-08: how fair two flows are when each of the supposed causes of capture is taken away."""

from __future__ import annotations

from pathlib import Path

from perhop.study.check import Check, RowVerdict
from perhop.study.results import Results, Row, jain
from perhop.study.summaries import Mean, mean

ALL_SENSED_M = 1300
NOTHING = {"sensed": False, "csma": False, "short_rto": False, "limited": False}
# Name: what of NOTHING is taken away.
CAUSES = {
    "hidden and exposed nodes": "sensed",
    "DCF's exponential back-off": "csma",
    "TCP's backed off timeout": "short_rto",
    "windows that know nothing of the MAC": "limited",
}


def case_of(row: Row) -> tuple[bool, ...]:
    """What was taken away from a run, in the order of NOTHING."""
    return (
        row["sweep.medium.cs_range_m"] == ALL_SENSED_M,
        row["sweep.mac.access_mode"] == "csma",
        "max_rto_ms" in str(row["sweep.flows"]),
        row["policy"] == "delay",
    )


def check(results: Results | None, folder: Path) -> Check:
    """Capture is there with all causes, and less of it without each of them."""
    assert results is not None
    runs: dict[str, list[Row]] = {}
    for row in results.flows:
        runs.setdefault(row["run"], []).append(row)
    samples: dict[tuple[bool, ...], list[list[Row]]] = {}
    for rows in runs.values():
        samples.setdefault(case_of(rows[0]), []).append(rows)

    def index(*taken: str) -> Mean:
        case = tuple(name in taken for name in NOTHING)
        found = mean(jain([row["goodput_bps"] for row in rows]) for rows in samples[case])
        assert found is not None
        return found

    base = index()
    without = {name: index(taken) for name, taken in CAUSES.items()}
    missed = [name for name, found in without.items() if found.value <= base.value]
    words = "; ".join(f"without {name} {found.value:.2f} ± {found.half:.2f}" for name, found in without.items())
    measured = f"Jain's index {base.value:.2f} ± {base.half:.2f} with all causes; {words}"
    evidence = (
        f"Taken away alone, these do not make the two flows fairer: {', '.join(missed)}. CSMA's random times stand for "
        "a back-off that does not grow; it has no RTS/CTS either, and sends at once when the medium is idle."
    )
    verdict = "pass" if not missed else "finding" if len(missed) < len(CAUSES) else "fail"
    row = RowVerdict(verdict, measured, evidence=evidence if verdict == "finding" else "")
    lines = [measured]
    for case, found in sorted(samples.items()):
        inward, outward = (mean(rows[flow]["goodput_bps"] for rows in found) for flow in (0, 1))
        assert inward is not None and outward is not None
        names = [name for name, flag in zip(NOTHING, case, strict=True) if flag] or ["all causes"]
        lines.append(f"{' + '.join(names)}: in {inward.value / 1e3:.0f}, out {outward.value / 1e3:.0f} kb/s")
    numbers = {name: round(found.value, 4) for name, found in without.items()}
    return Check(verdict != "fail", lines, {"jain": numbers}, [], {"S-08": row})
