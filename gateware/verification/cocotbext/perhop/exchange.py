# SPDX-License-Identifier: GPL-2.0-or-later
"""What goes into a MAC and what comes out of it, as plain data with times in microseconds."""

from collections.abc import Iterable
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Packet:
    """A descriptor; `bytes` is the whole MPDU with its FCS."""

    ra: int
    peer: int
    bytes: int
    rate: int
    airtime_us: int
    use_rts: bool
    tag: int
    # (attempts, rate, airtime_us) of the rate series; the first is at `rate` and `airtime_us`. Empty: one rate.
    series: tuple[tuple[int, int, int], ...] = ()
    queue: int = 0

    def series_words(self) -> tuple[int, int, int]:
        """series_attempts, series_rate and series_airtime_us of the descriptor."""
        attempts = sum(entry[0] << 5 * number for number, entry in enumerate(self.series))
        rates = sum(entry[1] << 3 * number for number, entry in enumerate(self.series[1:]))
        airtimes = sum(entry[2] << 16 * number for number, entry in enumerate(self.series[1:]))
        return attempts, rates, airtimes


@dataclass(frozen=True)
class ReceivedFrame:
    """What the PHY and the deframer tell at a frame's end; `ok`: the FCS was right."""

    ok: bool
    kind: int
    rate: int
    duration_us: int
    ra: int
    ta: int
    sequence: int = 0
    retry: bool = False


@dataclass
class TickInputs:
    """Everything that reaches a MAC at one microsecond; cca_busy is the level from then on, None: as before."""

    at_us: int
    cca_busy: bool | None = None
    rx_start: bool = False
    rx_end: ReceivedFrame | None = None
    packets: list[Packet] = field(default_factory=list)


@dataclass(frozen=True)
class Transmission:
    """A frame that the MAC gave to the PHY at at_us. Control frames have no sequence number: it is None."""

    at_us: int
    kind: int
    rate: int
    bytes: int
    airtime_us: int
    duration_us: int
    ra: int
    sequence: int | None
    retry: bool
    tag: int
    queue: int = 0


@dataclass(frozen=True)
class Completion:
    """A packet's record, in the words of the done_ outputs."""

    at_us: int
    tag: int
    peer: int
    sequence: int
    bytes: int
    rate: int
    result: int
    rts_attempts: int
    data_attempts: int
    ssrc: int
    slrc: int
    cw: int
    slots_drawn: int
    queue: int
    t_enqueue_us: int
    t_head_us: int
    t_first_tx_us: int
    t_done_us: int
    queue_us: int
    ifs_us: int
    backoff_us: int
    frozen_cca_us: int
    frozen_nav_us: int
    control_us: int
    data_us: int
    response_us: int
    timeout_us: int
    responder_us: int
    avg_contention_us16: int
    avg_overhead_us16: int
    avg_data_attempts_256: int

    def parts_us(self) -> tuple[int, ...]:
        """The ten parts of the packet's life, whose sum is the whole."""
        return tuple(getattr(self, name) for name in PARTS)


PARTS = (
    "queue_us",
    "ifs_us",
    "backoff_us",
    "frozen_cca_us",
    "frozen_nav_us",
    "control_us",
    "data_us",
    "response_us",
    "timeout_us",
    "responder_us",
)


@dataclass(frozen=True)
class Delivery:
    """A received DATA frame went to the host, or was recognised as a duplicate."""

    at_us: int
    duplicate: bool


Output = Transmission | Completion | Delivery

# What the gateware rounds, and exact arithmetic does not.
AVERAGES = ("avg_contention_us16", "avg_overhead_us16", "avg_data_attempts_256")


def comparable(outputs: Iterable[Output]) -> list[tuple]:
    """What a station did, without the averages; outputs of one microsecond in a fixed order."""
    return sorted(
        (
            output.at_us,
            type(output).__name__,
            *((name, value) for name, value in vars(output).items() if name not in AVERAGES),
        )
        for output in outputs
    )
