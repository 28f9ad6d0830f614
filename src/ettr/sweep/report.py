"""One page about a sweep, in one file: every point with what it recorded, failed ones first."""

from __future__ import annotations

import html
import json
import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ettr.core import durable, sentences
from ettr.core.errors import EttrError
from ettr.notebook import RESERVED
from ettr.sweep.jobs import SweepJob

NAME = "report.html"
MOST_ROWS = 2_000
LONGEST = 80
LONGEST_ERROR = 500
"""Signs of a value, and of an error, that the page shows."""
_UNSHOWN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufffe\uffff]")
"""What has no place in a page."""


def write(job: SweepJob, table: pd.DataFrame, out: str | os.PathLike[str]) -> Path:
    """Write ``report.html`` beside the table of a sweep.

    Parameters
    ----------
    job : SweepJob
        What was swept.
    table : DataFrame
        As :func:`ettr.sweep.run` returns it.
    out : path
        Folder of the sweep.

    Returns
    -------
    Path
        The page: one file without scripts that needs no network.
    """
    path = Path(out) / NAME
    try:
        durable.write(path, page(job, table))
    except OSError as error:
        raise EttrError(f"cannot write {path}: {error.strerror or error}") from error
    return path


def page(job: SweepJob, table: pd.DataFrame) -> str:
    """The page as HTML."""
    parameters = job.columns
    recorded = [name for name in table.columns if name not in (*RESERVED, *parameters)]
    order = np.argsort(table["status"].map({"failed": 0, "open": 1, "done": 2}), kind="stable")
    title = f"Sweep of {job.what}"
    given, left = [*(["name"] if "name" in table else []), *parameters], len(table) - MOST_ROWS
    body = [
        f"<h1>{html.escape(title)}</h1>",
        f'<div class="wide" tabindex="0">{_rows(table.iloc[order[:MOST_ROWS]], given, recorded)}</div>',
        f"<p>{left:,} more points are in results.parquet.</p>" if left > 0 else "",
    ]
    return _UNSHOWN.sub("\ufffd", _PAGE.format(title=html.escape(title), style=_STYLE, body="\n".join(body)))


def _rows(table: pd.DataFrame, given: list[str], recorded: list[str]) -> str:
    """The table, with a link to the file of each point."""
    links = table["id"].map(html.escape)
    there = table["notebook"] != ""
    links[there] = '<a href="' + table["notebook"].map(html.escape) + '">' + links + "</a>"
    states = (table["status"] + ": " + table["error"].map(lambda text: _shown(text, LONGEST_ERROR))).str.rstrip(": ")
    columns = [
        *(table[name].map(_text) for name in given),
        states.rename("status"),
        table["duration_s"].map(_text).rename("seconds"),
        *(table[name].map(_text) for name in recorded),
    ]
    escaped = [column.map(html.escape).rename(html.escape(_shown(str(column.name)))) for column in columns]
    with pd.option_context("display.max_colwidth", None):
        text: str = pd.concat([links.rename("point"), *escaped], axis=1).to_html(index=False, escape=False, border=0)
    return text


def _shown(text: str, longest: int = LONGEST) -> str:
    """A text that fits into a page."""
    return _UNSHOWN.sub("\ufffd", sentences.cut(text, longest))


def _text(value: Any) -> str:
    if isinstance(value, float):
        return "" if np.isnan(value) else f"{value:.6g}"
    if isinstance(value, str):
        return _shown(value)
    if value is None or value is pd.NA:
        return ""
    if isinstance(value, list | dict | np.ndarray):
        text = json.dumps(value.tolist() if isinstance(value, np.ndarray) else value, default=str)
        return _shown(text)
    return _shown(str(value))


_STYLE = """
:root { color-scheme: light dark; --line: #8886; }
body { font: 16px/1.5 system-ui, sans-serif; margin: 0 auto; max-width: 72rem; padding: 1rem; }
h1 { font-size: 1.5rem; overflow-wrap: anywhere; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: .875rem; font-variant-numeric: tabular-nums; }
th, td { border-bottom: 1px solid var(--line); padding: .3rem .7rem; text-align: left; }
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
