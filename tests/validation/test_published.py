"""What this reproduces of the literature, and what happens to a row that was tampered with."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from ettr import evidence
from ettr.core.errors import DataError, UnknownName
from ettr_book import validation
from ettr_book.validation import published


@pytest.fixture(scope="module")
def results() -> pd.DataFrame:
    return validation.run()


def row(**changes) -> pd.DataFrame:
    good = {
        "result_id": "mine",
        "model": "mean_time_between_h",
        "inputs": '{"n_events": 10, "window_days": 5}',
        "published": 12.0,
        "relation": "equal",
        "tolerance": 0.0,
        "tolerance_kind": "absolute",
        "kind": "derived",
    }
    return pd.DataFrame([good | changes])


def test_every_published_result_is_computed(results):
    assert len(results) == len(evidence.table("validation")) == 140
    assert results["quantity"].is_unique  # a row of the chart each
    assert np.isfinite(results["computed"]).all()
    assert set(results["source"]) <= set(evidence.bibliography()["key"])
    assert (results["tolerance_reason"].str.len() > 5).all()


def test_what_is_not_reproduced_is_known(results):
    """Small RSC-1 jobs failed more often than the rate of the large ones says, and its share of pre-emption rests on a
    mix that is half assumed; RSC-2's 0.5 needs 39 min, not 21; the
    stall of FT-HSDP alone leaves more than is reported, for replicas that are away are not in it. Sharded weights: one
    run's nodes vary less than assumed, and GPUs that wait draw more. AIReSim picks a whole job anew, and counts
    failures when a repair ends. mlsysim's goodput has no rework, and with it would be a sum to first order."""
    off = set(results.loc[results["verdict"] == "not reproduced", "result_id"])
    assert off == {"rsc-second-order"} | {
        "rsc-mttf-4096",
        "rsc-mttf-1024",
        "rsc-mttf-8",
        "rsc-ettr-100000",
        "fthsdp-3min",
    } | {
        "scaling-fsdp-8b-128",
        "fsdp-power",
        "glm-realised",
        "bloom-realised",
        "airesim-random",
        "airesim-random-threshold",
        "airesim-fewest",
        "airesim-fewest-threshold",
        "airesim-30-days",
        "mlsysim-goodput",
        "mlsysim-rework",
    }
    assert (results.loc[results["result_id"].isin(off), "comment"].str.len() > 20).all()


def test_what_a_scenario_was_made_from_is_never_called_reproduced(results):
    assumed = results["kind"] != "derived"
    assert not {"reproduced", "bound met"} & set(results.loc[assumed, "verdict"])
    bounds = (results["relation"] != "equal") & ~assumed & (results["verdict"] != "not reproduced")
    assert set(results.loc[bounds, "verdict"]) == {"bound met"}


@pytest.mark.parametrize(
    ("result_id", "computed", "off"),
    [
        ("rsc-ettr-60", 0.684, 5e-4),  # 1 - (5 + 30) min / 110.8 min
        ("rsc-ettr-5", 0.932, 5e-4),
        ("rsc-ettr-8000", 0.906, 5e-4),
        ("rsc-ettr-2048", 0.960, 5e-4),
        ("rsc-ettr-4096", 0.919, 5e-4),
        ("rsc-ettr-fast-write", 0.921, 5e-4),
        ("rsc-ettr-few-failures", 0.898, 5e-4),
        ("fthsdp-10min", 1 - 10 / (24 * 60 / (12_500 * 6.5e-3)), 1e-13),
        ("fthsdp-3min", 1 - 3 / (24 * 60 / (12_500 * 6.5e-3)), 1e-13),
        ("fthsdp-3min-away", 1 - 3 / 18 - 0.033, 1e-13),
        ("megascale-init-10000", 5 * 10_000 / 2048, 1e-11),
        ("minder-recall", 0.904 * 0.893 / (2 * 0.904 - 0.893), 1e-13),
        ("dcp-ratio", 148.8 / 6.3, 1e-11),
        ("netcap-mttf", 24 / (2048 * 5e-3), 1e-13),
        ("netcap-interval", math.sqrt(2 * 20 * 8437.5) - 20, 1e-9),
        ("netcap-interruptions", 54 * 24 / (2.34375 + 420 / 3600), 3.7),  # a cycle has no failure in its 420 s
        ("mlsysbook-node", 1 / (8 / 50_000 + 2 / 150_000 + 2 / 100_000), 1e-9),
        ("mlsysbook-256-7d", 1 - math.exp(-168 * 32 * (8 / 50_000 + 2 / 150_000 + 2 / 100_000)), 1e-13),
        ("mlsysbook-young-10000", math.sqrt(2 * 24.5 * 3600 * 5172.413793 / 1250) / 60, 1e-7),
        ("mlsysim-mttf", 4687.5 / 2048, 1e-12),
        ("mlsysim-rework", 0.852, 5e-4),
        ("goodput-mtbi-h", 1 / (128 / 3000 + 1 / 40), 1e-12),
        ("gemini-survival", 1 - 8 / 120, 1e-13),  # 8 pairs among the 120 that two of 16 machines can be
    ],
)
def test_single_figures_by_hand(results, result_id, computed, off):
    assert results.set_index("result_id").loc[result_id, "computed"] == pytest.approx(computed, abs=off)


