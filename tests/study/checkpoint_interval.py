"""Numbers of the study cells on the checkpoint interval."""

from ettr import Scenario, checkpoint, evidence, make_plan
from ettr.budget import exact
from ettr.core.units import MIN_PER_H
from ettr_book.chapters import checkpoint_interval


def numbers():
    run = Scenario.load("llama3-405b")
    plan = make_plan(run)
    best = plan.band.interval_min
    young = checkpoint.young_interval(run.stall_h, run.job_mttf_h)
    daly = checkpoint.daly_interval(run.stall_h, run.job_mttf_h)

    def ettr(factor):
        return float(exact(run.override({"job.include_start": False}), {"checkpoint.interval_min": best * factor}).ettr)

    def loss(factor):
        return 100 * (ettr(1) - ettr(factor))

    hours = plan.budget
    other = hours.detection_h + hours.restart_h + hours.maintenance_h + hours.queue_h
    by_input = checkpoint_interval.best_by_input(plan).set_index("input")
    stall, rate = by_input.loc["checkpoint stall"], by_input.loc["MTTF"]
    return [
        ("checkpoint stall of 10 s (assumed) meets an MTTF of 3.05 hours", run.checkpoint.stall_s, run.job_mttf_h),
        ("formula gives 7.8 minutes", young * MIN_PER_H),
        ("exact one 7.7 minutes", daly * MIN_PER_H),
        ("stalls then cost 2.1%", run.stall_h / (young + run.stall_h)),
        ("costs about 1 point", (loss(0.5) + loss(2)) / 2),
        ("about 4 points", (loss(0.25) + loss(4)) / 2),
        ("take 4.4% of the time", other / hours.total_h),
        ("(0.5 s) to a synchronous one (40 s)", stall.low_value, stall.high_value),
        ("from 1.7 to 15 minutes", stall.low_min, stall.high_min),
        ("counted from 419 failures", run.failures.n_events),
        ("only from 7.3 to 8.1 minutes", rate.low_min, rate.high_min),
        ("7.3 hours of training were gone", evidence.table("bloom176b_losses")["lost_h"].iloc[0]),
        ("every 500 steps", 500),  # both in the note of the event in data/glm130b_events.csv
        ("saved every 100 steps", 100),
    ]
