# SPDX-License-Identifier: GPL-2.0-or-later
"""What an experiment file may say: one model a section, each strict, so that a misspelt field is an error.

The models hold what the file says and nothing computed. Rules that need the whole file (is the destination
reachable?) are in `topology`, `routes` and `resolve`; `load` turns a broken rule into an error with a line.

It is one file because it is read beside an experiment file, section by section.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field

from perhop.experiment.policies import FORMS as POLICY_FORMS
from perhop.experiment.policies import Policy, parse_policy
from perhop.experiment.section import Link, Section
from perhop.experiment.settings_table import ExactSettings, SwanSettings
from perhop.refusal import refused as _refused
from perhop.registers import spec_generated as spec

# Nodes of a topology. What has a limit of its own, such as the live backend, says so where it is asked for more.
MOST_NODES = 65_536
# Hops that a path header counts and a time to live allows.
MOST_HOPS = 255

# --- topology -------------------------------------------------------------------------------------------------------


class Chain(Section):
    """hops + 1 nodes on a line."""

    kind: Literal["chain"] = "chain"
    hops: int = Field(ge=1, le=MOST_HOPS, description="links between the first and the last node")
    spacing_m: float = Field(default=250, gt=0, description="distance between neighbours")


class Ring(Section):
    """Nodes on a circle, each `spacing_m` from its two neighbours."""

    kind: Literal["ring"] = "ring"
    nodes: int = Field(ge=3, le=MOST_NODES, description="nodes on the circle")
    spacing_m: float = Field(default=250, gt=0, description="distance between neighbours")


class Grid(Section):
    """Rows times columns nodes, numbered row by row."""

    kind: Literal["grid"] = "grid"
    rows: int = Field(ge=1, le=MOST_NODES, description="rows of nodes")
    columns: int = Field(ge=1, le=MOST_NODES, description="columns of nodes")
    spacing_m: float = Field(default=250, gt=0, description="distance between neighbours")


class Cross(Section):
    """Two chains of `hops` links that share their middle node.

    Nodes 0..hops run from west to east; the rest run from north to south without the middle node.
    """

    kind: Literal["cross"] = "cross"
    hops: int = Field(ge=2, le=254, multiple_of=2, description="links of each of the two chains, an even number")
    spacing_m: float = Field(default=250, gt=0, description="distance between neighbours")


class Random(Section):
    """Nodes drawn uniformly over an area, again and again until the network is connected."""

    kind: Literal["random"] = "random"
    nodes: int = Field(ge=2, le=MOST_NODES, description="nodes in the area")
    width_m: float = Field(gt=0, description="width of the area")
    height_m: float = Field(gt=0, description="height of the area")
    seed: int = Field(default=1, ge=0, description="seed of the positions, apart from the seeds of the runs")


class Star(Section):
    """Node 0 in the middle, `stations` nodes around it on a circle."""

    kind: Literal["star"] = "star"
    stations: int = Field(ge=1, le=MOST_NODES - 1, description="nodes around the middle")
    radius_m: float = Field(default=10, gt=0, description="distance from the middle")


class FullMesh(Section):
    """Nodes on a circle small enough that everybody hears everybody."""

    kind: Literal["full_mesh"] = "full_mesh"
    nodes: int = Field(ge=2, le=MOST_NODES, description="nodes on the circle")
    radius_m: float = Field(default=10, gt=0, description="radius of the circle")


class HiddenPair(Section):
    """Nodes 0 and 2 cannot hear each other; node 1 between them hears both."""

    kind: Literal["hidden_pair"] = "hidden_pair"
    spacing_m: float = Field(default=250, gt=0, description="distance of each sender from the middle")


class Position(Section):
    """Where a node stands."""

    x_m: float
    y_m: float


class Explicit(Section):
    """Nodes at the positions given."""

    kind: Literal["explicit"] = "explicit"
    nodes: list[Position] = Field(min_length=2, max_length=MOST_NODES, description="a list of {x_m: .., y_m: ..}")


class RandomWaypoint(Section):
    """Nodes that go to places drawn at random at speeds drawn at random: perhop.mobility.waypoint."""

    kind: Literal["random_waypoint"] = "random_waypoint"
    nodes: int = Field(ge=2, le=MOST_NODES, description="nodes in the area")
    width_m: float = Field(gt=0, le=1e6, description="width of the area")
    height_m: float = Field(gt=0, le=1e6, description="height of the area")
    min_speed_mps: float = Field(ge=0, le=1e6, description="speeds are above it; 0: the mean speed falls all the time")
    max_speed_mps: float = Field(ge=1e-3, le=1e6, description="speeds are at most this")
    pause_s: float = Field(default=0, ge=0, le=1e6, description="how long a node stays where it arrived")
    seed: int = Field(default=1, ge=0, description="seed of the motion, apart from the seeds of the runs")
    partitions: Literal["reject", "allow"] = Field(
        default="reject", description="reject: traces are drawn until the links join all nodes at all times"
    )


class TraceBase(Section):
    """Nodes that move as a file says, in one of perhop.mobility.formats."""

    kind: str
    file: str = Field(min_length=1, description="the trace; its path is looked for from the experiment file on")
    partitions: Literal["reject", "allow"] = Field(
        default="allow", description="reject: a trace whose links do not join all nodes at all times is an error"
    )


class SetdestFile(TraceBase):
    """Nodes that move as a file in the format of ns-2's setdest says."""

    kind: Literal["setdest"] = "setdest"


