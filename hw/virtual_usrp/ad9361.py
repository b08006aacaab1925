# SPDX-License-Identifier: GPL-2.0-or-later
"""What an AD9361 was told: which chains run, at which rate, frequency and gain. Nothing of its analogue side.

UHD names its chains TX1, TX2, RX1, RX2. In the channel modes SISO_TX0 and SISO_TX1 its port carries one channel each
way: what is received goes to both channels of the FPGA's radio port, and of what they send the mode takes that of one.
In MIMO the port takes turns, so each channel gets half of what it carries.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field

CHAINS = ("TX1", "TX2", "RX1", "RX2")
SLOWEST_HZ, FASTEST_HZ = 220e3, 61.44e6
FASTEST_PAIR_HZ = 30.72e6
"""Of each of two channels. The chip's limit as these devices use its port; UHD itself does not check it."""


@dataclass
class Ad9361:
    """The codec's settings, as UHD's calls leave them."""

    clock_rate_hz: float
    active: dict[str, bool] = field(default_factory=lambda: dict.fromkeys(CHAINS, False))
    timing_mode: str = "1R1T"
    channel_mode: str = "SISO_TX0"
    gain_db: dict[str, float] = field(default_factory=dict)
    frequency_hz: dict[str, float] = field(default_factory=dict)
    bandwidth_hz: dict[str, float] = field(default_factory=dict)
    dc_offset_auto: dict[str, bool] = field(default_factory=dict)
    iq_balance_auto: dict[str, bool] = field(default_factory=dict)
    gain_control: dict[str, bool] = field(default_factory=dict)
    loopback: bool = False

    def set_active_chains(self, tx1: bool, tx2: bool, rx1: bool, rx2: bool) -> None:
        self.active = dict(zip(CHAINS, (tx1, tx2, rx1, rx2), strict=True))

    @property
    def chains(self) -> str:
        """As the tables of the pages have it: T F T F."""
        return " ".join("FT"[self.active[name]] for name in CHAINS)

    @property
    def carries_its_rate(self) -> bool:
        """Whether the port can carry this rate with these chains."""
        return self.channel_mode != "MIMO" or self.clock_rate_hz <= FASTEST_PAIR_HZ

    def sends(self, chain: int) -> bool:
        """Whether what the FPGA sends for one channel leaves by chain 1 or 2."""
        selected = self.channel_mode == "MIMO" or self.channel_mode == f"SISO_TX{chain - 1}"
        return self.active[f"TX{chain}"] and selected and self.carries_its_rate

    def hears(self, chain: int) -> bool:
        """Whether what chain 1 or 2 receives reaches the FPGA."""
        return self.active[f"RX{chain}"] and self.carries_its_rate

    def as_dict(self) -> dict[str, object]:
        return asdict(self) | {"chains": self.chains, "carries_its_rate": self.carries_its_rate}
