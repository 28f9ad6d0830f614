"""Logs whose truth is known, written the way people's logs are: five rules of failure, two formats, many mishaps.

Shares no code with the package.
"""

from __future__ import annotations

import gzip
import json
import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from simulated_logs import simulate_log

N_NODES, DAYS = 200, 200.0
BEGIN = pd.Timestamp("2025-01-01")

GENERATORS: dict[str, dict[str, float]] = {
    "steady": {},
    "bursty": {"burst_mean": 3.0},
    "lemons": {"lemon_share": 0.02, "lemon_factor": 15.0},
    "repeats": {"repeat_probability": 0.3},
    "trend": {"trend_beta": 1.5},
}
"""Rules of failure, as ``simulate_log`` takes them."""

Row = dict[str, Any]


@dataclass
class Hostile:
    """A file with what it really says.

    Attributes
    ----------
    rows : list of dict
        Records, in the order of the file.
    columns : list of str
        Of a table.
    options : dict
        What the user gives beside the number of nodes.
    truth : Counter
        Failures of each node; of "" where the file names none.
    text : callable or None
        From the written text to what is on disk.
    suffix : str
        Of the file's name.
    doubtful : bool
        Whether the file cannot be taken at its word, so that the right count alone is not enough.
    """

    rows: list[Row]
    columns: list[str]
    truth: Counter[str]
    options: dict[str, Any] = field(default_factory=lambda: {"zone": "UTC"})
    text: Callable[[str], bytes | str] | None = None
    suffix: str = ""
    doubtful: bool = False


def truth_log(generator: str, seed: int = 0) -> Hostile:
    """A log as its rule draws it, in order of time, every failure with its end."""
    drawn = simulate_log(seed, N_NODES, DAYS, 4.0, **GENERATORS[generator])
    # failures of one node that overlap in one second are nobody's to tell apart
    drawn["start"] = (BEGIN + pd.to_timedelta(drawn["start_h"], "h")).dt.floor("s")
    drawn["end"] = (BEGIN + pd.to_timedelta(drawn["end_h"].fillna(drawn["start_h"] + 1), "h")).dt.ceil("s")
    drawn = drawn.sort_values(["node", "start"])
    later = drawn.groupby("node")["start"].shift(-1)
    drawn["end"] = drawn["end"].where(~(later <= drawn["end"]), later - pd.Timedelta(seconds=1))
    drawn = drawn[drawn["end"] > drawn["start"]].sort_values("start")
    rows = [
        {
            "opened_at": f"{failure.start:%Y-%m-%d %H:%M:%S}",
            "closed_at": f"{failure.end:%Y-%m-%d %H:%M:%S}",
            "host": f"gpu-{failure.node:03d}",
            "component": failure.component,
            "cause": failure.cause,
        }
        for failure in drawn.itertuples()
    ]
    return Hostile(rows, list(rows[0]), Counter(row["host"] for row in rows))


def as_table(log: Hostile, delimiter: str = ",") -> str:
    """An outage a row."""
    lines = [log.columns, *([str(row.get(name, "")) for name in log.columns] for row in log.rows)]
    return "\n".join(delimiter.join(cells) for cells in lines) + "\n"


def as_json(log: Hostile) -> str:
    """An array of objects, an outage each."""
    return json.dumps([{name: row.get(name) for name in log.columns} for row in log.rows], indent=0)


def halves(log: Hostile, down: str, up: str, column: str = "status") -> Hostile:
    """The same log as a table of states: a row when a node goes down, and one when it is up again."""
    rows = []
    for row in log.rows:
        rest = {"host": row["host"], "component": row["component"]}
        rows.append({"time": row["opened_at"], column: down, **rest})
        rows.append({"time": row["closed_at"], column: up, **rest})
    rows.sort(key=lambda row: row["time"])
    return replace(log, rows=rows, columns=["time", "host", "component", column])


PAIRS = (
    *(("down", "up"), ("NotReady", "Ready"), ("CRITICAL", "OK"), ("alarm", "clear"), ("offline", "online")),
    *(("failed", "recovered"), ("DRAIN", "RESUME"), ("firing", "resolved"), ("red", "green"), ("broken", "fixed")),
)
"""Words for down and for up that people use."""


