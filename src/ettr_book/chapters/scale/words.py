"""Text of the chapter on size."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import pandas as pd

from ettr.core.sentences import Finding, about, capital, listed, say
from ettr.core.units import H_PER_MONTH
from ettr.scenario import Scenario
from ettr.scenario.fields import amount_of
from ettr_book.chapters.common.exercises import Exercise, numbered_exercises
from ettr_book.chapters.scale import tables

if TYPE_CHECKING:
    from ettr.plan import Plan, Requirement


_SIZE = "{ettr:share0} on {n_gpus:gpus}"
_RANGE = "{range:shares} on {n_gpus:gpus}"


def answer(run: Scenario, sizes: pd.DataFrame, reach: dict[str, float], target: float) -> Finding:
    """Return the reachable ETTR; ``sizes`` from ``tables.ettr_of_sizes``, ``reach`` from ``tables.reach_gpus``."""
    named = [say(_SIZE, **_of(row)) for row in sizes.itertuples()]
    own_row = next(row for row in sizes.itertuples() if row.n_gpus == run.cluster.n_gpus)
    rows = [*(row for row in sizes.itertuples() if row.n_gpus != run.cluster.n_gpus), own_row]
    plausible = [say(_RANGE, range=(row.low, row.high), **_of(row)) for row in rows]
    across = [say(_RANGE, range=(row.clusters_low, row.clusters_high), **_of(row)) for row in rows]
    published = list(dict.fromkeys(row.published for row in rows if row.published))
    return Finding(
        title=", ".join(dict.fromkeys([say(_SIZE, **_of(own_row)), *named]))
        + "".join(f"; {text}" for text in published),
        text=" ".join(
            part
            for part in (
                f"**Scaled to other sizes, the run reaches an ETTR of {listed(named)}, with the best interval at each "
                "size.**",
                say(
                    "With this node failure rate the plausible range is {ranges:list}.",
                    ranges=[text for text in plausible if text] or None,
                ),
                say(
                    "Across the failure rates of published clusters it is {ranges:list}.",
                    ranges=[text for text in across if text] or None,
                ),
                *(f"{text}." for text in published),
                say("{target:share0} holds up to {#reach:gpus2}", target=target, reach=reach["reach"])
                + say(
                    " ({ends:gpus_span}, 95% CI of the failure rate)",
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
    """Return the ETTR of another size in three lines of arithmetic."""
    if math.isinf(plan.job_mttf_h):
        return Finding("By hand", "Without failures size costs nothing.")
    hand = tables.by_hand(plan, n_gpus)
    ettr = "The losses exceed 100%." if hand["ettr"] <= 0 else say("ETTR is {ettr:share0}.", **hand)
    return Finding(
        "By hand",
        say(
            "- On {n_gpus:gpus} the MTTF is {mttf_min:about} min of exposed time{wall}. It falls as one over the "
            "size.\n"
            "- Stalls and rework at the best interval take √(2 × {stall_min:about} / {mttf_min:about}) = "
            "{traded:share0} of the time.\n"
            "- Recovery takes {recovery_min:about} min per failure: "
            "{recovery_min:about} / {mttf_min:about} = {recovering:share0}.\n\n"
            "{result} The exact model gives {exact:share0}; the difference comes from failures during "
            "recovery.",
            result=ettr,
            wall=say(
                " (MTBF {#mtbf_larger:roughly} on the wall clock, since a job that is down cannot fail)",
                mtbf_larger=hand["mtbf_h"],
            ),
            **hand,
        ),
    )


def parts(parts: pd.DataFrame, n_gpus: int) -> Finding:
    """Return the largest losses at scale; columns as from ``tables.parts_by_size``."""
    size = min(float(n_gpus), float(parts["n_gpus"].max()))
    losses = tables.losses_near(parts, size)
    if len(losses) < 2:
        return Finding("Nothing is lost to failures at any size", "This run has no failures.")
    recovery = losses.reindex(["detection", "queue", "restart"]).sum() / losses.sum()
    values = {"size": size, "first": losses.index[0], "second": losses.index[1], "recovery": recovery}
    return Finding(
        title=say("On {size:gpus2} {first} is the largest loss", **values),
        text=say(
            "On {size:gpus2} {first} takes {first_share:share0} of the time and {second} {second_share:share0}. "
            "Checkpointing more often cuts rework, but not recovery, which is {recovery:share0} of the losses at this "
            "size.",
            first_share=losses.iloc[0],
            second_share=losses.iloc[1],
            **values,
        ),
    )


def needs(needs: list[Requirement], run: Scenario, ettr: float, target: float) -> Finding:
    """Return the requirements of a target and their worth; ``needs`` as from :func:`ettr.plan.requirements`."""
    where = {"n_gpus": run.cluster.n_gpus, "target": target}
    if ettr >= target:
        reached = say("The current run already reaches {target:share0} on {n_gpus:gpus}", **where)
        return Finding(reached, f"{reached}.")
    enough = [amount_of(need.field, Scenario) for need in needs if need.value is not None and need.given > 0]
    not_enough = [amount_of(need.field, Scenario) for need in needs if need.value is None and need.given > 0]
    gained_h = (target - ettr) * H_PER_MONTH
    return Finding(
        title=say(
            "{inputs:list} alone can reach {target:share0} on {n_gpus:gpus}"
            if enough
            else "No single input reaches {target:share0} on {n_gpus:gpus}",
            inputs=[capital(enough[0]), *enough[1:]] if enough else [],
            **where,
        ),
        text=say(
            "{target:share0} instead of {ettr:share0} on {n_gpus:gpus} would save {h:about} hours and {usd:usd} per "
            "month, at {price:number} USD per GPU-hour{assumed}.",
            ettr=ettr,
            h=gained_h,
            usd=gained_h * run.usd_per_h,
            price=run.prices.usd_per_gpu_h,
            assumed="" if run.cost else " (assumed)",
            **where,
        )
        + say(" Not enough even at its ideal: {unable:list}.", unable=not_enough or None),
    )


def exercises(plan: Plan, target: float) -> Finding:
    """Return two exercises."""
    run = plan.scenario
    twice = run.override({"cluster.n_gpus": 2 * run.cluster.n_gpus})
    faster = run.override({"recovery.restart_min": run.recovery.restart_min / 5})
    doubled = tables.ettr_of_sizes(twice, [])["ettr"]
    before, after = (tables.reach_gpus(scenario, target)["reach"] for scenario in (run, faster))
    return numbered_exercises(
        Exercise(
            say("Estimate the ETTR on {n:gpus}, twice as many, before you look.", n=twice.cluster.n_gpus),
            say(
                "{ettr:share0}. While losses are small, the share of recovery doubles, and that of stalls and rework "
                "grows 1.4 times.",
                "There is no answer: the run would make no progress.",
                ettr=float(doubled.iloc[0]) if len(doubled) else None,
            ),
            {"cluster.n_gpus": twice.cluster.n_gpus},
        ),
        Exercise(
            say("A restart five times as fast: up to which size does {target:share0} hold then?", target=target),
            say(
                "Up to {after:gpus2} instead of {before:gpus2}. The remaining losses are stalls and rework.",
                "No size crosses it with one of the two.",
                after=after,
                before=before,
            ),
            {"recovery.restart_min": run.recovery.restart_min / 5},
        ),
    )


def against_model(runs: pd.DataFrame) -> Finding:
    """Return the gap between published runs and the hardware model; columns as from ``tables.against_model``."""
    times = float(runs["lost_h"].sum() / runs["modelled_lost_h"].sum())
    each = [
        say("{run} reached {realised:share0}, against {modelled:share0} in the model", **row._asdict())
        for row in runs.itertuples()
    ]
    return Finding(
        title=say("Real runs lost {times:about} times as much as hardware explains", times=times),
        text=say(
            "The two runs with a public diary lost {#unexplained:about} times as many hours as hardware failures, "
            "checkpoints and restarts account for: {each}. Treat every ETTR in this book as an upper bound; bugs, "
            "experiments and waiting for people come on top. Enter your measured ETTR on "
            "{{doc}}`/book/your_cluster/what_if` to see your gap.",
            unexplained=times,
            each="; ".join(each),
        ),
    )
