"""A report reads alike in a terminal and in a notebook, and every answer has one."""

from __future__ import annotations

import dataclasses
import functools
import html
import inspect
import re
from pathlib import Path

import numpy as np
import pytest

import ettr
from ettr import Scenario, budget, failures, logs, plan, power, simulate, sizing, telemetry
from ettr.cli import terminal
from ettr.core.report import Answer, Headline, Note, Table, as_html, one_line

REPORT = [
    Headline("Llama <3>"),
    Note("What [bold]failed[/bold] & when", dim=True),
    Headline("Hours", apart=True),
    Table(("part", "hours", "unit"), [("rework", "33.4", "h"), ("total", "1,281.6", "h")], words=("unit",), total=True),
]
LOG = Path(__file__).parents[2] / "data" / "glm130b_events.csv"


# --------------------------------------------------------------------------- one report, two renderers


def test_a_report_in_a_terminal(capsys):
    terminal.render(REPORT, {"cluster.n_gpus": 8})
    assert capsys.readouterr().out.splitlines() == [
        "Llama <3>",
        "  cluster.n_gpus = 8",
        "What [bold]failed[/bold] & when",
        "",
        "Hours",
        "part      hours  unit",
        "rework     33.4  h   ",
        "total   1,281.6  h   ",
    ]


def test_the_same_report_in_a_notebook():
    page = as_html(REPORT)
    assert page.count("<table>") == page.count("</table>") == 1 and page.count("<tr>") == 3
    assert "<p><strong>Llama &lt;3&gt;</strong></p>" in page and "[bold]failed[/bold] &amp; when" in page
    words = " ".join(html.unescape(re.sub(r"<[^>]+>", " ", page)).split())
    assert words == ("Llama <3> What [bold]failed[/bold] & when Hours part hours unit rework 33.4 h total 1,281.6 h")


def test_a_line_is_cut_where_it_would_be_long():
    line = one_line(object(), f"a log\nwith {'a long name ' * 20}")
    assert len(line) < 120 and "\n" not in line and line.startswith("object(a log with a long") and line.endswith("…)")


# --------------------------------------------------------------------------- every answer


def public_classes() -> dict[str, type]:
    """The classes that the rooms of the package name."""
    rooms = [getattr(ettr, name) for name in ettr.__all__ if inspect.ismodule(getattr(ettr, name))]
    named = {f"{room.__name__}.{name}": getattr(room, name) for room in (ettr, *rooms) for name in room.__all__}
    return {name: value for name, value in named.items() if inspect.isclass(value)}


@pytest.mark.parametrize(
    "name",
    [name for name, cls in public_classes().items() if hasattr(cls, "to_dict") and cls is not ettr.drill.Settings],
)
def test_what_has_values_for_machines_has_a_report_for_people(name):
    answer = public_classes()[name]
    assert issubclass(answer, Answer)
    assert not inspect.isabstract(answer)
    assert answer.__repr__ is Answer.__repr__ and answer._repr_html_ is Answer._repr_html_


@functools.cache
def fitted():
    columns = {"start": "time", "cause": "kind"}
    window = "2022-05-06T04:00+08:00/2022-06-29T21:53+08:00"
    return failures.fit(logs.read(LOG, n_nodes=96, window=window, columns=columns, planned="start|planned"))


RUN = Scenario.load("llama3-405b")
ANSWERS = {
    "Scenario": lambda: RUN,
    "Plan": lambda: plan.make(RUN),
    "Requirement": lambda: plan.required(RUN, "recovery.restart_min", 0.9),
    "TimeBudget": lambda: budget.exact(RUN),
    "ClosedForm": lambda: budget.closed_form(RUN.override({"recovery.false_alarms_per_day": 1})),
    "FailureLog": lambda: fitted().log,
    "Fit": fitted,
    "Sizing": lambda: sizing.make(Scenario.load("llama3-405b-tokens")),
    "Simulation": lambda: simulate(RUN, 20),
    "Metrics": lambda: power.metrics(power.PowerSeries(0.0, 0.5, np.array([10.0, 10.0, 4.0, 4.0]))),
    "Telemetry": lambda: telemetry.simulate(ettr.Gpu.load("h100"), telemetry.schedule(minutes=10), step_s=1.0),
}
WITHOUT_TABLE = ("Telemetry",)


@pytest.mark.parametrize("name", ANSWERS)
def test_an_answer_is_one_line_and_a_page(name):
    answer = ANSWERS[name]()
    line, page = repr(answer), answer._repr_html_()
    assert line.startswith(f"{name.split()[0]}(") and len(line) < 120 and "\n" not in line
    assert re.search(r"\d", line) and not re.search(r"\bnan\b|\binf\b|None", line)
    assert ("<table>" in page) == (name not in WITHOUT_TABLE)
    assert not re.search(r"<(?!/?(p|strong|table|caption|thead|tbody|tr|th|td)\b)", page)


def test_names_from_outside_are_escaped_in_a_page():
    odd = dataclasses.replace(fitted().log, source="<script>alert(1)</script>")
    assert "<script" not in odd._repr_html_() and "&lt;script&gt;" in odd._repr_html_()
