"""Published results beside computed ones."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd

from ettr import budget, evidence, power, sizing
from ettr.checkpoint import daly_interval, peer_survival, recall_of, young_interval
from ettr.core.errors import DataError, EttrError, UnknownName
from ettr.failures import job_mttf_h
from ettr.scaling import calibration, flop_per_token
from ettr.scenario import Gpu, Scenario
from ettr.scenario.paths import INTERVAL
from ettr.thermal import arrhenius_factor
from ettr_book.validation import peers

REPRODUCED, NOT_REPRODUCED, BOUND_MET = "reproduced", "not reproduced", "bound met"
OF_KIND = {"same input": "follows from the same input", "order": "order of magnitude", "fitted": "fitted"}
"""What agreement is called where it says less than that a result follows from published inputs."""
VERDICTS = (REPRODUCED, BOUND_MET, *OF_KIND.values(), NOT_REPRODUCED)
"""Every verdict, the one that says most first."""


def _run(scenario: str, set: Mapping[str, Any], interval: str = "") -> Scenario:
    # papers' own formulas take a start to be as long at any size
    run = Scenario.load(scenario).override({"recovery.init_s_per_1000_gpus": 0, **set})
    if interval not in ("", "young"):
        raise UnknownName("rule for the interval", interval, ["young"])
    if interval:
        run = run.override({INTERVAL: 60 * young_interval(run.stall_h, run.job_mttf_h)})
    return run


def _failures_in_window(window_days: float, **run: Any) -> float:
    expected = budget.exact(_run(**run))
    return float(expected.n_failures / expected.total_h * window_days * 24)


def _heat_loss(
    scenario: str, part: str, cooling: str, mean_c: float, swing_k: float, reference_inlet_c: float
) -> float:
    """Share of its throughput that a job loses on the hottest afternoon, when its hottest GPU sets the pace."""
    heat = {
        "part": part,
        "cooling": cooling,
        "mean_c": mean_c,
        "swing_k": swing_k,
        "reference_inlet_c": reference_inlet_c,
    }
    response = Scenario.load(scenario).override({"heat": heat}).heat_response
    assert response is not None
    return response.afternoon_loss


def _floor_overhead(scenario: str, floor: float) -> float:
    own = power.profile(Scenario.load(scenario))
    compute, waiting = own.waveform.phases
    levels = {"trough": waiting.gpu_w / own.rated_w, "peak": compute.gpu_w / own.rated_w}
    return float(power.floor_overhead(compute.share, floor=floor, **levels))


def _range_left(part: str) -> float:
    gpu = Gpu.load(part)
    return float(power.floor_range(gpu.smoothing.floor if gpu.smoothing else 0.0, gpu.limits.overshoot))


def _swing_mw(part: str, n_gpus: int, low: str) -> float:
    levels = Gpu.load(part).levels
    return n_gpus * (levels.compute_w - float(getattr(levels, low))) / 1e6


def _least_band_share(scenario: str, steps_s: list[float], low_hz: float, high_hz: float) -> float:
    """The least share over several durations of a step, of ten minutes of training each."""
    training = pd.DataFrame({"start_h": [0.0], "end_h": [1 / 6], "state": ["training"]})
    runs = [Scenario.load(scenario).override({"power.step_s": step_s}) for step_s in steps_s]
    series = [power.series(training, power.profile(one), 0.01) for one in runs]
    return min(power.band_share(one, low_hz, high_hz) for one in series)


def _scaling_pct(run_id: str) -> float:
    """Utilisation of a published run, or its throughput a GPU over another's, with its study's constants. [%]"""
    for study in calibration.studies():
        rows = calibration.fit(study).rows.set_index("run_id")
        if run_id in rows.index:
            return float(rows.loc[run_id, "computed_pct"])
    raise UnknownName("published run", run_id, evidence.table("scaling_runs")["run_id"])


def _iteration_s(run_id: str) -> float:
    """Duration of a step that follows from the printed utilisation. [s]"""
    row = evidence.table("scaling_runs").set_index("run_id").loc[run_id]
    work = flop_per_token(row["n_parameters"], row["n_layers"], row["hidden"], row["sequence_tokens"])
    rate = row["n_gpus"] * row["peak_tflops"] * 1e12 * row["measured_pct"] / 100
    return float(work * row["batch_tokens"] / rate)


def _million_gpu_h(scenario: str, set: Mapping[str, Any]) -> float:
    run = _run(scenario, set)
    return float(sizing.yields(run, [run.cluster.n_gpus]).gpu_h[0]) / 1e6


def _power_change_pct(study: str, part: str, before: str, after: str) -> float:
    """Change of a GPU's power between two published runs, from the shares of a step in which it waits. [%]"""
    levels = Gpu.load(part).levels
    waits = calibration.fit(study).rows.set_index("run_id")["waiting_share"]
    power_w = {
        run: levels.compute_w - (levels.compute_w - levels.communication_w) * waits[run] for run in (before, after)
    }
    return float(100 * (power_w[after] / power_w[before] - 1))


