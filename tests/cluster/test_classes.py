"""Tables of job classes, and the checkpoint policy."""

from __future__ import annotations

import pandas as pd
import pytest

from ettr import cluster
from ettr.core.errors import InputError


def read(folder, text: str) -> tuple[cluster.JobClass, ...]:
    path = folder / "classes.csv"
    path.write_text(text)
    return cluster.read_classes(path)


@pytest.mark.parametrize("shares", [("25%", "75%"), ("0.25", "0.75"), ("25", "75")])
def test_shares_are_fractions_or_percentages(tmp_path, shares):
    classes = read(tmp_path, f"gpus,share,priority\n1024,{shares[1]},1\n8,{shares[0]},\n")
    assert [(jobs.n_gpus, jobs.share, jobs.priority) for jobs in classes] == [(8, 0.25, 0), (1024, 0.75, 1)]


def test_jobs_may_be_numbers(tmp_path):
    classes = read(tmp_path, "gpus,share,jobs\n8,50%,900\n64,50%,100\n")
    assert [jobs.job_share for jobs in classes] == [0.9, 0.1]


def test_all_columns_are_read_as_classes(tmp_path):
    (only,) = read(tmp_path, "gpus,share,jobs,interval_min,stall_s,restart_min,priority\n8,100%,0,30,5,7,2\n")
    assert only == cluster.JobClass(8, 1.0, 0.0, 30.0, 5.0, 7.0, 2.0)
    assert isinstance(cluster.read(tmp_path / "classes.csv"), tuple)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("gpus,share\n8,60%\n64,50%\n", "must sum to 100%, got 110.0%"),
        ("gpus,share\n8,60\n64,50\n", "must sum to 100%, got 110.0%"),
        ("gpus,share\n8,-10%\n64,110%\n", "share must be >= 0 and finite, got -0.1 .*line 2"),
        ("gpus,share\n0,50%\n64,50%\n", "n_gpus must be a whole number >= 1, got 0 .*line 2"),
        (
            "gpus,share,interval_min\n8,50%,-60\n64,50%,60\n",
            "interval_min must be > 0 min and finite, got -60 .*line 2",
        ),
        ("gpus,share,stall_s\n8,50%,-1\n64,50%,\n", "stall_s must be >= 0 s and finite, got -1 .*line 2"),
        ("gpus,share\n8,50%\n8,50%\n", "one class for each size, got two of 8 GPUs"),
        ("gpus,share\n8.5,50%\n64,50%\n", "n_gpus must be a whole number >= 1, got 8.5"),
        ("gpus,share\n,50%\n64,50%\n", "n_gpus must be a whole number >= 1, got nan"),
        ("gpus,share,jobs\n8,50%,5\n64,50%,-1\n", "job_share must be >= 0"),
        ("gpus,share\n8,half\n8,50%\n", "must have numbers, got 'half'"),
        ("gpus,share\n", "no job classes, or none"),
        ("gpus,hours\n8,50\n", "has no column share"),
    ],
)
def test_a_bad_table_is_refused_with_the_rule(tmp_path, text, message):
    with pytest.raises(InputError, match=message):
        read(tmp_path, text)


def test_the_published_mix_has_the_published_shares():
    mix = cluster.preset("rsc-1")
    assert sum(jobs.job_share for jobs in mix if jobs.n_gpus < 8) > 0.9
    assert sum(jobs.share for jobs in mix if jobs.n_gpus < 8) < 0.1
    assert sum(jobs.share for jobs in mix if jobs.n_gpus >= 256) == pytest.approx(0.66)
    assert mix[0].job_share > 0.4
    assert (mix[-1].share, mix[-1].job_share < 0.01) == (0.12, True)


def bands(*ends: tuple[float, float]) -> pd.DataFrame:
    return pd.DataFrame(ends, columns=["low_min", "high_min"])


def test_rules_are_the_fewest_and_hold_for_each_size():
    classes = [cluster.JobClass(n, 0.25) for n in (8, 64, 512, 4096)]
    rules = cluster.policy_of(classes, bands((100, 900), (50, 200), (20, 70), (10, 30)), 60.0)
    assert [(rule.above_gpus, rule.up_to_gpus) for rule in rules] == [(64, None), (None, 64)]
    assert (rules[0].low_min, rules[0].high_min) == (20, 30)
    assert (rules[1].low_min, rules[1].high_min) == (100, 200)
    assert all(rule.current_min is None for rule in rules)
    (only,) = cluster.policy_of(classes, bands(*[(10, 900)] * 4), 60.0)
    assert (only.current_min, only.above_gpus, only.up_to_gpus) == (60.0, None, None)
