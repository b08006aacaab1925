# SPDX-License-Identifier: GPL-2.0-or-later
"""What MPM, the program on a USRP's processor, answers to UHD's calls. Values of its maps are text."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass

from .ad9361 import FASTEST_HZ, SLOWEST_HZ, Ad9361

COMPAT = (4, 2)  # of UHD 4.3
CHDR_WIDTH, PROTOCOL_VERSION = 64, 0x0100
BUS_CLOCK_HZ = {"e310": 100e6, "e320": 200e6}
LINK_BYTES_PER_S = 125_000_000
CLAIM_S = 5.0
"""After which a claim lapses that nobody renews, as MPM 4.2 has it: whoever had it is gone."""
# Calls without the token of a claim; in all others it comes first.
ANYBODYS = frozenset(
    {"claim", "get_device_info", "get_dboard_info", "get_last_error", "get_mpm_compat_num", "get_chdr_width"}
    | {"get_proto_ver", "list_updateable_components", "ping"}
)
# How a front end may be other than it was told, as who reads back finds. Of gains UHD tells what it asked for.
FAULTS = ("frequency", "bandwidth", "lo", "reference", "clock", "time")
OFF_HZ = 1e6


class CallError(Exception):
    """The call is answered by an error."""


@dataclass(frozen=True)
class Identity:
    """Which device this is."""

    device: str
    product: str
    serial: str
    name: str
    address: str
    chdr_port: int


class Mpm:
    """The calls that UHD makes of an E3xx, in the order of a session: claim, look, init, front end, unclaim."""

    def __init__(
        self,
        identity: Identity,
        codec: Ad9361,
        set_device_id: Callable[[int], None],
        ticks: Callable[[], int],
        compat: tuple[int, int] = COMPAT,
        now_s: Callable[[], float] = time.monotonic,
        faults: frozenset[str] = frozenset(),
    ) -> None:
        self._identity, self._codec = identity, codec
        self._set_device_id, self._ticks, self._compat = set_device_id, ticks, compat
        self._token: str | None = None
        self._now_s, self._renewed_s = now_s, 0.0
        self._faults = set(faults)
        self._calls = {
            **self._session(), **self._motherboard(), **self._links(), **self._timing(), **self._front_end()
        }  # fmt: skip

    @property
    def info(self) -> dict[str, str]:
        of = self._identity
        return {
            "type": "e3xx", "product": of.product, "serial": of.serial, "name": of.name, "fpga": "1G", "rev": "1",
            "description": f"virtual {of.device.upper()}", "mpm_version": "4.3.0", "fpga_version": "8.0",
            "claimed": str(self._claimed), "connection": "remote",
        }  # fmt: skip

    def spoil(self, fault: str, spoilt: bool) -> None:
        """From now on."""
        (self._faults.add if spoilt else self._faults.discard)(fault)

    def call(self, method: str, params: list) -> object:
        """A call's result; CallError where MPM has no such call, or refuses it."""
        function = self._calls.get(method)
        if function is None:
            raise CallError(f"there is no {method} in this MPM")
        if method not in ANYBODYS:
            if not params or not self._claimed or params[0] != self._token:
                raise CallError(f"{method}: only whoever claimed the device may call this")
            params = params[1:]
            self._renewed_s = self._now_s()
        try:
            return function(*params)
        except (TypeError, ValueError) as error:
            raise CallError(f"{method}: {error}") from error

    def _session(self) -> dict:
        return {
            "claim": self._claim,
            "reclaim": lambda: True,
            "unclaim": self._unclaim,
            "ping": lambda text: text,
            "get_log_buf": lambda: [],
            "get_last_error": lambda: "",
            "get_mpm_compat_num": lambda: list(self._compat),
            "get_init_status": lambda: ["true", "No errors."],
            "init": self._init,
        }

    @property
    def _claimed(self) -> bool:
        return self._token is not None and self._now_s() - self._renewed_s < CLAIM_S

    def _claim(self, _session: str) -> str:
        if self._claimed:
            raise CallError("claim: the device is claimed by somebody else")
        self._token, self._renewed_s = secrets.token_hex(16), self._now_s()
        return self._token

    def _unclaim(self) -> bool:
        self._token = None
        return True

    def _init(self, args: dict[str, str]) -> bool:
        rate_hz = float(args.get("master_clock_rate", self._codec.clock_rate_hz))
        if not SLOWEST_HZ <= rate_hz <= FASTEST_HZ:
            raise CallError(f"init: master_clock_rate {rate_hz:g} is not between {SLOWEST_HZ:g} and {FASTEST_HZ:g}")
        self._codec.clock_rate_hz = rate_hz
        self._codec.set_active_chains(True, False, True, False)
        return True

    def _motherboard(self) -> dict:
        serial = self._identity.serial
        return {
            "get_device_info": lambda: self.info,
            "get_dboard_info": lambda: [{"pid": "58144", "serial": serial, "rev": "0"}],
            "set_device_id": self._set_device_id,
            "list_updateable_components": lambda: [],
            "supports_feature": lambda _name: False,
            "get_mb_eeprom": lambda: {"serial": serial, "pid": "58144"},
            "get_db_eeprom": lambda _slot: {"serial": serial},
            "get_mb_sensors": lambda: ["ref_locked"],
            "get_mb_sensor": lambda name: self._lock(name, "reference"),
            "get_gpio_banks": lambda: ["FP0"],
            "get_gpio_srcs": lambda _bank: ["PS", "RADIOA", "RADIOB"],
        }

    def _lock(self, name: str, fault: str) -> dict[str, str]:
        """A sensor that says whether something has locked."""
        locked = fault not in self._faults
        return {
            "name": name, "type": "BOOLEAN", "unit": "locked" if locked else "unlocked", "value": str(locked).lower()
        }  # fmt: skip

    def _links(self) -> dict:
        of = self._identity
        link = {
            "iface": "sfp0", "ipv4": of.address, "port": str(of.chdr_port), "link_rate": str(LINK_BYTES_PER_S),
            "type": "sfp", "mtu": "1500",
        }  # fmt: skip
        return {
            "get_chdr_width": lambda: CHDR_WIDTH,
            "get_proto_ver": lambda: PROTOCOL_VERSION,
            "get_chdr_link_types": lambda: ["udp"],
            "get_chdr_link_options": lambda _kind: [link],
        }

    def _timing(self) -> dict:
        clock, of_time = ("external" if name in self._faults else "internal" for name in ("clock", "time"))
        source = {"clock_source": clock, "time_source": of_time}
        return {
            "get_num_timekeepers": lambda: 1,
            "set_tick_period": lambda _keeper, _period: None,
            "set_timekeeper_time": lambda _keeper, _ticks, _at_pps: None,
            "get_timekeeper_time": lambda _keeper, _at_pps: self._ticks(),
            "get_clocks": self._clocks,
            "get_clock_source": lambda: clock,
            "get_clock_sources": lambda: ["internal", "external"],
            "get_time_source": lambda: of_time,
            "get_time_sources": lambda: ["internal", "external"],
            "get_sync_source": lambda: source,
            "get_sync_sources": lambda: [source],
            "set_clock_source": lambda _source: None,
            "set_time_source": lambda _source: None,
            "set_sync_source": lambda _source: None,
        }

    def _clocks(self) -> list[dict[str, str]]:
        return [
            {"name": "radio_clk", "freq": str(self._codec.clock_rate_hz), "mutable": "true"},
            {"name": "bus_clk", "freq": str(BUS_CLOCK_HZ[self._identity.device])},
        ]

    def _front_end(self) -> dict:
        codec = self._codec

        def keep(values: dict[str, object]) -> Callable[[str, object], None]:
            return values.__setitem__

        def keep_and_tell(
            values: dict[str, float], fault: str = "", spoilt: Callable[[float], float] = float
        ) -> Callable[[str, float], float]:
            def store(chain: str, value: float) -> float:
                values[chain] = spoilt(value) if fault in self._faults else value
                return values[chain]

            return store

        def keep_as(name: str) -> Callable[[object], None]:
            return lambda value: setattr(codec, name, value)

        def set_clock_rate(rate_hz: float) -> float:
            codec.clock_rate_hz = rate_hz
            return rate_hz

        calls = {
            "get_master_clock_rate": lambda: codec.clock_rate_hz,
            "set_catalina_clock_rate": set_clock_rate,
            "set_active_chains": codec.set_active_chains,
            "set_timing_mode": keep_as("timing_mode"),
            "data_port_loopback": keep_as("loopback"),
            "set_gain": keep_and_tell(codec.gain_db),
            "catalina_tune": keep_and_tell(codec.frequency_hz, "frequency", lambda wanted_hz: wanted_hz + OFF_HZ),
            "set_bw_filter": keep_and_tell(codec.bandwidth_hz, "bandwidth", lambda wanted_hz: wanted_hz / 2),
            "set_dc_offset_auto": keep(codec.dc_offset_auto),
            "set_iq_balance_auto": keep(codec.iq_balance_auto),
            "set_agc": keep(codec.gain_control),
            "get_sensors": lambda _direction: ["lo_lock", "lo_locked"],
            "get_sensor": lambda _direction, name, _channel: self._lock(name, "lo"),
        }
        return {
            "set_channel_mode": keep_as("channel_mode"),
            **{f"db_0_{name}": function for name, function in calls.items()},
        }
