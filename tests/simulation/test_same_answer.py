"""One seed, one answer: whoever computes it, in pieces of whatever size, and in the next version."""

from __future__ import annotations

import json
import random
from pathlib import Path

import numpy as np
import pytest
from mixtures import mixture

from ettr import Scenario, simulate
from ettr.simulation import chunks

EVERYTHING = mixture(random.Random(5).choice)
KINDS = {
    "core": {},
    "nodes": {
        "cluster.n_gpus": 12_800,
        "recovery.init_s_per_1000_gpus": 0,
        "failures.rate_per_1000_node_days": 4,
        "failures.lifetime": {"shape": 0.6, "start": "new"},
    },
    "spares": {"spares": {"n_nodes": 2}, "repair": {"automatic_h": 8, "cv": 1}},
    "everything": EVERYTHING,
    "policies": {
        "failures.lemons": {"share": 0.2, "factor": 8, "cured_automatic": 0.3},
        "spares": {"n_nodes": 4, "n_idle": 2, "select_min": 9, "choose": "random", "per_1000_node_days": 900},
        "repair": {"automatic_h": 2, "distribution": "exponential"},
    },
}


@pytest.fixture(params=KINDS)
def run(small_run, request) -> Scenario:
    return small_run.override(KINDS[request.param])


def _table(run, n_runs: int = 100, **options) -> np.ndarray:
    return simulate(run, n_runs=n_runs, seed=1, **options).rows


def test_a_seed_gives_the_same_runs_and_another_gives_others(run):
    table = _table(run)
    assert (_table(run) == table).all()
    other = simulate(run, n_runs=100, seed=2).rows
    assert (other[:, 4] != table[:, 4]).mean() > 0.9
    totals = table[:, :9].sum(axis=1)
    assert len(np.unique(totals)) == 100  # nor do two runs share their random numbers


def test_the_first_runs_of_many_are_the_runs_of_few(run):
    table = _table(run, 1000)
    for n_runs in (1, 10, 100):
        assert (_table(run, n_runs) == table[:n_runs]).all()


@pytest.mark.parametrize("events", [0, 100, 2500])
def test_the_size_of_the_pieces_does_not_matter(run, monkeypatch, events):
    """Down to one run each, in two threads."""
    table = _table(run)
    monkeypatch.setattr(chunks, "_EVENTS", events)
    monkeypatch.setattr(chunks, "_EVENTS_AT_ONCE", 0)
    monkeypatch.setattr(chunks, "_n_threads", lambda: 2)
    seen = []
    assert (_table(run, on_progress=lambda done, total: seen.append((done, total))) == table).all()
    assert seen[-1] == (100, 100) and seen == sorted(seen)
    assert len(seen) == 100 if events == 0 else len(seen) > 1


def test_more_runs_until_an_error_is_reached_are_the_same_runs(run):
    simulated = simulate(run, n_runs=50, seed=1, until=0.02)
    assert (simulated.rows == _table(run, simulated.n_runs)).all()


def test_scenarios_share_their_luck(small_run):
    """With one seed the difference of two scenarios is known better than either."""
    slower = small_run.override({"recovery.restart_min": 12})
    base, slow = (simulate(run, n_runs=500, seed=4).total_h for run in (small_run, slower))
    assert np.corrcoef(base, slow)[0, 1] > 0.9
    assert (slow - base).std() < 0.4 * base.std()


KNOWN = Path(__file__).with_name("known_means.json")
COLUMNS = ("total_h", "checkpoint_h", "rework_h", "queue_h", "restart_h", "n_failures")
FURTHER = {
    "racks": {
        "failures.modes": [{"name": "rack", "share": 0.4, "n_out_nodes": 6}],
        "failures.lifetime": {"shape": 3},
        "spares": {"n_nodes": 8},
        "repair": {"automatic_h": 6, "cv": 0.5},
    },
    "tiers": {
        "checkpoint.tiers": [{"name": "memory", "interval_s": 270, "stall_s": 5, "write_s": 40, "survives": 0.6}],
    },
    "silent": {"failures.modes": [{"name": "sdc", "share": 0.4, "latency_h": 1.5, "latency_cv": 1}]},
}


def _rows(run: Scenario) -> list[list[float]]:
    """Some columns of a few early and late runs, to ten digits."""
    runs = simulate(run, n_runs=300, seed=2024).runs
    return [[float(f"{value:.10g}") for value in row] for row in runs.loc[[0, 1, 150, 299], list(COLUMNS)].to_numpy()]


def known_rows(small_run: Scenario) -> dict[str, list[list[float]]]:
    return {name: _rows(small_run.override(changes)) for name, changes in (KINDS | FURTHER).items()}


def test_runs_are_those_that_were_published(small_run):
    """Numbers that somebody wrote down are found again.

    Where rules or random numbers are changed on purpose, and a commit says why, renew the file and say what moved::

        cd tests/simulation && python -c "
        import json, sys; sys.path[:0] = ['.']
        import conftest, test_same_answer as t
        rows = t.known_rows(t.Scenario.parse(conftest.SMALL_RUN))
        t.KNOWN.write_text(json.dumps(rows, indent=0) + '\\n')"

    Processors round exponentials and logarithms differently in the last digit, and a run of some hundred failures adds
    them up: hence 1e-8, where a single other random number would show.
    """
    published = json.loads(KNOWN.read_text())
    rows_now = known_rows(small_run)
    assert set(rows_now) == set(published)
    for name, rows in rows_now.items():
        assert np.array(rows) == pytest.approx(np.array(published[name]), rel=1e-8, abs=1e-8), name