MODELS: dict[str, Callable[..., float]] = {
    **peers.MODELS,
    "daly_interval_min": lambda stall_min, mttf_h: 60 * daly_interval(stall_min / 60, mttf_h),
    "job_mttf_h": job_mttf_h,
    "job_mttf_min": lambda gpu_mttf_h, n_gpus: 60 * gpu_mttf_h / n_gpus,
    "rsc_ettr": lambda **run: budget.rsc(_run(**run)).ettr,
    "exact_ettr": lambda **run: budget.exact(_run(**run)).ettr,
    "failures_in_window": _failures_in_window,
    "mean_time_between_h": lambda n_events, window_days: 24 * window_days / n_events,
    "events_per_day": lambda n_events, window_days: n_events / window_days,
    "stall_share": lambda stall_s, interval_min: stall_s / (60 * interval_min),
    "stall_ettr": lambda stall_min, **run: 1 - stall_min / 60 / job_mttf_h(**run),
    "stall_ettr_by_wall": lambda stall_min, every_min, away_share: 1 - stall_min / every_min - away_share,
    "init_s": lambda known_s, known_gpus, n_gpus: known_s * n_gpus / known_gpus,
    "recall_of": recall_of,
    "arrhenius_factor": arrhenius_factor,
    "heat_loss": _heat_loss,
    "peer_survival": peer_survival,
    "floor_overhead": _floor_overhead,
    "range_left": _range_left,
    "swing_mw": _swing_mw,
    "least_band_share": _least_band_share,
    "carbon_t": lambda gpu_h, gpu_w, pue, g_per_kwh: gpu_h * gpu_w / 1e3 * pue * g_per_kwh / 1e6,
    "scaling_pct": _scaling_pct,
    "iteration_s": _iteration_s,
    "million_gpu_h": _million_gpu_h,
    "power_change_pct": _power_change_pct,
    "ratio": lambda before_s, after_s: before_s / after_s,
}
"""Computations that rows of ``data/validation.csv`` name; each takes the row's inputs and answers in its unit."""


def run(table: pd.DataFrame | None = None) -> pd.DataFrame:
    """Compute every published result.

    Parameters
    ----------
    table : DataFrame, optional
        Rows as in ``data/validation.csv``; that table by default.

    Returns
    -------
    DataFrame
        The rows with ``computed`` and ``verdict``, one of ``VERDICTS``: ``reproduced`` (inputs are published, the
        result is derived and within its tolerance), ``bound met`` (the same, of a result printed as a bound),
        ``follows from the same input`` (the source's own sum), ``order of magnitude``, ``fitted`` (within it, but
        inputs were chosen with the result in view), or ``not reproduced``.

    Raises
    ------
    DataError
        Inputs that are not JSON, or do not fit the computation; an unknown relation or kind of tolerance.
    UnknownName
        A computation that does not exist.
    """
    rows = evidence.table("validation") if table is None else table.copy()
    rows["computed"] = [_computed(row) for row in rows.to_dict("records")]
    rows["verdict"] = [_verdict(row) for row in rows.to_dict("records")]
    return rows


def rsc_beside_exact() -> pd.DataFrame:
    """The RSC paper's own results, beside its formula and the exact form with the same values.

    Returns
    -------
    DataFrame
        A row for each result in ``data/validation.csv`` that the formula answers: ``quantity``, ``published``,
        ``relation``, ``rsc`` and ``exact`` (ETTR of :func:`ettr.budget.rsc` and :func:`ettr.budget.exact`), ``n_gpus``
        [GPUs], ``interval_min`` [min], ``verdict`` of the formula, ``max_n_gpus`` (the size at which it stops being
        one, all else the same) [GPUs].

    Examples
    --------
    >>> rsc_beside_exact().loc[0, ["published", "rsc", "exact"]].astype(float).round(3).tolist()
    [0.7, 0.684, 0.72]
    """
    table = evidence.table("validation")
    rows = run(table[table["model"] == "rsc_ettr"])
    runs = [_run(**json.loads(inputs)) for inputs in rows["inputs"]]
    return pd.DataFrame(
        {
            "quantity": rows["quantity"].to_numpy(),
            "published": rows["published"].to_numpy(),
            "relation": rows["relation"].to_numpy(),
            "rsc": rows["computed"].to_numpy(),
            "exact": [float(budget.exact(scenario).ettr) for scenario in runs],
            "n_gpus": [scenario.cluster.n_gpus for scenario in runs],
            "interval_min": [scenario.interval_min for scenario in runs],
            "verdict": rows["verdict"].to_numpy(),
            "max_n_gpus": [budget.validity(scenario, "rsc").max_n_gpus for scenario in runs],
        }
    )


def _computed(row: Mapping[str, Any]) -> float:
    place = f"validation.csv, {row['result_id']}"
    if row["model"] not in MODELS:
        raise UnknownName("computation", row["model"], MODELS, place)
    try:
        computed = float(MODELS[row["model"]](**json.loads(row["inputs"])))
    except (json.JSONDecodeError, TypeError, ArithmeticError, EttrError) as error:
        raise DataError(f"{place}: inputs do not fit {row['model']}: {error}") from error
    if not math.isfinite(computed):
        raise DataError(f"{place}: {row['model']} gives {computed} for these inputs")
    return computed


def _verdict(row: Mapping[str, Any]) -> str:
    place = f"validation.csv, {row['result_id']}"
    above = row["computed"] - row["published"]
    off = {"equal": abs(above), "at_least": -above, "at_most": above}
    scale = {"absolute": 1.0, "relative": abs(row["published"])}
    if row["relation"] not in off:
        raise UnknownName("relation", row["relation"], off, place)
    if row["tolerance_kind"] not in scale:
        raise UnknownName("kind of tolerance", row["tolerance_kind"], scale, place)
    if not off[row["relation"]] <= row["tolerance"] * scale[row["tolerance_kind"]]:
        return NOT_REPRODUCED
    return OF_KIND.get(row["kind"], REPRODUCED if row["relation"] == "equal" else BOUND_MET)
