"""Published results compared with computed ones, including examples from other tools."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pandas as pd

from ettr import budget, cluster, evidence, power, simulation, sizing
from ettr.checkpoint import daly_first_order_interval, daly_interval, peer_survival, recall_of, young_interval
from ettr.core.errors import DataError, EttrError, UnknownName
from ettr.core.units import H_PER_DAY
from ettr.failures import job_mttf_h
from ettr.scaling import calibration, flop_per_token
from ettr.scenario import Gpu, Scenario
from ettr.scenario.paths import INTERVAL
from ettr.thermal import arrhenius_factor

_NODE_CAUSES = (
    ("gpu lost", 0.25, 3.0, 1),
    ("gpu memory", 0.20, 3.0, 1),
    ("link", 0.15, None, 1),
    ("host", 0.10, 5.0, 1),
    ("hang", 0.30, None, 0),
)
_JOB_CAUSES = (("crash", 0.60, 1.0, 0), ("storage", 0.40, None, 0))
"""Causes in goodput-mtbi: name, share, detection [min] (None: by the watchdog), and nodes that leave the job."""


def series_mttf_h(parts: Sequence[tuple[float, float]], n_nodes: float = 1) -> float:
    """Return the mean time to the first failure of any of the parts. [h]

    Parameters
    ----------
    parts : sequence of (n, mttf_h)
        Number of parts of each kind, and the MTTF of a single part. [h]
    n_nodes : float
        Number of nodes with all these parts.
    """
    return 1 / (n_nodes * sum(n / mttf_h for n, mttf_h in parts))


def airesim(
    days: float,
    n_idle: int,
    bad_share: float,
    bad_factor: float,
    per_1000_node_days: float,
    recovery_min: float,
    repair: Mapping[str, Any],
    cured: tuple[float, float],
    choose: str = "random",
    n_runs: int = 100,
) -> simulation.Simulation:
    """Simulate a job on 4,096 servers by the rules of AIReSim: no checkpoints, no failures during recovery."""
    run = Scenario.of(
        {
            "name": "airesim",
            "cluster": {"n_gpus": 8 * 4096},
            "job": {"productive_h": 24 * days},
            "failures": {
                "rate_per_1000_node_days": per_1000_node_days * (1 + bad_share * (bad_factor - 1)),
                "lemons": {
                    "share": bad_share,
                    "factor": bad_factor,
                    "cured_automatic": cured[0],
                    "cured_manual": cured[1],
                },
            },
            "checkpoint": {"interval_min": 0.01, "stall_s": 0},
            "recovery": {"detection_min": 0, "restart_min": recovery_min, "exposed": False},
            "spares": {
                "n_nodes": 16,
                "n_idle": n_idle,
                "select_min": 3,
                "n_preemptible": 200,
                "preempt_min": 20,
                "choose": choose,
            },
            "repair": {"automatic_h": 2, "manual_h": 48, "distribution": "exponential", **repair},
        }
    )
    return simulation.simulate(run, n_runs)


def netcap(
    n_gpus: int,
    rate_per_1000_node_days: float,
    detection_s: float,
    restart_s: float,
    write_s: float,
    window_days: float,
    n_runs: int = 400,
) -> simulation.Simulation:
    """Simulate a job by the rules of netcap: Daly's first-order interval, no failures during recovery."""
    mttf_h = job_mttf_h(rate_per_1000_node_days, n_gpus)
    run = Scenario.of(
        {
            "name": "netcap",
            "cluster": {"n_gpus": n_gpus},
            "job": {"productive_h": H_PER_DAY * window_days, "include_start": False},
            "failures": {"rate_per_1000_node_days": rate_per_1000_node_days, "rate_clock": "exposed"},
            "checkpoint": {
                "interval_min": 60 * daly_first_order_interval(write_s / 3600, mttf_h),
                "stall_s": write_s,
            },
            "recovery": {"detection_min": detection_s / 60, "restart_min": restart_s / 60, "exposed": False},
        }
    )
    return simulation.simulate(run, n_runs)


