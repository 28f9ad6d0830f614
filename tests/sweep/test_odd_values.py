"""Values that break tables, pages and files elsewhere: as parameters, as recorded names and values, in errors."""

from __future__ import annotations

import csv
import io
import json
import math
import re

import pandas as pd
import pytest

from ettr import sweep
from ettr.cli import terminal
from ettr.core.errors import InputError
from ettr.files.spreadsheet import csv_text
from notebooks import written

LONG = "x" * 10**6
TEXTS = {
    "line separator": "a\u2028b\u2029c",
    "NUL": "a\x00b",
    "controls": "\x1b[2J\x07\x7f\x85",
    "markup": "</td><script>alert(1)</script>&amp;\"'",
    "formula": "=HYPERLINK(1)",
    "minus": "-1+1",
    "tab": "\t@x\r\ny",
    "emoji": "\U0001f600e\u0301",
    "empty": "",
    "long": LONG,
}
HALVES = {"half": "a\ud800b", "broken name of a file": "caf\udce9.csv"}
NUMBERS = {
    "infinite": math.inf,
    "minus infinite": -math.inf,
    "none": math.nan,
    "huge": 10**400,
    "list": [math.inf, math.nan],
}
RECORDED = {**TEXTS, **HALVES, **NUMBERS}


@pytest.fixture(scope="module")
def swept(tmp_path_factory, cluster):
    """A point for each odd value: recorded beside a good number, and half of them fail with it."""
    folder = tmp_path_factory.mktemp("odd")
    values = folder / "values.json"
    values.write_text(json.dumps(list(RECORDED.values())))
    path = written(
        folder / "study.ipynb",
        f"import ettr, json\nvalue = json.load(open({str(values)!r}))[n]",
        "name = value if isinstance(value, str) else 'number'",
        "ettr.record(value=value, good=n, **{name[:50] + str(n): 1.0})\nettr.record(single=value) if n >= 12 else None",
        "print(value); value",
        "assert not fails, value",
        parameters="n = 0  # whole\nfails = False",
    )
    grid = {"n": {"from": 0, "to": len(RECORDED) - 1, "step": 1}, "fails": [False, True]}
    job = sweep.NotebookJob(path, sweep.load(grid, 100))
    return job, sweep.run_job(job, folder / "out", scheduler=cluster), folder / "out"


def escaped(value):
    return value.encode("utf-8", "backslashreplace").decode() if isinstance(value, str) else value


def test_values_come_back_and_half_a_character_as_its_escape(swept):
    _, table, _ = swept
    for row, (name, value) in zip(table[~table["fails"]].to_dict("records"), RECORDED.items(), strict=True):
        assert row["status"] == "done", (name, row["error"][:200])
        assert repr(row["value"]) == repr(escaped(value)), name
    failed = table[table["fails"]]
    assert set(failed["status"]) == {"failed"}
    assert failed["error"].str.contains("AssertionError").all()
    assert table["good"].tolist() == table["n"].tolist()  # of failed points too, and beside them


def test_the_table_reads_back(swept):
    _, table, out = swept
    read = pd.read_parquet(out / "results.parquet")
    assert list(read.columns) == list(table.columns) and read["error"].tolist() == table["error"].tolist()
    kept = [json.loads(text) for text in read["value"]]  # of mixed kinds, so as JSON
    assert repr(kept) == repr(table["value"].tolist())


def test_the_page_is_short_and_holds_nothing_that_a_browser_stumbles_over(swept):
    job, table, out = swept
    page = sweep.report.write(job, table, out).read_text(encoding="utf-8")
    assert len(page) < 3_000_000 and "<script" not in page and "xxxx…" in page
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029]", page)
    assert page.count("<tr class=") == len(table)


def test_as_csv_no_cell_is_a_formula(swept):
    _, table, _ = swept
    before = csv.field_size_limit(2 * len(LONG))
    rows = list(csv.reader(io.StringIO(csv_text(table.drop(columns="error")), newline="")))
    csv.field_size_limit(before)
    assert len(rows) == len(table) + 1
    assert {"'=HYPERLINK(1)", "'-1+1", "'\t@x\ny"} < {cell for row in rows for cell in row}
    assert not any(cell[:1] in "=@\t\r" for row in rows for cell in row if cell)
    csv_text(table).encode("utf-8")


def test_as_json_and_in_the_terminal(swept, capsys):
    _, table, _ = swept
    terminal.write_json("sweep", {"failures": table})
    assert len(json.loads(capsys.readouterr().out)["failures"]) == len(table)


def test_a_parameter_may_be_any_text(tmp_path, cluster):
    study = written(
        tmp_path / "a.ipynb",
        "import ettr\nettr.record(x=x, text=word)",
        parameters='word = "a"  # text\nx = 0  # whole',
    )
    grid = {"word": list(TEXTS.values()), "x": [1, 2]}
    table = sweep.run(study, grid, tmp_path / "out", scheduler=cluster)
    assert set(table["status"]) == {"done"} and table["word"].tolist() == table["text"].tolist()
    assert table["word"].tolist() == [text for text in TEXTS.values() for _ in range(2)]
    assert pd.read_parquet(tmp_path / "out" / "results.parquet")["text"].tolist() == table["text"].tolist()
    for name, text in TEXTS.items():
        pair = [text, f"{text}!"]
        job = sweep.NotebookJob(study, sweep.load({**grid, "word": pair}, 100))
        rows = table[table["word"] == text]
        page = sweep.report.page(job, pd.concat([rows, rows.assign(word=pair[1])]))
        assert page.count("<img") == 1 and len(page) < 300_000, name
        assert not re.search("[\x00-\x08\u2028\ud800-\udfff]", page), name


@pytest.mark.parametrize("value", [*HALVES.values(), math.nan, math.inf], ids=ascii)
def test_a_parameter_that_no_file_can_hold_is_refused_before_anything_runs(value, study, tmp_path):
    name = "word" if isinstance(value, str) else "x"
    with pytest.raises(InputError, match=rf"{name}(\.0)? must be"):
        sweep.run(study, {name: [value]}, tmp_path / "out")
    with pytest.raises(InputError, match=r"cluster\.gpu must consist of|finite"):
        sweep.call("budget", {"cluster.gpu": [value]}, tmp_path / "out", scenario="rsc-1")
    assert not (tmp_path / "out").exists()


def test_infinite_numbers_are_left_out_of_charts(swept, tmp_path):
    job, table, _ = swept
    odd = table.assign(value=[math.inf if n % 2 else float(n) for n in table["n"]], single=-math.inf)
    frame, _, _ = sweep.report.small_multiples(odd, ["n", "fails"], "value")
    assert frame["mean"].map(math.isfinite).all() and len(frame) == sum(n % 2 == 0 for n in range(len(RECORDED)))
    assert "single: " not in sweep.report.page(job, odd)
