"""What the command line shows: nothing of a log is taken for a command to the terminal."""

from __future__ import annotations

import io
import sys

import pytest

from ettr import terminal

NASTY = ["[bold]x[/bold]", "[/]", "[red", "a\\", "\\[b]", ":bug:", "[link=http://x]y[/link]", "[@click=f()]z"]


COLUMNS = {"n": "failures"}


def shown(rows: list[dict[str, str]], capsys, first: str = "component") -> str:
    terminal.console().print(terminal._table(first, COLUMNS, rows))
    return capsys.readouterr().out


@pytest.mark.parametrize("text", NASTY)
def test_a_name_is_shown_as_it_is_written(text, capsys):
    head, row = shown([{"name": text, "n": "3"}], capsys, text).splitlines()
    assert head.split() == [*text.split(), "failures"] and row.split() == [*text.split(), "3"]


@pytest.mark.parametrize("sign", ["\x1b", "\x07", "\r", "\x9b", "\u202e", "\u2028", "\udcff", "\x00"])
def test_a_sign_that_moves_the_terminal_becomes_a_question_mark(sign):
    assert terminal.printable(f"a{sign}b") == "a?b"
    assert terminal.printable("Grüße, 東京\nzwei") == "Grüße, 東京\nzwei"


def test_a_title_between_colons_is_no_picture(capsys):
    terminal.console().print("[bold]run :bug: 3[/bold]")
    assert capsys.readouterr().out == "run :bug: 3\n"


def test_a_long_name_is_folded_and_not_cut(capsys):
    name = "x" * 300
    out = shown([{"name": name, "n": "3"}], capsys)
    assert out.count("x") == 300 and "…" not in out
    assert max(map(len, out.splitlines())) <= 110


def test_a_table_is_as_wide_in_a_pipe_as_it_needs(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    assert terminal.console().width == 110
    row = {"name": "n" * 30, **dict.fromkeys("abc", "1" * 20)}
    terminal.console().print(terminal._table("component", {column: column * 20 for column in "abc"}, [row]))
    assert capsys.readouterr().out.splitlines()[1].split() == list(row.values())


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


def test_a_finding_has_no_signs_of_markdown_in_a_terminal():
    text = terminal._from_markdown(r"**a\_b shows \[x\] \*y\* \\ 3\|4.** C:\\d")
    assert text == "a_b shows [x] *y* \\ 3|4. C:\\d"
