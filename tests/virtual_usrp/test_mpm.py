# SPDX-License-Identifier: GPL-2.0-or-later
"""What MPM answers: discovery, claims, and the codec that UHD sets by its calls."""

import msgpack
import pytest

from .devices import Ad9361, discovery, mpm, rpc


class Keeper:
    """Notes what the timekeeper is told."""

    def __init__(self) -> None:
        self.told: list[tuple] = []

    def ticks(self) -> int:
        return 42

    def last_pulse_ticks(self) -> int:
        return 22_000_000

    def set_now(self, ticks: int) -> None:
        self.told.append(("now", ticks))

    def set_at_next_pulse(self, ticks: int) -> None:
        self.told.append(("at the next pulse", ticks))

    def listen(self, source: str, comes: bool) -> None:
        self.told.append((source, comes))


def made(device: str = "e320", now_s=lambda: 0.0, faults=(), keeper=None) -> tuple[mpm.Mpm, Ad9361]:
    codec = Ad9361(22e6)
    identity = mpm.Identity(device, device, "S1", "one", "127.0.0.2", 49153)
    keeper = keeper or Keeper()
    return mpm.Mpm(identity, codec, lambda number: None, keeper, now_s=now_s, faults=frozenset(faults)), codec


def test_discovery_tells_which_device_this_is_and_whether_it_is_taken():
    of, _ = made()
    assert discovery.answer(b"MPM-DISC\0", of.info).startswith(b"USRP-MPM;type=e3xx;product=e320;serial=S1;")
    assert discovery.answer(b"MPM-DISC", of.info).endswith(b";claimed=False")
    of.call("claim", ["UHD"])
    assert discovery.answer(b"MPM-DISC", of.info).endswith(b";claimed=True")
    assert discovery.answer(b"hello", of.info) is None


def test_an_echo_comes_back_as_long_as_the_path_carries():
    for length, comes in ((1472, True), (1473, False)):
        request = b"MPM-ECHO" + bytes(length - 8)
        assert (discovery.answer(request, {}) == request) is comes


def test_a_claimed_device_obeys_only_who_claimed_it():
    of, codec = made()
    token = of.call("claim", ["UHD"])
    with pytest.raises(mpm.CallError, match="claimed by somebody else"):
        of.call("claim", ["UHD"])
    for wrong in ([], ["nonsense"]):
        with pytest.raises(mpm.CallError, match="only whoever claimed"):
            of.call("db_0_set_active_chains", [*wrong, True, True, True, True])
    assert codec.chains == "F F F F"
    of.call("db_0_set_active_chains", [token, True, True, False, False])
    assert codec.chains == "T T F F"
    of.call("unclaim", [token])
    assert of.call("claim", ["UHD"]) != token


def test_a_claim_that_nobody_renews_lapses():
    now = [0.0]
    of, _ = made(now_s=lambda: now[0])
    token = of.call("claim", ["UHD"])
    for now[0] in (4.0, 8.0, 12.0):
        assert of.call("reclaim", [token]) is True
    now[0] = 16.9
    with pytest.raises(mpm.CallError, match="claimed by somebody else"):
        of.call("claim", ["UHD"])
    now[0] = 17.0
    assert discovery.answer(b"MPM-DISC", of.info).endswith(b";claimed=False")
    with pytest.raises(mpm.CallError, match="only whoever claimed"):
        of.call("reclaim", [token])
    assert of.call("claim", ["UHD"]) != token


def test_a_fault_makes_the_front_end_other_than_it_was_told():
    of, codec = made(faults=("bandwidth", "lo"))
    token = of.call("claim", ["UHD"])
    assert of.call("db_0_set_bw_filter", [token, "TX1", 22e6]) == codec.bandwidth_hz["TX1"] == 11e6
    assert of.call("db_0_get_sensor", [token, "TX", "lo_locked", 0])["value"] == "false"
    assert of.call("get_mb_sensor", [token, "ref_locked"])["value"] == "true"
    of.spoil("reference", True)
    assert of.call("get_mb_sensor", [token, "ref_locked"])["value"] == "false"
    of.spoil("reference", False)
    assert of.call("get_mb_sensor", [token, "ref_locked"])["value"] == "true"


