"""Inputs that nobody meant, for everything that reads: each is read and keeps what it promises, or is refused in words.

``make check`` tries many more of each, at random.
"""

from __future__ import annotations

import resource
import time
import warnings
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fuzz_folders
import fuzz_logs
import fuzz_yaml
from ettr.core.errors import EttrError

TARGETS = fuzz_logs.TARGETS | fuzz_yaml.TARGETS | fuzz_folders.TARGETS
LONGEST_S, MOST_MIB = 5.0, 1024
"""Of a core, and of memory, for one input."""
ODD = (
    *(
        b'"',
        b"\n",
        b"\r",
        b",",
        b"|",
        b"{",
        b"]",
        b"-",
        b":",
        b"\0",
        b"\\ud800",
        b"Z",
        b"[1-9999999]",
        b"[[[[",
        b"{a: ",
    ),
    *(b"9" * 30, b"9" * 60, b"1e308", b"1e-320", b"-0.0", b"nan", b".nan", b"inf", b"-.inf", b"1e400", b"10000000"),
    *(b"&a", b"*a", b"<<: *a", b"!!int", b"!!set", b"!!binary", b"? ", b'{"a":', "\uff11".encode()),
)
CUTS = st.lists(
    st.tuples(st.floats(0, 1), st.integers(0, 12), st.one_of(st.binary(max_size=8), st.sampled_from(ODD))), max_size=6
)
EXAMPLES = 50 if settings.default.derandomize else 3000


@cache
def seeds(name: str) -> list[bytes]:
    return list(TARGETS[name].seeds())


def read(name: str, content: bytes, path: Path) -> bool:
    """Whether an input is read; False if it is refused in words. Anything else raises."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.simplefilter("error", RuntimeWarning)  # NumPy's: a number went where it does not fit
            TARGETS[name].read(content, path / "input.yml")
    except EttrError as error:
        refused = str(error)
    else:
        return True
    assert refused.strip(), "refused without a word"
    return False


def peak_mib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


@pytest.mark.parametrize("name", TARGETS)
def test_valid_inputs_are_read(name, tmp_path):
    assert all(read(name, seed, tmp_path) for seed in seeds(name))


@pytest.mark.parametrize("name", [name for name, target in TARGETS.items() if target.found])
def test_what_broke_a_promise_once_is_read_or_refused_at_once(name, tmp_path):
    read(name, seeds(name)[0], tmp_path)  # imports
    for content in TARGETS[name].found:
        started_s, before_mib = time.process_time(), peak_mib()
        read(name, content, tmp_path)
        assert time.process_time() - started_s <= LONGEST_S
        assert peak_mib() - before_mib <= MOST_MIB


def changed(content: bytes, cuts: list[tuple[float, int, bytes]]) -> bytes:
    for where, length, new in cuts:
        place = int(where * len(content))
        content = content[:place] + new + content[place + length :]
    return content


@pytest.mark.parametrize("name", TARGETS)
@given(data=st.data())
@settings(max_examples=EXAMPLES)
def test_a_changed_input_is_read_or_refused(name, data, tmp_path):
    near = st.builds(changed, st.sampled_from(seeds(name)), CUTS)
    read(name, data.draw(near | st.binary(max_size=400)), tmp_path)
