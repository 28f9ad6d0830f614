"""What the page on sweeps shows can be typed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from ettr import sweep

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "book" / "your_cluster" / "sweeps.md").read_text(encoding="utf-8")
GRIDS = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)


def test_the_first_grid_is_one_of_the_chapter_that_it_is_for():
    grid = sweep.load(yaml.safe_load(GRIDS[0]), 1000)
    assert sweep.NotebookJob(ROOT / "book/ettr/scale.ipynb", grid).grid.n_points == 14


def test_the_blocks_span_as_many_points_as_it_says():
    told = [int(number) for number in re.search(r"are (\d+) x (\d+) x (\d+) points", PAGE).groups()]
    grid = sweep.load(yaml.safe_load(GRIDS[1]), 1000)
    assert [len(block.rows) for block in grid.blocks] == told
    assert {point.name for point in grid.points()} == {"as it is", "fast"}


@pytest.mark.parametrize("row", re.findall(r"^\| `(\w+: [^`]*)` \|", PAGE, re.MULTILINE))
def test_every_row_of_the_table_of_grids_is_one(row):
    assert sweep.load(yaml.safe_load(row), 1000).n_points >= 1


def test_every_option_exists(ettr):
    _, told, _ = ettr("sweep", "--help")
    for command in re.findall(r"^    ettr sweep (.*)$", PAGE, re.MULTILINE):
        for option in re.findall(r"(--[a-z-]+)", command):
            assert option in told
    for option in re.findall(r"`(--[a-z-]+)", PAGE):
        assert option in told or option == "--engine"


@pytest.mark.parametrize("block", re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL))
def test_python_is_python(block):
    compile(block, "page", "exec")
