"""The command line on a user's own log: `ettr fit` and `ettr formats`."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pandas as pd
import pytest

from ettr import Scenario, failures, logs, plan
from ettr.cli import app
from logs import training_texts as texts
from simulated_logs import simulate_log

BEGIN = pd.Timestamp("2024-01-01T00:00:00Z")
WINDOW = "2024-01-01/2024-02-29"
MAPPED = ("--map", "start=opened on", "end=back on", "node=box", "component=what", "cause=why")
GIVEN = ("--nodes", "100", "--window", WINDOW, *MAPPED)


def stamps(hours: pd.Series) -> pd.Series:
    return (BEGIN + pd.to_timedelta(hours, unit="h")).dt.strftime("%Y-%m-%dT%H:%M:%SZ")


@cache
def text() -> str:
    """A table of a team's own: odd names of columns, two generations of nodes, some planned work."""
    table = simulate_log(1, 100, 60, 14, cohorts={"A": (0.5, 1.0), "B": (0.5, 4.0)})
    frame = pd.DataFrame({"opened on": stamps(table["start_h"]), "back on": stamps(table["end_h"])})
    frame = frame.assign(box=[f"n{node}" for node in table["node"]], what=table["component"])
    frame = frame.assign(generation=table["cohort"], why=table["cause"])
    frame.loc[frame.index % 6 == 0, "why"] = "planned maintenance"
    return frame.to_csv(index=False)


@pytest.fixture
def log(tmp_path, monkeypatch) -> str:
    """The table as a file of the working folder."""
    monkeypatch.chdir(tmp_path)
    Path("odd.csv").write_text(text(), encoding="utf-8")
    return "odd.csv"


@pytest.fixture
def short(log) -> str:
    """Its first five failures alone: too few for a shape, and quick to fit."""
    Path(log).write_text("".join(text().splitlines(keepends=True)[:6]), encoding="utf-8")
    return log


def read(path: str, **options):
    pairs = dict(pair.split("=") for pair in MAPPED[1:])
    return logs.read(path, n_nodes=100, window=WINDOW, columns=pairs, **options)


# --------------------------------------------------------------------------- answers


def test_columns_of_a_table_without_a_header(refused, as_json, log):
    Path(log).write_text("2024-01-02 10:00,gpu-07,ECC\n2024-01-05 10:00,gpu-08,ECC\n", encoding="utf-8")
    arguments = ("fit", log, "--nodes", "4", "--window", WINDOW, "--zone", "UTC")
    assert "--columns start,node,cause" in refused(*arguments)
    assert as_json(*arguments, "--columns", "start,node,cause")["log"]["n_records"] == 2


def test_fit_answers_in_words(in_words, log):
    out = in_words("fit", log, *GIVEN)
    n = len(text().splitlines()) - 1
    lines = out.splitlines()
    assert lines[0] == "odd.csv (csv)" and lines[1].startswith("odd.csv has ")
    sections = ("Data", "Failure rate", "Times between failures", "Are failures memoryless?")
    sections += ("Is the failure rate rising or falling?", "Which nodes to replace, and which to test after repair?")
    sections += ("Repairs", "Next 10 days", "Plan")
    assert [line for line in lines if line in sections] == list(sections)
    assert f"{n} failures on 100 nodes for 60 days, 6,000 node-days." in out
    assert re.search(r"^GPU +\d+ +[\d.]+% +[\d.]+ +[\d.]+ to [\d.]+$", out, re.M)
    assert re.search(r"^within 10 min +\d+ .* p [=<] [\d.]+$", out, re.M)
    assert not re.search(r"\*\*|\\|\[/?bold", out)


def test_columns_follow_one_map_or_several(ettr, short):
    each = [argument for pair in MAPPED[1:] for argument in ("--map", pair)]
    answers = [
        ettr("fit", short, "--nodes", "100", "--window", WINDOW, *columns, "--json")[:2]
        for columns in (MAPPED, each, (f"--map={MAPPED[1]}", *MAPPED[2:]))
    ]
    assert answers[0][0] == 0 and answers[1] == answers[2] == answers[0]
    assert app._with_each_map(["fit", "--map", "a=b", "c=d", "x.csv", "e=f"]) == [
        *("fit", "--map", "a=b", "--map", "c=d"),
        *("x.csv", "e=f"),
    ]


