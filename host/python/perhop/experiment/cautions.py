# SPDX-License-Identifier: GPL-2.0-or-later
"""What an experiment file asks for that works, but may surprise its author: said before the runs, never refused."""

from __future__ import annotations

from perhop.experiment import schema as ex
from perhop.experiment.motion import Mobile
from perhop.experiment.rules import IP_FLOWS

SLOWING = (
    "topology.min_speed_mps is 0: slow legs last long, so that nodes get slower and slower on average as time goes by "
    "(random waypoint has no steady state then). Give a least speed, or tell the time with the results."
)

STATIC_ROUTES = (
    "routing is static, and the nodes move: routes stay those of the start, whatever becomes of their links. "
    "Give routing: aodv, or static if that is what you want to measure."
)


def cautions(experiment: ex.Experiment) -> list[str]:
    """A sentence for a terminal for each."""
    found = []
    topology = experiment.topology
    if isinstance(topology, ex.RandomWaypoint) and topology.min_speed_mps == 0:
        found.append(SLOWING)
    hops = any(isinstance(flow, IP_FLOWS) for flow in experiment.flows)
    if isinstance(topology, Mobile) and hops and experiment.routing.protocol == "static":
        found.append(STATIC_ROUTES)
    return found
