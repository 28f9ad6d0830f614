"""Numbers of the study cells on the finishing date."""

from ettr import Scenario, budget, make_plan
from ettr.core.units import H_PER_DAY, MIN_PER_H
from ettr_book.chapters import finishing_date
from ettr_book.chapters.common.runs import at_best_interval
from ettr_book.chapters.finishing_date import COUNTED_RATE, ENDS


def numbers():
    plan = make_plan(Scenario.load("llama3-405b"))
    run = at_best_interval(plan.scenario, plan)
    dates = finishing_date.finishing_dates(run, 50)
    model = run.override({"maintenance": None})
    n = float(budget.exact(model).n_failures)
    each = model.interval_h / 2 + model.persist_h + model.recovery_h
    rms = (each**2 + model.interval_h**2 / 12) ** 0.5
    low, high = (run.work_h / ettr / H_PER_DAY for ettr in reversed(plan.assumptions.range))

    def width(finish):
        return float(finish.quantile(ENDS[-1]) - finish.quantile(ENDS[0]))

    by_case = finishing_date.range_by_count(dates).set_index(["case", "n_events"])["range_days"]
    times = by_case[COUNTED_RATE] * H_PER_DAY / width(dates.exact)
    return [
        ("needs 48.6 days of training and meets 413 failures", run.work_h / H_PER_DAY, n),
        ("costs 11.1 minutes", rms * MIN_PER_H),
        ("of 3.8 hours, as", budget.finishing(model).sd_h),
        ("to 4.6 hours", dates.exact.sd_h),
        ("from 52.1 to 54.0 days", low, high),
        ("over 15 hours, and", width(dates.exact)),
        ("over 19 hours", width(dates.counted)),
        ("from 3 failures", 3),
        ("8.8 times", times.loc[3]),
        ("Its own 419 failures", dates.n_counted),
        ("it 1.3 times", times.loc[419]),
    ]
