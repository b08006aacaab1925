# SPDX-License-Identifier: GPL-2.0-or-later
"""docs/robustness.md and its figure, from what bench-robust has judged.

What was tried for a condition that does not hold is written by hand in tried.yaml, by the condition's name or family.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import Path

import yaml
from perhop import files, paths
from perhop.errors import PerhopError
from perhop.report.figures import COLOURS, MARKERS, drawing

from robust import judgement
from robust.judged import Grade, Judged
from robust.judgement import Verdict

LINE_CHARACTERS = 120
TRIED = Path(__file__).with_name("tried.yaml")
FIGURE = "robustness.svg"

# Families share a colour and a marker with what they are about.
GROUPS = {
    "one clean flow": ("250m", "200m", "sack"),
    "frame errors": ("errors5", "errors10"),
    "other rates and sizes": ("slow-link", "11mbps", "500bytes"),
    "sinr reception": ("sinr",),
    "ns-2's MAC": ("ns2-mac",),
    "two flows on a chain": ("same", "opposite"),
    "crossing flows": ("cross2", "cross4"),
    "random meshes": ("mesh",),
}


def tried() -> dict[str, str]:
    """What was tried, by condition or family."""
    return yaml.safe_load(TRIED.read_text(encoding="utf-8")) or {}


def write(judged: Sequence[Judged], grade: Grade, median: float, page: Path, repeated: int = 0) -> None:
    """The page and, beside it, its figure. `repeated` runs of rivals that an older build made gave the same again, 0
    where this build made all. Raises PerhopError when tried.yaml names what there is not."""
    notes = tried()
    known = {name for each in judged for name in (each.condition.name, each.condition.family)}
    if unknown := sorted(set(notes) - known):
        raise PerhopError(f"{TRIED.name} names {', '.join(unknown)}, which is no condition", "mend it")
    text = text_of(judged, grade, median, notes, repeated)  # which names the version: before anything is written
    draw(judged, page.with_name(FIGURE))
    files.write_text(page, text)


def draw(judged: Sequence[Judged], file: Path) -> None:
    """Goodput and round trip, each over that of the best rival; a point a condition."""
    with drawing(file, height=5) as (_, (axis,)):
        for number, (name, families) in enumerate(GROUPS.items()):
            verdicts = [each.verdict for each in judged if each.condition.family in families]
            if not verdicts:
                continue
            style = {"color": COLOURS[number], "marker": MARKERS[number], "linestyle": "none", "elinewidth": 0.6}
            axis.errorbar(
                [verdict.rtt_ratio.value for verdict in verdicts],
                [verdict.goodput_ratio.value for verdict in verdicts],
                yerr=[verdict.goodput_ratio.half for verdict in verdicts],
                label=name,
                markersize=5,
                **style,
            )
        axis.axhline(judgement.LEAST_GOODPUT_RATIO, color="#5B6673", linewidth=0.8, linestyle="--")
        axis.axvline(judgement.MOST_ROUND_TRIP_RATIO, color="#5B6673", linewidth=0.8, linestyle="--")
        axis.set_xlabel("round trip, of that of the best rival")
        axis.set_ylabel("goodput, of that of the best rival")
        axis.set_title("Right of or below a dashed line a condition does not hold", loc="left")
        axis.legend(loc="center left", bbox_to_anchor=(1, 0.5))


def text_of(judged: Sequence[Judged], grade: Grade, median: float, notes: dict[str, str], repeated: int = 0) -> str:
    """The page."""
    older = (
        f" The rivals' runs are older than the last change of the combined policy, which they do not use: {repeated} "
        "of them, every rival in each family of conditions, were repeated and gave the same."
        if repeated
        else ""
    )
    failed = [each for each in judged if not each.verdict.holds]
    above = [run for each in judged for run in each.above_bound]
    bounded = sum(each.bounds_known for each in judged)
    ratios = [each.verdict.goodput_ratio.value for each in judged]
    ahead = sum(ratio > 1 for ratio in ratios)
    median_holds = median <= judgement.MOST_MEDIAN_ROUND_TRIP_RATIO
    conclusion = (
        f"The combined policy holds in {len(judged) - len(failed)} of {len(judged)} conditions against every rival at "
        f"its best. It has more goodput than the best rival in {ahead} of them, {_percent(min(ratios))} of it in the "
        f"worst and {_percent(max(ratios))} in the best. "
        f"The median of its round trip over the best rival's is {median:.2f}"
        + (
            "."
            if median_holds
            else f", which is above the {judgement.MOST_MEDIAN_ROUND_TRIP_RATIO} that was asked for."
        )
    )
    bound = (
        f"None of the {bounded} runs whose airtime bound is known exceeded it."
        if not above
        else f"{len(above)} of the {bounded} runs whose airtime bound is known exceeded it: "
        + ", ".join("{condition} ({policy}, seed {seed})".format(**run) for run in above)
        + "."
    )
    least = _percent(judgement.LEAST_GOODPUT_RATIO, 0)
    median_words = f"the median of the round-trip ratios is at most {judgement.MOST_MEDIAN_ROUND_TRIP_RATIO}"
    seeds = f"{grade.verdict_seeds[0]} to {grade.verdict_seeds[-1]}"
    tuning = ", ".join(str(seed) for seed in grade.tuning_seeds)
    return f"""# The combined policy away from home