class BonnMotionFile(TraceBase):
    """Nodes that move as a trace of BonnMotion says (NAME.movements.gz)."""

    kind: Literal["bonnmotion"] = "bonnmotion"


class SumoFile(TraceBase):
    """Nodes that move as the vehicles and persons of SUMO do, in what it writes with --fcd-output."""

    kind: Literal["sumo"] = "sumo"


class EelFile(TraceBase):
    """Nodes that move as the locations in an event log of EMANE (EEL) say."""

    kind: Literal["eel"] = "eel"


Topology = Annotated[
    Chain
    | Ring
    | Grid
    | Cross
    | Random
    | Star
    | FullMesh
    | HiddenPair
    | Explicit
    | RandomWaypoint
    | SetdestFile
    | BonnMotionFile
    | SumoFile
    | EelFile,
    Field(discriminator="kind"),
]


def _wire_end(value: Any) -> Any:
    if isinstance(value, str) and value not in ("first", "last", "server"):
        raise _refused(f"is {value!r}, which names no node", "use a node's index, first, last or server")
    return value


WireEnd = Annotated[Literal["first", "last", "server"] | Annotated[int, Field(ge=0)], BeforeValidator(_wire_end)]


class Wire(Section):
    """A wired link between two nodes, both ways at once. A node of the topology with a wire is a gateway."""

    a: WireEnd = Field(default="last", description="a node's index, first, last, or server (the first one)")
    b: WireEnd = Field(default="server", description="another")
    rate_mbps: float = Field(default=100, ge=1e-3, le=1e6, description="of each direction")
    delay_ms: float = Field(ge=0, le=10_000, description="one way")
    queue_packets: int = Field(default=100, ge=1, le=1_000_000, description="at each end, drop tail")


# --- radio and MAC --------------------------------------------------------------------------------------------------


def _propagation(value: Any) -> Any:
    if value != "auto" and (isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= 1000):
        raise _refused(f"is {value!r}", "write auto (by distance, at least 1) or a whole number from 1 to 1000")
    return value


class Tap(Section):
    """A path of the channel."""

    delay_ns: float = Field(default=0, ge=0, le=100_000, description="after the direct wave")
    gain_db: float = Field(default=0, ge=-100, le=20, description="on top of the path loss")
    phase_deg: float | None = Field(default=None, ge=-360, le=360, description="null: at random, by link and seed")