def test_calls_set_the_codec_and_answer_what_they_set():
    of, codec = made()
    token = of.call("claim", ["UHD"])
    of.call("init", [token, {"master_clock_rate": "44e6"}])
    assert of.call("db_0_get_master_clock_rate", [token]) == codec.clock_rate_hz == 44e6
    assert of.call("db_0_catalina_tune", [token, "RX2", 2.4e9]) == codec.frequency_hz["RX2"] == 2.4e9
    assert of.call("db_0_set_gain", [token, "TX1", 12.5]) == codec.gain_db["TX1"] == 12.5
    assert of.call("db_0_set_agc", [token, "RX1", True]) is None and codec.gain_control == {"RX1": True}


def test_times_and_sources_reach_the_timekeeper():
    keeper = Keeper()
    of, _ = made(keeper=keeper)
    token = of.call("claim", ["UHD"])
    assert keeper.told == [("internal", True)]
    of.call("init", [token, {"master_clock_rate": "22e6", "time_source": "external"}])
    assert keeper.told[-1] == ("external", True) and of.call("get_time_source", [token]) == "external"
    of.call("set_timekeeper_time", [token, 0, 7, False])
    of.call("set_timekeeper_time", [token, 0, 44_000_000, True])
    assert keeper.told[-2:] == [("now", 7), ("at the next pulse", 44_000_000)]
    assert of.call("get_timekeeper_time", [token, 0, False]) == 42
    assert of.call("get_timekeeper_time", [token, 0, True]) == 22_000_000
    of.spoil("pulse", True)
    assert keeper.told[-1] == ("external", False)
    of.call("set_sync_source", [token, {"clock_source": "external", "time_source": "gpsdo"}])
    assert of.call("get_sync_source", [token]) == {"clock_source": "external", "time_source": "gpsdo"}
    of.spoil("pulse", False)
    assert keeper.told[-1] == ("gpsdo", True)


def test_an_e310_has_no_input_for_a_reference_and_both_have_one_for_pulses():
    for device, sources in (("e310", ["internal"]), ("e320", ["internal", "external", "gpsdo"])):
        of, _ = made(device)
        token = of.call("claim", ["UHD"])
        assert of.call("get_clock_sources", [token]) == sources
        assert of.call("get_time_sources", [token]) == ["internal", "external", "gpsdo"]
    e310, _ = made("e310")
    with pytest.raises(mpm.CallError, match="no clock source external; it has internal"):
        e310.call("set_clock_source", [e310.call("claim", ["UHD"]), "external"])


def test_the_codec_has_a_temperature_and_no_sensor_that_it_does_not_name():
    """UHD 4.8 reads a whole number of degrees at the start, and takes no lock for one."""
    of, _ = made()
    token = of.call("claim", ["UHD"])
    read = of.call("db_0_get_sensor", [token, "TX", "ad9361_temperature", 0])
    assert read["type"] == "INTEGER" and -40 < int(read["value"]) < 125
    assert of.call("pop_host_tasks", [token, "mpm_reboot"]) == []
    for name in of.call("db_0_get_sensors", [token, "RX"]):
        assert of.call("db_0_get_sensor", [token, "RX", name, 0])["name"] == name
    with pytest.raises(mpm.CallError, match="there is no sensor rssi"):
        of.call("db_0_get_sensor", [token, "RX", "rssi", 0])


def test_what_mpm_does_not_know_is_an_error_and_no_end():
    of, _ = made()
    server = rpc.RpcServer(of.call, lambda kind, **what: None)
    for method, params in (("no_such_call", []), ("claim", [1, 2, 3]), ("claim", [])):
        kind, number, error, result = msgpack.unpackb(server.answer([0, 7, method, params]))
        assert (kind, number, result) == (1, 7, None) and method in error
    assert server.answer(["nonsense"]) is None
    assert msgpack.unpackb(server.answer([0, 8, "ping", ["hello"]])) == [1, 8, None, "hello"]


@pytest.mark.parametrize(
    ("chains", "mode", "rate_hz", "sends", "hears"),
    [
        ((True, False, True, False), "SISO_TX0", 44e6, [True, False], [True, False]),
        ((False, True, False, True), "SISO_TX1", 44e6, [False, True], [False, True]),
        ((False, True, True, False), "SISO_TX0", 22e6, [False, False], [True, False]),
        ((True, True, True, True), "MIMO", 30.72e6, [True, True], [True, True]),
        ((True, True, True, True), "MIMO", 44e6, [False, False], [False, False]),
    ],
)
def test_the_codec_carries_what_its_chains_mode_and_rate_allow(chains, mode, rate_hz, sends, hears):
    codec = Ad9361(rate_hz, channel_mode=mode)
    codec.set_active_chains(*chains)
    assert [codec.sends(1), codec.sends(2)] == sends
    assert [codec.hears(1), codec.hears(2)] == hears
