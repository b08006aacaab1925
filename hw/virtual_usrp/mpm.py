# SPDX-License-Identifier: GPL-2.0-or-later
"""What MPM, the program on a USRP's processor, answers to UHD's calls. Values of its maps are text."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass

from .ad9361 import FASTEST_HZ, SLOWEST_HZ, Ad9361
from .timekeeper import SOURCES, Timekeeper
from .uhd_versions import USUAL, UhdVersion

CHDR_WIDTH = 64
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
FAULTS = ("frequency", "bandwidth", "lo", "reference", "clock", "time", "pulse")
# As 4.3's MPM has them: an E310 has no input for a reference.
CLOCK_SOURCES = {"e310": ("internal",), "e320": SOURCES}
OFF_HZ = 1e6
LO_SENSORS = ("lo_lock", "lo_locked")
TEMPERATURE = "ad9361_temperature"


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
        timekeeper: Timekeeper,
        compat: tuple[int, int] | None = None,
        now_s: Callable[[], float] = time.monotonic,
        faults: frozenset[str] = frozenset(),
        version: UhdVersion = USUAL,
    ) -> None:
        """`compat`: another than the version's, as a fault."""
        self._identity, self._codec = identity, codec
        self._set_device_id, self._timekeeper = set_device_id, timekeeper
        self._version, self._compat = version, compat or version.mpm_compat
        self._token: str | None = None
        self._now_s, self._renewed_s = now_s, 0.0
        self._faults = set(faults)
        self._sources = {"clock": SOURCES[0], "time": SOURCES[0]}
        self._listen()
        self._calls = {
            **self._session(), **self._motherboard(), **self._links(), **self._timing(), **self._front_end()
        }  # fmt: skip

    @property
    def info(self) -> dict[str, str]:
        of = self._identity
        return {
            "type": "e3xx", "product": of.product, "serial": of.serial, "name": of.name, "fpga": "1G", "rev": "1",
            "description": f"virtual {of.device.upper()}", "mpm_version": f"{self._version.name}.0",
            "fpga_version": "8.0", "claimed": str(self._claimed), "connection": "remote",
            **({"rpc_version": str(self._version.rpc)} if self._version.tells_rpc else {}),
        }  # fmt: skip

    def spoil(self, fault: str, spoilt: bool) -> None:
        """From now on."""
        (self._faults.add if spoilt else self._faults.discard)(fault)
        self._listen()

    def _listen(self) -> None:
        self._timekeeper.listen(self._sources["time"], "pulse" not in self._faults)

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
        for what in self._sources:
            self._set_source(what, args.get(f"{what}_source", SOURCES[0]))
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
            # Of later versions: it has nothing for the host to do.
            "pop_host_tasks": lambda _task: [],
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
            "get_proto_ver": lambda: self._version.rfnoc_protocol,
            "get_chdr_link_types": lambda: ["udp"],
            "get_chdr_link_options": lambda _kind: [link],
            # Of later versions: no adapter here carries streams to another host.
            "get_chdr_xport_adapters": lambda: {},
        }

    def _timing(self) -> dict:
        def set_time(_keeper: int, ticks: int, at_pulse: bool) -> None:
            (self._timekeeper.set_at_next_pulse if at_pulse else self._timekeeper.set_now)(ticks)

        def get_time(_keeper: int, at_pulse: bool) -> int:
            return self._timekeeper.last_pulse_ticks() if at_pulse else self._timekeeper.ticks()

        def sources() -> dict[str, str]:
            return {f"{what}_source": self._source(what) for what in self._sources}

        def set_sources(wanted: dict[str, str]) -> None:
            for what in self._sources:
                self._set_source(what, wanted.get(f"{what}_source", self._sources[what]))

        return {
            "get_num_timekeepers": lambda: 1,
            "set_tick_period": lambda _keeper, _period: None,
            "set_timekeeper_time": set_time,
            "get_timekeeper_time": get_time,
            "get_clocks": self._clocks,
            "get_clock_source": lambda: self._source("clock"),
            "get_clock_sources": lambda: list(self._known_sources("clock")),
            "get_time_source": lambda: self._source("time"),
            "get_time_sources": lambda: list(self._known_sources("time")),
            "get_sync_source": sources,
            "get_sync_sources": lambda: [sources()],
            "set_clock_source": lambda source: self._set_source("clock", source),
            "set_time_source": lambda source: self._set_source("time", source),
            "set_sync_source": set_sources,
            # Of later versions: nothing is left to agree on between devices.
            "synchronize": lambda _args, _finalize: {},
            "aggregate_sync_data": lambda collated: collated[0] if collated else {},
        }

    def _known_sources(self, what: str) -> tuple[str, ...]:
        return CLOCK_SOURCES[self._identity.device] if what == "clock" else SOURCES

    def _source(self, what: str) -> str:
        """What it says that it uses: another one than it was told, where that is the fault."""
        told = self._sources[what]
        return next(each for each in SOURCES if each != told) if what in self._faults else told

    def _set_source(self, what: str, source: str) -> None:
        if source not in self._known_sources(what):
            raise ValueError(f"there is no {what} source {source}; it has {', '.join(self._known_sources(what))}")
        self._sources[what] = source
        self._listen()

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

        def sensor(_direction: str, name: str, _channel: int) -> dict[str, str]:
            # UHD 4.8 asks for it without having found it among those that there are.
            if name == TEMPERATURE:
                return {"name": name, "type": "INTEGER", "unit": "C", "value": "32"}
            if name not in LO_SENSORS:
                raise ValueError(f"there is no sensor {name}; it has {', '.join(LO_SENSORS)}")
            return self._lock(name, "lo")

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
            "get_sensors": lambda _direction: list(LO_SENSORS),
            "get_sensor": sensor,
        }
        return {
            "set_channel_mode": keep_as("channel_mode"),
            **{f"db_0_{name}": function for name, function in calls.items()},
        }
