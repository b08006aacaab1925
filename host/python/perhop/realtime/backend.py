# SPDX-License-Identifier: GPL-2.0-or-later
"""What the backends of runs in real time share: the program, run.json's part, and what no kernel or radio can do."""

from __future__ import annotations

import sys
from typing import Any

from perhop.errors import FieldError
from perhop.experiment import schema as ex
from perhop.experiment.load import Point, located
from perhop.experiment.policies import parse_policy
from perhop.experiment.resolve import Run
from perhop.experiment.rules import IP_FLOWS, check_jumps, check_no_programs

MOST_RADIO_RATE_MBPS = 2


def run_command(nodes: str) -> list[str]:
    """Makes a run on the nodes of this module (perhop.realtime.run)."""
    return [sys.executable, "-m", nodes]


def section(backend: str, run: Run, **more: Any) -> dict[str, Any]:
    """`realtime` of run.json."""
    return {"backend": backend, "policy": run.policy or "no limit", **more}


def check_real_time(point: Point, backend: str) -> None:
    """Raises ExperimentError for the first thing in the file that no kernel or radio can be told."""
    try:
        _check(point.experiment, backend)
    except FieldError as error:
        raise located(point.document, error) from None


def check_slow_down(point: Point) -> None:
    """Raises ExperimentError for flows that know no other time than the clock's."""
    for index, flow in enumerate(point.experiment.flows):
        if isinstance(flow, ex.ExactFlow):
            error = FieldError(
                ("flows", index, "kind"),
                "is exact, whose rates a slowed network has not (`slow_down` of the inventory)",
                "use tcp or cbr",
            )
            raise located(point.document, error)


def _check(experiment: ex.Experiment, backend: str) -> None:
    where = f"--backend {backend}"
    check_no_programs(experiment)
    check_jumps(experiment, f"with {where}")
    if experiment.wires:
        raise FieldError(
            ("wires",), f"is not empty, and {where} has no wired links", "leave it out, or use --backend sim"
        )
    for index, flow in enumerate(experiment.flows):
        if not isinstance(flow, IP_FLOWS) or isinstance(flow, ex.TfrcFlow):
            raise FieldError(
                ("flows", index, "kind"),
                f"is {flow.kind}, which {where} has not",
                "use tcp, cbr or exact, or --backend sim",
            )
        if isinstance(flow, ex.TcpFlow) and flow.variant == "bsd":
            raise FieldError(
                ("flows", index, "variant"), f"is bsd; {where} has Linux' TCP", "use newreno, or --backend sim"
            )
        if isinstance(flow, ex.TcpFlow):
            for field in ("max_rto_ms", "transfer_bytes", "rate_bps"):
                if getattr(flow, field) != ex.TcpFlow.model_fields[field].default:
                    raise FieldError(
                        ("flows", index, field),
                        f"is set, which {where} has not: its TCP is Linux', its data without end",
                        "leave it out, or use --backend sim",
                    )
        if isinstance(flow, ex.ExactFlow) and flow.application == "audio":
            raise FieldError(
                ("flows", index, "application"),
                f"is audio, which {where} has not",
                "use greedy, or host/python/examples/audio_stream.py with `perhop live up`",
            )
    own = {flow.policy for flow in experiment.flows if isinstance(flow, ex.TcpFlow)}
    if len(own) > 1:
        raise FieldError(
            ("flows",), f"have policies of their own; with {where} all TCP flows have one", "use `policies`"
        )
    texts = [*experiment.policies, *(text for text in own if text)]
    if backend == "radio" and any(policy.own for text in texts for policy in parse_policy(text)):
        raise FieldError(
            ("policies",),
            "name a policy in a file, which is not sent to hosts",
            "use --backend live, or name the file in each host's own file of `perhop node`",
        )
    sacks = {flow.sack for flow in experiment.flows if isinstance(flow, ex.TcpFlow)}
    if len(sacks) > 1:
        raise FieldError(
            ("flows",), f"have SACK and not; a node has it for all in {where}", "use one for all TCP flows"
        )
    if experiment.routing != ex.Routing():
        raise FieldError(("routing",), f"is not static, which {where} has", "use static, or --backend sim")
    if experiment.outputs.capture_nodes:
        raise FieldError(("outputs", "capture_nodes"), f"names nodes; with {where} all are recorded", "leave it out")
    if experiment.exact.silent_routers:
        raise FieldError(("exact", "silent_routers"), f"names nodes; with {where} all have a shim", "leave it out")
    if experiment.mac.fidelity == "samples":
        raise FieldError(("mac", "fidelity"), f"is samples, slower than {where}", "use core")
    for index, link in enumerate(experiment.links):
        if backend == "radio" and link.data_rate_mbps > MOST_RADIO_RATE_MBPS:
            raise FieldError(
                ("links", index, "data_rate_mbps"),
                f"is {link.data_rate_mbps:g}; the radio's modem sends 1 and 2 Mb/s",
                "use 1 or 2",
            )
    for index, event in enumerate(experiment.events):
        if backend == "radio" and event.kind != "route":
            raise FieldError(
                ("events", index, "kind"),
                f"is {event.kind}; over the air only routes can be scripted",
                "use route events",
            )
