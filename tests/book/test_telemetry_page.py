"""What the page on telemetry shows can be typed."""

from __future__ import annotations

import re
from pathlib import Path

from ettr import telemetry

PAGE = (Path(__file__).parents[2] / "book" / "your_cluster" / "telemetry.md").read_text(encoding="utf-8")
CODE = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


def test_the_table_of_formats_has_all_of_them():
    rows = re.findall(r"^\| `([a-z-]+)` \|", PAGE, re.MULTILINE)
    assert rows == ["nvidia-smi", "dcgm", "zeus", "codecarbon", "csv"]
    assert set(rows) == set(telemetry.formats()["name"])


def test_every_option_exists(ettr):
    told = ettr("telemetry", "--help")[1] + ettr("telemetry", "record", "--help")[1]
    commands = re.findall(r"^    ettr telemetry (.*)$", PAGE, re.MULTILINE)
    assert len(commands) >= 4
    for option in re.findall(r"(--[a-z-]+)", " ".join(command.partition("#")[0] for command in commands)):
        assert option in told, option


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
    joined = PAGE.replace("\\\n    ", "")
    asked = re.search(r"--query-gpu=(\S+) ", joined)[1].split(",")
    header = {
        "clocks.sm": "clocks.current.sm [MHz]",
        "power.draw": "power.draw [W]",
        "utilization.gpu": "utilization.gpu [%]",
    }
    cells = {"timestamp": "2025/07/27 00:00:00.000", "index": "0", "power.draw": "500.00 W", "clocks.sm": "1980 MHz"}
    cells |= {
        "name": "NVIDIA H100 80GB HBM3",
        "temperature.gpu": "60",
        "temperature.memory": "70",
        "utilization.gpu": "100 %",
    }
    path = tmp_path / "smi.csv"
    lines = [", ".join(header.get(name, name) for name in asked), ", ".join(cells[name] for name in asked)]
    path.write_text("\n".join(lines), encoding="utf-8")
    row = telemetry.read(path).samples.iloc[0]
    assert row[["power_w", "temperature_c", "memory_c", "clock_mhz", "utilisation"]].tolist() == [500, 60, 70, 1980, 1]
