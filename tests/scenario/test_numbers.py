"""Numbers in YAML: those that people mean are read, and those that YAML only seems to mean are not."""

from __future__ import annotations

import pytest

from ettr import Scenario
from ettr.core.errors import InputError

TEXT = """
name: plain
title: A plain run
cluster: {n_gpus: N_GPUS}
job: {productive_h: 40, include_start: false}
failures: {rate_per_1000_node_days: 6.0}
checkpoint: {interval_min: 60, stall_s: STALL}
recovery: {detection_min: 0, restart_min: 10}
"""


def read(n_gpus: str = "8000", stall: str = "300") -> Scenario:
    return Scenario.parse(TEXT.replace("N_GPUS", n_gpus).replace("STALL", stall), "mine.yml")


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("100000", 1e5),
        ("100_000", 1e5),
        ("1e5", 1e5),
        ("1E5", 1e5),
        ("1.0e5", 1e5),
        ("1.e+5", 1e5),
        ("+100000", 1e5),
        ("100000.0", 1e5),
        ("0.1", 0.1),
        (".5", 0.5),
        ("1e-3", 1e-3),
        ("1_000.5", 1000.5),
        ("0", 0.0),
        ("0.0", 0.0),
    ],
)
def test_a_number_is_what_people_mean_by_it(written, meant):
    assert read(stall=written).checkpoint.stall_s == meant
    if meant == 1e5:
        assert read(n_gpus=written).cluster.n_gpus == 100_000


@pytest.mark.parametrize(
    "written",
    [
        "1:30",  # YAML 1.1 reads 90, in sixties
        "1:30.5",
        "010",  # YAML 1.1 reads 8
        "00",
        "0x10",
        "0b11",
        "0o10",
        "1e",
        "1,000",
        "2024-01-01",  # YAML reads a date
        "12 min",
        "ten",
        "~1",
    ],
)
def test_what_only_seems_a_number_is_refused_with_what_was_written(written):
    with pytest.raises(InputError) as caught:
        read(stall=f"{written}" if "," not in written else f"'{written}'")
    assert str(caught.value) == f"checkpoint.stall_s must be a number [s], got {written!r} (mine.yml)"
    with pytest.raises(InputError) as caught:
        read(n_gpus=f"{written}" if "," not in written else f"'{written}'")
    assert str(caught.value) == f"cluster.n_gpus must be a whole number [GPUs], got {written!r} (mine.yml)"


@pytest.mark.parametrize(("written", "got"), [(".inf", "inf"), ("-.inf", "-inf"), (".nan", "nan"), ("1e400", "inf")])
def test_what_is_not_finite_is_refused(written, got):
    with pytest.raises(InputError) as caught:
        read(stall=written)
    assert str(caught.value) == f"checkpoint.stall_s must be finite, got {got} (mine.yml)"
    with pytest.raises(InputError) as caught:
        read(n_gpus=written)
    assert str(caught.value) == f"cluster.n_gpus must be finite, got {got} (mine.yml)"


@pytest.mark.parametrize("written", ["yes", "on", "true", "Off"])
def test_a_switch_is_no_number(written):
    with pytest.raises(InputError, match=r"checkpoint.stall_s must be a number, got (True|False) \(mine.yml\)"):
        read(stall=written)
