# SPDX-License-Identifier: GPL-2.0-or-later
"""The Grafana dashboard: it names nothing that is not exported, and Prometheus takes its queries."""

import json
import re
import shutil
import subprocess

import pytest
from perhop.export import grafana, openmetrics
from prometheus_client import CollectorRegistry
from prometheus_client.openmetrics.exposition import generate_latest
from prometheus_client.openmetrics.parser import text_string_to_metric_families
from prometheus_client.registry import Collector

NODE = {
    "mac_up": True,
    "mac": {"address": "02:00:00:00:00:02", "profile": "dsss_long"},
    "queued_packets": 3,
    "queue_limit_packets": 50,
    "packets": {"from_ip": 5},
    "statistics": {"rts_sent": 5},
    "neighbours": [
        {
            "mac": "02:00:00:00:00:01",
            "addresses": ["10.0.0.1"],
            "packets": 1,
            "drops": 0,
            "bytes": 1500,
            "queued_packets": 0,
            "rts_attempts": 1,
            "data_attempts": 1,
            "parts_us": {"host_queue": 1},
            "histogram": [0] * 15 + [1],
            "service_us": 900,
            "latency_us": 900,
            "average": {"contention_us": 1.0, "overhead_us": 994.0, "data_attempts": 1.25},
        }
    ],
}
QUERIES = [query for panel in grafana.PANELS for query in panel.queries]
# What of PromQL is no metric and no label.
WORDS = {"rate", "sum", "by", "ignoring", "group_left", "histogram_quantile"}


@pytest.fixture(scope="module")
def exported():
    """Names of samples, and the labels of each."""

    class Fixed(Collector):
        def collect(self):
            return openmetrics.metrics_of([("0", NODE)])

    registry = CollectorRegistry()
    registry.register(Fixed())
    families = text_string_to_metric_families(generate_latest(registry).decode())
    return {sample.name: set(sample.labels) for family in families for sample in family.samples}


@pytest.mark.parametrize("query", QUERIES, ids=lambda query: query.expression[:60])
def test_what_a_query_names_is_exported(query, exported):
    bare = re.sub(r'"[^"]*"', "", query.expression.replace("[$__rate_interval]", ""))
    words = set(re.findall(r"[a-zA-Z_][a-zA-Z_0-9]*", bare)) - WORDS
    metrics = {word for word in words if word.startswith("perhop_")}
    assert metrics and metrics <= set(exported)
    labels = (words - metrics) | set(re.findall(r"{{(\w+)}}", query.legend))
    assert labels <= set.union(*(exported[metric] for metric in metrics))


def test_every_family_of_hops_is_on_it(exported):
    shown = " ".join(query.expression for query in QUERIES)
    left_out = {"perhop_hop_contention_seconds", "perhop_hop_overhead_seconds", "perhop_hop_data_attempts"}
    left_out |= {"perhop_hop_queue_packets", "perhop_mac_info"}
    left_out |= {"perhop_hop_service_seconds_count", "perhop_hop_service_seconds_sum"}
    assert {name for name in exported if name not in shown} == left_out


def test_it_is_printed_as_grafana_imports_it(perhop):
    told = json.loads(perhop("metrics", "--dashboard").stdout)
    places = [panel["gridPos"] for panel in told["panels"]]
    assert len({(place["x"], place["y"]) for place in places}) == len(places)
    assert all(place["x"] + place["w"] <= 24 for place in places)
    assert len({panel["id"] for panel in told["panels"]}) == len(places)
    names = {variable["name"] for variable in told["templating"]["list"]}
    assert set(re.findall(r"\$\{?([a-z]+)", json.dumps(told["panels"]))) == names


@pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool (Debian's prometheus) is not installed")
def test_prometheus_takes_each_query(tmp_path):
    rules = [
        {"record": f"query_{place}", "expr": query.expression.replace("$__rate_interval", "1m").replace("$node", ".*")}
        for place, query in enumerate(QUERIES)
    ]
    (tmp_path / "rules.yml").write_text(json.dumps({"groups": [{"name": "dashboard", "rules": rules}]}))
    done = subprocess.run(
        ["promtool", "check", "rules", str(tmp_path / "rules.yml")], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0 and f"{len(rules)} rules found" in done.stdout, done.stdout + done.stderr
