# SPDX-License-Identifier: GPL-2.0-or-later
"""What the configuration file of a node may say, and what the daemon is told of it."""

from __future__ import annotations

import ipaddress
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, ValidationError

from perhop.experiment.load import explained, read
from perhop.experiment.policies import FORMS as POLICY_FORMS
from perhop.experiment.policies import parse_policy
from perhop.experiment.schema import OnePolicy, Section
from perhop.experiment.settings_table import ExactSettings, SwanSettings
from perhop.node import ebpf
from perhop.node.drivers import Driver, Mac, Socket
from perhop.refusal import refused
from perhop.registers import spec_generated as spec


def _address(value: Any) -> Any:
    try:
        return str(ipaddress.ip_address(value))
    except ValueError:
        raise refused(f"is {value!r}, which is no IP address", "write 10.0.0.2 or fd70::2") from None


def _prefix(value: Any) -> Any:
    try:
        return str(ipaddress.ip_interface(value))
    except ValueError:
        raise refused(f"is {value!r}, which is no IP address", "write 10.0.0.2/32 or fd70::2/128") from None


Address = Annotated[str, BeforeValidator(_address)]
Prefix = Annotated[str, BeforeValidator(_prefix)]


class Exact(ExactSettings):
    """Explicit rates: what this node allots, and the socket over which applications ask for theirs."""

    udp: Literal["asked", "all"] = Field(default="asked", description="which UDP flows are paced")
    queue_packets: int | None = Field(default=None, ge=2, le=4096, description="of a paced flow; null: the daemon's")


class Cwl(Section):
    """How TCP senders of this host are held to their congestion window limit."""

    enforce: Literal["window", "ebpf"] = Field(
        default="window", description="window: the windows that they receive are lowered; ebpf: theirs are clamped"
    )
    cgroup: str | None = Field(
        default=None,
        min_length=1,
        description="with ebpf: of version 2, holds the senders; null: that of all processes",
    )


class Neighbour(Section):
    """A next hop to which DATA frames have a rate of their own."""

    mac: Mac
    data_rate_index: int | None = Field(
        default=None, ge=0, le=7, description="in the profile's rates, slowest first; null: the driver's rate"
    )


def _neighbour(value: Any) -> Any:
    return {"mac": value} if isinstance(value, str) else value


class NodeFile(Section):
    """A node's configuration file."""

    name: str = Field(default="node", description="in logs and in status")
    interface: str = Field(
        default="radio0", pattern=r"^[A-Za-z0-9_.-]{1,15}$", description="name of an interface, at most 15 letters"
    )
    mtu_bytes: int = Field(default=1500, ge=576, le=spec.MOST_MSDU_BYTES - spec.LLC_SNAP_BYTES - spec.PATH_HEADER_BYTES)
    addresses: list[Prefix] = Field(
        default=[], description="given to the interface, which is made if it is not there; none: that is done elsewhere"
    )
    driver: Driver = Field(description="the MAC")
    queue_packets: int = Field(default=spec.DEFAULT_QUEUE_PACKETS, ge=1, le=4096, description="above the MAC's own")
    policy: OnePolicy = Field(default=None, description=f"of all TCP flows: {POLICY_FORMS}")
    tell_window: Literal["path_header", "option", "window_field"] = Field(
        default="path_header",
        description="how TCP senders tell their windows to receivers that delay TCP ACKs; option: in one of TCP, too, "
        "for receivers behind routers without perhop; window_field: there, too, for data that goes one way only",
    )
    cwl: Cwl = Field(default=Cwl(), description="how the policy's window limit is enforced")
    neighbours: dict[Address, Annotated[Neighbour, BeforeValidator(_neighbour)]] = Field(
        default={},
        description="next hops whose IPv6 address does not hold their MAC address: that, or a section with mac and "
        "data_rate_index",
    )
    exact: Exact | None = None
    swan: SwanSettings | None = Field(default=None, description="null: best effort goes when the MAC has room")
    control_socket: Socket | None = Field(default=None, description="null: node.sock in the runtime folder")
    rates_socket: Socket | None = Field(default=None, description="with exact; null: rates.sock in the runtime folder")
    log: Literal["text", "json"] = Field(default="text", description="json: one object a line")
    slow_down: int = Field(
        default=1,
        ge=1,
        le=10_000,
        description="how many times slower than the clock: a virtual radio (hw/virtual_usrp)",
    )


def load_file(file: Path) -> NodeFile:
    """Read and check a configuration file. Raises ExperimentError: file, line, field, remedy."""
    document = read(file, "host/node/example.yaml")
    try:
        return NodeFile.model_validate(document.values)
    except ValidationError as error:
        raise explained(document, error, NodeFile) from None


def daemon_json(node: NodeFile, runtime: Path, folder: Path = Path()) -> dict[str, Any]:
    """What perhop-node reads. `folder`: the file's, from which a policy of one's own is found. Raises PerhopError."""
    policy = parse_policy(node.policy)[0].found(folder).run_json() if node.policy else {}
    told: dict[str, Any] = {
        "name": node.name,
        "interface": node.interface,
        "mtu_bytes": node.mtu_bytes,
        "driver": node.driver.model_dump(exclude_none=True),
        "queue_packets": node.queue_packets,
        "policy": policy,
        "neighbours": [
            {"address": address, **neighbour.model_dump(exclude_none=True)}
            for address, neighbour in node.neighbours.items()
        ],
        "control_socket": node.control_socket or str(runtime / "node.sock"),
        "log": node.log,
        "slow_down": node.slow_down,
    }
    if node.tell_window != "path_header":
        told["tell_window"] = node.tell_window
    if node.cwl.enforce == "ebpf":
        told["cwl"] = {"enforce": "ebpf", "cgroup": node.cwl.cgroup or ebpf.cgroup()}
    if node.exact is not None:
        told["exact"] = node.exact.model_dump(exclude_none=True)
        told["rates_socket"] = node.rates_socket or str(runtime / "rates.sock")
    if node.swan is not None:
        told["swan"] = node.swan.model_dump()
    return told