# --------------------------------------------------------------------------- mishaps


def _each(log: Hostile, change: Callable[[int, Row], Row | None]) -> Hostile:
    rows = [new for i, row in enumerate(log.rows) if (new := change(i, dict(row))) is not None]
    return replace(log, rows=rows)


def _more(log: Hostile, rows: list[Row], columns: list[str] | None = None) -> Hostile:
    key = log.columns[0]
    return replace(log, rows=sorted([*log.rows, *rows], key=lambda row: str(row[key])), columns=columns or log.columns)


def _add(log: Hostile, column: str, value: Callable[[int], str]) -> Hostile:
    log = _each(log, lambda i, row: row | {column: value(i)})
    return replace(log, columns=[*log.columns, column])


def _at(day: float) -> str:
    return f"{(BEGIN + pd.Timedelta(days=day)).floor('s'):%Y-%m-%d %H:%M:%S}"


def states(log: Hostile) -> Hostile:
    return halves(log, "NotReady", "Ready")


def gauge(log: Hostile) -> Hostile:
    return halves(log, "0", "1", "up")


def severities(log: Hostile) -> Hostile:
    """Twice as many lines that only inform."""
    log = _add(log, "severity", lambda i: ("CRITICAL", "error", "fatal")[i % 3])
    talk = [row | {"severity": word} for row in log.rows for word in ("INFO", "Warning")]
    talk = [row | {"cause": f"{row['severity']} {i}"} for i, row in enumerate(talk)]
    return _more(log, talk)


def priorities(log: Hostile) -> Hostile:
    """An order of severity that nobody can know."""
    log = _add(log, "severity", lambda i: "7")
    return _more(log, [row | {"severity": "3", "cause": f"{i}"} for i, row in enumerate(log.rows)])


def jobs(log: Hostile) -> Hostile:
    """Jobs of one node that ran for an hour until it failed; as many ended well."""

    def job(row: Row, state: str) -> Row:
        end = pd.Timestamp(row["opened_at"])
        start = f"{end - pd.Timedelta(hours=1):%Y-%m-%d %H:%M:%S}"
        return {"start_time": start, "end_time": row["opened_at"], "host": row["host"], "state": state}

    fine = [job(row | {"host": "gpu-000"}, state) for row in log.rows for state in ("COMPLETED", "CANCELLED by 7")]
    rows = [*(job(row, "node_fail") for row in log.rows), *fine]
    rows.sort(key=lambda row: row["start_time"])
    return replace(log, rows=rows, columns=["start_time", "end_time", "host", "state"])


def planned(log: Hostile) -> Hostile:
    extra = [row | {"cause": "firmware upgrade"} for row in log.rows[::2]]
    log = _more(log, [row | {"closed_at": row["opened_at"]} for row in extra])
    return replace(log, options=log.options | {"planned": "upgrade"})


def one_year_wrong(log: Hostile) -> Hostile:
    return _each(log, lambda i, row: row | ({"opened_at": "1999" + row["opened_at"][4:]} if i == 9 else {}))


def last_year(log: Hostile) -> Hostile:
    def change(i: int, row: Row) -> Row:
        return row | ({"opened_at": "2024" + row["opened_at"][4:]} if i == 9 else {})

    return replace(_each(log, change), doubtful=True)


def swapped_with_nodes(log: Hostile) -> Hostile:
    return replace(log, options=log.options | {"columns": {"start": "host", "node": "opened_at"}})


def ids_for_times(log: Hostile) -> Hostile:
    log = _add(log, "id", lambda i: str(i + 1))
    return replace(log, options={"columns": {"start": "id", "node": "host"}, "n_nodes": 5000})


def swapped_ends(log: Hostile) -> Hostile:
    return _each(log, lambda i, row: row | {"opened_at": row["closed_at"], "closed_at": row["opened_at"]})


def total_row(log: Hostile) -> Hostile:
    last = {"opened_at": "Total", "closed_at": len(log.rows)}
    return replace(log, rows=[*log.rows, last])


def twice(log: Hostile) -> Hostile:
    return replace(log, rows=[*log.rows, *log.rows])


