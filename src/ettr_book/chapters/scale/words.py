"""What the chapter on size says."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import pandas as pd

from ettr.core.sentences import Finding, about, capital, listed, say
from ettr.core.units import H_PER_MONTH
from ettr.scenario import Scenario
from ettr.scenario.fields import amount_of
from ettr_book.chapters.common.exercises import Exercise, exercises
from ettr_book.chapters.scale import tables

if TYPE_CHECKING:
    from ettr.plan import Plan, Requirement


_SIZE = "{ettr:share0} on {n_gpus:gpus}"
_RANGE = "{range:shares} on {n_gpus:gpus}"


def answer(run: Scenario, sizes: pd.DataFrame, reach: dict[str, float], target: float) -> Finding:
    """What a run can reach; ``sizes`` as from ``tables.ettr_of_sizes``, ``reach`` as from ``tables.reach_gpus``."""
    named = [say(_SIZE, **_of(row)) for row in sizes.itertuples()]
    own = next(row for row in sizes.itertuples() if row.n_gpus == run.cluster.n_gpus)
    rows = [*(row for row in sizes.itertuples() if row.n_gpus != run.cluster.n_gpus), own]
    sure = [say(_RANGE, range=(row.low, row.high), **_of(row)) for row in rows]
    across = [say(_RANGE, range=(row.clusters_low, row.clusters_high), **_of(row)) for row in rows]
    published = list(dict.fromkeys(row.published for row in rows if row.published))
    return Finding(
        title=", ".join(dict.fromkeys([say(_SIZE, **_of(own)), *named])) + "".join(f"; {one}" for one in published),
        text=" ".join(
            part
            for part in (
                f"**Changed in its size alone, the run reaches {listed(named)}, at the best interval of each.**",
                say(
                    "With this node failure rate the plausible range is {ranges:list}.",
                    ranges=[one for one in sure if one] or None,
                ),
                say(
                    "Across the failure rates of published clusters it is {ranges:list}.",
                    ranges=[one for one in across if one] or None,
                ),
                *(f"{one}." for one in published),
                say("{target:share0} holds up to {#reach:gpus2}", target=target, reach=reach["reach"])
                + say(
                    " ({ends:gpus_span}, 95% interval of the failure rate)",
                    ends=_two_digits(reach["low"], reach["high"]),
                )
                + ("." if math.isfinite(reach["reach"]) else say("No size crosses {target:share0}.", target=target)),
            )
            if part
        ),
    )


def _two_digits(*sizes: float) -> tuple[float, ...]:
    return tuple(about(size) for size in sizes)


def _of(row: Any) -> dict[str, Any]:
    return {"n_gpus": row.n_gpus, "ettr": row.ettr}


def by_hand(plan: Plan, n_gpus: int) -> Finding:
    """The ETTR of another size in three lines of arithmetic."""
    if math.isinf(plan.job_mttf_h):
        return Finding("By hand", "Without failures size costs nothing.")
    hand = tables.by_hand(plan, n_gpus)
    leaves = "That is more than all of the time." if hand["ettr"] <= 0 else say("That leaves {ettr:share0}.", **hand)
    return Finding(
        "By hand",
        say(
            "- On {n_gpus:gpus} the MTTF is {mttf_min:about} min of exposed time{wall}. It falls as one over the "
            "size.\n"
            "- Stalls and rework at the best interval take √(2 × {stall_min:about} / {mttf_min:about}) = "
            "{traded:share0} of the time.\n"
            "- Each failure takes {recovery_min:about} min to come back from: "
            "{recovery_min:about} / {mttf_min:about} = {recovering:share0}.\n\n"
            "{leaves} The exact form says {exact:share0}; failures during recoveries make the "
            "difference.",
            leaves=leaves,
            wall=say(
                " (MTBF {#mtbf_larger:roughly} on the wall clock, since a job that is down cannot fail)",
                mtbf_larger=hand["mtbf_h"],
            ),
            **hand,
        ),
    )


def parts(parts: pd.DataFrame, n_gpus: int) -> Finding:
    """What takes the time at scale; columns as from ``tables.parts_by_size``."""
    size = min(float(n_gpus), float(parts["n_gpus"].max()))
    there = tables.losses_near(parts, size)
    if len(there) < 2:
        return Finding("Nothing is lost to failures at any size", "Nothing fails, so nothing is lost to failures.")
    recovery = there.reindex(["detection", "queue", "restart"]).sum() / there.sum()
    values = {"size": size, "first": there.index[0], "second": there.index[1], "recovery": recovery}
    return Finding(
        title=say("On {size:gpus2} {first} is the largest loss", **values),
        text=say(
            "On {size:gpus2} {first} takes {first_share:share0} of the time and {second} {second_share:share0}. "
            "Checkpointing more often cuts rework, not the time to come back: that is {recovery:share0} of the losses "
            "there.",
            first_share=there.iloc[0],
            second_share=there.iloc[1],
            **values,
        ),
    )


def needs(needs: list[Requirement], run: Scenario, ettr: float, target: float) -> Finding:
    """What a target would take at one size, and what it is worth; ``needs`` as from :func:`ettr.plan.requirements`."""
    where = {"n_gpus": run.cluster.n_gpus, "target": target}
    if ettr >= target:
        reached = say("{target:share0} is reached on {n_gpus:gpus} as it is", **where)
        return Finding(reached, f"{reached}.")
    able = [amount_of(one.field, Scenario) for one in needs if one.value is not None and one.given > 0]
    unable = [amount_of(one.field, Scenario) for one in needs if one.value is None and one.given > 0]
    gained_h = (target - ettr) * H_PER_MONTH
    return Finding(
        title=say(
            "{able:list} alone can reach {target:share0} on {n_gpus:gpus}"
            if able
            else "Nothing alone reaches {target:share0} on {n_gpus:gpus}",
            able=[capital(able[0]), *able[1:]] if able else [],
            **where,
        ),
        text=say(
            "{target:share0} instead of {ettr:share0} on {n_gpus:gpus} would give back {h:about} hours and {usd:usd} "
            "per month, at {price:number} USD per GPU-hour{assumed}.",
            ettr=ettr,
            h=gained_h,
            usd=gained_h * run.usd_per_h,
            price=run.prices.usd_per_gpu_h,
            assumed="" if run.cost else " (assumed)",
            **where,
        )
        + say(" Not enough even at its ideal: {unable:list}.", unable=unable or None),
    )


def asked(plan: Plan, target: float) -> Finding:
    """Two exercises."""
    run = plan.scenario
    twice = run.override({"cluster.n_gpus": 2 * run.cluster.n_gpus})
    faster = run.override({"recovery.restart_min": run.recovery.restart_min / 5})
    doubled = tables.ettr_of_sizes(twice, [])["ettr"]
    before, after = (tables.reach_gpus(one, target)["reach"] for one in (run, faster))
    return exercises(
        Exercise(
            say("Estimate the ETTR on {n:gpus}, twice as many, before you look.", n=twice.cluster.n_gpus),
            say(
                "{ettr:share0}. As long as losses are small, recovery takes twice the share that it took, stalls and "
                "rework 1.4 times theirs.",
                "There is no answer: the run would make no progress.",
                ettr=float(doubled.iloc[0]) if len(doubled) else None,
            ),
            {"cluster.n_gpus": twice.cluster.n_gpus},
        ),
        Exercise(
            say("A restart five times as fast: up to which size does {target:share0} hold then?", target=target),
            say(
                "Up to {after:gpus2} instead of {before:gpus2}. Stalls and rework are what is left.",
                "No size crosses it with one of the two.",
                after=after,
                before=before,
            ),
            {"recovery.restart_min": run.recovery.restart_min / 5},
        ),
    )


def against_model(runs: pd.DataFrame) -> Finding:
    """How far real runs stay behind a model of hardware; columns as from ``tables.against_model``."""
    times = float(runs["lost_h"].sum() / runs["modelled_lost_h"].sum())
    each = [
        say("{run} had {realised:share0}, where {modelled:share0} is modelled", **row._asdict())
        for row in runs.itertuples()
    ]
    return Finding(
        title=say("Real runs lost {times:about} times what hardware explains", times=times),
        text=say(
            "The two runs with a public diary lost {#unexplained:about} times the hours that failures of hardware, "
            "checkpoints and restarts explain: {each}. So read every ETTR of this book as a bound: bugs, experiments "
            "and people come on top. Give your own measured ETTR on {{doc}}`/book/your_cluster/what_if`, and it says "
            "how much.",
            unexplained=times,
            each="; ".join(each),
        ),
    )