def test_fit_answers_machines_with_the_same(as_json, log):
    record = as_json("fit", log, *GIVEN, "--planned", "^planned", "--gpus", "400")
    fit = failures.fit(read(log, planned="^planned"))
    assert record.pop("plan") == plan.from_fit(fit, 400, name="odd").to_dict()
    assert record == json.loads(json.dumps(fit.to_dict()))
    assert record["log"]["n_planned"] > 5
    assert record["log"]["n_events"] + record["log"]["n_planned"] == len(text().splitlines()) - 1


def test_a_scenario_is_written_and_planned_with(in_words, as_json, short):
    out = in_words("fit", short, *GIVEN, "--scenario-out", "My Cluster.yml", "--like", "rsc-1", "--gpus", "400")
    assert out.rstrip().endswith("The scenario is at My Cluster.yml: ettr plan 'My Cluster.yml'")
    run, fit = Scenario.load("My Cluster.yml"), failures.fit(read(short))
    assert (run.name, run.cluster.n_gpus) == ("my-cluster", 400)
    assert run.failure_rate == pytest.approx(fit.rate.per_1000_node_days)
    assert run.checkpoint.stall_s == Scenario.load("rsc-1").checkpoint.stall_s
    record = as_json("plan", "My Cluster.yml", "--quick")
    expected = plan.from_fit(fit, 400, like="rsc-1", name="my-cluster").plan.to_dict()
    assert {name: value for name, value in record.items() if name in expected} == expected


def test_cohorts_are_compared_where_their_nodes_are_known(in_words, log):
    out = in_words("fit", log, *GIVEN, "--split", "generation=A:50,B:50")
    assert re.search(r"^B fails [\d.]+ times as often as A \(", out, re.M)
    assert re.search(r"^generation +failures +share", out, re.M) and "unknown" not in out
    unknown = in_words("fit", log, *GIVEN, "--split", "generation")
    assert "number of nodes of each generation is not known" in unknown
    assert re.search(r"^B +\d+ +[\d.]+% +unknown *$", unknown, re.M)


def test_a_log_without_failures_has_an_upper_bound_and_a_plan(in_words, log):
    Path("none.csv").write_text(text().partition("\n")[0] + "\n", encoding="utf-8")
    out = in_words("fit", "none.csv", *GIVEN, "--format", "csv")
    assert "No failures in 6,000 node-days: the 95% confidence interval of the rate is 0 to 0.61" in out
    assert "trend takes at least 20 failures; this log has none" in out and "a checkpoint every" in out


NASTY = "[bold]x[/bold]\x1b[31m :bug: *y* a_b\\"


def test_nothing_in_a_log_speaks_to_the_terminal(in_words, as_json, short):
    lines = Path(short).read_text(encoding="utf-8").splitlines()
    lines[1:] = [line.replace(",GPU,", f",{NASTY},") for line in lines[1:]]
    Path("[i]odd.csv").write_text("\n".join(lines), encoding="utf-8")
    out = in_words("fit", "[i]odd.csv", *GIVEN)
    cleaned = NASTY.replace("\x1b", r"\x1b")
    assert re.search(rf"^{re.escape(cleaned)} +\d+ ", out, re.M)  # the table
    assert out.startswith("[i]odd.csv (csv)\n[i]odd.csv has ")
    assert "\x1b" not in out and "\N{BUG}" not in out
    assert NASTY.strip() in {row["group"] for row in as_json("fit", "[i]odd.csv", *GIVEN)["components"]}


# --------------------------------------------------------------------------- refusals

SPLIT = "--split takes COLUMN or COLUMN=VALUE:NODES,VALUE:NODES, got"
BAD = {
    "no nodes": (["--window", WINDOW, *MAPPED], "--nodes must be given: the number of nodes that were watched"),
    "unnamed columns": (
        ["--nodes", "100"],
        "odd.csv must have a column with the start of failures. Columns found: 'opened on'",
    ),
    "half a pair": ([*GIVEN, "--map", "cause"], "--map takes OURS=THEIRS, e.g. start=opened_at, got 'cause'"),
    "no such column": ([*GIVEN, "--map", "end=until"], "odd.csv has no column 'until' for end"),
    "split by no number": ([*GIVEN, "--split", "generation=A:ten"], f"{SPLIT} 'A:ten'"),
    "split twice": ([*GIVEN, "--split", "generation=A:1,A:2"], "--split names 'A' twice"),
    "unknown format": ([*GIVEN, "--format", "cvs"], "unknown format 'cvs'; did you mean 'csv'?"),
    "broken expression": ([*GIVEN, "--planned", "["], "planned must be a regular expression, got '['"),
    "no GPUs": ([*GIVEN, "--gpus", "0"], "--gpus must be >= 1 GPU, got 0"),
    "unknown lender": ([*GIVEN, "--like", "rsc-9"], "unknown scenario 'rsc-9'"),
    "a scenario of no known kind": ([*GIVEN, "--scenario-out", "x.txt"], "--scenario-out must end in .yml"),
}


