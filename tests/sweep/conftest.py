from __future__ import annotations

import pytest

from notebooks import written

PARAMETERS = 'x = 1.0  # [1]\nn = 1  # whole\nword = "a"  # text\nlisted = [1]  # list\n'


@pytest.fixture(scope="session")
def cluster():
    """A scheduler with two threads in this process, so that points share one prepared process."""
    from distributed import LocalCluster

    with LocalCluster(n_workers=1, threads_per_worker=2, processes=False, dashboard_address="127.0.0.1:0") as running:
        yield running.scheduler_address


@pytest.fixture
def study(tmp_path):
    """A notebook of its own folder: it records, fails below zero, and notes each run in a file."""
    return written(
        tmp_path / "study.ipynb",
        "import ettr\nettr.record(double=2 * x, text=word * n, items=[x, n])",
        "log = open('runs.log', 'a'); _ = log.write(f'{x} {n} {word}\\n'); log.close()",
        "assert x >= 0, 'below zero'",
        parameters=PARAMETERS,
    )