CarrierOffset = Annotated[float, Field(ge=-1e6, le=1e6)]
ClockOffset = Annotated[float, Field(ge=-1000, le=1000)]


class Samples(Section):
    """What fidelity samples knows more of the air. Node i has entry i of a list, which is repeated."""

    carrier_offset_hz: list[CarrierOffset] = Field(default=[], description="of each node's radio; empty: none")
    clock_offset_ppm: list[ClockOffset] = Field(default=[], description="of each node's clock; empty: none")
    taps: list[Tap] | None = Field(default=None, min_length=1, description="paths of every link; null: one")
    noise_figure_db: float = Field(default=6, ge=0, le=60, description="where medium.noise_dbm is null")
    full_scale_dbm: float = Field(
        default=-26, ge=-100, le=0, description="of a wave whose amplitude is the converter's largest number"
    )


class Medium(Section):
    """The air between the nodes. The reception rule is named in every result, because it decides chain results."""

    reception: Literal["ns2", "sinr"] = Field(
        default="ns2", description="ns2: a first frame 10 dB stronger survives; sinr: power over the sum of the rest"
    )
    loss: Literal["range", "two_ray", "log_distance"] = Field(default="range", description="how power falls")
    tx_range_m: float = Field(default=250, gt=0, description="frames can be read up to here; routes use it too")
    cs_range_m: float = Field(default=550, gt=0, description="energy is sensed up to here")
    capture_ratio_db: float = Field(default=10, ge=0, description="how much stronger a frame must be to survive")
    propagation_us: Annotated[Literal["auto"] | int, BeforeValidator(_propagation)] = Field(
        default="auto", description="auto (by distance, at least 1) or a whole number"
    )
    frame_error_rate: float = Field(default=0, ge=0, lt=1, description="share of good frames lost at random")
    loss_exponent: float = Field(default=3.0, gt=0, description="of log_distance")
    tx_power_dbm: float = Field(default=24.5, description="0.28 W, the papers' radio")
    noise_dbm: float | None = Field(
        default=None,
        ge=-200,
        le=200,
        description="of the sinr rule, null: by range only; of fidelity samples in 22 MHz, null: by noise figure",
    )
    relock_ratio_db: float | None = Field(
        default=None, ge=-200, le=200, description="of the sinr rule: a later frame this much stronger takes over"
    )
    sinr_threshold_db: list[float] | None = Field(default=None, description="one value a rate, of the sinr rule")
    samples: Samples | None = Field(default=None, description="of fidelity samples: radios that are off, echoes, noise")


class Fama(Section):
    """What of access mode fama is other than the profile and the gateware have it."""

    sifs_us: int | None = Field(default=None, ge=1, le=8191, description="turnaround; null: the profile's")
    rts_us: int | None = Field(default=None, ge=1, le=8191, description="airtime of an RTS; null: the profile's")
    cts_us: int | None = Field(default=None, ge=1, le=8191, description="airtime of a CTS; null: the profile's")
    random_step_us: int | None = Field(
        default=None, ge=1, le=8191, description="in which random times are counted; null: the profile's slot"
    )
    hold: bool = Field(default=False, description="who has sent a CTS begins nothing until the DATA must have come")
    noise_us: int = Field(
        default=0, ge=0, le=65535, description="for so long what was not understood reserves the medium"
    )
    nav: bool = Field(default=True, description="false: frames that were understood reserve nothing")


