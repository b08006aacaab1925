# SPDX-License-Identifier: GPL-2.0-or-later
"""The time of virtual devices: set at once or at a pulse, and what was the time at the last one."""

import pytest

from .devices import timekeeper

RATE_HZ = 22e6


class Clock:
    """A time of day that a test moves, and two devices by it."""

    def __init__(self) -> None:
        self.now_s, self.rate_hz = 1000.25, RATE_HZ
        self.one, self.two = (self.made(phase) for phase in (0.37, 0.61))

    def made(self, phase: float) -> timekeeper.ClockTimekeeper:
        pulses = timekeeper.Pulses(own_phase=phase)
        return timekeeper.ClockTimekeeper(lambda: self.now_s, lambda: self.rate_hz, pulses)


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_ticks_pass_with_the_clock_at_the_rate_that_it_has(clock):
    assert clock.one.ticks() == 0
    clock.now_s += 0.5
    assert clock.one.ticks() == 11_000_000
    clock.rate_hz = 44e6
    assert clock.one.ticks() == 11_000_000, "what has passed has passed"
    clock.now_s += 0.5
    assert clock.one.ticks() == 33_000_000


def test_a_time_is_set_at_once(clock):
    clock.one.set_now(5)
    clock.now_s += 1
    assert (clock.one.ticks(), clock.two.ticks()) == (22_000_005, 22_000_000)


def test_a_time_that_is_set_at_the_next_pulse_is_the_same_in_all_devices(clock):
    """They are told in the same second, at other moments of it, and are asked at yet others."""
    for each in (clock.one, clock.two):
        each.listen("external", True)
        each.set_at_next_pulse(220_000_000)
        clock.now_s += 0.3
    before = clock.one.ticks()
    assert before < 220_000_000
    clock.now_s = 1001.0
    assert clock.one.last_pulse_ticks() == clock.one.ticks() == 220_000_000
    clock.now_s = 1003.5
    assert clock.one.ticks() == clock.two.ticks() == 220_000_000 + 55_000_000
    assert clock.one.last_pulse_ticks() == clock.two.last_pulse_ticks() == 220_000_000 + 44_000_000


def test_pulses_of_the_internal_source_are_each_devices_own(clock):
    for each in (clock.one, clock.two):
        each.listen("internal", True)
        each.set_at_next_pulse(0)
    clock.now_s = 1002.0
    assert clock.one.ticks() == pytest.approx(1.63 * RATE_HZ, abs=10)
    assert clock.two.ticks() == pytest.approx(1.39 * RATE_HZ, abs=10)


def test_without_pulses_nothing_is_set_until_they_are_back(clock):
    clock.one.listen("external", False)
    clock.one.set_at_next_pulse(7)
    clock.now_s = 1010.5
    assert clock.one.last_pulse_ticks() == 0 and clock.one.ticks() > 7
    clock.one.listen("external", True)
    assert clock.one.last_pulse_ticks() == 0
    clock.now_s = 1011.5
    assert clock.one.last_pulse_ticks() == 7 and clock.one.ticks() == 7 + 11_000_000


def test_a_time_of_samples_is_what_the_simulation_told_last():
    said, samples = [], [100]
    keeper = timekeeper.SampleTimekeeper(lambda: samples[0], lambda *words: said.append(words))
    assert keeper.ticks() == 100
    keeper.set_now(5000)
    assert keeper.ticks() == 5000
    keeper.was_set(5000, 130)
    samples[0] = 150
    assert keeper.ticks() == 5020
    keeper.set_at_next_pulse(9000)
    keeper.listen("external", True)
    keeper.listen("internal", True)
    assert said == [("k", 5000), ("g", 9000), ("q", 1), ("q", 0)]
    assert keeper.last_pulse_ticks() == 0
    keeper.was_set(9000, 200)
    keeper.pulse(9000)
    samples[0] = 222
    assert (keeper.last_pulse_ticks(), keeper.ticks()) == (9000, 9022)
