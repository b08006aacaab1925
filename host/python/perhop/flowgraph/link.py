# SPDX-License-Identifier: GPL-2.0-or-later
"""What the file of an over-the-air link may say, and the settings of a node's flowgraph that follow from it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, ValidationError

from perhop.errors import FieldError, PerhopError
from perhop.experiment.load import Document, explained, located, read
from perhop.experiment.schema import Section
from perhop.refusal import refused
from perhop.registers import spec_generated as spec

EXAMPLE = "flowgraphs/links/bench_chain.yml"
DSSS_RATE_HZ = 22e6
OFDM_RATES_HZ = (5e6, 10e6, 20e6)
PROFILE = spec.PROFILES["host_phy"]
CONTROL_AIRTIME_US = PROFILE.eifs_us - PROFILE.sifs_us - PROFILE.difs_us
MOST_LATENCY_US = (PROFILE.response_timeout_us - PROFILE.sifs_us - CONTROL_AIRTIME_US) // 2
"""A frame and its response are each so much late, and the response must have ended when its timeout has."""


def _device(text: str) -> str:
    """UHD's form of an address: key=value, separated by commas."""
    for pair in text.split(",") if text else []:
        key, equals, value = pair.partition("=")
        if not (key.strip() and equals and value.strip()):
            raise refused(f"is {text!r}, which is no address of UHD", "write serial=30F1234 or addr=192.168.10.2")
    return text


Device = Annotated[str, AfterValidator(_device)]
Antenna = Annotated[str, Field(min_length=1, description="as uhd_usrp_probe calls it")]
GainDb = Annotated[float, Field(ge=0, le=120, description="in the device's range (uhd_usrp_probe)")]


class Radio(Section):
    """How a node's device is set."""

    rx_gain_db: GainDb = 30.0
    tx_gain_db: GainDb = 50.0
    rx_antenna: Antenna = "RX2"
    tx_antenna: Antenna = "TX/RX"
    bandwidth_hz: float = Field(default=0.0, ge=0, description="of the analogue filters; 0: the device's default")
    clock_source: str = Field(default="", description="internal, external, gpsdo; empty: the device's default")


class Node(Section):
    """A node: its device, and what is set otherwise than at the others."""

    device: Device = Field(description="address of UHD, such as serial=30F1234; empty: the only one of this host")
    rx_gain_db: GainDb | None = None
    tx_gain_db: GainDb | None = None
    rx_antenna: Antenna | None = None
    tx_antenna: Antenna | None = None
    bandwidth_hz: float | None = Field(default=None, ge=0)
    clock_source: str | None = None


class Traffic(Section):
    """Packets of the first node to the last one."""

    packets: int = Field(default=20, ge=1, le=1_000_000)
    msdu_bytes: int = Field(default=300, ge=12, le=2304)
    interval_us: int = Field(default=150_000, ge=0, le=60_000_000)


class Link(Section):
    """An over-the-air set-up: a chain of nodes, each with a software radio and a host."""

    name: str = "link"
    phy: Literal["dsss", "ofdm"] = Field(
        default="dsss", description="dsss: this project's modem; ofdm: gr-ieee802-11's"
    )
    frequency_hz: float = Field(gt=0, le=7.2e9, description="centre of the channel, one that you may use")
    sample_rate_hz: float = Field(
        default=DSSS_RATE_HZ, ge=200e3, le=61.44e6, description="dsss: two samples a chip; 22e6 is 802.11's chip rate"
    )
    time_stretch: float = Field(
        default=1.0, ge=1, le=1000, description="ofdm: seconds that a second of the MAC takes, for slow hosts"
    )
    profile: Literal["host_phy"] = Field(default="host_phy", description="timing profile of the MAC")
    latency_us: int = Field(
        default=8000,
        ge=500,
        le=MOST_LATENCY_US,
        description="from when a MAC sends to when it is on the air; twice this must fit into the response timeout",
    )
    data_rate_bps: Literal[1_000_000, 2_000_000] = 2_000_000
    rts_threshold_bytes: int = Field(default=0, ge=0, le=4095, description="a longer MPDU goes after an RTS")
    seed: int = Field(default=1, ge=0, lt=2**31)
    radio: Radio = Field(default=Radio(), description="of every node that does not say otherwise")
    nodes: list[Node] = Field(min_length=2, max_length=16, description="in the order of the path")
    traffic: Traffic = Field(default=Traffic(), description="of the first node to the last one")

    def check(self) -> None:
        """Rules that span fields. Raises FieldError."""
        seen: dict[str, int] = {}
        for index, node in enumerate(self.nodes):
            if node.device and node.device in seen:
                raise FieldError(
                    ("nodes", index, "device"),
                    f"is {node.device!r}, as node {seen[node.device]}'s",
                    "give every node a device of its own",
                )
            seen[node.device] = index
        if self.phy == "ofdm" and self.sample_rate_hz not in OFDM_RATES_HZ:
            rates = ", ".join(f"{rate:g}" for rate in OFDM_RATES_HZ)
            raise FieldError(
                ("sample_rate_hz",), f"is {self.sample_rate_hz:g}, but ofdm has {rates}", f"write one of: {rates}"
            )

        if self.phy == "dsss" and self.time_stretch != 1:
            raise FieldError(
                ("time_stretch",),
                "is set, but with dsss the sample rate stretches time: a microsecond is 22 samples",
                f"leave it away, and write sample_rate_hz: {DSSS_RATE_HZ / self.time_stretch:g}",
            )

    def stretch(self) -> float:
        """Seconds that a second of the MAC takes."""
        return DSSS_RATE_HZ / self.sample_rate_hz if self.phy == "dsss" else self.time_stretch


def load_link(file: Path) -> Link:
    """Read and check a link's file. Raises ExperimentError: file, line, field, remedy."""
    document = read(file, EXAMPLE)
    try:
        link = Link.model_validate(document.values)
    except ValidationError as error:
        raise explained(document, error, Link) from None
    return _checked(document, link)


def _checked(document: Document, link: Link) -> Link:
    try:
        link.check()
    except FieldError as error:
        raise located(document, error) from None
    return link


def flowgraph_of(link: Link) -> str:
    """Name of the example that a node of the link runs."""
    return "host_phy_transceiver" if link.phy == "dsss" else "ofdm_transceiver"


def settings_of(link: Link, node: int, capture: Path) -> dict[str, Any]:
    """Parameters of the flowgraph of a node, which counts from 0. Raises PerhopError: there is no such node."""
    last = len(link.nodes) - 1
    if not 0 <= node <= last:
        raise PerhopError(f"the link has no node {node}", f"give one of 0 to {last}")
    own = link.nodes[node].model_dump(exclude_none=True)
    return {
        **link.radio.model_dump(),
        **own,
        "samp_rate": link.sample_rate_hz,
        "centre_hz": link.frequency_hz,
        "latency_us": link.latency_us,
        "node": node,
        "next_hop": min(node + 1, last),
        "forward_to": node + 1 if 0 < node < last else -1,
        "packets": link.traffic.packets if node == 0 else 0,
        "msdu_bytes": link.traffic.msdu_bytes,
        "interval_us": link.traffic.interval_us,
        "data_rate": _rate_index(link),
        "rts_threshold_bytes": link.rts_threshold_bytes,
        "seed": link.seed + node,
        "capture": str(capture),
        **({"time_stretch": link.time_stretch} if link.phy == "ofdm" else {}),
    }


def _rate_index(link: Link) -> int:
    return [rate.bps for rate in PROFILE.rates].index(link.data_rate_bps)
