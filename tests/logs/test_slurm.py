"""Slurm's accounting: which rows are failures of nodes, and how much node time the jobs held."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from one_format import mutated, n_lines, outcome, us

from ettr.core.errors import InputError
from ettr.files.node_lists import expand
from ettr.logs import read
from ettr.logs.readers.slurm import FORMAT

HEADER = "JobID|State|Start|End|NodeList|NNodes|Partition"


def job(number="71", state="COMPLETED", start="2025-03-01T00:00:00", end="2025-03-02T00:00:00", nodes="a01", n=1):
    return "|".join([number, state, start, end, nodes, str(n), "big"])


def log(*rows: str, header: str = HEADER) -> str:
    return "\n".join([header, *rows]) + "\n"


PLAIN = log(
    job("71", "COMPLETED", nodes="a[01-04]", n=4),
    job("71.batch", "COMPLETED"),
    job("71.0", "COMPLETED"),
    job("72", "NODE_FAIL", end="2025-03-01T12:00:00", nodes="a05"),
    job("72", "REQUEUED", end="2025-03-01T12:00:00", nodes="a05"),
    job("72", "RUNNING", start="2025-03-01T12:30:00", end="Unknown", nodes="a06"),
    job("73_4", "FAILED", nodes="a07"),
    job("73_[5-9]", "PENDING", "Unknown", "Unknown", "None assigned", 1),
    job("74", "CANCELLED by 1001", nodes="a08"),
    job("75", "CANCELLED by 0", "None", "2025-03-01T10:00:00", "None assigned", 1),
)


BARE = PLAIN.partition("\n")[2]


FORMS = {
    "bars": BARE,
    "blanks": BARE.replace("|", "   "),
    "an array first": BARE.replace("71", "71_[1-3]", 1),
    "a name first": "train_71|" + BARE,
}


@pytest.mark.parametrize("text", FORMS.values(), ids=FORMS)
def test_rows_without_their_header_are_refused_with_the_command(write, text):
    with pytest.raises(
        InputError, match="sacct --noheader, starting with '.*71.*leave --noheader out .sacct --allusers"
    ):
        read(write(text))


def test_rows_without_their_header_are_read_with_the_names_of_the_columns(write):
    assert read(write(BARE), header=HEADER.split("|")).events.equals(read(write(PLAIN)).events)
    assert read(write(BARE.replace("|", ";")), header=HEADER.split("|")).events.equals(read(write(PLAIN)).events)
    with pytest.raises(InputError, match="missing: Start"):
        read(write(BARE), header=HEADER.replace("Start", "Begin").split("|"))


def test_only_nodes_that_failed_are_failures():
    sacct = outcome(FORMAT, PLAIN)
    assert sacct.starts == ["2025-03-01 12:00:00"]
    event = sacct.events.iloc[0]
    assert (event["node"], event["component"], event["cause"], event["partition"]) == (
        "a05",
        "node",
        "NODE_FAIL",
        "big",
    )
    assert sacct.events["end"].isna().all()
    assert sacct.n("merged", "step of a job") == 2
    assert sacct.n("merged", "requeue after") == 1
    assert sacct.n("dropped", "FAILED: usually the job's own error") == 1
    assert sacct.n("dropped", "CANCELLED") == 1
    assert sacct.n("dropped", "RUNNING") == 1
    assert sacct.n("dropped", "never started") == 1
    assert sacct.n("dropped", "array tasks that have not started") == 1
    assert sacct.n_records == 10


def test_exposure_is_the_node_time_of_jobs():
    """4 nodes and 3 nodes for a day, one for 12 h, and one that runs from 12:30 to the last stamp."""
    exposure = outcome(FORMAT, PLAIN).exposure
    assert exposure.n_nodes == 8
    assert exposure.window == (us("2025-03-01"), us("2025-03-02"))
    assert exposure.node_days == pytest.approx(4 + 0.5 + 11.5 / 24 + 2)


def test_exposure_is_cut_to_the_window_that_was_asked_for():
    exposure = outcome(FORMAT, PLAIN, first_us=us("2025-03-01T06:00"), last_us=us("2025-03-01T18:00")).exposure
    assert exposure.node_days == pytest.approx(0.5 * 6 + 0.25 + 5.5 / 24)


@given(hours=st.lists(st.tuples(st.integers(0, 400), st.integers(0, 60), st.integers(1, 9)), min_size=1, max_size=12))
@settings(max_examples=30, deadline=None)
def test_node_time_is_the_sum_over_jobs(hours):
    """Jobs on nodes of their own: what each held, added up by hand."""
    rows, held = [], 0.0
    for number, (start, length, n) in enumerate(hours):
        day, hour = divmod(start, 24)
        day_end, hour_end = divmod(start + length, 24)
        rows.append(
            job(
                str(number),
                start=f"2025-03-{day + 1:02d}T{hour:02d}:00:00",
                end=f"2025-03-{day_end + 1:02d}T{hour_end:02d}:00:00",
                nodes=f"j{number}n[1-{n}]",
                n=n,
            )
        )
        held += n * length / 24
    exposure = outcome(FORMAT, log(*rows)).exposure
    assert exposure.node_days == pytest.approx(held) if held else exposure.node_days is None
    assert exposure.n_nodes == sum(n for _, _, n in hours)


def test_jobs_that_share_a_node_do_not_count_it_twice():
    sacct = outcome(FORMAT, log(*(job(str(i), nodes="a01") for i in range(5))))
    assert sacct.exposure.node_days == pytest.approx(1.0)
    assert "shared nodes" in sacct.notes


def test_the_time_that_jobs_held_is_used_and_both_rates_are_said(tmp_path):
    """Failures of nodes without a job are not in the accounting: all nodes' time would make the rate too low."""
    path = tmp_path / "jobs.txt"
    path.write_text(PLAIN)
    without_size, with_size = read(path, zone="UTC"), read(path, n_nodes=64, zone="UTC")
    assert without_size.node_days == with_size.node_days == outcome(FORMAT, PLAIN).exposure.node_days
    assert (without_size.n_nodes, with_size.n_nodes) == (8, 64)
    held, whole = with_size.node_days, 64.0
    (doubt,) = set(with_size.doubts) - set(without_size.doubts)
    assert doubt.startswith(f"jobs used {held / whole:.0%} of the time of the 64 nodes")
    assert f"{1000 / held:.3g} per 1,000 node-days of jobs, {1000 / whole:.3g}" in doubt and doubt.endswith(
        "the first is used"
    )
    assert with_size.exposure.startswith("node time of jobs")