@pytest.mark.parametrize("fault", BAD)
def test_bad_input_is_one_message_and_status_2(refused, short, fault):
    arguments, message = BAD[fault]
    assert refused("fit", short, *arguments).startswith(message)
    assert sorted(path.name for path in Path().iterdir()) == [short]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "cannot read the log: 'mine.log' does not exist"),
        (b"hello\nworld\n", "the format of mine.log is not known; it starts with 'hello'. Name it with --format"),
    ],
)
def test_what_is_no_log_is_refused(refused, tmp_path, monkeypatch, content, message):
    monkeypatch.chdir(tmp_path)
    if content is not None:
        Path("mine.log").write_bytes(content)
    assert refused("fit", "mine.log", "--nodes", "8").startswith(message)


@pytest.mark.parametrize("option", [["--like", "rsc-9"], ["--gpus", "0"], ["--scenario-out", "no/x.yml"]])
def test_a_wrong_option_is_refused_before_the_log_is_read(ettr, short, monkeypatch, option):
    monkeypatch.setattr(logs, "read", lambda *_, **__: pytest.fail("a long log would have been read"))
    assert ettr("fit", short, *GIVEN, *option)[0] == 2


# --------------------------------------------------------------------------- help, formats


def test_formats_are_listed_for_people_and_machines(in_words, as_json):
    names = logs.formats()["name"].tolist()
    assert [line.split()[0] for line in in_words("formats").splitlines()[1 : len(names) + 1]] == names
    assert as_json("formats") == logs.formats().to_dict("records")


def test_a_format_is_shown_with_what_produces_it_and_a_sample(in_words, as_json, refused):
    out = in_words("formats", "slurm")
    assert "sacct --allusers --duplicates --parsable2" in out and "71|NODE_FAIL|" in out
    assert as_json("formats", "slurm")["sample"].count("\n") == 1
    assert "did you mean 'kubernetes'" in refused("formats", "kubernets")


