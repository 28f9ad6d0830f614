"""What the chapter on size says."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import pandas as pd

from ettr.core.sentences import Finding, about, capital, listed, pct, say
from ettr_book.chapters.common.exercises import Exercise, exercises
from ettr_book.chapters.scale import tables

if TYPE_CHECKING:
    from ettr.plan import Plan, Requirement
    from ettr.scenario import Scenario


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
    off = abs(hand["ettr"] - hand["exact"]) > 0.01
    return Finding(
        "By hand",
        say(
            "- On {n_gpus:gpus} the MTTF is {mttf_min:about} min of exposed time{wall}. It falls as one over the "
            "size.\n"
            "- Stalls and rework at the best interval take √(2 × {stall_min:about} / {mttf_min:about}) = "
            "{traded:share0} of the time.\n"
            "- Each failure takes {recovery_min:about} min to come back from: "
            "{recovery_min:about} / {mttf_min:about} = {recovering:share0}.\n\n"
            "{leaves} The exact form says {exact:share0}.{why}",
            leaves=leaves,
            wall=say(
                " (MTBF {#mtbf_larger:roughly} on the wall clock, since a job that is down cannot fail)",
                mtbf_larger=hand["mtbf_h"],
            ),
            why=" Failures during recoveries make the difference." if off else "",
            **hand,
        ),
    )


def parts(parts: pd.DataFrame, n_gpus: int) -> Finding:
    """What takes the time at scale; columns as from ``tables.parts_by_size``."""
    size = min(float(n_gpus), float(parts["n_gpus"].max()))
    there = tables.losses_near(parts, size)
    names, shares = [*there.index, "nothing", "nothing"], [*there, math.nan, math.nan]
    values = {
        "size": size,
        "first": names[0],
        "first_share": shares[0],
        "second": names[1],
        "second_share": shares[1],
        "recovery": tables.share_of_recovery(there),
    }
    return Finding(
        title=say("On {size:gpus2} {first} is the largest loss", "Nothing is lost at any size", **values),
        text=say(
            "On {size:gpus2} {first} takes {first_share:share0} of the time and {second} {second_share:share0}. "
            "Checkpointing more often cuts rework, not the time to come back: that is {recovery:share0} of the losses "
            "there.",
            "Nothing fails, so nothing is lost to failures at any size.",
            **values,
        ),
    )


def needs(needs: list[Requirement], run: Scenario, ettr: float, target: float) -> Finding:
    """What a target would take at one size, and what it is worth; ``needs`` as from :func:`ettr.plan.requirements`."""
    where = {"n_gpus": run.cluster.n_gpus, "target": target}
    if ettr >= target:
        reached = say("{target:share0} is reached on {n_gpus:gpus} as it is", **where)
        return Finding(reached, f"{reached}.")
    able = [tables.field_name(one.field) for one in needs if one.value is not None and one.given > 0]
    rate = next((one for one in needs if one.field.startswith("failures.")), None)
    worth = tables.worth_of_target(run, ettr, target)
    alone = say(
        "The failure rate alone would do it, at {value:about} per 1,000 node-days instead of {given:about}, which is "
        "{times:about} times fewer.",
        value=rate.value if rate else None,
        given=rate.given if rate else None,
        times=rate.given / rate.value if rate and rate.value else None,
    )
    unable = [tables.field_name(one.field) for one in needs if one.value is None and one.given > 0]
    ideal = "its ideal" if len(unable) == 1 else "their ideals"
    never = f"{capital(listed(unable))} would not do it even at {ideal}." if unable else ""
    return Finding(
        title=say(
            "{able:list} alone can reach {target:share0} on {n_gpus:gpus}"
            if able
            else "Nothing alone reaches {target:share0} on {n_gpus:gpus}",
            able=[able[0].capitalize(), *able[1:]] if able else [],
            **where,
        ),
        text=say(
            "{target:share0} instead of {ettr:share0} on {n_gpus:gpus} would give back {h:about} hours and {usd:usd} a "
            "month, at {price} USD a GPU-hour{is_assumed}. {alone} {never}",
            ettr=ettr,
            price=f"{run.prices.usd_per_gpu_h:g}",
            is_assumed=", which is assumed" if run.cost is None else "",
            alone=alone,
            never=never,
            **where,
            **worth,
        ).strip(),
    )


def frontier(frame: pd.DataFrame, scenario: Scenario, target: float) -> Finding:
    """What pairs of rate and restart reach a target; ``frame`` as from ``tables.frontiers``."""
    if frame.empty:
        text = f"No restart time and no failure rate reach {pct(target, 0)}"
        return Finding(title=text, text=f"{text} at any size shown: other losses are larger.")
    fastest = tables.rates_at(frame, frame["restart_min"].min())
    own = tables.rates_at(frame, scenario.recovery.restart_min)
    steepest = frame.loc[frame["n_gpus"].idxmax(), ["n_gpus", "rate"]]
    text = say(
        "The run has {rate:about} failures per 1,000 node-days. With a restart of {least_h:roughly} {target:share0} "
        "would allow {fastest:list}.",
        rate=scenario.failure_rate,
        least_h=frame["restart_min"].min() / 60,
        target=target,
        fastest=_rates(fastest),
    )
    text += say(
        " With its own of {own_h:roughly} it allows {own:list}.",
        own_h=scenario.recovery.restart_min / 60,
        own=_rates(own) or None,
    )
    return Finding(
        title=say(
            "On {n_gpus:gpus} a faster restart alone allows at most {rate:about} failures per 1,000 node-days",
            **steepest,
        ),
        text=f"{text} Where a line stands upright a faster restart gains nothing. Failures per node have to fall as "
        f"the job grows.",
    )


def _rates(by_size: dict[float, float]) -> list[str]:
    return [say("{rate:about} on {n_gpus:gpus}", rate=rate, n_gpus=n_gpus) for n_gpus, rate in by_size.items()]


def _doubled(ettr: float | None) -> str:
    """What twice the size leaves, and why."""
    if ettr is not None and ettr < _MOST_LOST:
        return say("{ettr:share0}. Losses of most of the time no longer grow in proportion.", ettr=ettr)
    return say(
        "{ettr:share0}. Recovery takes twice the share that it took, stalls and rework 1.4 times theirs.",
        "There is no answer: the run would make no progress.",
        ettr=ettr,
    )


_MOST_LOST = 0.5


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
            _doubled(float(doubled.iloc[0]) if len(doubled) else None),
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
    each = [say("{run} had {realised:share0}, where {modelled:share0} is modelled", **row) for row in _rows(runs)]
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


def _rows(runs: pd.DataFrame) -> list[dict[str, object]]:
    return [{str(name): value for name, value in row.items()} for row in runs.to_dict("records")]