class Mac(Section):
    """Settings of every node's MAC."""

    profile: str = Field(default="dsss_long", description="timing profile of the PHY")
    compat: Literal["standard", "ns2"] = Field(
        default="standard", description="ns2: the quirks of ns-2's 802.11, for the papers' results"
    )
    fidelity: Literal["core", "bytes", "samples"] = Field(
        default="core",
        description="core: channel access alone. bytes: the whole MAC with real frames, at the same times; far slower. "
        "samples: MAC and DSSS modem, waveforms between them; a hundredth of real time",
    )
    access_mode: Literal["dcf", "csma", "fama"] = Field(
        default="dcf",
        description="dcf: IEEE 802.11; csma, fama: at once if the medium is idle, else after a random time",
    )
    mac_ack: bool | None = Field(
        default=None, description="whether DATA is acknowledged on the link; null: under dcf it is, else not"
    )
    vacation_us: int = Field(
        default=spec.DEFAULT_VACATION_US, ge=0, le=65535, description="of csma and fama: rest after a packet"
    )
    fama: Fama = Field(default=Fama(), description="of fama alone, and at fidelity core; csma has nothing of it")
    path_header: bool = Field(default=True, description="false: frames are 18 bytes shorter, and no policy works")
    four_address: bool = Field(default=False, description="DATA frames tell the ends of the path, too: 6 bytes more")
    data_rate_mbps: float = Field(default=2, gt=0, description="rate of DATA frames, one of the profile's")
    rts_threshold_bytes: int = Field(
        default=spec.DEFAULT_RTS_THRESHOLD_BYTES,
        ge=0,
        le=4095,
        description="MPDUs longer than this ask for the medium first; 4095 is never",
    )
    short_retry_limit: int = Field(
        default=spec.DEFAULT_SHORT_RETRY_LIMIT, ge=1, le=31, description="attempts of frames up to the RTS threshold"
    )
    long_retry_limit: int = Field(
        default=spec.DEFAULT_LONG_RETRY_LIMIT, ge=1, le=31, description="attempts of frames above the RTS threshold"
    )
    queue_packets: int = Field(
        default=spec.DEFAULT_QUEUE_PACKETS, ge=1, le=4096, description="interface queue, drop tail"
    )
    average_shift: int = Field(
        default=spec.DEFAULT_AVERAGE_SHIFT, ge=1, le=7, description="running averages move by 1/2^shift a packet"
    )


# --- policies (their words: perhop.experiment.policies) ------------------------------------------------------


def _policy_text(value: Any) -> Any:
    if isinstance(value, Policy):
        value = value.words
    if not isinstance(value, str):
        raise _refused(f"is {value!r}, which is no policy", f"write {POLICY_FORMS}")
    parse_policy(value)
    return value


def one_policy(value: Any) -> Any:
    if value is None:
        return None
    words = _policy_text(value)
    if len(parse_policy(words)) > 1:
        raise _refused(f"is {words!r}, but a flow has a single policy", "list the range under `policies:`")
    return words


PolicyText = Annotated[str, BeforeValidator(_policy_text)]
OnePolicy = Annotated[str | None, BeforeValidator(one_policy)]


# --- traffic --------------------------------------------------------------------------------------------------------


END_WORDS = ("first", "last", "server", "right", "bottom")
SOURCE_WORDS = ("first", "last", "server", "each", "top")


def _end(value: Any) -> Any:
    if isinstance(value, str) and value not in (*END_WORDS, *SOURCE_WORDS):
        raise _refused(f"is {value!r}, which names no node", "use a node's index, first or last")
    return value


End = Annotated[
    Literal["first", "last", "server", "right", "bottom"] | Annotated[int, Field(ge=0)], BeforeValidator(_end)
]
Source = Annotated[
    Literal["first", "last", "server", "each", "top"] | Annotated[int, Field(ge=0)], BeforeValidator(_end)
]


LONGEST_RTO_MS = 60_000


class FlowBase(Section):
    """Who sends to whom, and when."""

    src: Source = Field(
        default="first",
        description="a node's index, first, last, server, each (all others send), or top (each of a grid's first row)",
    )
    dst: End = Field(
        default="last",
        description="a node's index, first, last, server, or in a grid right (of each, its next), bottom (of top)",
    )
    start_s: float = Field(default=0.1, ge=0, description="when the flow starts")
    stagger_s: float = Field(default=0, ge=0, description="of each and top: a flow starts so much after the last one")
    stop_s: float | None = Field(default=None, gt=0, description="when it stops; null: at the end")


TcpVariant = Literal["newreno", "reno", "linuxreno", "bsd", "cubic", "bbr", "dctcp", "vegas", "veno", "westwood"]


