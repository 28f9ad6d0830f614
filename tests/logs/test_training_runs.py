"""Training logs: what is read is what the run was made to do, whoever prints it."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from ettr import logs, plan, plots
from ettr.core.errors import InputError, UnknownName
from ettr.logs.training import runs as training_runs
from ettr.scenario import Scenario
from logs import training_texts as texts

WRITERS = {
    "megatron": texts.megatron,
    "torchtitan": texts.torchtitan,
    "torchtitan, all ranks, in colour": lambda events: texts.torchtitan(events, ranks=4, colour=True),
    "nemo": texts.nemo,
    "goodput": texts.goodput,
    "steps": texts.table,
    "steps, as TensorBoard exports them": texts.tensorboard,
    "steps, as W&B exports them": texts.wandb,
    "maxtext": texts.maxtext,
    "nanotron": texts.nanotron,
}


@pytest.fixture
def read(write):
    """Read lines as a training log."""

    def _read(lines, **options):
        options.setdefault("zone", "UTC")
        return logs.read_training(write("\n".join(lines), "train.log"), **options)

    return _read


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("writer", WRITERS)
def test_what_the_run_did_is_found(read, writer, seed):
    events, truth = texts.run(seed)
    run = read(WRITERS[writer](events))
    assert run.format == writer.partition(",")[0] and not run.doubts
    assert run.ettr == pytest.approx(truth.ettr, abs=0.003)
    assert run.step_s == pytest.approx(texts.STEP_S, rel=0.01)
    assert sum(run.hours.values()) == pytest.approx(run.wall_h)
    unseen_h = truth.n_stops * texts.LOG * texts.STEP_S / 3600  # steps that were done, and not logged before the stop
    # a table says nothing of restarts that lost no step that was logged, or reached none
    silent = 2 * writer.startswith("steps")
    assert truth.n_stops - silent <= run.n_failures <= truth.n_stops
    assert run.hours["stops_h"] == pytest.approx(truth.down_h, abs=unseen_h + 0.4 * silent)
    # without the time of a step, the first line after a restart is the step from which the run resumed
    unseen_h *= 1 + (writer.startswith("steps,"))
    assert truth.rework_h - unseen_h - 0.01 <= run.hours["rework_h"] <= truth.rework_h + 0.01
    assert run.n_steps == pytest.approx(truth.n_steps, abs=2 * texts.LOG)


def test_sizes_saves_and_what_is_timed_are_read(read):
    events, _ = texts.run(1)
    for writer in (texts.megatron, texts.torchtitan, texts.maxtext, texts.nanotron, texts.nemo):
        run = read(writer(events))
        assert run.save_every_h == pytest.approx(texts.SAVE * texts.STEP_S / 3600, rel=0.02)
        assert run.saves_from == "save lines"
        assert run.n_gpus == (None if writer in (texts.nemo, texts.nanotron) else 512)
        if writer in (texts.megatron, texts.torchtitan):
            assert run.named_s["saves"] == pytest.approx(texts.SAVE_S)
    assert read(texts.goodput(events)).named_s == {"initialising": pytest.approx(90.0)}


@pytest.mark.parametrize("seed", range(1, 7))
def test_the_interval_of_saves_follows_from_restarts_without_save_lines(read, seed):
    """The steps from which a run resumes are multiples of the interval, which is no shorter than what was lost."""
    events, truth = texts.run(seed, days=8)
    run = read(texts.tensorboard(events))
    n_steps = run.save_every_h * 3600 / run.step_s
    assert run.saves_from == "restarts" and texts.SAVE % n_steps == pytest.approx(0, abs=1e-6)
    assert n_steps >= texts.SAVE / 2 and truth.n_stops > 8
    no_stop = read(["time,step", *(f"2025-06-01 10:0{m}:00,{m}" for m in range(9))])
    assert no_stop.save_every_h is None and not no_stop.saves_from


def _kept_by_day(events):
    """Steps of each day that no later restart lost, one by one."""
    kept, from_step = {}, 0
    for at_s, kind, step in events:
        if kind == "go":
            kept = {done: day for done, day in kept.items() if done <= step}
            from_step = step
        elif kind == "step":
            kept |= dict.fromkeys(range(from_step + 1, step + 1), int(at_s // 86_400))
            from_step = step
    return np.bincount(list(kept.values())) * texts.STEP_S / 3600


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_goodput_by_day_counts_the_steps_that_stay(read, seed):
    events, _ = texts.run(seed)
    run = read(texts.table(events))
    for by in ("hour", "day", "week"):
        table = run.goodput(by)
        assert table["productive_h"].sum() == pytest.approx(run.hours["productive_h"])
        assert table["wall_h"].sum() == pytest.approx(run.wall_h) and table["n_stops"].sum() == len(run.stops)
        assert table["ettr"].between(0, 1).all() and (table["end"] > table["start"]).all()
    days = run.goodput("day")
    expected_h = _kept_by_day(events)
    assert days["productive_h"].to_numpy() == pytest.approx(expected_h, abs=0.1)
    assert (days["start"].iloc[1:].dt.hour == 0).all() and len(days) == len(expected_h)
    whole = run.rolling_goodput(1e4)
    assert len(whole) == 1 and whole["ettr"].iloc[0] == pytest.approx(run.ettr)
    hours = run.rolling_goodput(6.0)
    assert hours["ettr"].between(0, 1).all() and hours["ettr"].iloc[-1] == pytest.approx(
        run.goodput("hour").tail(6)["productive_h"].sum() / 6, abs=0.2
    )


def test_lost_steps_are_no_goodput_of_the_day_that_computed_them(read):
    """A day of 800 steps, of which a restart a day later loses 300."""
    at = [
        *(f"2025-06-01 {h:02d}:00:00,{h * 100}" for h in range(9)),
        "2025-06-02 01:00:00,600",
        "2025-06-02 02:00:00,700",
    ]
    days = read(["time,step,step_s", *(f"{row},36" for row in at)]).goodput("day")
    assert days["productive_h"].round(6).tolist() == [5.0, 2.0]
    assert days["n_stops"].tolist() == [1, 0] and days["wall_h"].tolist() == [24.0, 2.0]


def test_an_unknown_period_is_refused_with_the_valid_ones(read):
    run = read(texts.table(texts.run(1)[0]))
    with pytest.raises(UnknownName, match="day, hour, week"):
        run.goodput("fortnight")
    with pytest.raises(InputError, match="window_h"):
        run.rolling_goodput(0)


def test_an_end_of_its_own_is_no_failure(read):
    def of(ends):
        lines = []
        for first, hour in ((0, "00"), (100, "05")):
            begin = f"[titan] 2025-06-01 {hour}:"
            lines.append(f"{begin}00:00,1 - root - INFO - Training starts at step {first + 1}")
            steps = (f"{i:02d}:30,1 - root - INFO - step: {first + 2 * i + 2}  loss: 2" for i in range(50))
            lines += [begin + step for step in steps]
            lines += [f"{begin}50:00,1 - root - INFO - Training completed"] if ends else []
        return read(lines)

    planned, failed = of(True), of(False)
    assert (planned.stops["planned"].tolist(), failed.stops["planned"].tolist()) == ([True], [False])
    assert planned.hours["planned_h"] == pytest.approx(failed.hours["stops_h"]) and planned.failures.empty


def _later(line, seconds, text):
    """A line some seconds after another one."""
    at = pd.Timestamp(line.split("[titan] ")[1].split(",")[0]) + pd.Timedelta(seconds=seconds)
    return f"[rank0]:[titan] {at:%Y-%m-%d %H:%M:%S},000 - root - INFO - {text}"


def test_lines_without_a_time_count_from_the_last_one_and_are_a_doubt(read):
    events, truth = texts.run(1)
    run = read(texts.megatron(events, stamped=False))
    assert run.ettr == pytest.approx(truth.ettr, abs=0.004) and len(run.stops) == truth.n_stops
    assert "steps have no time stamp" in run.doubts[0]


@pytest.mark.parametrize(
    ("space", "zone", "starts"), [(" ", "", "00:05"), ("T", "Z", "00:05"), (" ", "+02:00", "22:05")]
)
def test_a_table_may_have_times_to_the_minute(read, space, zone, starts):
    run = read(["time,step", *(f"2025-06-01{space}00:{m:02}{zone},{20 * m}" for m in (5, 10, 15))])
    assert run.wall_h * 60 == pytest.approx(10) and run.step_s == 3 and f"{run.start:%H:%M}" == starts


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (texts.nemo(texts.run(1)[0], stamped=False), "must have at least two steps at different times"),
        (["time,step", "2025-06-01,100", "2025-06-02,900"], "give `step_s`"),
        (["time,step", *(f"2025-06-01 10:00:0{n // 100},{n}" for n in (0, 99, 100))], "give `step_s`"),
        (["time,step", "2025-06-01 10:00:00,100"], "must have at least two steps at different times, got 1 step"),
        (
            ["time,step", *(f"2025-06-0{9 - i} 10:00:00,{i}" for i in range(8))],
            "times go back at line 3.*one by one",
        ),
        (['"time,step', "2025-06-01 10:00:00,100"], "the format of train.log is not known"),
        (["no log", "of training"], "the format of train.log is not known"),
    ],
)
def test_what_cannot_be_told_is_refused_with_the_remedy(read, lines, message):
    with pytest.raises(InputError, match=message):
        read(lines)


@pytest.mark.parametrize("writer", [texts.table, texts.torchtitan])
def test_a_log_may_begin_amid_the_run(read, writer):
    header, *lines = writer(texts.run(1)[0])
    whole, later = read([header, *lines]), read([header, *lines[2000:]] if writer is texts.table else lines[2000:])
    assert later.n_steps < 0.6 * whole.n_steps and later.hours["start_h"] < 0.01
    assert later.ettr == pytest.approx(whole.ettr, abs=0.05)


def test_a_clock_that_jumps_back_is_a_doubt(read):
    events, truth = texts.run(1)
    lines = list(texts.table(events))
    lines[500] = lines[500].replace("2025-06-01", "2025-05-30")
    run = read(lines)
    assert "the clock goes back at line 501: 1 of" in run.doubts[0]
    assert run.ettr == pytest.approx(truth.ettr, abs=0.003)


def test_a_step_time_that_cannot_be_is_a_doubt(read):
    run = read(texts.table(texts.run(1)[0]), step_s=9.0)
    assert 0.9 < run.ettr <= 1 and "take longer than" in run.doubts[0]


def test_more_steps_than_time_are_all_of_the_time_and_not_more(read):
    line = "[2025-11-20T14:55:{second}+08:00] Training epoch 0, iteration {step}/99 | global_step: {step} | " + (
        "reduced_train_loss: 6.265 | train_step_timing in s: 12.22"
    )
    run = read([line.format(second=23, step=7), line.format(second=35, step=98)])
    assert run.doubts and run.ettr == 1


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("writer", WRITERS)
def test_parts_of_any_log_are_shares_of_its_time(read, writer, seed):
    """Restarts to any step, before the first line of the log too, in logs that may begin amid the run."""
    rng = np.random.default_rng(seed)
    events, step, at_s = [], int(rng.integers(0, 3000)), 0.0
    for _ in range(rng.integers(1, 6)):
        # rotation may cut off the lines that say where a process starts, as a table always does
        if rng.uniform() < 0.6:
            events += [texts.Event(at_s, "start", 0), texts.Event(at_s + 60, "go", step)]
            at_s += 60
        pace_s = rng.choice([0.1, 8.0, 300.0])
        for _ in range(rng.integers(2, 40)):
            step, at_s = step + texts.LOG, at_s + texts.LOG * pace_s * rng.lognormal(0, 0.5)
            events.append(texts.Event(at_s, "step", step))
        step, at_s = int(rng.integers(0, step + 50)) // texts.LOG * texts.LOG, at_s + rng.exponential(1000)
    run = read(WRITERS[writer](events), step_s=rng.choice([None, 0.5, 8.0, 1e6]))
    parts = np.array([*run.hours.values()])
    assert (parts >= 0).all() and sum(parts) == pytest.approx(run.wall_h)
    assert 0 <= run.ettr <= 1 and 0 <= run.ettr_range[0] <= run.ettr_range[1] <= 1
    assert run.n_steps >= 0 and (run.stops[["rework_h", "down_h"]].to_numpy() >= 0).all()
    assert run.stops["rework_h"].sum() == pytest.approx(run.hours["rework_h"])


def rotated(*processes, step_s=10):
    """A log whose processes each go from one step to another, twenty minutes apart."""
    lines, at_s = ["time,step,step_s"], 0.0
    for first, last in processes:
        for step in range(first + 10, last + 1, 10):
            at_s += 10 * step_s
            lines.append(f"{texts.stamp(at_s)},{step},{step_s}")
        at_s += 1200
    return lines


def test_steps_from_before_the_log_are_recomputed_not_progress(read):
    """From 10,000 to 12,000, then from 5,000 to 15,000: 12,000 steps in the log, 5,000 of them new."""
    run = read(rotated((10_000, 12_000), (5_000, 15_000)))
    assert run.hours["productive_h"] * 360 == pytest.approx(5_000, abs=15)
    assert run.hours["rework_h"] * 360 == pytest.approx(7_000, abs=15)
    assert "restarts from step 5,000, before step 10,0" in run.doubts[0]


def test_a_log_that_ends_below_its_first_step_has_no_progress(read):
    run = read(rotated((10_000, 12_000), (5_000, 7_000)))
    assert run.ettr == 0 and run.n_steps == 0 and "ETTR is 0" in run.doubts[0]
    assert run.hours["rework_h"] * 360 == pytest.approx(4_000, abs=15)
    assert run.stops["rework_h"].tolist() == pytest.approx([run.hours["rework_h"]])
    assert plan.from_training(run, "llama3-405b").report()


@pytest.mark.parametrize("step", [102.5, -1, 1e300, float("nan"), "102", None, True])
def test_a_step_count_that_counts_no_steps_is_refused(read, step):
    records = [{"step_count": n, "step_start_time": 1.7e9 + 8 * i} for i, n in enumerate([100, 101, step, 103])]
    with pytest.raises(InputError, match="step_count must be a whole number from 0 to .* line 3"):
        read([json.dumps(record) for record in records])


def test_the_same_steps_from_several_hosts_are_one_run(read):
    steps = [(texts.stamp(60.0 * n + host), n) for n in range(20) for host in range(2)]
    run = read(["time,step", *(f"{at},{n}" for at, n in steps)])
    assert run.ettr == 1 and run.stops.empty and run.n_steps == 19


def test_a_step_far_ahead_of_its_time_is_left_out(read):
    rows = [f"{texts.stamp(60.0 * n)},{n}" for n in range(40)]
    rows[20] = f"{texts.stamp(1200.0)},200000"
    run = read(["time,step", *rows])
    assert run.ettr == 1 and run.stops.empty
    assert run.records.query("example.str.endswith('200000')")["n"].tolist() == [1]


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        (
            lambda n: (f"{texts.stamp(n)},{10 * n}", f"{texts.stamp(n + 0.1)},{n}"),
            "come sooner after a later one than a step takes, the first at line [0-9]",
        ),
        (
            lambda n: (f"{texts.stamp(60.0 * n)},{n}", f"{texts.stamp(60.0 * n + 3)},{500 + n}"),
            "fall at 39 of 80 lines",
        ),
    ],
    ids=["metrics with counters of their own", "two runs"],
)
def test_steps_of_several_runs_in_one_log_are_refused(read, rows, words):
    with pytest.raises(InputError, match=f"must have the steps of one run.*{words}.*grep"):
        read(["time,step", *(row for n in range(40) for row in rows(n))])


def test_the_arguments_above_the_steps_may_be_long(write):
    arguments = [f"  argument_{n} ........................ {n}" for n in range(1000)]
    assert training_runs.is_training_log(write("\n".join([*arguments, *texts.megatron(texts.run(1)[0])])))


def test_failure_logs_are_no_training_logs(write):
    for text in ("time,node\n2025-06-01 10:00:00,n1\n", "time,step,cause\n2025-06-01,3,GPU\n", "opened,host\n1,n2\n"):
        assert not training_runs.is_training_log(write(text))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "Epoch 0 | step 10 | loss 2.30 | lr 1e-4\nEpoch 0 | step 20 | loss 2.20 | lr 1e-4\n",
            "line 1.*ettr formats steps",
        ),
        ('run 7 began\n{"iter": 1, "loss": 2.3, "x": "y"}\n{"iter": 2, "loss": 2.2, "x": "y"}\n', "ettr formats steps"),
        ("50/1000 [01:40<31:40, 2.00s/it]\n{'loss': 2.3, 'learning_rate': 0.1}\n" * 4, "line 1.*ettr formats steps"),
        ("step: 10\ntrain loss: 2.3\n" * 4, "line 1.*ettr formats steps"),
        ("epoch,step,train_loss\n0,1,2.3\n0,2,2.2\n", "no column of their times.*'epoch', 'step'"),
        ("Step,run-1 - loss\n1,2.3\n2,2.2\n", "no column of their times"),
        ('[{"step": 10, "loss": 2.3}, {"step": 20, "loss": 2.2}]', "no column of their times"),
        ("\n".join(texts.nanotron(texts.run(1)[0])), "is a training log .nanotron.*read_training"),
    ],
)
def test_training_logs_are_no_failure_logs(write, text, words):
    """Nobody who has a training log is asked for the start of failures."""
    with pytest.raises(InputError, match=f"(?s){words}"):
        logs.read(write(text), n_nodes=8)


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"time": "logged"}, "a column of steps"),
        ({"time": "logged", "step": "n", "node": "x"}, "column of steps.*step, step_s, time"),
        ({"time": "logged", "step": "nn"}, "no column 'nn' for step"),
    ],
)
def test_columns_of_steps_are_named_or_refused(read, columns, words):
    rows = ["logged,n,x", *(f"2025-06-01 10:0{m}:00,{20 * m},1" for m in range(9))]
    assert read(rows, columns={"time": "logged", "step": "n"}).step_s == 3
    apart = ["d,t,n", *(f"2025-06-01,10:0{m}:00,{20 * m}" for m in range(9))]
    assert read(apart, columns={"time": "d+t", "step": "n"}).step_s == 3
    with pytest.raises(InputError, match=words):
        read(rows, columns=columns)


def test_a_row_that_cannot_be_read_shows_its_value_and_line(read):
    rows = [*(f"2025-06-01 10:0{m}:00,{20 * m}" for m in range(9)), "2025-06-01 25:00,180", "2025-06-01 10:10:00,many"]
    records = read(["time,step", *rows]).records
    assert {"line 11: '2025-06-01 25:00'", "line 12: 'many'"} == set(records["example"])


def test_times_without_a_year_are_in_the_last_year_or_the_one_given(read):
    lines = list(texts.maxtext(texts.run(1)[0]))
    assert read(lines, year=2023).start.year == 2023
    assert read(lines).start <= pd.Timestamp.now(tz="UTC") and "no year" in " ".join(read(lines).notes)
    turn = [line.replace("I0601", "I1231").replace("I0602", "I0101") for line in lines if line[3:5] in "01 02"]
    assert read(turn, year=2024).wall_h < 48.1


@pytest.mark.parametrize("format", training_runs.FORMATS)
def test_the_sample_of_a_format_is_of_that_format(write, format):
    assert training_runs.FORMATS.open(write(training_runs.FORMATS[format].sample), None, None)[1].name == format


# --------------------------------------------------------------------------- beside the model


def test_the_model_agrees_with_a_run_that_does_what_it_assumes(read):
    """The second road: over many runs the prediction from a log meets the ETTR in the same log."""
    off = []
    for seed in range(8):
        events, _ = texts.run(seed, days=12)
        answer = plan.from_training(read(texts.torchtitan(events)))
        off.append(float(answer.predicted.budget.ettr) - answer.run.ettr)
        assert answer.predicted.interval.low <= answer.run.ettr <= answer.predicted.interval.high
    assert abs(sum(off) / len(off)) < 0.006


def test_what_the_log_does_not_hold_is_assumed_and_said(read):
    answer = plan.from_training(read(texts.table(texts.run(1)[0])))
    assert answer.assumed == ("cluster.n_gpus", "checkpoint.stall_s")
    assert answer.scenario.cluster.n_gpus == 8, "one node, which the rate of the job does not depend on"
    stall_s = Scenario.of({"cluster": {"n_gpus": 8}, "failures": {"job_mttf_h": 9}}).checkpoint.stall_s
    assert answer.scenario.checkpoint.stall_s == stall_s, "as `ettr plan` assumes"
    assert answer.planned is None and answer.to_dict()["planned"] is None


def test_the_scenario_of_a_log_can_be_planned(read, tmp_path):
    answer = plan.from_training(read(texts.megatron(texts.run(1)[0])), "llama3-405b")
    answer.scenario.to_yaml()
    made = plan.make(answer.scenario)
    assert made.band.interval_min == pytest.approx(answer.best_interval_min, rel=0.01)
    assert answer.planned.scenario.name == "llama3-405b"


def test_a_log_without_net_progress_is_predicted_for_the_steps_that_it_executed(read):
    """From step 1,000 to 1,200, then again from 500 to 700: nothing is kept, and advice still follows."""
    times = pd.date_range("2026-01-01", periods=402, freq="100s", tz="UTC")
    steps = [*range(1000, 1201), *range(500, 701)]
    rows = [f"{step},{time.isoformat()}" for step, time in zip(steps, times, strict=True)]
    answer = plan.from_training(read(["step,time", *rows]))
    assert answer.run.ettr == 0 and answer.run.hours["rework_h"] > 10
    assert answer.scenario.job.productive_h == pytest.approx(answer.run.hours["rework_h"])
    assert answer.best_interval_min > 5 and answer.predicted.interval.high > 0.8


def test_steps_for_which_no_time_is_left_are_counted(read):
    at = "2024-05-02 00:00:"
    lines = [
        "time,step",
        f"{at}00,0",
        f"{at}00,100",
        f"{at}a line cut short",
        f"{at}20,0",
        f"{at}20,100",
        f"{at}21,101",
    ]
    run = read(lines, format="steps", step_s=1.0)
    assert run.hours["productive_h"] * 3600 == pytest.approx(101 / 201)
    assert "201 steps of 1 s take longer" in run.doubts[0]


# --------------------------------------------------------------------------- goodput as a chart


@pytest.mark.parametrize("by", ["hour", "day", "week"])
def test_the_chart_of_goodput_draws_the_table(read, by):
    run = read(texts.table(texts.run(2)[0]))
    spec = plots.goodput(run, by).to_dict()
    bars, line = ([*spec["datasets"].values()][i] for i in (0, 1))
    table = run.goodput(by)
    assert [bar["ettr"] for bar in bars] == pytest.approx(table["ettr"].tolist())
    assert len(line) > 1 and spec["description"].startswith(f"Bars of the ETTR in each {by}")
    worst = table[table["wall_h"] >= table["wall_h"].max() / 2]["ettr"].min()
    assert f"The worst {by}" in spec["title"]["text"] and f"{worst:.0%}" in spec["title"]["text"]
