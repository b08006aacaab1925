# SPDX-License-Identifier: GPL-2.0-or-later
"""What bench-kernel has beyond one flow over a clean chain: several flows, meshes, errors, another reception rule.

A run's goodput is the sum of its flows', its round trip the mean of theirs, and beside both stands Jain's index: a sum
may also grow because a flow over few hops takes what others had.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import kernel_cells
from kernel_cells import Gain, Sample
from perhop.study import studies
from perhop.study.plan import make_plan
from perhop.study.results import Row, goodput_sum_bps, jain_of_flows
from perhop.study.summaries import Mean, mean
from robust.conditions import Ends, crossing, mesh

HOME = Path(__file__).with_name("kernel_home.yaml")
TCPS = ("cubic", "bbr")
# The flows begin one after the other, the last of them within the warm-up.
START_EVERY_S = 0.5
FLOW = {
    "tcp": "{{kind: tcp, src: {}, dst: {}, start_s: {}, variant: {}, sack: true, segment_bytes: 1448, "
    "max_window_packets: 44}}",
    # IP packets of 1500 bytes, as TCP's.
    "exact": "{{kind: exact, src: {}, dst: {}, start_s: {}, payload_bytes: 1472}}",
}


@dataclass(frozen=True)
class Condition:
    """One line of the tables."""

    title: str
    settings: tuple[str, ...]
    ends: Ends


def _chain(hops: int, spacing_m: int = 250) -> str:
    return f"topology={{kind: chain, hops: {hops}, spacing_m: {spacing_m}}}"


def conditions() -> dict[str, Condition]:
    """By name, in the order of the tables."""
    one: Ends = (("first", "last"),)
    found = {
        "same-4": Condition("two flows, same direction, 4 hops", (_chain(4),), 2 * one),
        "opposite-8": Condition("two flows, opposite, 8 hops", (_chain(8),), (*one, ("last", "first"))),
        "errors5-8": Condition("5 % frame errors, 8 hops", (_chain(8), "medium.frame_error_rate=0.05"), one),
    }
    for hops in (4, 8):
        settings = (_chain(hops, 200), "medium.reception=sinr")
        found[f"sinr-{hops}"] = Condition(f"sinr reception, 200 m, {hops} hops", settings, one)
    among, ends = crossing(4, both_ways=False)
    found["cross2-4"] = Condition("two flows crossing, 200 m, 4 hops", (among,), ends)
    for seed in (1, 2):
        among, ends = mesh(seed)
        found[f"mesh-{seed}"] = Condition(f"random mesh {seed}, {len(ends)} flows", (among,), ends)
    return found


QUICK = ("same-4", "mesh-1")

Key = tuple[str, str, str]  # condition, TCP, policy
Cells = dict[Key, dict[int, Sample]]  # by seed


@dataclass(frozen=True)
class Found:
    """What all conditions gave: of each TCP under each policy in Linux, and of EXACT, which is UDP, in ns-3."""

    cells: Cells
    exact: Mapping[str, Mapping[int, Sample]]

    def gains(self) -> dict[Key, Gain]:
        """Of each policy over the same TCP without one."""
        none = kernel_cells.label(kernel_cells.NONE)
        return {
            (name, tcp, policy): kernel_cells.gain(samples, self.cells[name, tcp, none])
            for (name, tcp, policy), samples in self.cells.items()
            if policy != none
        }


def run(
    names: Iterable[str],
    tcps: Iterable[str],
    policies: Iterable[str],
    seeds: Iterable[int],
    times: Iterable[str],
    out: Path,
    jobs: int | None,
    fresh: bool,
) -> Found:
    """The runs, or what is left of them; `times` set duration and warm-up. Raises PerhopError, SystemExit."""
    told = [f"seeds={list(seeds)}", *times]
    cells: Cells = {}
    exact: dict[str, dict[int, Sample]] = {}
    for name in names:
        condition = conditions()[name]
        for tcp in tcps:
            flows = _flows("tcp", condition.ends, kernel_cells.TCPS[tcp])
            settings = [*condition.settings, flows, f"policies=[{', '.join(policies)}]", *told]
            rows = _rows(settings, out / f"{name}-{tcp}", "kernel", jobs, fresh)
            cells |= {(name, tcp, policy): samples for policy, samples in samples_of(rows).items()}
        settings = [*condition.settings, _flows("exact", condition.ends), "exact.mode=m2", "exact.packets=false", *told]
        rows = _rows(settings, out / f"{name}-exact", "sim", jobs, fresh)
        (exact[name],) = samples_of(rows).values()
    return Found(cells, exact)


def _flows(kind: str, ends: Ends, *more: str) -> str:
    listed = (FLOW[kind].format(src, dst, START_EVERY_S * index, *more) for index, (src, dst) in enumerate(ends))
    return f"flows=[{', '.join(listed)}]"


def _rows(settings: list[str], out: Path, backend: str, jobs: int | None, fresh: bool) -> list[Row]:
    done = studies.run(make_plan(HOME, settings, out=out, backend=backend), jobs, fresh, check=False)
    kernel_cells.demand_complete(done.study, out.name)
    return done.results.flows


def samples_of(flows: Iterable[Row]) -> dict[str, dict[int, Sample]]:
    """By policy and seed, from the rows of a study, one a flow."""
    runs: dict[tuple[str, int], list[Row]] = {}
    for row in flows:
        runs.setdefault((row["policy"], row["seed"]), []).append(row)
    found: dict[str, dict[int, Sample]] = {}
    for (policy, seed), of in runs.items():
        rtt = mean(row["rtt_ms"] for row in of if row["rtt_ms"] is not None)
        window = mean(row["cwnd_packets"] for row in of if row["cwnd_packets"] is not None)
        found.setdefault(policy, {})[seed] = Sample(
            goodput_bps=goodput_sum_bps(of) or 0.0,
            rtt_ms=rtt.value if rtt else None,
            window_packets=window.value if window else None,
            timeouts=sum(row["timeouts"] or 0.0 for row in of),
            marks=0,
            jain=jain_of_flows(of) if len(of) > 1 else None,
        )
    return found


def fairness(samples: Mapping[int, Sample]) -> Mean | None:
    """Jain's index; None with a single flow."""
    return mean(sample.jain for sample in samples.values() if sample.jain is not None)