def test_jobs_on_one_node_see_one_failure():
    rows = [job(str(i), "NODE_FAIL", end=f"2025-03-01T12:0{i}:00", nodes="a01") for i in range(3)]
    sacct = outcome(FORMAT, log(*rows, job("9", "NODE_FAIL", end="2025-03-01T12:00:00", nodes="a02")))
    assert sacct.events["node"].tolist() == ["a01", "a02"]
    assert sacct.n("merged", "another job on the same node") == 2


def test_which_of_several_nodes_failed_is_not_known():
    sacct = outcome(FORMAT, log(job("1", "NODE_FAIL", nodes="a[01-64]", n=64), job("2", "BOOT_FAIL", nodes="a99")))
    assert sacct.events["node"].isna().tolist() == [False, True]
    assert sacct.events["cause"].tolist() == ["BOOT_FAIL", "NODE_FAIL"]
    assert "unnamed nodes: 1 of 2" in sacct.notes


def test_jobs_that_share_a_node_in_one_instant_saw_one_failure():
    """1 and 2 share a14; 3 touches only the second, so that a node of its own must have failed."""
    lists = ["a[11-14]", "a[14-18]", "a[18-19]"]
    sacct = outcome(FORMAT, log(*(job(str(i), "NODE_FAIL", nodes=text) for i, text in enumerate(lists))))
    assert len(sacct.events) == 2 and sacct.n("merged", "another job on the same node") == 1
    sacct = outcome(FORMAT, log(job("1", "NODE_FAIL", nodes="a[11-14]", n=4), job("2", "NODE_FAIL", nodes="a12")))
    assert sacct.events["node"].tolist() == ["a12"]
    parts = [job(f"7+{i}", "NODE_FAIL", nodes=f"a[{i}1-{i}8]", n=8) for i in range(3)]
    assert len(outcome(FORMAT, log(*parts)).events) == 1


