"""Forecasts on record: bands tied to their computation, and how many outcomes they hold, with made-up ones."""

from __future__ import annotations

import hashlib
import json
from datetime import date

import numpy as np
import pandas as pd
import pytest

from ettr import Scenario, budget, evidence
from ettr.core.errors import DataError, UnknownName
from ettr_book.validation.forecasts import band, forecasts, score

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
    assert [float(f"{end:.3g}") for end in (computed.low, computed.median, computed.high)] == [
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


# --------------------------------------------------------------------------- outcomes


def test_settled_ones_are_held_against_their_bands_and_the_others_counted():
    table = made_up((3.0, "2027-05-01"), (6.0, "2027-05-02"), (4.5, "2027-05-03"), (None, "2027-06-01"), (None, ""))
    result = score(date(2027, 7, 1), table)
    assert (result.n, result.n_open, result.n_overdue, result.n_settled, result.n_lapsed) == (5, 1, 0, 3, 1)
    assert result.n_inside == 2 and result.inside == pytest.approx(2 / 3) and result.level == pytest.approx(0.8)
    assert result.rows["state"].tolist() == ["settled", "settled", "settled", "lapsed", "open"]
    # Clopper and Pearson: each end is where so few, or so many, have a chance of 2.5%
    assert 3 * result.low**2 * (1 - result.low) + result.low**3 == pytest.approx(0.025, abs=1e-9)
    assert 1 - result.high**3 == pytest.approx(0.025, abs=1e-9)
    assert result.due == "2027-12-31"


def test_an_overdue_one_is_said_from_the_day_after():
    table = made_up((None, ""))
    assert score(date(2027, 12, 31), table).n_overdue == 0
    late = score(date(2028, 1, 1), table)
    assert (late.n_open, late.n_overdue, late.due) == (0, 1, "")


def test_without_outcomes_nothing_is_claimed():
    result = score(DAY, made_up((None, "")))
    assert np.isnan([result.inside, result.level]).all() and (result.low, result.high) == (0.0, 1.0)


def test_an_outcome_needs_its_day():
    with pytest.raises(DataError, match="forecasts.csv, f0: settled_on"):
        forecasts(DAY, made_up((3.0, "")))


def test_calibration_of_honest_bands():
    """Outcomes drawn from what the bands say: four of five inside, and the interval of the share holds that."""
    outcomes = np.random.default_rng(5).uniform(2 - 3 / 8, 5 + 3 / 8, 400)  # 80% of it is the band
    result = score(date(2028, 1, 1), made_up(*((float(outcome), "2027-12-01") for outcome in outcomes)))
    assert result.n_settled == 400 and result.low < 0.8 < result.high and result.high - result.low < 0.09
