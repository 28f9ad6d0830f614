"""What the pages on telemetry and sweeps show can be typed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from ettr import sweep, telemetry

ROOT = Path(__file__).parents[2]
TELEMETRY, SWEEPS = (
    (ROOT / "book/your_cluster" / name).read_text(encoding="utf-8") for name in ("telemetry.md", "sweeps.md")
)
CODE = re.findall(r"```python\n(.*?)```", TELEMETRY, re.DOTALL)
GRIDS = re.findall(r"```yaml\n(.*?)```", SWEEPS, re.DOTALL)


@pytest.mark.parametrize(
    ("page", "command", "helps"),
    [
        (TELEMETRY, "telemetry", [["telemetry", "--help"], ["telemetry", "record", "--help"]]),
        (SWEEPS, "sweep", [["sweep", "--help"]]),
    ],
    ids=["telemetry", "sweeps"],
)
def test_every_option_exists(ettr, page, command, helps):
    told = "".join(ettr(*words)[1] for words in helps)
    typed = re.findall(rf"^    ettr {command} (.*)$", page, re.MULTILINE)
    assert len(typed) >= 3
    for option in re.findall(r"(--[a-z-]+)", " ".join(line.partition("#")[0] for line in typed)):
        assert option in told, option


def test_the_table_of_formats_has_all_of_them():
    rows = re.findall(r"^\| `([a-z-]+)` \|", TELEMETRY, re.MULTILINE)
    assert set(rows) == set(telemetry.formats()["name"]) and len(rows) == len(set(rows))


def test_the_recording_in_python_is_one_that_can_be_made(monkeypatch):
    asked = []
    monkeypatch.setattr(telemetry, "record", lambda path, steps, **options: asked.append((path, len(steps), options)))
    exec(CODE[0], {})
    assert asked == [("h100.csv", 3, {"interval_s": 0.1})]


def test_the_simulation_gives_the_table_that_it_asks_for():
    *lines, last = CODE[1].strip().splitlines()
    names: dict = {}
    exec("\n".join(lines), names)
    assert eval(last, names).shape[1] == 5


def test_the_query_that_it_shows_is_one_that_is_read(tmp_path):
    asked = re.search(r"--query-gpu=(\S+) ", TELEMETRY.replace("\\\n    ", ""))[1].split(",")
    header = {
        "clocks.sm": "clocks.current.sm [MHz]",
        "power.draw": "power.draw [W]",
        "utilization.gpu": "utilization.gpu [%]",
    }
    cells = {
        "timestamp": "2025/07/27 00:00:00.000",
        "index": "0",
        "name": "NVIDIA H100 80GB HBM3",
        "power.draw": "500.00 W",
        "clocks.sm": "1980 MHz",
        "temperature.gpu": "60",
        "temperature.memory": "70",
        "utilization.gpu": "100 %",
    }
    path = tmp_path / "smi.csv"
    lines = [", ".join(header.get(name, name) for name in asked), ", ".join(cells[name] for name in asked)]
    path.write_text("\n".join(lines), encoding="utf-8")
    row = telemetry.read(path).samples.iloc[0]
    assert row[["power_w", "temperature_c", "memory_c", "clock_mhz", "utilisation"]].tolist() == [500, 60, 70, 1980, 1]


def test_the_first_grid_is_one_of_the_chapter_that_it_is_for():
    grid = sweep.load(yaml.safe_load(GRIDS[0]), 1000)
    assert sweep.NotebookJob(ROOT / "book/ettr/scale.ipynb", grid).grid.n_points == 14


def test_the_blocks_span_as_many_points_as_it_says():
    told = [int(number) for number in re.search(r"are (\d+) x (\d+) x (\d+) points", SWEEPS).groups()]
    grid = sweep.load(yaml.safe_load(GRIDS[1]), 1000)
    assert [len(block.rows) for block in grid.blocks] == told


@pytest.mark.parametrize("row", re.findall(r"^\| `(\w+: [^`]*)` \|", SWEEPS, re.MULTILINE))
def test_every_row_of_the_table_of_grids_is_one(row):
    assert sweep.load(yaml.safe_load(row), 1000).n_points >= 1
