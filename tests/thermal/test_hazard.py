"""Failures by temperature: worked values and limits."""

from __future__ import annotations

import pytest

from ettr.core.errors import InputError
from ettr.thermal import arrhenius_factor


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
    assert arrhenius_factor(60, 60, 1.2) == arrhenius_factor(90, 60, 0) == 1


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: arrhenius_factor(500, 60, 0.7), "die_c must be from -60 to 150 °C, got 500"),
        (lambda: arrhenius_factor(60, float("nan"), 0.7), "reference_c must be from -60 to 150 °C"),
        (lambda: arrhenius_factor(60, 60, -1), "energy_ev must be >= 0 eV"),
    ],
)
def test_what_cannot_be_is_refused(call, message):
    with pytest.raises(InputError) as caught:
        call()
    assert message in str(caught.value)
