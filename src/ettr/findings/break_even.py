"""What the chapter on single mitigations says of where they pay: by size, by failure rate and by price."""

from __future__ import annotations

import math

import pandas as pd

from ettr.compare.break_even import NO_FIT, NO_PROGRESS, PAYS
from ettr.findings.mitigations import small
from ettr.findings.words import Finding, count, gpus, listed, number, pct


def by_size(frame: pd.DataFrame) -> Finding:
    """Where mitigations pay by size; ``frame`` as from :func:`ettr.curves.worth_by_size`."""
    if frame.empty:
        return Finding(title="No mitigation to look at", text="No mitigation saves time for certain here.")
    stuck = sorted(set(frame.loc[(frame["state"] == NO_PROGRESS) & frame["ettr_before"].isna(), "value"]))
    unfit = sorted(set(frame.loc[(frame["state"] == NO_FIT) & frame["ettr_before"].isna(), "value"]))
    known = frame[frame["saved"].notna()]
    told = []
    if len(known):
        paying = known[known["state"] == PAYS]
        among = known if paying.empty else paying
        leaders = among.loc[among.groupby("value")["saved"].idxmax()].sort_values("value")
        least, most = leaders.iloc[0], leaders.iloc[-1]
        where = "" if paying.empty else ", where they pay"
        small_job, large_job = (f"{pct(one['saved'])} of it on {gpus(one['value'])}" for one in (least, most))
        if least["title"] == most["title"]:
            by = f"{small(least['title'])}: {small_job}, {large_job}"
        else:
            by = f"{small(least['title'])}, {small_job}, and by {small(most['title'])}, {large_job}"
        told.append(f"Of these {count(frame['title'].nunique())}{where}, most time is saved by {by}.")
        never = [str(name) for name, group in known.groupby("title", sort=False) if not (group["state"] == PAYS).any()]
        if never:
            told.append(f"Paying for itself at no size: {listed([small(name) for name in never])}.")
        least_gpus = known["value"].min()
        lose = known.loc[(known["value"] == least_gpus) & (known["state"] != PAYS), "title"]
        few = [small(name) for name in lose if name not in never]
        if few:
            told.append(f"Not paying on {gpus(least_gpus)}, where there is less to save: {listed(few)}.")
    if stuck:
        told.append(
            f"On {listed([gpus(size) for size in stuck])} the job practically never gets on without mitigations, so "
            f"that none can be compared with it alone."
        )
    if unfit:
        told.append(f"The job cannot be cut for {listed([gpus(size) for size in unfit])}.")
    told.append(
        "Failure rate of a node, times to restart and prices of people stay as they are at every size, which is an "
        "extrapolation above some ten thousand GPUs."
    )
    title = "What pays depends on the size"
    if len(known) and len(set(leaders["title"])) == 1:
        title = f"Most is saved by the same at every size: {leaders['title'].iloc[0]}"
    elif len(known):
        title = f"Most on {gpus(least['value'])}: {least['title']}; on {gpus(most['value'])}: {most['title']}"
    return Finding(title=title, text=" ".join(told))


def break_evens(frame: pd.DataFrame) -> Finding:
    """From where on mitigations pay; ``frame`` as from :func:`ettr.curves.break_even_values`."""
    if frame.empty:
        return Finding(title="No break-even to look for", text="No mitigation saves time for certain here.")
    given = float(frame["given_usd_per_gpu_h"].iloc[0])
    below = frame[frame["usd_per_gpu_h"] <= given]
    dear = frame[frame["usd_per_gpu_h"] > given].sort_values("usd_per_gpu_h")
    told = [f"At the scenario's {number(given)} USD for a GPU-hour {count(len(below))} of {count(len(frame))} pay."]
    if len(dear):
        least = dear.iloc[0]
        told.append(f"Of the others {small(least['title'])} comes next, from {number(least['usd_per_gpu_h'])} USD on.")
    everywhere = frame[frame["rate_pays"] == "everywhere"]
    if len(everywhere):
        told.append(f"{count(len(everywhere))} pay at every failure rate that was tried.")
    return Finding(
        title=f"{count(len(below))} of {count(len(frame))} pay at {number(given)} USD for a GPU-hour",
        text=" ".join(told),
    )


def break_even_cells(frame: pd.DataFrame) -> pd.DataFrame:
    """Break-even values as a table shows them."""
    rates = [_limit(row.rate_pays, row.rate, number) for row in frame.itertuples()]
    return pd.DataFrame(
        {
            "Mitigation": frame["title"],
            "Pays from [GPUs]": [_limit(row.size_pays, row.n_gpus, gpus) for row in frame.itertuples()],
            "Pays from [failures per 1000 node-days]": rates,
            "Pays from [USD/(GPU h)]": [_price(value) for value in frame["usd_per_gpu_h"]],
        }
    )


def _limit(pays: str, value: float, words: object) -> str:
    assert callable(words)
    return f"{words(value)}" if pays == "from there on" else str(pays)


def _price(value: float) -> str:
    if math.isnan(value):
        return "at no price"
    return "any" if value == 0 else number(value)
