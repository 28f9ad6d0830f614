"""Failures by temperature: worked values and limits."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ettr.core.errors import InputError, OutsideValidity
from ettr.thermal import (
    arrhenius_factor,
    coffin_manson_factor,
    linear_factor,
    norris_landzberg_factor,
    warming_of,
)


def test_arrhenius_gives_the_worked_value_of_the_reliability_library():
    assert arrhenius_factor(100, 60, 1.2) == pytest.approx(88.29574588, abs=1e-6)


@pytest.mark.parametrize(("energy_ev", "factor"), [(0.3, 1.36), (0.7, 2.035), (1.2, 3.38)])
def test_ten_degrees_by_arrhenius(energy_ev, factor):
    assert arrhenius_factor(70, 60, energy_ev) == pytest.approx(factor, abs=0.005)


def test_a_doubling_in_ten_degrees_is_two_thirds_of_an_electronvolt():
    assert arrhenius_factor(65, 55, 0.66) == pytest.approx(2, abs=0.01)


@pytest.mark.parametrize(("factor", "warming_k"), [(65.7 / 29.2, 10.1), (22.86 / 7.88, 13.4)])
def test_titans_cages_are_ten_or_thirteen_degrees_at_07_ev(factor, warming_k):
    assert warming_of(factor, 40, 0.7) == pytest.approx(warming_k, abs=0.05)


@given(st.floats(20, 100), st.floats(0.05, 2), st.floats(-30, 40))
def test_warming_and_factor_are_inverse(reference, energy, warming):
    factor = arrhenius_factor(reference + warming, reference, energy)
    assert warming_of(factor, reference, energy) == pytest.approx(warming, abs=1e-6)


def test_nothing_changes_at_the_reference_nor_without_energy():
    assert arrhenius_factor(60, 60, 1.2) == arrhenius_factor(90, 60, 0) == linear_factor(60, 60, 0.1) == 1
    assert coffin_manson_factor(20, 20, 2) == norris_landzberg_factor(20, 20, 80, 80) == pytest.approx(1)


def test_cycles_grow_with_their_swing_number_and_heat():
    assert coffin_manson_factor(40, 20, 2) == 4
    assert coffin_manson_factor(40, 20, 2.65) == pytest.approx(6.28, abs=0.01)
    assert coffin_manson_factor(20, 20, 2, cycles=3) == 3
    assert norris_landzberg_factor(20, 20, 90, 80) > 1
    assert norris_landzberg_factor(20, 20, 80, 80, cycles=8) == pytest.approx(8 ** (2 / 3))


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
        (lambda: warming_of(0, 60, 0.7), "factor must be > 0"),
        (lambda: coffin_manson_factor(-1, 20, 2), "swing_k must be >= 0 K"),
        (lambda: coffin_manson_factor(1, 0, 2), "reference_k must be > 0 K"),
    ],
)
def test_what_cannot_be_is_refused(call, message):
    with pytest.raises(InputError) as caught:
        call()
    assert message in str(caught.value)
