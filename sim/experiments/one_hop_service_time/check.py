# SPDX-License-Identifier: GPL-2.0-or-later
"""Compares the three measurements of service time with the sum of the exchange's parts.

Formula: DIFS + mean backoff + RTS + CTS + DATA + MAC ACK + 3 SIFS for the MPDU actually sent (MAC header, LLC/SNAP,
path header, IP packet, FCS). The mean backoff of a sender that never collides is CWmin / 2 slots (IEEE 802.11-2012,
9.3.3); a saturated one waits it before every packet, because post-backoff follows every MAC ACK (9.3.4.3).
"""

from __future__ import annotations

import statistics
from pathlib import Path

from perhop.registers import spec_generated as spec
from perhop.study.check import Check
from perhop.study.results import Results, Row

TOLERANCE = 0.01
DATA_RATE_INDEX = 1  # 2 Mb/s

MEASUREMENTS = {
    "mean of the completions": "service_time_us",
    "neighbour table": "table_mean_service_us",
    "path header at the far end": "path_header_delay_us",
}


def expected_us(profile_name: str, ip_bytes: int) -> float:
    """The service time that the formula gives for an IP packet of `ip_bytes`."""
    profile = spec.PROFILES[profile_name]
    mpdu_bytes = spec.MAC_HEADER_BYTES + spec.LLC_SNAP_BYTES + spec.PATH_HEADER_BYTES + ip_bytes + spec.FCS_BYTES
    control = profile.control_rate_index
    return (
        profile.difs_us
        + profile.cw_min / 2 * profile.slot_us
        + spec.airtime_us(profile, control, spec.RTS_BYTES)
        + spec.airtime_us(profile, control, spec.CTS_BYTES)
        + spec.airtime_us(profile, DATA_RATE_INDEX, mpdu_bytes)
        + spec.airtime_us(profile, control, spec.MAC_ACK_BYTES)
        + 3 * profile.sifs_us
    )


def check(results: Results, folder: Path) -> Check:
    """Every measurement within `TOLERANCE` of the formula, over all seeds."""
    lines = [f"{'IP bytes':>8}  {'measurement':<27} {'measured us':>11} {'formula us':>10} {'error':>7}"]
    passed = True
    cases = []
    by_size: dict[int, list[Row]] = {}
    for row in results.hops:
        if row["direction"] != "return":
            by_size.setdefault(int(row["sweep.flows.0.ip_bytes"]), []).append(row)
    for ip_bytes, rows in by_size.items():
        formula_us = expected_us(rows[0]["profile"], ip_bytes)
        case = {"ip_bytes": ip_bytes, "formula_us": formula_us}
        for name, column in MEASUREMENTS.items():
            values = [row[column] for row in rows if row[column]]
            if len(values) < len(rows):
                lines.append(f"{ip_bytes:>8}  {name:<27} {'none':>11}")
                passed = False
                continue
            measured_us = statistics.fmean(values)
            error = measured_us / formula_us - 1
            within = abs(error) <= TOLERANCE
            passed &= within
            mark = "" if within else f"  more than {TOLERANCE:.0%}"
            lines.append(f"{ip_bytes:>8}  {name:<27} {measured_us:>11.1f} {formula_us:>10.1f} {error:>+7.2%}{mark}")
            case[column] = round(measured_us, 2)
        cases.append(case)
    return Check(passed and bool(cases), lines, {"cases": cases})
