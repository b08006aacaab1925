# SPDX-License-Identifier: GPL-2.0-or-later
"""What an experiment file asks for that works, but may surprise its author: said before the runs, never refused."""

from __future__ import annotations

from perhop.experiment import schema as ex
from perhop.experiment import topology as topo
from perhop.experiment.motion import Mobile
from perhop.experiment.rules import IP_FLOWS

HELLOS_ON_A_MESH = (
    "exact.mode is m2 by default, and this topology is a mesh: the hellos of m2 take air from every node in range and "
    "can jam it (two crossing flows of 4 hops on a 9x9 grid got 18 kb/s, with m1 361 kb/s). "
    "Give exact.mode: m1, or m2 if that is what you want to measure."
)


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
    has_exact = any(isinstance(flow, ex.ExactFlow) for flow in experiment.flows)
    if has_exact and "mode" not in experiment.exact.model_fields_set and is_mesh(experiment):
        found.append(HELLOS_ON_A_MESH)
    topology = experiment.topology
    if isinstance(topology, ex.RandomWaypoint) and topology.min_speed_mps == 0:
        found.append(SLOWING)
    hops = any(isinstance(flow, IP_FLOWS) for flow in experiment.flows)
    if isinstance(topology, Mobile) and hops and experiment.routing.protocol == "static":
        found.append(STATIC_ROUTES)
    return found


def is_mesh(experiment: ex.Experiment) -> bool:
    """Whether a node has more than two neighbours, as none has in a chain or a ring; nodes that move may have them."""
    if isinstance(experiment.topology, Mobile):
        return True
    nodes = topo.positions(experiment.topology, experiment.medium)
    return any(len(near) > 2 for near in topo.neighbours(nodes, experiment.medium.tx_range_m))