class TcpFlow(FlowBase):
    """TCP, forwarded over the routes: bulk data without end, a transfer of a given size, or data at a given rate."""

    kind: Literal["tcp"] = "tcp"
    variant: TcpVariant = Field(
        default="newreno",
        description="reno leaves fast recovery at a partial TCP ACK; linuxreno grows by what a TCP ACK acknowledges; "
        "bsd: FreeBSD 2.2.4 (min_rto_ms 1000); cubic, bbr (version 1), dctcp, vegas, veno, westwood: as ns-3 models "
        "them",
    )
    sack: bool = Field(default=False, description="selective acknowledgements")
    ecn: bool = Field(default=False, description="ECN (RFC 3168); a policy with the part `ecn` has it in any case")
    segment_bytes: int = Field(default=1460, ge=1, le=2264, description="TCP payload of a full segment")
    tcp_ack_every: int = Field(default=1, ge=1, le=64, description="segments a TCP ACK confirms, or 200 ms")
    min_rto_ms: int = Field(
        default=200,
        ge=1,
        le=LONGEST_RTO_MS,
        description="least retransmission timeout: Linux and ns-2.35 200, RFC 6298 1000",
    )
    max_rto_ms: int = Field(
        default=LONGEST_RTO_MS,
        ge=1,
        le=LONGEST_RTO_MS,
        description="largest retransmission timeout; paper 000's mobile nodes have 2000",
    )
    transfer_bytes: int | None = Field(
        default=None, ge=1, le=10**12, description="what is sent in all; null: without end"
    )
    rate_bps: float | None = Field(
        default=None, gt=0, le=1e9, description="at which the application writes (interactive); null: as TCP takes it"
    )
    max_window_packets: int = Field(
        default=44, ge=1, le=1024, description="the receiver's window; with a window limit it is at most 65,535 bytes"
    )
    policy: OnePolicy = Field(default=None, description=f"{POLICY_FORMS}; null: each of `policies`")


class CbrFlow(FlowBase):
    """Packets of one size at a constant rate over UDP, forwarded over the routes."""

    kind: Literal["cbr"] = "cbr"
    rate_bps: float = Field(gt=0, le=1e9, description="rate of the UDP payload")
    burst_packets: int = Field(default=1, ge=1, le=1000, description="packets that leave at once, so many less often")
    payload_bytes: int = Field(default=1000, ge=12, le=2200, description="UDP payload of a packet")
    expedited: bool = Field(
        default=False, description="marked as Expedited Forwarding (RFC 3246): real-time for the section `swan`"
    )


class ExactFlow(FlowBase):
    """UDP at the rate that the routers of EXACT allow; its routers are set up by the section `exact`."""

    kind: Literal["exact"] = "exact"
    application: Literal["greedy", "audio"] = Field(
        default="greedy", description="greedy: what is allowed at once; audio: Delayed Increase Immediate Decrease"
    )
    payload_bytes: int = Field(default=1000, ge=12, le=2200, description="UDP payload of a packet")
    demand_bps: float = Field(default=0, ge=0, le=1e9, description="the application's largest rate; 0: without limit")
    diid_s: float = Field(default=5, ge=0, le=1e6, description="of audio: a higher rate must have held for so long")
    weight: float = Field(default=1, ge=1e-3, le=1e3, description="share among the flows of a router")


class TfrcFlow(FlowBase):
    """UDP at the rate that TCP would have at the same loss event rate and round trip; always has data."""

    kind: Literal["tfrc"] = "tfrc"
    profile: Literal["paper", "rfc5348"] = Field(
        default="paper", description="paper: paper 002's, with t_RTO = max(4 R, 1 s); rfc5348: that of RFC 5348"
    )
    payload_bytes: int = Field(default=1000, ge=25, le=2200, description="UDP payload of a packet")
    loss_intervals: int = Field(default=8, ge=1, le=1024, description="L: intervals that the loss event rate averages")
    avoid_oscillation: bool = Field(
        default=True, description="slower while the round trip is above its mean (RFC 5348, 4.5), as in ns-2"
    )


