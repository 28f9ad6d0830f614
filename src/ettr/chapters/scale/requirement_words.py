"""What is said of the values that a target needs, at several sizes."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd

from ettr.chapters.common.sentences import Finding, count, duration, gpus, limit, listed, number, pct
from ettr.scenario import Scenario

_NAMES = {
    "failures.rate_per_1000_node_days": "the failure rate",
    "checkpoint.stall_s": "the checkpoint stall",
    "checkpoint.persist_s": "the background write",
    "checkpoint.persist_slowdown": "the slowdown by the write",
    "checkpoint.load_s": "loading from the store",
    "recovery.detection_min": "the detection time",
    "recovery.queue_min": "the queue time",
    "recovery.restart_min": "the restart time",
    "maintenance.per_day": "the maintenance stops",
    "maintenance.duration_min": "the length of a maintenance stop",
    "prediction.recall": "the recall of predictions",
    "prediction.precision": "the precision of predictions",
    "prediction.lead_s": "the lead of predictions",
    "prediction.action_s": "the action on a prediction",
    "checkpoint.store.n_parameters": "the parameters of the model",
    "checkpoint.store.bytes_per_parameter": "the bytes a parameter",
    "checkpoint.store.changed_share": "the share written anew",
    "checkpoint.store.compression_ratio": "the compression",
    "checkpoint.store.write_gb_s": "the store's write bandwidth",
    "checkpoint.store.read_gb_s": "the store's read bandwidth",
    "checkpoint.store.node_gb_s": "a node's bandwidth",
}
_OF_TIER = {
    "stall_s": "stall",
    "write_s": "write",
    "load_s": "load",
    "survives": "survival",
    "interval_s": "interval",
}


def field_name(path: str) -> str:
    """A field as a sentence calls it."""
    if path.startswith("checkpoint.tiers."):
        tier, _, last = path.removeprefix("checkpoint.tiers.").rpartition(".")
        return f"the {_OF_TIER[last]} of {tier}"
    return _NAMES[path]


def cells(frame: pd.DataFrame) -> pd.DataFrame:
    """The table of required values in words.

    Parameters
    ----------
    frame : DataFrame
        As from ``requirement_tables.required_by_size``.

    Returns
    -------
    DataFrame
        ``field``, ``given``, and a column a size: the value that just reaches the target; ``any`` where each does;
        where none does, the ETTR that is reached with the field at its ideal, and with which other ideal as well.
    """
    sizes = list(dict.fromkeys(frame["n_gpus"]))
    rows = []
    for _, of_field in frame.groupby("field", sort=False):
        first = of_field.iloc[0]
        name = field_name(first["field"]).removeprefix("the ")
        unit = f" [{first['unit']}]" if first["unit"] and "node-days" not in first["unit"] else ""
        row = {"field": f"{name[0].upper()}{name[1:]}{unit}", "given": _number(first["given"])}
        by_size = of_field.set_index("n_gpus")
        rows.append(row | {gpus(size): _cell(by_size.loc[size]) if size in by_size.index else "" for size in sizes})
    return pd.DataFrame(rows, columns=["field", "given", *(gpus(size) for size in sizes)])


def _number(value: float) -> str:
    return "by mode" if math.isnan(value) else number(value)


def _cell(row: pd.Series) -> str:
    if math.isinf(row["value"]):
        return "any"
    if not math.isnan(row["value"]):
        return f"{row['sense']} {limit(row['value'], row['sense'])}"
    alone = f"none: {pct(row['best_ettr'])} at best"
    if not row["blocker"]:
        return alone
    also = "enough" if row["blocked_ettr"] >= row["target"] else f"{pct(row['blocked_ettr'])}"
    return f"{alone}; with {field_name(row['blocker'])} ideal too {also}"


def answer(frame: pd.DataFrame, target: float) -> Finding:
    """Which fields could reach a target alone; ``frame`` as from ``requirement_tables.required_by_size``."""
    said = [_of_size(int(size), rows, target) for size, rows in frame.groupby("n_gpus")]
    if not said:
        return Finding(title="Nothing to solve for", text="The scenario loses nothing that a field could give back.")
    ends = frame[frame["n_gpus"] == frame["n_gpus"].max()]
    able = [field_name(field) for field in ends.loc[ends["value"].notna(), "field"]]
    largest = gpus(ends["n_gpus"].iloc[0])
    alone = f"only {listed(able)} can do it alone" if able else "no field can do it alone"
    if len(able) == len(ends):
        alone = "every field can do it alone"
    return Finding(title=f"For {pct(target, 0)} on {largest} {alone}"[:118], text=" ".join(said))


def _of_size(n_gpus: int, rows: pd.DataFrame, target: float) -> str:
    """One sentence a size: reached already, or by which fields alone, or what stands in the way."""
    where, goal = f"On {gpus(n_gpus)}", pct(target, 0)
    reached = rows[rows["value"].notna()]
    worse = reached[~_reached_as_given(reached)]
    if len(reached) == len(rows) and worse.empty:
        return f"{where} {goal} is reached as it is."
    able = [
        f"{field_name(row.field)} {row.sense} {limit(row.value, row.sense)} (now {_number(row.given)})"
        for row in worse.itertuples()
    ]
    alone = f"no field reaches {goal} alone"
    if able:
        which = "one field alone reaches" if len(able) == 1 else "each of these reaches"
        alone = f"{which} {goal}: {'; '.join(able)}"
    failed = rows[rows["value"].isna() & (rows["blocker"] != "")]
    if failed.empty:
        return f"{where} {alone}."
    best = failed.loc[failed["best_ettr"].idxmax()]
    pair = failed.loc[failed["blocked_ettr"].idxmax()]
    two = f"{field_name(pair['field'])} and {field_name(pair['blocker'])}"
    both = "are enough" if pair["blocked_ettr"] >= target else "are not enough either"
    return (
        f"{where} {alone}. Of the others the most that one leaves is {pct(best['best_ettr'])}, with "
        f"{field_name(best['field'])} at its ideal; "
        f"{two} together {both}, at {pct(pair['blocked_ettr'])}."
    )


def _reached_as_given(rows: pd.DataFrame) -> pd.Series:
    costs = rows["sense"] == "at most"
    enough = np.where(costs, rows["given"] <= rows["value"], rows["given"] >= rows["value"])
    return pd.Series(enough, index=rows.index)


def frontier(frame: pd.DataFrame, scenario: Scenario, target: float) -> Finding:
    """What pairs of rate and restart reach a target; ``frame`` as from ``requirement_tables.frontiers``."""
    goal = pct(target, 0)
    if frame.empty:
        said = f"No restart time and no failure rate reach {goal}"
        return Finding(title=said, text=f"{said} at any size shown: other losses are larger.")
    own_min = scenario.recovery.restart_min
    sizes = [(n_gpus, line) for n_gpus, line in frame.groupby("n_gpus")]
    fastest = [f"{number(line.iloc[0]['rate'])} on {count(n_gpus)}" for n_gpus, line in sizes]
    told = f"With a restart of {duration(frame['restart_min'].min() / 60)} {goal} would allow {listed(fastest)} GPUs."
    within = [(n, line) for n, line in sizes if line["restart_min"].min() <= own_min <= line["restart_min"].max()]
    if within:
        own = [f"{number(_rate_at(line, own_min))} on {count(n_gpus)}" for n_gpus, line in within]
        told = f"{told} With the scenario's own of {duration(own_min / 60)} it allows {listed(own)}."
    steep = frame[frame["n_gpus"] == frame["n_gpus"].max()].iloc[0]
    most = f"{number(steep['rate'])} failures per 1000 node-days"
    return Finding(
        title=f"On {gpus(steep['n_gpus'])} even an instant restart allows {most}",
        text=(
            f"The scenario has {number(scenario.failures.rate)} failures per 1000 node-days. {told} Where a line "
            f"stands upright a faster restart gains nothing more, and the rest is lost to stalls, rework and "
            f"detection. Failures per node have to fall as the job grows."
        ),
    )


def _rate_at(line: pd.DataFrame, restart_min: float) -> float:
    return math.exp(np.interp(math.log(restart_min), np.log(line["restart_min"]), np.log(line["rate"])))


def published_stalls(results: pd.DataFrame) -> Finding:
    """What FT-HSDP reports of recovery at 100,000 GPUs; ``results`` as from :func:`ettr.validation.run`."""
    rows = results[results["model"] == "stall_ettr"]
    told = [
        f"{row.quantity}: reported {pct(row.published, 0)}, computed {pct(row.computed)}" for row in rows.itertuples()
    ]
    return Finding(
        title="A stall of minutes decides at 100,000 GPUs",
        text=(
            f"Such a run has been reported. {'; '.join(told)}. Computed is 1 less the stall over the time to "
            f"failure at the rate of RSC-1; replicas that are away while the others train are not in it."
        ),
    )