@pytest.mark.parametrize("nodes", ["gpu[001-06+", "gpu[0000000-9999999]", "gpu[9-1]"])
def test_a_failure_counts_though_its_nodes_cannot_be_read(nodes):
    failed = job("2", "NODE_FAIL", end="2025-03-03T12:00:00", nodes=nodes, n=6)
    sacct = outcome(FORMAT, log(job("1"), failed))
    assert sacct.starts == ["2025-03-03 12:00:00"] and sacct.events["node"].isna().all()
    assert sacct.exposure.window == (us("2025-03-01"), us("2025-03-03T12:00"))
    assert sacct.n("not parsed", "") == 0
    assert f"too long: 1, such as {nodes!r}" in sacct.notes


def test_a_requeue_alone_has_no_known_cause():
    sacct = outcome(FORMAT, log(job("1", "REQUEUED"), job("2", "PREEMPTED"), job("2", "COMPLETED")))
    assert sacct.events.empty
    assert sacct.n("dropped", "REQUEUED: requeued, cause unknown") == 1
    assert sacct.n("dropped", "PREEMPTED") == 1


def test_the_time_between_failures_is_also_said_with_the_ends_that_may_be_failures(tmp_path):
    """A week with a node's failure, two requeues and a crash: one failure in 7 days, four ends in 7 days."""
    path = tmp_path / "jobs.txt"
    days = [(day, f"2025-03-0{day}T00:00:00", f"2025-03-0{day + 1}T00:00:00") for day in range(1, 8)]
    states = ["REQUEUED", "REQUEUED", "NODE_FAIL", "FAILED", "CANCELLED by 7", "TIMEOUT", "COMPLETED"]
    path.write_text(log(*(job("71", state, start, end) for state, (_, start, end) in zip(states, days, strict=True))))
    week = read(path, zone="UTC")
    assert len(week.failures) == 1 and week.window_h == 168
    assert "(MTBF 7 days); left out: 2 REQUEUED" in week.doubts[0] and "1 FAILED" in week.doubts[0]
    assert "MTBF would be 42 h" in week.doubts[0]
    cut = read(path, zone="UTC", window=("2025-03-03", "2025-03-05"))
    assert "(MTBF 3 days); left out: 1 REQUEUED" in cut.doubts[0]
    assert "MTBF would be 24 h" in cut.doubts[0]


def test_exact_duplicates_are_one_row():
    sacct = outcome(
        FORMAT, log(job("1"), job("1"), job("2", nodes="a02"), job("1", "NODE_FAIL"), job("1", "NODE_FAIL"))
    )
    assert sacct.n("merged", "exact duplicate row") == 2
    assert len(sacct.events) == 1 and sacct.n_records == 5


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda text: text.replace("\n", "|\n"), id="parsable"),
        pytest.param(lambda text: text.replace("|", "|#"), id="delimiter of two"),
        pytest.param(lambda text: text.replace("|", "@"), id="other delimiter"),
        pytest.param(lambda text: text.replace("\n", "\r\n"), id="windows"),
        pytest.param(lambda text: "\n" + text.replace("\n", "\n\n"), id="blank lines"),
        pytest.param(lambda text: text + HEADER + "\n", id="repeated header"),
    ],
)
def test_the_same_log_written_otherwise(change):
    plain, other = outcome(FORMAT, PLAIN), outcome(FORMAT, change(PLAIN))
    assert other.events.equals(plain.events)
    assert other.exposure == plain.exposure
    assert FORMAT.sniff(change(PLAIN).split("\n"))


