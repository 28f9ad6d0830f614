"""The command line on simulated runs: `ettr simulate`."""

from __future__ import annotations

import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from ettr import Scenario, budget, evidence, simulate
from ettr.core.results import PART_WORDS
from ettr.simulation.outcome import decimals

SPARES = ("--set", "spares={n_nodes: 1}", "--set", "repair={manual_h: 24}")
"""Far too few, so that the job waits."""


def rsc1(**sections):
    return Scenario.load("rsc-1").override(sections)


# --------------------------------------------------------------------------- answers


def test_simulate_answers_in_words(in_words):
    out = in_words("simulate", "rsc-1", "--runs", "300", "--seed", "7", "--set", "cluster.n_gpus=8000")
    simulated = simulate(run := rsc1(**{"cluster.n_gpus": 8000}), 300, 7)
    form, (low, high) = budget.exact(run), simulated.ettr_interval
    assert out.startswith(
        "RSC-1, one job on all 16,000 A100\n  cluster.n_gpus = 8000\n300 runs of rsc-1, seed 7. ETTR "
    )
    figures = re.search(r": ([\d.]+)% \(95% CI ([\d.]+)-([\d.]+)%\); analytical model: ([\d.]+)%\n", out)
    shares = [float(number) / 100 for number in figures.groups()]
    assert shares == pytest.approx(
        [simulated.ettr, low, high, form.ettr], abs=0.51e-2 * 10 ** -len(figures[1].split(".")[1])
    )
    assert "The analytical model (budget.exact) covers all mechanisms of this run.\n" in out
    assert f" {simulated.variance_ratio:.3g} times fewer runs" in out


ROW = re.compile(
    r"^(\w[\w ()]*?) {2,}(-?[\d,.]+) h +(± ([\d,.]+)|< [\d.]+) +(?:([\d.]+)% +)?([\d,.]+) h(?: +([\d.]+)%)? *$", re.M
)


def number(text: str) -> float:
    return float(text.replace(",", ""))


def test_the_time_budget_is_that_of_the_simulation_beside_that_of_the_form(in_words):
    out = in_words("simulate", "rsc-1", "--runs", "300")
    simulated, form = simulate(rsc1(), 300), budget.exact(rsc1()).to_dict()
    named = {words: part.removesuffix("_h") for part, words in PART_WORDS.items()}
    rows = {named.get(words, words): cells for words, *cells in ROW.findall(out)}
    means = simulated.budget_interval.set_index("part")
    occurring = [part for part in means.index if part != "n_failures" and means.loc[part, "mean"] > 0]
    assert list(rows) == occurring and {"productive", "rework", "restart", "total"} < set(rows)
    for part, (mean, _, half, share, expected, share_of_form) in rows.items():
        rounding = 0.51 * 10 ** -len(mean.split(".")[1])
        assert number(mean) == pytest.approx(means.loc[part, "mean"], abs=rounding)
        assert number(half or "0") == pytest.approx(1.96 * means.loc[part, "error"], abs=2 * rounding)
        assert number(expected) == pytest.approx(form[f"{part}_h"], abs=rounding)
        if part != "total":
            assert number(share) / 100 == pytest.approx(means.loc[part, "mean"] / simulated.budget.total_h, abs=5.1e-4)
            assert number(share_of_form) / 100 == pytest.approx(form[f"{part}_h"] / form["total_h"], abs=5.1e-4)


def test_simulate_answers_machines_with_the_same(as_json):
    record = as_json("simulate", "rsc-1", "--runs", "3e2", "--seed", "3", *SPARES)
    run = rsc1(spares={"n_nodes": 1}, repair={"manual_h": 24})
    left = budget.simplified(run)
    form = budget.exact(left.scenario)
    assert record.pop("changes") == {"spares": {"n_nodes": 1}, "repair": {"manual_h": 24}}
    assert record.pop("warnings") == []
    assert record.pop("closed_form") == {
        "formula": "budget.exact",
        "ettr": form.ettr,
        "left_out": list(left.left_out),
        "refusal": None,
        "budget": form.to_dict(),
    }
    assert record == simulate(run, 300, 3).to_dict()


@pytest.mark.parametrize(
    "name",
    ["llama3-405b", *(pytest.param(name, marks=pytest.mark.slow) for name in evidence.scenario_names())],
)
def test_every_preset_is_answered_within_a_narrow_terminal(ettr, monkeypatch, name):
    wide = ettr("simulate", name, "--runs", "30")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERM", "dumb")
    narrow = ettr("simulate", name, "--runs", "30")
    assert sorted(wide[1].split()) == sorted(narrow[1].split()) and wide[::2] == narrow[::2] == (0, "")
    assert not re.search(r"\b(nan|inf|None)\b|…", narrow[1])
    lines = narrow[1].splitlines()
    tables = lines[lines.index(next(line for line in lines if line.startswith("Finishing"))) :]
    assert max(len(line.rstrip()) for line in tables if "  " in line) <= 80


