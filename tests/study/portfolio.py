"""Numbers of the study cells on mitigations together."""

from computed.mitigations import recommended
from ettr import Scenario, make_plan
from ettr.core.units import H_PER_DAY, H_PER_MONTH
from ettr.recommendation import savings
from ettr_book.chapters import portfolio


def numbers():
    best_set = recommended()
    steps = {step.id: step for step in best_set.steps}
    jit, detection = steps["just-in-time-checkpoint"], steps["faulty-machine-detection"]
    run = Scenario.load("llama3-405b")

    def saved_h(*ids):
        return H_PER_MONTH * savings(run, ids).share

    on_top = saved_h("peer-checkpoint", "parallel-checkpoint") - saved_h("peer-checkpoint")
    ends = portfolio.ends(best_set, make_plan(run).assumptions.inputs).set_index("input")
    restart, weak = ends.loc["recovery.restart_min"], ends.loc["effect of just-in-time-checkpoint"]
    assert weak["regret"] == ends["regret"].max() and "peer-checkpoint" in weak["ids_low"]
    return [
        ("save 52 hours per month", best_set.saved_h),
        ("alone is 53 hours", sum(step.alone_h for step in best_set.steps)),
        ("save 24 hours per month alone", saved_h("parallel-checkpoint")),
        ("only 0.2 on top", on_top),
        ("costs 33,000 USD", run.usd_per_h),
        ("after 4.4 days, at 8.3%", jit.payback_months * H_PER_MONTH / H_PER_DAY, jit.needed_share),
        (
            "needs 43 of the 53 days",
            detection.payback_months * H_PER_MONTH / H_PER_DAY,
            best_set.months * H_PER_MONTH / 24,
        ),
        ("and 80% of its effect", detection.needed_share),
        ("from 2.5 to 20 minutes", restart["low_value"], restart["high_value"]),
        ("from 1.9 to 6.6 million USD", restart["net_low"], 1e6 * restart["net_high"]),
        ("regret is 0.84 million USD", 1e6 * weak["regret"]),
    ]
