"""What a plan says: amounts as people read them, and what stands in the way of a target."""

from __future__ import annotations

import math

import pytest

from ettr import plan
from ettr.plan.details import amount, between
from ettr.plan.needs import in_the_way


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (3.05, "h", "3.05 h"),
        (7.7, "min", "7.7 min"),
        (math.inf, "h", "endless"),
        (7.76, "1/d", "7.76"),
    ],
)
def test_an_amount_is_shown_as_people_read_it(value, unit, text):
    assert amount(value, unit) == text


def test_a_range_of_one_value_is_that_value():
    assert between(0.9871, 0.9872, "") == "98.7%"
    assert between(0.981, 0.987, "") == "98.1% to 98.7%"


def need(field: str, *blocking: tuple[str, float]) -> plan.Requirement:
    return plan.Requirement(field, 0.9, None, 1.0, 0.5, blocking=tuple(plan.Blocker(*other) for other in blocking))


def test_fields_are_grouped_by_what_stands_in_their_way():
    needs = [need("a", ("x", 0.95)), need("b", ("y", 0.8)), need("c", ("x", 0.91))]
    assert list(in_the_way(needs)) == [
        "x stands in the way of a, c: ideal together they would leave 91.0% to 95.0%.",
        "No second field is enough for b: y comes closest and would leave 80.0%.",
    ]
    assert list(in_the_way([needs[0], needs[2]])) == [
        "x stands in the way of all that have none: ideal together they would leave 91.0% to 95.0%."
    ]
    assert not list(in_the_way([]))