def _netcap_interruptions(window_days: float, **run: Any) -> float:
    mean = netcap(window_days=window_days, **run).budget
    return float(mean.n_failures / mean.total_h * H_PER_DAY * window_days)


def goodput_mtbi(
    groups: Sequence[tuple[float, float]],
    n_spares: int,
    interval_min: float | str,
    write_min: float,
    watchdog_min: float,
    days: float,
    n_runs: int = 200,
) -> simulation.Simulation:
    """Simulate the 128-node job of goodput-mtbi by its rules: no failures during recovery or of spares.

    Parameters
    ----------
    groups : sequence of (n, mttf_h)
        Nodes of the pool, and the MTTF of a node; nodes of a second group are lemons. [h]
    n_spares : int
        Nodes of the pool that the job does not need.
    interval_min, write_min : float
        Checkpoint interval, or "daly", and checkpoint stall. [min]
    watchdog_min : float
        Time until a hang is detected. [min]
    days : float
        About how long a run is. [d]
    """
    n_pool = sum(n for n, _ in groups)
    node_rate, job_rate = 128 / n_pool / series_mttf_h(groups), 1 / 40
    rate = node_rate + job_rate
    causes = [(*cause, node_rate) for cause in _NODE_CAUSES] + [(*cause, job_rate) for cause in _JOB_CAUSES]
    (_, mttf_h), *bad = groups
    lemons = {"share": bad[0][0] / n_pool, "factor": mttf_h / bad[0][1]} if bad else None
    run = Scenario.of(
        {
            "name": "goodput-mtbi",
            "cluster": {"n_gpus": 8 * 128},
            "job": {"productive_h": H_PER_DAY * days, "include_start": False},
            "failures": {
                "job_mttf_h": 1 / rate,
                "rate_clock": "exposed",
                "modes": [
                    {
                        "name": name,
                        "share": share * part / rate,
                        "detection_min": watchdog_min if detection_min is None else detection_min,
                        "n_out_nodes": n_out,
                    }
                    for name, share, detection_min, n_out, part in causes
                ],
                "lemons": lemons,
            },
            "checkpoint": {"interval_min": interval_min, "stall_s": 60 * write_min},
            "recovery": {"detection_min": 0, "restart_min": 20, "exposed": False},
            "spares": {"n_nodes": n_spares},
            "repair": {"automatic_h": 48, "distribution": "exponential"},
        }
    )
    ettr = float(simulation.simulate(run, n_runs).budget.ettr)
    return simulation.simulate(run.override({"job.productive_h": H_PER_DAY * days * ettr}), n_runs)


_PEERS: dict[str, Callable[..., float]] = {
    "airesim_h": lambda **run: float(airesim(**run).budget.total_h),
    "airesim_failures": lambda **run: float(airesim(**run).budget.n_failures),
    "netcap_ettr": lambda **run: float(netcap(**run).budget.ettr),
    "netcap_interruptions": _netcap_interruptions,
    "goodput_mtbi_ettr": lambda **run: float(goodput_mtbi(**run).budget.ettr),
    "series_mttf_h": series_mttf_h,
    "series_mttf_min": lambda **parts: 60 * series_mttf_h(**parts),
    "series_failure_chance": lambda duration_h, **parts: -math.expm1(-duration_h / series_mttf_h(**parts)),
    "series_young_min": lambda stall_s, **parts: 60 * young_interval(stall_s / 3600, series_mttf_h(**parts)),
    "series_daly_min": lambda stall_s, **parts: 60 * daly_interval(stall_s / 3600, series_mttf_h(**parts)),
    "daly_first_order_s": lambda stall_s, **rate: 3600 * daly_first_order_interval(stall_s / 3600, job_mttf_h(**rate)),
}
"""Computations named by rows of ``data/validation.csv`` on examples of other tools."""


