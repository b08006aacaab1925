# SPDX-License-Identifier: GPL-2.0-or-later
"""Who hears whom, as the bounds see it, against ns-2's constants and what tests/sim/air/test_link_table.cc says."""

import math

import pytest
from perhop.bound.hearing import hearing, ratio_from_db, received_power_w

TWO_RAY = {"reception": "ns2", "loss": "two_ray", "tx_range_m": 250.0, "cs_range_m": 550.0, "tx_power_dbm": 24.49999687}
RANGE = {**TWO_RAY, "loss": "range"}
SINR = {**TWO_RAY, "reception": "sinr"}


def line(medium, *at_m, **more):
    return hearing(medium, [(x_m, 0.0) for x_m in at_m], **more)


def test_two_ray_gives_the_thresholds_of_ns2():
    heard = line(TWO_RAY, 0, 250)
    assert heard.sensitivity_w == pytest.approx(3.652e-10, rel=3e-4)
    assert heard.carrier_sense_w == pytest.approx(1.559e-11, rel=3e-4)


@pytest.mark.parametrize("medium", [TWO_RAY, RANGE])
def test_a_node_at_exactly_the_range_is_in_range_and_one_beyond_is_not(medium):
    # 0.1 + 0.2 metres and the like must not decide.
    heard = line(medium, 0.1, 250.1, 550.1, 550.2)
    assert heard.power_w[0, 1] >= heard.sensitivity_w
    assert heard.carrier_sense_w <= heard.power_w[0, 2] < heard.sensitivity_w
    assert heard.power_w[0, 3] == 0


def test_twice_as_far_is_twelve_decibels_weaker():
    heard = line(RANGE, 0, 250, 500)
    assert 10 * math.log10(heard.power_w[0, 1] / heard.power_w[0, 2]) == pytest.approx(12.04, abs=0.01)


def test_propagation_takes_the_time_of_light_and_at_least_a_microsecond():
    assert list(line(RANGE, 0, 1, 250, 500).delay_us[0]) == [0, 1, 1, 2]
    assert list(line({**RANGE, "propagation_us": 7}, 0, 1, 500).delay_us[0]) == [0, 7, 7]
    assert line(RANGE, 0, 250, 500).most_delay_us == 2


def test_nothing_passes_between_a_pair_that_is_cut_off():
    heard = line(TWO_RAY, 0, 200, 400, cut_off=[(2, 1)])
    assert heard.power_w[1, 2] == heard.power_w[2, 1] == 0
    assert heard.power_w[0, 1] > heard.sensitivity_w


def test_without_a_noise_level_every_rate_is_good_up_to_the_range():
    heard = line(SINR, 0, 250)
    assert heard.power_w[0, 1] / heard.noise_w == pytest.approx(ratio_from_db(16))
    assert heard.threshold_ratio == tuple(map(ratio_from_db, (4, 7, 11, 16)))
    assert line({**SINR, "noise_dbm": -100}, 0, 250).noise_w == pytest.approx(1e-13)


def test_under_sinr_energy_counts_until_it_is_a_hundredth_of_the_noise():
    heard = line(SINR, 0, 700, 4000)
    assert 0 < heard.power_w[0, 1] < heard.carrier_sense_w
    assert heard.power_w[0, 2] == 0


def test_an_unknown_loss_model_is_refused():
    with pytest.raises(ValueError, match="cloud"):
        received_power_w({**RANGE, "loss": "cloud"}, 100)