# --------------------------------------------------------------------------- beside the closed form


def test_what_the_closed_form_leaves_out_is_named_and_waits_are_told(in_words):
    out = in_words("simulate", "rsc-1", "--runs", "100", *SPARES)
    assert "The analytical model leaves out:\n  spares that run out (spares, repair)\n" in out
    simulated = simulate(rsc1(spares={"n_nodes": 1}, repair={"manual_h": 24}), 100)
    waits, hours = re.search(
        r"^Waits for nodes: ([\d.]+) per run, ([\d,.]+) h \(part of queueing\)$", out, re.M
    ).groups()
    assert number(waits) == pytest.approx(simulated.runs["n_waits"].mean(), rel=0.005)
    assert number(hours) == pytest.approx(simulated.runs["waiting_h"].mean(), rel=0.005)
    assert simulated.runs["n_waits"].mean() > 1
    held = re.search(r"^Hot spares: ([\d,.]+) GPU-hours$", out, re.M)
    assert number(held[1]) == pytest.approx(8 * simulated.budget.total_h, rel=0.005)


def test_where_the_closed_form_has_no_answer_that_is_said(in_words, as_json):
    """Requests for maintenance come faster than checkpoints at which they could be served."""
    command = ("simulate", "rsc-1", "--runs", "30", "--set", "maintenance={per_day: 40, duration_min: 60}")
    out = in_words(*command)
    assert "analytical model:" not in out and re.search(r"^part +mean +95% CI +share *$", out, re.M)
    assert "The analytical model does not cover this run: budget.exact holds only for maintenance so rare that " in out
    closed_form = as_json(*command)["closed_form"]
    assert closed_form["ettr"] is None and closed_form["budget"] is None
    assert closed_form["refusal"].startswith("budget.exact holds only")


# --------------------------------------------------------------------------- how sure


def test_runs_are_added_until_the_error_is_small(as_json):
    many = as_json("simulate", "rsc-1", "--runs", "40", "--until-error", "0.001")
    assert many["errors"]["total_h"] / many["budget"]["total_h"] <= 0.001 and many["n_runs"] > 40


def test_one_run_has_no_intervals(in_words, as_json):
    out = in_words("simulate", "rsc-1", "--runs", "1")
    assert "1 run of rsc-1, seed 0. ETTR " in out and "(95%" not in out and "no confidence intervals" in out
    assert re.search(r"^lost work \(recomputed\) +[\d.]+ h +unknown ", out, re.M)
    assert set(as_json("simulate", "rsc-1", "--runs", "1")["errors"].values()) == {None}


@pytest.mark.parametrize(
    ("scale", "significant", "expected"),
    [(0.17, 2, 2), (0.17, 1, 1), (16.5, 2, 1), (0.0093, 1, 3), (1e-12, 1, 6), (0.0, 2, 1), (np.nan, 2, 1), (1e9, 3, 1)],
)
def test_decimals_show_as_much_as_is_known(scale, significant, expected):
    assert decimals(scale, significant) == expected


# --------------------------------------------------------------------------- the timeline


