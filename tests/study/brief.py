"""Numbers of the one-page brief."""

from ettr import Scenario, evidence, make_plan
from ettr.budget.intervals import at_best
from ettr.core.units import H_PER_DAY, H_PER_MONTH, MIN_PER_H
from ettr.recommendation.best_set import Sets
from ettr_book.chapters import two_diaries
from ettr_book.chapters.common.steady_state import mtbf_h

LARGER = 100_000


def numbers():
    run = Scenario.load("llama3-405b")
    plan = make_plan(run)
    lost = {loss.part: (loss.h_per_month, loss.usd_per_month) for loss in plan.losses_at_best.parts}
    now, best = plan.losses.total, plan.losses_at_best.total
    chosen = plan.recommendation
    jit, restart, detection = chosen.steps

    def days(step):
        return step.payback_months * H_PER_MONTH / H_PER_DAY

    for step in (jit, restart):
        half = Sets(run).with_strengths({step.id: 0.5})
        others = [other for other in chosen.ids if other != step.id]
        assert half.net_usd(chosen.ids) > half.net_usd(others)
    assert [step.effect for step in chosen.steps] == ["assumed", "assumed", "published"]
    low, high = chosen.plausible_net_usd
    diaries = two_diaries.against_model()
    return [
        ("price of 2 USD", run.prices.usd_per_gpu_h),
        ("On 16,384 GPUs a part of the machine failed every 3.1 hours", run.cluster.n_gpus, plan.wall_mttf_h),
        ("9% of the time was lost, about 2.2 million", best.share, best.usd_per_month),
        ("for 450,000 USD", chosen.price_usd),
        ("| Restarts | 22 | 710,000", *lost["restart"]),
        ("Lost work (recomputed) | 19 | 620,000", *lost["rework"]),
        ("Checkpoint stalls | 14 | 470,000", *lost["checkpoint"]),
        ("Planned maintenance | 6.6 | 220,000", *lost["maintenance"]),
        ("Failure detection | 3.9 | 130,000", *lost["detection"]),
        ("on 100,000 GPUs would fail every 31 minutes", LARGER, mtbf_h(run, LARGER) * MIN_PER_H),
        ("keep only 62%", at_best(run.override({"cluster.n_gpus": LARGER})).ettr),
        ("measured 44%", evidence.figure("fthsdp_ettr").value),
        ("| 32,000 USD | at once", now.usd_per_month - best.usd_per_month),
        ("150,000 USD | 1.0 million USD | 4.4 days", jit.price_usd, jit.saved_usd, days(jit)),
        ("150,000 USD | 550,000 USD | 8.3 days", restart.price_usd, restart.saved_usd, days(restart)),
        ("150,000 USD | 110,000 USD | 43 days", detection.price_usd, detection.saved_usd, days(detection)),
        ("0.56 to 2.9 million USD", low / 1e6, high),
        ("over the 53 days", chosen.months * H_PER_MONTH / H_PER_DAY),
        ("from 91% to 98%", chosen.ettr, chosen.ettr_with_all),
        ("3.8 times as many hours", diaries["lost_h"].sum() / diaries["modelled_lost_h"].sum()),
    ]