class MacSaturatedFlow(FlowBase):
    """MAC-level traffic to a neighbour: the queue is never empty."""

    kind: Literal["mac_saturated"] = "mac_saturated"
    ip_bytes: int = Field(default=1500, ge=1, le=2304, description="size of the IP packet")
    path_header: bool = Field(default=True, description="carry the path header")


class MacPoissonFlow(FlowBase):
    """MAC-level traffic to a neighbour: packets arrive as a Poisson process."""

    kind: Literal["mac_poisson"] = "mac_poisson"
    ip_bytes: int = Field(default=1500, ge=1, le=2304, description="size of the IP packet")
    path_header: bool = Field(default=True, description="carry the path header")
    rate_packets_per_s: float = Field(gt=0, description="mean arrivals")


Flow = Annotated[
    TcpFlow | CbrFlow | ExactFlow | TfrcFlow | MacSaturatedFlow | MacPoissonFlow, Field(discriminator="kind")
]


class Exact(ExactSettings):
    """EXACT in the nodes, for flows of kind exact."""

    packets: bool = Field(default=False, description="record every data packet at every router: exact_packets.csv")
    silent_routers: list[Annotated[int, Field(ge=0)]] = Field(default=[], description="nodes without EXACT")


# --- routing and what happens during a run --------------------------------------------------------------------------


_Protocol = Literal["static", "aodv", "dsr", "gpsr"]


class Routing(Section):
    """How packets find their way."""

    protocol: _Protocol = Field(
        default="static",
        description="static: fewest hops over tx_range_m, as events change them; aodv: RFC 3561; dsr: RFC 4728; "
        "gpsr: by the positions of nodes, greedily and around voids",
    )
    link_failure: Literal["ignore", "purge"] | None = Field(
        default=None,
        description="when the MAC gives up a packet; purge: drop what else waits for that neighbour, as ns-2's routing "
        "agents do, with dsr and gpsr find another way for it; null: ignore with static, purge otherwise",
    )

    local_repair: Literal["ns2", "rfc3561", "off"] = Field(
        default="ns2",
        description="with aodv, what a router does that loses a link on the farther half of a packet's way; ns2: as "
        "ns-2.35, which the papers used; rfc3561: as RFC 3561, 6.12; off: it drops the packet and tells of the route",
    )

    @property
    def on_link_failure(self) -> str:
        return self.link_failure or ("ignore" if self.protocol == "static" else "purge")


def _routing(value: Any) -> Any:
    return {"protocol": value} if isinstance(value, str) else value


class EventBase(Section):
    """When something happens to the network."""

    at_s: float = Field(ge=0, description="simulated time; live: seconds since the network was up")


class RouteEvent(EventBase):
    """From then on packets for the last node of the path follow it; what waits in a queue goes where it was queued."""

    kind: Literal["route"] = "route"
    path: list[Annotated[int, Field(ge=0)]] = Field(
        min_length=2, max_length=MOST_HOPS + 1, description="nodes, first to last"
    )
    both_ways: bool = Field(default=True, description="packets for the first node come back the same way")


class LinkEvent(EventBase):
    """Nothing passes between two nodes, neither frames nor energy; or it does again."""

    kind: Literal["link_down", "link_up"]
    a: int = Field(ge=0, description="a node")
    b: int = Field(ge=0, description="another")


class NodeEvent(EventBase):
    """A node is dead: no frame of it passes, nor one to it; or it is back. Live, its daemon is killed, too."""

    kind: Literal["node_down", "node_up"]
    node: int = Field(ge=0, description="the node")


class LossEvent(EventBase):
    """From then on DATA frames are lost at random at this rate, at every receiver."""

    kind: Literal["loss"] = "loss"
    frame_error_rate: float = Field(ge=0, le=1, description="share of good frames lost at random")