def test_the_timeline_is_written_and_said_to_be_there(in_words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("run.csv").write_text("an older one")
    out = in_words("simulate", "rsc-2", "--runs", "30", "--timeline", "run.csv")
    assert out.endswith("\nThe timeline of run 0 is at run.csv\n")
    rows = pd.read_csv("run.csv")
    simulated = simulate(Scenario.load("rsc-2"), 30, timeline=[0])
    assert list(rows.columns) == ["run", "start_h", "end_h", "state"] and len(rows) == len(simulated.timeline)
    # pandas 2 reads numbers inexactly
    np.testing.assert_allclose(rows["end_h"], simulated.timeline["end_h"], rtol=1e-14)
    assert rows["end_h"].iloc[-1] == pytest.approx(simulated.runs["total_h"][0])
    assert {"training", "checkpoint", "restart"} <= set(rows["state"])


# --------------------------------------------------------------------------- progress, and Ctrl-C


def until_it_simulates(screen: int, process: subprocess.Popen[bytes], limit_s: float) -> str:
    """What is on the screen once the bar counts runs; compiling for the first time takes some ten seconds."""
    seen, deadline = b"", time.monotonic() + limit_s
    while b" runs" not in seen:
        assert process.poll() is None and time.monotonic() < deadline, seen
        if select.select([screen], [], [], 0.1)[0]:
            seen += os.read(screen, 65536)
    return seen.decode()


def test_ctrl_c_ends_it_at_once_and_leaves_nothing_running(tmp_path):
    """An error that takes minutes to reach; the threads hear of it within the hundredths of a second of a piece.

    Most of the time allowed is for ending the interpreter on a busy machine.
    """
    screen, stderr = pty.openpty()
    command = [os.path.join(os.path.dirname(sys.executable), "ettr"), "simulate", "rsc-1", "--until-error", "1e-5"]
    with subprocess.Popen(
        [*command, "--timeline", "run.csv"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=stderr,
        env={**os.environ, "TERM": "xterm", "NO_COLOR": "1"},
        start_new_session=True,
    ) as process:
        os.close(stderr)
        try:
            until_it_simulates(screen, process, 180)
            process.send_signal(signal.SIGINT)
            rest = b""
            while True:  # the screen is read to its end, or the command would wait for its reader
                try:
                    more = os.read(screen, 65536)
                except OSError:  # nobody writes to it any more
                    break
                if not more:
                    break
                rest += more
            assert process.wait(timeout=10) == 130
            assert process.stdout.read() == b""
        finally:
            process.kill()
            os.close(screen)
    assert b"ettr: stopped before the end; no run is kept" in rest and b"Traceback" not in rest
    with pytest.raises(ProcessLookupError):
        os.killpg(process.pid, 0)
    assert not list(tmp_path.iterdir())


# --------------------------------------------------------------------------- refusals

BAD = {
    "spares without repair": (["rsc-1", "--set", "spares={n_nodes: 8}"], "spares needs repair, "),
    "half a run": (["rsc-1", "--runs", "1.5"], "--runs takes a whole number, got '1.5' (write 2)"),
    "negative seed": (["rsc-1", "--seed", "-1"], "--seed must be a whole number from 0 to 2^63 - 1, got -1"),
    "no error": (["rsc-1", "--until-error", "0"], "--until-error must be between 0 and 1, e.g. 0.1%, got 0"),
    "no folder": (["rsc-1", "--timeline", "no/x.csv"], "cannot write no/x.csv: No such file or directory"),
}


@pytest.mark.parametrize("fault", BAD)
def test_bad_input_is_one_message_and_status_2(refused, tmp_path, monkeypatch, fault):
    monkeypatch.chdir(tmp_path)
    arguments, message = BAD[fault]
    text = refused("simulate", *arguments)
    assert text.startswith(message) and len(text) < 400
    assert text == refused("simulate", *arguments, "--json") and not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--set", "failures.rate_per_1000_node_days=1e6"],
            r"the job makes practically no progress: .* expected ETTR .* 1e-06.*",
        ),
        (
            ["--runs", "1e7", "--set", "cluster.n_gpus=32000"],
            r"10,000,000 runs would meet about .* failures, and the limit of one call is 2,147,483,648: .*",
        ),
    ],
)
def test_a_job_that_never_gets_on_is_one_message_and_status_1(ettr, arguments, message):
    status, out, err = ettr("simulate", "rsc-1", *arguments)
    assert (status, out) == (1, "")
    assert re.fullmatch(rf"ettr: {message}\n", err), err


def test_days_tell_the_work_that_is_done_by_then(ettr, as_json):
    status, out, _ = ettr("simulate", "rsc-1", "--days", "14", "--runs", "50")
    assert status == 0 and "Work done 14 days after submission" in out
    assert "analytical" not in out and "Finishing time" not in out
    rows = [line.split() for line in out.splitlines() if line.startswith("hours of work")]
    least = [float(cell) for cell in rows[0][3:]]
    assert least == sorted(least, reverse=True) and 0.5 * 336 < least[2] < 0.75 * 336  # its ETTR is 64%
    assert "Accuracy of the mean work" in out
    record = as_json("simulate", "rsc-1", "--days", "14", "--runs", "50")
    assert record["horizon_h"] == 336 and record["budget"]["total_h"] == pytest.approx(336)
    assert record["productive_h"]["50"] == pytest.approx(least[2], abs=0.1)
    assert "finish_h" not in record and "closed_form" not in record


@pytest.mark.parametrize(
    ("days", "words"),
    [
        ("0", "--days must be > 0 days and finite, got 0"),
        ("0.001", "--days 0.001: horizon_h must be > 0.1 h, the first queue and restart, got 0.024"),
    ],
)
def test_days_that_are_none_are_refused(ettr, days, words):
    status, out, err = ettr("simulate", "rsc-1", "--days", days)
    assert (status, out) == (2, "") and words in err and err.count("\n") == 1


def test_a_fleet_that_shrinks_is_told(ettr):
    shrinks = "repair={automatic_h: 1, automatic_success: 0.5, replaced: false}"
    status, out, _ = ettr("simulate", "rsc-1", "--set", "spares={n_nodes: 9}", "--set", shrinks, "--runs", "50")
    assert status == 0 and "100% of the runs ended early because too few nodes were left: after" in out
    assert out.count("never") == 10


def test_a_job_without_an_end_has_no_finishing_dates(in_words, tmp_path):
    endless = tmp_path / "endless.yml"
    endless.write_text("cluster: {n_gpus: 1024}\nfailures: {job_mttf_h: 20}\n", encoding="utf-8")
    out = in_words("simulate", str(endless), "--runs", "20", "-q")
    assert "Finishing time" not in out and "year of training" in out
    ending = in_words("simulate", str(endless), "--set", "job.productive_h=100", "--runs", "20", "-q")
    assert "Finishing time" in ending and "year of training" not in ending
