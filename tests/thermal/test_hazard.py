"""Failures by temperature: worked values and limits."""

from __future__ import annotations

import numpy as np
import pytest

from ettr.core.errors import InputError, OutsideValidity
from ettr.thermal import arrhenius_factor, coffin_manson_factor, linear_factor


def test_arrhenius_gives_the_worked_value_of_the_reliability_library():
    assert arrhenius_factor(100, 60, 1.2) == pytest.approx(88.29574588, abs=1e-6)


@pytest.mark.parametrize(("energy_ev", "factor"), [(0.3, 1.36), (0.7, 2.035), (1.2, 3.38)])
def test_ten_degrees_by_arrhenius(energy_ev, factor):
    assert arrhenius_factor(70, 60, energy_ev) == pytest.approx(factor, abs=0.005)


def test_a_doubling_in_ten_degrees_is_two_thirds_of_an_electronvolt():
    assert arrhenius_factor(65, 55, 0.66) == pytest.approx(2, abs=0.01)


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
