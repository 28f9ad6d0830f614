"""What the command line shows: nothing of a log is taken for a command to the terminal."""

from __future__ import annotations

import io
import math
import re
import sys
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from ettr.cli import terminal
from ettr.core import sentences
from ettr.core.report import Table

NASTY = ["[bold]x[/bold]", "[/]", "[red", "a\\", "\\[b]", ":bug:", "[link=http://x]y[/link]", "[@click=f()]z"]


def printed(rows: list[tuple[str, str]], capsys, first: str = "component") -> str:
    terminal.render([Table((first, "failures"), rows)])
    return capsys.readouterr().out


@pytest.mark.parametrize("text", NASTY)
def test_a_name_is_shown_as_it_is_written(text, capsys):
    head, row = printed([(text, "3")], capsys, text).splitlines()
    assert head.split() == [*text.split(), "failures"] and row.split() == [*text.split(), "3"]


def test_a_long_name_is_folded_and_not_cut(capsys):
    name = "x" * 300
    out = printed([(name, "3")], capsys)
    assert out.count("x") == 300 and "…" not in out
    assert max(map(len, out.splitlines())) <= 110


def test_a_table_is_as_wide_in_a_pipe_as_it_needs(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    row = ["n" * 30, *["1" * 20] * 3]
    terminal.render([Table(("component", *(sign * 20 for sign in "abc")), [row])])
    assert capsys.readouterr().out.splitlines()[1].split() == row


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def working(quiet: bool) -> None:
    with terminal.progress(quiet) as report:
        report.bytes(5, 10)
        report.step("rates")


def test_progress_is_shown_on_standard_error_of_a_terminal(capsys, monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", seen := Terminal())
    working(quiet=False)
    assert "reading" in seen.getvalue() or "rates" in seen.getvalue()
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(("quiet", "stream"), [(True, Terminal), (False, io.StringIO)])
def test_no_progress_is_shown_if_it_is_not_wanted_or_nobody_looks(capsys, monkeypatch, quiet, stream):
    monkeypatch.setattr(sys, "stderr", seen := stream())
    working(quiet)
    assert seen.getvalue() == "" and capsys.readouterr().out == ""


@given(st.floats(1e-6, 1e14))
def test_a_figure_is_rounded_to_the_safe_side_by_at_most_a_hundredth(value):
    low, high = (float(sentences.limit(value, sense).replace(",", "")) for sense in ("at most", "at least"))
    assert value * 0.99 <= low <= value * (1 + 1e-11) and value * (1 - 1e-11) <= high <= value * 1.01


@pytest.mark.parametrize(
    ("value", "at_most", "at_least"),
    [
        (6.8263, "6.82", "6.83"),
        (0.5, "0.5", "0.5"),
        (0.3 * 3, "0.9", "0.9"),
        (1 - 1e-12, "0.999", "1"),
        (5.0, "5", "5"),
        (19_488.0, "19,488", "19,488"),
        (170.9, "170", "171"),
        (99.97, "99.9", "100"),
        (4.0512e11, "4.05e+11", "4.06e+11"),
        (0.000123456, "0.000123", "0.000124"),
        (math.inf, "any", "any"),
        (0.0, "0", "0"),
    ],
)
def test_figures(value, at_most, at_least):
    assert (sentences.limit(value, "at most"), sentences.limit(value, "at least")) == (at_most, at_least)


WIDE = Table(
    ("recommended", "saves per month", "", "total so far", "price (assumed)", "pays back in", "effect size"),
    [
        ("1. Just-in-time checkpointing", "51 h", "520,000 USD", "53 h", "150,000 USD", "8.7 days", "assumed"),
        (
            "2. Metric-based fault detection",
            "5.4 h",
            "56,000 USD",
            "72 h",
            "1.2 million USD",
            "82 days",
            "published in part",
        ),
    ],
    words=("effect size",),
    title="A table with seven columns",
)
FEW = Table(
    ("part", "hours", ""), [("lost work (recomputed)", "26 h", "270,000 USD"), ("total", "74 h", "")], total=True
)


@pytest.mark.parametrize("width", [60, 80, 120])
@pytest.mark.parametrize("table", [WIDE, FEW], ids=["seven columns", "three columns"])
def test_every_cell_is_shown_on_screens_of_any_width(capsys, monkeypatch, width, table):
    """No figure is cut or broken: each stands on one line, and names and words may go on in the next."""
    console = Console(width=width, force_terminal=True, color_system=None, highlight=False)
    monkeypatch.setattr(terminal, "_console", lambda: console)
    terminal.render([table])
    out = capsys.readouterr().out
    assert all(len(line) <= width for line in out.splitlines()) and "…" not in out
    words = Counter(re.findall(r"[^\s:,]+(?:,\d+)*", out))
    for row in [table.columns, *table.rows]:
        for i, cell in enumerate(row):
            assert all(words[word] for word in re.findall(r"[^\s:,]+(?:,\d+)*", cell)), cell
            assert table.is_left(i) or row is table.columns or cell in out
    as_blocks = any(line.startswith("    ") and ": " in line for line in out.splitlines())
    assert as_blocks == (width < 80 and table is WIDE)
