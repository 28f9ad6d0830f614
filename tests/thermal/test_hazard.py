"""Failures by temperature: worked values and limits."""

from __future__ import annotations

import numpy as np
import pytest

from ettr.core.errors import InputError, OutsideValidity
from ettr.thermal import arrhenius_factor, coffin_manson_factor, linear_factor


@pytest.mark.parametrize(
    ("die_c", "reference_c", "energy_ev", "factor", "digits"),
    [
        (100, 60, 1.2, 88.29574588, 1e-6),  # the reliability library's worked value
        *[(70, 60, 0.3, 1.36, 0.005), (70, 60, 0.7, 2.035, 0.005), (70, 60, 1.2, 3.38, 0.005)],
        (65, 55, 0.66, 2, 0.01),  # a doubling in ten degrees is two thirds of an electronvolt
    ],
)
def test_worked_values_of_arrhenius(die_c, reference_c, energy_ev, factor, digits):
    assert arrhenius_factor(die_c, reference_c, energy_ev) == pytest.approx(factor, abs=digits)


def test_nothing_changes_at_the_reference_nor_without_energy():
    assert arrhenius_factor(60, 60, 1.2) == arrhenius_factor(90, 60, 0) == linear_factor(60, 60, 0.1) == 1
    assert coffin_manson_factor(20, 20, 2) == pytest.approx(1)


def test_cycles_grow_with_their_swing():
    assert coffin_manson_factor(40, 20, 2) == 4
    assert coffin_manson_factor(40, 20, 2.65) == pytest.approx(6.28, abs=0.01)


def test_the_linear_law_ends_where_rates_would_be_negative():
    assert linear_factor(np.array([50.0, 70.0]), 60, 0.02).tolist() == pytest.approx([0.8, 1.2])
    with pytest.raises(OutsideValidity, match="rates that stay above zero"):
        linear_factor(0, 60, 0.02)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: arrhenius_factor(500, 60, 0.7), "die_c must be from -60 to 150 °C, got 500"),
        (lambda: arrhenius_factor(60, float("nan"), 0.7), "reference_c must be from -60 to 150 °C"),
        (lambda: arrhenius_factor(60, 60, -1), "energy_ev must be >= 0 eV"),
        (lambda: coffin_manson_factor(-1, 20, 2), "swing_k must be >= 0 K"),
        (lambda: coffin_manson_factor(1, 0, 2), "reference_k must be > 0 K"),
    ],
)
def test_what_cannot_be_is_refused(call, message):
    with pytest.raises(InputError) as caught:
        call()
    assert message in str(caught.value)
