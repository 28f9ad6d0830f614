"""HTML report of a sweep in a single file: failures, charts of the recorded values, and a table of all points."""

from __future__ import annotations

import base64
import hashlib
import html
import itertools
import json
import math
import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ettr.core import durable, sentences
from ettr.core.errors import EttrError
from ettr.core.sentences import count, duration, number
from ettr.notebook import RESERVED, rendering
from ettr.sweep.jobs import SweepJob
from ettr.sweep.panels import MOST_GROUPS, panel

NAME = "report.html"
MOST_PANELS = 24
MOST_ROWS = 2_000
LONGEST = 80
LONGEST_ERROR = 500
"""Most characters of a value, and of an error, on the page."""
_ROUNDING = 1e-12
"""Relative range that counts as rounding."""
_UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufffe\uffff]")
"""Characters that are not valid in HTML or SVG."""


def write(job: SweepJob, table: pd.DataFrame, out: str | os.PathLike[str]) -> Path:
    """Write ``report.html`` to the folder of a sweep.

    Parameters
    ----------
    job : SweepJob
        Job of the sweep.
    table : DataFrame
        Table as from :func:`ettr.sweep.run`.
    out : path
        Folder of the sweep.

    Returns
    -------
    Path
        Report, a single file without scripts that works offline.

    Examples
    --------
    >>> import tempfile
    >>> from ettr import sweep
    >>> job = sweep.CallJob("budget", "llama3-405b", sweep.load({"cluster.n_gpus": [8192, 16384]}, most_points=10))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     report = write(job, sweep.run_job(job, folder), folder)
    ...     report.name, "2 points: 2 done" in report.read_text(encoding="utf-8")
    ('report.html', True)
    """
    path = Path(out) / NAME
    try:
        durable.write(path, page(job, table))
    except OSError as error:
        raise EttrError(f"cannot write {path}: {error.strerror or error}") from error
    return path


def page(job: SweepJob, table: pd.DataFrame) -> str:
    """Return the report as HTML."""
    parameters = job.columns
    recorded = [name for name in table.columns if name not in (*RESERVED, *parameters)]
    order = np.argsort(table["status"].map({"failed": 0, "open": 1, "done": 2}), kind="stable")
    title = f"Sweep of {job.what}"
    fixed = [name for name in parameters if len(set(table[name].map(_exact))) == 1]
    values = ", ".join(f"{name} = {_exact(table[name].iloc[0])}" for name in fixed)
    body = [
        f"<h1>{html.escape(title)}</h1>",
        f"<p>{html.escape(counts_sentence(table))}{f' Fixed: {html.escape(values)}.' if values else ''}</p>",
        *_panels(table, [name for name in parameters if name not in fixed], recorded),
        "<h2>Points</h2>",
        *_rows(table.iloc[order], [*(["name"] if "name" in table else []), *parameters], recorded),
    ]
    return _UNPRINTABLE.sub("\ufffd", _PAGE.format(title=html.escape(title), style=_STYLE, body="\n".join(body)))


def small_multiples(table: pd.DataFrame, varying: list[str], name: str) -> tuple[pd.DataFrame, str, str]:
    """Return a recorded value over the parameter with the most values, grouped by another, averaged over the rest.

    Returns
    -------
    DataFrame, str, str
        ``x``, ``group``, ``mean``, ``low``, ``high``; and the names of the two parameters (the second is empty without
        a group).
    """
    done = table[(table["status"] == "done") & _is_finite(table[name])]
    kinds = {p: _are_numbers(done[p]) for p in varying}
    sizes = {p: done[p].map(_exact).nunique() for p in varying}
    across = max(varying, key=lambda p: (kinds[p], sizes[p]))
    fitting = [p for p in varying if p != across and sizes[p] <= MOST_GROUPS]
    group = max(fitting, key=lambda p: sizes[p], default="")
    frame = pd.DataFrame(
        {
            "x": pd.to_numeric(done[across]) if kinds[across] else done[across].map(_exact),
            "group": done[group].map(_exact) if group else "",
            "value": done[name].astype(float),
        }
    )
    grouped = frame.groupby(["group", "x"], sort=False)["value"].agg(mean="mean", low="min", high="max").reset_index()
    if kinds[across]:
        grouped = grouped.sort_values(["x"], kind="stable")
    return grouped, across, group


def spread_title(name: str, values: pd.Series) -> str:
    """Return the range of a recorded value, as the title of its chart.

    Examples
    --------
    >>> spread_title("ettr", pd.Series([0.91, 0.07, 0.7]))
    'ettr: 0.07 to 0.91'
    """
    low, high = float(values.min()), float(values.max())
    if high - low <= _ROUNDING * max(abs(low), abs(high)):
        return f"{name}: {number(low)} at all points"
    return f"{name}: {number(low)} to {number(high)}"


def counts_sentence(table: pd.DataFrame) -> str:
    """Return a sentence with the number of points, failures and the total run time.

    Examples
    --------
    >>> counts_sentence(pd.DataFrame({"status": ["done", "failed"], "duration_s": [1800.0, 1800.0]}))
    '2 points: 1 done, 1 failed. Total run time: 1 h.'
    """
    states = table["status"].value_counts()
    numbers = [f"{count(states[name])} {name}" for name in ("done", "failed", "open") if name in states]
    taken = duration(float(table["duration_s"].sum()) / 3600)
    return f"{count(len(table))} point{'' if len(table) == 1 else 's'}: {', '.join(numbers)}. Total run time: {taken}."