def test_columns_may_stand_in_any_order_and_number():
    header = "Account|End|JobID|Start|Comment|State"
    sacct = outcome(FORMAT, log("x|2025-03-01T12:00:00|5|2025-03-01T00:00:00||NODE_FAIL", header=header))
    assert sacct.starts == ["2025-03-01 12:00:00"]
    assert "partition" not in sacct.events
    assert sacct.exposure.n_nodes is None and sacct.exposure.node_days is None


def test_missing_columns_are_named_with_the_command_that_gives_them():
    with pytest.raises(
        InputError, match=r"missing: Start, End; found: JobID, State\. To get them: sacct .*--parsable2"
    ):
        outcome(FORMAT, "JobID|State\n1|NODE_FAIL\n")


def test_rows_that_make_no_sense_are_counted():
    rows = [
        job("abc"),
        job("1", "EXPLODED"),
        job("2", start="yesterday"),
        job("3", start="2025-03-05T00:00:00"),
        job("4", "NODE_FAIL", end="Unknown"),
        job("5", nodes="a[1-"),
        job("6", nodes="a[0000000-9999999]"),
    ]
    sacct = outcome(FORMAT, log(*rows))
    assert sacct.events.empty
    assert sacct.ledger["action"].eq("not parsed").all()
    assert sacct.n_records == 7
    for reason in ("no job number", "unknown state", "End before Start", "NODE_FAIL without an End", "NodeList"):
        assert sacct.n("not parsed", reason) >= 1


def test_local_time_is_read_in_its_zone():
    from zoneinfo import ZoneInfo

    sacct = outcome(FORMAT, PLAIN, zone=ZoneInfo("America/Los_Angeles"))
    assert sacct.starts == ["2025-03-01 20:00:00"]
    assert "no time zone" in outcome(FORMAT, PLAIN).notes


def test_heterogeneous_jobs_and_bytes_that_are_no_text():
    text = log(job("10+0"), job("10+1", nodes="a02"), job("10+1.batch")).encode() + b"11|NODE_FAIL|\xff\xfe\n"
    sacct = outcome(FORMAT, text)
    assert sacct.n("dropped", "COMPLETED") == 2
    assert sacct.n_records == 4


@given(text=mutated(PLAIN))
@settings(max_examples=60, deadline=None)
def test_any_text_is_read_or_refused(text):
    with suppress(InputError):
        sacct = outcome(FORMAT, text)
        assert sacct.n_records == n_lines(text) - 1
        assert sacct.n("merged", "step of a job") <= sum("." in line for line in text.split("\n"))


# --------------------------------------------------------------------------- node lists


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("node[1001-1002,1073]", ["node1001", "node1002", "node1073"]),
        ("gpu-[01-03]n[1-2]", ["gpu-01n1", "gpu-01n2", "gpu-02n1", "gpu-02n2", "gpu-03n1", "gpu-03n2"]),
        ("a,b[9-10],c-d.e", ["a", "b9", "b10", "c-d.e"]),
        ("x[098-101]y", ["x098y", "x099y", "x100y", "x101y"]),
        ("None assigned", []),
        ("", []),
    ],
)
def test_node_lists(text, names):
    assert expand(text) == names


@given(numbers=st.lists(st.integers(0, 9999), min_size=1, max_size=30, unique=True), width=st.integers(1, 5))
@settings(max_examples=60, deadline=None)
def test_a_list_written_in_ranges_gives_its_numbers_back(numbers, width):
    ranges, ordered = [], sorted(numbers)
    for number in ordered:
        if ranges and number == ranges[-1][1] + 1 and len(f"{ranges[-1][0]:0{width}d}") == width >= len(str(number)):
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    text = ",".join(f"{a:0{width}d}" if a == b else f"{a:0{width}d}-{b:0{width}d}" for a, b in ranges)
    assert expand(f"n[{text}]") == [f"n{number:0{width}d}" for number in ordered]


@pytest.mark.parametrize("text", ["a[", "a]", "a[1-]", "a[3-1]", "a[[1]]", ",a", "a,,b", "a[x]", "a[1-99999999999]"])
def test_what_is_no_node_list(text):
    with pytest.raises(ValueError):
        expand(text)