{textwrap.fill(conclusion, LINE_CHARACTERS)}

Written by `sim/bench/bench_robust.py --document`; `make bench-robust` measures the same. Version
{paths.version()["git"]}, {grade.name} grade: runs of {grade.duration_s:g} s with seeds {seeds}, and to
{grade.more_seeds[-1]} where flows cross and on meshes; means with 95 % intervals by Student's t. The policy was made
with other seeds.{older}

{_failed_section(failed, notes)}
## What is judged

`combined` against each rival on its own, in every [condition](../sim/bench/robust/conditions.py) against all
[rivals](../sim/bench/robust/rivals.py). The best rival is the one with the most goodput. A rival with several
candidates, such as fixed windows, is judged with the one that had the most goodput in that condition with seeds
{tuning}.

| in every condition | over all |
|---|---|
| at least {least} of the best rival's goodput, all flows together | {median_words} |
| a round trip not above the best rival's, as the mean over packets | no run exceeds its airtime bound |
| Jain's index at most {judgement.MOST_JAIN_LOSS} below the best rival's | |
| no rival is better in both goodput and round trip | |
| at home: the lead that the policy had when this bench was made, less three points | |

A ratio is the mean of each seed's own. A judgement takes the mean; the interval says how sure it is, and excuses
nothing. {bound}

![Goodput and round trip of the combined policy over those of the best rival, a point a condition]({FIGURE})

## Every condition

Goodput in kb/s, round trip in ms. Ratios are those of `combined` to the best rival.

| condition | best rival | its goodput, RTT | combined | goodput ratio | RTT ratio | Jain: rival, combined | holds |
|---|---|---|---|---|---|---|---|
{chr(10).join(_row(each) for each in judged)}
"""


def _failed_section(failed: Sequence[Judged], notes: dict[str, str]) -> str:
    """Conditions that do not hold, each with what was tried."""
    if not failed:
        return ""
    lines = []
    said: set[str] = set()
    for each in failed:
        note = notes.get(each.condition.name) or notes.get(each.condition.family) or "Nothing was tried yet."
        if note in said and each.condition.family in notes:
            note = "What was tried is said above."
        said.add(note)
        lines.append(f"- **{each.condition.title}**: {_why(each)}. {' '.join(note.split())}")
    return "## Where it does not hold\n\n" + "\n".join(lines) + "\n"


def _why(each: Judged) -> str:
    """What of a condition does not hold, in words."""
    verdict = each.verdict
    rival = each.name_of(verdict.best)
    better = ", ".join(f"`{each.name_of(name)}`" for name in verdict.better_in_both)
    words = {
        judgement.GOODPUT: f"{_ratio(verdict, 'goodput_ratio')} of the goodput of `{rival}`",
        judgement.ROUND_TRIP: f"{_ratio(verdict, 'rtt_ratio')} of the round trip of `{rival}`",
        judgement.FAIRNESS: f"Jain's index {-verdict.jain_difference.value:.3f} below that of `{rival}`",
        judgement.BETTER_IN_BOTH: f"{better} better in both goodput and round trip",
        judgement.HOME_LEAD: f"a lead of {_percent(verdict.goodput_ratio.value - 1)}, "
        f"where {_percent(each.condition.least_lead or 0)} was asked for",
    }
    return ", ".join(words[name] for name in verdict.failed)


def _ratio(verdict: Verdict, name: str) -> str:
    value = getattr(verdict, name)
    return f"{_percent(value.value)} (± {100 * value.half:.1f})"


def _percent(share: float, digits: int = 1) -> str:
    return f"{100 * share:.{digits}f} %"


def _row(each: Judged) -> str:
    verdict, rival = each.verdict, each.verdict.rival
    ours = verdict.combined
    cells = [
        each.condition.title,
        each.name_of(verdict.best),
        f"{rival.goodput_bps.value / 1e3:.1f}, {rival.rtt_ms.value:.0f}",
        f"{ours.goodput_bps.value / 1e3:.1f}, {ours.rtt_ms.value:.0f}",
        f"{verdict.goodput_ratio.value:.3f} ± {verdict.goodput_ratio.half:.3f}",
        f"{verdict.rtt_ratio.value:.2f} ± {verdict.rtt_ratio.half:.2f}",
        f"{rival.jain.value:.2f}, {ours.jain.value:.2f}",
        "yes" if verdict.holds else "**no**",
    ]
    return f"| {' | '.join(cells)} |"
