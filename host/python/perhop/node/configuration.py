# SPDX-License-Identifier: GPL-2.0-or-later
"""What the configuration file of a node may say, and what the daemon is told of it."""

from __future__ import annotations

import ipaddress
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, ValidationError

from perhop.errors import refused
from perhop.experiment.load import explained, read
from perhop.experiment.policies import FORMS as POLICY_FORMS
from perhop.experiment.policies import parse_policy
from perhop.experiment.schema import OnePolicy, Section
from perhop.node import ebpf
from perhop.registers import spec_generated as spec

MOST_SOCKET_BYTES = 107


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


def _mac(value: Any) -> Any:
    octets = str(value).lower().split(":")
    if len(octets) != 6 or not all(len(octet) == 2 and set(octet) <= set("0123456789abcdef") for octet in octets):
        raise refused(f"is {value!r}, which is no MAC address", "write 02:00:00:00:00:02")
    return ":".join(octets)


def _short(path: str) -> str:
    if len(path.encode()) > MOST_SOCKET_BYTES:
        raise refused(f"has {len(path.encode())} bytes", f"choose a path of at most {MOST_SOCKET_BYTES} bytes")
    return path


Address = Annotated[str, BeforeValidator(_address)]
Prefix = Annotated[str, BeforeValidator(_prefix)]
Mac = Annotated[str, BeforeValidator(_mac)]
Socket = Annotated[str, Field(min_length=1), AfterValidator(_short)]
Share = Annotated[float, Field(ge=0, le=1)]


class Faults(Section):
    """What is done to received packets, each with its own probability, all from one seed. For tests."""

    seed: int = Field(default=1, ge=0, lt=2**63)
    drop: Share = 0.0
    duplicate: Share = 0.0
    corrupt: Share = Field(default=0.0, description="one to four bytes get other values")
    delayed: Share = 0.0
    delay_us: int = Field(default=10_000, ge=1, le=60_000_000, description="of the packets that are delayed")
    reorder: Share = Field(default=0.0, description="the next packet passes first")


class Capture(Section):
    """All packets between the daemon and its MAC, as 802.11 frames in a pcapng file."""

    file: str = Field(min_length=1)
    most_bytes: int = Field(default=1_000_000_000, ge=1, description="the file does not grow beyond")


class AnyDriver(Section):
    faults: Faults | None = None
    capture: Capture | None = None


class Air(AnyDriver):
    """A MAC of the emulated medium."""

    kind: Literal["air"]
    socket: Socket = Field(description="of perhop-live-air")
    node: int = Field(ge=0, le=0xFFFE, description="which of its nodes this is")


class Loopback(AnyDriver):
    """No MAC: packets go to another daemon on this host."""

    kind: Literal["loopback"]
    socket: Socket = Field(description="made by the daemon")
    peer: Socket = Field(description="the other daemon's")
    mac: Mac = Field(description="this node's address")
    profile: Literal[tuple(sorted(spec.PROFILES))] = Field(  # type: ignore[valid-type]
        default="dsss_long", description="timing profile, for the delays that packets would have"
    )


class Rfnoc(AnyDriver):
    """The MAC in the FPGA of a radio, by UHD (hw/README.md)."""

    kind: Literal["rfnoc"]
    args: str = Field(
        min_length=1, description="which device, as UHD says it: addr=192.168.10.2,master_clock_rate=22e6"
    )
    block: str = "0/perhop#0"
    radio: str = Field(default="0/Radio#0", description="UHD's radio block, for the front end")
    channel: int = Field(default=0, ge=0, le=7, description="of the radio: the one that is perhop's in the image")
    frequency_hz: float = Field(gt=0, description="centre of a channel that you may use")
    tx_gain_db: float = 0.0
    rx_gain_db: float = 0.0
    tx_antenna: str = "TX/RX"
    rx_antenna: str = "TX/RX"
    mac: Mac = Field(description="this node's address")
    profile: Literal["dsss_long", "dsss_short"] = Field(default="dsss_long", description="those that the modem keeps")
    data_rate_index: int = Field(default=1, ge=0, le=1)
    rts_threshold_bytes: int = Field(default=4095, ge=0, le=4095)
    tx_delay_clocks: int = Field(ge=0, le=65535, description="hw/bringup/bringup.py calibrate measures it")
    rx_delay_clocks: int = Field(ge=0, le=65535, description="as tx_delay_clocks")
    tx_gain_256: int = Field(default=256, ge=0, le=256, description="of the modem's samples; 256 is all")
    energy_threshold_dbm: int = Field(default=-70, ge=-128, le=127, description="hw/bringup/bringup.py levels")
    rssi_base_dbm: int = Field(default=-120, ge=-256, le=255, description="hw/bringup/bringup.py levels")


Driver = Annotated[Air | Loopback | Rfnoc, Field(discriminator="kind")]


class Exact(Section):
    """Explicit rates: what this node allots, and the socket over which applications ask for theirs."""

    mode: Literal["m1", "m2"] = Field(
        default="m2", description="m1: its own channel time is shared out; m2: that of its neighbourhood"
    )
    fairness: Literal["rate", "airtime"] = "rate"
    eta: float = Field(default=0.9, gt=0, le=1, description="share of the channel time that may be given out")
    interval_ms: int = Field(default=100, ge=1, le=60000)
    hello_interval_ms: int = Field(default=500, ge=1, le=60000)
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
    cwl: Cwl = Field(default=Cwl(), description="how the policy's window limit is enforced")
    neighbours: dict[Address, Mac] = Field(
        default={}, description="MAC addresses of next hops whose IPv6 address does not hold it"
    )
    exact: Exact | None = None
    control_socket: Socket | None = Field(default=None, description="null: node.sock in the runtime folder")
    rates_socket: Socket | None = Field(default=None, description="with exact; null: rates.sock in the runtime folder")
    log: Literal["text", "json"] = Field(default="text", description="json: one object a line")


def load_file(file: Path) -> NodeFile:
    """Read and check a configuration file. Raises ExperimentError: file, line, field, remedy."""
    document = read(file, "host/node/example.yaml")
    try:
        return NodeFile.model_validate(document.values)
    except ValidationError as error:
        raise explained(document, error, NodeFile) from None


def daemon_json(node: NodeFile, runtime: Path) -> dict[str, Any]:
    """What perhop-node reads."""
    told: dict[str, Any] = {
        "name": node.name,
        "interface": node.interface,
        "mtu_bytes": node.mtu_bytes,
        "driver": node.driver.model_dump(exclude_none=True),
        "queue_packets": node.queue_packets,
        "policy": parse_policy(node.policy)[0].run_json() if node.policy else {},
        "neighbours": [{"address": address, "mac": mac} for address, mac in node.neighbours.items()],
        "control_socket": node.control_socket or str(runtime / "node.sock"),
        "log": node.log,
    }
    if node.cwl.enforce == "ebpf":
        told["cwl"] = {"enforce": "ebpf", "cgroup": node.cwl.cgroup or ebpf.cgroup()}
    if node.exact is not None:
        told["exact"] = node.exact.model_dump(exclude_none=True)
        told["rates_socket"] = node.rates_socket or str(runtime / "rates.sock")
    return told
