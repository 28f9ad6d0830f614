"""Numbers of the study cells of the first page."""

from ettr import Scenario, budget, evidence
from ettr_book import validation

WALL_H = {"glm": 1185.7, "bloom": 2592.0}
"""Wall-clock hours of the two runs, from their diaries."""


def lost_over_modelled() -> float:
    """Return the hours that the two runs with a diary lost, over those of the model."""
    rows = evidence.table("validation").query("result_id.str.endswith('-realised')")
    ettr = validation.run(rows).set_index("result_id")
    lost_h = {
        by: sum((1 - ettr.loc[f"{run}-realised", by]) * hours for run, hours in WALL_H.items())
        for by in ("published", "computed")
    }
    return float(lost_h["published"] / lost_h["computed"])


def numbers():
    run = Scenario.load("llama3-405b")
    hours = budget.exact(run)
    steady = budget.exact(run.override({"job.include_start": False, "maintenance": None}))
    per_failure_h = (steady.rework_h + steady.detection_h + steady.queue_h + steady.restart_h) / steady.n_failures
    return [
        ("each failure costs about 12 minutes", 60 * per_failure_h),
        ("With 419 failures in 54 days", run.failures.n_events, run.failures.node_days / run.n_nodes),
        ("rework and restarts take 3% of the time each", (hours.rework_h + hours.restart_h) / 2 / hours.total_h),
        ("checkpoint stalls 2%", hours.checkpoint_h / hours.total_h),
        ("cluster loses 4.9 days", (hours.total_h - hours.productive_h) / 24),
        ("lost 3.8 times as many hours", lost_over_modelled()),
    ]
