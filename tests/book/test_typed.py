"""Commands, grids and code on the pages about telemetry and sweeps work."""

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
    help_text = "".join(ettr(*arguments)[1] for arguments in helps)
    commands = re.findall(rf"^    ettr {command} (.*)$", page, re.MULTILINE)
    assert len(commands) >= 3
    for option in re.findall(r"(--[a-z-]+)", " ".join(line.partition("#")[0] for line in commands)):
        assert option in help_text, option


def test_the_table_of_formats_has_all_of_them():
    rows = re.findall(r"^\| `([a-z-]+)` \|", TELEMETRY, re.MULTILINE)
    assert set(rows) == set(telemetry.formats()["name"]) and len(rows) == len(set(rows))


def test_the_recording_in_python_is_one_that_can_be_made(monkeypatch):
    calls = []
    monkeypatch.setattr(telemetry, "record", lambda path, steps, **options: calls.append((path, len(steps), options)))
    exec(CODE[0], {})
    assert calls == [("h100.csv", 3, {"interval_s": 0.1})]


def test_the_simulation_gives_the_table_that_it_asks_for():
    *lines, last = CODE[1].strip().splitlines()
    names: dict = {}
    exec("\n".join(lines), names)
    assert eval(last, names).shape[1] == 5


def test_the_query_that_it_shows_is_one_that_is_read(tmp_path):
    columns = re.search(r"--query-gpu=(\S+) ", TELEMETRY.replace("\\\n    ", ""))[1].split(",")
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
    lines = [", ".join(header.get(name, name) for name in columns), ", ".join(cells[name] for name in columns)]
    path.write_text("\n".join(lines), encoding="utf-8")
    row = telemetry.read(path).samples.iloc[0]
    assert row[["power_w", "temperature_c", "memory_c", "clock_mhz", "utilisation"]].tolist() == [500, 60, 70, 1980, 1]


def test_the_grid_of_fields_is_the_one_whose_output_is_shown():
    fields = yaml.safe_load(GRIDS[0])
    assert re.search(r"(\d+) of \1 points done", SWEEPS)[1] == str(sweep.load(fields, 1000).n_points)
    assert set(fields) <= set(re.search(r"(?m)^ +cluster.*$", SWEEPS)[0].split())


def test_the_grid_of_a_notebook_is_valid_for_its_chapter():
    grid = sweep.load(yaml.safe_load(GRIDS[1]), 1000)
    assert sweep.NotebookJob(ROOT / "book/ettr/scale.ipynb", grid).grid.n_points == 14


def test_the_blocks_have_the_stated_number_of_points():
    stated = [int(number) for number in re.search(r"grid has (\d+) x (\d+) x (\d+) points", SWEEPS).groups()]
    grid = sweep.load(yaml.safe_load(GRIDS[2]), 1000)
    assert [len(block.rows) for block in grid.blocks] == stated


@pytest.mark.parametrize("row", re.findall(r"^\| `(\w+: [^`]*)` \|", SWEEPS, re.MULTILINE))
def test_every_row_of_the_table_of_grids_is_one(row):
    assert sweep.load(yaml.safe_load(row), 1000).n_points >= 1
