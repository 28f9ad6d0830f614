"""Forecasts on record: bands tied to their computation, and how outcomes are scored, with made-up ones."""

from __future__ import annotations

import hashlib
import json
from datetime import date

import numpy as np
import pandas as pd
import pytest

from ettr import Scenario, budget, evidence
from ettr.core.errors import DataError, InputError, UnknownName
from ettr_book.validation.forecasts import band, forecasts, interval_score, score

DAY = date(2026, 11, 26)
RECORD = evidence.table("forecasts")
FROZEN = [name for name in RECORD.columns if name not in ("outcome", "outcome_source", "settled_on")]
STATED = "9f55392af2180891d65e2e61d3387abe"
"""Digest of what the first twelve forecasts said."""


def made_up(*outcomes: tuple[float | None, str], level: float = 0.8) -> pd.DataFrame:
    """Forecasts of 2 to 5, due at the end of 2027, with an outcome and the day of it."""
    rows = [
        {
            "forecast_id": f"f{place}",
            "low": 2.0,
            "median": 4.0,
            "high": 5.0,
            "level": level,
            "settles_by": "2027-12-31",
            "outcome": np.nan if outcome is None else outcome,
            "settled_on": settled_on,
        }
        for place, (outcome, settled_on) in enumerate(outcomes)
    ]
    return pd.DataFrame(rows)


# --------------------------------------------------------------------------- the record


@pytest.mark.parametrize("row", RECORD.to_dict("records"), ids=RECORD["forecast_id"])
def test_a_band_on_record_is_what_its_computation_gives(row):
    computed = band(row)
    assert [float(f"{one:.3g}") for one in (computed.low, computed.median, computed.high)] == [
        row["low"],
        row["median"],
        row["high"],
    ]
    assert row["low"] < row["median"] < row["high"] and 0 < row["level"] < 1
    assert row["made_on"] < row["settles_by"]


def test_a_forecast_on_record_is_never_rewritten():
    """What was said on its day stays as it was; a new opinion is a new row."""
    stated = json.dumps(RECORD[RECORD["made_on"] == DAY.isoformat()][FROZEN].to_dict("records"), ensure_ascii=False)
    assert hashlib.sha256(stated.encode()).hexdigest()[:32] == STATED


def test_the_record_begins_with_twelve():
    made = RECORD[RECORD["made_on"] == DAY.isoformat()]
    assert len(made) == 12 and made["title"].is_unique
    assert forecasts(DAY)["state"].eq("open").all() or RECORD["settled_on"].ne("").any()


def test_the_band_of_a_single_range_is_known_by_hand():
    """A tenth and nine tenths of the way, in logarithms, from 1 to 100."""
    row = {"forecast_id": "f", "model": "product", "level": 0.8, "inputs": '{"n_gpus": 10, "ranges": {"x": [1, 100]}}'}
    computed = band(row)
    assert [computed.low, computed.median, computed.high] == pytest.approx([10**1.2, 100, 10**2.8], rel=5e-3)


def test_two_roads_to_a_band():
    """The same quantiles from random draws of all inputs, each a scenario of its own in the closed form."""
    row = RECORD.set_index("forecast_id", drop=False).loc["ettr-16k"]
    inputs = json.loads(row["inputs"])
    rng = np.random.default_rng(1)
    at = {path: np.exp(rng.uniform(*np.log(ends), 20_000)) for path, ends in inputs["ranges"].items()}
    values = budget.exact(Scenario.load(inputs["scenario"]).override(inputs["set"]), at).ettr
    assert np.quantile(values, (0.1, 0.5, 0.9)) == pytest.approx([row["low"], row["median"], row["high"]], abs=0.004)


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"model": "prodct"}, UnknownName, "unknown computation 'prodct' (forecasts.csv, f); did you mean 'product'?"),
        ({"inputs": "{"}, DataError, "forecasts.csv, f: inputs do not fit product: "),
        ({"inputs": "{}"}, DataError, "forecasts.csv, f: inputs do not fit product: 'ranges'"),
        ({"inputs": '{"ranges": {"x": [1, 2]}, "y": 1}'}, DataError, "forecasts.csv, f: inputs do not fit product: "),
        ({"inputs": '{"ranges": {"x": [1, Infinity]}}'}, DataError, "forecasts.csv, f: product has no number for all"),
    ],
)
def test_a_tampered_forecast_is_named(changes, error, message):
    row = {"forecast_id": "f", "model": "product", "level": 0.8, "inputs": '{"ranges": {"x": [1, 2]}}'}
    with pytest.raises(error) as caught:
        band(row | changes)
    assert str(caught.value).startswith(message)


