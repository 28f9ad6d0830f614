"""`ettr cluster` from a shell: its forms of input, and what it refuses."""

from __future__ import annotations

import json

import pytest

ROWS = """job,gpus,start,end,state
1,16,2026-06-01 10:00,2026-06-01 20:00,NODE_FAIL
1,16,2026-06-01 20:30,2026-06-02 01:30,COMPLETED
2,8,2026-06-01 09:00,2026-06-02 09:00,COMPLETED
"""
CLASSES = "gpus,share,interval_min,priority\n8,25%,60,0\n256,35%,60,0\n1024,40%,30,1\n"


@pytest.fixture
def write(tmp_path):
    def written(text: str, name: str = "jobs.csv") -> str:
        path = tmp_path / name
        path.write_text(text)
        return str(path)

    return written


def test_accounting_has_shares_and_rates_by_size(ettr, write):
    status, out, err = ettr("cluster", write(ROWS), "--json", "--zone", "UTC", "--set", "checkpoint.interval_min=60")
    assert status == 0, err
    answer = json.loads(out)
    assert answer["schema"] == "ettr/cluster/1"
    small, large = answer["by_size"]
    assert (small["size"], small["n_failures"], large["size"], large["n_failures"]) == ("8", 0, "16", 1)
    # half an hour and 5 min of detection, of 15 h
    assert large["lost_work"] == pytest.approx((0.5 + 5 / 60) / 15)
    assert answer["n_gpus"] == 24


def test_classes_and_mixes_are_answered(ettr, write):
    status, out, _ = ettr("cluster", write(CLASSES), "--gpus", "4096")
    assert status == 0 and "3 classes of jobs on 4,096 GPUs" in out
    status, out, _ = ettr("cluster", "rsc-1")
    assert status == 0 and "2,048 and 4,096 GPUs" in out


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        (ROWS.replace("gpus", "cores"), [], "missing: gpus"),
        (
            ROWS.replace("NODE_FAIL", "EXPLODED").replace("COMPLETED", "EXPLODED"),
            [],
            "unknown state, such as 'EXPLODED'",
        ),
        ("job,gpus,start,end,state\n1,8,2026-06-01 10:00,2026-06-01 09:00,COMPLETED\n", [], "End before Start"),
        (ROWS, ["--gpus", "16"], "up to 24 GPUs at a time, more than the 16 GPUs"),
        (ROWS, ["--set", "failures.rate_per_1000_node_days=5"], "failures are counted in jobs.csv"),
        (ROWS, ["--gpus", "0"], "--gpus must be >= 1 GPU, got 0"),
        (CLASSES, [], "needs the GPUs of the cluster"),
        (CLASSES, ["--set", "cluster.n_gpus=8192"], "give --gpus or --gpus-per-node"),
        (CLASSES.replace("25%", "35%"), ["--gpus", "4096"], "must sum to 100%, got 110.0%"),
        (CLASSES, ["--gpus", "512"], "at least 1,024 GPUs"),
        (CLASSES, ["--gpus", "4096", "--set", "cost.usd_per_gpu_h=-1"], "cost.usd_per_gpu_h must be >= 0"),
    ],
)
def test_what_it_refuses(ettr, write, text, options, message):
    status, out, err = ettr("cluster", write(text), *options)
    assert (status, out) == (2, "")
    assert message in err


def test_rows_that_overlap_or_run_backwards_are_left_out_and_said(ettr, write):
    rows = ROWS + "2,8,2026-06-01 12:00,2026-06-01 13:00,COMPLETED\n3,8,2026-06-01 12:00,2026-06-01 11:00,COMPLETED\n"
    status, out, _ = ettr("cluster", write(rows), "--zone", "UTC")
    assert status == 0
    assert "starts while another run of the same job lasts (line 5)" in out
    assert "End before Start (line 6)" in out