def alike_but_for_the_rack(log: Hostile) -> Hostile:
    """Machines that fail together, told apart only by a column that is no node."""
    log = _each(log, lambda i, row: {k: v for k, v in row.items() if k != "host"} | {"rack": f"r{i % 7}"})
    log = replace(log, columns=["opened_at", "closed_at", "component", "cause", "rack"])
    log = _more(log, [row | {"rack": f"{row['rack']}b"} for row in log.rows[::3]])
    return replace(log, truth=Counter({"": len(log.rows)}))


def placeholders(log: Hostile) -> Hostile:
    words = ("unknown", "N/A", "-", "none", "TBD", "")
    log = _each(log, lambda i, row: row | ({"host": words[i // 4 % 6]} if i % 4 == 0 else {}))
    with_host = Counter(row["host"] for i, row in enumerate(log.rows) if i % 4)
    return replace(log, truth=with_host + Counter({"": len(log.rows[::4])}))


def two_systems(log: Hostile) -> Hostile:
    """Node 0 of one system is not node 0 of the other."""
    log = _add(log, "system", lambda i: "AB"[i % 2])
    log = _each(log, lambda i, row: row | {"host": row["host"][4:]})
    truth = Counter(f"{row['system']}/{row['host']}" for row in log.rows)
    return replace(log, truth=truth, options=log.options | {"split": "system"})


def two_systems_not_said(log: Hostile) -> Hostile:
    return replace(two_systems(log), options=log.options)


def imported_on_one_day(log: Hostile) -> Hostile:
    """A tracker that was filled by hand at the end: most rows are of its last day."""
    last = log.rows[-1]["opened_at"][:11]

    def change(i: int, row: Row) -> Row:
        at = f"{last}{i % 20:02d}:{i % 60:02d}:{i * 7 % 60:02d}"
        return row | ({"opened_at": at, "closed_at": ""} if i % 4 else {})

    return replace(_each(log, change), doubtful=True)


def imported_in_one_second(log: Hostile) -> Hostile:
    return _each(log, lambda i, row: row | ({"opened_at": _at(90), "closed_at": ""} if i % 4 else {}))


def half_lost(log: Hostile) -> Hostile:
    return _each(log, lambda i, row: row | ({"opened_at": "5-Apr"} if i % 5 < 2 else {}))


RECORDS: dict[str, Callable[[Hostile], Hostile]] = {
    "as it is": lambda log: log,
    "states NotReady, Ready": states,
    "gauge up = 0, 1": gauge,
    "severities, most only inform": severities,
    "severities without a known order": priorities,
    "jobs: node_fail, COMPLETED, CANCELLED": jobs,
    "planned work among them": planned,
    "one year mistyped, 1999": one_year_wrong,
    "one year mistyped, the last": last_year,
    "start and node swapped": swapped_with_nodes,
    "row numbers taken for times": ids_for_times,
    "start and end swapped": swapped_ends,
    "a total at the end": total_row,
    "the whole file twice": twice,
    "alike but for the rack": alike_but_for_the_rack,
    "placeholders for nodes": placeholders,
    "two systems, one numbering": two_systems,
    "two systems, not said": two_systems_not_said,
    "three quarters on the last day": imported_on_one_day,
    "three quarters at one second": imported_in_one_second,
    "dates cut by a spreadsheet": half_lost,
}
"""Mishaps of records, in either format."""


def _text(change: Callable[[str], bytes | str], suffix: str = "", **options: Any) -> Callable[[Hostile], Hostile]:
    return lambda log: replace(log, text=change, suffix=suffix, options=log.options | options)


def _some_lines(text: str, change: Callable[[int, str], str]) -> str:
    header, *lines = text.splitlines()
    return "\n".join([header, *(change(i, line) for i, line in enumerate(lines))]) + "\n"


def _accents(log: Hostile) -> Hostile:
    """Two names that differ in one letter, in bytes that are not UTF-8."""

    def change(i: int, row: Row) -> Row:
        return row | {"host": row["host"] + "éè"[i % 2]}

    log = _each(log, change)
    truth = Counter(row["host"] for row in log.rows)
    return replace(log, truth=truth, text=lambda text: text.encode("latin-1"))


TEXTS: dict[str, Callable[[Hostile], Hostile]] = {
    "comments": _text(lambda text: "# exported by hand\n" + _some_lines(text, lambda i, line: line + "\n# checked")),
    "most rows broken": _text(lambda t: _some_lines(t, lambda i, s: s.split(",")[2] if i % 5 < 2 else s)),
    "letters that are not UTF-8": _accents,
    "carriage returns, byte order mark, blank lines": _text(
        lambda text: b"\xef\xbb\xbf" + text.replace("\n", "\r\n\r\n").encode()
    ),
    "everything quoted": _text(lambda t: "\n".join('"' + s.replace(",", '","') + '"' for s in t.splitlines())),
    "cut short, packed": _text(lambda text: gzip.compress(text.encode())[:-600], ".gz"),
    "cut in the middle of a line": _text(lambda text: text[: len(text) * 2 // 3 - 11]),
    "a paragraph before the header": _text(lambda text: "Failures of hall 3\nprinted in July\n\n" + text),
}
"""Mishaps of the text of a table."""

JSON_TEXTS: dict[str, Callable[[Hostile], Hostile]] = {
    "NaN for what is missing": _text(lambda text: text.replace('"Software"', "NaN")),
    "one object a line": _text(lambda t: "\n".join(json.dumps(row) for row in json.loads(t))),
    "a broken line among objects": _text(
        lambda t: "\n".join(
            line for i, row in enumerate(json.loads(t)) for line in ([json.dumps(row)] + ["{oops"] * (i == 20))
        )
    ),
    "cut in the middle of a line": _text(lambda text: text[: len(text) * 2 // 3 - 11]),
    "nested in an object": _text(lambda text: '{"version": 2, "data": {"faults": ' + text + "}}"),
}
"""Mishaps of the text of JSON."""


def variants() -> dict[tuple[str, str], Callable[[Hostile], tuple[Hostile, str]]]:
    """By mishap and format (``csv`` or ``events``): from a true log to a hostile one and its text."""
    made: dict[tuple[str, str], Callable[[Hostile], tuple[Hostile, str]]] = {}
    writers = {"csv": as_table, "events": as_json}
    for kind, mishaps in (("csv", RECORDS | TEXTS), ("events", RECORDS | JSON_TEXTS)):
        for name, mishap in mishaps.items():

            def make(log: Hostile, mishap: Any = mishap, write: Any = writers[kind]) -> tuple[Hostile, str]:
                hostile = mishap(log)
                return hostile, write(hostile)

            made[name, kind] = make
    return made


# --------------------------------------------------------------------------- outcomes

TRUTH, REFUSED, SAID, WRONG = "truth", "refused", "said", "WRONG"


def outcome(hostile: Hostile, text: str, kind: str, folder: Path) -> tuple[str, str]:
    """What came of reading it: the truth, a refusal, a warning in the headline, or something wrong in silence."""
    from ettr import logs
    from ettr.core.errors import EttrError

    path = folder / f"log.{'csv' if kind == 'csv' else 'json'}{hostile.suffix}"
    content = hostile.text(text) if hostile.text else text
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    try:
        log = logs.read(path, **{"n_nodes": N_NODES, **hostile.options})
    except EttrError as error:
        return REFUSED, str(error)
    counts = log.failures["node"].astype(object).where(log.failures["node"].notna(), "").value_counts()
    # one row that a mishap destroys, and is counted, is no error
    n_true, days = sum(hostile.truth.values()), log.window_h / 24
    fits = _distance(counts, hostile.truth) <= max(1, 0.01 * n_true) and math.isclose(days, DAYS, rel_tol=0.1)
    warnings = " | ".join(log.doubts)
    detail = f"{len(log.failures)} of {n_true} failures, {len(counts)} of {len(hostile.truth)} nodes, {days:.0f} d"
    if fits and not hostile.doubtful:
        return TRUTH, detail
    return (SAID, warnings) if warnings else (WRONG, detail)


def _distance(counts: pd.Series, truth: Counter[str]) -> float:
    """Return the number of failures at other nodes, whatever their names."""
    ours, theirs = (np.sort([*values])[::-1] for values in (counts, truth.values()))
    n = max(len(ours), len(theirs))
    return float(np.abs(np.pad(ours, (0, n - len(ours))) - np.pad(theirs, (0, n - len(theirs)))).sum())
