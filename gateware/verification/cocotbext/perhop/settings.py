# SPDX-License-Identifier: GPL-2.0-or-later
"""What a MAC is told before it works: a timing profile, limits, quirks, addresses."""

from dataclasses import dataclass, fields, replace

from perhop.registers.spec_generated import CTS_BYTES as CTS_BYTES
from perhop.registers.spec_generated import DEFAULT_VACATION_US, PROFILES, AccessMode, airtime_us
from perhop.registers.spec_generated import RTS_BYTES as RTS_BYTES

RATES = 8


@dataclass(frozen=True)
class MacSettings:
    """Values of the cfg_ inputs, without the prefix; the quirks are those of ns-2.

    phy_rx_start_delay_us is no setting of the MAC: it is when the PHY says that a frame has begun, counted from the
    frame's first bit.
    """

    address: int
    seed: int
    access_mode: int
    no_mac_ack: bool
    vacation_us: int
    slot_us: int
    sifs_us: int
    difs_us: int
    eifs_us: int
    response_timeout_us: int
    nav_reset_us: int
    cw_min: int  # of queue 0, as cw_max
    cw_max: int
    high_cw_min: int  # of queue 1
    high_cw_max: int
    aifs_extra_slots: tuple[int, int]
    short_retry_limit: int
    long_retry_limit: int
    average_shift: int
    rts_rate: int
    rts_airtime_us: int
    response_rate: tuple[int, ...]
    response_airtime_us: tuple[int, ...]
    quirk_eifs_as_nav: bool
    quirk_no_nav_reset: bool
    quirk_fixed_timeout: bool
    quirk_draw_below_cw: bool
    quirk_backoff_at_once: bool
    phy_rx_start_delay_us: int
    profile: str

    def data_airtime_us(self, rate: int, mpdu_bytes: int) -> int:
        """Airtime of a DATA frame."""
        return airtime_us(PROFILES[self.profile], rate, mpdu_bytes)


QUIRKS = tuple(field.name for field in fields(MacSettings) if field.name.startswith("quirk_"))
# Settings that each queue has its own of, and where a queue finds them.
QUEUE_SETTINGS = {
    "cw_min": lambda settings, queue: (settings.cw_min, settings.high_cw_min)[queue],
    "cw_max": lambda settings, queue: (settings.cw_max, settings.high_cw_max)[queue],
    "aifs_extra_slots": lambda settings, queue: settings.aifs_extra_slots[queue],
}
NO_PORT = ("phy_rx_start_delay_us", "profile", "high_cw_min", "high_cw_max")
CORE_SETTINGS = tuple(
    field.name for field in fields(MacSettings) if field.name not in NO_PORT and field.name not in QUEUE_SETTINGS
)


def apply_settings(dut, settings: MacSettings) -> None:
    """Gives the cfg_ inputs of a mac_core, or of what has them too, their values."""
    for name in CORE_SETTINGS:
        value, port = getattr(settings, name), getattr(dut, f"cfg_{name}")
        if isinstance(value, tuple):
            for rate in range(RATES):
                port[rate].value = value[rate]
        else:
            port.value = int(value)
    for name, value_of in QUEUE_SETTINGS.items():
        port = getattr(dut, f"cfg_{name}")
        for queue in range(len(port)):
            port[queue].value = value_of(settings, queue)


def station_address(letter: str) -> int:
    """The address of station A, B, C ... of a scenario; `all` is the broadcast address."""
    if letter == "all":
        return 0xFFFF_FFFF_FFFF
    if len(letter) != 1 or not "A" <= letter <= "Z":
        raise ValueError(f"{letter!r} is no station: A to Z, or all")
    return 0x0200_0000_0000 + ord(letter) - ord("A") + 1


def profile_settings(profile: str, *, ns2: bool = False, **changes: int | bool) -> MacSettings:
    """Settings of station A under a timing profile of protocol.yaml; keyword arguments replace single values."""
    timing = PROFILES[profile]
    used = len(timing.rates)
    response_rate = [timing.rates[min(rate, used - 1)].control_rate_index for rate in range(RATES)]
    settings = MacSettings(
        address=station_address("A"),
        seed=1,
        access_mode=AccessMode.DCF,
        no_mac_ack=False,
        vacation_us=DEFAULT_VACATION_US,
        slot_us=timing.slot_us,
        sifs_us=timing.sifs_us,
        difs_us=timing.difs_us,
        eifs_us=timing.eifs_us,
        # ns-2 waits for the end of the response: the core adds the response's airtime to this allowance.
        response_timeout_us=timing.sifs_us + 4 if ns2 else timing.response_timeout_us,
        nav_reset_us=timing.nav_reset_us,
        cw_min=timing.cw_min,
        cw_max=timing.cw_max,
        high_cw_min=timing.cw_min,
        high_cw_max=timing.cw_max,
        aifs_extra_slots=(0, 0),
        short_retry_limit=7,
        long_retry_limit=4,
        average_shift=4,
        rts_rate=timing.control_rate_index,
        rts_airtime_us=airtime_us(timing, timing.control_rate_index, RTS_BYTES),
        response_rate=tuple(response_rate),
        response_airtime_us=tuple(airtime_us(timing, rate, CTS_BYTES) for rate in response_rate),
        quirk_eifs_as_nav=ns2,
        quirk_no_nav_reset=ns2,
        quirk_fixed_timeout=ns2,
        quirk_draw_below_cw=ns2,
        quirk_backoff_at_once=ns2,
        phy_rx_start_delay_us=timing.phy_rx_start_delay_us,
        profile=profile,
    )
    return replace(settings, **changes)