def _panels(table: pd.DataFrame, varying: list[str], recorded: list[str]) -> list[str]:
    """Chart of each recorded number, unless no parameter varies or no recorded value is a number."""
    names = [
        name
        for name in recorded
        if _is_number(table[name]) and _is_finite(table.loc[table["status"] == "done", name]).any()
    ]
    if not varying or not names:
        return []
    figures = []
    for name in names[:MOST_PANELS]:
        frame, across, group = small_multiples(table, varying, name)
        rest = [p for p in varying if p not in (across, group)]
        spread = f"line: mean over {', '.join(rest)}; shade: their range" if rest else ""
        title = spread_title(_printable(name), frame["mean"])
        chart = panel(frame, across, group, title, spread)
        spec = chart.to_dict()
        picture = base64.b64encode(rendering.svg(spec).encode()).decode()
        alt = html.escape(spec["description"], quote=True)
        figures.append(f'<img alt="{alt}" src="data:image/svg+xml;base64,{picture}">')
    left = len(names) - MOST_PANELS
    more = [f"<p>{left} more recorded values are in the table.</p>"] if left > 0 else []
    return ["<h2>Recorded values</h2>", f'<div class="panels">{"".join(figures)}</div>', *more]


def _rows(table: pd.DataFrame, parameters: list[str], recorded: list[str]) -> list[str]:
    """Table of the points, with a link to the file of each."""
    heads = ["point", *parameters, "status", "seconds", *recorded]
    cells = "".join(f"<th scope=col>{html.escape(_printable(head))}</th>" for head in heads)
    rows = []
    for row in itertools.islice(table.to_dict("records"), MOST_ROWS):
        link = html.escape(row["id"])
        if row["notebook"]:
            link = f'<a href="{html.escape(row["notebook"], quote=True)}">{link}</a>'
        state = row["status"] if not row["error"] else f"{row['status']}: {_printable(row['error'], LONGEST_ERROR)}"
        values = [
            *(_exact(row[name]) for name in parameters),
            state,
            _text(row["duration_s"]),
            *(_text(row[n]) for n in recorded),
        ]
        data = "".join(f"<td>{html.escape(value)}</td>" for value in values)
        rows.append(f'<tr class="{row["status"]}"><td>{link}</td>{data}</tr>')
    left = len(table) - MOST_ROWS
    more = [f"<p>{left:,} more points are in results.parquet.</p>"] if left > 0 else []
    return [
        f'<div class="wide" tabindex="0"><table><thead><tr>{cells}</tr></thead><tbody>',
        *rows,
        "</tbody></table></div>",
        *more,
    ]


def _is_number(values: pd.Series) -> bool:
    """True for a column of numbers."""
    return pd.api.types.is_numeric_dtype(values) and not pd.api.types.is_bool_dtype(values)


def _are_numbers(values: pd.Series) -> bool:
    """True for values that a numeric axis can show."""
    try:
        return bool(pd.to_numeric(values, errors="coerce").notna().all() and values.map(type).ne(bool).all())
    except OverflowError:  # an integer beyond the range of floats
        return False


def _is_finite(values: pd.Series) -> pd.Series:
    """Which values are finite."""
    return values.notna() & ~values.isin([math.inf, -math.inf])


def _printable(text: str, longest: int = LONGEST) -> str:
    """Text for the page, shortened and without invalid characters."""
    return _UNPRINTABLE.sub("\ufffd", sentences.cut(text, longest))


def _exact(value: Any) -> str:
    """Text of a parameter value, different for different values."""
    if isinstance(value, float):
        return repr(float(value)).removesuffix(".0")
    text = value if isinstance(value, str) else json.dumps(value, default=str)
    if len(text) <= LONGEST:
        return _text(value)
    return f"{_text(value)} ({len(text):,} characters, {hashlib.sha256(text.encode()).hexdigest()[:8]})"


def _text(value: Any) -> str:
    """Text of a value for the table."""
    if isinstance(value, float):
        return "" if np.isnan(value) else f"{value:.6g}"
    if isinstance(value, str):
        return _printable(value)
    if value is None or value is pd.NA:
        return ""
    if isinstance(value, list | np.ndarray) and len(value) > 4:
        return f"{len(value)} values: {_text(value[0])} … {_text(value[-1])}"
    if isinstance(value, list | dict | np.ndarray):
        text = json.dumps(value.tolist() if isinstance(value, np.ndarray) else value, default=str)
        return _printable(text)
    return _printable(str(value))


_STYLE = """
:root { color-scheme: light dark; --line: #8886; --bad: #b3261e; }
@media (prefers-color-scheme: dark) { :root { --bad: #ff9a92; } }
body { font: 16px/1.5 system-ui, sans-serif; margin: 0 auto; max-width: 72rem; padding: 1rem; }
h1 { font-size: 1.5rem; overflow-wrap: anywhere; }
h2 { font-size: 1.15rem; margin-top: 2rem; }
.panels { display: grid; gap: 1rem; grid-template-columns: repeat(auto-fill, minmax(min(100%, 20rem), 1fr)); }
.panels img { background: #fff; border-radius: 4px; width: 100%; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: .875rem; font-variant-numeric: tabular-nums; }
th, td { border-bottom: 1px solid var(--line); padding: .3rem .7rem; text-align: left; white-space: nowrap; }
.failed, .failed td { color: var(--bad); white-space: normal; min-width: 5rem; }
"""

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<main>
{body}
</main>
</body>
</html>
"""
