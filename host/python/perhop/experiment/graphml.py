# SPDX-License-Identifier: GPL-2.0-or-later
"""The network of an experiment as GraphML, for networkx, igraph, Gephi and yEd: who can read whose frames, and wires.

Nodes have their places and are radios or servers. An edge over the air is as long as `distance_m` and has the rate of
DATA frames; where the way back has another rate, that is `data_rate_back_mbps`, from the edge's target to its source.
An edge by wire has its rate and delay. MAC, traffic, policies, motion and
what events switch off are not in it; moves are.
"""

from __future__ import annotations

import math
from pathlib import Path
from xml.etree import ElementTree

from perhop.experiment import motion
from perhop.experiment import schema as ex
from perhop.experiment import topology as topo
from perhop.experiment import wires as wired

NAMESPACE = "http://graphml.graphdrawing.org/xmlns"
# Attribute -> what has it, and its type.
ATTRIBUTES = {
    "name": ("graph", "string"),
    "at_s": ("graph", "double"),
    "kind": ("all", "string"),
    "x_m": ("node", "double"),
    "y_m": ("node", "double"),
    "distance_m": ("edge", "double"),
    "data_rate_mbps": ("edge", "double"),
    "data_rate_back_mbps": ("edge", "double"),
    "wire_rate_mbps": ("edge", "double"),
    "wire_delay_ms": ("edge", "double"),
}


def text(experiment: ex.Experiment, folder: Path, at_s: float = 0.0) -> str:
    """The text of the network as it is at a time. `folder` is where files of traces are looked for.

    Raises FieldError, ExperimentError.
    """
    trace = motion.whole_trace(experiment, motion.topology_trace(experiment, folder))
    places = [trace.at(node, at_s) for node in range(len(trace.starts))]
    wires = wired.of(experiment, len(places))
    root = ElementTree.Element("graphml", xmlns=NAMESPACE)
    for name, (of, kind) in ATTRIBUTES.items():
        ElementTree.SubElement(root, "key", {"id": name, "for": of, "attr.name": name, "attr.type": kind})
    graph = ElementTree.SubElement(root, "graph", id="network", edgedefault="undirected")
    _say(graph, name=experiment.name, at_s=at_s)
    for node, (x_m, y_m) in enumerate(places):
        _say(ElementTree.SubElement(graph, "node", id=f"n{node}"), kind="radio", x_m=x_m, y_m=y_m)
    for server in range(len(places), wires.node_count):
        _say(ElementTree.SubElement(graph, "node", id=f"n{server}"), kind="server")
    for node, others in enumerate(topo.neighbours(places, experiment.medium.tx_range_m)):
        for other in others:
            if other > node:
                there = _rate_mbps(experiment, node, other)
                back = _rate_mbps(experiment, other, node)
                said = {"distance_m": math.dist(places[node], places[other]), "data_rate_mbps": there}
                said |= {"data_rate_back_mbps": back} if back != there else {}
                _say(_edge(graph, node, other), kind="air", **said)
    for a, b, wire in wires.links:
        _say(_edge(graph, a, b), kind="wire", wire_rate_mbps=wire.rate_mbps, wire_delay_ms=wire.delay_ms)
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _rate_mbps(experiment: ex.Experiment, source: int, target: int) -> float:
    """Of DATA frames that go this way."""
    for link in experiment.links:
        if (link.a, link.b) == (source, target) or (link.both_ways and (link.b, link.a) == (source, target)):
            return link.data_rate_mbps
    return experiment.mac.data_rate_mbps


def _edge(graph: ElementTree.Element, a: int, b: int) -> ElementTree.Element:
    return ElementTree.SubElement(graph, "edge", source=f"n{a}", target=f"n{b}")


def _say(element: ElementTree.Element, **values: str | float) -> None:
    for key, value in values.items():
        ElementTree.SubElement(element, "data", key=key).text = value if isinstance(value, str) else repr(float(value))
