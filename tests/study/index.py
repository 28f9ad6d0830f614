"""Numbers of the study cells of the first page."""

from ettr import Scenario, budget
from ettr_book.chapters import two_diaries


def numbers():
    run = Scenario.load("llama3-405b")
    hours = budget.exact(run)
    steady = budget.exact(run.override({"job.include_start": False, "maintenance": None}))
    per_failure_h = (steady.rework_h + steady.detection_h + steady.queue_h + steady.restart_h) / steady.n_failures
    diaries = two_diaries.against_model()
    return [
        ("each failure costs about 12 minutes", 60 * per_failure_h),
        ("With 419 failures in 54 days", run.failures.n_events, run.failures.node_days / run.n_nodes),
        ("rework and restarts take 3% of the time each", (hours.rework_h + hours.restart_h) / 2 / hours.total_h),
        ("checkpoint stalls 2%", hours.checkpoint_h / hours.total_h),
        ("cluster loses 4.9 days", (hours.total_h - hours.productive_h) / 24),
        ("lost 3.8 times as many hours", diaries["lost_h"].sum() / diaries["modelled_lost_h"].sum()),
    ]