def test_what_counts_is_chosen_on_the_command_line(in_words, refused, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = ["2025-06-01 10:00,n1,kaputt,east", "2025-06-01 12:00,n1,heil,east", "2025-06-02 10:00,n2,kaputt,west"]
    Path("states.csv").write_text("\n".join(["time,node,zustand,site", *rows]))
    command = ("fit", "states.csv", "--nodes", "9", "--window", "2025-06-01/2025-06-30")
    assert "3 failures in 30 days" in in_words(*command)
    assert "2 failures in 30 days" in in_words(*command, "--down", "kaputt", "--up", "heil")
    assert ": 1 failure in 30 days" in in_words(*command, "--down", "kaputt", "--up", "heil", "--where", "site=east")
    assert "--where takes COLUMN=REGEX" in refused(*command, "--where", "site")
    assert "no column of states.csv has severities" in refused(*command, "--failure-severity", "error")
    assert "--encoding must be an encoding of Python" in refused(*command, "--encoding", "klingon")


def test_lifetimes_are_a_question_of_their_own(in_words, as_json, refused, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    removed = [f"2024-{2 + i % 10:02d}-01" if i % 3 else "" for i in range(60)]
    rows = [f"u{i},2024-01-01,{day},{'XY'[i % 2]}" for i, day in enumerate(removed)]
    Path("units.csv").write_text("\n".join(["serial,installed,removed,vendor", *rows]))
    command = ("fit", "units.csv", "--lifetimes", "--window", "2024-01-01/2024-12-31", "--split", "vendor")
    assert in_words(*command).splitlines()[1].startswith("The median lifetime is ")
    answer = as_json(*command)
    assert answer["whole"]["n"] == 60 and [cohort["name"] for cohort in answer["cohorts"]] == ["X", "Y"]
    assert "units.csv has no column 'site'" in refused("fit", "units.csv", "--lifetimes", "--split", "site")
    for unused in (("--nodes", "4"), ("--by", "day"), ("--scenario-out", "mine.yml"), ("--year", "2024")):
        assert f"{unused[0]} is not for lifetimes" in refused("fit", "units.csv", "--lifetimes", *unused)


# --------------------------------------------------------------------------- training logs

EVENTS, TRUTH = texts.run(1)


@pytest.fixture
def train(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("train.log").write_text("\n".join(texts.megatron(EVENTS)))
    return "train.log"


def test_a_training_log_is_known_by_its_lines(in_words, train):
    out = in_words("fit", train, "--zone", "UTC")
    first = re.match(r"train\.log: ETTR (\d\d\.\d)% over 4 days on 512 GPUs\n", out)
    assert float(first[1]) == pytest.approx(100 * TRUTH.ettr, abs=0.3)
    assert f"The run stopped {TRUTH.n_stops} times" in " ".join(out.split())
    assert "as planned" not in out


def test_the_plan_stands_beside_the_run(in_words, as_json, train):
    assert "as planned (llama3-405b)" in in_words("fit", train, "--like", "llama3-405b")
    answer = as_json("fit", train, "--like", "llama3-405b")
    assert answer["planned"]["scenario"] == "llama3-405b"
    assert answer["ettr"] == pytest.approx(TRUTH.ettr, abs=0.003) and len(answer["stops"]) == TRUTH.n_stops
    assert answer["predicted"]["ettr_range"][0] < answer["ettr"] < answer["predicted"]["ettr_range"][1]


def test_the_scenario_of_the_run_is_written_and_planned_with(in_words, train):
    assert "The scenario is at mine.yml: ettr plan mine.yml" in in_words("fit", train, "--scenario-out", "mine.yml")
    assert Scenario.load("mine.yml").cluster.n_gpus == 512
    assert "from its training log" in in_words("plan", "mine.yml")


def test_a_training_log_may_be_piped_in(train):
    command = [sys.executable, "-m", "ettr.cli", "fit", "-"]
    piped = subprocess.run(command, input=Path(train).read_bytes(), capture_output=True, check=True)
    assert piped.stdout.decode().startswith("standard input: ETTR ")


def test_goodput_by_day_and_a_goal(ettr, in_words, refused, train):
    out = in_words("fit", train, "--by", "hour")
    assert "ETTR by hour" in out
    status, out, err = ettr("fit", train, "--fail-below", "99.9%", "--by", "day", "--json")
    answer = json.loads(out)
    assert status == 3 and "below --fail-below 0.999" in err
    assert sum(day["productive_h"] for day in answer["goodput"]) == pytest.approx(answer["hours"]["productive_h"])
    assert ettr("fit", train, "--fail-below", "0.01")[0] == 0
    assert "between 0 and 1" in refused("fit", train, "--fail-below", "2")
    assert "Valid: day, hour, week" in refused("fit", train, "--by", "month")


def test_a_table_of_steps_needs_its_columns_and_no_format(in_words, refused, tmp_path):
    rows = [f"{1748772000 + 30 * i},{i},2.1" for i in range(40)]
    (tmp_path / "tb.csv").write_text("\n".join(["logged,at step,value", *rows]))
    path = str(tmp_path / "tb.csv")
    assert "ETTR 100" in in_words("fit", path, "--map", "time=logged", "step=at step")
    assert "no column 'where' for time" in refused("fit", path, "--map", "time=where", "step=at step")
    assert "--by is for training logs" in refused("fit", path, "--map", "start=logged", "--nodes", "8", "--by", "day")


def test_a_log_at_whose_rate_no_job_ends_still_has_an_answer(ettr, tmp_path):
    rows = [f"2025-06-01 {h:02d}:{m:02d},gpu-{m % 7}" for h in range(10) for m in range(60)]
    (tmp_path / "often.csv").write_text("\n".join(["start,node", *rows]))
    arguments = ("fit", str(tmp_path / "often.csv"), "--nodes", "8", "--gpus", "64000", "-q")
    status, out, _ = ettr(*arguments)
    assert status == 0 and "600 failures" in out and "practically never ends" in out
    assert json.loads(ettr(*arguments, "--json")[1])["plan"] is None


def test_what_a_training_log_has_no_use_for_is_refused(refused, train):
    assert "--nodes is for failure logs, and train.log looks like a training log" in refused(
        "fit", train, "--nodes", "9"
    )
    for option in (("--planned", "x"), ("--failure-severity", "error"), ("--down", "x")):
        assert f"{option[0]} is for failure logs" in refused("fit", train, *option)
    assert "step_s must be > 0" in refused("fit", train, "--step-s", "0")
    Path("faults.csv").write_text("time,node\n2025-06-01 10:00,n1\n2025-06-02 10:00,n2\n")
    assert "--step-s is for training logs" in refused("fit", "faults.csv", "--step-s", "8")