# --------------------------------------------------------------------------- scores


@pytest.mark.parametrize(
    ("outcome", "level", "points"),
    [
        (3.0, 0.8, 3.0),  # inside: the width
        (2.0, 0.8, 3.0),  # an end is inside
        (6.0, 0.8, 13.0),  # 1 outside, ten times
        (1.5, 0.8, 8.0),
        (6.0, 0.5, 7.0),  # four times
    ],
)
def test_worked_interval_scores(outcome, level, points):
    assert interval_score(2.0, 5.0, outcome, level) == pytest.approx(points, abs=1e-12)


def test_no_band_holds_everything():
    with pytest.raises(InputError, match="1 - level must be > 0"):
        interval_score(2.0, 5.0, 3.0, 1.0)


@pytest.mark.parametrize("level", [0.5, 0.8, 0.95])
@pytest.mark.parametrize(("shift", "stretch"), [(0.0, 0.7), (0.0, 1.4), (0.4, 1.0), (-0.4, 1.0), (0.3, 1.3)])
def test_honest_quantiles_score_best(level, shift, stretch):
    """Over outcomes of a skewed distribution, the same for both bands, so that the difference is sharp."""
    drawn = np.exp(np.random.default_rng(3).normal(size=200_000))
    low, high = np.quantile(np.exp(np.random.default_rng(4).normal(size=2_000_000)), ((1 - level) / 2, (1 + level) / 2))
    middle, half = (low + high) / 2 + shift, stretch * (high - low) / 2
    worse = interval_score(middle - half, middle + half, drawn, level) - interval_score(low, high, drawn, level)
    assert worse.mean() > 4 * worse.std() / np.sqrt(drawn.size)


def test_scores_do_not_depend_on_the_unit():
    table = made_up((6.0, "2027-05-01"), (3.0, "2027-06-01"))
    minutes = table.assign(**{name: 60 * table[name] for name in ("low", "median", "high", "outcome")})
    assert score(DAY, minutes).mean_score == pytest.approx(score(DAY, table).mean_score, rel=1e-12)


def test_settled_ones_are_scored_and_the_others_counted():
    table = made_up((3.0, "2027-05-01"), (6.0, "2027-05-02"), (4.5, "2027-05-03"), (None, "2027-06-01"), (None, ""))
    found = score(date(2027, 7, 1), table)
    assert (found.n, found.n_open, found.n_overdue, found.n_settled, found.n_lapsed) == (5, 1, 0, 3, 1)
    assert found.n_inside == 2 and found.inside == pytest.approx(2 / 3) and found.level == pytest.approx(0.8)
    assert found.mean_score == pytest.approx((3 + 13 + 3) / 3 / 4, abs=1e-12)
    assert found.rows["state"].tolist() == ["settled", "settled", "settled", "lapsed", "open"]
    known = found.rows["within"]
    assert known[:3].tolist() == [True, False, True] and known[3:].isna().all()
    # Clopper and Pearson: each end is where so few, or so many, have a chance of 2.5%
    assert 3 * found.low**2 * (1 - found.low) + found.low**3 == pytest.approx(0.025, abs=1e-9)
    assert 1 - found.high**3 == pytest.approx(0.025, abs=1e-9)
    assert found.due == "2027-12-31"


def test_an_overdue_one_is_said_from_the_day_after():
    table = made_up((None, ""))
    assert score(date(2027, 12, 31), table).n_overdue == 0
    late = score(date(2028, 1, 1), table)
    assert (late.n_open, late.n_overdue, late.due) == (0, 1, "")


def test_without_outcomes_nothing_is_claimed():
    found = score(DAY, made_up((None, "")))
    assert np.isnan([found.inside, found.level, found.mean_score]).all() and (found.low, found.high) == (0.0, 1.0)


def test_an_outcome_needs_its_day():
    with pytest.raises(DataError, match="forecasts.csv, f0: an outcome needs the day on which it was settled"):
        forecasts(DAY, made_up((3.0, "")))


def test_calibration_of_honest_bands():
    """Outcomes drawn from what the bands say: four of five inside, and the interval of the share holds that."""
    outcomes = np.random.default_rng(5).uniform(2 - 3 / 8, 5 + 3 / 8, 400)  # 80% of it is the band
    found = score(date(2028, 1, 1), made_up(*((float(one), "2027-12-01") for one in outcomes)))
    assert found.n_settled == 400 and found.low < 0.8 < found.high and found.high - found.low < 0.09
