"""Sentences on tiers below the store, on the store, on warnings and on what is found late."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from ettr.core.sentences import Finding, count, listed, pct, points, roughly, say
from ettr_book.chapters.checkpoint_tiers.prediction_tables import alarm_threshold_h
from ettr_book.chapters.checkpoint_tiers.tables import AS_IT_IS, INSTEAD, OWN, STORE, store_only
from ettr_book.chapters.common.exercises import Exercise, exercises

if TYPE_CHECKING:
    from ettr.scenario import Scenario

_LEAST_POINTS = 5e-4
"""Smaller differences of ETTR are nothing to speak of."""
_HALF = 0.5


def answer(rungs: pd.DataFrame, scenario: Scenario) -> Finding:
    """What all tiers together buy; columns as from ``tables.ladder``."""
    each = _each(rungs)
    first = each[each["rung"] != AS_IT_IS].iloc[0]
    best = each.loc[each["ettr"].idxmax()]
    gain = best["ettr"] - first["ettr"]
    if gain < _LEAST_POINTS:
        title = "Faster tiers gain nothing here"
        bought = f"**{title}: the store alone leaves {pct(first['ettr'])}.**"
    else:
        title = f"{_capital(_named(best['rung']))} gain {points(gain)} of ETTR"
        bought = say(
            "**{best} would gain {#tiers_gain:points} of ETTR{mostly}.**{stacked}",
            best=_capital(_named(best["rung"])),
            tiers_gain=gain,
            mostly=_mostly_peer(each, gain) if best["rung"].startswith("+ ") else "",
            stacked=_stacked(each, first["ettr"]) if best["rung"].endswith(INSTEAD) else "",
        )
    text = f"{bought} {_step(each)} {_left(rungs, best['rung'])} What tiers cost is published, what of a failure they "
    text += f"survive is mostly assumed.{_set_aside(scenario)}"
    return Finding(title=title, text=text)


def _mostly_peer(each: pd.DataFrame, gain: float) -> str:
    """Whether most of what stacked tiers gain is that of one of them."""
    steps = each.set_index("rung")["ettr"].diff()
    return ", most of it by peer memory" if steps.get("+ peer memory", 0.0) > gain / 2 > 0 else ""


def _stacked(each: pd.DataFrame, store: float) -> str:
    """What the tiers gain that would be used in the place of the best one."""
    tiers = each[each["rung"].str.startswith("+ ")]
    if tiers.empty:
        return ""
    top = tiers.loc[tiers["ettr"].idxmax()]
    gain = top["ettr"] - store
    return say(
        " {tiers}, used instead, would gain {gain:points}{mostly}.",
        tiers=_capital(_named(top["rung"])),
        gain=gain,
        mostly=_mostly_peer(each, gain),
    )


def _step(each: pd.DataFrame) -> str:
    """From the ETTR of all other pages to that of the store alone."""
    by_rung = each.set_index("rung")["ettr"]
    return say(
        "The run as it is has {#ettr:share0}. Without planned stops, at the best interval, the store alone leaves "
        "{store:share0}; the tiers are counted from there.",
        ettr=by_rung.get(AS_IT_IS),
        store=by_rung.get(STORE),
    )


def _set_aside(scenario: Scenario) -> str:
    """What the scenario has and no closed form combines with tiers."""
    names = {
        "its announced failures": scenario.prediction is not None,
        "the latency of its silent failures": bool(scenario.latencies_h),
        "the slowdown by its background write": scenario.checkpoint.persist_slowdown * scenario.persist_h > 0,
    }
    there = [name for name, has in names.items() if has]
    return f" Set aside, because no closed form holds them together with tiers: {listed(there)}." if there else ""


def _left(rungs: pd.DataFrame, rung: str) -> str:
    lost = rungs[(rungs["rung"] == rung) & rungs["part"].isin(["detection", "queue", "restart"])]["share"].sum()
    return f"Then {pct(lost)} still goes into detection, queue and restart, which no checkpoint saves."


def _named(rung: str) -> str:
    """A rung as the subject of a sentence."""
    if rung.startswith("+ "):
        return f"tiers up to {rung.removeprefix('+ ')}"
    return "its own tiers" if rung == OWN else f"{rung.removesuffix(INSTEAD).lower().replace(' ', '-')} checkpoints"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def ladder(rungs: pd.DataFrame) -> Finding:
    """What each tier adds; columns as from ``tables.ladder``."""
    each = _each(rungs)
    steps = each.assign(gain=each["ettr"].diff())[each["rung"].str.startswith("+")]
    if steps.empty:
        return Finding("Only the store alone has an answer", f"No set of tiers has an answer here. {_store(each)}")
    gains = [f"{row.rung.removeprefix('+ ')} ({_change(row.gain)})" for row in steps.itertuples()]
    largest = steps.loc[steps["gain"].idxmax()]
    title = "No tier gains anything here"
    if largest["gain"] >= _LEAST_POINTS:
        title = f"The largest step is {largest['rung'].removeprefix('+ ')}: {points(largest['gain'])}"
    return Finding(title=title, text=f"One after the other: {listed(gains)}. {_store(each)} {_reverse(each)}")


def _change(gain: float) -> str:
    return f"{'+' if gain > 0 else '-'}{points(abs(gain))}" if abs(gain) >= _LEAST_POINTS else "next to nothing"


def _store(each: pd.DataFrame) -> str:
    """How the best interval of the store grows."""
    climbing = each[each["rung"].str.startswith("+") | (each["rung"] == STORE)]
    first, last = climbing.iloc[0], climbing.iloc[-1]
    if len(climbing) < 2 or last["interval_min"] < 1.05 * first["interval_min"]:
        return f"The store's best interval is {roughly(first['interval_min'] / 60)}."
    return (
        f"The store's own best interval grows from {roughly(first['interval_min'] / 60)} to "
        f"{roughly(last['interval_min'] / 60)}, since few failures still need it."
    )


def _reverse(each: pd.DataFrame) -> str:
    """The condition that the first step rests on."""
    host = each[each["rung"] == "+ host memory"]
    if host.empty:
        return "It would be otherwise if failures left less of the memory than is taken here."
    kept = 1 - host["from_store"].iloc[0]
    if kept < _LEAST_POINTS:
        return (
            "Every failure is taken to cost the memory of a node: a run that knows better would gain from host memory."
        )
    return (
        f"{pct(kept, 0)} of failures are taken to leave all memory alone; peer memory would fall back to what host "
        f"memory gives if losing one node often took its copies along."
    )


def _each(rungs: pd.DataFrame) -> pd.DataFrame:
    return rungs.drop_duplicates("rung", ignore_index=True)


_ADDS_UP = 0.3
"""Lost share up to which losses nearly add up."""


def by_hand(rungs: pd.DataFrame, scenario: Scenario) -> Finding:
    """What a copy in memory saves, in three lines."""
    if scenario.job_rate_per_h == 0 or scenario.stall_h == 0:
        return Finding("By hand", "Without failures, or without a stall, there is nothing to save.")
    each = _each(rungs).set_index("rung")["ettr"]
    mttf_min, stall_min = scenario.job_mttf_h * 60, scenario.stall_h * 60
    lost, load_min = (2 * stall_min / mttf_min) ** 0.5, store_only(scenario).load_h * 60
    shares = [round(share, 4) for share in (lost, load_min / mttf_min)]  # as they are shown, so that they add up
    both = sum(shares)
    return Finding(
        "By hand",
        say(
            "- Stalls and rework at the best interval take √(2 × {stall_min:about} / {mttf_min:about}) = {lost:.2%} "
            "of the time. A copy in memory, taken every few seconds, makes both nearly nothing.\n"
            "- Loading from the store takes {load_min:about} min after each failure: {load_min:about} / "
            "{mttf_min:about} = {load:.2%}. From memory it takes seconds.\n"
            "- {so}.\n\n",
            stall_min=stall_min,
            mttf_min=mttf_min,
            lost=shares[0],
            load_min=load_min,
            load=shares[1],
            so=say(
                "So tiers can save {lost:.2%} + {load:.2%} = {both:.2%}, and no more",
                lost=shares[0],
                load=shares[1],
                both=both,
            )
            if both < _ADDS_UP
            else "Losses as large as these do not add up: tiers save less than the sum",
        )
        + say("The exact form says {gain:points}.", gain=each.max() - each.get(STORE, each.min())),
    )


def by_bandwidth(scenario: Scenario, crossings: pd.DataFrame, published: pd.DataFrame, n_bytes: float) -> Finding:
    """When the write to the store sets the interval.

    Parameters
    ----------
    scenario : Scenario
        The run.
    crossings : DataFrame
        As from ``tables.bandwidth_crossings``.
    published : DataFrame
        As from ``tables.published_stores``.
    n_bytes : float
        Size of a checkpoint. [B]
    """
    slowest = published.loc[published["write_gb_s"].idxmin()]
    written = say(
        "A checkpoint of {tb:about} TB, of the model that this page is given, takes {write_h:roughly} at "
        "{write_gb_s:about} GB/s ({store}).",
        tb=n_bytes / 1e12,
        write_h=slowest["write_s"] / 3600,
        **slowest[["write_gb_s", "store"]],
    )
    if scenario.job_rate_per_h == 0:
        return Finding(title="Without failures no store sets the interval", text=f"{written} There are no failures.")
    own, short = (crossings[crossings["stall"] == stall] for stall in ("own", "published"))
    return Finding(
        title=say("Below {crossing_gb_s:about} GB/s the store sets the interval", **own.iloc[0]),
        text=say(
            "{written} The write sets the best interval below {own}. With a stall of {stall_s:about} s, as ByteDance "
            "published for a model of this size, that is {short}: the better the stall is hidden, the more bandwidth "
            "pays. What the job gets of a shared store counts, not what the store can do.",
            written=written,
            own=_bends(own),
            short=_bends(short),
            stall_s=short["stall_s"].iloc[0],
        ),
    )


def _bends(crossings: pd.DataFrame) -> str:
    each = [say("{crossing_gb_s:about} GB/s on {n_gpus:gpus}", **row) for row in crossings.to_dict("records")]
    return listed(each)


def announced(curves: pd.DataFrame, action_s: float, lead_s: float) -> Finding:
    """What announcements are worth.

    Parameters
    ----------
    curves : DataFrame
        As from ``prediction_tables.announced``.
    action_s, lead_s : float
        Length of the answer to an alarm, and time from the alarm to the failure. [s]
    """
    if lead_s < action_s:
        return Finding(
            title="The announcements come too late to act on",
            text=say("An announcement {lead:about} s ahead leaves no time for a checkpoint of {action:about} s: it "
                     "changes nothing.", lead=lead_s, action=action_s),
        )  # fmt: skip
    without = curves.loc[curves["recall"] == 0, "ettr"].iloc[0]
    half = curves[curves["recall"] == _HALF].set_index("precision")["ettr"].sort_index() - without
    gains = [f"{_gain(gain)} if {pct(precision, 0)} of them do" for precision, gain in half.items()]
    gains[0] = gains[0].replace("them do", "the alarms come true")
    best = float(half.max())
    title = f"Announcing half of the failures gains up to {points(best)}"
    return Finding(
        title=title if best >= _LEAST_POINTS else "Announcing half of the failures gains next to nothing",
        text=say(
            "Announcing half of the failures gains {gains:list}. An alarm costs {action_h:roughly} until a checkpoint "
            "is durable, so at {precision:share0} it is worth that once {at_risk_h:roughly} of training are at risk. "
            "No source says what share of failures is announced.",
            gains=gains,
            action_h=action_s / 3600,
            precision=float(half.index[-1]),
            at_risk_h=alarm_threshold_h(action_s, float(half.index[-1])),
        ),
    )


def _gain(gain: float) -> str:
    return points(gain) if gain >= _LEAST_POINTS else "next to nothing"


def found_late(frame: pd.DataFrame, share: float, whose: str, latency_h: float, n_kept: int) -> Finding:
    """What a late finding costs.

    Parameters
    ----------
    frame : DataFrame
        As from ``prediction_tables.found_late``.
    share, whose : float, str
        As from ``prediction_tables.silent_share``.
    latency_h : float
        From the corruption to its discovery. [h]
    n_kept : int
        As from ``prediction_tables.checkpoints_to_hold``.
    """
    at = frame[frame["latency_h"] == latency_h].set_index("which")["lost_points"] / 100
    if frame["lost_points"].max() == 0:
        return Finding(title="Without failures nothing is found late", text="There are no failures to be found late.")
    day = frame[frame["which"] == "share"].set_index("latency_h")["lost_points"] / 100
    longer = day[day.index >= 24.0]
    values = {"latency": latency_h, "part": at.get("share"), "share": share, "whose": whose, "n": n_kept}
    return Finding(
        title=say(
            "Corruption found after {latency:roughly} costs {part:points}",
            "Corruption found after {latency:roughly} costs more than first order can say",
            **values,
        ),
        text=say(
            "{share:share} of failures are silent, as {whose} counts them. Found {latency:roughly} after they struck "
            "(assumed), they cost {part:points}; ",
            "Silent failures that are found {latency:roughly} after they struck throw all of that away; ",
            **values,
        )
        + say("after {late:roughly}, {lost:points}. ", "twice the latency costs twice as much. ",
              late=longer.index[0] if len(longer) else None, lost=longer.iloc[0] if len(longer) else None)
        + say("No checkpoint interval changes that: only an earlier discovery does, and {n} old checkpoints have to be "
              "kept to have a clean one.", n=count(n_kept)),
    )  # fmt: skip


def asked(scenario: Scenario, n_bytes: float, crossings: pd.DataFrame) -> Finding:
    """Two exercises."""
    own = crossings[crossings["stall"] == "own"].iloc[0]
    return exercises(
        Exercise(
            say("A checkpoint of {tb:about} TB must be written within {interval:roughly}. How fast must the store be?",
                tb=n_bytes / 1e12, interval=own["interval_min"] / 60),
            say("{tb:about} TB / {s:about} s = {gb_s:about} GB/s. Below that the write sets the interval.",
                tb=n_bytes / 1e12, s=own["interval_min"] * 60, gb_s=own["crossing_gb_s"]),
        ),
        Exercise(
            "The stall falls to a tenth. What happens to the best interval, and to the bandwidth that pays?",
            "The interval falls to a third, as the root of a tenth, and three times the bandwidth pays.",
            {"checkpoint.stall_s": (scenario.checkpoint.stall_s or 10.0) / 10},
            "checkpoint_interval.html",
        ),
    )  # fmt: skip