def test_the_one_rsc_value_that_is_off_would_hold_at_39_minutes():
    table = evidence.table("validation")
    row = table[table["result_id"] == "rsc-ettr-100000"].copy()
    row["inputs"] = row["inputs"].str.replace('"checkpoint.interval_min": 21', '"checkpoint.interval_min": 39')
    verdicts = validation.run(row)
    assert verdicts["verdict"].tolist() == ["reproduced"]
    assert verdicts["computed"].item() == pytest.approx(0.5, abs=0.005)


@pytest.mark.parametrize(
    ("relation", "published", "tolerance", "kind", "verdict"),
    [
        ("equal", 12.0, 0.0, "absolute", "reproduced"),
        ("equal", 12.5, 0.5, "absolute", "reproduced"),
        ("equal", 12.5, 0.49, "absolute", "not reproduced"),
        ("equal", 10.0, 0.2, "relative", "reproduced"),
        ("equal", 10.0, 0.19, "relative", "not reproduced"),
        ("equal", -12.0, 1.0, "relative", "not reproduced"),
        ("equal", -12.0, 2.0, "relative", "reproduced"),
        ("at_least", 13.0, 0.0, "absolute", "not reproduced"),
        ("at_least", 13.0, 1.0, "absolute", "bound met"),
        ("at_most", 13.0, 0.0, "absolute", "bound met"),
        ("at_most", 11.0, 0.0, "absolute", "not reproduced"),
        ("at_most", 10.0, 0.2, "relative", "bound met"),
        ("equal", float("nan"), 1.0, "absolute", "not reproduced"),
    ],
)
def test_the_verdict_follows_relation_and_tolerance(relation, published, tolerance, kind, verdict):
    verdicts = validation.run(
        row(relation=relation, published=published, tolerance=tolerance, tolerance_kind=kind),
    )
    assert verdicts["computed"].item() == 12.0
    assert verdicts["verdict"].item() == verdict


@pytest.mark.parametrize(("kind", "verdict"), [("fitted", "fitted"), ("same input", "follows from the same input")])
def test_assumptions_make_a_result_consistent_at_best(kind, verdict):
    table = row(kind=kind)
    assert validation.run(table)["verdict"].item() == verdict and "computed" not in table
    assert validation.run(row(kind=kind, published=1.0))["verdict"].item() == "not reproduced"


