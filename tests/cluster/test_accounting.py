"""Reading the accounting of jobs: formats, rows that are left out, and what is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from ettr import cluster
from ettr.core.errors import InputError

HEADER = "JobID|State|Start|End|NNodes|AllocTRES"
ROWS = (
    "71|NODE_FAIL|2026-06-01T10:00:00|2026-06-01T15:00:00|2|billing=16,gres/gpu:h100=16,gres/gpu=16,node=2",
    "71.batch|COMPLETED|2026-06-01T10:00:00|2026-06-01T15:00:00|1|cpu=1",
    "71|COMPLETED|2026-06-01T15:10:00|2026-06-01T18:10:00|2|gres/gpu:h100=16,node=2",
    "72|CANCELLED by 1001|2026-06-01T11:00:00|2026-06-01T12:00:00|1|gres/gpu=4",
    "73|COMPLETED|2026-06-01T11:00:00|2026-06-01T12:00:00|1|cpu=64,node=1",
    "74|PENDING|Unknown|Unknown|1|gres/gpu=8",
    "75|RUNNING|2026-06-01T17:10:00|Unknown|1|gres/gpu=8",
)


def written(folder: Path, *rows: str, header: str = HEADER, name: str = "jobs.txt") -> Path:
    path = folder / name
    path.write_text("\n".join([header, *rows, ""]) if header else "\n".join([*rows, ""]))
    return path


def reasons(accounting: cluster.Accounting) -> dict[str, int]:
    return dict(zip(accounting.ledger["reason"], accounting.ledger["n"], strict=True))


def test_sacct_has_the_runs_of_jobs_with_gpus(tmp_path):
    accounting = cluster.read_jobs(written(tmp_path, *ROWS), zone="UTC")
    assert accounting.n_jobs == 3
    assert accounting.runs["n_gpus"].tolist() == [16, 16, 4, 8]
    assert accounting.gpu_h == pytest.approx(16 * 5 + 16 * 3 + 4 * 1 + 8 * 1)  # the running job lasts to the last end
    assert reasons(accounting) == {"step of a job": 1, "no GPUs": 1, "never started": 1}


def test_a_table_of_jobs_gives_the_same_as_sacct(tmp_path):
    rows = ["71;16;2026-06-01 10:00;2026-06-01 15:00;node_fail", "71;16;2026-06-01 15:10;2026-06-01 18:10;completed"]
    table = cluster.read_jobs(
        written(tmp_path, *rows, header="job;gpus;started;ended;status", name="a.csv"), zone="UTC"
    )
    slurm = cluster.read_jobs(written(tmp_path, ROWS[0], ROWS[2]), zone="UTC")
    pd.testing.assert_frame_equal(table.runs, slurm.runs)


def test_a_file_without_a_header_is_read_with_names(tmp_path):
    names = ["JobID", "State", "Start", "End", "NNodes", "AllocTRES"]
    accounting = cluster.read_jobs(written(tmp_path, *ROWS, header=""), zone="UTC", header=names)
    assert len(accounting.runs) == 4


def test_a_run_that_slurm_lists_twice_counts_once_as_failed():
    frame = pd.DataFrame(
        {
            "job": [1, 1, 1],
            "gpus": 8,
            "start": [0, 0, 6],
            "end": [5, 5, 9],
            "state": ["REQUEUED", "NODE_FAIL", "COMPLETED"],
        }
    )
    assert cluster.from_frame(frame).runs["state"].tolist() == ["NODE_FAIL", "COMPLETED"]


def test_without_gpus_nodes_are_counted_with_a_caution(tmp_path):
    rows = ["9|COMPLETED|2026-06-01T10:00:00|2026-06-01T15:00:00|3"]
    accounting = cluster.read_jobs(written(tmp_path, *rows, header="JobID|State|Start|End|NNodes"), 4, zone="UTC")
    assert accounting.runs["n_gpus"].tolist() == [12]
    assert any("no GPUs" in text for text in accounting.doubts)


def test_the_most_gpus_at_a_time_are_those_of_jobs_that_overlap():
    frame = pd.DataFrame(
        {"job": [1, 2, 3], "gpus": [8, 16, 32], "start": [0, 1, 2], "end": [2, 3, 4], "state": "COMPLETED"}
    )
    accounting = cluster.from_frame(frame)
    assert accounting.most_gpus == 48  # the first ends when the third starts
    with pytest.raises(InputError, match="up to 48 GPUs at a time, more than the 40 GPUs"):
        cluster.make(accounting, n_gpus=40)


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ((1, 8, 5, 3, "COMPLETED"), "End before Start"),
        ((1, -8, 0, 3, "COMPLETED"), "no number of GPUs"),
        ((1, 0, 0, 3, "COMPLETED"), "no GPUs"),
        ((1, 8, 0, 3, "EXPLODED"), "unknown state, such as 'EXPLODED'"),
        ((1, 8, 0, np.nan, "COMPLETED"), "no End"),
        ((0, 8, 1, 3, "COMPLETED"), "starts while another run of the same job lasts"),
    ],
)
def test_a_row_that_cannot_be_is_left_out_with_its_reason(row, reason):
    good = (0, 8, 0.0, 9.0, "COMPLETED")
    frame = pd.DataFrame([good, row], columns=["job", "gpus", "start", "end", "state"])
    accounting = cluster.from_frame(frame)
    assert reasons(accounting) == {reason: 1}
    assert len(accounting.runs) == 1


def test_bad_cells_of_a_file_are_left_out_with_their_reason(tmp_path):
    bad = [
        "81|COMPLETED|yesterday|2026-06-01T15:00:00|1|gres/gpu=8",
        "82|COMPLETED|2026-06-01T10:00:00|soon|1|gres/gpu=8",
        "83|COMPLETED|2026-06-01T10:00:00|2026-06-01T09:00:00|1|gres/gpu=8",
    ]
    accounting = cluster.read_jobs(written(tmp_path, ROWS[0], *bad), zone="UTC")
    assert reasons(accounting) == {"Start is not a time": 1, "End is not a time": 1, "End before Start": 1}


@pytest.mark.parametrize(
    ("header", "rows", "message"),
    [
        (
            "JobID|State|Start|End",
            ["1|COMPLETED|2026-06-01T10:00:00|2026-06-01T11:00:00"],
            "missing: gpus",
        ),
        ("JobID|Start|End|NNodes", ["1|2026-06-01T10:00:00|2026-06-01T11:00:00|1"], "missing: state"),
        (HEADER, [ROWS[4]], "no job could be read. 1 dropped: no GPUs"),
        (HEADER, ["1|EXPLODED|2026-06-01T10:00:00|2026-06-01T11:00:00|1|gres/gpu=8"], "unknown state"),
        (HEADER, ["1|COMPLETED|2026-06-01T10:00:00|2026-06-01T10:00:00|1|gres/gpu=8"], "ends when it starts"),
    ],
)
def test_accounting_that_says_nothing_is_refused(tmp_path, header, rows, message):
    with pytest.raises(InputError, match=message):
        cluster.read_jobs(written(tmp_path, *rows, header=header), zone="UTC")


def test_a_node_without_gpus_is_refused(tmp_path):
    with pytest.raises(InputError, match="gpus_per_node must be >= 1 GPU, got 0"):
        cluster.read_jobs(written(tmp_path, *ROWS), 0)
    with pytest.raises(InputError, match="has no column gpus"):
        cluster.from_frame(pd.DataFrame({"job": [1], "start": [0], "end": [1], "state": ["COMPLETED"]}))
