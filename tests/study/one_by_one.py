"""Numbers of the study cells on single mitigations."""

import json
import math

from ettr import Scenario, evidence, make_plan, mitigation, recommendation
from ettr_book.chapters import one_by_one


def numbers():
    run = Scenario.load("llama3-405b")
    plan = make_plan(run)

    def gain(**changes):
        changed = {path.replace("__", "."): value for path, value in changes.items()}
        return 100 * (make_plan(run.override(changed)).budget.ettr - plan.budget.ettr)

    failures = gain(failures__rate_per_1000_node_days=run.failure_rate / 2)
    restart = gain(recovery__restart_min=run.recovery.restart_min / 2)
    stall = gain(checkpoint__stall_s=run.checkpoint.stall_s / 2)
    part = (1 - math.sqrt(0.5)) * math.sqrt(2 * run.stall_h / run.job_mttf_h)
    formula = [part + run.recovery_h / run.job_mttf_h / 2, run.restart_h / run.job_mttf_h / 2, part]
    exact = failures, restart, stall
    error = max(abs(100 * share - points) for share, points in zip(formula, exact, strict=True))

    comparison = recommendation.mitigations(run, ["replica-recovery"], n_runs=300, measure="usd")
    saved_h = one_by_one.hours_by_part(comparison, ["replica-recovery"]).set_index("part")["hours"]

    catalogue = mitigation.catalogue()
    bloom = next(figure for figure in catalogue["straggler-removal"].published if "BLOOM" in figure.quantity)
    errors = catalogue["collective-monitoring"].published[0]
    stall_min, ettr = catalogue["replica-drop"].published
    row = evidence.table("validation").set_index("result_id").loc["fthsdp-3min-away"]
    return [
        ("gain 2.9 points", failures),
        ("gains 1.4 points and half the stall 1.2", restart, stall),
        ("within 0.1 points", error),
        ("above 90%. The assumed inputs give 91%", run.measured.ettr_above, plan.budget.ettr),
        ("up to 93%", plan.assumptions.range[1]),
        ("32 hours of rework and 25 hours", saved_h["rework"], saved_h["checkpoint"]),
        ("at 140 TFLOP/s per GPU; without it the job ran at 149", bloom.before, bloom.after),
        ("That is 6%", 1 - bloom.before / bloom.after),
        ("took 31.2% of the time of a job, and 1.2%", errors.before, errors.after),
        ("about 100,000 GPUs", evidence.figure("fthsdp_n_gpus").value),
        ("every 18 minutes", json.loads(row["inputs"])["every_min"]),
        ("from 10 to 3 minutes", stall_min.before, stall_min.after),
        ("from 44% to 80%", ettr.before, ettr.after),
    ]
