# SPDX-License-Identifier: GPL-2.0-or-later
"""What happens during a run, in words, and where it is marked in figures over time."""

from __future__ import annotations

from dataclasses import dataclass

from matplotlib.axes import Axes

from perhop.experiment import schema as ex

# Marks beyond this many are left to the experiment file, which the page has, too.
MARKS_MAX = 16
# Marks nearer to each other than this share of the axis have one sign.
NEAR_SHARE = 0.05


@dataclass(frozen=True)
class Mark:
    at_s: float
    words: str


def marks(experiment: ex.Experiment) -> list[Mark]:
    """The events of the file, and flows that begin or end while others run, in order of time."""
    found = [Mark(event.at_s, _words(event)) for event in experiment.events]
    started = min(flow.start_s for flow in experiment.flows)
    for index, flow in enumerate(experiment.flows):
        if flow.start_s > started:
            found.append(Mark(flow.start_s, f"flow {index} begins"))
        if flow.stop_s is not None and flow.stop_s < experiment.duration_s:
            found.append(Mark(flow.stop_s, f"flow {index} ends"))
    within = [mark for mark in found if 0 < mark.at_s <= experiment.duration_s]
    return sorted(within, key=lambda mark: mark.at_s)


def _words(event: ex.Event) -> str:
    match event:
        case ex.RouteEvent():
            arrow = " ↔ " if event.both_ways else " → "
            return "packets take " + arrow.join(str(node) for node in event.path)
        case ex.LinkEvent():
            return f"link {event.a}-{event.b} {'breaks' if event.kind == 'link_down' else 'is back'}"
        case ex.NodeEvent():
            return f"node {event.node} {'fails' if event.kind == 'node_down' else 'is back'}"
        case ex.LossEvent():
            return f"{event.frame_error_rate:.0%} of DATA frames are lost at random".replace("%", " %")
        case ex.MoveEvent():
            speed = "" if event.speed_mps is None else f" at {event.speed_mps:g} m/s"
            return f"node {event.node} moves to ({event.x_m:g}, {event.y_m:g}) m{speed}"


def draw(axis: Axes, shown: list[Mark]) -> None:
    """A numbered line at each mark; the numbers are those of the list beside the figure."""
    low_s, high_s = axis.get_xlim()
    groups: list[list[int]] = []
    for index, mark in enumerate(shown):
        if not low_s <= mark.at_s <= high_s:
            continue
        axis.axvline(mark.at_s, color="#5B6673", linestyle=(0, (4, 3)), linewidth=1.1)
        if groups and mark.at_s - shown[groups[-1][-1]].at_s < NEAR_SHARE * (high_s - low_s):
            groups[-1].append(index)
        else:
            groups.append([index])
    for group in groups:
        sign = f"{group[0] + 1}" if len(group) == 1 else f"{group[0] + 1}-{group[-1] + 1}"
        middle_s = (shown[group[0]].at_s + shown[group[-1]].at_s) / 2
        axis.annotate(
            sign,
            (middle_s, 1.0),
            xycoords=("data", "axes fraction"),
            xytext=(0, 2),
            textcoords="offset points",
            ha="center",
            va="bottom",
            fontsize=10,
            color="#1B232C",
        )
