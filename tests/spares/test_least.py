"""The search for the least number that is enough."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ettr.spares.least import least


@given(answer=st.integers(0, 10**9), guess=st.integers(0, 10**9))
def test_it_is_found_from_any_guess(answer, guess):
    asked = []

    def enough(number):
        asked.append(number)
        return number >= answer

    assert least(enough, guess, 10**10) == answer
    assert min(asked) >= 0 and len(asked) == len(set(asked))
    assert len(asked) <= 4 + 2 * abs(answer - guess).bit_length()


@given(most=st.integers(0, 1000), guess=st.integers(0, 1000))
def test_what_is_known_to_be_enough_is_not_asked(most, guess):
    assert least(lambda number: False, min(guess, most - 1) if most else 0, most) == most or most == 0
