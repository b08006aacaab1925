# SPDX-License-Identifier: GPL-2.0-or-later
"""A Grafana dashboard of what `perhop metrics` tells Prometheus: `perhop metrics --dashboard > perhop.json` writes it.

The model is that of Grafana 10 and later; who imports it is asked for the Prometheus that scrapes perhop.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

SCHEMA_VERSION = 38
UID = "perhop-hops"
SOURCE = {"type": "prometheus", "uid": "${datasource}"}
NODE = 'node=~"$node"'
HOP = "{{node}} to {{neighbour}}"
# A dashboard is 24 units wide.
WIDTH, HEIGHT = 12, 8


@dataclass(frozen=True)
class Query:
    """PromQL, and what its lines are called."""

    expression: str
    legend: str


@dataclass(frozen=True)
class Panel:
    """A picture; units are Grafana's words."""

    title: str
    unit: str
    queries: tuple[Query, ...]
    stacked: bool = False
    about: str = ""


def _rate(metric: str, more: str = "") -> str:
    return f"rate({metric}{{{NODE}{more}}}[$__rate_interval])"


def _quantile(share: float) -> str:
    return f"histogram_quantile({share}, sum by (node, neighbour, le) ({_rate('perhop_hop_service_seconds_bucket')}))"


PANELS = (
    Panel(
        "Nodes that answer",
        "short",
        (Query(f"sum(perhop_up{{{NODE}}})", "daemons"), Query(f"sum(perhop_mac_up{{{NODE}}})", "MACs")),
    ),
    Panel(
        "Expected service time of a full packet",
        "s",
        (Query(f"perhop_hop_latency_seconds{{{NODE}}}", HOP),),
        about="From the MAC's running averages: what a node adds to the path header",
    ),
    Panel(
        "Where a packet's time goes",
        "s",
        (
            Query(
                f"sum by (part) ({_rate('perhop_hop_time_seconds_total')}) / ignoring (part) group_left () "
                f"sum({_rate('perhop_hop_packets_total')})",
                "{{part}}",
            ),
        ),
        stacked=True,
        about="Mean of a packet over the chosen hops, by the MAC's own account",
    ),
    Panel(
        "Service time: half of the packets, and 95 %",
        "s",
        (Query(_quantile(0.5), f"{HOP}: half"), Query(_quantile(0.95), f"{HOP}: 95 %")),
        about="Bins of the MAC are powers of two",
    ),
    Panel("Delivered", "bps", (Query(f"8 * {_rate('perhop_hop_mpdu_bytes_total')}", HOP),)),
    Panel(
        "DATA frames a packet",
        "short",
        (
            Query(
                f"""sum by (node, neighbour) ({_rate("perhop_hop_frames_total", ', kind="data"')}) / """
                f"sum by (node, neighbour) ({_rate('perhop_hop_packets_total')})",
                HOP,
            ),
        ),
    ),
    Panel("Packets given up at a retry limit", "pps", (Query(_rate("perhop_hop_drops_total"), HOP),)),
    Panel(
        "Packets that wait in the daemon",
        "short",
        (
            Query(f"perhop_queue_packets{{{NODE}}}", "{{node}}"),
            Query(f"perhop_queue_limit_packets{{{NODE}}}", "{{node}}: limit"),
        ),
    ),
    Panel("What daemons did with packets", "pps", (Query(_rate("perhop_packets_total"), "{{node}} {{event}}"),)),
    Panel("The MACs' own counters", "cps", (Query(_rate("perhop_mac_events_total"), "{{node}} {{event}}"),)),
)


def dashboard() -> dict[str, Any]:
    """The dashboard as Grafana imports it."""
    return {
        "uid": UID,
        "title": "perhop: hops of a live network",
        "tags": ["perhop"],
        "schemaVersion": SCHEMA_VERSION,
        "editable": True,
        "refresh": "5s",
        "time": {"from": "now-15m", "to": "now"},
        "templating": {"list": [_source(), _nodes()]},
        "panels": [_panel(index, panel) for index, panel in enumerate(PANELS)],
    }


def text() -> str:
    return json.dumps(dashboard(), indent=1) + "\n"


def _source() -> dict[str, Any]:
    return {"name": "datasource", "label": "Prometheus", "type": "datasource", "query": "prometheus"}


def _nodes() -> dict[str, Any]:
    return {
        "name": "node",
        "label": "Node",
        "type": "query",
        "datasource": SOURCE,
        "query": {"query": "label_values(perhop_up, node)", "refId": "nodes"},
        "refresh": 2,
        "sort": 3,
        "multi": True,
        "includeAll": True,
        "current": {"text": "All", "value": "$__all"},
    }


def _panel(index: int, panel: Panel) -> dict[str, Any]:
    custom = {"stacking": {"mode": "normal"}, "fillOpacity": 60} if panel.stacked else {"fillOpacity": 0}
    return {
        "id": index + 1,
        "title": panel.title,
        "description": panel.about,
        "type": "timeseries",
        "datasource": SOURCE,
        "gridPos": {"x": index % 2 * WIDTH, "y": index // 2 * HEIGHT, "w": WIDTH, "h": HEIGHT},
        "fieldConfig": {"defaults": {"unit": panel.unit, "min": 0, "custom": custom}, "overrides": []},
        "options": {"tooltip": {"mode": "multi"}, "legend": {"displayMode": "list", "placement": "bottom"}},
        "targets": [
            {
                "refId": chr(ord("A") + place),
                "expr": query.expression,
                "legendFormat": query.legend,
                "datasource": SOURCE,
            }
            for place, query in enumerate(panel.queries)
        ],
    }