UNFIT = "validation.csv, mine: inputs do not fit"
TAMPERED = {
    "unknown computation": (
        {"model": "daly_intervall_min"},
        "unknown computation 'daly_intervall_min' (validation.csv, mine); did you mean 'daly_interval_min'?",
    ),
    "no JSON": ({"inputs": "{n_events: 10}"}, f"{UNFIT} mean_time_between_h: Expecting property name"),
    "another name": ({"inputs": '{"n_event": 10, "window_days": 5}'}, f"{UNFIT} mean_time_between_h: "),
    "a list": ({"inputs": "[10, 5]"}, f"{UNFIT} mean_time_between_h: "),
    "text for a number": ({"inputs": '{"n_events": "ten", "window_days": 5}'}, f"{UNFIT} mean_time_between_h: "),
    "nothing counted": (
        {"inputs": '{"n_events": 0, "window_days": 5}'},
        f"{UNFIT} mean_time_between_h: division by zero",
    ),
    "out of range": (
        {"model": "daly_interval_min", "inputs": '{"stall_min": 5, "mttf_h": -24}'},
        f"{UNFIT} daly_interval_min: mttf_h must be > 0 h, got -24",
    ),
    "endless": (
        {"model": "daly_interval_min", "inputs": '{"stall_min": 5, "mttf_h": Infinity}'},
        "validation.csv, mine: daly_interval_min gives inf for these inputs",
    ),
    "unknown field": (
        {"model": "exact_ettr", "inputs": '{"scenario": "rsc-1", "set": {"cluster.gpus": 8}}'},
        f"{UNFIT} exact_ettr: unknown field 'cluster.gpus'; did you mean 'cluster.n_gpus'?",
    ),
    "unknown rule": (
        {"model": "rsc_ettr", "inputs": '{"scenario": "rsc-1", "set": {}, "interval": "yung"}'},
        f"{UNFIT} rsc_ettr: unknown rule for the interval 'yung'; did you mean 'young'?",
    ),
    "outside validity": (
        {"model": "rsc_ettr", "inputs": '{"scenario": "rsc-1", "set": {"cluster.n_gpus": 800000}}'},
        f"{UNFIT} rsc_ettr: budget.rsc holds only for",
    ),
    "unknown published run": (
        {"model": "scaling_pct", "inputs": '{"run_id": "nope"}'},
        f"{UNFIT} scaling_pct: unknown published run 'nope'",
    ),
    "unknown relation": (
        {"relation": "atleast"},
        "unknown relation 'atleast' (validation.csv, mine); did you mean 'at_least'?",
    ),
    "unknown tolerance": (
        {"tolerance_kind": "percent"},
        "unknown kind of tolerance 'percent' (validation.csv, mine)",
    ),
}


@pytest.mark.parametrize("fault", TAMPERED)
def test_a_tampered_row_is_named(fault):
    changes, message = TAMPERED[fault]
    with pytest.raises(UnknownName if message.startswith("unknown") else DataError) as caught:
        validation.run(row(**changes))
    assert str(caught.value).startswith(message)


def test_rows_of_scaling_say_whether_they_were_used(results):
    rows = results[results["model"] == "scaling_pct"]
    runs = evidence.table("scaling_runs").set_index("run_id")
    used = [bool(runs.loc[result_id.removeprefix("scaling-"), "used"]) for result_id in rows["result_id"]]
    assert [kind == "fitted" for kind in rows["kind"]] == used
    assert len(rows) == (runs.index != runs["relative_to"]).sum()
    published = runs.loc[rows["result_id"].str.removeprefix("scaling-"), "measured_pct"]
    assert published.tolist() == rows["published"].tolist()


def test_mlsysim_says_what_its_own_terms_give(results):
    """Its printed goodput counts checkpoints and recoveries; less half an interval a failure it is the row below."""
    rows = results.set_index("result_id")["published"]
    mttf_s, write_s, recovery_s = 3600 * 4687.5 / 2048, 60, 300
    interval_s = math.sqrt(2 * write_s * mttf_s)
    goodput = 1 - write_s / interval_s - recovery_s / mttf_s
    assert rows["mlsysim-goodput"] == pytest.approx(goodput, abs=5e-4)
    assert rows["mlsysim-rework"] == pytest.approx(goodput - interval_s / 2 / mttf_s, abs=5e-4)


def test_goodput_mtbi_runs_for_its_window():
    """The work is what fits into 28 days, so that a run is about as long with spares and without."""
    inputs = {"interval_min": 30, "write_min": 5, "watchdog_min": 30, "days": 28, "n_runs": 50}
    for groups, n_spares in (([[132, 3000]], 4), ([[128, 3000]], 0)):
        mean = published.goodput_mtbi(groups=groups, n_spares=n_spares, **inputs).budget
        assert mean.total_h == pytest.approx(28 * 24, rel=0.05)