REPRODUCED, NOT_REPRODUCED, BOUND_MET = "reproduced", "not reproduced", "bound met"
OF_KIND = {"same input": "follows from the same input", "order": "order of magnitude", "fitted": "fitted"}
"""Verdicts for agreement that is weaker than a derivation from published inputs."""
VERDICTS = (REPRODUCED, BOUND_MET, *OF_KIND.values(), NOT_REPRODUCED)
"""Every verdict, strongest first."""


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
    """Return the share of throughput lost on the hottest afternoon, when the hottest GPU sets the pace."""
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
    profile = power.profile(Scenario.load(scenario))
    compute, waiting = profile.waveform.phases
    levels = {"trough": waiting.gpu_w / profile.rated_w, "peak": compute.gpu_w / profile.rated_w}
    return float(power.floor_overhead(compute.share, floor=floor, **levels))


def _range_left(part: str) -> float:
    gpu = Gpu.load(part)
    return float(power.floor_range(gpu.smoothing.floor if gpu.smoothing else 0.0, gpu.limits.overshoot))


def _swing_mw(part: str, n_gpus: int, low: str) -> float:
    levels = Gpu.load(part).levels
    return n_gpus * (levels.compute_w - float(getattr(levels, low))) / 1e6


def _least_band_share(scenario: str, steps_s: list[float], low_hz: float, high_hz: float) -> float:
    """Return the smallest band share over several step durations, with ten minutes of training each."""
    training = pd.DataFrame({"start_h": [0.0], "end_h": [1 / 6], "state": ["training"]})
    runs = [Scenario.load(scenario).override({"power.step_s": step_s}) for step_s in steps_s]
    series = [power.series(training, power.profile(power_series), 0.01) for power_series in runs]
    return min(power.band_share(power_series, low_hz, high_hz) for power_series in series)


def _scaling_pct(run_id: str) -> float:
    """Return the computed utilisation (or relative throughput) of a published run, in percent."""
    for study in calibration.studies():
        rows = calibration.fit(study).rows.set_index("run_id")
        if run_id in rows.index:
            return float(rows.loc[run_id, "computed_pct"])
    raise UnknownName("published run", run_id, evidence.table("scaling_runs")["run_id"])


def _iteration_s(run_id: str) -> float:
    """Return the step duration implied by the printed utilisation. [s]"""
    row = evidence.table("scaling_runs").set_index("run_id").loc[run_id]
    work = flop_per_token(row["n_parameters"], row["n_layers"], row["hidden"], row["sequence_tokens"])
    rate = row["n_gpus"] * row["peak_tflops"] * 1e12 * row["measured_pct"] / 100
    return float(work * row["batch_tokens"] / rate)


def _million_gpu_h(scenario: str, set: Mapping[str, Any]) -> float:
    run = _run(scenario, set)
    return float(sizing.yields(run, [run.cluster.n_gpus]).gpu_h[0]) / 1e6


def _power_change_pct(study: str, part: str, before: str, after: str) -> float:
    """Return the change of GPU power between two published runs, from their waiting shares of a step. [%]"""
    levels = Gpu.load(part).levels
    waits = calibration.fit(study).rows.set_index("run_id")["waiting_share"]
    power_w = {
        run: levels.compute_w - (levels.compute_w - levels.communication_w) * waits[run] for run in (before, after)
    }
    return float(100 * (power_w[after] / power_w[before] - 1))


MODELS: dict[str, Callable[..., float]] = {
    **_PEERS,
    "cluster_second_order_pct": lambda mix: 100 * cluster.make(mix).second_order,
    "cluster_loss_share_pct": lambda mix: 100 * float(cluster.make(mix).most_costly["lost"].sum()),
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
"""Computations named by rows of ``data/validation.csv``: from the row's inputs to a value in its unit."""


def run(table: pd.DataFrame | None = None) -> pd.DataFrame:
    """Compute every published result and compare it.

    Parameters
    ----------
    table : DataFrame, optional
        Rows as in ``data/validation.csv``; that table by default.

    Returns
    -------
    DataFrame
        The rows with ``computed`` and ``verdict``, one of ``VERDICTS``: ``reproduced`` (inputs are published, the
        result is derived and within its tolerance), ``bound met`` (the derived result meets a printed bound),
        ``follows from the same input`` (the source's own sum), ``order of magnitude``, ``fitted`` (within tolerance,
        but with inputs chosen to match), or ``not reproduced``.

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
