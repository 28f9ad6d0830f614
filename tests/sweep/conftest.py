from __future__ import annotations

import pytest

from notebooks import local_cluster, written

PARAMETERS = 'x = 1.0  # [1]\nn = 1  # whole\nword = "a"  # text\nlisted = [1]  # list\n'


@pytest.fixture(scope="session")
def cluster():
    with local_cluster() as address:
        yield address


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
