"""Files, settings and grids that nobody meant: read with what is promised of them, or refused in words."""

from __future__ import annotations

from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fuzz import TARGETS, bounded, hold

ODD = [
    b'"',
    b"\n",
    b",",
    b"|",
    b"{",
    b"]",
    b"9" * 30,
    b"-",
    b":",
    b"\0",
    b"\\ud800",
    b"Z",
    b"[1-9999999]",
    b"nan",
    b"&a",
]
CUTS = st.lists(
    st.tuples(st.floats(0, 1), st.integers(0, 12), st.one_of(st.binary(max_size=8), st.sampled_from(ODD))), max_size=6
)


@cache
def seeds(name: str) -> list[bytes]:
    return list(TARGETS[name].seeds())


@pytest.mark.parametrize("name", TARGETS)
def test_valid_inputs_are_read(name):
    assert all(hold(name, seed) for seed in seeds(name))


@pytest.mark.parametrize("name", [name for name, target in TARGETS.items() if target.found])
def test_what_broke_a_promise_once_is_read_or_refused_at_once(name):
    hold(name, seeds(name)[0])
    for content in TARGETS[name].found:
        bounded(name, content)


@pytest.mark.parametrize("name", TARGETS)
@given(data=st.data(), cuts=CUTS)
@settings(max_examples=60)
def test_a_changed_input_is_read_or_refused(name, data, cuts):
    content = data.draw(st.sampled_from(seeds(name)))
    for where, length, new in cuts:
        place = int(where * len(content))
        content = content[:place] + new + content[place + length :]
    hold(name, content)


@pytest.mark.parametrize("name", TARGETS)
@given(content=st.binary(max_size=400))
@settings(max_examples=60)
def test_any_bytes_are_read_or_refused(name, content):
    hold(name, content)