class MoveEvent(EventBase):
    """A node goes somewhere else in a straight line, and then stays. Static routes stay as they are."""

    kind: Literal["move"] = "move"
    node: int = Field(ge=0, description="the node")
    x_m: float
    y_m: float
    speed_mps: float | None = Field(default=None, ge=1e-6, le=1e6, description="null: it is there at once")


Event = Annotated[RouteEvent | LinkEvent | NodeEvent | LossEvent | MoveEvent, Field(discriminator="kind")]


# --- the file -------------------------------------------------------------------------------------------------------


class Program(Section):
    """A program of the user's in the Linux kernel of a node, with --backend kernel."""

    node: End = Field(default="last", description="a node's index, first or last")
    start_s: float = Field(default=0.1, ge=0, description="when it starts")
    command: str = Field(
        min_length=1, max_length=3000, pattern=r"^[^\n]*$", description="for /bin/sh, or where there is none its words"
    )
    initramfs: str = Field(
        min_length=1, description="its files: a cpio archive, gzipped or not; looked for from the experiment file on"
    )
    traced: bool = Field(
        default=False, description="kernel-N.log tells each call that reads from or writes to a connection of TCP"
    )


class Outputs(Section):
    """What the runs record."""

    pcapng: Literal["longest", "all", "off"] = Field(
        default="longest", description="which runs record packets.pcapng; longest: most hops, first seed, last policy"
    )
    capture_nodes: list[Annotated[int, Field(ge=0)]] = Field(
        default=[],
        description="packets.pcapng has what these nodes send and what is for them; empty: what all send",
    )
    trace: bool = Field(default=False, description="one line for each transmission and completion")
    completions: bool = Field(
        default=False, description="every completion record as CSV; with --backend kernel also each packet's hops"
    )
    interval_s: float = Field(default=1.0, gt=0, description="rows of results.parquet are this long")


class Experiment(Section):
    """A whole experiment file, before its sweep is unrolled."""

    beside_fields: ClassVar[tuple[str, ...]] = ("sweep", "quick")

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$", description="letters, digits, _ . -")
    description: str = Field(default="", description="a sentence for the report")
    topology: Topology = Field(description="where the nodes are")
    servers: int = Field(default=0, ge=0, le=64, description="nodes without radio, numbered after the topology's")
    wires: list[Wire] = Field(default=[], description="wired links, between gateways and servers or among either")
    medium: Medium = Medium()
    mac: Mac = Mac()
    links: list[Link] = Field(default=[], description="links with another rate than mac.data_rate_mbps")
    routing: Annotated[Routing, BeforeValidator(_routing, json_schema_input_type=_Protocol | Routing)] = Field(
        default=Routing(),
        description="static, aodv, dsr or gpsr, or a section with protocol, link_failure and local_repair",
    )
    events: list[Event] = Field(
        default=[], description="new routes; links and nodes that go and come back; moves; lost frames"
    )
    flows: list[Flow] = Field(min_length=1, description="who sends what to whom")
    programs: list[Program] = Field(default=[], description="programs in Linux kernels, beside the flows")
    policies: list[PolicyText] = Field(default=["none"], min_length=1, description=f"a list of {POLICY_FORMS}")
    seeds: list[Annotated[int, Field(ge=0, lt=2**63)]] = Field(default=[1], min_length=1, description="one run a seed")
    duration_s: float = Field(gt=0, le=1e6, description="simulated seconds of each run")
    warmup_s: float = Field(default=5, ge=0, description="seconds at the start that results leave out")
    backend: Literal["sim", "kernel", "live", "radio"] = Field(
        default="sim",
        description="where the MAC runs: simulated; the same with Linux' TCP in virtual time; in namespaces in real "
        "time; on hosts with radios",
    )
    exact: Exact = Exact()
    swan: SwanSettings | None = Field(
        default=None, description="null: best effort goes when the MAC has room; {}: every node slows it by SWAN's rule"
    )
    outputs: Outputs = Outputs()
